//! [`ReshardError`]: the reason that a reshard is refused.

use crate::{
    error_kind::ErrorKind, host::HostError, nest::NestError, shape::ShapeError,
    sharding::ShardingError, stride::StrideError, window::WindowError,
};

/// The reason that a reshard is refused: a shard does not fit the plan, or a buffer the shard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReshardError {
    /// An invalid sharding, or one that does not fit the array.
    #[error(transparent)]
    Sharding(#[from] ShardingError),
    /// A layout that does not fit the shape of a shard.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A shard whose memory cannot be described by strides.
    #[error(transparent)]
    Stride(#[from] StrideError),
    /// A box that does not fit its shard.
    #[error(transparent)]
    Window(#[from] WindowError),
    /// A shard and a message that do not fit each other.
    #[error(transparent)]
    Nest(#[from] NestError),
    /// An image or a message of the wrong length.
    #[error(transparent)]
    Host(#[from] HostError),
}

impl ReshardError {
    /// Returns the kind of the failure.
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
