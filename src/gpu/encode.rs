//! Records a kernel in a command encoder: the caller's, so that it becomes a part of a larger
//! submission, or one that stridec creates.

use smallvec::{SmallVec, smallvec};

use super::check::{self, BindingSizes};
use super::scope::scoped;
use super::{Gpu, GpuError};
use crate::{nest::Operand, trace::span, wgsl::Kernel};

/// A kernel that has passed all checks, with the buffers that it runs on and the offsets in them in
/// bytes.
pub(super) struct Job<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) sizes: BindingSizes,
    pub(super) sources: SmallVec<[(&'a wgpu::Buffer, u64); 1]>,
    pub(super) destination: (&'a wgpu::Buffer, u64),
    pub(super) times: u32,
}

impl Gpu {
    /// Encodes a kernel into the caller's encoder. The kernel reads from a range of one of the
    /// caller's buffers and writes to a range of another.
    ///
    /// Nothing is copied, submitted or waited for. The offsets of the ranges must be multiples of
    /// the device's `min_storage_buffer_offset_alignment`, which is at most 256 bytes. The ranges
    /// must have at least the sizes in
    /// [`KernelParts::bindings`](crate::wgsl::KernelParts::bindings); bytes past these are neither
    /// read nor written. Both buffers need [`wgpu::BufferUsages::STORAGE`].
    ///
    /// The two buffers must be different: wgpu tracks a buffer as a whole, so one part of it cannot
    /// be read while another part is written. The encoder and the buffers must belong to this
    /// device, because wgpu may panic if they belong to another `wgpu::Instance`. A kernel without
    /// dispatches encodes nothing.
    ///
    /// # Errors
    /// Returns an error if the kernel, the ranges and the device do not fit each other, if the
    /// shader does not compile, or if wgpu refuses a binding. wgpu reports errors of the encoder
    /// itself when the caller finishes the encoder.
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

    /// Encodes a checked kernel in one compute pass, between two timestamps if these are given.
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
