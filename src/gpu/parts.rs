//! Runs a copy that is too large for the device, in parts.
//!
//! For each part, the host packs the rows of the sources that the part reads, the device copies
//! them, and the host writes the result to the destination. Three parts are in flight at a time, so
//! that the host and the device can work at once.

use std::collections::VecDeque;

use super::check::{self, BindingSizes};
use super::encode::Job;
use super::rows::{change_bits, pack, read_bits, write_bits};
use super::transfer::Download;
use super::{Gpu, GpuError};
use crate::nest::{
    CopyNest, Gaps, Operand, Part,
    known::know_lookups,
    split::{SplitError, split},
};
use crate::schedule::{ScheduleError, Target, schedule};
use crate::wgsl::{self, Kernel};

/// The greatest size of each source of one part, in bytes, unless lookups may select any element of
/// a larger source. The destination of a part has at most half of this size. Larger parts are no
/// faster and need more memory.
const MAX_PART_BYTES: u64 = 16 << 20;

/// The factor by which parts grow until a source of lookups fits. With a larger factor, parts need
/// more memory than necessary; with a smaller one, each part uploads the source for fewer results.
const GROWTH: u64 = 4;

/// The number of parts in flight. The host packs or unpacks one part while the other two are on the
/// device.
const PARTS_IN_FLIGHT: usize = 3;

/// A part whose copy is running on the device.
struct PartInFlight {
    download: Download,
    destination_bit: u64,
    bits: u64,
    /// The buffers of the sources and of the destination.
    buffers: Vec<wgpu::Buffer>,
}

impl Gpu {
    /// Runs a copy of any size on host bytes. Splits the copy into parts that are within the limits
    /// of the target and of the device. `source` and `destination` have all bytes of the tensors,
    /// including padding.
    ///
    /// The device holds only a few parts at a time. After each part, `progress` is called with the
    /// number of bytes of the destination that are complete. If the copy keeps gaps, each part
    /// first uploads its region of the destination.
    ///
    /// # Errors
    /// Returns the errors of [`run`](Self::run). Returns [`GpuError::Schedule`] if the target
    /// cannot run even the smallest part of the copy. After an error, the contents of the
    /// destination are unspecified.
    pub fn run_in_parts(
        &self,
        nest: &CopyNest,
        target: &Target,
        source: &[u8],
        destination: &mut [u8],
        progress: impl FnMut(u64),
    ) -> Result<(), GpuError> {
        self.run_sources_in_parts(nest, target, &[source], destination, progress)
    }

    /// Runs a copy with any number of sources in parts. In all other respects, this is
    /// [`run_in_parts`](Self::run_in_parts).
    ///
    /// # Errors
    /// Also returns [`GpuError::Schedule`] if lookups may select any element of a source that the
    /// target cannot bind, or if the copy is an update in place.
    pub(super) fn run_sources_in_parts(
        &self,
        nest: &CopyNest,
        target: &Target,
        sources: &[&[u8]],
        destination: &mut [u8],
        mut progress: impl FnMut(u64),
    ) -> Result<(), GpuError> {
        check::images(nest, sources, destination)?;
        let limit = target
            .max_storage_buffer_binding_size
            .min(self.limits.max_storage_buffer_binding_size)
            .min(self.limits.max_buffer_size);
        let mut target = target.clone();
        let refused = |operand, given, target: Target| {
            let target = target.name;
            GpuError::Schedule(ScheduleError::Binding { operand, given, limit, target })
        };
        if nest.scattered().is_some() {
            return Err(refused(Operand::Destination, nest.dst_bytes(), target));
        }
        let nest = know_lookups(nest.clone(), sources);
        let mut bytes = limit.min(MAX_PART_BYTES);
        loop {
            target.max_storage_buffer_binding_size = bytes;
            match self.run_parts(&nest, &target, sources, destination, &mut progress) {
                Err(SplitError::TooWide { .. }) if bytes < limit => {
                    bytes = limit.min(bytes * GROWTH);
                }
                Err(SplitError::TooWide { source }) => {
                    let given = nest.sources()[source].bytes();
                    return Err(refused(Operand::Source(source), given, target));
                }
                Err(SplitError::Rejected(error)) => return Err(error),
                Ok(()) => return Ok(()),
            }
        }
    }

