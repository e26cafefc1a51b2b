//! Runs the plan of a box: moves its tiles one after the other, with non-temporal stores if the
//! destination is too large for the caches.
//!
//! A *box* is a range of loop steps that read at constant strides. A *tile* is a matrix of its
//! *units*, elements for example, and the *mover* is the code that copies a tile.

use wide::u64x8;

use super::{
    pieces::{Destination as _, DestinationSlices},
    plan::{Loop, Mover, TilePlan},
    shuffle::Shuffle,
    simd::Simd,
    stream::{LINE, Stream},
    strips::Strips,
    tile::{
        CopyTile, DynamicUnits, MoveTile, Squares, Transpose, Units, byte_index, copy_run,
        each_unit,
    },
};

const _: () = assert!(align_of::<u64x8>() == LINE, "lines of a room begin with those of the cache");

/// The copy of one box: its plan, and the images between which it copies.
pub(super) struct BoxCopy<'a, 'd> {
    pub(super) plan: &'a TilePlan,
    pub(super) source: &'a [u8],
    pub(super) destination: &'a mut DestinationSlices<'d>,
    /// The permission to use non-temporal stores, with a buffer for one tile, or `None` if the box
    /// is not streamed. A mover writes a tile to the buffer, from which whole cache lines are then
    /// streamed.
    pub(super) stream: Option<(&'a Stream, &'a mut TileBuffer)>,
}

/// A buffer for one tile, aligned to a cache line. The tile is stored row by row at a constant
/// pitch.
#[derive(Default)]
pub(super) struct TileBuffer {
    lines: Vec<u64x8>,
    /// The offset of each row in the buffer, in bytes.
    rows: Vec<isize>,
}

impl BoxCopy<'_, '_> {
    /// Copies the box. Its first position reads byte `from` of the source and writes to address
    /// `to`.
    pub(super) fn run(self, from: isize, to: isize) {
        let TilePlan { unit, ref mover, start, .. } = *self.plan;
        let (from, to) = (from + start.0, to + start.1);
        match (mover, unit) {
            (Mover::Shuffle(shuffle), _) => self.shuffled(from, to, shuffle),
            (Mover::Transpose(simd) | Mover::Strips(simd), 1) => {
                self.squares(from, to, *simd, Squares::<1, 16, 16>);
            }
            (Mover::Transpose(simd) | Mover::Strips(simd), 2) => {
                self.squares(from, to, *simd, Squares::<2, 8, 16>);
            }
            (Mover::Transpose(simd) | Mover::Strips(simd), 4) => {
                self.squares(from, to, *simd, Squares::<4, 4, 8>);
            }
            (Mover::Transpose(simd) | Mover::Strips(simd), 8) => {
                self.squares(from, to, *simd, Squares::<8, 2, 4>);
            }
            (Mover::Transpose(simd) | Mover::Strips(simd), 16) => {
                self.squares(from, to, *simd, Units::<16>);
            }
            (Mover::Transpose(simd) | Mover::Strips(simd), _) => {
                self.squares(from, to, *simd, DynamicUnits(unit));
            }
            (Mover::OrderedUnits, _) => self.ordered_units(from, to),
            (Mover::OrderedRuns, _) => self.ordered_runs(from, to),
            (Mover::Units, 1) => self.tiles(from, to, &Units::<1>),
            (Mover::Units, 2) => self.tiles(from, to, &Units::<2>),
            (Mover::Units, 3) => self.tiles(from, to, &Units::<3>),
            (Mover::Units, 4) => self.tiles(from, to, &Units::<4>),
            (Mover::Units, 6) => self.tiles(from, to, &Units::<6>),
            (Mover::Units, 8) => self.tiles(from, to, &Units::<8>),
            (Mover::Units, 12) => self.tiles(from, to, &Units::<12>),
            (Mover::Units, 16) => self.tiles(from, to, &Units::<16>),
            (Mover::Units, 24) => self.tiles(from, to, &Units::<24>),
            (Mover::Units, 32) => self.tiles(from, to, &Units::<32>),
            (Mover::Units, 48) => self.tiles(from, to, &Units::<48>),
            (Mover::Units, 64) => self.tiles(from, to, &Units::<64>),
            (Mover::Units, _) => self.tiles(from, to, &DynamicUnits(unit)),
        }
    }

    /// Moves every tile by `mover`. If the box is streamed and the units of a row are contiguous in
    /// the destination, each tile is written to the tile buffer first.
    fn tiles(mut self, from: isize, to: isize, mover: &impl MoveTile) {
        let TilePlan { rows_touch, .. } = *self.plan;
        match self.stream.take().filter(|_| rows_touch) {
            None => each_tile(self.plan, from, to, &mut |tile| {
                mover.tile(self.source, self.destination, &tile);
            }),
            Some((stream, room)) => self.stream_tiles(from, to, mover, stream, room),
        }
    }

