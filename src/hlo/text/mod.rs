//! A reader and a printer for HLO text, as XLA prints it.
//!
//! ```text
//! module      = ["HloModule" name ("," attribute)*] (table | computation)* | statement
//! computation = ["ENTRY"] name ["(" parameters ")"] ["->" shape] "{" statement* "}" ("," attribute)*
//! statement   = ["ROOT"] name "=" [shape] opcode "(" operands ")" ("," attribute)*
//! operands    = n | literal | [operand ("," operand)*]
//! operand     = [shape] name ("#" n)* | [shape] opcode "(" operands ")"
//! attribute   = word "=" (value | callee | "{" [callee ("," callee)*] "}")
//! callee      = name | "{" statement* "}"
//! ```
//!
//! Names may begin with `%`. Comments are allowed between any two tokens, and lines may have the
//! prefixes of a log. The table `FileNames` and the tables after it contain the source lines of
//! instructions. If no computation has the keyword `ENTRY`, the last one is the entry. The value of
//! an attribute consists of strings, brackets and words. Attributes that stridec does not need are
//! skipped.

mod attributes;
pub(super) mod cursor;
mod literal;
mod log;
mod parse;
mod print;
pub(super) mod reader;
mod source;
pub(super) mod undeclared;
pub(super) mod values;
pub(super) mod written;
