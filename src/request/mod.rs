//! What is asked and what is answered: [`Operation`] in, [`Kernel`](crate::wgsl::Kernel) out, and their protos.

mod answer;
mod buffer_tensor_desc;
mod error;
mod frame;
mod language;
mod locate;
mod operation;
#[cfg(feature = "explain")]
mod picture;
mod proto;
mod respond;
mod serve;
mod stages;
mod tensor;

pub use error::RequestError;
pub use frame::FrameError;
use frame::{Frame, read_frame};
pub use operation::Operation;
pub use respond::respond;
pub use serve::{ServeError, serve};
pub use tensor::Tensor;
