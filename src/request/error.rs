use crate::stride::DmlError;

/// Why a `stridec.*` proto is invalid; the message starts with the field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// A tensor description that breaks a rule of DirectML's.
    #[error("buffer_tensor_desc.{0}")]
    BufferTensorDesc(#[from] DmlError),
}
