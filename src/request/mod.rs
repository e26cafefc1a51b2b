//! What is asked and what is answered: [`Operation`] in, [`Kernel`](crate::wgsl::Kernel) out, and their protos.

mod answer;
mod buffer_tensor_desc;
mod error;
mod operation;
mod proto;
mod stages;
mod tensor;

pub use error::RequestError;
pub use operation::Operation;
pub use tensor::Tensor;
