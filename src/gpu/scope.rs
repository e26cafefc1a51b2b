//! wgpu's error scopes, as results.

use super::GpuError;
use super::error::brief;

/// Runs `body` and returns what wgpu reported meanwhile, on this thread, as a typed error.
///
/// wgpu answers most mistakes through error scopes and panics where none is open. On native backends a scope's result
/// is there as soon as it is popped, so that nothing waits here.
pub(super) fn scoped<T>(
    device: &wgpu::Device,
    operation: &'static str,
    body: impl FnOnce() -> T,
) -> Result<T, GpuError> {
    let internal = device.push_error_scope(wgpu::ErrorFilter::Internal);
    let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
    let validation = device.push_error_scope(wgpu::ErrorFilter::Validation);
    let value = body();
    // Scopes are popped in the reverse of their order; the future holds no scope any more.
    let validation = pollster::block_on(validation.pop());
    let memory = pollster::block_on(memory.pop());
    let internal = pollster::block_on(internal.pop());
    // Memory first: what then fails to validate is mostly its consequence.
    match memory.or(internal).or(validation) {
        None => Ok(value),
        Some(error) => Err(typed(operation, &error)),
    }
}

fn typed(operation: &'static str, error: &wgpu::Error) -> GpuError {
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
