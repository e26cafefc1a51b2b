//! Defines [`HostError`], the reason why a copy on the CPU was refused.

use crate::{error_kind::ErrorKind, nest::Operand};

/// The reason why a copy on the CPU was refused. Nothing was written in this case.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// A buffer is longer or shorter than its tensor in memory.
    #[error("{operand}: expected a buffer of {expected} bytes, the whole image, got {given}")]
    Length {
        /// The source or destination whose buffer has the wrong length.
        operand: Operand,
        /// The length of the buffer, in bytes.
        given: usize,
        /// The size of the tensor in memory, with padding, in bytes.
        expected: u64,
    },
    /// There is not enough memory for a buffer that the copy needs.
    #[error("expected memory for a buffer of {bytes} bytes, got none")]
    Memory {
        /// The size of the buffer, in bytes.
        bytes: usize,
    },
}

impl HostError {
    /// Returns the kind of the failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Length { .. } => ErrorKind::Invalid,
            Self::Memory { .. } => ErrorKind::Failed,
        }
    }
}
