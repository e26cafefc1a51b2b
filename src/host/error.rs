//! Why a run on the host is refused.

use crate::{error_kind::ErrorKind, nest::Operand};

/// Why a run on the host was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// A buffer whose length is not that of its image.
    #[error("{operand}: expected a buffer of {expected} bytes, the whole image, got {given}")]
    Length {
        /// Which side.
        operand: Operand,
        /// Bytes of the buffer.
        given: usize,
        /// Bytes of the image.
        expected: u64,
    },
}

impl HostError {
    /// What kind of failure it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Length { .. } => ErrorKind::Invalid,
        }
    }
}
