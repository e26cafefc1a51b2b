//! Measures the time of a kernel with the device's own timestamps, which exclude the time of the
//! submission.

use std::time::Duration;

use super::scope::scoped;
use super::{Buffer, Gpu, GpuError};
use crate::wgsl::Kernel;

/// The size of a timestamp, in bytes.
const TICK_BYTES: usize = size_of::<u64>();

impl Gpu {
    /// Runs a kernel `times` times, in the same way as
    /// [`dispatch_repeated`](Self::dispatch_repeated). Returns the time between the device's
    /// timestamps before the first run and after the last run, or `None` if the device has no
    /// timestamps.
    ///
    /// # Errors
    /// Returns the errors of [`dispatch`](Self::dispatch).
    pub fn time(
        &self,
        kernel: &Kernel,
        source: &Buffer,
        destination: &Buffer,
        times: u32,
    ) -> Result<Option<Duration>, GpuError> {
        if !self.device.features().contains(wgpu::Features::TIMESTAMP_QUERY) {
            return Ok(None);
        }
        if kernel.dispatches.is_empty() {
            return Ok(Some(Duration::ZERO));
        }
        let job = self.job(kernel, source, destination, times)?;
        let (queries, resolved) = scoped(&self.device, "allocating timestamps", || {
            let queries = self.device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("stridec"),
                ty: wgpu::QueryType::Timestamp,
                count: 2,
            });
            let resolved = self.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("stridec timestamps"),
                size: 2 * TICK_BYTES as u64,
                usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            });
            (queries, resolved)
        })?;
        let mut encoder = self.encoder()?;
        let writes = wgpu::ComputePassTimestampWrites {
            query_set: &queries,
            beginning_of_pass_write_index: Some(0),
            end_of_pass_write_index: Some(1),
        };
        self.encode_job(&mut encoder, &job, Some(writes))?;
        scoped(&self.device, "reading timestamps", || {
            encoder.resolve_query_set(&queries, 0..2, &resolved, 0);
        })?;
        let mut ticks = [[0; TICK_BYTES]; 2];
        self.read(encoder, &resolved, ticks.as_flattened_mut())?;
        let [start, end] = ticks.map(u64::from_le_bytes);
        let nanoseconds_per_tick = f64::from(self.queue.get_timestamp_period());
        #[expect(clippy::cast_precision_loss, reason = "a run of 2^53 ticks would last months")]
        let seconds = end.saturating_sub(start) as f64 * nanoseconds_per_tick / 1e9;
        Ok(Duration::try_from_secs_f64(seconds).ok())
    }
}
