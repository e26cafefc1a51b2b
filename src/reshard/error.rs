//! [`ReshardError`]: the reason why a reshard is refused.

use crate::{
    error_kind::ErrorKind, host::HostError, nest::NestError, shape::ShapeError,
    sharding::ShardingError, stride::StrideError, window::WindowError,
};

/// The reason why a reshard is refused: a sharding, a shard, or the memory of a shard is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReshardError {
    /// A sharding is invalid or does not match the array.
    #[error(transparent)]
    Sharding(#[from] ShardingError),
    /// A layout does not match the shape of a shard.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The layout of a shard cannot be expressed with strides.
    #[error(transparent)]
    Stride(#[from] StrideError),
    /// A box that a message moves does not lie inside its shard.
    #[error(transparent)]
    Window(#[from] WindowError),
    /// The copy between a shard and a message cannot be expressed as a loop nest.
    #[error(transparent)]
    Nest(#[from] NestError),
    /// A buffer or a message has the wrong length.
    #[error(transparent)]
    Host(#[from] HostError),
}

impl ReshardError {
    /// Returns the kind of the failure, for callers that need no more detail than that.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Sharding(error) => error.kind(),
            Self::Shape(_) => ErrorKind::Invalid,
            Self::Stride(error) => error.kind(),
            Self::Window(error) => error.kind(),
            Self::Nest(error) => error.kind(),
            Self::Host(error) => error.kind(),
        }
    }
}
