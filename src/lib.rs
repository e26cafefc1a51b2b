//! stridec compiles tensor layout changes into GPU kernels.

pub mod host;
pub mod nest;
pub mod proto;
pub mod request;
pub mod shape;
pub mod stride;
pub mod wgsl;
pub mod window;
