//! Programs: HLO modules that move data, compiled to one kernel for each result.
//!
//! [`compile_module`] walks the image of each result. At each position it traces the index of the
//! element backwards through the instructions, to a parameter or to a constant (`pull`). If a
//! result exceeds a bound of one kernel, it is computed by several kernels with scratch buffers
//! between them (`lower`). A kernel that reads more buffers than it can bind reads some of them
//! from one scratch buffer (`pack`). Instructions that do more than move data are refused, and the
//! error names them.
//!
//! ```
//! use stridec::{Target, hlo::{Builder, Opcode}, program::compile_module};
//! let mut builder = Builder::new("example");
//! let x = builder.parameter("u8[2,3]".parse()?)?;
//! let y = builder.parameter("u8[2,1]".parse()?)?;
//! let both = builder.add(Opcode::Concatenate { dimension: 1 }, &[x, y])?;
//! let root = builder.add(Opcode::Transpose { dimensions: vec![1, 0] }, &[both])?;
//! let module = builder.finish("main", root)?;
//!
//! let program = compile_module(&module, &Target::webgpu())?;
//! assert_eq!(program.steps().len(), 1);
//! assert_eq!(program.run_on_host(&[b"abcdef", b"xy"])?, [b"adbecfxy"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ends;
mod error;
mod fold;
mod graph;
mod instruction;
mod literal;
mod lower;
mod mask;
mod moved;
mod number;
mod numbers;
mod pack;
#[allow(clippy::module_inception)]
mod program;
mod pull;
mod reduce;
mod regroup;
mod scatter;
mod stages;
mod trail;
mod way;
mod window;

pub use error::ProgramError;
pub use program::{ArrayBuffer, BufferId, Program, ProgramStep, compile_module};
pub use way::{Origin, Passed, Way, Ways};
