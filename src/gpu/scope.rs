//! Converts the errors of wgpu's error scopes to results. Without a scope, an error would reach
//! wgpu's handler, which panics.

use super::GpuError;
use super::error::brief;

/// Runs `body` inside error scopes. Returns an error if wgpu reports one on this thread meanwhile.
///
/// wgpu reports most mistakes through error scopes, and panics if no scope is open. On native
/// backends, the result of a scope is ready when the scope is popped, so this function does not
/// wait.
pub(super) fn scoped<T>(
    device: &wgpu::Device,
    operation: &'static str,
    body: impl FnOnce() -> T,
) -> Result<T, GpuError> {
    let internal = device.push_error_scope(wgpu::ErrorFilter::Internal);
    let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
    let validation = device.push_error_scope(wgpu::ErrorFilter::Validation);
    let value = body();
    // Scopes are popped in reverse order. `pop` closes its scope when it returns, even before its
    // future is resolved.
    let validation = pollster::block_on(validation.pop());
    let memory = pollster::block_on(memory.pop());
    let internal = pollster::block_on(internal.pop());
    // An error about memory takes precedence, because it usually causes the validation errors.
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
