//! The `stridec.*` protos: what stridec is asked and what it answers.

mod buffer_tensor_desc;
mod error;

pub use error::RequestError;
