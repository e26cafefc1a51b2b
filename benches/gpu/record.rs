//! Measures the time in which the host records a kernel into an open compute pass and into an
//! encoder.

use std::{error::Error, time::Instant};

use stridec::{Operation, gpu::Gpu};

/// The number of kernels in a command buffer.
const KERNELS: u32 = 1000;
/// The number of command buffers. The fastest one counts.
const ROUNDS: u32 = 21;

/// A function that records a number of kernels.
type Record<'a> = Box<dyn Fn(&mut wgpu::CommandEncoder) -> Result<(), Box<dyn Error>> + 'a>;

/// Measures a cached kernel on the same two buffers.
pub fn measure(gpu: &Gpu) -> Result<(), Box<dyn Error>> {
    let operation = Operation::relayout("f32[64,64]".parse()?, "f32[64,64]{0,1}".parse()?)?;
    let kernel = operation.compile(&gpu.limits().target(gpu.name()))?;
    let buffers = [gpu.allocate(1 << 14)?, gpu.allocate(1 << 14)?];
    let ranges = buffers.each_ref().map(|buffer| buffer.handle().as_entire_buffer_binding());
    let recording = gpu.bind(&kernel, &ranges)?;
    println!("{:40} {:>10}", "µs for each kernel, best", "recording");
    let open = |encoder: &mut wgpu::CommandEncoder| {
        encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default()).forget_lifetime()
    };
    let cases: [(&str, Record<'_>); 5] = [
        (
            "Recording::record, open pass",
            Box::new(|encoder| {
                let mut pass = open(encoder);
                (0..KERNELS).try_for_each(|_| Ok(recording.record(&mut pass)?))
            }),
        ),
        (
            "Recording::record, encoder",
            Box::new(|encoder| (0..KERNELS).try_for_each(|_| Ok(recording.record(&mut *encoder)?))),
        ),
        (
            "Gpu::encode, open pass",
            Box::new(|encoder| {
                let mut pass = open(encoder);
                (0..KERNELS).try_for_each(|_| Ok(gpu.encode(&kernel, &mut pass, &ranges)?))
            }),
        ),
        (
            "Gpu::encode, encoder",
            Box::new(|encoder| {
                (0..KERNELS).try_for_each(|_| Ok(gpu.encode(&kernel, &mut *encoder, &ranges)?))
            }),
        ),
        (
            "an empty compute pass",
            Box::new(|encoder| {
                (0..KERNELS).for_each(|_| drop(open(encoder)));
                Ok(())
            }),
        ),
    ];
    for (name, record) in &cases {
        let mut best = f64::INFINITY;
        for _ in 0..ROUNDS {
            let mut encoder =
                gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            let start = Instant::now();
            record(&mut encoder)?;
            best = best.min(start.elapsed().as_secs_f64());
            gpu.queue().submit([encoder.finish()]);
        }
        println!("{name:40} {:10.3}", best * 1e6 / f64::from(KERNELS));
    }
    Ok(())
}
