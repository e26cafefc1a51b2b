//! Why a kernel has no translation.

use super::Language;
use crate::{error_kind::ErrorKind, wgsl::WgslError};

/// Why a kernel has no translation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BackendError {
    /// naga does not write the kernel in this language.
    #[error("{language}: naga does not write this kernel: {message}")]
    Write {
        /// The language.
        language: Language,
        /// What naga says.
        message: String,
    },
    /// naga refuses the kernel's text.
    #[error(transparent)]
    Wgsl(#[from] WgslError),
    /// A name that is no language.
    #[error("language: expected one of {}, got {given:?}", Language::names())]
    Unknown {
        /// The name that was given.
        given: String,
    },
}

impl BackendError {
    /// What kind of failure it is. A kernel that stridec compiled and naga does not write is a defect of one of them.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Unknown { .. } => ErrorKind::Invalid,
            Self::Wgsl(error) => error.kind(),
            Self::Write { .. } => ErrorKind::Failed,
        }
    }
}
