//! `stridec bench`: times an operation and its device's own copy of the same number of bytes.

use std::fmt::Write as _;

use stridec::Operation;

use super::{
    args::{BenchArgs, DeviceArg},
    errors::{Exit, Failure, note, printable},
    measure::{Measured, on_host},
    output::{Output, print},
};

/// Runs `stridec bench`: times the operation, writes the times to the file of `--json`, and prints
/// them as a table.
pub(super) fn bench(args: &BenchArgs) -> Result<(), Failure> {
    let operation = args.op.request(None)?.operation;
    if operation.destination_descriptor().image_bytes() == 0 {
        return Err(Failure::invalid("the destination has no bytes, so there is nothing to time"));
    }
    let json = args.json.as_deref().map(Output::open).transpose()?;
    let (device, measured) = measure(args, &operation)?;
    if let Some(mut json) = json {
        for one in &measured {
            json.write(format!("{}\n", one.json(operation.title(), &device)).as_bytes())?;
        }
        json.finish()?;
    }
    print(&table(&operation, &device, args.repetitions, &measured))
}

/// Times the operation on the device of `--device`. Returns the name of the device and the times.
///
/// With `--device auto`, uses the host if there is no GPU.
fn measure(args: &BenchArgs, operation: &Operation) -> Result<(String, Vec<Measured>), Failure> {
    let repetitions = usize::from(args.repetitions);
    if args.device != DeviceArg::Host {
        match device::measure(operation, repetitions, args.device == DeviceArg::Gpu) {
            Err(failure) if failure.is_no_device() && args.device == DeviceArg::Auto => {
                note(&failure.to_string());
            }
            done => return done,
        }
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let measured = on_host(operation, repetitions).map_err(failed)?;
    Ok((format!("the host, threads: {threads}"), measured))
}

/// Converts an error of a measurement into a failure.
pub(super) fn failed(error: Box<dyn std::error::Error>) -> Failure {
    match error.downcast::<stridec::Error>() {
        Ok(error) => Failure::from(*error),
        Err(error) => Failure::new(Exit::Failed, error.to_string()),
    }
}

/// Formats the results as a table with a line for each implementation. The first line is the
/// device's own copy, and the last column compares each throughput with that copy.
fn table(operation: &Operation, device: &str, repetitions: u16, measured: &[Measured]) -> String {
    let mut text = format!("{}\n{}\n", operation.title(), printable(device));
    let bytes = measured[0].bytes;
    let _ = writeln!(text, "{bytes} bytes read and written, best and median of {repetitions}\n");
    let _ = writeln!(
        text,
        "{:10}{:>12}{:>12}{:>12}{:>12}",
        "", "best ms", "median ms", "GB/s", "of the copy"
    );
    for one in measured {
        let [best, median] = [one.best, one.median].map(|time| time.as_secs_f64() * 1e3);
        let (rate, ratio) = (one.rate(), one.rate() / measured[0].rate());
        let name = &one.implementation;
        let _ = writeln!(text, "{name:10}{best:12.3}{median:12.3}{rate:12.2}{ratio:12.3}");
    }
    text
}

#[cfg(feature = "gpu")]
mod device {
    use stridec::{
        Error,
        gpu::{DeviceType, Gpu},
    };

    use super::{Failure, Measured, Operation, failed};
    use crate::measure::on_gpu;

    /// The number of kernels in one submission if the adapter is hardware, on which a single kernel
    /// takes less time than the submission itself. On a software driver, a kernel takes longer and
    /// is submitted alone.
    const BACK_TO_BACK: u32 = 20;

    /// Times the operation on the best adapter. A software driver is used only if `software` is
    /// true. Returns the name of the device and the times.
    pub(super) fn measure(
        operation: &Operation,
        repetitions: usize,
        software: bool,
    ) -> Result<(String, Vec<Measured>), Failure> {
        let gpu = if software { Gpu::open() } else { Gpu::open_hardware() };
        let gpu = gpu.map_err(Error::from)?;
        let times = if gpu.device_type() == DeviceType::Cpu { 1 } else { BACK_TO_BACK };
        let measured = on_gpu(&gpu, operation, repetitions, times).map_err(failed)?;
        Ok((format!("{}, {}, {times} in a submission", gpu.name(), gpu.backend()), measured))
    }
}

#[cfg(not(feature = "gpu"))]
mod device {
    use super::{Failure, Measured, Operation};

    pub(super) fn measure(
        _: &Operation,
        _: usize,
        _: bool,
    ) -> Result<(String, Vec<Measured>), Failure> {
        Err(crate::devices::without_gpu())
    }
}
