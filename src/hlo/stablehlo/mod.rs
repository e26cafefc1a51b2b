//! This module reads StableHLO text, as JAX and PyTorch/XLA print it. StableHLO is a dialect of
//! MLIR, and so are MHLO, its predecessor; CHLO, which adds operations to it; and Shardy (`sdy`),
//! which describes how arrays are distributed over devices. The reader accepts this grammar:
//!
//! ```text
//! module    = ["module" [symbol] ["attributes" dictionary] "{"] function* ["}"]
//! function  = "func.func" [visibility] symbol "(" arguments ")" ["->" results] [body]
//! body      = "{" operation* "}"
//! operation = [values "="] (generic | name part* [":" types])
//! generic   = string "(" values ")" [properties] ["(" regions ")"] [dictionary] ":" types
//! ```
//!
//! A location may follow every operation, argument and function. Aliases of attributes and types
//! may precede or follow the module. Attributes that stridec does not need are skipped.
//!
//! An operation can be written in the *generic form*, which is the same for all operations, or in
//! its *own syntax*, which MLIR calls its custom assembly format. In the grammar, they are the two
//! alternatives of `operation`.
//!
//! The text is read in two stages. `parse` makes a syntax tree, which `syntax` defines. `emit` then
//! turns each operation into the instruction that XLA's converter makes of it: several results
//! become a tuple, and regions become computations.

mod attribute;
mod constant;
mod cursor;
mod emit;
mod entry;
mod fields;
mod location;
mod operation;
mod parse;
mod syntax;
#[cfg(test)]
mod tests;
mod types;

use super::{HloError, Module};
use emit::MlirEmitter;
use parse::MlirParser;

/// Parses a module from StableHLO text.
pub(super) fn parse(text: &str) -> Result<Module, HloError> {
    let mut parser = MlirParser::read(text)?;
    let functions = std::mem::take(&mut parser.functions);
    let entry = entry::entry_function(&parser, &functions)?;
    let mut emitter = MlirEmitter::new(parser);
    let computation = emitter.functions(&functions, entry)?;
    let (parameters, result) = entry::buffers(&emitter.parser, &functions[entry])?;
    let donated = entry::donated_buffers(&emitter.parser, &functions[entry])?;
    emitter.builder.module(computation, parameters, result)?.with_donated_buffers(donated)
}
