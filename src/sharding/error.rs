//! [`ShardingError`]: the reason that a sharding is refused.

use crate::{
    error_kind::ErrorKind,
    shape::{FieldPath, ShapeError},
};

/// The reason that a sharding is invalid, or that it does not fit its array.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShardingError {
    /// A text that is not a sharding.
    #[error("{reason} (at byte {offset})")]
    Syntax {
        /// The first offending byte.
        offset: usize,
        /// The text that was expected, and the text that was found.
        reason: String,
    },
    /// A value that breaks a rule.
    #[error("{field}: expected {rule}, got {given}")]
    Rule {
        /// The field of `xla.OpSharding`.
        field: FieldPath,
        /// The accepted values.
        rule: String,
        /// The value.
        given: String,
    },
    /// A valid sharding, or a pair of them, that stridec does not support.
    #[error("{field}: {given} is not supported: {reason}")]
    Unsupported {
        /// The field of `xla.OpSharding`.
        field: FieldPath,
        /// The value.
        given: String,
        /// The reason.
        reason: String,
    },
    /// Bytes that are not a serialized sharding.
    #[error(transparent)]
    Decode(#[from] ShapeError),
}

impl ShardingError {
    /// Returns the kind of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Unsupported { .. } => ErrorKind::Unsupported,
            _ => ErrorKind::Invalid,
        }
    }

    /// Returns the field that the error is about, or `None` for errors in a text or in bytes.
    #[must_use]
    pub fn field(&self) -> Option<FieldPath> {
        match self {
            Self::Rule { field, .. } | Self::Unsupported { field, .. } => Some(field.clone()),
            Self::Decode(error) => error.field().cloned(),
            Self::Syntax { .. } => None,
        }
    }

    /// Returns the first offending byte of a text.
    #[must_use]
    pub fn offset(&self) -> Option<usize> {
        match self {
            Self::Syntax { offset, .. } => Some(*offset),
            _ => None,
        }
    }

    /// Returns the error with `outer`, the path of the message, before the path of its field.
    #[must_use]
    pub fn below(mut self, outer: &FieldPath) -> Self {
        if let Self::Rule { field, .. } | Self::Unsupported { field, .. } = &mut self {
            *field = std::mem::take(field).below(outer);
        }
        self
    }
}

/// Returns the error for a value that breaks `rule`.
#[allow(clippy::needless_pass_by_value)] // callers have values at hand
pub(super) fn rule(
    field: FieldPath,
    rule: impl Into<String>,
    given: impl ToString,
) -> ShardingError {
    ShardingError::Rule { field, rule: rule.into(), given: given.to_string() }
}
