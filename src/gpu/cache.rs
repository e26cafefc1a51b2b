//! [`PipelineCache`]: keeps compiled kernels, so that a kernel is not compiled again when it runs
//! again.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::GpuError;
use super::check::BindingSizes;
use super::pipeline::Pipeline;
use crate::wgsl::{Kernel, KernelKey};

/// The most recently used pipelines of a device. If the cache is full, the least recently used
/// pipeline is dropped.
///
/// The key of a pipeline is [`Kernel::key`], so kernels that differ only in their comments share a
/// pipeline. A cache belongs to one device, because objects of different wgpu instances may have
/// equal identifiers. Each [`Gpu`](super::Gpu) shares its cache with its clones, even across
/// threads.
pub struct PipelineCache {
    capacity: usize,
    entries: Mutex<Vec<CachedPipeline>>,
}

/// A pipeline and its key. The most recently used entry comes last in the list.
struct CachedPipeline {
    key: KernelKey,
    pipeline: Arc<Pipeline>,
}

/// Prints the capacity and the number of pipelines, because the texts of the kernels would fill
/// pages.
impl fmt::Debug for PipelineCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PipelineCache")
            .field("capacity", &self.capacity)
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

impl PipelineCache {
    /// The capacity of a cache if none is given, in pipelines.
    pub(super) const DEFAULT_CAPACITY: usize = 256;

    /// Creates a cache that keeps at most `capacity` pipelines. If `capacity` is 0, a kernel is
    /// compiled each time it runs.
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity, entries: Mutex::default() }
    }

    /// Returns the number of pipelines.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Returns true if the cache is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Drops all pipelines. Work that is encoded or running is not affected.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// Returns the pipeline of a kernel. If the cache does not have it, the kernel is compiled; the
    /// cache is not locked in the meantime.
    pub(super) fn pipeline(
        &self,
        device: &wgpu::Device,
        kernel: &Kernel,
        sizes: &BindingSizes,
        driver_cache: Option<&wgpu::PipelineCache>,
    ) -> Result<Arc<Pipeline>, GpuError> {
        let key = kernel.key();
        let same = |entry: &CachedPipeline| entry.key == *key;
        if let Some(pipeline) = touch(&mut self.lock(), same) {
            return Ok(pipeline);
        }
        let pipeline = Arc::new(Pipeline::new(device, kernel, sizes, driver_cache)?);
        if self.capacity == 0 {
            return Ok(pipeline);
        }
        let mut entries = self.lock();
        // Another thread may have compiled the kernel in the meantime.
        if let Some(earlier) = touch(&mut entries, same) {
            return Ok(earlier);
        }
        if entries.len() >= self.capacity {
            entries.remove(0);
        }
        entries.push(CachedPipeline { key: key.clone(), pipeline: Arc::clone(&pipeline) });
        Ok(pipeline)
    }

    /// Locks the list. The list is valid even after a panic, because each change of it is a single
    /// step.
    fn lock(&self) -> MutexGuard<'_, Vec<CachedPipeline>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the pipeline of an entry and moves the entry to the end of the list, as the most
/// recently used. Returns `None` if there is no such entry.
fn touch(
    entries: &mut [CachedPipeline],
    same: impl Fn(&CachedPipeline) -> bool,
) -> Option<Arc<Pipeline>> {
    let at = entries.iter().rposition(same)?;
    entries[at..].rotate_left(1);
    entries.last().map(|entry| Arc::clone(&entry.pipeline))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_debug_text_is_one_line() {
        let cache = PipelineCache::new(4);
        assert_eq!(format!("{cache:?}"), "PipelineCache { capacity: 4, len: 0, .. }");
    }
}
