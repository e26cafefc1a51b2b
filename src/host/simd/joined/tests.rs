//! Tests matrices whose columns begin at every byte of a cache line.

use super::*;
use crate::host::stream::streaming;

/// Tests columns in one slice and in several, with and without a permutation in units, with and
/// without remaining rows.
#[test]
fn columns_that_begin_anywhere_are_written_and_nothing_else() {
    let Some(simd) = Simd::here().filter(|simd| simd.joins_lines()) else { return };
    let source: Vec<u8> = (0..80_000_u32).map(|n| ((n * 167) >> 3) as u8).collect();
    for unit in [1, 2, 4, 8, 16] {
        let (edge, height) = (16 / unit, LINE / unit);
        let turned: Inner = std::array::from_fn(|byte| (byte ^ (unit - 1)) as u8);
        let inner = (unit > 1).then_some(&turned);
        for (rows, count, slices, page) in [height, height + 1, 2 * height, 5 * height - 1]
            .into_iter()
            .flat_map(|rows| [edge, edge + 1, 37, 70].map(|count| (rows, count, 1 + count % 3)))
            .flat_map(|(rows, count, of)| [false, true].map(|page| (rows, count, of, page)))
        {
            let (length, each) = (rows * unit, count.div_ceil(slices));
            // Also test columns that are whole pages apart.
            let pitch = if page { 1 << 12 } else { length + 5 };
            let mut out = vec![0xa5; each * slices * pitch];
            let mut expected = out.clone();
            let read = count * unit + 3;
            let from: Vec<isize> = (0..rows).map(|row| (row * read).cast_signed()).collect();
            let to: Vec<isize> = (0..count)
                .map(|of| ((of / each) << 20 | (of % each * pitch + 2)).cast_signed())
                .collect();
            let pieces = out.chunks_exact_mut(each * pitch);
            let mut columns = ColumnPointers::new(pieces, 20, 0, &to, length).unwrap();
            let (given, few) = ((source.as_slice(), 5, from.as_slice()), vec![0; count * LINE - 1]);
            streaming(|stream| {
                let (of, mut few, mut held) = ((unit, inner), few, vec![0; count * LINE]);
                let end = 5 + (rows - 1) * read + count * unit;
                let given = (&source[..end], given.1, given.2);
                assert!(!simd.stream_joined(of, given, (&mut columns, &mut few), stream));
                let short = (given.0, given.1, &from[..height - 1]);
                assert!(!simd.stream_joined(of, short, (&mut columns, &mut held), stream));
                let short = (&source[..end - 1], given.1, given.2);
                assert!(!simd.stream_joined(of, short, (&mut columns, &mut held), stream));
                assert!(simd.stream_joined(of, given, (&mut columns, &mut held), stream));
            });
            for (row, column) in (0..rows).flat_map(|row| (0..count).map(move |of| (row, of))) {
                let place = column * pitch + 2 + row * unit;
                let given = 5 + row * read + column * unit;
                expected[place..place + unit].copy_from_slice(&source[given..given + unit]);
                expected[place..place + unit].reverse();
            }
            assert!(out == expected, "{unit}: {rows} by {count} in {slices}");
        }
    }
}
