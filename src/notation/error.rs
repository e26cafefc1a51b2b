//! [`NotationError`]: the reasons why an array cannot be written.

use super::Kind;
use crate::error_kind::ErrorKind;

/// The reason why an array has no text in a notation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotationError {
    /// The notation cannot describe the array's memory.
    #[error("{kind}: {reason}")]
    Unsupported {
        /// The notation.
        kind: Kind,
        /// The property that it cannot describe.
        reason: String,
    },
    /// The array cannot be an operand of an operation.
    #[error("a dimension has more than one stride, and no XLA layout says them")]
    Digits,
}

impl NotationError {
    /// Returns the kind of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Unsupported
    }

    /// Returns the reason, without the name of the notation.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::Unsupported { reason, .. } => reason,
            Self::Digits => "an operation takes an XLA layout, or one stride for each dimension",
        }
    }
}
