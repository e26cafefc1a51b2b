//! [`Recording`]: kernels with their buffers, ready to be recorded into the caller's commands.

use std::sync::Arc;

use smallvec::SmallVec;

use super::GpuError;
use super::pipeline::Pipeline;
use super::scope::scoped;

/// The target for the recording of kernels: a command encoder of the caller, which gets a compute
/// pass for the kernels, or a compute pass that the caller has opened.
#[derive(Debug)]
pub enum Recorder<'a, 'pass> {
    /// A command encoder.
    Encoder(&'a mut wgpu::CommandEncoder),
    /// An open compute pass. Recording changes the pipeline and bind group 0 of the pass:
    /// afterwards they belong to the last kernel.
    Pass(&'a mut wgpu::ComputePass<'pass>),
}

impl<'a> From<&'a mut wgpu::CommandEncoder> for Recorder<'a, 'static> {
    fn from(encoder: &'a mut wgpu::CommandEncoder) -> Self {
        Self::Encoder(encoder)
    }
}

impl<'a, 'pass> From<&'a mut wgpu::ComputePass<'pass>> for Recorder<'a, 'pass> {
    fn from(pass: &'a mut wgpu::ComputePass<'pass>) -> Self {
        Self::Pass(pass)
    }
}

/// Kernels and the buffers on which they run, as prepared by [`Gpu::bind`](super::Gpu::bind) or
/// [`Gpu::bind_program`](super::Gpu::bind_program).
///
/// A recording keeps the buffers and the pipelines alive. Several threads can record it, any number
/// of times.
#[derive(Clone, Debug)]
pub struct Recording {
    device: wgpu::Device,
    kernels: Arc<[BoundKernel]>,
}

impl Recording {
    pub(super) fn new(device: &wgpu::Device, kernels: Vec<BoundKernel>) -> Self {
        Self { device: device.clone(), kernels: kernels.into() }
    }

    /// Records the kernels in order. A command encoder gets a single compute pass for all of them.
    /// Nothing is submitted, and the call does not wait.
    ///
    /// # Errors
    /// Returns an error if wgpu cannot begin the compute pass. wgpu reports other errors when the
    /// caller finishes the encoder.
    pub fn record<'a, 'pass>(&self, into: impl Into<Recorder<'a, 'pass>>) -> Result<(), GpuError>
    where
        'pass: 'a,
    {
        match into.into() {
            _ if self.kernels.is_empty() => Ok(()),
            Recorder::Pass(pass) => {
                self.record_in(pass);
                Ok(())
            }
            Recorder::Encoder(encoder) => scoped(&self.device, "encoding the kernels", || {
                self.record_in(&mut encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                    label: Some("stridec"),
                    timestamp_writes: None,
                }));
            }),
        }
    }

    fn record_in(&self, pass: &mut wgpu::ComputePass<'_>) {
        for kernel in self.kernels.iter() {
            kernel.record(pass, 1);
        }
    }
}

/// A kernel with its bind group, ready to be dispatched.
#[derive(Clone, Debug)]
pub(super) struct BoundKernel {
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) group: wgpu::BindGroup,
    pub(super) dispatches: SmallVec<[[u32; 3]; 1]>,
}

impl BoundKernel {
    /// Records the kernel `times` times.
    pub(super) fn record(&self, pass: &mut wgpu::ComputePass<'_>, times: u32) {
        pass.set_pipeline(&self.pipeline.pipeline);
        pass.set_bind_group(0, &self.group, &[]);
        for _ in 0..times {
            for &[x, y, z] in &self.dispatches {
                pass.dispatch_workgroups(x, y, z);
            }
        }
    }
}
