//! What integration tests share.

#[cfg(feature = "gpu")]
pub(crate) mod gpu;
