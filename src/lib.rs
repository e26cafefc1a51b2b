//! stridec compiles tensor layout changes into GPU kernels.

#[cfg(feature = "backends")]
pub mod backend;
mod error;
#[cfg(feature = "explain")]
pub mod explain;
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

pub use error::{Error, ErrorKind};
pub use request::{Operation, Tensor};
pub use schedule::Target;
pub use wgsl::Kernel;
