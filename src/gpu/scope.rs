//! wgpu's error scopes, as results.

use super::GpuError;
use super::error::brief;

/// Runs `body`, and returns the errors that wgpu reports on this thread meanwhile.
///
/// wgpu reports most mistakes through error scopes, and panics if none is open. On native backends
/// a scope's result is ready when it is popped, so that nothing waits here.
pub(super) fn scoped<T>(
    device: &wgpu::Device,
    operation: &'static str,
    body: impl FnOnce() -> T,
) -> Result<T, GpuError> {
    let internal = device.push_error_scope(wgpu::ErrorFilter::Internal);
    let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
    let validation = device.push_error_scope(wgpu::ErrorFilter::Validation);
    let value = body();
    // Scopes are popped in reverse order. After `pop` returns, its future keeps no scope open.
    let validation = pollster::block_on(validation.pop());
    let memory = pollster::block_on(memory.pop());
    let internal = pollster::block_on(internal.pop());
    // Out of memory comes first, because it usually causes the validation errors.
    match memory.or(internal).or(validation) {
        None => Ok(value),
        Some(error) => Err(gpu_error(operation, &error)),
    }
}

fn gpu_error(operation: &'static str, error: &wgpu::Error) -> GpuError {
    match error {
        wgpu::Error::OutOfMemory { .. } => GpuError::OutOfMemory { operation },
        wgpu::Error::Validation { description, .. } => {
            GpuError::Validation { operation, message: brief(description) }
        }
        wgpu::Error::Internal { description, .. } => {
            GpuError::Internal { operation, message: brief(description) }
        }
    }
}
