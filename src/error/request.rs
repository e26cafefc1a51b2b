//! [`RequestError`]: fields of a request, a message from a program in another language, that are
//! missing or invalid.

use crate::{error_kind::ErrorKind, shape::FieldPath};

/// An error in a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// A required field is missing.
    #[error("{field}: missing; expected {accepted}")]
    Missing {
        /// The path of the field.
        field: &'static str,
        /// The accepted values.
        accepted: &'static str,
    },
    /// A number does not denote an element type.
    #[error("{field}: expected a number of xla.PrimitiveType that has elements, got {given}")]
    ElementType {
        /// The path of the field.
        field: &'static str,
        /// The number that was given.
        given: i32,
    },
    /// The request contains an HLO module, but a single operation is expected.
    #[error("hlo_module: expected a relayout or a slice, one operation, got a module")]
    Program,
    /// A number does not denote a language.
    #[error("language: expected a number of stridec.Language, 0 to 4, got {given}")]
    Language {
        /// The number that was given.
        given: i32,
    },
    /// A number does not denote a kind of adapter.
    #[error("target.kind: expected a number of stridec.Target.Kind, 0 to 2, got {given}")]
    AdapterKind {
        /// The number that was given.
        given: i32,
    },
    /// A number does not denote a treatment of gaps.
    #[error("gaps: expected a number of stridec.Gaps, 0 or 1, got {given}")]
    Gaps {
        /// The number that was given.
        given: i32,
    },
    /// A language other than WGSL was requested, but the crate was built without the feature
    /// `backends`.
    #[error(
        "language: {language} needs the feature `backends`, which this library was built without; ask for WGSL, or build with it"
    )]
    NoBackends {
        /// The name of the language in the proto.
        language: &'static str,
    },
}

impl RequestError {
    /// Returns the path of the field that the error is about.
    #[must_use]
    pub fn field(&self) -> FieldPath {
        match self {
            Self::Missing { field, .. } | Self::ElementType { field, .. } => FieldPath::of(field),
            Self::AdapterKind { .. } => FieldPath::new("target").field("kind"),
            Self::Program => FieldPath::new("hlo_module"),
            Self::Gaps { .. } => FieldPath::new("gaps"),
            Self::Language { .. } | Self::NoBackends { .. } => FieldPath::new("language"),
        }
    }

    /// Returns the kind of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NoBackends { .. } => ErrorKind::Unsupported,
            _ => ErrorKind::Invalid,
        }
    }
}
