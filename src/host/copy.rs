use super::{
    kernel::{Kernel, Loop},
    pieces::{Destination as _, Pieces},
    stream::{LINE, Stream, fetch},
    tile::{Mover, Runs, Squares, Tile, Units, at, each_unit},
};

/// Bytes of a run that the system's own copy moves best.
const LONG: usize = 1 << 12;

/// A kernel at work between two images, in bytes.
pub(super) struct Copy<'a, 'd> {
    pub(super) kernel: &'a Kernel,
    pub(super) source: &'a [u8],
    pub(super) destination: &'a mut Pieces<'d>,
    /// Where the destination is too large for the caches: the way past them, and room for a tile.
    pub(super) stream: Option<(&'a Stream, &'a mut Room)>,
}

/// Room for a tile, row by row.
#[derive(Default)]
pub(super) struct Room {
    bytes: Vec<u8>,
    /// Where each row starts.
    rows: Vec<isize>,
}

impl Copy<'_, '_> {
    /// Moves the cells of a box that starts at byte `from` of the source and byte `to` of the destination.
    pub(super) fn run(self, from: isize, to: isize) {
        let Kernel { unit, rows, columns, start, .. } = self.kernel;
        let (from, to) = (from + start.0, to + start.1);
        let square = |edge: usize| {
            let long = rows.dst.len() >= edge && columns.src.len() >= edge;
            long && self.kernel.rows_touch && self.kernel.columns_touch
        };
        match unit {
            1 if square(16) => self.tiles(from, to, &Squares::<1, 16, 16>),
            2 if square(8) => self.tiles(from, to, &Squares::<2, 8, 16>),
            4 if square(4) => self.tiles(from, to, &Squares::<4, 4, 8>),
            8 if square(2) => self.tiles(from, to, &Squares::<8, 2, 4>),
            1 => self.tiles(from, to, &Units::<1>),
            2 => self.tiles(from, to, &Units::<2>),
            3 => self.tiles(from, to, &Units::<3>),
            4 => self.tiles(from, to, &Units::<4>),
            6 => self.tiles(from, to, &Units::<6>),
            8 => self.tiles(from, to, &Units::<8>),
            12 => self.tiles(from, to, &Units::<12>),
            16 => self.tiles(from, to, &Units::<16>),
            24 => self.tiles(from, to, &Units::<24>),
            32 => self.tiles(from, to, &Units::<32>),
            48 => self.tiles(from, to, &Units::<48>),
            64 => self.tiles(from, to, &Units::<64>),
            &unit => self.tiles(from, to, &Runs(unit)),
        }
    }

