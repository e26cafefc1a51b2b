//! Transposes tiles with non-temporal stores, strip by strip.
//!
//! A *tile* is a matrix of *units*, elements for example, whose rows are contiguous in the
//! destination and whose columns are contiguous in the source. A *strip* consists of as many rows
//! of a tile as fill whole cache lines of each column: 16 rows for f32 and lines of 64 bytes. The
//! lines that a strip completes are streamed at once.

use super::{
    box_copy::TileBuffer,
    pieces::{Destination as _, DestinationSlices},
    simd::{Inner, SHORT_UNIT, Simd},
    stream::{LINE, Stream},
    tile::CopyTile,
};

/// The number of cache lines of each column that the buffer collects at a time, if columns start at
/// different offsets from a cache line. Odd matrices of `f16` are equally fast with 1, 2, 4 and 8
/// lines. With bytes, 128 columns of 4 lines still fit in the first-level cache, and the rate rises
/// from 9.7 to 11.7 GB/s (git history of `benches/NOTES.md`, "Odd matrices of f16").
const BUFFERED_LINES: usize = 4;

/// A mover for tiles with contiguous rows and columns that uses non-temporal stores.
pub(super) struct Strips<'a, 'd> {
    pub(super) simd: Simd,
    /// The size of a unit in bytes, and the permutation of the bytes inside each unit if they
    /// change their order.
    pub(super) of: (usize, Option<&'a Inner>),
    pub(super) source: &'a [u8],
    pub(super) destination: &'a mut DestinationSlices<'d>,
    pub(super) stream: &'a Stream,
    pub(super) room: &'a mut TileBuffer,
}

impl Strips<'_, '_> {
    /// Moves a tile. Whole cache lines of each column get non-temporal stores, and the partial
    /// lines at its ends ordinary ones.
    ///
    /// Returns false if a part of the tile was not moved, because the tile is smaller than a
    /// register or too short for a line. The caller must then move the whole tile by other code,
    /// which overwrites the bytes that were written already.
    pub(super) fn tile(&mut self, tile: &CopyTile) -> bool {
        let CopyTile { from, to, rows: (rows, _), columns: (_, writes), .. } = *tile;
        let (unit, _) = self.of;
        let length = rows.len() * unit;
        let columns = &mut self.destination.columns(to, writes, length);
        let Some(columns) = columns.as_mut().filter(|_| rows.len() >= 16 / unit) else {
            return false;
        };
        let pages = self.simd.joins_lines() && unit <= SHORT_UNIT && columns.are_pages_apart();
        // Rows that are short and consist of whole lines skip the checks below, because these would
        // take too long.
        if !pages && length.is_multiple_of(LINE) {
            let reads = (self.source, from, rows);
            if self.simd.stream_transpose(self.of, reads, (columns, 0), self.stream) {
                return true;
            }
        }
        match columns.gap().filter(|gap| gap.is_multiple_of(unit) && !pages) {
            Some(gap) => self.through_registers(tile, gap),
            None if self.simd.joins_lines() => self.joined(tile),
            None => self.through_room(tile),
        }
    }

    /// Streams whole cache lines directly from registers. Every column must have `gap` bytes, which
    /// are whole units, before its first line. Returns false if a part was not moved, as
    /// [`Self::tile`] does.
    fn through_registers(&mut self, tile: &CopyTile, gap: usize) -> bool {
        let (unit, _) = self.of;
        let rows = tile.rows.0.len();
        let edge = 16 / unit;
        let head = (gap / unit).min(rows);
        let lines = (rows - head) * unit / LINE * LINE / unit;
        let tail = rows - head - lines;
        // Move at least a register, even if some of its units are written twice.
        let last = (rows - tail).min(rows - edge);
        if head > 0 && !self.through_caches(tile, 0, head.max(edge))
            || tail > 0 && !self.through_caches(tile, last, rows)
        {
            return false;
        }
        let Self { simd, of, source, ref mut destination, stream, .. } = *self;
        let columns = &mut destination.columns(tile.to, tile.columns.1, rows * unit);
        lines == 0
            || columns.as_mut().is_some_and(|columns| {
                simd.stream_transpose(
                    of,
                    (source, tile.from, &tile.rows.0[head..head + lines]),
                    (columns, head * unit),
                    stream,
                )
            })
    }

    /// Streams columns that start at different offsets from a cache line. Joins the bytes of
    /// consecutive strips in registers to whole cache lines. Returns false if a part was not moved,
    /// as [`Self::tile`] does.
    fn joined(&mut self, tile: &CopyTile) -> bool {
        let Self { simd, of, source, ref mut destination, stream, ref mut room, .. } = *self;
        let CopyTile { from, to, rows: (rows, _), columns: (_, writes), .. } = *tile;
        let (held, _) = room.columns(writes.len(), LINE);
        let columns = &mut destination.columns(to, writes, rows.len() * of.0);
        columns.as_mut().is_some_and(|columns| {
            simd.stream_joined(of, (source, from, rows), (columns, held), stream)
        })
    }

