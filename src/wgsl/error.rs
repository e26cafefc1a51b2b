//! Why naga refuses a kernel.

use crate::error_kind::ErrorKind;

/// Why naga refused a kernel's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WgslError {
    /// The text does not parse.
    #[error("the kernel does not parse: {message}")]
    Parse {
        /// What naga says, in one line.
        message: String,
    },
    /// The module is invalid, or needs more than the default capabilities.
    #[error("the kernel is invalid: {message}")]
    Invalid {
        /// What naga says, in one line.
        message: String,
    },
}

impl WgslError {
    /// What kind of failure it is: a defect of stridec, where stridec wrote the text.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Failed
    }
}
