//! The layouts of other systems, as data and as text. A text has the form `KIND:TEXT`, for example
//! `jax:f32[2,3] Layout((1, 0))`. The part after the colon is written as in the other system.
//!
//! Each system has a separate file in this module. Every notation is converted from and to one
//! model, a [`Tensor`], whose [`StrideDescriptor`](crate::stride::StrideDescriptor) gives the
//! location of each element. So a layout can be converted between any two notations that can
//! describe it, without a converter for each of the 306 pairs of notations. A conversion preserves
//! the offset of every index.
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
//! Many comments in this module mention *digits*. If a layout cuts a dimension into blocks, the
//! index along the dimension is split like a mixed-radix number, and each of its digits has a
//! stride of its own. For example, `NCHW4c` cuts the index `C` of a channel into the digits `C / 4`
//! and `C % 4`. A *place* is the room for one element in memory.

mod chain;
mod cursor;
mod cute;
#[cfg(feature = "json")]
mod description;
mod dlpack;
pub mod dml;
mod error;
#[cfg(feature = "json")]
mod forms;
mod ggml;
mod jax;
mod keys;
mod kind;
mod literal;
mod memref;
mod named;
mod numpy;
mod onednn;
mod order;
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
#[cfg(feature = "json")]
pub use description::description;
pub use dlpack::DlPack;
pub use error::NotationError;
#[cfg(feature = "json")]
pub use forms::forms;
pub(crate) use kind::is_other;
pub use kind::{Kind, read};
pub use memref::memref;
pub use numpy::NumpyArray;
pub use order::ordered;
pub use pjrt::PjrtMemoryLayout;
pub use strides::from_byte_strides;
pub use tensor::{Tensor, TensorForm};
pub use torch::memory_formats;
