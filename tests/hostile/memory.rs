//! Counts what the test binary allocates.
#![allow(unsafe_code)] // an allocator is unsafe; this one hands everything on

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

/// The system's allocator, counted.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn grow(bytes: usize) {
    PEAK.fetch_max(NOW.fetch_add(bytes, Relaxed) + bytes, Relaxed);
}

// SAFETY: every call goes to the system's allocator with the arguments that were given.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller keeps `dealloc`'s contract.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Where it moves, both are there at once.
        grow(size);
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller keeps `realloc`'s contract.
        unsafe { System.realloc(memory, layout, size) }
    }
}

/// The most bytes that were allocated at a time while `work` ran, beyond what was there before. All threads count.
pub(crate) fn peak(work: impl FnOnce()) -> usize {
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    work();
    PEAK.load(Relaxed).saturating_sub(before)
}
