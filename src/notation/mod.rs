//! The layouts of other systems, as data and as text. The text form is `KIND:TEXT`, in which `TEXT`
//! has the syntax of the other system.
//!
//! Each system has its own file in this module. All notations are parsed to, and printed from, a
//! common model: a [`Tensor`], whose [`StrideDescriptor`](crate::stride::StrideDescriptor) gives
//! the location of each element. A layout can therefore be converted from any notation to any other
//! one that can describe it, with the same offset for every index.
//!
//! ```
//! use stridec::notation::{Kind, read};
//! let array = read("jax:bf16[16,256] Layout(major_to_minor=(0, 1), tiling=((8, 128), (2, 1)))")?;
//! assert_eq!(array.write(Kind::Xla)?, "bf16[16,256]{1,0:T(8,128)(2,1)}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`crate::Tensor`] also parses these texts. `docs/notations.md` has an example of each notation.

mod chain;
mod cursor;
mod cute;
mod dlpack;
pub mod dml;
mod error;
mod ggml;
mod jax;
mod keys;
mod kind;
mod literal;
mod memref;
mod named;
mod numpy;
mod onednn;
mod pitched;
mod pjrt;
mod prefix;
mod stacked;
mod strides;
mod tensor;
mod tensorrt;
mod torch;
mod triton;
mod tvm;
mod types;
mod xla;

pub use cute::{CuteError, CuteLayout, Mode};
pub use dlpack::DlPack;
pub use error::NotationError;
pub(crate) use kind::is_other;
pub use kind::{Kind, read};
pub use memref::memref;
pub use numpy::NumpyArray;
pub use pjrt::PjrtMemoryLayout;
pub use strides::from_byte_strides;
pub use tensor::{Tensor, TensorForm};
pub use torch::memory_formats;
