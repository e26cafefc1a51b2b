use crate::nest::Operand;

/// Why a run on the host was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// A buffer whose length is not that of its image.
    #[error("{operand}: a buffer of {given} bytes; the image takes {expected}")]
    Length {
        /// Which side.
        operand: Operand,
        /// Bytes of the buffer.
        given: usize,
        /// Bytes of the image.
        expected: u64,
    },
}
