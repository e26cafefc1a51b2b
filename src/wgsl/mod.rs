//! Writes the WGSL text of a kernel and validates it with naga.
//!
//! The input is a [`Schedule`](crate::schedule::Schedule), which assigns a part of the copy to each
//! invocation. The output is a [`Kernel`]: the text, the bindings, the dispatches, and a proof that
//! no access leaves its buffer. Each kind of kernel has a file: `block` for copies, rows and
//! transposes, `segments` for rows that consist of parts from several sources, and `gather` for
//! everything else. The file `accessor` writes functions that other kernels call for single
//! elements.
//!
//! Kernels are meant to be read by people. A name such as `a1_by4` tells its meaning, comments give
//! shapes and strides, and the header repeats the nest. The text is written line by line, without
//! templates, because a kernel has only a few dozen lines of a few kinds.
//!
//! The files use some words of [`schedule`](crate::schedule) and [`nest`](crate::nest). A *unit* is
//! the data that one iteration of the nest copies: an element, a part of one, or a few contiguous
//! ones. A *position* is the number of an iteration. A *guard* is a condition on the loop counters,
//! and a *case* is the value that is written if some guards hold: a unit of a source, or constant
//! bits. A *quotient* is an affine expression divided by a constant, and a *lookup* is an integer
//! that is computed at run time from the contents of a source. [`names`](crate::guide::names) has
//! examples.

#[cfg(feature = "accessors")]
mod accessor;
mod block;
mod cases;
mod choose;
mod conversion;
mod emit;
mod error;
mod form;
mod gather;
mod items;
mod joined;
mod kept;
mod kernel;
mod key;
mod loaded_block;
mod lookups;
mod pack_plan;
mod packed_words;
mod proof;
#[cfg(feature = "accessors")]
mod remainders;
mod segments;
mod validate;
mod whole_rows;
mod words;
mod writer;

#[cfg(feature = "accessors")]
pub(crate) use accessor::{AccessorFunctions, ReadBuffer, comment, constant, of_nothing};
pub use emit::emit;
pub(crate) use emit::proved_again;
pub use error::WgslError;
pub use kernel::{Binding, CopyRegion, Dispatch, Kernel, KernelExtents, KernelParts};
pub use key::KernelKey;
pub use proof::Proof;
#[cfg(feature = "backends")]
pub(crate) use validate::check;
pub use validate::validate;
