//! HLO is the intermediate representation of XLA. A program in HLO is a [`Module`]: a list of
//! functions, which are called computations. A [`Computation`] is a list of instructions, and an
//! [`Instruction`] applies an [`Opcode`], such as `transpose`, to the results of earlier
//! instructions, which are called its operands.
//!
//! A module can be read from a proto, from HLO text or from StableHLO text, or built in code.
//!
//! | to | use |
//! |---|---|
//! | read or write a proto | [`Module::decode`], [`Module::encode`] |
//! | read or print text | [`Module::parse`], `Display` |
//! | build a module in code | [`Builder`] |
//! | measure the memory of its buffers | [`MemoryReport`] |
//! | compile it to kernels | [`program`](crate::program) |
//!
//! A [`Module`] is valid by construction: operands precede the instructions that use them, called
//! computations precede their callers, every shape agrees with the operands and attributes, and
//! parameters are numbered from 0. Code that receives a module therefore does not check it again.
//! The rules follow XLA's `hlo_instruction.cc`, `hlo_verifier.cc` and `shape_inference.cc`.
//!
//! ```
//! use stridec::hlo::{Builder, Module, Opcode};
//! let mut builder = Builder::new("transpose_of_two");
//! let x = builder.parameter("f32[2,3]".parse()?)?;
//! let y = builder.parameter("f32[2,4]".parse()?)?;
//! let both = builder.add(Opcode::Concatenate { dimension: 1 }, &[x, y])?;
//! let root = builder.add(Opcode::Transpose { dimensions: vec![1, 0] }, &[both])?;
//! let module = builder.finish("main", root)?;
//! assert_eq!(module.result().to_string(), "f32[7,2]");
//! assert_eq!(Module::decode(&module.encode())?.result().to_string(), "f32[7,2]{1,0}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Instructions that the compiler does not support, such as `dot`, are kept as [`Opcode::Other`],
//! so that modules that contain them can still be read, printed and measured.

mod alias;
mod attributes;
mod builder;
mod computation;
mod decode;
mod encode;
mod error;
mod infer;
mod instruction;
pub(crate) mod limits;
mod literal;
mod literal_proto;
mod memory;
mod module;
mod opcode;
mod opcode_names;
mod source_line;
mod stablehlo;
#[cfg(test)]
mod tests;
mod text;
mod wire;

use limits::{
    MAX_CALL_DEPTH, MAX_CALLED_SHAPES, MAX_COMPUTATIONS, MAX_INSTRUCTIONS, MAX_LITERAL_BYTES,
    MAX_MODULE_BYTES,
};

pub use alias::{BufferDonor, InputOutputAlias};
pub use builder::Builder;
pub use computation::Computation;
pub use error::{HloError, InstructionError};
pub use instruction::Instruction;
pub use literal::Literal;
pub use memory::{DefaultTiles, Footprint, InstructionMemory, MemoryReport, cheapest_order};
pub use module::Module;
pub use opcode::{
    Binary, ComparisonDirection, Gather, IdentityCall, Opcode, PaddingDimension, Scatter,
    SliceDimension, Unary,
};
pub use source_line::SourceLine;
