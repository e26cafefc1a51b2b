//! A cache of compute pipelines, so that a kernel that runs again is not compiled again.

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::GpuError;
use super::check::BindingSizes;
use super::pipeline::Pipeline;
use crate::wgsl::Kernel;

/// The pipelines of the kernels run last, the least recently used dropped first.
///
/// A kernel is recognised by its whole text, its entry point, the sizes of its bindings and whether it has a proof. A cache belongs to one
/// device, because wgpu gives objects of different instances the same identity and cannot tell them apart: it comes
/// with a [`Gpu`](super::Gpu) and is shared by that one's clones. It may be used from many threads.
pub struct PipelineCache {
    capacity: usize,
    hasher: RandomState,
    entries: Mutex<Vec<Cached>>,
}

/// The most recently used entry is the last.
struct Cached {
    fingerprint: u64,
    wgsl: String,
    entry_point: String,
    sizes: BindingSizes,
    proved: bool,
    pipeline: Arc<Pipeline>,
}

/// The capacity and the number of pipelines; the kernels' texts would fill pages.
impl fmt::Debug for PipelineCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PipelineCache")
            .field("capacity", &self.capacity)
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

impl PipelineCache {
    /// Pipelines kept by a cache that is made without saying how many.
    pub const DEFAULT_CAPACITY: usize = 256;

    /// A cache of at most `capacity` pipelines; with 0, each kernel is compiled every time.
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity, hasher: RandomState::new(), entries: Mutex::default() }
    }

    /// The most pipelines kept.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The pipelines kept now.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether none is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Drops all pipelines. What is encoded or running keeps its own.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// The kernel's pipeline, compiled if it is not there. The cache is not locked while it compiles.
    pub(super) fn pipeline(
        &self,
        device: &wgpu::Device,
        kernel: &Kernel,
        sizes: &BindingSizes,
    ) -> Result<Arc<Pipeline>, GpuError> {
        // A proved kernel's pipeline has no run-time checks: a kernel without proof never shares it, whatever its text.
        let proved = kernel.proof().is_some();
        let fingerprint = self.hasher.hash_one((&kernel.wgsl, &kernel.entry_point, sizes, proved));
        let same = |entry: &Cached| {
            entry.fingerprint == fingerprint
                && entry.proved == proved
                && entry.sizes == *sizes
                && entry.entry_point == kernel.entry_point
                && entry.wgsl == kernel.wgsl
        };
        if let Some(pipeline) = touch(&mut self.lock(), same) {
            return Ok(pipeline);
        }
        let pipeline = Arc::new(Pipeline::new(device, kernel, sizes)?);
        if self.capacity == 0 {
            return Ok(pipeline);
        }
        let mut entries = self.lock();
        // Another thread may have compiled the same kernel meanwhile.
        if let Some(earlier) = touch(&mut entries, same) {
            return Ok(earlier);
        }
        if entries.len() >= self.capacity {
            entries.remove(0);
        }
        entries.push(Cached {
            fingerprint,
            wgsl: kernel.wgsl.clone(),
            entry_point: kernel.entry_point.clone(),
            sizes: sizes.clone(),
            proved,
            pipeline: Arc::clone(&pipeline),
        });
        Ok(pipeline)
    }

    /// A panic elsewhere leaves the list whole: entries go in and out in one step.
    fn lock(&self) -> MutexGuard<'_, Vec<Cached>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Finds an entry and makes it the most recent.
fn touch(entries: &mut [Cached], same: impl Fn(&Cached) -> bool) -> Option<Arc<Pipeline>> {
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
