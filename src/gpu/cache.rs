//! [`PipelineCache`]: keeps compiled pipelines, so that a kernel that runs again is not compiled
//! again.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::GpuError;
use super::check::BindingSizes;
use super::pipeline::Pipeline;
use crate::wgsl::{Kernel, KernelKey};

/// The most recently used pipelines of a device. A full cache drops the least recently used
/// pipeline to make room for a new one.
///
/// The key of a pipeline is [`Kernel::key`], so kernels that differ only in their comments share a
/// pipeline. A cache serves only one device, because objects of different wgpu instances may have
/// equal identifiers. The clones of a [`Gpu`](super::Gpu) use the same cache, even on different
/// threads.
pub struct PipelineCache {
    capacity: usize,
    entries: Mutex<Vec<CachedPipeline>>,
}

/// A pipeline and its key. In the list of entries, the most recently used one is last.
struct CachedPipeline {
    key: KernelKey,
    pipeline: Arc<Pipeline>,
}

/// Prints the capacity and the number of pipelines only, because the texts of the kernels would
/// fill pages.
impl fmt::Debug for PipelineCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PipelineCache")
            .field("capacity", &self.capacity)
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

impl PipelineCache {
    /// The capacity, in pipelines, of a cache for which the embedder sets none.
    pub(super) const DEFAULT_CAPACITY: usize = 256;

    /// Creates a cache that keeps at most `capacity` pipelines. If `capacity` is 0, a kernel is
    /// compiled each time it runs.
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity, entries: Mutex::default() }
    }

    /// Returns the number of pipelines in the cache.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Returns true if the cache is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Drops all pipelines. Work that uses them, and is already encoded or running, is not
    /// affected.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// Returns the pipeline of a kernel, which is compiled if the cache does not contain it. The
    /// cache is not locked during the compilation, so that other threads can use it.
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
        // Another thread may have compiled the same kernel since the first search.
        if let Some(earlier) = touch(&mut entries, same) {
            return Ok(earlier);
        }
        if entries.len() >= self.capacity {
            entries.remove(0);
        }
        entries.push(CachedPipeline { key: key.clone(), pipeline: Arc::clone(&pipeline) });
        Ok(pipeline)
    }

    /// Locks the list of pipelines. After a panic of another thread the list is still valid,
    /// because each change of it is a single step.
    fn lock(&self) -> MutexGuard<'_, Vec<CachedPipeline>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Finds an entry and moves it to the end of the list, because it is now the most recently used
/// one. Returns its pipeline, or `None` if there is no such entry.
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