    /// Moves every tile; where the destination is streamed, by way of a buffer that stays in the cache.
    fn tiles(self, from: isize, to: isize, mover: &impl Mover) {
        let Self { kernel, source, destination, stream } = self;
        let Some((stream, room)) = stream.filter(|_| kernel.rows_touch) else {
            return each_tile(kernel, from, to, &mut |tile| mover.tile(source, destination, &tile));
        };
        // Whole lines need no buffer to be put together.
        let lines = kernel.unit.is_multiple_of(LINE) && destination.is_aligned(to, LINE);
        if kernel.rows.src.len() == 1 || lines {
            return each_tile(kernel, from, to, &mut |tile| {
                each_unit(&tile, |from, to| {
                    let from = &source[from..from + kernel.unit];
                    let to = destination.bytes(to, kernel.unit);
                    if kernel.unit < LONG {
                        stream.copy(to, from);
                    } else {
                        to.copy_from_slice(from);
                    }
                });
            });
        }
        // A line more for each row, so that rows do not meet in one set of the cache.
        let row = kernel.rows.dst.len() * kernel.unit;
        let pitch = if kernel.rows_join { row } else { row.next_multiple_of(LINE) + LINE };
        let count = kernel.columns.src.len();
        room.rows.clear();
        room.rows.extend((0..count).map(|row| (row * pitch).cast_signed()));
        if room.bytes.len() < count * pitch {
            room.bytes.resize(count * pitch, 0);
        }
        // A tile leaves the buffer while the lines of the next one are on their way.
        let mut write = |full: &Tile, next: &Tile, bytes: &[u8]| {
            let length = full.rows.0.len() * kernel.unit;
            if kernel.rows_join {
                let length = full.columns.0.len() * length;
                stream.copy(destination.bytes(full.to, length), &bytes[..length]);
                return;
            }
            let share = next.rows.0.len().div_ceil(full.columns.1.len());
            let mut reads = next.rows.0.chunks(share.max(1));
            let width = next.columns.0.len() * kernel.unit;
            for (row, to) in bytes.chunks_exact(pitch).zip(full.columns.1) {
                for read in reads.next().unwrap_or_default() {
                    (0..width)
                        .step_by(LINE)
                        .for_each(|line| fetch(source, at(next.from + read) + line));
                }
                stream.copy(destination.bytes(full.to + to, length), &row[..length]);
            }
        };
        let mut full: Option<Tile> = None;
        each_tile(kernel, from, to, &mut |tile| {
            if let Some(full) = &full {
                write(full, &tile, &room.bytes);
            }
            let columns = (tile.columns.0, &room.rows[..tile.columns.0.len()]);
            let [rows_step, columns_step] = tile.steps;
            let steps = [rows_step, columns_step.map(|(src, _)| (src, pitch))];
            let tile_in_room = Tile { to: 0, columns, steps, ..tile };
            mover.tile(source, room.bytes.as_mut_slice(), &tile_in_room);
            full = Some(tile);
        });
        if let Some(full) = &full {
            write(full, &Tile { rows: (&[], &[]), ..*full }, &room.bytes);
        }
    }
}

/// Calls `each` for the tiles of a box.
pub(super) fn each_tile<'k>(
    kernel: &'k Kernel,
    from: isize,
    to: isize,
    each: &mut impl FnMut(Tile<'k>),
) {
    let Kernel { loops, rows, columns, .. } = kernel;
    let steps = [rows.step, columns.step];
    let mut extents = kernel.extents.clone();
    walk(loops, &mut extents, from, to, &mut |extents, from, to| {
        let (row, column) = (..extents[0] * rows.inner, ..extents[1] * columns.inner);
        let rows = (&rows.src[row], &rows.dst[row]);
        let columns = (&columns.src[column], &columns.dst[column]);
        each(Tile { from, to, rows, columns, steps });
    });
}

/// Calls `each` for every step of the loops, with what is left of each axis in a block.
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
mod tests {
    use super::{super::tile::each_unit, *};
    use crate::host::kernel::Axis;

    /// The places that a kernel of cells of length 1 moves, against loops over its axes.
    #[test]
    fn tiles_cover_a_box() {
        let mut state = 7_u64;
        let mut below = |n: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        for case in 0..20_000 {
            let mut dst = 1;
            let mut axes: Vec<Axis> = (0..=below(5))
                .map(|_| {
                    let extent = 1 + below(6) as usize;
                    let src = [1, 2, 3, 7, 12, -1, -3, 40, 0][below(9) as usize];
                    let axis = Axis { extent, src, dst };
                    dst *= extent.cast_signed() + [0, 0, 0, 3][below(4) as usize];
                    axis
                })
                .collect();
            axes.reverse();
            let mut expected = vec![(0, 0)];
            for axis in &axes {
                let steps = 0..axis.extent.cast_signed();
                let step = |(from, to): (isize, isize)| {
                    steps.clone().map(move |n| (from + n * axis.src, to + n * axis.dst))
                };
                expected = expected.into_iter().flat_map(step).collect();
            }
            let kernel = Kernel::new(axes.iter().copied(), 1);
            let mut found = Vec::new();
            let base = 10_000;
            each_tile(&kernel, base + kernel.start.0, kernel.start.1, &mut |tile| {
                each_unit(&tile, |from, to| {
                    for n in 0..kernel.unit.cast_signed() {
                        found.push((from.cast_signed() - base + n, to + n));
                    }
                });
            });
            found.sort_unstable();
            expected.sort_unstable();
            assert_eq!(found, expected, "{case}: {axes:?} {kernel:?}");
        }
    }
}
