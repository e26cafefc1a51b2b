//! [`ShardingError`]: the reason why a sharding is refused.

use crate::{
    error_kind::ErrorKind,
    shape::{FieldPath, ShapeError},
};

/// The reason why a sharding is invalid or does not match its array.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShardingError {
    /// The text is not a sharding.
    #[error("{reason} (at byte {offset})")]
    Syntax {
        /// The byte offset of the error in the text.
        offset: usize,
        /// A description of the expected and the given text.
        reason: String,
    },
    /// A value breaks a rule.
    #[error("{field}: expected {rule}, got {given}")]
    Rule {
        /// The field of `xla.OpSharding`.
        field: FieldPath,
        /// A description of the accepted values.
        rule: String,
        /// The given value.
        given: String,
    },
    /// A sharding, or a pair of shardings, is valid but not supported by stridec.
    #[error("{field}: {given} is not supported: {reason}")]
    Unsupported {
        /// The field of `xla.OpSharding`.
        field: FieldPath,
        /// The given value.
        given: String,
        /// The reason why the value is not supported.
        reason: String,
    },
    /// The bytes are not a serialized sharding.
    #[error(transparent)]
    Decode(#[from] ShapeError),
}

impl ShardingError {
    /// Returns the kind of the failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Unsupported { .. } => ErrorKind::Unsupported,
            _ => ErrorKind::Invalid,
        }
    }

    /// Returns the path of the invalid field, or `None` for an error in a text or in bytes.
    #[must_use]
    pub fn field(&self) -> Option<FieldPath> {
        match self {
            Self::Rule { field, .. } | Self::Unsupported { field, .. } => Some(field.clone()),
            Self::Decode(error) => error.field().cloned(),
            Self::Syntax { .. } => None,
        }
    }

    /// Returns the byte offset of an error in a text, or `None` for any other error.
    #[must_use]
    pub fn offset(&self) -> Option<usize> {
        match self {
            Self::Syntax { offset, .. } => Some(*offset),
            _ => None,
        }
    }

    /// Prepends `outer` to the path of the field, for a sharding that is nested at `outer` in
    /// another message.
    #[must_use]
    pub fn below(mut self, outer: &FieldPath) -> Self {
        if let Self::Rule { field, .. } | Self::Unsupported { field, .. } = &mut self {
            *field = std::mem::take(field).below(outer);
        }
        self
    }
}

/// Returns the error for the value `given`, which breaks `rule`.
#[allow(clippy::needless_pass_by_value)] // callers have values at hand
pub(super) fn rule(
    field: FieldPath,
    rule: impl Into<String>,
    given: impl ToString,
) -> ShardingError {
    ShardingError::Rule { field, rule: rule.into(), given: given.to_string() }
}
