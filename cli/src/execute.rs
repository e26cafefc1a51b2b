//! Running an operation on the device that `--device` names, with a bar of progress.

use stridec::{
    Error, Operation,
    run::{Device as Where, Ran},
};

use super::{args::Device, errors::Failure, progress::bar};

/// Runs the operation; returns what ran it.
pub(super) fn execute(
    operation: &Operation,
    device: Device,
    source: &[u8],
    destination: &mut [u8],
) -> Result<Ran, Failure> {
    let device = match device {
        Device::Auto => Where::Auto,
        Device::Host => Where::Host,
        #[cfg(feature = "gpu")]
        Device::Gpu => Where::Gpu,
        #[cfg(not(feature = "gpu"))]
        Device::Gpu => return Err(super::devices::without_gpu()),
    };
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

/// The failure; where the GPU's limits are the reason, it names what has none.
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
