//! Transposes matrices with non-temporal stores into columns that are not aligned to cache lines.
//!
//! A non-temporal store needs a whole line. Each line is therefore joined in a register, from bytes
//! that the previous rows left over in its column and from bytes of the new rows.
#![allow(unsafe_code)] // Register loads and stores take pointers.
#![cfg_attr(
    not(target_arch = "x86_64"),
    allow(unused, unreachable_patterns) // There is no instruction set, and nothing to call.
)]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    _mm512_loadu_si512, _mm512_mask_storeu_epi8, _mm512_maskz_loadu_epi8, _mm512_permutex2var_epi8,
    _mm512_setzero_si512,
};

use super::{
    super::stream::{LINE, Stream, prefetch},
    columns::{ColumnPointers, Starts},
    set::{Set, Simd},
    transpose::{Inner, inside},
};
#[cfg(target_arch = "x86_64")]
use super::{
    lines::square_of_lines,
    x86::{high_64, lanes_64, low_64, permute_64, stream_64, whole_64, write_64},
};

/// A table for permutations of two registers. The 64 entries from index `LINE - n` select the last
/// `n` bytes of the first register, followed by the first bytes of the second.
static PLACES: [u8; 2 * LINE] = {
    let (mut places, mut n) = ([0; 2 * LINE], 0);
    while n < 2 * LINE {
        places[n] = n as u8;
        n += 1;
    }
    places
};

/// The number of lines of a column that are streamed together if columns start whole pages apart,
/// so that each line of the source is loaded once. In a version in C, `bf16[2048,2049]` has 20 GB/s
/// with single lines, 23 with two and 22 to 30 with four (git history of `benches/NOTES.md`).
const LINES_AT_ONCE: usize = 4;

/// The largest unit size, in bytes, with which several lines of a column are streamed together.
/// Larger units gain nothing: in that version, `f32[4096,4096]` has 23 GB/s with single lines and
/// 16 with four, `f64[2048,2048]` 25 and 26 (git history of `benches/NOTES.md`, at
/// `bf16[2048,2049]`).
pub(in crate::host) const SHORT_UNIT: usize = 2;

impl Simd {
    /// Returns true if [`Self::stream_joined`] is implemented for this instruction set.
    pub(in crate::host) fn joins_lines(self) -> bool {
        match self.set {
            #[cfg(target_arch = "x86_64")]
            Set::Avx512Vbmi => true,
            _ => false,
        }
    }

    /// Transposes a matrix as [`Self::transpose`] does, but writes from the start of the columns,
    /// with non-temporal stores for all whole cache lines. `held` is scratch memory of one cache
    /// line for each column.
    ///
    /// Returns false and writes nothing if the instruction set does not [support
    /// this](Self::joins_lines), if the matrix has fewer columns than there are units in 16 bytes,
    /// if its rows do not fill a cache line of each column, or if it does not lie inside the source
    /// and the columns.
    pub(in crate::host) fn stream_joined(
        self,
        (unit, inner): (usize, Option<&Inner>),
        (source, from, rows): (&[u8], isize, &[isize]),
        (columns, held): (&mut ColumnPointers, &mut [u8]),
        _: &Stream,
    ) -> bool {
        let count = columns.count;
        if !self.joins_lines()
            || count < 16 / unit
            || rows.len() * unit < LINE
            || held.len() < count * LINE
            || !inside(source, from, rows, count * unit)
            || !columns.hold(0, rows.len(), unit)
        {
            return false;
        }
        let from = source.as_ptr().wrapping_offset(from);
        let held = held.as_mut_ptr();
        // SAFETY: the set has the features; every row of the matrix lies inside the source and
        // every column inside the destination, and both are long enough; `held` has room for a line
        // of each column.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            by_unit!(self.join_units, unit, inner, from, rows, held, columns);
        }
        true
    }

    /// Calls [`join_columns`] with a function for the start of each column, compiled with or
    /// without a permutation.
    ///
    /// # Safety
    ///
    /// As for [`joined`], except that the features need not be enabled.
    #[cfg(target_arch = "x86_64")]
    #[expect(clippy::unused_self, reason = "the set is known to have the features")]
    unsafe fn join_units<const N: usize, const E: usize>(
        self,
        inner: Option<&Inner>,
        from: *const u8,
        rows: &[isize],
        held: *mut u8,
        columns: &ColumnPointers,
    ) {
        let plain = [0; 16];
        // SAFETY: the caller meets the requirements of `joined`, and `n` is the index of a column.
        unsafe {
            match inner {
                Some(inner) => by_starts!(columns, |column| {
                    join_columns::<N, E, true>(inner, from, rows, held, columns, column);
                }),
                None => by_starts!(columns, |column| {
                    join_columns::<N, E, false>(&plain, from, rows, held, columns, column);
                }),
            }
        }
    }
}