    /// Fills the rows of every tile by byte shuffles. If the box is streamed and the alignment of
    /// the rows permits it, registers are streamed directly. Otherwise, a streamed tile goes
    /// through the tile buffer.
    fn shuffled(self, from: isize, to: isize, shuffle: &Shuffle) {
        let Self { plan, source, destination, stream } = self;
        if stream.is_some() && !plan.streams_rows(shuffle, destination, to) {
            return BoxCopy { plan, source, destination, stream }.tiles(from, to, shuffle);
        }
        let stream = stream.as_ref().map(|(stream, _)| *stream);
        each_tile_before(plan, from, to, &mut |tile, next| {
            shuffle.rows(source, destination, (&tile, next), stream);
        });
    }

    /// Copies units one by one, in the order of the source. The stores are non-temporal if the box
    /// is streamed.
    fn ordered_units(self, from: isize, to: isize) {
        let Self { plan, source, destination, stream } = self;
        // The compiler unrolls copies of a constant length.
        match (&stream, plan.unit) {
            (Some((stream, _)), 64) => {
                return lines::<64>(plan, (source, from), (destination, to), stream);
            }
            (Some((stream, _)), 128) => {
                return lines::<128>(plan, (source, from), (destination, to), stream);
            }
            _ => {}
        }
        each_tile(plan, from, to, &mut |tile| {
            each_unit(&tile, |from, to| {
                let from = &source[from..from + plan.unit];
                let to = destination.bytes(to, plan.unit);
                match &stream {
                    Some((stream, _)) => stream.copy(to, from),
                    _ => copy_run(to, from),
                }
            });
        });
    }

    /// Copies the units of each tile in the order of the source, with non-temporal stores. A cache
    /// line that two units of a row share is put together in a buffer, so that it is written only
    /// once.
    fn ordered_runs(self, from: isize, to: isize) {
        let Some((stream, _)) = &self.stream else { return self.ordered_units(from, to) };
        let Self { plan, source, destination, .. } = self;
        let unit = plan.unit;
        each_tile(plan, from, to, &mut |tile| {
            let reads = tile.rows.0;
            for (row, read) in reads.iter().enumerate() {
                let last = row + 1 == reads.len();
                for (&column, &write) in tile.columns.0.iter().zip(tile.columns.1) {
                    let from = tile.from + column;
                    let before = row.checked_sub(1).map(|row| {
                        let end = byte_index(from + reads[row]) + unit;
                        source[..end].last_chunk().expect("a line")
                    });
                    let start = byte_index(from + read);
                    let to = destination.place(tile.to + write + (row * unit).cast_signed());
                    stream.copy_run(to, &source[start..start + unit], before, last);
                }
            }
        });
    }

    /// Transposes tiles square by square. If the plan's mover is [`Mover::Strips`] and the box is
    /// streamed, transposes strips instead, the rows that fill whole cache lines of each column.
    /// Tiles that are too small for shuffle instructions are moved by `plain`.
    fn squares(self, from: isize, to: isize, simd: Option<Simd>, plain: impl MoveTile) {
        let Self { plan, source, destination, stream } = self;
        let mover = Transpose { unit: plan.unit, simd, inner: plan.inner, plain };
        match (&plan.mover, stream) {
            (&Mover::Strips(Some(simd)), Some((stream, room))) => {
                let of = (plan.unit, plan.inner.as_ref());
                let mut strips = Strips { simd, of, source, destination, stream, room };
                each_tile(plan, from, to, &mut |tile| {
                    // Write tiles that cannot be streamed with ordinary stores.
                    if !strips.tile(&tile) {
                        mover.tile(source, strips.destination, &tile);
                    }
                });
            }
            (_, stream) => {
                BoxCopy { plan, source, destination, stream }.tiles(from, to, &mover);
            }
        }
    }

    /// Moves every tile to a buffer that stays in the cache, and streams it from there.
    fn stream_tiles(
        self,
        from: isize,
        to: isize,
        mover: &impl MoveTile,
        stream: &Stream,
        room: &mut TileBuffer,
    ) {
        let Self { plan, source, destination, .. } = self;
        let pitch = room.make(plan);
        each_tile(plan, from, to, &mut |tile| {
            let columns = (tile.columns.0, &room.rows[..tile.columns.0.len()]);
            let [rows_step, columns_step] = tile.steps;
            let steps = [rows_step, columns_step.map(|(src, _)| (src, pitch))];
            let in_room = CopyTile { to: 0, columns, steps, ..tile };
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut room.lines);
            mover.tile(source, bytes, &in_room);
            room.write(plan, &tile, pitch, destination, stream);
        });
    }
}