    /// Runs a copy in parts whose buffers are within the target's limit on bindings.
    fn run_parts(
        &self,
        nest: &CopyNest,
        target: &Target,
        sources: &[&[u8]],
        destination: &mut [u8],
        mut progress: impl FnMut(u64),
    ) -> Result<(), SplitError<GpuError>> {
        let compile = |part: &CopyNest| {
            let schedule = schedule(part.clone(), target).map_err(GpuError::Schedule)?;
            Ok(wgsl::emit(&schedule, target, &[]))
        };
        let mut free: Vec<Vec<wgpu::Buffer>> = Vec::new();
        let mut in_flight = VecDeque::with_capacity(PARTS_IN_FLIGHT);
        let write = if nest.gaps() == Gaps::Keep { change_bits } else { write_bits };
        let mut finish = |earlier, destination: &mut [u8]| {
            let PartInFlight { download, destination_bit, bits, buffers } = earlier;
            self.finish_download(download, |run| write(destination, destination_bit, run, bits))?;
            progress((destination_bit + bits) / 8);
            Ok::<_, GpuError>(buffers)
        };
        for item in split(nest, target.max_storage_buffer_binding_size, compile) {
            let (part, kernel) = item?;
            if kernel.dispatches.is_empty() {
                continue; // nothing is written to the part
            }
            if in_flight.len() == PARTS_IN_FLIGHT
                && let Some(earlier) = in_flight.pop_front()
            {
                free.push(finish(earlier, destination)?);
            }
            let sizes = check::kernel(&kernel, &self.limits)?;
            let wanted = || sizes.operands().map(|(_, bytes)| bytes);
            let kept = free.pop().filter(|buffers| {
                let fits = |(buffer, bytes): (&wgpu::Buffer, u64)| buffer.size() >= bytes;
                buffers.len() == wanted().count() && buffers.iter().zip(wanted()).all(fits)
            });
            let buffers = match kept {
                Some(buffers) => buffers,
                None => {
                    wanted().map(|bytes| self.create_buffer(bytes)).collect::<Result<_, _>>()?
                }
            };
            if let Some(written) = buffers.last().filter(|_| kernel.gaps == Gaps::Keep) {
                self.stage_part(&part, written, sizes.destination, destination)?;
            }
            in_flight.push_back(self.launch(&part, &kernel, sizes, sources, buffers)?);
        }
        in_flight.into_iter().try_for_each(|earlier| finish(earlier, destination).map(drop))?;
        Ok(())
    }

    /// Uploads the region of the destination that `part` will modify, because the kernel must keep
    /// its gaps.
    fn stage_part(
        &self,
        part: &Part,
        buffer: &wgpu::Buffer,
        size: u64,
        destination: &[u8],
    ) -> Result<(), GpuError> {
        let bytes = usize::try_from(part.nest.dst_bytes()).unwrap_or(usize::MAX);
        let mut run = vec![0; usize::try_from(size).unwrap_or(usize::MAX).max(bytes)];
        read_bits(destination, part.destination_bit, &mut run[..bytes]);
        self.stage(buffer, 0, run.len() as u64, |staged| staged.slice(..).copy_from_slice(&run))
    }

    /// Starts the copy of `part`: packs its rows, and submits the upload, the kernel and the
    /// download.
    fn launch(
        &self,
        part: &Part,
        kernel: &Kernel,
        sizes: BindingSizes,
        sources: &[&[u8]],
        buffers: Vec<wgpu::Buffer>,
    ) -> Result<PartInFlight, GpuError> {
        for ((buffer, rows), &size) in buffers.iter().zip(&part.sources).zip(&sizes.sources) {
            self.stage(buffer, 0, size, |staged| {
                let mut end = 0;
                let mut put = |at: usize, bytes: &[u8]| {
                    // The bytes between the rows of two reads are zero.
                    for at in (end..at).step_by(4) {
                        staged.slice(at..at + 4).copy_from_slice(&[0; 4]);
                    }
                    staged.slice(at..at + bytes.len()).copy_from_slice(bytes);
                    end = at + bytes.len();
                };
                for rows in rows {
                    pack(rows, sources[rows.source], &mut put);
                }
                put(usize::try_from(size).unwrap_or(usize::MAX), &[]);
            })?;
        }
        let mut encoder = self.encoder()?;
        let Some((written, read)) = buffers.split_last() else {
            return Err(GpuError::Bindings { reason: "no bindings".to_owned() });
        };
        let job = Job {
            kernel,
            sizes,
            sources: read.iter().map(|buffer| (buffer, 0)).collect(),
            destination: (written, 0),
            times: 1,
        };
        self.encode_job(&mut encoder, &job, None)?;
        drop(job);
        let bytes = usize::try_from(part.nest.dst_bytes()).unwrap_or(usize::MAX);
        let download = self.start_download(encoder, written, 0, bytes)?;
        let bits = part.nest.dst_units() * u64::from(part.nest.dst_bits());
        Ok(PartInFlight { download, destination_bit: part.destination_bit, bits, buffers })
    }
}

impl From<GpuError> for SplitError<GpuError> {
    fn from(error: GpuError) -> Self {
        Self::Rejected(error)
    }
}
