//! Runs a kernel on host bytes, or on buffers that are already on the device.

use std::sync::{MutexGuard, PoisonError};

use smallvec::smallvec;

use super::buffer::rounded;
use super::check;
use super::encode::Job;
use super::scope::scoped;
use super::scratch::Scratch;
use super::{Buffer, Gpu, GpuError};
use crate::{
    nest::{CopyNest, Gaps, Operand},
    schedule::{ScheduleError, Target, schedule},
    wgsl::{self, Kernel},
};

impl Gpu {
    /// Runs a kernel on host bytes. `source` and `destination` have all bytes of the tensors,
    /// including padding.
    ///
    /// Every byte of the destination is written. There are two exceptions: a kernel without
    /// dispatches leaves the destination unchanged, and a kernel with [`Gaps::Keep`] changes only
    /// the elements, so the destination is uploaded first. Tensors of up to 16 MiB take one
    /// submission; larger ones are transferred in pieces of that size. The two device buffers are
    /// kept for the next run, until [`trim`](Self::trim) frees them.
    ///
    /// # Errors
    /// Returns [`GpuError::ImageSize`] if a slice is not exactly as long as the kernel's
    /// `source_bytes` or `destination_bytes`. Returns an error if the kernel does not fit the
    /// device or does not compile. Returns [`GpuError::OutOfMemory`], [`GpuError::DeviceLost`] or
    /// [`GpuError::Timeout`] if the run fails. After an error, the contents of the destination are
    /// unspecified.
    pub fn run(
        &self,
        kernel: &Kernel,
        source: &[u8],
        destination: &mut [u8],
    ) -> Result<(), GpuError> {
        check::image(Operand::Source(0), source.len(), kernel.source_bytes)?;
        if !kernel.dispatches.is_empty() {
            check::one_source(kernel)?;
        }
        self.run_sources(kernel, &[source], destination)
    }

    /// Runs a kernel with several sources on host bytes, such as a copy through a table. `sources`
    /// has all bytes of each source, in the order of the kernel's bindings. In all other respects,
    /// this is [`run`](Self::run).
    ///
    /// # Errors
    /// Returns [`GpuError::Bindings`] if the number of slices differs from the number of sources,
    /// and the errors of [`run`](Self::run).
    pub fn run_sources(
        &self,
        kernel: &Kernel,
        sources: &[&[u8]],
        destination: &mut [u8],
    ) -> Result<(), GpuError> {
        check::image(Operand::Destination, destination.len(), kernel.destination_bytes)?;
        if kernel.dispatches.is_empty() {
            return Ok(());
        }
        let sizes = check::kernel(kernel, &self.limits)?;
        check::sources(kernel, &sizes, sources)?;
        let mut buffers = Vec::with_capacity(sources.len());
        for (number, (source, &size)) in sources.iter().zip(&sizes.sources).enumerate() {
            let bytes = size.max(rounded(source.len() as u64));
            let buffer = self.scratch_buffer(Operand::Source(number), bytes)?;
            self.write(&buffer, source)?;
            buffers.push(buffer);
        }
        let destination_buffer = self.scratch_buffer(Operand::Destination, sizes.destination)?;
        if kernel.gaps == Gaps::Keep {
            self.write(&destination_buffer, destination)?;
        }
        let mut encoder = self.encoder()?;
        // The kernel must read zeros between the end of a source and the end of its binding, but
        // the buffer may contain other bytes from an earlier run.
        for ((source, buffer), size) in sources.iter().zip(&buffers).zip(&sizes.sources) {
            let written = source.len().next_multiple_of(4) as u64;
            if let Some(tail) = size.checked_sub(written).filter(|&tail| tail > 0) {
                encoder.clear_buffer(buffer, written, Some(tail));
            }
        }
        let job = Job {
            kernel,
            sizes,
            sources: buffers.iter().map(|buffer| (buffer, 0)).collect(),
            destination: (&destination_buffer, 0),
            times: 1,
        };
        self.encode_job(&mut encoder, &job, None)?;
        drop(job);
        self.read(encoder, &destination_buffer, destination)?;
        let mut scratch = self.scratch();
        for (number, buffer) in buffers.into_iter().enumerate() {
            scratch.keep(Operand::Source(number), buffer);
        }
        scratch.keep(Operand::Destination, destination_buffer);
        Ok(())
    }

