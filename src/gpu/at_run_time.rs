//! Runs kernels whose extents are given at run time, on host bytes or on the caller's buffers.

use super::check;
use super::pipeline::UNIFORM_BYTES;
use super::recording::{BoundKernel, Recorder, Recording};
use super::scope::scoped;
use super::{Gpu, GpuError};
use crate::{
    nest::{Gaps, Operand},
    wgsl::{Kernel, KernelExtents},
};

/// A kernel with extents at run time and the buffers on which it runs, as prepared by
/// [`Gpu::bind_with_extents`]. It can be recorded with other extents each time.
///
/// Clones are cheap. Several threads can record it, any number of times.
#[derive(Clone, Debug)]
pub struct RunTimeRecording {
    device: wgpu::Device,
    kernel: BoundKernel,
    extents: KernelExtents,
}

impl RunTimeRecording {
    /// Records the kernel with the workgroups for the given extents. Nothing is submitted, and the
    /// call does not wait.
    ///
    /// The kernel itself reads the extents from the uniform buffer when it runs. If only the device
    /// knows them, pass the maximum extents here: the invocations that have no item return at once.
    ///
    /// # Errors
    /// Returns an error if the number of extents is wrong or one is above its maximum, or if wgpu
    /// cannot begin the compute pass.
    pub fn record<'a, 'pass>(
        &self,
        into: impl Into<Recorder<'a, 'pass>>,
        extents: &[u64],
    ) -> Result<(), GpuError>
    where
        'pass: 'a,
    {
        let workgroups = self.extents.dispatch(extents).map_err(GpuError::Extent)?.workgroups;
        let dispatches = (workgroups[0] > 0).then_some(workgroups).into_iter().collect();
        let kernel = BoundKernel { dispatches, ..self.kernel.clone() };
        Recording::new(&self.device, vec![kernel]).record(into)
    }
}

impl Gpu {
    /// Prepares a kernel with extents at run time on ranges of the caller's buffers. `buffers` has
    /// one range for each of the kernel's bindings, the destination last. `extents` is the range of
    /// 16 bytes with the contents of
    /// [`RunTimeExtents::uniform`](crate::schedule::RunTimeExtents::uniform), in a buffer with
    /// [`wgpu::BufferUsages::UNIFORM`].
    ///
    /// The ranges of the source and of the destination may be as short as one item, or as long as
    /// the maximum extents need. A kernel whose extents describe more items than one of these
    /// ranges has copies nothing. The other conditions are those of [`encode`](Self::encode).
    ///
    /// # Errors
    /// Returns [`GpuError::Bindings`] if the kernel has no extents at run time, and the errors of
    /// [`encode`](Self::encode).
    pub fn bind_with_extents(
        &self,
        kernel: &Kernel,
        buffers: &[wgpu::BufferBinding<'_>],
        extents: &wgpu::BufferBinding<'_>,
    ) -> Result<RunTimeRecording, GpuError> {
        let sizes = check::kernel_with_extents(kernel, &self.limits)?;
        let (given, expected) = (buffers.len(), kernel.bindings.len());
        let (Some(of), true) = (&kernel.extents, given == expected) else {
            let roles = "sources, and a destination".to_owned();
            return Err(GpuError::RangeCount { given, expected, roles });
        };
        let mut ranges = Vec::with_capacity(expected + 1);
        for ((range, binding), (operand, needed)) in
            buffers.iter().zip(&kernel.bindings).zip(sizes.operands())
        {
            let size = check::range(operand, range, needed, &self.limits)?;
            ranges.push((range.buffer, range.offset, size.min(binding.size_in_bytes) / 4 * 4));
        }
        let (destination, sources) = (&buffers[expected - 1], &buffers[..expected - 1]);
        let written = (destination, ranges[expected - 1].2);
        for (source, &(.., bytes)) in sources.iter().zip(&ranges) {
            check::apart((source, bytes), written, sizes.read_write_sources)?;
        }
        ranges.push((extents.buffer, extents.offset, UNIFORM_BYTES));
        let driver_cache = self.driver_cache.as_ref();
        let pipeline = self.cache.pipeline(&self.device, kernel, &sizes, driver_cache)?;
        let group = scoped(&self.device, "binding the buffers", || {
            pipeline.bind(&self.device, ranges.into_iter())
        })?;
        let dispatches = kernel.dispatches.iter().map(|dispatch| dispatch.workgroups).collect();
        let kernel = BoundKernel { pipeline, group, dispatches };
        Ok(RunTimeRecording { device: self.device.clone(), kernel, extents: of.clone() })
    }

    /// Runs a kernel with extents at run time on host bytes, and waits for the result. `sources`
    /// has all bytes of each source at the given extents, in the order of the kernel's bindings,
    /// and `destination` has all bytes of the destination.
    ///
    /// # Errors
    /// Returns an error if the number of extents is wrong or one is above its maximum, and the
    /// errors of [`run_sources`](Self::run_sources).
    pub fn run_with_extents(
        &self,
        kernel: &Kernel,
        extents: &[u64],
        sources: &[&[u8]],
        destination: &mut [u8],
    ) -> Result<(), GpuError> {
        let sizes = check::kernel_with_extents(kernel, &self.limits)?;
        let Some(of) = &kernel.extents else { return Ok(()) };
        let [source_bytes, destination_bytes] =
            of.image_bytes(extents).map_err(GpuError::Extent)?;
        check::image(Operand::Destination, destination.len(), destination_bytes)?;
        let (given, expected) = (sources.len(), sizes.sources.len());
        if given != expected {
            let reason = format!("{expected} sources, but {given} slices were given");
            return Err(GpuError::Bindings { reason });
        }
        check::image(Operand::Source(0), sources[0].len(), source_bytes)?;
        if destination_bytes == 0 {
            return Ok(());
        }
        let contents = of.loops.uniform(extents).map_err(GpuError::Extent)?;
        let uniform = self.uniform(&contents)?;
        let mut buffers = Vec::with_capacity(expected + 1);
        for (number, source) in sources.iter().enumerate() {
            if number > 0 {
                let needed = kernel.bindings[number].size_in_bytes;
                let operand = Operand::Source(number);
                if (source.len() as u64).next_multiple_of(4) != needed {
                    let given = source.len() as u64;
                    return Err(GpuError::ImageSize { operand, given, expected: needed });
                }
            }
            let buffer = self.create_buffer((source.len() as u64).next_multiple_of(4))?;
            self.write(&buffer, source)?;
            buffers.push(buffer);
        }
        let target = self.create_buffer(destination_bytes)?;
        if kernel.gaps == Gaps::Keep {
            self.write(&target, destination)?;
        }
        buffers.push(target);
        let ranges: Vec<_> = buffers.iter().map(wgpu::Buffer::as_entire_buffer_binding).collect();
        let bound = self.bind_with_extents(kernel, &ranges, &uniform.as_entire_buffer_binding())?;
        let mut encoder = self.encoder()?;
        bound.record(&mut encoder, extents)?;
        self.read(encoder, &buffers[expected], destination)
    }

    /// Creates the uniform buffer with the extents of a kernel.
    fn uniform(&self, bytes: &[u8; 16]) -> Result<wgpu::Buffer, GpuError> {
        scoped(&self.device, "allocating a buffer", || {
            let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("stridec"),
                size: UNIFORM_BYTES,
                usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            });
            self.queue.write_buffer(&buffer, 0, bytes);
            buffer
        })
    }
}
