//! [`NotationError`]: the reason why a tensor cannot be written in a notation.

use super::Kind;
use crate::error_kind::ErrorKind;

/// The reason why a tensor cannot be written in a notation, or cannot be used as an operand.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotationError {
    /// A tensor whose memory the notation cannot describe.
    #[error("{kind}: {reason}")]
    Unsupported {
        /// The notation.
        kind: Kind,
        /// The property that the notation cannot describe.
        reason: String,
    },
    /// A tensor that no operation accepts.
    #[error("a dimension has more than one stride, and no XLA layout says them")]
    Digits,
}

impl NotationError {
    /// Returns the kind of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Unsupported
    }

    /// Returns the reason without the name of the notation, for callers that print the name
    /// themselves.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::Unsupported { reason, .. } => reason,
            Self::Digits => "an operation takes an XLA layout, or one stride for each dimension",
        }
    }
}
