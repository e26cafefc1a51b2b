//! Runs a copy that is too large for the device, in parts.
//!
//! For each part, the host packs the rows of the source that the part reads, the device copies
//! them, and the host writes the result to the destination. Three parts are in flight at a time, so
//! that the host and the device can work at once.

use std::collections::VecDeque;

use smallvec::smallvec;

use super::check::{self, BindingSizes};
use super::encode::Job;
use super::rows::{change_bits, pack, read_bits, write_bits};
use super::transfer::Download;
use super::{Gpu, GpuError};
use crate::nest::{CopyNest, Gaps, Operand, Part, split::split};
use crate::schedule::{Target, schedule};
use crate::wgsl::{self, Kernel};

/// The greatest size of the source of one part, in bytes. The destination of a part has at most
/// half of this size. Larger parts are no faster and need more memory.
const MAX_PART_BYTES: u64 = 16 << 20;

/// The number of parts in flight. The host packs or unpacks one part while the other two are on the
/// device.
const PARTS_IN_FLIGHT: usize = 3;

/// A part whose copy is running on the device.
struct PartInFlight {
    download: Download,
    destination_bit: u64,
    bits: u64,
    buffers: [wgpu::Buffer; 2],
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
        mut progress: impl FnMut(u64),
    ) -> Result<(), GpuError> {
        check::image(Operand::Source(0), source.len(), nest.src_bytes())?;
        check::image(Operand::Destination, destination.len(), nest.dst_bytes())?;
        let bytes = target
            .max_storage_buffer_binding_size
            .min(self.limits.max_storage_buffer_binding_size)
            .min(self.limits.max_buffer_size)
            .min(MAX_PART_BYTES);
        let target = Target { max_storage_buffer_binding_size: bytes, ..target.clone() };
        let compile = |part: &CopyNest| {
            let schedule = schedule(part.clone(), &target).map_err(GpuError::Schedule)?;
            Ok(wgsl::emit(&schedule, &target, &[]))
        };
        let mut free: Vec<[wgpu::Buffer; 2]> = Vec::new();
        let mut in_flight = VecDeque::with_capacity(PARTS_IN_FLIGHT);
        let write = if nest.gaps() == Gaps::Keep { change_bits } else { write_bits };
        let mut finish = |earlier, destination: &mut [u8]| {
            let PartInFlight { download, destination_bit, bits, buffers } = earlier;
            self.finish_download(download, |run| write(destination, destination_bit, run, bits))?;
            progress((destination_bit + bits) / 8);
            Ok::<_, GpuError>(buffers)
        };
        for item in split(nest, bytes, compile) {
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
            let kept = free.pop().filter(|[source, destination]| {
                source.size() >= sizes.source() && destination.size() >= sizes.destination
            });
            let buffers = match kept {
                Some(buffers) => buffers,
                None => {
                    [self.create_buffer(sizes.source())?, self.create_buffer(sizes.destination)?]
                }
            };
            if kernel.gaps == Gaps::Keep {
                self.stage_part(&part, &buffers[1], sizes.destination, destination)?;
            }
            in_flight.push_back(self.launch(&part, &kernel, sizes, source, buffers)?);
        }
        in_flight.into_iter().try_for_each(|earlier| finish(earlier, destination).map(drop))
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
        source: &[u8],
        buffers: [wgpu::Buffer; 2],
    ) -> Result<PartInFlight, GpuError> {
        let packed = part.nest.src_bytes();
        self.stage(&buffers[0], 0, sizes.source(), |staged| {
            pack(&part.rows, source, |at, bytes| {
                staged.slice(at..at + bytes.len()).copy_from_slice(bytes);
            });
            for at in (packed..sizes.source()).step_by(4) {
                let at = usize::try_from(at).unwrap_or(usize::MAX);
                staged.slice(at..at + 4).copy_from_slice(&[0; 4]);
            }
        })?;
        let mut encoder = self.encoder()?;
        let job = Job {
            kernel,
            sizes,
            sources: smallvec![(&buffers[0], 0)],
            destination: (&buffers[1], 0),
            times: 1,
        };
        self.encode_job(&mut encoder, &job, None)?;
        drop(job);
        let bytes = usize::try_from(part.nest.dst_bytes()).unwrap_or(usize::MAX);
        let download = self.start_download(encoder, &buffers[1], 0, bytes)?;
        let bits = part.nest.dst_units() * u64::from(part.nest.dst_bits());
        Ok(PartInFlight { download, destination_bit: part.destination_bit, bits, buffers })
    }
}
