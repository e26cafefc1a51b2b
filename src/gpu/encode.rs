//! Records a kernel in a command encoder. A caller may pass its own encoder, so that the kernel
//! becomes a part of a larger submission.

use smallvec::SmallVec;

use super::check::{self, BindingSizes};
use super::recording::{BoundKernel, Recorder, Recording};
use super::scope::scoped;
use super::{Gpu, GpuError};
use crate::{trace::span, wgsl::Kernel};

/// A kernel that has passed all checks, with its buffers. Each buffer has the offset of its range,
/// in bytes.
pub(super) struct Job<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) sizes: BindingSizes,
    pub(super) sources: SmallVec<[(&'a wgpu::Buffer, u64); 1]>,
    pub(super) destination: (&'a wgpu::Buffer, u64),
    pub(super) times: u32,
}

impl Gpu {
    /// Records a kernel into the caller's encoder or open compute pass. `buffers` has one range for
    /// each of the kernel's bindings, the destination last.
    ///
    /// Nothing is copied or submitted, and the call does not wait. The offsets of the ranges must
    /// be multiples of the device's `min_storage_buffer_offset_alignment`, which is at most 256
    /// bytes. Each range must have at least the size of its binding in
    /// [`KernelParts::bindings`](crate::wgsl::KernelParts::bindings); later bytes are neither read
    /// nor written. All buffers need [`wgpu::BufferUsages::STORAGE`].
    ///
    /// The destination must be in a different buffer from the sources, unless the kernel's target
    /// has [`read_write_sources`](crate::schedule::Target::read_write_sources). With that option,
    /// all ranges may be in one buffer, if the destination overlaps no source. The encoder and the
    /// buffers must belong to this device, because wgpu may panic if they belong to another
    /// `wgpu::Instance`. A kernel without dispatches records nothing.
    ///
    /// To record a kernel often on the same ranges, use [`bind`](Self::bind), which is faster.
    ///
    /// # Errors
    /// Returns an error if the kernel, the ranges and the device do not match, if the shader does
    /// not compile, or if wgpu refuses a binding. wgpu reports errors of the encoder itself only
    /// when the caller finishes the encoder.
    pub fn encode<'a, 'pass>(
        &self,
        kernel: &Kernel,
        into: impl Into<Recorder<'a, 'pass>>,
        buffers: &[wgpu::BufferBinding<'_>],
    ) -> Result<(), GpuError>
    where
        'pass: 'a,
    {
        self.bind(kernel, buffers)?.record(into)
    }

    /// Prepares a kernel, so that it can be recorded any number of times on the given ranges of the
    /// caller's buffers. The conditions for the ranges are those of [`encode`](Self::encode). The
    /// result keeps the buffers alive.
    ///
    /// # Errors
    /// Returns the errors of [`encode`](Self::encode).
    pub fn bind(
        &self,
        kernel: &Kernel,
        buffers: &[wgpu::BufferBinding<'_>],
    ) -> Result<Recording, GpuError> {
        if kernel.dispatches.is_empty() {
            return Ok(Recording::new(&self.device, Vec::new()));
        }
        Ok(Recording::new(&self.device, vec![self.bind_ranges(kernel, buffers)?]))
    }

    /// Checks the ranges for a kernel that has dispatches, and creates its bind group.
    pub(super) fn bind_ranges(
        &self,
        kernel: &Kernel,
        buffers: &[wgpu::BufferBinding<'_>],
    ) -> Result<BoundKernel, GpuError> {
        let sizes = check::kernel(kernel, &self.limits)?;
        let (given, expected) = (buffers.len(), kernel.bindings.len());
        let (Some((destination, sources)), true) = (buffers.split_last(), given == expected) else {
            let roles = match expected - 1 {
                1 => "a source and a destination".to_owned(),
                sources => format!("{sources} sources and a destination"),
            };
            return Err(GpuError::RangeCount { given, expected, roles });
        };
        for (range, (operand, needed)) in buffers.iter().zip(sizes.operands()) {
            check::range(operand, range, needed, &self.limits)?;
        }
        for (source, &bytes) in sources.iter().zip(&sizes.sources) {
            let written = (destination, sizes.destination);
            check::apart((source, bytes), written, sizes.read_write_sources)?;
        }
        self.bind_job(&Job {
            kernel,
            sizes,
            sources: sources.iter().map(|range| (range.buffer, range.offset)).collect(),
            destination: (destination.buffer, destination.offset),
            times: 1,
        })
    }

    /// Encodes a checked kernel in one compute pass. If `timestamp_writes` is given, the pass
    /// writes a timestamp at its start and at its end.
    pub(super) fn encode_job(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        job: &Job<'_>,
        timestamp_writes: Option<wgpu::ComputePassTimestampWrites<'_>>,
    ) -> Result<(), GpuError> {
        span!("run");
        let bound = self.bind_job(job)?;
        scoped(&self.device, "encoding the kernel", || {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: Some("stridec"),
                timestamp_writes,
            });
            bound.record(&mut pass, job.times);
        })
    }

    /// Creates the bind group of a checked kernel. Compiles the kernel first if the cache does not
    /// contain its pipeline.
    fn bind_job(&self, job: &Job<'_>) -> Result<BoundKernel, GpuError> {
        let driver_cache = self.driver_cache.as_ref();
        let pipeline = self.cache.pipeline(&self.device, job.kernel, &job.sizes, driver_cache)?;
        let buffers = job.sources.iter().copied().zip(job.sizes.sources.iter().copied());
        let buffers = buffers.chain([(job.destination, job.sizes.destination)]);
        let ranges = buffers.map(|((buffer, offset), size)| (buffer, offset, size));
        let group =
            scoped(&self.device, "binding the buffers", || pipeline.bind(&self.device, ranges))?;
        let dispatches = job.kernel.dispatches.iter().map(|dispatch| dispatch.workgroups);
        Ok(BoundKernel { pipeline, group, dispatches: dispatches.collect() })
    }
}
