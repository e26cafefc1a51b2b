use std::collections::VecDeque;
use std::ops::Range;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};

use super::buffer::rounded;
use super::scope::scoped;
use super::{Gpu, GpuError};

/// Bytes that are staged at a time. Two parts are in flight, so that the host copies one while the device moves the
/// other, and a transfer of any length needs no more than 32 MiB of staging memory.
const PART: usize = 16 << 20;

/// A part on its way to the host.
struct Arriving {
    staging: wgpu::Buffer,
    range: Range<usize>,
    submission: wgpu::SubmissionIndex,
    mapped: Receiver<Result<(), wgpu::BufferAsyncError>>,
}

impl Gpu {
    /// Writes `bytes` to the start of a buffer, and zeros up to the next word.
    ///
    /// All parts but the last are submitted; the last goes with the next submission, whatever that is. The staging
    /// memory is wgpu's own: it is not zeroed first, as a buffer mapped at its creation would be.
    pub(super) fn write(&self, buffer: &wgpu::Buffer, bytes: &[u8]) -> Result<(), GpuError> {
        const OPERATION: &str = "uploading";
        let mut in_flight = VecDeque::with_capacity(2);
        let parts = bytes.len().div_ceil(PART);
        for (number, part) in bytes.chunks(PART).enumerate() {
            if in_flight.len() == 2
                && let Some(submission) = in_flight.pop_front()
            {
                self.wait(OPERATION, submission)?;
            }
            let offset = (number * PART) as u64;
            let written = scoped(&self.device, OPERATION, || {
                let size = wgpu::BufferSize::new(rounded(part.len() as u64))?;
                let mut staged = self.queue.write_buffer_with(buffer, offset, size)?;
                staged.slice(..part.len()).copy_from_slice(part);
                let tail = staged.len() - part.len();
                staged.slice(part.len()..).copy_from_slice(&[0; 4][..tail]);
                Some(())
            })?;
            if written.is_none() {
                // wgpu reports every reason but one through the scope.
                self.check_lost(OPERATION)?;
                return Err(lost(OPERATION, "no staging memory, and no reason given"));
            }
            if number + 1 < parts {
                in_flight.push_back(scoped(&self.device, OPERATION, || self.queue.submit([]))?);
            }
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
        for start in (0..bytes.len()).step_by(PART) {
            if in_flight.len() == 2
                && let Some(part) = in_flight.pop_front()
            {
                self.arrive(part, bytes)?;
            }
            let range = start..bytes.len().min(start + PART);
            let encoder = encoder.take().map_or_else(|| self.encoder(), Ok)?;
            in_flight.push_back(self.depart(encoder, buffer, range)?);
        }
        in_flight.into_iter().try_for_each(|part| self.arrive(part, bytes))
    }

    /// Starts a part: device buffer to staging buffer, which is then mapped.
    fn depart(
        &self,
        mut encoder: wgpu::CommandEncoder,
        buffer: &wgpu::Buffer,
        range: Range<usize>,
    ) -> Result<Arriving, GpuError> {
        const OPERATION: &str = "downloading";
        let size = rounded(range.len() as u64);
        // Powers of two, so that downloads of like lengths share their staging buffers.
        let capacity = size.next_power_of_two();
        let kept = self.scratch().take_readback(capacity);
        let staging = kept.map_or_else(|| self.create_readback(capacity), Ok)?;
        let (submission, mapped) = scoped(&self.device, OPERATION, || {
            encoder.copy_buffer_to_buffer(buffer, range.start as u64, &staging, 0, size);
            let submission = self.queue.submit([encoder.finish()]);
            let (answer, mapped) = sync_channel(1);
            staging.map_async(wgpu::MapMode::Read, ..size, move |result| {
                // Nobody listens any more where the download was given up.
                let _ = answer.send(result);
            });
            (submission, mapped)
        })?;
        Ok(Arriving { staging, range, submission, mapped })
    }

    /// Waits for a part and copies it out; its staging buffer is kept for another.
    fn arrive(&self, part: Arriving, bytes: &mut [u8]) -> Result<(), GpuError> {
        const OPERATION: &str = "downloading";
        let Arriving { staging, range, submission, mapped } = part;
        self.wait(OPERATION, submission)?;
        // The answer is there, or about to be given by another thread that waits for this device.
        match mapped.recv_timeout(self.timeout) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                self.check_lost(OPERATION)?;
                return Err(lost(OPERATION, &error.to_string()));
            }
            Err(RecvTimeoutError::Timeout) => {
                return Err(GpuError::Timeout { operation: OPERATION, limit: self.timeout });
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(lost(OPERATION, "the staging buffer was never mapped"));
            }
        }
        scoped(&self.device, OPERATION, || {
            let length = range.len();
            let view = staging
                .get_mapped_range(..rounded(length as u64))
                .map_err(|error| lost(OPERATION, &error.to_string()))?;
            bytes[range].copy_from_slice(&view[..length]);
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
