//! Times an operation, and the device's own copy of the same number of bytes. `stridec bench` and
//! `benches/gpu` both use this file.

use std::{
    error::Error,
    hint::black_box,
    time::{Duration, Instant},
};

use stridec::{Operation, Tensor, shape::ElementType};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The times of one implementation.
pub(super) struct Measured {
    /// The name of the implementation, such as `memcpy` or `stridec`.
    pub(super) implementation: String,
    /// The number of bytes that are read and written.
    pub(super) bytes: u64,
    /// The time of the fastest run.
    pub(super) best: Duration,
    pub(super) median: Duration,
}

impl Measured {
    /// Returns the throughput of the best run, in 10^9 bytes per second.
    #[expect(clippy::cast_precision_loss, reason = "2^53 bytes take days")]
    pub(super) fn rate(&self) -> f64 {
        self.bytes as f64 / self.best.as_secs_f64() / 1e9
    }

    /// Returns the times as JSON, to be written as one line of the results file.
    pub(super) fn json(&self, case: &str, device: &str) -> serde_json::Value {
        serde_json::json!({
            "case": case,
            "device": device,
            "implementation": self.implementation,
            "bytes": self.bytes,
            "best_ms": self.best.as_secs_f64() * 1e3,
            "median_ms": self.median.as_secs_f64() * 1e3,
        })
    }
}

/// An implementation: its name, and a function that runs it once and returns the time of the run.
pub(super) type Implementation<'a> = (String, Box<dyn FnMut() -> Result<Duration> + 'a>);

/// Runs the implementations in turns, `repetitions` times each, and returns their times. The first
/// turn only warms up and is not counted.
pub(super) fn in_turns(
    bytes: u64,
    repetitions: usize,
    mut implementations: Vec<Implementation<'_>>,
) -> Result<Vec<Measured>> {
    let mut times = vec![Vec::with_capacity(repetitions); implementations.len()];
    for turn in 0..=repetitions {
        for ((_, run), times) in implementations.iter_mut().zip(&mut times) {
            let took = run()?;
            if turn > 0 {
                times.push(took);
            }
        }
    }
    let measured = |((implementation, _), mut times): (Implementation<'_>, Vec<Duration>)| {
        times.sort_unstable();
        Measured { implementation, bytes, best: times[0], median: times[times.len() / 2] }
    };
    Ok(implementations.into_iter().zip(times).map(measured).collect())
}

/// Returns an operation that copies `bytes` bytes unchanged, for comparison.
pub(super) fn identity(bytes: u64) -> Result<Operation> {
    let flat = || Tensor::dense(ElementType::U8, [bytes]);
    Ok(Operation::relayout(flat()?, flat()?)?)
}

/// Returns pseudo-random bytes to copy. Their number is the larger of the sizes of the source and
/// of the destination, because the plain copy of the destination's size also reads them.
fn noise(operation: &Operation) -> Result<Vec<u8>> {
    let bytes = operation
        .source_descriptor()
        .image_bytes()
        .max(operation.destination_descriptor().image_bytes());
    let mut image = zeroed(bytes.saturating_add(7) / 8 * 8)?;
    let mut state = 1_u64;
    for word in image.as_chunks_mut().0 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *word = (state ^ (state >> 29)).to_le_bytes();
    }
    image.truncate(usize::try_from(bytes)?);
    Ok(image)
}

/// Allocates zeroed memory for an image. Returns an error if there is not enough memory, because
/// `vec!` would end the process instead.
fn zeroed(bytes: u64) -> Result<Vec<u8>> {
    let too_much = || format!("there is not enough memory for an image of {bytes} bytes");
    let length = usize::try_from(bytes).map_err(|_| too_much())?;
    let mut image = Vec::new();
    image.try_reserve_exact(length).map_err(|_| too_much())?;
    image.resize(length, 0);
    Ok(image)
}

