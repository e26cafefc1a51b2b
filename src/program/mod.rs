//! Programs: HLO modules that move data, compiled to about one kernel for each result.
//!
//! A module is a graph of instructions such as `transpose` and `concatenate`. If each of them ran
//! as a copy of its own, every element would be copied many times. [`compile_module`] avoids this.
//! It takes the index of the element at each place of a result's memory, and follows it backwards
//! through the instructions, up to a parameter or a constant. This is called to *pull* the index
//! (`pull`).
//!
//! In the example below, index (2,1) of the result becomes (1,2) through `transpose`. Column 2
//! belongs to the first operand of `concatenate`, so that the element is (1,2) of `x`. All places
//! are handled at once, because an index is an affine form of the loops over the result. The forms
//! make one [`CopyNest`](crate::nest::CopyNest), and each element is copied only once.
//!
//! Two things add kernels. If a result exceeds a bound of one kernel, an intermediate value is
//! first computed into a scratch buffer (`lower`). If a kernel reads more buffers than it can bind,
//! some of them are first copied into one (`pack`).
//!
//! An instruction that computes new element values from a parameter, such as `add` of two arrays of
//! floats, is refused with an error that names it. Only integers that decide which element is
//! moved, such as indices, are computed at run time.
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

mod converted;
mod ends;
mod error;
mod fold;
mod graph;
mod in_place;
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
mod saved;
mod scatter;
mod sort;
mod stages;
mod trail;
mod way;
mod window;

pub use error::ProgramError;
pub use in_place::{AliasRefusal, HostParameter, ProgramAlias, compile_in_place};
pub use program::{ArrayBuffer, BufferId, Program, ProgramStep, compile_module};
pub(crate) use saved::ProgramParts;
pub use way::{Origin, Passed, Way, Ways};
