//! stridec compiles tensor layout changes into GPU kernels.

#[cfg(feature = "gpu")]
pub mod gpu;
pub mod proto;
pub mod shape;
pub mod wgsl;
