//! The kernel and its text: the writer, one file for each kind of kernel, and naga's validation.

mod block;
mod cases;
mod choose;
mod emit;
mod error;
mod form;
mod gather;
mod joined;
mod kernel;
mod lookups;
mod packed;
mod pieces;
mod plan;
mod proof;
mod steps;
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
