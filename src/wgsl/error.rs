//! [`WgslError`]: the reasons why naga rejects the text of a kernel.

use crate::error_kind::ErrorKind;

/// The reason why naga rejected the text of a kernel.
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
    /// Returns the kind of failure. It is always [`ErrorKind::Failed`], because a text that stridec
    /// wrote and naga rejects is a defect of stridec.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Failed
    }
}
