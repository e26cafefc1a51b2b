//! An allocator that counts the bytes that are in use.
//!
//! Functions that use only the calling thread are tested in parallel, and each of these threads has
//! its own counters. Parsers that start threads are tested one at a time, with counters that all
//! other threads share.
#![allow(unsafe_code)] // an allocator is unsafe; this one hands everything on

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    sync::atomic::{AtomicIsize, Ordering::Relaxed},
};

/// The system's allocator, which counts the bytes in use.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The number of bytes in use and its peak, for all threads without their own counters.
static SHARED: (AtomicIsize, AtomicIsize) = (AtomicIsize::new(0), AtomicIsize::new(0));

/// The number of bytes in use and its peak, for one thread.
#[derive(Clone, Copy)]
struct Counters {
    now: isize,
    peak: isize,
}

thread_local! {
    static OWN: Cell<Option<Counters>> = const { Cell::new(None) };
}

fn grow(bytes: usize) {
    let bytes = bytes.cast_signed();
    if let Some(Counters { now, peak }) = OWN.get() {
        OWN.set(Some(Counters { now: now + bytes, peak: peak.max(now + bytes) }));
    } else {
        SHARED.1.fetch_max(SHARED.0.fetch_add(bytes, Relaxed) + bytes, Relaxed);
    }
}

fn shrink(bytes: usize) {
    let bytes = bytes.cast_signed();
    if let Some(Counters { now, peak }) = OWN.get() {
        OWN.set(Some(Counters { now: now - bytes, peak }));
    } else {
        SHARED.0.fetch_sub(bytes, Relaxed);
    }
}

// SAFETY: every call goes to the system's allocator with the arguments that were given.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        shrink(layout.size());
        // SAFETY: the caller keeps `dealloc`'s contract.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // While an allocation is moved, the old and the new one are both in use.
        grow(size);
        shrink(layout.size());
        // SAFETY: the caller keeps `realloc`'s contract.
        unsafe { System.realloc(memory, layout, size) }
    }
}

/// Gives the calling thread its own counters until it ends.
pub(crate) fn count_this_thread() {
    OWN.set(Some(Counters { now: 0, peak: 0 }));
}

/// Returns the peak number of bytes in use while `work` runs, minus the number before.
pub(crate) fn peak(work: impl FnOnce()) -> usize {
    let peak = if let Some(Counters { now, .. }) = OWN.get() {
        OWN.set(Some(Counters { now, peak: now }));
        work();
        OWN.get().map_or(0, |own| own.peak) - now
    } else {
        let before = SHARED.0.load(Relaxed);
        SHARED.1.store(before, Relaxed);
        work();
        SHARED.1.load(Relaxed) - before
    };
    usize::try_from(peak).unwrap_or(0)
}
