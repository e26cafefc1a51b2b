//! Defines tiles, which are rectangles of units, and movers, which copy tiles, for any processor. A
//! *unit* is the data that is moved at a time, an element or a longer run.

use super::{
    micro::transpose,
    pieces::Destination,
    simd::{Inner, Simd},
    stream::{LINE, PAGE, prefetch},
};

/// The length in bytes from which on [`copy_run`] may copy a run in pieces. `memcpy` of glibc
/// copies shorter runs with registers.
const LONG_RUN: usize = 1 << 11;

/// The distance between a short unit and the place that is prefetched meanwhile, in bytes of the
/// source: `u16[97,4,490,7]` to `{3,0,1,2}` 0.19 to 0.27 of memcpy, Xeon 207. Longer units gain
/// nothing: 28 bytes 0.8 to 1.0 times, 63 bytes 0.96.
const UNIT_PREFETCH_SRC_BYTES: usize = 2 * LINE;

/// A rectangle of units to move: one unit for each combination of a position along the row and a
/// position along the column.
///
/// In the source and in the destination, the offset of a unit is the sum of three offsets: of the
/// tile's start, of the position along the row, and of the position along the column. Offsets count
/// bytes, or units if these are not whole bytes of the same size on both sides.
#[derive(Clone, Copy)]
pub(super) struct CopyTile<'a> {
    pub(super) from: isize,
    pub(super) to: isize,
    /// The offsets of the positions along the row, in the source and in the destination. The
    /// destination is usually contiguous in this direction.
    pub(super) rows: (&'a [isize], &'a [isize]),
    /// The offsets of the positions along the column, in the source and in the destination. The
    /// source is usually contiguous in this direction.
    pub(super) columns: (&'a [isize], &'a [isize]),
    /// The distance between neighbouring positions in the source and in the destination, for the
    /// row and for the column. It is `None` unless both distances are constant and positive. A
    /// destination distance of at least the size of a slice leads to another slice.
    pub(super) steps: [Option<(usize, usize)>; 2],
}

/// Code that copies tiles from the source to the destination.
pub(super) trait MoveTile {
    /// Copies one tile.
    fn tile(&self, source: &[u8], destination: &mut (impl Destination + ?Sized), tile: &CopyTile);
}

/// A mover that copies one unit of `N` bytes at a time.
pub(super) struct Units<const N: usize>;

/// A mover that copies one unit at a time. The size of a unit, in bytes, is known only at run time.
pub(super) struct DynamicUnits(pub(super) usize);

/// A mover that transposes tiles square by square, without shuffle instructions. A square has `E`
/// by `E` units of `N` bytes, and `L` rows are moved at a time. The rows of the tile must be
/// contiguous in the destination and its columns in the source. A tile smaller than a square is
/// moved unit by unit.
pub(super) struct Squares<const N: usize, const E: usize, const L: usize>;

/// A mover that transposes tiles with shuffle instructions. The rows of the tile must be contiguous
/// in the destination and its columns in the source. `plain` moves the tile if the processor has no
/// such instructions, or if the tile is too small for them.
pub(super) struct Transpose<M> {
    /// The size of a unit, in bytes.
    pub(super) unit: usize,
    pub(super) simd: Option<Simd>,
    /// The permutation of each 16 bytes of a row of the source, if there is one.
    pub(super) inner: Option<Inner>,
    pub(super) plain: M,
}

impl<M: MoveTile> MoveTile for Transpose<M> {
    fn tile(&self, source: &[u8], destination: &mut (impl Destination + ?Sized), tile: &CopyTile) {
        let &Self { unit, simd, ref inner, ref plain } = self;
        let CopyTile { from, to, rows: (rows, _), columns: (_, writes), .. } = *tile;
        let done = simd.is_some_and(|simd| {
            // By reference, because moving the pointers would wait for all earlier stores.
            destination.columns(to, writes, rows.len() * unit).as_mut().is_some_and(|columns| {
                simd.transpose((unit, inner.as_ref()), (source, from, rows), (columns, 0))
            })
        });
        match inner {
            _ if done => {}
            None => plain.tile(source, destination, tile),
            // The bytes of a unit come from the 16 bytes of the source in which it would be without
            // the permutation.
            Some(inner) => {
                for (number, write) in writes.iter().enumerate() {
                    let (first, places) = (number * unit / 16 * 16, &inner[number * unit % 16..]);
                    for (row, place) in rows.iter().zip(tile.rows.1) {
                        let lane = byte_index(from + row) + first;
                        let bytes = destination.bytes(to + write + place, unit).iter_mut();
                        let read = |place: &u8| source[lane + usize::from(*place)];
                        bytes.zip(places).for_each(|(byte, place)| *byte = read(place));
                    }
                }
            }
        }
    }
}

