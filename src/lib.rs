//! stridec compiles tensor layout changes into GPU kernels.

#[cfg(feature = "gpu")]
pub mod gpu;
pub mod host;
pub mod nest;
pub mod proto;
pub mod request;
pub mod schedule;
pub mod shape;
pub mod stride;
pub mod wgsl;
pub mod window;
