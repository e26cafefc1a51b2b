//! Encoding a kernel into a command encoder, the caller's or one of ours.

use smallvec::{SmallVec, smallvec};

use super::check::{self, BindingSizes};
use super::scope::scoped;
use super::{Gpu, GpuError};
use crate::{nest::Operand, trace::span, wgsl::Kernel};

/// A kernel with the buffers to run it on, each with its offset in bytes, all checked against each other.
pub(super) struct Job<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) sizes: BindingSizes,
    pub(super) sources: SmallVec<[(&'a wgpu::Buffer, u64); 1]>,
    pub(super) destination: (&'a wgpu::Buffer, u64),
    pub(super) times: u32,
}

impl Gpu {
    /// Encodes a kernel into the caller's encoder, from one range of the caller's buffers to another.
    ///
    /// Nothing is copied, submitted or waited for. The ranges start at their offsets, which the device's
    /// `min_storage_buffer_offset_alignment` must divide (256 bytes at most), and hold at least the bytes that
    /// [`KernelParts::bindings`](crate::wgsl::KernelParts::bindings) ask for; what lies past those is neither read nor
    /// written. Both buffers need [`wgpu::BufferUsages::STORAGE`], and they must be different buffers: wgpu tracks a buffer
    /// as a whole, so one part of it cannot be read while another is written. Encoder and buffers must be this device's
    /// own: wgpu may panic where they come from another `wgpu::Instance`. A kernel without dispatches encodes nothing.
    ///
    /// # Errors
    /// A kernel or a range that does not fit the other or the device, a shader that does not compile, or what wgpu
    /// reports while binding. Errors of the encoder itself are reported by wgpu when the caller finishes it.
    pub fn encode(
        &self,
        kernel: &Kernel,
        encoder: &mut wgpu::CommandEncoder,
        source: &wgpu::BufferBinding<'_>,
        destination: &wgpu::BufferBinding<'_>,
    ) -> Result<(), GpuError> {
        if kernel.dispatches.is_empty() {
            return Ok(());
        }
        check::one_source(kernel)?;
        let sizes = check::kernel(kernel, &self.limits)?;
        check::range(Operand::Source(0), source, sizes.source(), &self.limits)?;
        check::range(Operand::Destination, destination, sizes.destination, &self.limits)?;
        if source.buffer == destination.buffer {
            return Err(GpuError::SameBuffer {
                source_offset: source.offset,
                destination_offset: destination.offset,
            });
        }
        let job = Job {
            kernel,
            sizes,
            sources: smallvec![(source.buffer, source.offset)],
            destination: (destination.buffer, destination.offset),
            times: 1,
        };
        self.encode_job(encoder, &job, None)
    }

    /// Encodes what has been checked, in one pass, between two timestamps if they are asked for.
    pub(super) fn encode_job(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        job: &Job<'_>,
        timestamp_writes: Option<wgpu::ComputePassTimestampWrites<'_>>,
    ) -> Result<(), GpuError> {
        span!("run");
        let pipeline = self.cache.pipeline(&self.device, job.kernel, &job.sizes)?;
        scoped(&self.device, "encoding the kernel", || {
            let group = pipeline.bind(&self.device, &job.sizes, &job.sources, job.destination);
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: Some("stridec"),
                timestamp_writes,
            });
            pass.set_pipeline(&pipeline.pipeline);
            pass.set_bind_group(0, &group, &[]);
            for _ in 0..job.times {
                for dispatch in &job.kernel.dispatches {
                    let [x, y, z] = dispatch.workgroups;
                    pass.dispatch_workgroups(x, y, z);
                }
            }
        })
    }
}
