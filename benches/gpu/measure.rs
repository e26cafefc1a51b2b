//! Timing one case: a buffer copy, the best identity kernel and the relayout take turns.

use std::{
    error::Error,
    time::{Duration, Instant},
};

use stridec::{
    Kernel, Operation, Tensor,
    gpu::{Buffer, Gpu},
    shape::ElementType,
};

use crate::cases::Case;

/// What one implementation took.
pub struct Result {
    pub implementation: &'static str,
    /// Bytes that must move, read and written.
    pub bytes: u64,
    pub best: Duration,
    pub median: Duration,
}

/// Times a case `repetitions` times, each of `back_to_back` dispatches in one submission.
pub fn case(
    gpu: &Gpu,
    case: &Case,
    repetitions: usize,
    back_to_back: u32,
) -> std::result::Result<Vec<Result>, Box<dyn Error>> {
    let target = gpu.limits().target(gpu.name());
    let kernel = case.operation.compile(&target)?;
    let moved = case.operation.destination().image_bytes();
    let words = moved.div_ceil(4);
    let flat = || Tensor::dense(ElementType::F32, [words]);
    let identity = Operation::relayout(flat()?, flat()?)?.compile(&target)?;

    let mut state = 1_u64;
    let image: Vec<u8> = (0..case.operation.source().image_bytes())
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        })
        .collect();
    let source = gpu.upload(&image)?;
    let destination = gpu.allocate(kernel.bindings[1].size_in_bytes.max(words * 4))?;
    check(gpu, case, &kernel, &image, &source, &destination)?;

    let mut times = [const { Vec::new() }; 3];
    for _ in 0..repetitions {
        for (number, times) in times.iter_mut().enumerate() {
            let start = Instant::now();
            match number {
                0 => gpu.copy(&source, &destination, moved, back_to_back)?,
                1 => gpu.dispatch_repeated(&identity, &source, &destination, back_to_back)?,
                _ => gpu.dispatch_repeated(&kernel, &source, &destination, back_to_back)?,
            }
            times.push(start.elapsed() / back_to_back);
        }
    }
    let names = ["copy", "identity", "stridec"];
    Ok(names
        .into_iter()
        .zip(&mut times)
        .map(|(implementation, times)| {
            times.sort_unstable();
            Result {
                implementation,
                bytes: 2 * moved,
                best: times[0],
                median: times[times.len() / 2],
            }
        })
        .collect())
}

/// Runs once, which also compiles the kernel, and compares every byte with the host.
fn check(
    gpu: &Gpu,
    case: &Case,
    kernel: &Kernel,
    image: &[u8],
    source: &Buffer,
    destination: &Buffer,
) -> std::result::Result<(), Box<dyn Error>> {
    gpu.dispatch(kernel, source, destination)?;
    let mut out = vec![0; usize::try_from(kernel.destination_bytes)?];
    let mut expected = out.clone();
    gpu.download(destination, &mut out)?;
    case.operation.run_on_host(image, &mut expected)?;
    if out != expected {
        return Err(format!("{}: the device and the host differ", case.name).into());
    }
    Ok(())
}