/// Transposes a matrix as [`joined`] does, strip by strip: a strip is the rows that fill a cache
/// line of each column. If units are short and columns start whole pages apart, [`blocks`]
/// transposes whole groups of strips first, and [`joined`] only the rest.
///
/// # Safety
///
/// As for [`joined`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
unsafe fn join_columns<const N: usize, const E: usize, const INNER: bool>(
    inner: &Inner,
    from: *const u8,
    rows: &[isize],
    held: *mut u8,
    columns: &ColumnPointers,
    start: impl Fn(usize) -> *mut u8,
) {
    let count = columns.count;
    // SAFETY: the caller meets the requirements of `joined`, which the functions called here share.
    unsafe {
        let in_blocks = N <= SHORT_UNIT && columns.are_pages_apart() && count >= 4 * E;
        let strips = if in_blocks {
            blocks::<N, E, INNER>(inner, from, rows, held, count, &start)
        } else {
            0
        };
        joined::<N, E, INNER>(inner, (from, rows), strips, held, count, start);
    }
}

/// Transposes the first strips of a matrix as [`joined`] does, but [`LINES_AT_ONCE`] strips at a
/// time, in blocks of 64 bytes of each row. If rows are nearly whole pages apart, their lines share
/// few sets of the first-level cache and evict each other. In such blocks, each line of the source
/// is still loaded only once, because it is used as a whole. Returns the number of strips that were
/// transposed.
///
/// # Safety
///
/// As for [`joined`]; there are at least `4 * E` columns.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
unsafe fn blocks<const N: usize, const E: usize, const INNER: bool>(
    inner: &Inner,
    from: *const u8,
    rows: &[isize],
    held: *mut u8,
    columns: usize,
    start: impl Fn(usize) -> *mut u8,
) -> usize {
    // SAFETY: a table has the 16 bytes of a lane.
    let table = unsafe { lanes_64(|_| inner.as_ptr()) };
    let height = LINE / N;
    let mut block = [[_mm512_setzero_si512(); LINES_AT_ONCE]; LINE];
    let groups = rows.chunks_exact(LINES_AT_ONCE * height);
    let count = groups.len();
    for (group, rows) in groups.enumerate() {
        let (mut column, mut done) = (0, 0);
        loop {
            for (line, rows) in rows.chunks_exact(height).enumerate() {
                // SAFETY: the block lies inside the caller's matrix.
                let read = |row: usize| unsafe {
                    whole_64(|_| from.wrapping_offset(rows[row]).wrapping_add(column * N))
                };
                square_of_lines::<N, E, INNER>(table, read, |column, bytes| {
                    block[column][line] = bytes;
                });
            }
            for (number, lines) in (column..).zip(&block[..4 * E]).skip(done - column) {
                // SAFETY: every line lies in its column, except that the first one may begin before
                // it; of that line, only the part inside the column is written.
                unsafe {
                    let (start, held) = (start(number), held.wrapping_add(number * LINE));
                    let place = start.addr() % LINE;
                    let places = _mm512_loadu_si512(PLACES.as_ptr().add(LINE - place).cast());
                    let to = start.wrapping_add(group * LINES_AT_ONCE * LINE).wrapping_sub(place);
                    if group == 0 {
                        _mm512_mask_storeu_epi8(start.cast(), !0 >> place, lines[0]);
                    } else {
                        let before = _mm512_loadu_si512(held.cast());
                        stream_64(to, _mm512_permutex2var_epi8(before, places, lines[0]));
                    }
                    for (line, pair) in lines.windows(2).enumerate() {
                        let joined = _mm512_permutex2var_epi8(pair[0], places, pair[1]);
                        stream_64(to.wrapping_add((line + 1) * LINE), joined);
                    }
                    write_64(held, lines[LINES_AT_ONCE - 1]);
                }
            }
            // The last block overlaps the previous one.
            done = column + 4 * E;
            if done == columns {
                break;
            }
            column = done.min(columns - 4 * E);
        }
    }
    count * LINES_AT_ONCE
}

