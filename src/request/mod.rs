//! Operations between two [`Tensor`]s. They are built from values or from protos and lowered to a
//! nest, which can then be compiled.

mod buffer_tensor_desc;
mod compilation;
mod operation;
mod proto;
mod stages;
mod tensor;

pub use compilation::Compilation;
pub use operation::Operation;

pub use crate::{error::RequestError, notation::Tensor};