    /// Collects the cache lines of each column in a buffer, and streams the complete ones. The
    /// start of an incomplete line stays in the buffer until the next rows complete the line.
    /// Returns false if a part was not moved, as [`Self::tile`] does.
    fn through_room(&mut self, tile: &CopyTile) -> bool {
        let CopyTile { from, to, rows: (rows, _), columns: (_, writes), .. } = *tile;
        let (unit, _) = self.of;
        let height = LINE / unit;
        let strips = rows.len() / height;
        let pitch = (1 + BUFFERED_LINES) * LINE;
        let places: Vec<usize> = writes
            .iter()
            .map(|write| self.destination.bytes(to + write, 0).as_ptr().addr() % LINE)
            .collect();
        let mut first = 0;
        while first < strips {
            let count = (strips - first).min(BUFFERED_LINES);
            let rows = &rows[first * height..(first + count) * height];
            let Self { simd, of, source, ref mut destination, stream, ref mut room, .. } = *self;
            let (bytes, offsets) = room.columns(writes.len(), pitch);
            let columns = &mut bytes.columns(0, offsets, pitch);
            let done = columns
                .as_mut()
                .is_some_and(|columns| simd.transpose(of, (source, from, rows), (columns, LINE)));
            if !done {
                return false;
            }
            for ((room, write), &place) in bytes.chunks_exact_mut(pitch).zip(writes).zip(&places) {
                // The number of bytes of the first line that the previous strips left in the
                // buffer.
                let held = if first == 0 { 0 } else { place };
                let length = count * LINE + held - place;
                let at = to + write + (first * LINE - held).cast_signed();
                stream.copy(destination.bytes(at, length), &room[LINE - held..][..length]);
                room.copy_within(count * LINE..(count + 1) * LINE, 0);
            }
            first += count;
        }
        if strips > 0 {
            let (bytes, _) = self.room.columns(writes.len(), pitch);
            for ((room, write), &place) in bytes.chunks_exact(pitch).zip(writes).zip(&places) {
                let at = to + write + (strips * LINE - place).cast_signed();
                self.destination.bytes(at, place).copy_from_slice(&room[LINE - place..LINE]);
            }
        }
        let last = (strips * height).min(rows.len() - 16 / unit);
        strips * height == rows.len() || self.through_caches(tile, last, rows.len())
    }

    /// Moves the rows `start..end` with ordinary stores. Returns false if the instruction set
    /// cannot transpose a matrix of this size.
    fn through_caches(&mut self, tile: &CopyTile, start: usize, end: usize) -> bool {
        let Self { simd, of, source, ref mut destination, .. } = *self;
        let rows = tile.rows.0;
        let columns = &mut destination.columns(tile.to, tile.columns.1, rows.len() * of.0);
        columns.as_mut().is_some_and(|columns| {
            simd.transpose(of, (source, tile.from, &rows[start..end]), (columns, start * of.0))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{machine::MACHINES, stream::streaming};

    /// Moves tiles whose columns have one alignment, and tiles whose columns have different ones,
    /// with every instruction set: through registers, and through the buffer.
    #[test]
    fn tiles_are_moved_as_a_whole_and_nothing_else_is_written() {
        let source: Vec<u8> = (0..60_000_u32).map(|n| ((n * 167) >> 3) as u8).collect();
        for (simd, unit) in Simd::all(&MACHINES[0]).flat_map(|of| [1, 2, 4, 8].map(|n| (of, n))) {
            for (rows, start, apart) in [64, 65, 5 * LINE, 333]
                .into_iter()
                .flat_map(|rows| [(rows, 24, 0), (rows, 0, 0), (rows, 24, 8), (rows, 3, 1)])
            {
                let (count, length) = (19, rows * unit);
                let pitch = length.next_multiple_of(LINE) + 2 * LINE + apart;
                let mut out = vec![0xa5; (count + 2) * pitch];
                let line = out.as_ptr().addr().wrapping_neg() % LINE + start;
                let mut expected = out.clone();
                let offsets = |count: usize, step: usize| -> Vec<isize> {
                    (0..count).map(|n| (n * step).cast_signed()).collect()
                };
                let read = count * unit + 3;
                let reads = [offsets(rows, read), offsets(count, unit)];
                let writes = [offsets(rows, unit), offsets(count, pitch)];
                let units = (0..rows).flat_map(|row| (0..count).map(move |column| (row, column)));
                for (row, column) in units {
                    let from = 5 + row * read + column * unit;
                    let to = line + row * unit + column * pitch;
                    expected[to..to + unit].copy_from_slice(&source[from..from + unit]);
                }
                let tile = CopyTile {
                    from: 5,
                    to: line.cast_signed(),
                    rows: (&reads[0], &writes[0]),
                    columns: (&reads[1], &writes[1]),
                    steps: [None; 2],
                };
                let mut destination = DestinationSlices::whole(&mut out);
                let mut room = TileBuffer::default();
                streaming(|stream| {
                    let mut strips = Strips {
                        simd,
                        of: (unit, None),
                        source: &source,
                        destination: &mut destination,
                        stream,
                        room: &mut room,
                    };
                    assert!(strips.tile(&tile), "{simd:?} {unit}: {rows} {start} {apart}");
                });
                drop(destination);
                assert!(out == expected, "{simd:?} {unit}: {rows} {start} {apart}");
            }
        }
    }
}
