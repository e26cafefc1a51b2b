//! Device buffers that are kept for the next run, so that repeated runs allocate nothing.

use crate::nest::Operand;

/// The device buffers that are kept between runs, because allocating and zeroing a buffer takes
/// about as long as a small kernel.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    operands: Vec<(Operand, wgpu::Buffer)>,
    readback: Vec<wgpu::Buffer>,
}

impl Scratch {
    /// The maximum number of readback buffers to keep: the number of downloads that are in flight
    /// at once.
    const READBACKS: usize = 2;

    /// Removes the buffer that is kept for an operand, and returns it if it suits a use of `bytes`
    /// bytes. Returns `None` and drops the buffer if it is too small, or if more than half of it
    /// would be unused.
    pub(super) fn take(&mut self, operand: Operand, bytes: u64) -> Option<wgpu::Buffer> {
        let at = self.operands.iter().position(|(kept, _)| *kept == operand)?;
        let (_, kept) = self.operands.swap_remove(at);
        (kept.size() >= bytes && kept.size() / 2 <= bytes).then_some(kept)
    }

    /// Keeps a buffer of `operand` for the next run, in place of the one that was kept before.
    pub(super) fn keep(&mut self, operand: Operand, buffer: wgpu::Buffer) {
        self.operands.retain(|(kept, _)| *kept != operand);
        self.operands.push((operand, buffer));
    }

    /// Removes and returns a readback buffer of exactly `size` bytes. Returns `None` if there is
    /// none.
    pub(super) fn take_readback(&mut self, size: u64) -> Option<wgpu::Buffer> {
        let at = self.readback.iter().position(|kept| kept.size() == size)?;
        Some(self.readback.remove(at))
    }

    /// Keeps an unmapped readback buffer for the next download. Drops the oldest buffer if too many
    /// are kept.
    pub(super) fn keep_readback(&mut self, buffer: wgpu::Buffer) {
        if self.readback.len() == Self::READBACKS {
            self.readback.remove(0);
        }
        self.readback.push(buffer);
    }
}
