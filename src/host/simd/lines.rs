//! Transposes matrices in squares of whole cache lines, for example 64 by 64 units of one byte.
//! Also transposes units that take more bytes in registers than in memory.
//!
//! Smaller squares are slow if rows or columns are a power of two apart, because these then share
//! few sets of the first-level cache. If such a row were read 16 bytes at a time, its line would be
//! evicted before the other bytes are needed. The line of a column would be evicted between two
//! partial writes in the same way. Here, each line is loaded only once, and consecutive squares lie
//! along the same columns. In long matrices, all squares except the first start at cache-line
//! boundaries in the source and in the destination, if the alignment of rows and columns permits
//! it.
#![allow(unsafe_code)] // Register loads and stores take pointers.

use std::arch::x86_64::{
    __m512i, _mm512_mask_storeu_epi8, _mm512_maskz_loadu_epi8, _mm512_permutexvar_epi8,
    _mm512_shuffle_i32x4,
};

use super::{
    super::{
        machine::Machine,
        stream::{LINE, prefetch},
    },
    transpose::Inner,
    x86::{high_64, lanes_64, low_64, permute_64, whole_64, write_64},
};

/// The minimum number of squares along a side for which all squares except the first are aligned to
/// cache lines. Alignment costs one additional square, which is too large a part of a shorter side.
/// A higher limit would leave more squares that cross lines. Other values have not been recorded.
const LONG_SIDE: usize = 8;

/// Transposes a matrix of `columns` columns in squares of whole cache lines. Units have `N` bytes,
/// and `E` units fill 16 bytes. `rows` holds the offset of each row from `from`; each column is
/// written from its byte `at`. The rows and the lines of columns that belong to the next square are
/// prefetched if `machine` prefers this.
///
/// # Safety
///
/// There are at least `4 * E` rows and columns; every row may be read and every column written as a
/// whole.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(super) unsafe fn transpose_lines<const N: usize, const E: usize, const INNER: bool>(
    inner: &Inner,
    from: *const u8,
    (rows, machine): (&[isize], &Machine),
    at: usize,
    columns: usize,
    start: impl Fn(usize) -> *mut u8,
) {
    // SAFETY: a table has the 16 bytes of a lane.
    let table = unsafe { lanes_64(|_| inner.as_ptr()) };
    let edge = 4 * E;
    let place = |row: &isize| from.wrapping_offset(*row);
    let reads = SquareStarts::new(columns, edge, N, rows.iter().map(|row| place(row).addr()));
    let starts = (0..columns).map(|column| start(column).addr().wrapping_add(at));
    let writes = SquareStarts::new(rows.len(), edge, N, starts);
    let mut column = Some(0);
    while let Some(first) = column {
        let mut to: [*mut u8; LINE] = [start(first).wrapping_add(at); LINE];
        for (number, to) in to[..edge].iter_mut().enumerate() {
            *to = start(first + number).wrapping_add(at);
        }
        let mut row = Some(0);
        while let Some(top) = row {
            row = writes.next(top);
            if let Some(next) = row.filter(|_| machine.prefetches_rows) {
                for row in &rows[next..next + edge] {
                    prefetch(place(row).wrapping_add(first * N));
                }
            }
            if machine.prefetches_columns {
                // The first bytes of the next square are in lines that this square writes, unless
                // it is the first one of other columns.
                if let Some(next) = row {
                    for to in &to[..edge] {
                        prefetch(to.wrapping_add(next * N + LINE - 1));
                    }
                } else if let Some(next) = reads.next(first) {
                    for number in next..next + edge {
                        let to = start(number).wrapping_add(at);
                        prefetch(to);
                        prefetch(to.wrapping_add(LINE - 1));
                    }
                }
            }
            let lines = &rows[top..top + edge];
            // SAFETY: the square lies inside the caller's matrix.
            unsafe {
                let read = |line: usize| whole_64(|_| place(&lines[line]).wrapping_add(first * N));
                square_of_lines::<N, E, INNER>(table, read, |column, bytes| {
                    write_64(to[column].add(top * N), bytes);
                });
            }
        }
        column = reads.next(first);
    }
}

