//! Which device runs an operation.

use stridec::{Error, Operation, host, nest::slabs};

use super::{
    args::Device,
    errors::{Exit, Failure},
    progress::bar,
};

/// Bytes of the destination that the host writes between two looks at the progress.
const SLAB: u64 = 256 << 20;

/// Runs the operation on the device that was asked for; returns what ran it, in words.
pub(super) fn execute(
    operation: &Operation,
    device: Device,
    source: &[u8],
    destination: &mut [u8],
) -> Result<String, Failure> {
    let why = match device {
        Device::Host => None,
        Device::Gpu => {
            let took = gpu(operation, source, destination, true);
            return took.map_err(Refused::into_failure);
        }
        Device::Auto => match auto(operation, source, destination)? {
            Ok(took) => return Ok(took),
            Err(why) => Some(why),
        },
    };
    on_host(operation, source, destination)?;
    Ok(match why {
        Some(why) => format!("the host: {why}"),
        None => "the host".to_owned(),
    })
}

/// Runs on the host, slab by slab where there is much to do.
fn on_host(operation: &Operation, source: &[u8], destination: &mut [u8]) -> Result<(), Error> {
    let slabs: Vec<_> = slabs(operation.nest(), SLAB).collect();
    // Slabs of elements below a byte may start inside one.
    if slabs.len() < 2 || slabs.iter().any(|(_, bit)| bit % 8 != 0) {
        return operation.run_on_host(source, destination);
    }
    let bar = bar(destination.len() as u64);
    let mut rest = destination;
    for (slab, _) in &slabs {
        let bytes = usize::try_from(slab.dst_bytes()).unwrap_or(usize::MAX);
        let (run, behind) = rest.split_at_mut(bytes);
        host::run(slab, source, run)?;
        bar.inc(slab.dst_bytes());
        rest = behind;
    }
    bar.finish_and_clear();
    Ok(())
}

/// Runs on the GPU where there is one that can; else returns why the host has to.
fn auto(
    operation: &Operation,
    source: &[u8],
    destination: &mut [u8],
) -> Result<Result<String, String>, Failure> {
    match gpu(operation, source, destination, false) {
        Ok(took) => Ok(Ok(took)),
        Err(Refused::NoDevice(why) | Refused::BeyondLimits(why)) => Ok(Err(why)),
        Err(Refused::Failed(failure)) => Err(failure),
    }
}

/// Why the GPU did not run an operation.
#[cfg_attr(not(feature = "gpu"), expect(dead_code, reason = "there is one reason then"))]
enum Refused {
    /// There is none, or none that opens.
    NoDevice(String),
    /// The tensors pass its limits.
    BeyondLimits(String),
    /// It failed, or the operation is at fault.
    Failed(Failure),
}

impl Refused {
    fn into_failure(self) -> Failure {
        match self {
            Self::NoDevice(why) => Failure::new(Exit::NoDevice, why),
            Self::BeyondLimits(why) => {
                Failure::new(Exit::Unsupported, format!("{why}; --device host has no such limit"))
            }
            Self::Failed(failure) => failure,
        }
    }
}

#[cfg(feature = "gpu")]
mod device {
    use stridec::{
        Error,
        gpu::{Gpu, GpuError},
        schedule::ScheduleError,
    };

    use super::{Exit, Failure, Operation, Refused, bar};
    use crate::cli::devices::{chosen, target};

    /// Runs on the best adapter; `software` says whether a software driver will do.
    pub(super) fn gpu(
        operation: &Operation,
        source: &[u8],
        destination: &mut [u8],
        software: bool,
    ) -> Result<String, Refused> {
        let adapter = chosen(software).map_err(Refused::NoDevice)?;
        let target = target(&adapter);
        let gpu = Gpu::open_adapter(&adapter)?;
        let took = format!("the GPU: {}, {}", gpu.name(), gpu.backend());
        match operation.compile(&target) {
            Ok(kernel) => match gpu.run(&kernel, source, destination) {
                Err(error) if error.is_beyond_limits() => gpu.trim(),
                done => return Ok(done.map(|()| took)?),
            },
            Err(Error::Schedule(
                ScheduleError::Binding { .. }
                | ScheduleError::Index { .. }
                | ScheduleError::Dispatch { .. },
            )) => {}
            Err(error) => return Err(Refused::Failed(error.into())),
        }
        let bar = bar(destination.len() as u64);
        let mut parts = 0;
        gpu.run_in_parts(operation.nest(), &target, source, destination, |done| {
            parts += 1;
            bar.set_position(done);
        })?;
        bar.finish_and_clear();
        Ok(format!("{took}, in {parts} parts"))
    }

    impl From<GpuError> for Refused {
        fn from(error: GpuError) -> Self {
            let why = error.to_string();
            if error.is_no_device() {
                Self::NoDevice(why)
            } else if error.is_beyond_limits() {
                Self::BeyondLimits(why)
            } else {
                Self::Failed(Failure::new(Exit::Failed, why))
            }
        }
    }
}

#[cfg(not(feature = "gpu"))]
mod device {
    use super::{Operation, Refused};

    pub(super) fn gpu(_: &Operation, _: &[u8], _: &mut [u8], _: bool) -> Result<String, Refused> {
        let why = "no GPU: this stridec was built without the feature `gpu`";
        Err(Refused::NoDevice(why.to_owned()))
    }
}

use device::gpu;
