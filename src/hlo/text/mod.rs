//! HLO text, as XLA prints it, both ways.
//!
//! ```text
//! module      = ["HloModule" name ("," attribute)*] (table | computation)*
//! computation = ["ENTRY"] name ["(" parameters ")"] ["->" shape] "{" instruction* "}" ("," attribute)*
//! instruction = ["ROOT"] name "=" shape opcode "(" operands ")" ("," attribute)*
//! operands    = n | literal | [[shape] name ("," [shape] name)*]
//! attribute   = word "=" value
//! ```
//!
//! Names may begin with `%`. Comments may stand between any two tokens. `FileNames` and the
//! tables after it say which source lines instructions come from. Attributes that nothing needs are skipped whole.

mod attributes;
mod computation;
pub(super) mod cursor;
mod literal;
pub(super) mod parse;
mod print;
mod source;
mod values;
