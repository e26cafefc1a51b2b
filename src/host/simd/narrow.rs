//! Transposes matrices in which 16 bytes hold more units than there are rows or columns, for
//! example to convert pixels of 9 to 15 bytes to planes and back.
//!
//! A square is transposed as if it were full. Masks restrict its loads and stores to the matrix.
#![allow(unsafe_code)] // Register loads and stores take pointers.

use std::arch::x86_64::{
    __m512i, _mm_mask_storeu_epi8, _mm_maskz_loadu_epi8, _mm512_castsi128_si512,
    _mm512_extracti32x4_epi32, _mm512_inserti32x4, _mm512_mask_storeu_epi8,
    _mm512_maskz_loadu_epi8,
};

use super::{
    transpose::{Inner, read_bytes},
    x86::{high_64, lanes_64, low_64, permute_64},
};

/// Transposes a matrix of fewer than `E` rows and `columns` columns. Units have `N` bytes, and `E`
/// units fill 16 bytes. `rows` holds the offset of each row from `from`; each column is written
/// from its byte `at`.
///
/// # Safety
///
/// There is at least one row, and there are fewer than `E` rows; every row may be read and every
/// column written as a whole.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
pub(super) unsafe fn transpose_few_rows<const N: usize, const E: usize, const INNER: bool>(
    inner: &Inner,
    from: *const u8,
    rows: &[isize],
    at: usize,
    columns: usize,
    start: impl Fn(usize) -> *mut u8,
) {
    // SAFETY: a table has the 16 bytes of a lane.
    let table = unsafe { lanes_64(|_| inner.as_ptr()) };
    let written = !(!0 << (rows.len() * N));
    for first in (0..columns).step_by(4 * E) {
        let here = (columns - first).min(4 * E);
        let read = u64::MAX >> (64 - if INNER { read_bytes(inner, here * N) } else { here * N });
        let mut square = [table; E];
        for (line, register) in square.iter_mut().enumerate() {
            // Rows past the last one are masked out of the store.
            let row = rows.get(line).unwrap_or(&rows[0]);
            let place = from.wrapping_offset(*row).wrapping_add(first * N);
            // SAFETY: the mask selects bytes of a row, which the caller allows to be read as a
            // whole.
            *register = unsafe { _mm512_maskz_loadu_epi8(read, place.cast()) };
            if INNER {
                *register = permute_64(*register, table);
            }
        }
        let square = turn!(low_64, high_64, N, E, square);
        // Column `lane * E + number` is in lane `lane` of register `number`.
        macro_rules! write_lane {
            ($lane:literal) => {
                for (number, &register) in square.iter().enumerate() {
                    let column = first + $lane * E + number;
                    if column < columns {
                        let bytes = _mm512_extracti32x4_epi32::<$lane>(register);
                        // SAFETY: the column belongs to the matrix, so the caller allows it to be
                        // written.
                        unsafe {
                            let to = start(column).wrapping_add(at);
                            _mm_mask_storeu_epi8(to.cast(), written, bytes);
                        }
                    }
                }
            };
        }
        write_lane!(0);
        write_lane!(1);
        write_lane!(2);
        write_lane!(3);
    }
}

/// Transposes a matrix of fewer than `E` columns and any number of rows. The parameters are those
/// of [`transpose_few_rows`].
///
/// # Safety
///
/// There is at least one row and one column, and there are fewer than `E` columns; every row may be
/// read and every column written as a whole.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
pub(super) unsafe fn transpose_few_columns<const N: usize, const E: usize, const INNER: bool>(
    inner: &Inner,
    from: *const u8,
    rows: &[isize],
    at: usize,
    columns: usize,
    start: impl Fn(usize) -> *mut u8,
) {
    // SAFETY: a table has the 16 bytes of a lane.
    let table = unsafe { lanes_64(|_| inner.as_ptr()) };
    let length = if INNER { read_bytes(inner, columns * N) } else { columns * N };
    let read = u16::MAX >> (16 - length);
    for (number, rows) in rows.chunks(4 * E).enumerate() {
        let last = rows.len() - 1;
        let load = |line: usize, lane: usize| {
            // Rows past the last one are masked out of the store.
            let place = from.wrapping_offset(rows[(lane * E + line).min(last)]);
            // SAFETY: the mask selects bytes of a row, which the caller allows to be read as a
            // whole.
            unsafe { _mm_maskz_loadu_epi8(read, place.cast()) }
        };
        let mut square = [table; E];
        for (line, register) in square.iter_mut().enumerate() {
            let first = _mm512_castsi128_si512(load(line, 0));
            let two = _mm512_inserti32x4::<1>(first, load(line, 1));
            let three = _mm512_inserti32x4::<2>(two, load(line, 2));
            *register = _mm512_inserti32x4::<3>(three, load(line, 3));
            if INNER {
                *register = permute_64(*register, table);
            }
        }
        let square: [__m512i; E] = turn!(low_64, high_64, N, E, square);
        let written = u64::MAX >> (64 - rows.len() * N);
        for (column, &bytes) in square.iter().enumerate() {
            if column < columns {
                // SAFETY: the column belongs to the matrix, so the caller allows it to be written.
                unsafe {
                    let to = start(column).wrapping_add(at + number * 64);
                    _mm512_mask_storeu_epi8(to.cast(), written, bytes);
                }
            }
        }
    }
}
