//! [`SavedError`]: the reasons why a kernel or a program cannot be saved, or read again.

use crate::{error_kind::ErrorKind, shape::FieldPath};

/// The reason why a kernel or a program cannot be saved, or cannot be read again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SavedError {
    /// The bytes were changed after they were saved, or were never saved.
    #[error(
        "checksum: expected {expected:#018x}, that of the {message}, got {given:#018x}; it was changed after it was saved, or not written by `encode`: compile it again"
    )]
    Checksum {
        /// The name of the message.
        message: &'static str,
        /// The checksum of the message.
        expected: u64,
        /// The checksum in the message.
        given: u64,
    },
    /// A field has a value that a saved kernel or program cannot have.
    #[error("{field}: expected {expected}; compile it again")]
    Field {
        /// The path of the field.
        field: FieldPath,
        /// The values that are accepted.
        expected: &'static str,
    },
    /// Only kernels that stridec compiled can be saved, because only they can be proved again when
    /// they are read.
    #[error("expected {expected}, because nothing else can be proved again when it is read")]
    Unproved {
        /// The values that can be saved.
        expected: &'static str,
    },
}

impl SavedError {
    /// Returns the path of the field that the error is about; `None` if it is about no field.
    #[must_use]
    pub fn field(&self) -> Option<FieldPath> {
        match self {
            Self::Checksum { .. } => Some(FieldPath::new("checksum")),
            Self::Field { field, .. } => Some(field.clone()),
            Self::Unproved { .. } => None,
        }
    }

    /// Returns the kind of failure, which is always [`ErrorKind::Invalid`].
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Invalid
    }
}
