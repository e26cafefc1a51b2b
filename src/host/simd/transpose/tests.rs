//! Tests matrices of every size around the registers, with every instruction set of this processor.

use super::*;
use crate::host::stream::streaming;

/// The shift of addresses if the destination is a single slice.
const SHIFT: u32 = isize::BITS - 2;

/// Tests every instruction set of this processor with matrices whose sides are around the size of
/// its registers. In every second matrix, the bytes of each unit are reversed.
#[test]
fn matrices_are_transposed_and_nothing_else_is_written() {
    let source: Vec<u8> = (0..60_000_u32).map(|n| ((n * 167) >> 3) as u8).collect();
    for (simd, unit) in
        Simd::all_with_every_machine().flat_map(|simd| [1, 2, 4, 8, 16].map(|unit| (simd, unit)))
    {
        let edge = 16 / unit;
        let turned: Inner = std::array::from_fn(|byte| (byte ^ (unit - 1)) as u8);
        let counts = [1, 3, 5, 7, 13, 15, edge, edge + 1, 37];
        for (rows, columns) in (1..70).flat_map(|rows| counts.map(|of| (rows, of))) {
            let inner = (rows % 2 == 0).then_some(&turned);
            let (read, write) = (columns * unit + 5, rows * unit + 3);
            let starts = |count: usize, pitch: usize| -> Vec<isize> {
                (0..count).map(|line| (line * pitch).cast_signed()).collect()
            };
            let (from, to) = (starts(rows, read), starts(columns, write));
            let mut out = vec![0xa5; 7 + columns * write];
            let runs = ColumnPointers::new([&mut out[..]], SHIFT, 7, &to, rows * unit);
            let mut runs = runs.expect("columns inside");
            let done = simd.transpose((unit, inner), (&source, 11, &from), (&mut runs, 0));
            let shorter = if simd.transposes_narrow() { 1 } else { edge };
            let fits = rows.min(columns) >= shorter && rows.max(columns) >= edge;
            assert_eq!(done, fits, "{simd:?} {unit}: {rows} by {columns}");
            let mut expected = vec![0xa5; out.len()];
            for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |of| (row, of))) {
                let (place, given) =
                    (7 + column * write + row * unit, 11 + row * read + column * unit);
                if done {
                    let to = &mut expected[place..place + unit];
                    to.copy_from_slice(&source[given..given + unit]);
                    if inner.is_some() {
                        to.reverse();
                    }
                }
            }
            assert_eq!(out, expected, "{simd:?} {unit}: {rows} by {columns}");
        }
    }
}

/// Tests units that take fields of more bytes in registers. The source ends with the last row, and
/// the destination with the last column.
#[test]
fn units_of_any_size_are_transposed_and_nothing_else_is_written() {
    let source: Vec<u8> = (0..80_000_u32).map(|n| ((n * 167) >> 3) as u8).collect();
    for (simd, unit) in
        Simd::all_with_every_machine().flat_map(|simd| (1..=16).map(move |n| (simd, n)))
    {
        let edge = simd.edge(unit);
        for (rows, columns) in [4, 5, 8, 9, 15, 16, 17, 33, 64]
            .into_iter()
            .flat_map(|rows| [3, 4, 8, 15, 16, 21, 40].map(|n| (rows, n)))
        {
            let (read, write) = (columns * unit + 5, rows * unit + 3);
            let (from, to) =
                (11 + (rows - 1) * read + columns * unit, 7 + (columns - 1) * write + rows * unit);
            let starts = |count: usize, pitch: usize| -> Vec<isize> {
                (0..count).map(|line| (line * pitch).cast_signed()).collect()
            };
            let (lines, to_lines) = (starts(rows, read), starts(columns, write));
            let mut out = vec![0xa5; to + LINE];
            let mut expected = out.clone();
            let source = source[..from].to_vec();
            let runs = ColumnPointers::new([&mut out[..]], SHIFT, 7, &to_lines, rows * unit);
            let mut runs = runs.expect("columns inside");
            let done = simd.transpose((unit, None), (&source, 11, &lines), (&mut runs, 0));
            let fits = edge.is_some_and(|edge| rows.min(columns) >= edge);
            let least = done && unit.is_power_of_two();
            assert!(done == fits || least, "{simd:?} {unit}: {rows} by {columns}");
            for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |of| (row, of))) {
                let (place, given) =
                    (7 + column * write + row * unit, 11 + row * read + column * unit);
                if done {
                    expected[place..place + unit].copy_from_slice(&source[given..given + unit]);
                }
            }
            assert!(out == expected, "{simd:?} {unit}: {rows} by {columns}");
        }
    }
}

