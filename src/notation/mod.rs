//! The layouts of other systems, as data and as text. The text is `KIND:TEXT`, for example
//! `jax:f32[2,3] Layout((1, 0))`; the part after the colon is written as the other system writes
//! it.
//!
//! Each system has a file of its own in this module. All of them are converted to and from one
//! model, a [`Tensor`], whose [`StrideDescriptor`](crate::stride::StrideDescriptor) gives the
//! location of each element. So a layout can be converted from any notation to any other that can
//! describe it, and 18 notations need no 306 converters. Every index keeps its offset.
//!
//! ```
//! use stridec::notation::{Kind, read};
//! let array = read("jax:bf16[16,256] Layout(major_to_minor=(0, 1), tiling=((8, 128), (2, 1)))")?;
//! assert_eq!(array.write(Kind::Xla)?, "bf16[16,256]{1,0:T(8,128)(2,1)}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`crate::Tensor`] also parses these texts. `docs/notations.md` has an example of each notation.
//!
//! Many files speak of *digits*: a dimension that a layout cuts into blocks is a number with
//! several digits, each with a stride of its own. `NCHW4c` cuts the channels `C` into `C / 4` and
//! `C % 4`.

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
