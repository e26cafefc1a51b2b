//! Measures the time for each byte, from 1 MiB to the largest tensor of one kernel, and on the host
//! to `--largest`.

use std::{error::Error, fs::File, io::Write as _};

use stridec::{
    Operation, Tensor,
    gpu::Gpu,
    shape::{ElementType, Layout, Shape},
    window::Slice,
};

use crate::{
    measure::{Measured, on_gpu, on_host},
    write_json,
};

/// The largest size that is measured the full number of times, in MiB. Larger sizes are measured
/// less often, so that all sizes move equally many bytes in total.
const FULL_REPETITIONS_MIB: u64 = 32;

/// The points of one operation on one device.
pub struct Line {
    pub operation: &'static str,
    pub element_type: ElementType,
    /// Pairs of the destination's size in bytes and the nanoseconds for each byte.
    pub points: Vec<(f64, f64)>,
}

/// A size of tensors, and the number of its measurements.
struct Size {
    mebibytes: u64,
    repetitions: u64,
}

/// A device: its name and its lines.
pub struct Panel {
    pub device: String,
    pub lines: Vec<Line>,
}

/// Measures all lines, on the host and on the GPU if there is one.
pub fn measure(
    gpu: Option<&Gpu>,
    repetitions: u64,
    largest: u64,
    json: &mut Option<File>,
) -> Result<Vec<Panel>, Box<dyn Error>> {
    let sizes: Vec<Size> = (0..64)
        .map(|log| 1 << log)
        .take_while(|&mebibytes| mebibytes <= largest)
        .map(|mebibytes| {
            let turns = repetitions * FULL_REPETITIONS_MIB / mebibytes.max(FULL_REPETITIONS_MIB);
            Size { mebibytes, repetitions: turns.max(3) }
        })
        .collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut panels =
        vec![panel(format!("host, threads: {threads}"), &sizes, json, |operation, times| {
            on_host(operation, times).map(Some)
        })?];
    if let Some(gpu) = gpu {
        let target = gpu.limits().target(gpu.name());
        panels.push(panel(gpu.name(), &sizes, json, |operation, times| {
            let fits = operation.schedule(&target).is_ok();
            if fits { on_gpu(gpu, operation, times, 1).map(Some) } else { Ok(None) }
        })?);
    }
    Ok(panels)
}

/// Measures one device. Each line ends before the first size that the device refuses.
fn panel(
    device: String,
    sizes: &[Size],
    json: &mut Option<File>,
    time: impl Fn(&Operation, usize) -> Result<Option<Vec<Measured>>, Box<dyn Error>>,
) -> Result<Panel, Box<dyn Error>> {
    println!("{device}\nns for each byte of the destination, best");
    let mut lines = Vec::new();
    for operation in ["copy", "transpose", "slice"] {
        for element_type in [ElementType::F32, ElementType::U8] {
            let mut points = Vec::new();
            print!("{:14}", format!("{operation} {element_type}"));
            for &Size { mebibytes, repetitions } in sizes {
                let case = case(operation, element_type, mebibytes << 20)?;
                let Some(measured) = time(&case, usize::try_from(repetitions)?)? else { break };
                let Some(own) = measured.last() else { break };
                let bytes = case.destination_descriptor().image_bytes() as f64;
                points.push((bytes, own.best.as_secs_f64() * 1e9 / bytes));
                print!(" {:7.4}", own.best.as_secs_f64() * 1e9 / bytes);
                std::io::stdout().flush()?;
                let name = format!("{operation} {element_type} {mebibytes} MiB");
                write_json(json, &name, &device, &measured)?;
            }
            println!();
            lines.push(Line { operation, element_type, points });
        }
    }
    Ok(Panel { device, lines })
}

/// Returns an operation on a matrix of about `bytes` bytes that is nearly square.
///
/// The sides are odd multiples of 8. Rows whose length is a power of two would only measure how a
/// cache maps addresses.
fn case(
    operation: &str,
    element_type: ElementType,
    bytes: u64,
) -> Result<Operation, stridec::Error> {
    let elements = bytes * 8 / u64::from(element_type.storage_bits().unwrap_or(8));
    let side = (elements.isqrt() - 8) / 16 * 16 + 8;
    let sizes = [side, elements / side / 8 * 8];
    let source = Tensor::dense(element_type, sizes)?;
    match operation {
        "copy" => Operation::relayout(source.clone(), source),
        "transpose" => {
            let turned = Shape::new(element_type, sizes, Layout::new([0, 1]))?;
            Operation::relayout(source, turned.try_into()?)
        }
        // Seven eighths of each row.
        _ => {
            let columns = sizes[1] / 8;
            let slice = Slice::new([0, columns / 2], [side, columns * 7], [1, 1]);
            Operation::slice(source, &slice, None)
        }
    }
}
