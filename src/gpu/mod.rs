//! Runs a [`Kernel`](crate::wgsl::Kernel) on a GPU, through wgpu.
//!
//! [`Adapters`] lists the devices of the machine. [`Gpu`] opens one of them, or adopts a device
//! that the embedder owns. Host memory is passed as slices with all bytes of a tensor, including
//! padding. There are seven ways to run a kernel, from the simplest to the one with the least
//! overhead:
//!
//! | | moves | waits |
//! |---|---|---|
//! | [`Gpu::run_nest`] | host bytes to host bytes, for a copy of any size | for the result |
//! | [`Gpu::run`] | host bytes to host bytes, for one kernel | for the result |
//! | [`Gpu::run_in_parts`] | host bytes to host bytes, part by part | for one part at a time |
//! | [`Gpu::upload`], [`Gpu::dispatch`], [`Gpu::download`] | one step at a time; buffers stay on the device | for the step |
//! | [`Gpu::encode`], [`Gpu::encode_program`] | nothing: the buffers are the caller's | never |
//! | [`Gpu::bind`], [`Gpu::bind_program`] | the same, recorded again and again | never |
//! | [`Gpu::bind_with_extents`] | the same, with other extents each time | never |
//!
//! Before the device is used, the sizes of buffers are checked against the kernel, and the kernel
//! is checked against the device's limits. Errors of wgpu are returned as [`GpuError`]. Every call
//! opens error scopes, because wgpu's handler for errors outside a scope panics.

mod adapter;
mod at_run_time;
mod buffer;
mod cache;
mod check;
mod device;
mod encode;
mod encode_program;
mod error;
mod limits;
mod module;
mod parts;
mod pipeline;
mod program;
mod recording;
mod rows;
mod run;
mod scope;
mod scratch;
mod time;
mod transfer;
mod wait;

pub use adapter::{Adapter, Adapters, DeviceType};
pub use at_run_time::RunTimeRecording;
pub use buffer::Buffer;
pub use cache::PipelineCache;
pub use device::Gpu;
pub use error::GpuError;
pub use limits::AdapterLimits;
pub use recording::{Recorder, Recording};
/// The version of wgpu that this module uses.
pub use wgpu;
