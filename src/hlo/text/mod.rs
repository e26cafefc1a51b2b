//! A reader and a printer for HLO text, as XLA prints it.
//!
//! ```text
//! module      = ["HloModule" name ("," attribute)*] (table | computation)*
//! computation = ["ENTRY"] name ["(" parameters ")"] ["->" shape] "{" instruction* "}" ("," attribute)*
//! instruction = ["ROOT"] name "=" shape opcode "(" operands ")" ("," attribute)*
//! operands    = n | literal | [[shape] name ("," [shape] name)*]
//! attribute   = word "=" value
//! ```
//!
//! Names may begin with `%`. Comments are allowed between any two tokens. The table `FileNames` and
//! those after it give the source lines of instructions. Attributes that stridec does not need are
//! skipped.

mod attributes;
mod computation;
pub(super) mod cursor;
mod literal;
pub(super) mod parse;
mod print;
mod source;
pub(super) mod values;
