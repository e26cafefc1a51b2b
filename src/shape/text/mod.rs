//! The parser and the printer for XLA's shape notation.
//!
//! ```text
//! notation  = (shape | array ["{:E(" n ")}"] strided) ["#" n ("," n)*]
//! shape     = "(" [shape ("," shape)*] ")" | "b(" array ")" | "token[]" | "opaque[]" | array [layout]
//! array     = element-type "[" [extent ("," extent)*] "]"
//! extent    = n | "<=" n | "?"
//! layout    = ["dense"] "{" [n ("," n)*] [":" attribute*] "}" | "{no layout}"
//! attribute = "D(" level ("," level)* ")"        dim_level_types: D C S H, with + (not unique) and ~ (not ordered)
//!           | "T" ("(" (n | "*") ("," …)* ")")+  tiles
//!           | "L(" n ")"                         tail_padding_alignment_in_elements
//!           | "#(" element-type ")"              index_primitive_type
//!           | "*(" element-type ")"              pointer_primitive_type
//!           | "E(" n ")"                         element_size_in_bits
//!           | "S(" n ")"                         memory_space
//!           | "SC" ("(" n ":" [n ("," n)*] ")")+ split_configs
//!           | "P(" shape ")"                     physical_shape
//!           | "M(" n ")"                         dynamic_shape_metadata_prefix_bytes
//!           | "PAD(" [n ("," n)*] [value] ")"    padded_dimensions, padding_value; stridec's own
//! value     = word | "value(" n ")"              padding_value, or padding_number
//! strided   = "strided<[" [n ("," n)*] "]" [", offset:" n] ">"
//! ```
//!
//! Attributes must be in this order. Whitespace and comments, `/*…*/` and `//…`, are allowed
//! between any two tokens.

mod array;
mod attributes;
mod error;
mod lexer;
mod notation;
mod parser;
mod print;

pub use error::ParseError;
pub(crate) use lexer::ShapeCursor;
pub use notation::{Notation, parse_leaf_path};

#[cfg(test)]
mod tests;
