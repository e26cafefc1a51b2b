//! Programs: HLO modules that move data, compiled to about one kernel for each result.
//!
//! A module is a graph of instructions such as `transpose` and `concatenate`. If every instruction
//! ran as a separate copy, every element would be copied many times. [`compile_module`] avoids
//! this: for each place in the memory of a result, it takes the index of the element there, and
//! follows this index backwards through the instructions to a parameter or a constant. The code for
//! this is in `pull`.
//!
//! In the example below, index (2,1) of the result becomes (1,2) through `transpose`. Column 2
//! belongs to `x`, the first operand of `concatenate`, so the result takes element (1,2) of `x`. An
//! index is not a number, but an affine expression of the loops over the result, so that one
//! expression describes the elements at all places. The result of the trace is a
//! [`CopyNest`](crate::nest::CopyNest), called *nest*: nested loops over the memory of the result,
//! which copy each element only once.
//!
//! If elements of a result come from different operands, the nest has several *cases*, each with
//! the conditions, or *guards*, under which it applies. An integer that is known only at run time,
//! such as an index of a gather, is a *lookup* of the nest. If an instruction divides elements into
//! smaller ones, the nest copies parts of elements, called *units*.
//!
//! A program gets additional kernels for two reasons. If the nest of a result exceeds a bound of
//! one kernel, an earlier kernel computes an intermediate value into a scratch buffer (`lower`). If
//! a step reads more buffers than a kernel can bind, an earlier kernel copies some of these buffers
//! into one (`pack`).
//!
//! stridec refuses an instruction that computes new element values from a parameter, such as `add`
//! of two arrays of floats, with an error that names the instruction. The only values computed at
//! run time are integers that decide which element is moved, such as the indices of a gather.
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
mod updates;
mod way;
mod window;

pub use error::ProgramError;
pub use in_place::{AliasRefusal, HostParameter, ProgramAlias, compile_in_place};
pub use lower::parameter_names;
pub use program::{ArrayBuffer, BufferId, Program, ProgramStep, compile_module};
pub(crate) use saved::ProgramParts;
pub use way::{Origin, Passed, Way, Ways};