/// Tests matrices with sides of many registers whose lines are whole cache lines apart. The
/// matrices start shortly before and shortly after the start of a line.
#[test]
fn long_matrices_are_transposed_and_nothing_else_is_written() {
    let source: Vec<u8> = (0..400_000_u32).map(|n| ((n * 167) >> 3) as u8).collect();
    let start = source.as_ptr().addr().wrapping_neg() % LINE;
    for (simd, unit) in
        Simd::all_with_every_machine().flat_map(|simd| [1, 2, 4, 8, 16].map(|unit| (simd, unit)))
    {
        let edge = LINE / unit;
        for (rows, columns, from, to) in [
            (8 * edge, 8 * edge, 0, 0),
            (8 * edge + 1, 9 * edge - 1, unit, LINE - unit),
            (8 * edge - 1, 8 * edge, LINE / 2, LINE / 2),
            (8 * edge, edge, 16, 48),
            (9 * edge, edge + 1, 1, 2 * unit + 1),
        ] {
            let [read, write] = [columns, rows].map(|of| (of * unit).next_multiple_of(LINE) + LINE);
            let starts = |count: usize, pitch: usize| -> Vec<isize> {
                (0..count).map(|line| (line * pitch).cast_signed()).collect()
            };
            let (lines, to_lines) = (starts(rows, read), starts(columns, write));
            let mut out = vec![0xa5; 2 * LINE + columns * write];
            let (from, to) = (start + from, out.as_ptr().addr().wrapping_neg() % LINE + to);
            let mut expected = out.clone();
            let given = (source.as_slice(), from.cast_signed(), lines.as_slice());
            let mut runs = ColumnPointers::new(
                [&mut out[..]],
                SHIFT,
                to.cast_signed(),
                &to_lines,
                rows * unit,
            );
            let done =
                simd.transpose((unit, None), given, (runs.as_mut().expect("columns inside"), 0));
            assert!(done, "{simd:?} {unit}: {rows} by {columns}");
            for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |of| (row, of))) {
                let place = to + column * write + row * unit;
                let given = from + row * read + column * unit;
                expected[place..place + unit].copy_from_slice(&source[given..given + unit]);
            }
            assert!(out == expected, "{simd:?} {unit}: {rows} by {columns}");
        }
    }
}

#[test]
fn matrices_outside_of_their_slices_are_refused() {
    let (source, mut out) = (vec![0; 300], vec![0; 300]);
    let lines: Vec<isize> = (0..16).map(|line| line * 16).collect();
    for simd in Simd::all_with_every_machine() {
        for to in [-1, 45] {
            assert!(ColumnPointers::new([&mut out[..]], SHIFT, to, &lines, 16).is_none());
        }
        let mut columns = ColumnPointers::new([&mut out[..]], SHIFT, 44, &lines, 16).unwrap();
        for (from, at) in [(-1, 0), (45, 0), (0, 1), (0, usize::MAX)] {
            assert!(!simd.transpose((1, None), (&source, from, &lines), (&mut columns, at)));
        }
        assert!(simd.transpose((1, None), (&source, 44, &lines), (&mut columns, 0)));
    }
}

/// Tests every instruction set with columns in several slices, whose first lines begin at any byte.
#[test]
fn lines_are_streamed_and_nothing_else_is_written() {
    let source: Vec<u8> = (0..80_000_u32).map(|n| ((n * 167) >> 3) as u8).collect();
    for (simd, unit) in
        Simd::all_with_every_machine().flat_map(|simd| [1, 2, 4, 8, 16].map(|unit| (simd, unit)))
    {
        let edge = 16 / unit;
        // Reverse the bytes of every unit.
        let turned: Inner = std::array::from_fn(|byte| (byte ^ (unit - 1)) as u8);
        let inner = (unit > 1).then_some(&turned);
        for (lines, count, slices) in
            [1, 2, 5].into_iter().flat_map(|l| [edge, edge + 1, 37].map(|c| (l, c, 1 + c % 3)))
        {
            let (rows, pitch) = (lines * LINE / unit, (lines + 2) * LINE);
            let each = count.div_ceil(slices);
            let mut out = vec![0xa5; (each * slices + 1) * pitch];
            let gap = out.as_ptr().addr().wrapping_neg() % LINE;
            let mut expected = out.clone();
            let read = count * unit + 3;
            let from: Vec<isize> = (0..rows).map(|row| (row * read).cast_signed()).collect();
            let to: Vec<isize> = (0..count)
                .map(|of| ((of / each) << 20 | (of % each * pitch)).cast_signed())
                .collect();
            let pieces = out[gap..].chunks_exact_mut(each * pitch);
            let mut columns = ColumnPointers::new(pieces, 20, 0, &to, pitch).unwrap();
            let given = (source.as_slice(), 5, from.as_slice());
            streaming(|stream| {
                assert!(!simd.stream_transpose((unit, inner), given, (&mut columns, 8), stream));
                assert!(simd.stream_transpose((unit, inner), given, (&mut columns, LINE), stream));
            });
            for (row, column) in (0..rows).flat_map(|row| (0..count).map(move |of| (row, of))) {
                let place = gap + column * pitch + LINE + row * unit;
                let given = 5 + row * read + column * unit;
                expected[place..place + unit].copy_from_slice(&source[given..given + unit]);
                expected[place..place + unit].reverse();
            }
            assert_eq!(out, expected, "{simd:?} {unit}: {lines} lines of {count} columns");
        }
    }
}
