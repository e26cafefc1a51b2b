//! The error of runs on the host.

use crate::{error_kind::ErrorKind, nest::Operand};

/// The reason why a run on the host was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// A buffer with another length than its image.
    #[error("{operand}: expected a buffer of {expected} bytes, the whole image, got {given}")]
    Length {
        /// The side of the buffer.
        operand: Operand,
        /// The length of the buffer, in bytes.
        given: usize,
        /// The size of the image, in bytes.
        expected: u64,
    },
}

impl HostError {
    /// Returns the kind of the failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Length { .. } => ErrorKind::Invalid,
        }
    }
}