impl<const N: usize> MoveTile for Units<N> {
    #[inline(never)]
    fn tile(&self, source: &[u8], destination: &mut (impl Destination + ?Sized), tile: &CopyTile) {
        let CopyTile { rows, columns, steps, .. } = *tile;
        // The longer of the two loops becomes the inner one.
        let turned = rows.0.len() < columns.0.len();
        let (inner, outer) = if turned { (columns, rows) } else { (rows, columns) };
        let piece = destination.place(tile.to).0.len();
        let even = |&(src, dst): &(usize, usize)| src % N == 0 && dst % N == 0 && dst < piece;
        let Some((src, dst)) = steps[usize::from(turned)].filter(even) else {
            let tile = CopyTile { rows: inner, columns: outer, ..*tile };
            return each_unit(&tile, |from, to| {
                destination.bytes(to, N).copy_from_slice(&source[from..from + N]);
            });
        };
        for (&read, &write) in outer.0.iter().zip(outer.1) {
            let (slice, to) = destination.place(tile.to + write);
            let from =
                source[byte_index(tile.from + read)..].as_chunks::<N>().0.iter().step_by(src / N);
            let to = slice[to..].as_chunks_mut::<N>().0.iter_mut().step_by(dst / N);
            to.zip(from).take(inner.0.len()).for_each(|(to, from)| *to = *from);
        }
    }
}

impl MoveTile for DynamicUnits {
    // Some tiles are a single unit: runs of 126 bytes have 0.75 of the rate if this is a call.
    #[inline(always)]
    fn tile(&self, source: &[u8], destination: &mut (impl Destination + ?Sized), tile: &CopyTile) {
        let Self(unit) = *self;
        // If neighbouring columns share cache lines of the source, the walk along a row comes back
        // to each line of the source for the next column. There are more such lines than a
        // hardware prefetcher follows.
        let shares_lines = tile.steps[1].is_some_and(|(src, _)| src < LINE);
        let next = |from: usize| {
            if shares_lines {
                prefetch(source.as_ptr().wrapping_add(from + UNIT_PREFETCH_SRC_BYTES));
            }
        };
        match unit {
            5..=7 => each_unit(tile, |from, to| {
                next(from);
                copy_short::<4>(destination.bytes(to, unit), &source[from..from + unit]);
            }),
            9..=15 => each_unit(tile, |from, to| {
                next(from);
                copy_short::<8>(destination.bytes(to, unit), &source[from..from + unit]);
            }),
            LONG_RUN.. => each_unit(tile, |from, to| {
                copy_run(destination.bytes(to, unit), &source[from..from + unit]);
            }),
            _ => each_unit(tile, |from, to| {
                destination.bytes(to, unit).copy_from_slice(&source[from..from + unit]);
            }),
        }
    }
}

/// Copies a run of any length. A long run is copied in pieces of less than [`LONG_RUN`] bytes if
/// the destination is less than a cache line ahead of the source, counted modulo a page.
///
/// `memcpy` of glibc copies long runs with the instruction `rep movsb`. AMD EPYCs of family 25 are
/// then slow if the destination is 1 to 16 bytes ahead: 102,400 bytes from byte 4092 of a page to
/// the start of another page have 3.5 GB/s, and 45 GB/s from other places.
#[inline]
pub(super) fn copy_run(to: &mut [u8], from: &[u8]) {
    let ahead = to.as_ptr().addr().wrapping_sub(from.as_ptr().addr()) % PAGE;
    if to.len() < LONG_RUN || !(1..LINE).contains(&ahead) {
        return to.copy_from_slice(from);
    }
    let piece = LONG_RUN - LINE;
    for (to, from) in to.chunks_mut(piece).zip(from.chunks(piece)) {
        to.copy_from_slice(from);
    }
}

/// Copies `N` to `2 * N` bytes as two parts that may overlap, without a call of `memcpy`.
#[inline(always)]
pub(super) fn copy_short<const N: usize>(to: &mut [u8], from: &[u8]) {
    if let (Some(first), Some(last)) = (from.first_chunk::<N>(), from.last_chunk::<N>()) {
        to[..N].copy_from_slice(first);
        let rest = to.len() - N;
        to[rest..].copy_from_slice(last);
    }
}

impl<const N: usize, const E: usize, const L: usize> MoveTile for Squares<N, E, L> {
    fn tile(&self, source: &[u8], destination: &mut (impl Destination + ?Sized), tile: &CopyTile) {
        match (tile.rows.0.len(), tile.columns.0.len()) {
            (rows, columns) if rows < E || columns < E => {
                Units::<N>.tile(source, destination, tile);
            }
            (rows, _) if rows < L => squares::<N, E, E>(source, destination, tile),
            _ => squares::<N, E, L>(source, destination, tile),
        }
    }
}