/// Transposes a matrix from strip `first` on, and streams each whole cache line of its columns. A
/// strip consists of the rows that fill a cache line of each column. The matrix has `columns`
/// columns of units of `N` bytes, and `E` units fill 16 bytes. `rows` holds the offset of each row
/// from `from`.
///
/// The rows of a strip are read together, as in [`Simd::stream_transpose`], while the rows of the
/// next strip are prefetched.
///
/// # Safety
///
/// There are at least `E` columns, and enough rows to fill a cache line of a column. Every row may
/// be read and every column written as a whole. `held` has room for a line of each column; if
/// `first` is not 0, it contains the last line that the previous strip read for each column.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
unsafe fn joined<const N: usize, const E: usize, const INNER: bool>(
    inner: &Inner,
    (from, rows): (*const u8, &[isize]),
    first: usize,
    held: *mut u8,
    columns: usize,
    start: impl Fn(usize) -> *mut u8,
) {
    // SAFETY: a table has the 16 bytes of a lane.
    let table = unsafe { lanes_64(|_| inner.as_ptr()) };
    let height = LINE / N;
    let strips = rows.len() / height;
    let written = strips * LINE;
    let over = rows.len() - strips * height;
    let mut lines: [*const u8; LINE] = [from; LINE];
    // The remaining rows are the end of one more strip, whose first rows are written already.
    for strip in first..strips + usize::from(over > 0) {
        let first = (strip * height).min(rows.len() - height);
        for (line, offset) in lines.iter_mut().zip(&rows[first..first + height]) {
            *line = from.wrapping_offset(*offset);
        }
        let below = rows.get(first + height..first + 2 * height);
        let (mut column, mut done) = (0, 0);
        loop {
            if let Some(below) = below
                && column * N % LINE < E * N
            {
                for row in below {
                    prefetch(from.wrapping_offset(*row).wrapping_add(column * N));
                }
            }
            // SAFETY: the square's rows and columns are among the caller's; a line that is streamed
            // lies in its column, since a whole strip was written before it and this one follows.
            unsafe {
                let square: [_; E] = square!(
                    lanes_64,
                    low_64,
                    high_64,
                    permute_64,
                    N,
                    E,
                    table,
                    |line: usize, lane: usize| lines[lane * E + line].add(column * N)
                );
                let mut line = 0;
                while line < E {
                    let (number, bytes) = (column + line, square[line]);
                    let (start, held) = (start(number), held.wrapping_add(number * LINE));
                    let place = start.addr() % LINE;
                    if column + line < done {
                        // Written by the previous square.
                    } else if strip == strips {
                        let rest = !0 << (LINE - over * N);
                        _mm512_mask_storeu_epi8(start.add(first * N).cast(), rest, bytes);
                    } else {
                        if strip == 0 {
                            _mm512_mask_storeu_epi8(start.cast(), !0 >> place, bytes);
                        } else {
                            let places = PLACES.as_ptr().add(LINE - place);
                            let places = _mm512_loadu_si512(places.cast());
                            let before = _mm512_loadu_si512(held.cast());
                            let line = _mm512_permutex2var_epi8(before, places, bytes);
                            stream_64(start.add(strip * LINE).wrapping_sub(place), line);
                        }
                        write_64(held, bytes);
                    }
                    line += 1;
                }
            }
            // The last square overlaps the previous one.
            done = column + E;
            if done == columns {
                break;
            }
            column = done.min(columns - E);
        }
    }
    for number in 0..columns {
        let place = start(number).addr() % LINE;
        let some = (1 << place) - 1;
        // SAFETY: the last bytes of the held line are written to their place inside the column.
        unsafe {
            let rest = _mm512_maskz_loadu_epi8(some, held.add(number * LINE + LINE - place).cast());
            _mm512_mask_storeu_epi8(start(number).add(written - place).cast(), some, rest);
        }
    }
}

#[cfg(test)]
mod tests;
