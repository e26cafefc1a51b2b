//! Runs the text of a kernel with wgpu alone. The pipeline and the bind group are created once.

#![allow(unsafe_code)] // texts without run-time checks, as proved kernels are

use std::{
    error::Error,
    time::{Duration, Instant},
};

use stridec::gpu::{Buffer, Gpu};

/// A pipeline with its bind group and its number of workgroups.
pub struct Bare {
    pipeline: wgpu::ComputePipeline,
    group: wgpu::BindGroup,
    workgroups: [u32; 3],
}

impl Bare {
    /// Creates a pipeline with wgpu's run-time checks.
    pub fn checked(gpu: &Gpu, wgsl: &str, workgroups: [u32; 3], buffers: &[&Buffer]) -> Self {
        Self::new(gpu, &gpu.device().create_shader_module(descriptor(wgsl)), workgroups, buffers)
    }

    /// Creates a pipeline without run-time checks. The text must be a kernel of this repository,
    /// because its accesses must lie inside its buffers.
    pub fn unchecked(gpu: &Gpu, wgsl: &str, workgroups: [u32; 3], buffers: &[&Buffer]) -> Self {
        let checks = wgpu::ShaderRuntimeChecks::unchecked();
        // SAFETY: the kernels in `by_hand/` stay inside the buffers of their cases, and their loops
        // end.
        let module = unsafe { gpu.device().create_shader_module_trusted(descriptor(wgsl), checks) };
        Self::new(gpu, &module, workgroups, buffers)
    }

    fn new(
        gpu: &Gpu,
        module: &wgpu::ShaderModule,
        workgroups: [u32; 3],
        buffers: &[&Buffer],
    ) -> Self {
        let pipeline = gpu.device().create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: None,
            module,
            entry_point: None,
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let group = gpu.device().create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &buffers
                .iter()
                .map(|buffer| buffer.handle().as_entire_binding())
                .zip(0..)
                .map(|(resource, binding)| wgpu::BindGroupEntry { binding, resource })
                .collect::<Vec<_>>(),
        });
        Self { pipeline, group, workgroups }
    }

    /// Adds `times` dispatches to an encoder.
    pub fn encode(&self, encoder: &mut wgpu::CommandEncoder, times: u32) {
        let [x, y, z] = self.workgroups;
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.group, &[]);
        (0..times).for_each(|_| pass.dispatch_workgroups(x, y, z));
    }
}

fn descriptor(wgsl: &str) -> wgpu::ShaderModuleDescriptor<'_> {
    wgpu::ShaderModuleDescriptor { label: None, source: wgpu::ShaderSource::Wgsl(wgsl.into()) }
}

/// Submits the commands that `encode` adds to an encoder, and waits until they are done. Returns
/// the time.
pub fn submit(
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
