//! Programs: HLO modules that move data, compiled to one kernel for each result.
//!
//! A module is a graph of instructions such as `transpose` and `concatenate`. Running them one
//! after the other would copy every element once for each instruction. Instead, [`compile_module`]
//! visits each place of a result's memory. It follows the index of the element at this place
//! backwards through the instructions, up to a parameter or a constant (`pull`). For example, index
//! (2,1) of the result below becomes (1,2) through `transpose`. Column 2 belongs to the first
//! operand of `concatenate`, so the element is (1,2) of `x`. All of these steps together become one
//! [`CopyNest`](crate::nest::CopyNest), so each element is copied once.
//!
//! If a result exceeds a bound of one kernel, an intermediate value is first computed into a
//! scratch buffer (`lower`). If a kernel reads more buffers than it can bind, some of these buffers
//! are first copied into one (`pack`). Instructions that compute new element values are refused
//! with an error that names the instruction.
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
