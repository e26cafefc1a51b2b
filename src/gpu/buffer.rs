//! [`Buffer`]: memory on the device, with upload, download and copies.

use super::scope::scoped;
use super::{Gpu, GpuError};
use crate::nest::{ACCESS_BYTES, Operand};

/// A buffer on the device, which kernels can read and write.
#[derive(Clone, Debug)]
pub struct Buffer {
    pub(super) handle: wgpu::Buffer,
    owner: u64,
    bytes: u64,
}

impl Buffer {
    /// Returns the size that the caller of [`Gpu::allocate`] requested, in bytes. The allocated
    /// size is rounded up to a multiple of 16 bytes, the widest access of a kernel.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns wgpu's buffer, which has the usages `STORAGE`, `COPY_SRC` and `COPY_DST`.
    #[must_use]
    pub fn handle(&self) -> &wgpu::Buffer {
        &self.handle
    }
}

impl Gpu {
    /// Allocates a buffer of `bytes` bytes on the device. The device zeroes the buffer before its
    /// first use.
    ///
    /// # Errors
    /// Returns [`GpuError::BeyondLimit`] if `bytes` exceeds the device's maximum buffer size, and
    /// [`GpuError::OutOfMemory`] if the allocation fails.
    pub fn allocate(&self, bytes: u64) -> Result<Buffer, GpuError> {
        let size = bytes.max(1).checked_next_multiple_of(ACCESS_BYTES).unwrap_or(u64::MAX);
        let handle = self.create_buffer(size)?;
        Ok(Buffer { handle, owner: self.owner, bytes })
    }

    /// Copies host bytes into a new buffer. Starts the transfer without waiting until it is done.
    ///
    /// # Errors
    /// Returns the errors of [`allocate`](Self::allocate). A transfer in several pieces can also
    /// return [`GpuError::Timeout`] and [`GpuError::DeviceLost`].
    pub fn upload(&self, bytes: &[u8]) -> Result<Buffer, GpuError> {
        let buffer = self.allocate(bytes.len() as u64)?;
        self.write(&buffer.handle, bytes)?;
        scoped(&self.device, "uploading", || self.queue.submit([]))?;
        self.check_lost("uploading")?;
        Ok(buffer)
    }

    /// Copies the start of a buffer into `bytes`, after all work that was submitted before. Fills
    /// all of `bytes`.
    ///
    /// # Errors
    /// Returns [`GpuError::BufferTooSmall`] if `bytes` is longer than the buffer,
    /// [`GpuError::ForeignBuffer`] if the buffer belongs to another device, and
    /// [`GpuError::Timeout`], [`GpuError::DeviceLost`] or [`GpuError::OutOfMemory`] if the transfer
    /// fails.
    pub fn download(&self, buffer: &Buffer, bytes: &mut [u8]) -> Result<(), GpuError> {
        self.check_buffer(Operand::Source(0), buffer, bytes.len() as u64)?;
        self.read(self.encoder()?, &buffer.handle, bytes)
    }

    /// Copies `bytes` bytes, rounded up to a multiple of 4, from the start of `source` to the start
    /// of `destination`. Makes the copy `times` times in one submission, and waits until the last
    /// one is done. This is the device's built-in copy, to which benchmarks compare kernels.
    ///
    /// # Errors
    /// Returns [`GpuError::BufferTooSmall`], [`GpuError::ForeignBuffer`] or
    /// [`GpuError::SameBuffer`] if a buffer is not suitable, and [`GpuError::Timeout`] or
    /// [`GpuError::DeviceLost`] if the copy fails.
    pub fn copy(
        &self,
        source: &Buffer,
        destination: &Buffer,
        bytes: u64,
        times: u32,
    ) -> Result<(), GpuError> {
        self.check_pair(source, bytes, destination, bytes)?;
        let mut encoder = self.encoder()?;
        let submission = scoped(&self.device, "copying", || {
            for _ in 0..times {
                encoder.copy_buffer_to_buffer(
                    &source.handle,
                    0,
                    &destination.handle,
                    0,
                    rounded(bytes),
                );
            }
            self.queue.submit([encoder.finish()])
        })?;
        self.wait("copying", submission)
    }

    /// Returns an error if a buffer does not belong to this device or is smaller than `needed`
    /// bytes. The error calls the buffer by its role, `operand`.
    pub(super) fn check_buffer(
        &self,
        operand: Operand,
        buffer: &Buffer,
        needed: u64,
    ) -> Result<(), GpuError> {
        if buffer.owner != self.owner {
            return Err(GpuError::ForeignBuffer { operand });
        }
        let given = buffer.handle.size();
        if given < needed {
            return Err(GpuError::BufferTooSmall { operand, given, needed });
        }
        Ok(())
    }

    /// Checks a source and a destination in the same way as [`check_buffer`](Self::check_buffer).
    /// Returns an error as well if they are the same buffer.
    pub(super) fn check_pair(
        &self,
        source: &Buffer,
        source_bytes: u64,
        destination: &Buffer,
        destination_bytes: u64,
    ) -> Result<(), GpuError> {
        self.check_buffer(Operand::Source(0), source, source_bytes)?;
        self.check_buffer(Operand::Destination, destination, destination_bytes)?;
        if source.handle == destination.handle {
            return Err(GpuError::SameBuffer { source_offset: 0, destination_offset: 0 });
        }
        Ok(())
    }

    /// Creates a buffer of `size` bytes, which must be a multiple of 4.
    pub(super) fn create_buffer(&self, size: u64) -> Result<wgpu::Buffer, GpuError> {
        let limit = self.limits.max_buffer_size;
        if size > limit {
            return Err(GpuError::BeyondLimit { what: "a buffer in bytes", given: size, limit });
        }
        scoped(&self.device, "allocating a buffer", || {
            self.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("stridec"),
                size,
                usage: wgpu::BufferUsages::STORAGE
                    | wgpu::BufferUsages::COPY_SRC
                    | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        })
    }

    /// Creates a command encoder.
    pub(super) fn encoder(&self) -> Result<wgpu::CommandEncoder, GpuError> {
        let descriptor = wgpu::CommandEncoderDescriptor { label: Some("stridec") };
        scoped(&self.device, "encoding", || self.device.create_command_encoder(&descriptor))
    }
}

/// Rounds a size up to a multiple of 4 bytes, and to at least 4 bytes. A size near `u64::MAX`
/// becomes `u64::MAX`, which no device can allocate.
pub(super) fn rounded(bytes: u64) -> u64 {
    bytes.max(1).checked_next_multiple_of(4).unwrap_or(u64::MAX)
}
