//! Moving bytes between host memory and buffers, through staging buffers of bounded size.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};

use super::buffer::rounded;
use super::scope::scoped;
use super::{Gpu, GpuError};

/// Bytes that are staged at a time. Two parts are in flight, so that the host copies one while the device moves the
/// other, and a transfer of any length needs no more than 32 MiB of staging memory.
const PART: usize = 16 << 20;

const UPLOADING: &str = "uploading";
const DOWNLOADING: &str = "downloading";

/// Bytes on their way to the host.
pub(super) struct Arriving {
    staging: wgpu::Buffer,
    bytes: usize,
    submission: wgpu::SubmissionIndex,
    mapped: Receiver<Result<(), wgpu::BufferAsyncError>>,
}

impl Gpu {
    /// Writes `bytes` to the start of a buffer, and zeros up to the next word.
    ///
    /// All parts but the last are submitted; the last goes with the next submission, whatever that is. The staging
    /// memory is wgpu's own: it is not zeroed first, as a buffer mapped at its creation would be.
    pub(super) fn write(&self, buffer: &wgpu::Buffer, bytes: &[u8]) -> Result<(), GpuError> {
        let mut in_flight = VecDeque::with_capacity(2);
        let parts = bytes.len().div_ceil(PART);
        for (number, part) in bytes.chunks(PART).enumerate() {
            if in_flight.len() == 2
                && let Some(submission) = in_flight.pop_front()
            {
                self.wait(UPLOADING, submission)?;
            }
            self.stage(buffer, (number * PART) as u64, rounded(part.len() as u64), |staged| {
                staged.slice(..part.len()).copy_from_slice(part);
                let tail = staged.len() - part.len();
                staged.slice(part.len()..).copy_from_slice(&[0; 4][..tail]);
            })?;
            if number + 1 < parts {
                in_flight.push_back(scoped(&self.device, UPLOADING, || self.queue.submit([]))?);
            }
        }
        Ok(())
    }

    /// Writes `size` bytes of a buffer from `offset`, both multiples of 4, with what `fill` puts into staging memory.
    ///
    /// They go with the next submission. The memory is not zeroed first: `fill` writes all of it.
    pub(super) fn stage(
        &self,
        buffer: &wgpu::Buffer,
        offset: u64,
        size: u64,
        fill: impl FnOnce(&mut wgpu::QueueWriteBufferView),
    ) -> Result<(), GpuError> {
        let staged = scoped(&self.device, UPLOADING, || {
            let mut staged =
                self.queue.write_buffer_with(buffer, offset, wgpu::BufferSize::new(size)?)?;
            fill(&mut staged);
            Some(())
        })?;
        if staged.is_none() {
            // wgpu reports every reason but one through the scope.
            self.check_lost(UPLOADING)?;
            return Err(lost(UPLOADING, "no staging memory, and no reason given"));
        }
        Ok(())
    }

    /// Submits what `encoder` holds, then reads the start of a buffer into `bytes`.
    pub(super) fn read(
        &self,
        encoder: wgpu::CommandEncoder,
        buffer: &wgpu::Buffer,
        bytes: &mut [u8],
    ) -> Result<(), GpuError> {
        let mut encoder = Some(encoder);
        let mut in_flight = VecDeque::with_capacity(2);
        let length = bytes.len();
        let mut arrive = |(part, range): (Arriving, Range<usize>)| {
            self.arrive(part, |arrived| bytes[range].copy_from_slice(arrived))
        };
        for start in (0..length).step_by(PART) {
            if in_flight.len() == 2
                && let Some(part) = in_flight.pop_front()
            {
                arrive(part)?;
            }
            let range = start..length.min(start + PART);
            let encoder = encoder.take().map_or_else(|| self.encoder(), Ok)?;
            let part = self.depart(encoder, buffer, start as u64, range.len())?;
            in_flight.push_back((part, range));
        }
        in_flight.into_iter().try_for_each(arrive)
    }

    /// Submits what `encoder` holds and starts `bytes` bytes of a buffer from `offset` on their way: into a staging
    /// buffer, which is then mapped.
    pub(super) fn depart(
        &self,
        mut encoder: wgpu::CommandEncoder,
        buffer: &wgpu::Buffer,
        offset: u64,
        bytes: usize,
    ) -> Result<Arriving, GpuError> {
        let size = rounded(bytes as u64);
        // Powers of two, so that downloads of like lengths share their staging buffers.
        let capacity = size.next_power_of_two();
        let kept = self.scratch().take_readback(capacity);
        let staging = kept.map_or_else(|| self.create_readback(capacity), Ok)?;
        let (submission, mapped) = scoped(&self.device, DOWNLOADING, || {
            encoder.copy_buffer_to_buffer(buffer, offset, &staging, 0, size);
            let submission = self.queue.submit([encoder.finish()]);
            let (answer, mapped) = sync_channel(1);
            staging.map_async(wgpu::MapMode::Read, ..size, move |result| {
                // Nobody listens any more where the download was given up.
                let _ = answer.send(result);
            });
            (submission, mapped)
        })?;
        Ok(Arriving { staging, bytes, submission, mapped })
    }

    /// Waits for bytes on their way and shows them to `take`; their staging buffer is kept for others.
    pub(super) fn arrive(&self, part: Arriving, take: impl FnOnce(&[u8])) -> Result<(), GpuError> {
        let Arriving { staging, bytes, submission, mapped } = part;
        self.wait(DOWNLOADING, submission)?;
        // The answer is there, or about to be given by another thread that waits for this device.
        match mapped.recv_timeout(self.timeout) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                self.check_lost(DOWNLOADING)?;
                return Err(lost(DOWNLOADING, &error.to_string()));
            }
            Err(RecvTimeoutError::Timeout) => {
                return Err(GpuError::Timeout { operation: DOWNLOADING, limit: self.timeout });
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(lost(DOWNLOADING, "the staging buffer was never mapped"));
            }
        }
        scoped(&self.device, DOWNLOADING, || {
            let view = staging
                .get_mapped_range(..rounded(bytes as u64))
                .map_err(|error| lost(DOWNLOADING, &error.to_string()))?;
            take(&view[..bytes]);
            drop(view);
            staging.unmap();
            Ok(())
        })??;
        self.scratch().keep_readback(staging);
        Ok(())
    }

    fn create_readback(&self, size: u64) -> Result<wgpu::Buffer, GpuError> {
        scoped(&self.device, "allocating a staging buffer", || {
            self.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("stridec download"),
                size,
                usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        })
    }
}

/// Transfers that are valid fail without a word only where the device is gone.
fn lost(operation: &'static str, message: &str) -> GpuError {
    GpuError::DeviceLost { operation, message: message.to_owned() }
}
