//! Why an array is not written in a notation.

use super::Kind;
use crate::error_kind::ErrorKind;

/// Why an array has no text in a notation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotationError {
    /// The notation cannot say the array's memory.
    #[error("{kind}: {reason}")]
    Unsupported {
        /// The notation.
        kind: Kind,
        /// What it cannot say.
        reason: String,
    },
    /// An array that is no operand of an operation.
    #[error("a dimension has more than one stride, and no XLA layout says them")]
    Digits,
}

impl NotationError {
    /// What kind of failure it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Unsupported
    }

    /// What the notation cannot say, without its name.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::Unsupported { reason, .. } => reason,
            Self::Digits => "an operation takes an XLA layout, or one stride for each dimension",
        }
    }
}
