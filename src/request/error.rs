//! The error of this module: fields of a request that are missing or have no meaning.

use crate::{error_kind::ErrorKind, shape::FieldPath};

/// Why a request is incomplete.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// A field that a request needs.
    #[error("{field}: missing; expected {accepted}")]
    Missing {
        /// The field's path.
        field: &'static str,
        /// What it takes.
        accepted: &'static str,
    },
    /// A type number that names no type.
    #[error("{field}: expected a number of xla.PrimitiveType that has elements, got {given}")]
    ElementType {
        /// The field's path.
        field: &'static str,
        /// The number.
        given: i32,
    },
    /// An HLO module where one operation is asked for.
    #[error("hlo_module: expected a relayout or a slice, one operation, got a module")]
    Program,
    /// A number that names no language.
    #[error("language: expected a number of stridec.Language, 0 to 4, got {given}")]
    Language {
        /// The number.
        given: i32,
    },
    /// A number that names no kind of adapter.
    #[error("target.kind: expected a number of stridec.Target.Kind, 0 to 2, got {given}")]
    AdapterKind {
        /// The number.
        given: i32,
    },
    /// A language other than WGSL, asked of a library without the feature `backends`.
    #[error(
        "language: {language} needs the feature `backends`, which this library was built without; ask for WGSL, or build with it"
    )]
    NoBackends {
        /// The language's name in the proto.
        language: &'static str,
    },
}

impl RequestError {
    /// The path of the field that the error is about.
    #[must_use]
    pub fn field(&self) -> FieldPath {
        match self {
            Self::Missing { field, .. } | Self::ElementType { field, .. } => FieldPath::of(field),
            Self::AdapterKind { .. } => FieldPath::new("target").field("kind"),
            Self::Program => FieldPath::new("hlo_module"),
            Self::Language { .. } | Self::NoBackends { .. } => FieldPath::new("language"),
        }
    }

    /// What kind of failure it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NoBackends { .. } => ErrorKind::Unsupported,
            _ => ErrorKind::Invalid,
        }
    }
}
