//! Device buffers that are kept for the next run, so that repeated runs allocate nothing.

use crate::nest::Operand;

/// The device buffers that are kept between runs. Allocating and zeroing a buffer takes about the
/// time of a small kernel.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    operands: Vec<(Operand, wgpu::Buffer)>,
    readback: Vec<wgpu::Buffer>,
}

impl Scratch {
    /// The maximum number of readback buffers to keep. It equals the number of downloads in flight.
    const READBACKS: usize = 2;

    /// Removes and returns the buffer that is kept for an operand. The buffer is dropped, and the
    /// result is `None`, if it has fewer than `bytes` bytes or if more than half of it would be
    /// unused.
    pub(super) fn take(&mut self, operand: Operand, bytes: u64) -> Option<wgpu::Buffer> {
        let at = self.operands.iter().position(|(kept, _)| *kept == operand)?;
        let (_, kept) = self.operands.swap_remove(at);
        (kept.size() >= bytes && kept.size() / 2 <= bytes).then_some(kept)
    }

    /// Keeps a buffer for the next run. The buffer that was kept for this operand before is
    /// dropped.
    pub(super) fn keep(&mut self, operand: Operand, buffer: wgpu::Buffer) {
        self.operands.retain(|(kept, _)| *kept != operand);
        self.operands.push((operand, buffer));
    }

    /// Removes and returns a readback buffer of exactly `size` bytes, or returns `None` if none is
    /// kept.
    pub(super) fn take_readback(&mut self, size: u64) -> Option<wgpu::Buffer> {
        let at = self.readback.iter().position(|kept| kept.size() == size)?;
        Some(self.readback.remove(at))
    }

    /// Keeps an unmapped readback buffer for the next download. If enough buffers are kept already,
    /// the oldest one is dropped.
    pub(super) fn keep_readback(&mut self, buffer: wgpu::Buffer) {
        if self.readback.len() == Self::READBACKS {
            self.readback.remove(0);
        }
        self.readback.push(buffer);
    }
}
