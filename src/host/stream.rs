//! Non-temporal stores, called *streaming* here, and prefetches.
//!
//! An ordinary store first reads the cache line that it changes. A non-temporal store of a whole
//! line does not read, and leaves the cache to other data. If the destination does not fit the
//! cache anyway, this saves a third of the memory traffic.
#![allow(unsafe_code)] // The intrinsics take pointers.

/// The size of a cache line, in bytes.
pub(super) const LINE: usize = 64;

/// The size of a page, in bytes.
pub(super) const PAGE: usize = 1 << 12;

/// The permission to use non-temporal stores. Only [`streaming`] creates it, because that function
/// ends with the fence that such stores need.
pub(super) struct Stream(());

/// Calls `each` with a [`Stream`], and then executes a fence, so that other threads see the
/// non-temporal stores of `each`.
pub(super) fn streaming(each: impl FnOnce(&Stream)) {
    each(&Stream(()));
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a fence has no precondition; SSE is part of x86-64.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

#[expect(clippy::unused_self, reason = "a stream is the right to leave writes unfenced")]
impl Stream {
    /// Copies `source` to `destination`, which must be equally long. Whole cache lines of the
    /// destination get non-temporal stores, and its ends ordinary ones.
    #[inline]
    pub(super) fn copy(&self, destination: &mut [u8], source: &[u8]) {
        let gap = destination.as_ptr().addr().wrapping_neg() % LINE;
        if gap == 0 && destination.len().is_multiple_of(LINE) {
            return copy_lines(destination, source);
        }
        let head = gap.min(destination.len());
        let (first, destination) = destination.split_at_mut(head);
        let (source_first, source) = source.split_at(head);
        copy_small(first, source_first);
        let lines = destination.len() / LINE * LINE;
        copy_lines(&mut destination[..lines], &source[..lines]);
        copy_small(&mut destination[lines..], &source[lines..]);
    }

    /// Copies `N` bytes as [`Self::copy`] does, but faster if the destination is whole aligned
    /// lines.
    #[inline]
    pub(super) fn copy_chunk<const N: usize>(&self, destination: &mut [u8; N], source: &[u8; N]) {
        if destination.as_ptr().addr().is_multiple_of(LINE) && N.is_multiple_of(LINE) {
            copy_lines(destination, source);
        } else {
            self.copy(destination, source);
        }
    }

    /// Copies `run`, which is at least a cache line long, to byte `place` of `slice`. The run
    /// belongs to a sequence of runs that follow each other in the destination.
    ///
    /// A cache line that two runs share is written only once, together with the later run. `before`
    /// has the last 64 bytes of the previous run, if there is one. Bytes at the end of this run
    /// that do not fill a line are left to the next run, unless `last` is true.
    #[inline]
    pub(super) fn copy_run(
        &self,
        (slice, place): (&mut [u8], usize),
        run: &[u8],
        before: Option<&[u8; LINE]>,
        last: bool,
    ) {
        let held = slice.as_ptr().addr().wrapping_add(place) % LINE;
        let end = if last { run.len() } else { run.len() - (held + run.len()) % LINE };
        let mut start = 0;
        if let Some(before) = before.filter(|_| held > 0) {
            start = LINE - held;
            let mut both = [0; 2 * LINE];
            both[..LINE].copy_from_slice(before);
            both[LINE..].copy_from_slice(&run[..LINE]);
            let line = &mut slice[place - held..place + start];
            copy_lines(line, &both[start..start + LINE]);
        }
        self.copy(&mut slice[place + start..place + end], &run[start..end]);
    }
}

/// Copies whole lines to a destination that is aligned to a cache line.
#[inline]
fn copy_lines(destination: &mut [u8], source: &[u8]) {
    let lines = destination.as_chunks_mut::<LINE>().0;
    for (line, source) in lines.iter_mut().zip(source.as_chunks::<LINE>().0) {
        copy_line(line, source);
    }
}

/// Prefetches the cache line of `source[at]`. Does nothing if the index is out of range.
#[inline]
pub(super) fn prefetch_byte(source: &[u8], at: usize) {
    if let Some(byte) = source.get(at) {
        prefetch(byte);
    }
}

/// Prefetches the cache line at an address. The address may be outside of any allocation.
#[inline(always)]
pub(super) fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint; SSE is part of x86-64.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Copies less than a line, 16 bytes at a time. This is the size of the smallest registers from
/// which squares are written to a tile buffer.
#[inline]
fn copy_small(destination: &mut [u8], source: &[u8]) {
    let (pieces, last) = destination.as_chunks_mut::<16>();
    let (source_pieces, source_last) = source.as_chunks::<16>();
    for (piece, source) in pieces.iter_mut().zip(source_pieces) {
        *piece = *source;
    }
    for (byte, source) in last.iter_mut().zip(source_last) {
        *byte = *source;
    }
}

/// Copies one cache line with non-temporal stores. The destination must be aligned to a line; the
/// source need not be.
#[cfg(target_arch = "x86_64")]
#[expect(
    clippy::cast_ptr_alignment,
    reason = "a destination is a line's start; sources are loaded unaligned"
)]
#[inline]
fn copy_line(line: &mut [u8; LINE], source: &[u8; LINE]) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
    let (to, from) = (line.as_mut_ptr().cast::<__m128i>(), source.as_ptr().cast::<__m128i>());
    debug_assert!(to.addr() % LINE == 0);
    for piece in 0..4 {
        // SAFETY: both arrays hold four pieces; `copy` begins its lines at a multiple of 64;
        // `streaming` fences.
        unsafe { _mm_stream_si128(to.add(piece), _mm_loadu_si128(from.add(piece))) };
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn copy_line(line: &mut [u8; LINE], source: &[u8; LINE]) {
    *line = *source;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_follow_each_other_share_their_lines() {
        let source: Vec<u8> = (0..=250).cycle().take(2000).collect();
        for start in 0..70 {
            for length in (64..200).chain([500]) {
                let mut out = vec![0xa5; 1700];
                // The runs are three bytes apart in the source; only the first run begins and only
                // the last run ends inside a line.
                let run = |number: usize| &source[number * (length + 3)..][..length];
                streaming(|stream| {
                    for number in 0..3_usize {
                        let before = number
                            .checked_sub(1)
                            .map(|before| run(before).last_chunk().expect("a line"));
                        let to = (&mut out[..], start + number * length);
                        stream.copy_run(to, run(number), before, number == 2);
                    }
                });
                let end = start + 3 * length;
                assert_eq!(out[start..end], [run(0), run(1), run(2)].concat());
                assert!(out[..start].iter().chain(&out[end..]).all(|&b| b == 0xa5));
            }
        }
    }

    #[test]
    fn copies_every_byte_and_no_other() {
        let source: Vec<u8> = (0..=255).cycle().take(700).collect();
        for start in 0..70 {
            for length in (0..140).chain([500, 513]) {
                let mut out = vec![0xa5; 700];
                streaming(|stream| {
                    stream.copy(&mut out[start..start + length], &source[3..3 + length]);
                });
                assert_eq!(out[start..start + length], source[3..3 + length]);
                assert!(out[..start].iter().chain(&out[start + length..]).all(|&b| b == 0xa5));
            }
        }
    }
}
