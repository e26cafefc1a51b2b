//! stridec compiles tensor layout changes into GPU kernels.

pub mod proto;
pub mod shape;
pub mod wgsl;
