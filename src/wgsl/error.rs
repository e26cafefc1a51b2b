//! The reasons why naga refuses a kernel.

use crate::error_kind::ErrorKind;

/// The reason why naga refused a kernel's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WgslError {
    /// The text does not parse.
    #[error("the kernel does not parse: {message}")]
    Parse {
        /// naga's message, in one line.
        message: String,
    },
    /// The module is invalid, or needs more than the default capabilities.
    #[error("the kernel is invalid: {message}")]
    Invalid {
        /// naga's message, in one line.
        message: String,
    },
}

impl WgslError {
    /// Returns the kind of failure: a defect of stridec, if stridec wrote the text.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Failed
    }
}
