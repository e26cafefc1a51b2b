//! Measures the time of a run whose pipeline and buffers are cached. It is compared with an empty
//! submission, with the time of the kernel, and with the same dispatch by wgpu alone, for which
//! everything is created in advance.

use std::{
    error::Error,
    fs::File,
    time::{Duration, Instant},
};

use stridec::{Operation, gpu::Gpu};

use crate::{
    bare::{Bare, submit},
    measure::in_turns,
    write_json,
};

/// The number of dispatches in one submission with which the kernel's own time is measured.
const TIMES: u32 = 100;

/// Measures cached kernels on tensors of growing size. Each run, and each empty submission, is
/// waited for.
pub fn measure(
    gpu: &Gpu,
    repetitions: usize,
    json: &mut Option<File>,
) -> Result<(), Box<dyn Error>> {
    println!(
        "{:20} {:>10} {:>10} {:>10} {:>10} {:>24}",
        "µs, best", "run", "wgpu", "empty", "kernel", "run / (empty + kernel)"
    );
    for (from, to) in [
        ("f32[64]", "f32[64]"),
        ("f32[64,64]", "f32[64,64]{0,1}"),
        ("f32[512,512]", "f32[512,512]{0,1}"),
        ("f32[1024,1024]", "f32[1024,1024]{0,1}"),
    ] {
        let operation = Operation::relayout(from.parse()?, to.parse()?)?;
        let kernel = operation.compile(&gpu.limits().target(gpu.name()))?;
        let bytes = operation.source_descriptor().image_bytes();
        let source = gpu.upload(&vec![1; usize::try_from(bytes)?])?;
        let destination = gpu.allocate(operation.destination_descriptor().image_bytes())?;
        let timed = |times| -> Result<Duration, Box<dyn Error>> {
            let start = Instant::now();
            gpu.dispatch_repeated(&kernel, &source, &destination, times)?;
            Ok(start.elapsed())
        };
        // This pipeline has wgpu's run-time checks, which stridec's pipeline does not have.
        let workgroups = kernel.dispatches[0].workgroups;
        let bare = Bare::checked(gpu, &kernel.wgsl, workgroups, &[&source, &destination]);
        let measured = in_turns(
            2 * bytes,
            repetitions,
            vec![
                ("empty".into(), Box::new(|| submit(gpu, |_| {}))),
                ("wgpu".into(), Box::new(|| submit(gpu, |encoder| bare.encode(encoder, 1)))),
                ("run".into(), Box::new(|| timed(1))),
                ("runs".into(), Box::new(|| timed(1 + TIMES))),
            ],
        )?;
        let [empty, bare, run, runs] =
            [0, 1, 2, 3].map(|n: usize| measured[n].best.as_secs_f64() * 1e6);
        let kernel = (runs - run) / f64::from(TIMES);
        println!(
            "{to:20} {run:10.1} {bare:10.1} {empty:10.1} {kernel:10.1} {:24.2}",
            run / (empty + kernel)
        );
        write_json(json, to, &gpu.name(), &measured)?;
    }
    Ok(())
}
