//! Why a sharding is invalid.

use crate::{
    error_kind::ErrorKind,
    shape::{FieldPath, ShapeError},
};

/// Why a sharding is invalid, or does not fit its array.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShardingError {
    /// A text that is no sharding.
    #[error("{reason} (at byte {offset})")]
    Syntax {
        /// The first offending byte.
        offset: usize,
        /// What was expected, and what is there.
        reason: String,
    },
    /// A value that breaks a rule.
    #[error("{field}: expected {rule}, got {given}")]
    Rule {
        /// The field of `xla.OpSharding`.
        field: FieldPath,
        /// What is accepted.
        rule: String,
        /// The value.
        given: String,
    },
    /// A valid sharding, or a pair of them, that is more than stridec does.
    #[error("{field}: {given} is not supported: {reason}")]
    Unsupported {
        /// The field of `xla.OpSharding`.
        field: FieldPath,
        /// The value.
        given: String,
        /// Why.
        reason: String,
    },
    /// Bytes that are no serialized sharding.
    #[error(transparent)]
    Decode(#[from] ShapeError),
}

impl ShardingError {
    /// What kind of failure it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Unsupported { .. } => ErrorKind::Unsupported,
            _ => ErrorKind::Invalid,
        }
    }

    /// The field that the error is about; `None` where it is about a text or bytes.
    #[must_use]
    pub fn field(&self) -> Option<FieldPath> {
        match self {
            Self::Rule { field, .. } | Self::Unsupported { field, .. } => Some(field.clone()),
            Self::Decode(error) => error.field().cloned(),
            Self::Syntax { .. } => None,
        }
    }

    /// The first offending byte of a text.
    #[must_use]
    pub fn offset(&self) -> Option<usize> {
        match self {
            Self::Syntax { offset, .. } => Some(*offset),
            _ => None,
        }
    }

    /// The same error, its field seen from the message that holds this one at `outer`.
    #[must_use]
    pub fn below(mut self, outer: &FieldPath) -> Self {
        if let Self::Rule { field, .. } | Self::Unsupported { field, .. } = &mut self {
            *field = std::mem::take(field).below(outer);
        }
        self
    }
}

/// The error of a value that breaks `rule`.
#[allow(clippy::needless_pass_by_value)] // callers have values at hand
pub(super) fn rule(
    field: FieldPath,
    rule: impl Into<String>,
    given: impl ToString,
) -> ShardingError {
    ShardingError::Rule { field, rule: rule.into(), given: given.to_string() }
}