/// Copies units of `N` bytes, which are one or two cache lines, with non-temporal stores. `N` is a
/// constant so that the compiler unrolls the copies.
fn lines<const N: usize>(
    plan: &TilePlan,
    (source, from): (&[u8], isize),
    (destination, to): (&mut DestinationSlices, isize),
    stream: &Stream,
) {
    each_tile(plan, from, to, &mut |tile| {
        each_unit(&tile, |from, to| {
            let from = source[from..].first_chunk::<N>().expect("a unit");
            let (slice, place) = destination.place(to);
            stream.copy_chunk(slice[place..].first_chunk_mut().expect("a unit"), from);
        });
    });
}

impl TileBuffer {
    /// Makes the buffer large enough for a tile of the plan. Returns the pitch of its rows, in
    /// bytes.
    fn make(&mut self, plan: &TilePlan) -> usize {
        let row = plan.rows.dst.len() * plan.unit;
        // Add a line to each row. If the pitch were a power of two, all rows would map to a few
        // sets of the cache.
        let pitch = if plan.rows_join { row } else { row.next_multiple_of(LINE) + LINE };
        self.columns(plan.columns.src.len(), pitch);
        pitch
    }

    /// Provides memory for `count` columns whose starts are `pitch` bytes apart. Returns the
    /// memory, with its old contents, and the offset of each column.
    pub(super) fn columns(&mut self, count: usize, pitch: usize) -> (&mut [u8], &[isize]) {
        let lines = (count * pitch).div_ceil(LINE);
        if self.lines.len() < lines {
            self.lines.resize(lines, u64x8::ZERO);
        }
        self.rows.clear();
        self.rows.extend((0..count).map(|column| (column * pitch).cast_signed()));
        (bytemuck::cast_slice_mut(&mut self.lines), &self.rows)
    }

    /// Streams the tile in the buffer to the destination.
    fn write(
        &self,
        plan: &TilePlan,
        tile: &CopyTile,
        pitch: usize,
        destination: &mut DestinationSlices,
        stream: &Stream,
    ) {
        let length = tile.rows.0.len() * plan.unit;
        let bytes: &[u8] = bytemuck::cast_slice(&self.lines);
        if plan.rows_join {
            let length = tile.columns.0.len() * length;
            return stream.copy(destination.bytes(tile.to, length), &bytes[..length]);
        }
        for (row, to) in bytes.chunks_exact(pitch).zip(tile.columns.1) {
            stream.copy(destination.bytes(tile.to + to, length), &row[..length]);
        }
    }
}

/// Calls `each` for every tile of a box, in the order of the plan's loops. `from` and `to` are the
/// source byte and the destination address of the box's first position.
pub(super) fn each_tile<'k>(
    plan: &'k TilePlan,
    from: isize,
    to: isize,
    each: &mut impl FnMut(CopyTile<'k>),
) {
    let TilePlan { loops, rows, columns, .. } = plan;
    let steps = [rows.step, columns.step];
    let mut extents = plan.extents.clone();
    walk(loops, &mut extents, from, to, &mut |extents, from, to| {
        let (row, column) = (..extents[0] * rows.inner, ..extents[1] * columns.inner);
        let rows = (&rows.src[row], &rows.dst[row]);
        let columns = (&columns.src[column], &columns.dst[column]);
        each(CopyTile { from, to, rows, columns, steps });
    });
}

/// Calls `each` for every tile of a box. Also passes the first source byte of the following tile,
/// which can be prefetched, or `None` for the last tile.
pub(super) fn each_tile_before<'k>(
    plan: &'k TilePlan,
    from: isize,
    to: isize,
    each: &mut impl FnMut(CopyTile<'k>, Option<isize>),
) {
    let mut before: Option<CopyTile> = None;
    each_tile(plan, from, to, &mut |tile| {
        if let Some(before) = before.replace(tile) {
            each(before, Some(tile.from));
        }
    });
    if let Some(last) = before {
        each(last, None);
    }
}

/// Calls `each` for every step of the loops, with the extents of the tile at that step and its
/// start in the source and in the destination. The last block of an axis may be shorter than the
/// others.
fn walk(
    loops: &[Loop],
    extents: &mut [usize],
    mut from: isize,
    mut to: isize,
    each: &mut impl FnMut(&[usize], isize, isize),
) {
    let [outer, inner @ ..] = loops else { return each(extents, from, to) };
    let extent = extents[outer.axis];
    let mut left = extent;
    while left > 0 {
        extents[outer.axis] = left.min(outer.step);
        walk(inner, extents, from, to, each);
        left -= left.min(outer.step);
        from += outer.src;
        to += outer.dst;
    }
    extents[outer.axis] = extent;
}

#[cfg(test)]
mod tests;