    /// Runs a copy on host bytes, and returns the number of kernels that it took. If the device can
    /// bind and hold both tensors, the copy takes one kernel. Otherwise it is run by
    /// [`run_in_parts`](Self::run_in_parts).
    ///
    /// The copy is run in parts
    ///
    /// - if the source or the destination exceeds `max_storage_buffer_binding_size` or
    ///   `max_buffer_size`;
    /// - if the copy has too many elements to number them with 32 bits;
    /// - if it needs more workgroups than one dispatch can have;
    /// - if the device is out of memory.
    ///
    /// After each kernel, `progress` is called with the number of bytes of the destination that are
    /// complete.
    ///
    /// # Errors
    /// Returns the errors of [`run`](Self::run) and [`run_in_parts`](Self::run_in_parts).
    pub fn run_nest(
        &self,
        nest: &CopyNest,
        source: &[u8],
        destination: &mut [u8],
        progress: impl FnMut(u64),
    ) -> Result<usize, GpuError> {
        let target = self.limits.target(self.name());
        self.run_nest_of(nest, &target, &[source], destination, progress)
    }

    /// Runs a copy with any number of sources, with kernels for `target`. In all other respects,
    /// this is [`run_nest`](Self::run_nest).
    pub(crate) fn run_nest_of(
        &self,
        nest: &CopyNest,
        target: &Target,
        sources: &[&[u8]],
        destination: &mut [u8],
        mut progress: impl FnMut(u64),
    ) -> Result<usize, GpuError> {
        check::images(nest, sources, destination)?;
        match schedule(nest.clone(), target) {
            Ok(schedule) => {
                let kernel = wgsl::emit(&schedule, target, &[]);
                match self.run_sources(&kernel, sources, destination) {
                    Err(error) if error.is_beyond_limits() => self.trim(),
                    Err(error) => return Err(error),
                    Ok(()) => {
                        progress(nest.dst_bytes());
                        return Ok(1);
                    }
                }
            }
            Err(
                ScheduleError::Binding { .. }
                | ScheduleError::Sources { .. }
                | ScheduleError::Index { .. }
                | ScheduleError::Number { .. }
                | ScheduleError::Dispatch { .. },
            ) => {}
            Err(error) => return Err(GpuError::Schedule(error)),
        }
        let mut parts = 0;
        self.run_sources_in_parts(nest, target, sources, destination, |written| {
            parts += 1;
            progress(written);
        })?;
        Ok(parts)
    }

    /// Runs a kernel on buffers of this device, and waits until the kernel is done.
    ///
    /// # Errors
    /// Returns [`GpuError::BufferTooSmall`], [`GpuError::SameBuffer`] or
    /// [`GpuError::ForeignBuffer`] if a buffer is not suitable, and the errors of
    /// [`run`](Self::run).
    pub fn dispatch(
        &self,
        kernel: &Kernel,
        source: &Buffer,
        destination: &Buffer,
    ) -> Result<(), GpuError> {
        self.dispatch_repeated(kernel, source, destination, 1)
    }

    /// Runs a kernel `times` times in one submission, and waits until all runs are done. Use this
    /// to measure kernels that take less time than a submission.
    ///
    /// # Errors
    /// Returns the errors of [`dispatch`](Self::dispatch).
    pub fn dispatch_repeated(
        &self,
        kernel: &Kernel,
        source: &Buffer,
        destination: &Buffer,
        times: u32,
    ) -> Result<(), GpuError> {
        if kernel.dispatches.is_empty() {
            return Ok(());
        }
        let job = self.job(kernel, source, destination, times)?;
        let mut encoder = self.encoder()?;
        self.encode_job(&mut encoder, &job, None)?;
        let submission =
            scoped(&self.device, "running the kernel", || self.queue.submit([encoder.finish()]))?;
        self.wait("running the kernel", submission)
    }

    /// Returns a kernel and its buffers as a job, after checking that they suit each other and the
    /// device.
    pub(super) fn job<'a>(
        &self,
        kernel: &'a Kernel,
        source: &'a Buffer,
        destination: &'a Buffer,
        times: u32,
    ) -> Result<Job<'a>, GpuError> {
        check::one_source(kernel)?;
        let sizes = check::kernel(kernel, &self.limits)?;
        self.check_pair(source, sizes.source(), destination, sizes.destination)?;
        let (sources, destination) = (smallvec![(&source.handle, 0)], (&destination.handle, 0));
        Ok(Job { kernel, sizes, sources, destination, times })
    }

    /// Frees the device buffers that are kept from the last [`run`](Self::run).
    pub fn trim(&self) {
        *self.scratch() = Scratch::default();
    }

    fn scratch_buffer(&self, operand: Operand, bytes: u64) -> Result<wgpu::Buffer, GpuError> {
        let kept = self.scratch().take(operand, bytes);
        kept.map_or_else(|| self.create_buffer(bytes), Ok)
    }

    /// Locks the scratch buffers. After a panic of another thread they are still valid.
    pub(super) fn scratch(&self) -> MutexGuard<'_, Scratch> {
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