/// Transposes a matrix of `columns` columns of units of `unit` bytes, less than 16 and not a power
/// of two. In registers, a unit takes a *field* of `N` bytes, the next power of two, and `E` fields
/// take 16 bytes. The other arguments are those of [`transpose_lines`].
///
/// ```text
/// units of 3 bytes, fields of 4:  aaabbbccc… → aaa·bbb·ccc·… → aaa·ddd·ggg·… → aaadddggg…
/// ```
///
/// # Safety
///
/// As for [`transpose_lines`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(super) unsafe fn transpose_fields<const N: usize, const E: usize>(
    unit: usize,
    from: *const u8,
    (rows, machine): (&[isize], &Machine),
    at: usize,
    columns: usize,
    start: impl Fn(usize) -> *mut u8,
) {
    let edge = 4 * E;
    let of_field: [u8; 64] =
        std::array::from_fn(|byte| (byte / N * unit + (byte % N).min(unit - 1)) as u8);
    // The permutation ignores the high bits of indexes past the last unit.
    let of_unit: [u8; 64] = std::array::from_fn(|byte| (byte / unit * N + byte % unit) as u8);
    // SAFETY: both arrays have the length of a register.
    let [of_field, of_unit] =
        [of_field, of_unit].map(|table| unsafe { whole_64(|_| table.as_ptr()) });
    let row_bytes = u64::MAX >> (64 - edge * unit);
    let squares = |count| SquareStarts { count, edge, gap: 0 };
    let (reads, writes) = (squares(columns), squares(rows.len()));
    let mut column = Some(0);
    while let Some(first) = column {
        column = reads.next(first);
        let mut row = Some(0);
        while let Some(top) = row {
            row = writes.next(top);
            let (next, below) = if row.is_some() { (Some(first), row) } else { (column, Some(0)) };
            if machine.prefetches_columns
                && let (Some(next), Some(below)) = (next, below)
            {
                for number in next..next + edge {
                    prefetch(start(number).wrapping_add(at + below * unit + edge * unit - 1));
                }
            }
            let lines = &rows[top..top + edge];
            // SAFETY: the square lies inside the caller's matrix, and masks exclude other bytes.
            unsafe {
                square_of_lines::<N, E, false>(
                    of_field,
                    |line| {
                        let place = from.wrapping_offset(lines[line]).wrapping_add(first * unit);
                        let row = _mm512_maskz_loadu_epi8(row_bytes, place.cast());
                        _mm512_permutexvar_epi8(of_field, row)
                    },
                    |column, bytes| {
                        let to = start(first + column).wrapping_add(at + top * unit);
                        let bytes = _mm512_permutexvar_epi8(of_unit, bytes);
                        _mm512_mask_storeu_epi8(to.cast(), row_bytes, bytes);
                    },
                );
            }
        }
    }
}

/// The squares along one side of a matrix, each given by the index of its first row or column.
struct SquareStarts {
    count: usize,
    edge: usize,
    /// The number of units before the first cache-line boundary, if the side is long and all rows
    /// or columns along it have the same alignment; 0 otherwise.
    gap: usize,
}

impl SquareStarts {
    /// Returns the squares of `edge` units along rows or columns of `count` units. A unit has
    /// `unit` bytes; `lines` holds the address of the first byte of each row or column.
    fn new(count: usize, edge: usize, unit: usize, mut lines: impl Iterator<Item = usize>) -> Self {
        let first = lines.next().unwrap_or(0);
        let gap = first.wrapping_neg() % LINE;
        let is_long = count >= LONG_SIDE * edge && gap.is_multiple_of(unit);
        // No early exit, so that the loop is vectorized.
        let alike = || lines.fold(0, |other, line| other | (line ^ first)) % LINE == 0;
        Self { count, edge, gap: if is_long && alike() { gap / unit } else { 0 } }
    }

    /// Returns the first unit of the square that follows the one at unit `first`, or `None` after
    /// the last square. The second and the last square may overlap the square before them.
    fn next(&self, first: usize) -> Option<usize> {
        let next = if first == 0 && self.gap > 0 { self.gap } else { first + self.edge };
        (first + self.edge < self.count).then(|| next.min(self.count - self.edge))
    }
}

/// Transposes a square of `4 * E` by `4 * E` units of `N` bytes, so 64 bytes of each of `4 * E`
/// rows. `read` returns the bytes of a row; `write` receives each column's index and bytes. If
/// `INNER` is set, `table` permutes the bytes of each unit.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(super) fn square_of_lines<const N: usize, const E: usize, const INNER: bool>(
    table: __m512i,
    read: impl Fn(usize) -> __m512i,
    mut write: impl FnMut(usize, __m512i),
) {
    let mut quarters = [[table; E]; 4];
    for (number, quarter) in quarters.iter_mut().enumerate() {
        let rows: [__m512i; E] = std::array::from_fn(|line| {
            let row = read(number * E + line);
            if INNER { permute_64(row, table) } else { row }
        });
        *quarter = turn!(low_64, high_64, N, E, rows);
    }
    let [first, second, third, last] = &quarters;
    for number in 0..E {
        let lanes = turned([first[number], second[number], third[number], last[number]]);
        for (lane, bytes) in lanes.into_iter().enumerate() {
            write(lane * E + number, bytes);
        }
    }
}

/// Transposes four registers as a matrix of 16-byte lanes: lane `n` of result `m` is lane `m` of
/// argument `n`.
#[inline]
#[target_feature(enable = "avx512f")]
fn turned([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    let (low, high) = (_mm512_shuffle_i32x4::<0x44>(a, b), _mm512_shuffle_i32x4::<0xee>(a, b));
    let (low_2, high_2) = (_mm512_shuffle_i32x4::<0x44>(c, d), _mm512_shuffle_i32x4::<0xee>(c, d));
    [
        _mm512_shuffle_i32x4::<0x88>(low, low_2),
        _mm512_shuffle_i32x4::<0xdd>(low, low_2),
        _mm512_shuffle_i32x4::<0x88>(high, high_2),
        _mm512_shuffle_i32x4::<0xdd>(high, high_2),
    ]
}

#[cfg(test)]
mod tests {
    use super::SquareStarts;

    #[test]
    fn squares_begin_at_a_line_if_all_sides_do() {
        let gap = |count, unit, lines: [usize; 3]| {
            SquareStarts::new(count, 16, unit, lines.into_iter()).gap
        };
        assert_eq!(gap(1000, 1, [5, 69, 133]), 59);
        assert_eq!(gap(1000, 1, [64, 128, 0]), 0);
        assert_eq!(gap(1000, 1, [5, 69, 70]), 0);
        assert_eq!(gap(1000, 4, [8, 72, 136]), 14);
        assert_eq!(gap(1000, 4, [5, 69, 133]), 0);
        assert_eq!(gap(16, 1, [5, 69, 133]), 0);
    }
}
