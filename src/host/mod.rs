//! Runs a [`CopyNest`](crate::nest::CopyNest) on the CPU, in parallel, for every element type.

mod error;
mod run;

pub use error::HostError;
pub use run::run;