/// Calls `each` for every unit of a tile, with its source byte and its destination address.
#[inline(always)]
pub(super) fn each_unit(tile: &CopyTile, mut each: impl FnMut(usize, isize)) {
    for (&from, &to) in tile.columns.0.iter().zip(tile.columns.1) {
        let (from, to) = (tile.from + from, tile.to + to);
        for (&read, &write) in tile.rows.0.iter().zip(tile.rows.1) {
            each(byte_index(from + read), to + write);
        }
    }
}

/// Transposes a tile in strips of `L` rows, and each strip square by square. The last squares of a
/// direction may overlap those before them. The tile must have at least `L` rows and `E` columns.
#[inline(never)]
fn squares<const N: usize, const E: usize, const L: usize>(
    source: &[u8],
    destination: &mut (impl Destination + ?Sized),
    tile: &CopyTile,
) {
    let (rows, columns) = (tile.rows.0, tile.columns.1);
    let width = columns.len() * N;
    let (whole, rest) = columns.as_chunks::<E>();
    let mut row = 0;
    while let Some(reads) = rows[row..].first_chunk::<L>() {
        let to = tile.to + (row * N).cast_signed();
        let mut strip: [&[u8]; L] = [&[]; L];
        for (line, offset) in strip.iter_mut().zip(reads) {
            let from = byte_index(tile.from + offset);
            *line = &source[from..from + width];
        }
        let lines = strip.map(|line| line.as_chunks().0);
        for (column, writes) in whole.iter().enumerate() {
            square::<N, E, L>(&lines, column, destination, to, writes);
        }
        if let (false, Some(writes)) = (rest.is_empty(), columns.last_chunk()) {
            let lines = strip.map(|line| line.as_rchunks().1);
            square::<N, E, L>(&lines, lines[0].len() - 1, destination, to, writes);
        }
        if row + L == rows.len() {
            return;
        }
        row = (row + L).min(rows.len() - L);
    }
}

/// Transposes the squares of a strip whose first column is `column`. `lines` has the rows of the
/// strip, as registers of 16 bytes. Each resulting column is written at `to` plus the entry of
/// `writes` for that column.
#[inline(always)]
fn square<const N: usize, const E: usize, const L: usize>(
    lines: &[&[[u8; 16]]; L],
    column: usize,
    destination: &mut (impl Destination + ?Sized),
    to: isize,
    writes: &[isize; E],
) {
    // Count explicitly, because iterators over these arrays would keep them out of registers.
    let mut out = [[[0; 16]; 4]; E];
    let mut square = 0;
    while square < L / E {
        let mut registers = [[0; 16]; E];
        let mut row = 0;
        while row < E {
            registers[row] = lines[square * E + row][column];
            row += 1;
        }
        let registers = transpose::<N, E>(&registers);
        let mut row = 0;
        while row < E {
            out[row][square] = registers[row];
            row += 1;
        }
        square += 1;
    }
    let mut row = 0;
    while row < E {
        let line = destination.bytes(to + writes[row], L * N).as_chunks_mut::<16>().0;
        let mut square = 0;
        while square < L / E {
            line[square] = out[row][square];
            square += 1;
        }
        row += 1;
    }
}

/// Converts an offset to the index of a byte. The nest guarantees that offsets lie inside the
/// image; a negative one would become an index so large that every bounds check fails.
#[inline(always)]
pub(super) fn byte_index(offset: isize) -> usize {
    offset.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_copied_from_all_places_of_a_page() {
        let source: Vec<u8> = (0..=250).cycle().take(5 * PAGE).collect();
        let mut out = vec![0; 5 * PAGE];
        for length in [1, LONG_RUN - 1, LONG_RUN, 2 * LONG_RUN - LINE, 10_000] {
            for ahead in [0, 1, 16, LINE - 1, LINE, PAGE - 1] {
                // Both buffers begin at any byte of a page.
                let [of_source, of_out] = [&source, &out].map(|bytes| bytes.as_ptr().addr() % PAGE);
                let from = (2 * PAGE + of_out - of_source - ahead) % PAGE;
                out.fill(0xa5);
                copy_run(&mut out[PAGE..][..length], &source[from..][..length]);
                assert_eq!(out[PAGE..][..length], source[from..][..length], "{length} {ahead}");
                let others = out[..PAGE].iter().chain(&out[PAGE + length..]);
                assert_eq!(others.filter(|byte| **byte != 0xa5).count(), 0, "{length} {ahead}");
            }
        }
    }
}
