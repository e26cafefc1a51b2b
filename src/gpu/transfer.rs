//! Transfers bytes between host memory and device buffers, through staging buffers of limited size.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};

use super::buffer::rounded;
use super::scope::scoped;
use super::{Gpu, GpuError};

/// The maximum size of one piece of a transfer, in bytes. Two pieces are in flight at a time: the
/// host copies one of them while the device transfers the other. So a transfer of any length needs
/// at most 32 MiB of staging memory.
const PIECE_BYTES: usize = 16 << 20;

const UPLOADING: &str = "uploading";
const DOWNLOADING: &str = "downloading";

/// A download that is in flight.
pub(super) struct Download {
    staging: wgpu::Buffer,
    bytes: usize,
    submission: wgpu::SubmissionIndex,
    mapped: Receiver<Result<(), wgpu::BufferAsyncError>>,
}

impl Gpu {
    /// Writes `bytes` to the start of a buffer, and adds zeros up to a multiple of 4 bytes.
    ///
    /// Submits all pieces except the last, which becomes part of the queue's next submission. The
    /// staging memory comes from wgpu, because wgpu does not zero it first. It would zero a buffer
    /// that is mapped at creation.
    pub(super) fn write(&self, buffer: &wgpu::Buffer, bytes: &[u8]) -> Result<(), GpuError> {
        let mut in_flight = VecDeque::with_capacity(2);
        let parts = bytes.len().div_ceil(PIECE_BYTES);
        for (number, part) in bytes.chunks(PIECE_BYTES).enumerate() {
            if in_flight.len() == 2
                && let Some(submission) = in_flight.pop_front()
            {
                self.wait(UPLOADING, submission)?;
            }
            self.stage(
                buffer,
                (number * PIECE_BYTES) as u64,
                rounded(part.len() as u64),
                |staged| {
                    staged.slice(..part.len()).copy_from_slice(part);
                    let tail = staged.len() - part.len();
                    staged.slice(part.len()..).copy_from_slice(&[0; 4][..tail]);
                },
            )?;
            if number + 1 < parts {
                in_flight.push_back(scoped(&self.device, UPLOADING, || self.queue.submit([]))?);
            }
        }
        Ok(())
    }

    /// Writes `size` bytes to a buffer, starting at byte `offset`. `size` and `offset` must be
    /// multiples of 4. `fill` writes the bytes to staging memory.
    ///
    /// The write becomes part of the queue's next submission. `fill` must write all of the staging
    /// memory, because nothing else initializes it.
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
            // wgpu reports every reason through the error scope, except the loss of the device.
            self.check_lost(UPLOADING)?;
            return Err(lost(UPLOADING, "no staging memory, and no reason given"));
        }
        Ok(())
    }

    /// Submits the commands of `encoder`, and then fills `bytes` from the start of a buffer.
    pub(super) fn read(
        &self,
        encoder: wgpu::CommandEncoder,
        buffer: &wgpu::Buffer,
        bytes: &mut [u8],
    ) -> Result<(), GpuError> {
        let mut encoder = Some(encoder);
        let mut in_flight = VecDeque::with_capacity(2);
        let length = bytes.len();
        let mut finish = |(part, range): (Download, Range<usize>)| {
            self.finish_download(part, |arrived| bytes[range].copy_from_slice(arrived))
        };
        for start in (0..length).step_by(PIECE_BYTES) {
            if in_flight.len() == 2
                && let Some(part) = in_flight.pop_front()
            {
                finish(part)?;
            }
            let range = start..length.min(start + PIECE_BYTES);
            let encoder = encoder.take().map_or_else(|| self.encoder(), Ok)?;
            let part = self.start_download(encoder, buffer, start as u64, range.len())?;
            in_flight.push_back((part, range));
        }
        in_flight.into_iter().try_for_each(finish)
    }

    /// Adds a copy of `bytes` bytes of a buffer, from byte `offset` on, to the commands of
    /// `encoder`, and submits them. The copy fills a staging buffer. Starts to map the staging
    /// buffer without waiting for it.
    pub(super) fn start_download(
        &self,
        mut encoder: wgpu::CommandEncoder,
        buffer: &wgpu::Buffer,
        offset: u64,
        bytes: usize,
    ) -> Result<Download, GpuError> {
        let size = rounded(bytes as u64);
        // The capacity is a power of two, so that downloads of similar lengths can use the same
        // staging buffer.
        let capacity = size.next_power_of_two();
        let kept = self.scratch().take_readback(capacity);
        let staging = kept.map_or_else(|| self.create_readback(capacity), Ok)?;
        let (submission, mapped) = scoped(&self.device, DOWNLOADING, || {
            encoder.copy_buffer_to_buffer(buffer, offset, &staging, 0, size);
            let submission = self.queue.submit([encoder.finish()]);
            let (answer, mapped) = sync_channel(1);
            staging.map_async(wgpu::MapMode::Read, ..size, move |result| {
                // Sending fails only if the download is no longer awaited.
                let _ = answer.send(result);
            });
            (submission, mapped)
        })?;
        Ok(Download { staging, bytes, submission, mapped })
    }

    /// Waits for a download and calls `take` with its bytes. Keeps the staging buffer for the next
    /// download.
    pub(super) fn finish_download(
        &self,
        part: Download,
        take: impl FnOnce(&[u8]),
    ) -> Result<(), GpuError> {
        let Download { staging, bytes, submission, mapped } = part;
        self.wait(DOWNLOADING, submission)?;
        // The result is either here already, or another thread that polls this device is about to
        // send it.
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
            Ok::<_, GpuError>(())
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

/// Returns the error for a valid transfer that failed without a given reason, which happens when
/// the device is lost.
fn lost(operation: &'static str, message: &str) -> GpuError {
    GpuError::DeviceLost { operation, message: message.to_owned() }
}
