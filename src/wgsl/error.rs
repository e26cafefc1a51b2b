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
    /// A saved kernel differs from the kernel that this version writes for the same copy. Either
    /// its bytes were changed, or another version of stridec wrote it.
    #[error(
        "expected the code that this version of stridec writes for the saved copy and target, got different code, which has no proof; compile the operation again"
    )]
    Changed,
}

impl WgslError {
    /// Returns the kind of failure. A text that stridec wrote and naga rejects is a defect of
    /// stridec, and its kind is [`ErrorKind::Failed`].
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Parse { .. } | Self::Invalid { .. } => ErrorKind::Failed,
            Self::Changed => ErrorKind::Invalid,
        }
    }
}
