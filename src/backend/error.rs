//! The error of this room.

use super::Language;

/// Why a kernel has no translation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BackendError {
    /// naga does not write the kernel in this language.
    #[error("{language}: naga does not write the kernel: {message}")]
    Write {
        /// The language.
        language: Language,
        /// What naga says.
        message: String,
    },
    /// A name that is no language.
    #[error("language: {given:?} is not known; accepted are {}", Language::names())]
    Unknown {
        /// The name that was given.
        given: String,
    },
}

impl BackendError {
    /// Whether the caller's input is wrong; else it is a defect of stridec or naga.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        matches!(self, Self::Unknown { .. })
    }
}
