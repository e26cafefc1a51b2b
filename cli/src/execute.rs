//! Runs an operation on the device of `--device`, with a progress bar.

use stridec::{
    Error, Operation,
    request::AtRunTime,
    run::{Device, Ran},
};

use super::{args::DeviceArg, errors::Failure, progress::bar};

/// Runs the operation, and returns the device that was used.
pub(super) fn execute(
    operation: &Operation,
    device: DeviceArg,
    source: &[u8],
    destination: &mut [u8],
) -> Result<Ran, Failure> {
    let device = device.device()?;
    let bytes = destination.len() as u64;
    let mut shown = None;
    let ran = operation.run(device, source, destination, |written| {
        if written < bytes {
            shown.get_or_insert_with(|| bar(bytes)).set_position(written);
        }
    });
    if let Some(bar) = shown {
        bar.finish_and_clear();
    }
    ran.map_err(beyond_limits)
}

/// Runs an operation with extents at run time, and returns the device that was used.
pub(super) fn execute_with_extents(
    operation: &AtRunTime,
    extents: &[u64],
    device: DeviceArg,
    source: &[u8],
    destination: &mut [u8],
) -> Result<Ran, Failure> {
    operation.run(device.device()?, extents, source, destination).map_err(beyond_limits)
}

impl DeviceArg {
    /// Returns the choice of a device. Returns a failure if this build has no GPU.
    #[cfg_attr(feature = "gpu", allow(clippy::unnecessary_wraps))] // it fails without a GPU only
    fn device(self) -> Result<Device, Failure> {
        match self {
            Self::Auto => Ok(Device::Auto),
            Self::Host => Ok(Device::Host),
            #[cfg(feature = "gpu")]
            Self::Gpu => Ok(Device::Gpu),
            #[cfg(not(feature = "gpu"))]
            Self::Gpu => Err(super::devices::without_gpu()),
        }
    }
}

/// Converts an error into a failure. If the limits of the GPU are too low, the message suggests
/// `--device host`.
fn beyond_limits(error: Error) -> Failure {
    #[cfg(feature = "gpu")]
    if let Error::Gpu(error) = &error
        && error.is_beyond_limits()
    {
        let hint = "--device host has no such limit";
        return Failure::new(super::errors::Exit::Unsupported, format!("{error}; {hint}"));
    }
    error.into()
}
