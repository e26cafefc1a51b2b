//! This module reads and prints HLO text, the form in which XLA prints modules. The reader accepts
//! this grammar:
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
//! prefixes of a log. A `table` lists source files, locations or stack frames, from which the
//! source lines of instructions are found. If no computation has the keyword `ENTRY`, the last one
//! is the entry. The value of an attribute consists of strings, brackets and words. Attributes that
//! stridec does not need are skipped.
//!
//! The reader works in two layers, because the memory report accepts modules that the compiler does
//! not: `reader` parses the grammar and resolves names, and passes each instruction to a
//! `TextTarget`, which checks and stores it. `parse` has the target that builds a
//! [`Module`](super::Module).

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