/// Times an operation on the host. Compares three implementations: `memcpy` on one thread,
/// stridec's copy of the same number of bytes, and the operation itself.
pub(super) fn on_host(operation: &Operation, repetitions: usize) -> Result<Vec<Measured>> {
    let noise = noise(operation)?;
    let source = &noise[..usize::try_from(operation.source_descriptor().image_bytes())?];
    let moved = operation.destination_descriptor().image_bytes();
    let flat = &noise[..usize::try_from(moved)?];
    let identity = identity(moved)?;
    let (mut copied, mut same, mut result) = (zeroed(moved)?, zeroed(moved)?, zeroed(moved)?);
    let implementations: Vec<Implementation<'_>> = vec![
        (
            "memcpy".into(),
            Box::new(|| {
                let start = Instant::now();
                copied.copy_from_slice(black_box(flat));
                black_box(&mut copied);
                Ok(start.elapsed())
            }),
        ),
        ("identity".into(), Box::new(|| host(&identity, flat, &mut same))),
        ("stridec".into(), Box::new(|| host(operation, source, &mut result))),
    ];
    in_turns(2 * moved, repetitions, implementations)
}

/// Runs an operation on the host, and returns the time that it took.
fn host(operation: &Operation, source: &[u8], destination: &mut [u8]) -> Result<Duration> {
    let start = Instant::now();
    operation.run_on_host(source, destination)?;
    Ok(start.elapsed())
}

/// Times an operation on a GPU. Compares three implementations: the device's buffer copy, stridec's
/// kernel for a copy of the same number of bytes, and the kernel of the operation.
///
/// First checks that the result equals the host's result. Then runs each implementation
/// `back_to_back` times in one submission, and divides the time by this number.
#[cfg(feature = "gpu")]
pub(super) fn on_gpu(
    gpu: &stridec::gpu::Gpu,
    operation: &Operation,
    repetitions: usize,
    back_to_back: u32,
) -> Result<Vec<Measured>> {
    let kernel = operation.compile(&gpu.limits().target(gpu.name()))?;
    kernels_on_gpu(gpu, operation, &[("stridec".into(), kernel)], repetitions, back_to_back)
}

/// Times several kernels for one operation, as [`on_gpu`] does. Each kernel is given with its name.
#[cfg(feature = "gpu")]
pub(super) fn kernels_on_gpu(
    gpu: &stridec::gpu::Gpu,
    operation: &Operation,
    kernels: &[(String, stridec::Kernel)],
    repetitions: usize,
    back_to_back: u32,
) -> Result<Vec<Measured>> {
    let moved = operation.destination_descriptor().image_bytes();
    let identity = identity(moved)?.compile(&gpu.limits().target(gpu.name()))?;
    let noise = noise(operation)?;
    let source = gpu.upload(&noise)?;
    let bindings = kernels.iter().map(|(_, kernel)| kernel).chain([&identity]);
    let bindings = bindings.flat_map(|kernel| &kernel.bindings);
    let destination = gpu.allocate(bindings.map(|b| b.size_in_bytes).max().unwrap_or(0))?;

    let (mut out, mut expected) = (zeroed(moved)?, zeroed(moved)?);
    let image = &noise[..usize::try_from(operation.source_descriptor().image_bytes())?];
    operation.run_on_host(image, &mut expected)?;
    out.fill(0xa5);
    let blank = gpu.upload(&out)?;
    for (name, kernel) in kernels {
        gpu.copy(&blank, &destination, moved, 1)?;
        gpu.dispatch(kernel, &source, &destination)?;
        gpu.download(&destination, &mut out)?;
        if out != expected {
            let title = operation.title();
            return Err(format!("{title}: the device and the host differ ({name})").into());
        }
    }
    drop(blank);

    let timed = |run: &dyn Fn() -> std::result::Result<(), stridec::gpu::GpuError>| {
        let start = Instant::now();
        run()?;
        Ok(start.elapsed() / back_to_back)
    };
    let dispatched =
        |kernel| timed(&|| gpu.dispatch_repeated(kernel, &source, &destination, back_to_back));
    let copied = || timed(&|| gpu.copy(&source, &destination, moved, back_to_back));
    let mut implementations: Vec<Implementation<'_>> = vec![
        ("copy".into(), Box::new(copied)),
        ("identity".into(), Box::new(|| dispatched(&identity))),
    ];
    for (name, kernel) in kernels {
        implementations.push((name.clone(), Box::new(|| dispatched(kernel))));
    }
    in_turns(2 * moved, repetitions, implementations)
}
