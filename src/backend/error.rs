//! [`BackendError`]: the reasons why a kernel cannot be translated to another shading language.

use super::Language;
use crate::{error_kind::ErrorKind, wgsl::WgslError};

/// The reason why a kernel cannot be translated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BackendError {
    /// A kernel that naga cannot write in the requested language.
    #[error("{language}: naga does not write this kernel: {message}")]
    Write {
        /// The requested language.
        language: Language,
        /// naga's message.
        message: String,
    },
    /// Functions without an entry point, in a language in which naga can write only whole shaders.
    #[error(
        "{language}: expected a kernel, because naga writes whole shaders only; call the functions from a WGSL kernel, and translate that"
    )]
    Functions {
        /// The requested language.
        language: Language,
    },
    /// A kernel whose WGSL naga rejects.
    #[error(transparent)]
    Wgsl(#[from] WgslError),
    /// A name that belongs to no supported language.
    #[error("language: expected one of {}, got {given:?}", Language::names())]
    Unknown {
        /// The given name.
        given: String,
    },
}

impl BackendError {
    /// Returns the kind of failure. If naga cannot write a kernel that stridec compiled, either
    /// naga or stridec has a defect.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Unknown { .. } => ErrorKind::Invalid,
            Self::Wgsl(error) => error.kind(),
            Self::Write { .. } => ErrorKind::Failed,
            Self::Functions { .. } => ErrorKind::Unsupported,
        }
    }
}
