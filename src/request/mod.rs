//! Operations between two [`Tensor`]s: built from values or from protos, lowered, and ready to be
//! compiled.

mod buffer_tensor_desc;
mod error;
mod operation;
#[cfg(feature = "explain")]
mod picture;
mod proto;
mod stages;
mod tensor;

pub use error::RequestError;
pub use operation::Operation;
pub use tensor::Tensor;
