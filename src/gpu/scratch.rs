use super::Side;

/// Device buffers kept from one run to the next: to allocate and zero a buffer costs as much as a small kernel.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    source: Option<wgpu::Buffer>,
    destination: Option<wgpu::Buffer>,
    readback: Vec<wgpu::Buffer>,
}

impl Scratch {
    /// Readback buffers kept: as many as a download has in flight.
    const READBACKS: usize = 2;

    /// Takes the buffer kept for this side, if `bytes` fit and leave no more than half of it unused.
    pub(super) fn take(&mut self, side: Side, bytes: u64) -> Option<wgpu::Buffer> {
        self.slot(side).take().filter(|kept| kept.size() >= bytes && kept.size() / 2 <= bytes)
    }

    /// Keeps a buffer for the next run.
    pub(super) fn keep(&mut self, side: Side, buffer: wgpu::Buffer) {
        *self.slot(side) = Some(buffer);
    }

    /// Takes a mappable buffer of exactly `size` bytes.
    pub(super) fn take_readback(&mut self, size: u64) -> Option<wgpu::Buffer> {
        let at = self.readback.iter().position(|kept| kept.size() == size)?;
        Some(self.readback.remove(at))
    }

    /// Keeps an unmapped readback buffer for the next download.
    pub(super) fn keep_readback(&mut self, buffer: wgpu::Buffer) {
        if self.readback.len() == Self::READBACKS {
            self.readback.remove(0);
        }
        self.readback.push(buffer);
    }

    fn slot(&mut self, side: Side) -> &mut Option<wgpu::Buffer> {
        match side {
            Side::Source => &mut self.source,
            Side::Destination => &mut self.destination,
        }
    }
}
