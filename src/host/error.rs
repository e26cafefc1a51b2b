//! [`HostError`]: the reason why a copy on the CPU was refused.

use crate::{error_kind::ErrorKind, nest::Operand};

/// The reason why a run on the host was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// A buffer whose length is not the size of its tensor in memory.
    #[error("{operand}: expected a buffer of {expected} bytes, the whole image, got {given}")]
    Length {
        /// The tensor of the buffer.
        operand: Operand,
        /// The length of the buffer, in bytes.
        given: usize,
        /// The size of the tensor in memory, in bytes.
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
