//! What is asked and what is answered: [`Operation`] in, [`Kernel`](crate::wgsl::Kernel) out, and their protos.

mod answer;
mod error;
mod locate;
mod operation;
mod proto;
mod respond;
mod stages;
mod tensor;

pub use error::RequestError;
pub use operation::Operation;
pub use respond::respond;
pub use tensor::Tensor;
