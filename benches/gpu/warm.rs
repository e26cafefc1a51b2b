//! What a warm run costs beside what it cannot do without: an empty submission, and the kernel; and beside the same
//! dispatch through wgpu alone, everything made beforehand.

use std::{
    error::Error,
    fs::File,
    time::{Duration, Instant},
};

use stridec::{
    Kernel, Operation,
    gpu::{Buffer, Gpu},
};

use crate::{measure::in_turns, write_json};

/// Dispatches in one submission, for a kernel's own time.
const TIMES: u32 = 100;

/// Measures cached kernels of growing images: one run, waited for, beside an empty submission, waited for.
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
        let bytes = operation.source().image_bytes();
        let source = gpu.upload(&vec![1; usize::try_from(bytes)?])?;
        let destination = gpu.allocate(operation.destination().image_bytes())?;
        let timed = |times| -> Result<Duration, Box<dyn Error>> {
            let start = Instant::now();
            gpu.dispatch_repeated(&kernel, &source, &destination, times)?;
            Ok(start.elapsed())
        };
        let bare = Bare::new(gpu, &kernel, &source, &destination);
        let measured = in_turns(
            2 * bytes,
            repetitions,
            vec![
                ("empty".into(), Box::new(|| submit(gpu, |_| {}))),
                ("wgpu".into(), Box::new(|| submit(gpu, |encoder| bare.encode(encoder)))),
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

/// Submits what `encode` adds to an encoder, and waits.
fn submit(
    gpu: &Gpu,
    encode: impl Fn(&mut wgpu::CommandEncoder),
) -> Result<Duration, Box<dyn Error>> {
    let start = Instant::now();
    let descriptor = wgpu::CommandEncoderDescriptor::default();
    let mut encoder = gpu.device().create_command_encoder(&descriptor);
    encode(&mut encoder);
    let submission = gpu.queue().submit([encoder.finish()]);
    let wait = wgpu::PollType::Wait { submission_index: Some(submission), timeout: None };
    gpu.device().poll(wait)?;
    Ok(start.elapsed())
}

/// A kernel's pipeline and bind group, made once.
struct Bare {
    pipeline: wgpu::ComputePipeline,
    group: wgpu::BindGroup,
    workgroups: [u32; 3],
}

impl Bare {
    fn new(gpu: &Gpu, kernel: &Kernel, source: &Buffer, destination: &Buffer) -> Self {
        // With wgpu's run-time checks, which ours does without.
        let module = gpu.device().create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(kernel.wgsl.as_str().into()),
        });
        let pipeline = gpu.device().create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &module,
            entry_point: None,
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let group = gpu.device().create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &[source, destination]
                .map(Buffer::handle)
                .map(wgpu::Buffer::as_entire_binding)
                .into_iter()
                .zip(0..)
                .map(|(resource, binding)| wgpu::BindGroupEntry { binding, resource })
                .collect::<Vec<_>>(),
        });
        Self { pipeline, group, workgroups: kernel.dispatches[0].workgroups }
    }

    fn encode(&self, encoder: &mut wgpu::CommandEncoder) {
        let [x, y, z] = self.workgroups;
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.group, &[]);
        pass.dispatch_workgroups(x, y, z);
    }
}
