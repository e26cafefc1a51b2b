//! Writes the WGSL text of a kernel and validates it with naga. Each kind of kernel has one file.

mod block;
mod cases;
mod choose;
mod emit;
mod error;
mod form;
mod gather;
mod joined;
mod kernel;
mod loaded_block;
mod lookups;
mod pack_plan;
mod packed_words;
mod proof;
mod segments;
mod validate;
mod words;
mod writer;

pub use emit::emit;
pub use error::WgslError;
pub use kernel::{Binding, CopyRegion, Dispatch, Kernel, KernelParts};
pub use proof::Proof;
#[cfg(feature = "backends")]
pub(crate) use validate::check;
pub use validate::validate;
