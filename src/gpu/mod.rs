//! Runs a [`Kernel`](crate::wgsl::Kernel) on a GPU, through wgpu.
//!
//! [`Adapters`] says what the machine has, [`Gpu`] opens one of them or takes a device that the embedder already owns.
//! From there, five ways in, from the simplest to the cheapest:
//!
//! | | moves | waits |
//! |---|---|---|
//! | [`Gpu::run_nest`] | bytes in, bytes out, a copy of any size | until the result lies in host memory |
//! | [`Gpu::run`] | the same, for one kernel | the same |
//! | [`Gpu::run_in_parts`] | the same, for a copy cut into parts | for one part while the next is on its way |
//! | [`Gpu::upload`], [`Gpu::dispatch`], [`Gpu::download`] | each step on its own, buffers stay on the device | for the step |
//! | [`Gpu::encode`] | nothing: the caller's own encoder, the caller's own buffers | never |
//!
//! Sizes are checked against the kernel, and the kernel against the device's limits, before the device is touched. What
//! wgpu itself reports comes back as a [`GpuError`]: every call runs inside error scopes, so that nothing here reaches
//! wgpu's handler of uncaptured errors, which panics.

mod adapter;
mod buffer;
mod cache;
mod check;
mod device;
mod encode;
mod error;
mod limits;
mod module;
mod parts;
mod pipeline;
mod program;
mod rows;
mod run;
mod scope;
mod scratch;
mod time;
mod transfer;
mod wait;

pub use adapter::{Adapter, Adapters, DeviceType};
pub use buffer::Buffer;
pub use cache::PipelineCache;
pub use device::Gpu;
pub use error::GpuError;
pub use limits::AdapterLimits;
/// The version of wgpu that this module uses.
pub use wgpu;
