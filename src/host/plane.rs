//! Assigns the axes of a box to the rows of a tile, to its columns, and to loops around the tile. A
//! *tile* is a matrix of *units*, which are elements or longer runs, and is copied at a time. Along
//! its rows, the destination is contiguous if possible, and along its columns the source.

use smallvec::SmallVec;

use super::{
    shuffle::Shuffle,
    simd::{CYCLES_OF_LOAD, Simd},
    stream::LINE,
};

/// The greatest number of units on the shorter side of a matrix for which byte shuffles are at
/// least as fast as transposing partly filled squares. On an Intel Xeon of model 207 squares take
/// 1.4 to 2 times as long for 5 and 6 units of 2 bytes. For longer sides they take less time
/// (`benches/NOTES.md`, "Tiles and squares").
const FEW_UNITS: usize = 6;

/// The shortest row or column that is transposed as part of a square, in bytes. Shorter ones are
/// filled by byte shuffles instead.
const NARROW: usize = 9;

/// The side of the squares that are transposed in registers, in bytes.
const SQUARE: usize = 16;

/// The approximate numbers of processor cycles for a matrix that is transposed, to start and for
/// each line of its squares. They were measured on an AMD EPYC of family 25 with matrices of 5 by 5
/// to 60 by 60 units. `f32[3061,7,7]` turned has 0.40 of the rate of memcpy by a pattern and 0.19 in
/// squares; for `u8[212,60,47]` the rates are 0.11 and 0.80.
const CYCLES_OF_TILE: usize = 250;
const CYCLES_OF_SQUARE_LINE: usize = 3;

/// One loop of a box: its number of steps, and the distance that one step moves in the source and
/// in the destination. Distances count bytes, or units if these are not whole bytes of the same
/// size on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlanAxis {
    pub(super) extent: usize,
    pub(super) src: isize,
    pub(super) dst: isize,
}

/// A few axes of a box that are flattened into one: the rows or the columns of its tiles. A tile
/// contains all steps of the inner axes, and a block of steps of the outermost axis.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// The outermost axis of the group, which is cut into blocks.
    pub(super) axis: PlanAxis,
    /// The number of steps of the outermost axis in a tile.
    pub(super) block: usize,
    /// The number of combinations of steps of the inner axes.
    pub(super) inner: usize,
    /// The source offset of each position of the tile along the group, relative to the first
    /// position.
    pub(super) src: Vec<isize>,
    /// The destination offset of each position of the tile along the group, relative to the first
    /// position.
    pub(super) dst: Vec<isize>,
    /// The distance between neighbouring positions in the source and in the destination. It is
    /// `None` unless both distances are constant and positive.
    pub(super) step: Option<(usize, usize)>,
}

/// Returns true if a `rows` by `columns` matrix of units of `unit` bytes is transposed in squares
/// although its shorter side does not fill a square. Masks then restrict the loads and stores.
///
/// Only some instruction sets have masks, and shorter sides than [`NARROW`] and [`FEW_UNITS`] are
/// faster by shuffles.
pub(super) fn is_narrow(rows: usize, columns: usize, unit: usize, simd: Option<Simd>) -> bool {
    let shorter = rows.min(columns);
    matches!(unit, 1 | 2)
        && shorter > FEW_UNITS
        && shorter * unit >= NARROW
        && rows.max(columns) >= 16 / unit
        && simd.is_some_and(Simd::transposes_narrow)
}

/// The axes of a box, assigned to the rows of a tile, to its columns, and to the loops around it.
pub(super) struct Plane {
    /// The unit size, in bytes.
    unit: usize,
    /// The size of a tile to aim at, in bytes: along the destination, and along the source.
    tile: (usize, usize),
    /// The loops around a tile, outermost first.
    pub(super) axes: SmallVec<[PlanAxis; 8]>,
    /// The axes of the rows, innermost first.
    pub(super) rows: SmallVec<[PlanAxis; 8]>,
    /// The axes of the columns, innermost first.
    pub(super) columns: SmallVec<[PlanAxis; 8]>,
    /// The offsets of a tile's first unit in the source and in the destination. They are not 0 if a
    /// column axis is reversed so that the source is read forwards.
    pub(super) start: (isize, isize),
}

impl Plane {
    /// Assigns the axes of a box, which are given outermost first. The innermost axis becomes the
    /// row. `unit` and `tile` are stored in the fields of the same names.
    pub(super) fn new(
        mut axes: SmallVec<[PlanAxis; 8]>,
        unit: usize,
        tile: (usize, usize),
    ) -> Self {
        let rows = axes.pop().into_iter().collect();
        Self { unit, tile, axes, rows, columns: SmallVec::new(), start: (0, 0) }.sorted()
    }

    /// Returns a plane without rows. The source is contiguous along the columns, and a column of a
    /// tile has about `bytes` bytes.
    pub(super) fn of_columns(axes: SmallVec<[PlanAxis; 8]>, unit: usize, bytes: usize) -> Self {
        let (rows, columns) = (SmallVec::new(), SmallVec::new());
        let tile = (0, bytes);
        Self { unit, tile, axes, rows, columns, start: (0, 0) }.sorted()
    }

    fn sorted(mut self) -> Self {
        self.take_nearest();
        self.grow();
        self
    }

    /// Returns true if the first column axis should become the outermost row axis, to make the rows
    /// longer.
    ///
    /// The axis must continue the rows in the destination. In addition, either rows and columns are
    /// both shorter than a cache line and a pattern of the joined rows takes fewer cycles than
    /// squares, or a row has at most 16 bytes, byte shuffles can fill a register from several
    /// columns, and the matrix is not transposed in partly filled squares; see [`is_narrow`].
    pub(super) fn is_joined_better(&self, simd: Option<Simd>) -> bool {
        let Some(&column) = self.columns.first() else { return false };
        let [units, columns] = [&self.rows, &self.columns].map(|axes| length(axes));
        let (row, column_bytes) = (units * self.unit, columns * self.unit);
        let shuffled =
            simd.is_some_and(|simd| row <= 16 && units <= Shuffle::most_terms(simd, self.unit));
        let in_squares = row <= 16 && is_narrow(units, columns, self.unit, simd);
        // Without shuffles, units of short rows are copied one by one either way.
        let cheaper = simd.is_none_or(|simd| {
            let (bytes, width) = (row * columns, simd.width());
            let loads = bytes.div_ceil(width) * units.min(width / self.unit);
            let squares = row.div_ceil(SQUARE) * column_bytes.div_ceil(SQUARE);
            let of_square = CYCLES_OF_SQUARE_LINE * SQUARE / self.unit;
            loads * CYCLES_OF_LOAD <= CYCLES_OF_TILE + squares * of_square
        });
        next(&self.rows, |axis| axis.dst) == Some(column.dst)
            && (shuffled && !in_squares || row.max(column_bytes) < LINE && cheaper)
    }

    /// Makes the first column axis the outermost row axis, and chooses new columns.
    pub(super) fn join(&mut self) {
        self.rows.push(self.columns.remove(0));
        self.axes.append(&mut self.columns);
        self.axes.sort_by_key(|axis| std::cmp::Reverse(axis.dst));
        self.take_nearest();
        self.grow();
    }

    /// Makes the loop with the smallest source stride a column axis, unless the row has a source
    /// stride that is as small. Reverses the axis if its source stride is negative.
    fn take_nearest(&mut self) {
        self.start = (0, 0);
        let row = self.rows.last().filter(|_| self.rows.len() == 1).map_or(0, |row| row.src.abs());
        let nearest = (0..self.axes.len())
            .filter(|&axis| self.axes[axis].src != 0)
            .min_by_key(|&axis| self.axes[axis].src.abs())
            .filter(|&axis| row == 0 || self.axes[axis].src.abs() < row);
        let Some(axis) = nearest.map(|axis| self.axes.remove(axis)) else { return };
        if axis.src > 0 {
            self.columns.push(axis);
            return;
        }
        self.columns.push(PlanAxis { src: -axis.src, dst: -axis.dst, ..axis });
        let last = axis.extent.cast_signed() - 1;
        self.start = (last * axis.src, last * axis.dst);
    }

    /// Moves loops to the rows and the columns until each group has the size of a tile. A loop is
    /// moved only if it continues the rows in the destination, or the columns in the source.
    ///
    /// If both groups can grow, the one that is shorter in comparison with a tile grows first. If
    /// units fill a line, the rows grow first.
    fn grow(&mut self) {
        let Self { unit, tile: (row_bytes, column_bytes), axes, rows, columns, .. } = self;
        let find = |axes: &[PlanAxis], group: &[PlanAxis], side: StrideOf, bytes: usize| {
            let place = next(group, side).filter(|_| length(group) * *unit < bytes)?;
            axes.iter().position(|axis| side(axis) == place)
        };
        loop {
            let of_rows = find(axes, rows, |axis| axis.dst, *row_bytes);
            let of_columns = find(axes, columns, |axis| axis.src, *column_bytes);
            // Runs that fill a line need no columns to read whole lines of the source.
            let columns_lack =
                *unit < LINE && length(columns) * *row_bytes <= length(rows) * *column_bytes;
            match (of_rows, of_columns) {
                (Some(_), Some(column)) if columns_lack => columns.push(axes.remove(column)),
                (Some(row), _) => rows.push(axes.remove(row)),
                (None, Some(column)) => columns.push(axes.remove(column)),
                (None, None) => return,
            }
        }
    }
}

/// A function that returns the stride of an axis, either in the source or in the destination.
type StrideOf = fn(&PlanAxis) -> isize;

/// Returns the number of positions of a group of axes.
fn length(group: &[PlanAxis]) -> usize {
    group.iter().map(|axis| axis.extent).product()
}

/// Returns the stride with which another axis would continue the group, as if both were one longer
/// axis. Returns `None` if the group is empty.
fn next(group: &[PlanAxis], side: StrideOf) -> Option<isize> {
    group.last().map(|last| side(last) * last.extent.cast_signed())
}

impl Group {
    /// Flattens axes, which are given innermost first. Chooses the block of the outermost axis so
    /// that a tile has about `length` positions.
    pub(super) fn new(axes: &[PlanAxis], length: usize) -> Self {
        let (inner, axis) = match axes {
            [inner @ .., axis] => (inner, *axis),
            [] => (axes, PlanAxis { extent: 1, src: 0, dst: 0 }),
        };
        let count: usize = inner.iter().map(|axis| axis.extent).product();
        let block = length.div_ceil(count);
        let block = even_block(axis.extent, block.max(1));
        let flat = |side: StrideOf| {
            let mut offsets = Vec::with_capacity(count * block);
            offsets.push(0);
            for axis in inner.iter().chain([&PlanAxis { extent: block, ..axis }]) {
                spread(&mut offsets, axis.extent, side(axis));
            }
            offsets
        };
        let (src, dst) = (flat(|axis| axis.src), flat(|axis| axis.dst));
        let step = |offsets: &[isize]| {
            let step = offsets.get(1).map_or(0, |second| second - offsets[0]);
            let even = offsets.windows(2).all(|pair| pair[1] - pair[0] == step);
            usize::try_from(step).ok().filter(|&step| even && step > 0)
        };
        let step = step(&src).zip(step(&dst));
        Self { axis, block, inner: count, src, dst, step }
    }
}

/// Repeats `offsets` at every step of an axis, each time further on by `stride`.
pub(super) fn spread(offsets: &mut Vec<isize>, extent: usize, stride: isize) {
    let length = offsets.len();
    for step in 1..extent {
        let moved = step.cast_signed() * stride;
        if length == 1 {
            offsets.push(offsets[0] + moved);
        } else {
            offsets.extend_from_within(..length);
            offsets[step * length..].iter_mut().for_each(|offset| *offset += moved);
        }
    }
}

/// Returns the number of steps of an axis in each of its blocks, about `block`. A last block that
/// is much shorter than the others costs more than longer blocks, so its steps are spread over
/// these.
fn even_block(extent: usize, block: usize) -> usize {
    let is_even = |block: &usize| extent.is_multiple_of(*block) || 2 * (extent % block) > *block;
    if block >= extent || is_even(&block) {
        return block.min(extent);
    }
    let even = extent.div_ceil((extent / block).max(1));
    // If possible, use a multiple of 64, 32 or 16 steps, so that blocks fill whole cache lines, or
    // halves or quarters of them, even if a step is a single byte.
    let steps = [LINE, LINE / 2, LINE / 4].into_iter().filter(|&step| 4 * step <= block);
    let whole = steps.map(|step| even.next_multiple_of(step).min(extent)).find(is_even);
    whole.or_else(|| (even..=2 * block).find(is_even)).unwrap_or(even)
}

/// Removes axes of extent 1, and merges neighbouring axes if the outer one continues the inner one
/// on both sides. Axes are given and returned outermost first.
pub(super) fn merged(axes: impl IntoIterator<Item = PlanAxis>) -> SmallVec<[PlanAxis; 8]> {
    let mut out: SmallVec<[PlanAxis; 8]> = SmallVec::new();
    for axis in axes.into_iter().filter(|axis| axis.extent > 1) {
        let steps = axis.extent.cast_signed();
        match out.last_mut() {
            Some(outer) if (outer.src, outer.dst) == (axis.src * steps, axis.dst * steps) => {
                *outer = PlanAxis { extent: outer.extent * axis.extent, ..axis };
            }
            _ => out.push(axis),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{PlanAxis, Plane, even_block, length};

    /// The loop of 20 steps continues the rows, but the columns lack it more.
    #[test]
    fn the_shorter_side_of_a_tile_grows_first() {
        // `u8[13,63,20,2,4]` to `{1,2,4,0,3}`.
        let axes = [(2, 4, 65_520), (13, 10_080, 5040), (4, 1, 1260), (20, 8, 63), (63, 160, 1)];
        let axes = axes.map(|(extent, src, dst)| PlanAxis { extent, src, dst });
        let plane = Plane::new(axes.into_iter().collect(), 1, (1 << 11, 1 << 9));
        assert_eq!((length(&plane.rows), length(&plane.columns)), (63, 160));
    }

    #[test]
    fn blocks_are_even() {
        assert_eq!(even_block(300, 512), 300);
        assert_eq!(even_block(700, 512), 700);
        assert_eq!(even_block(800, 512), 512);
        assert_eq!(even_block(1024, 512), 512);
        assert_eq!(even_block(1025, 512), 576);
        assert_eq!(even_block(4700, 512), 544);
        assert_eq!(even_block(7, 2), 4);
        assert_eq!(even_block(5, 1), 1);
        for (extent, block) in (1..3000).flat_map(|extent| [64, 300].map(|b| (extent, b))) {
            let even = even_block(extent, block);
            let last = (extent - 1) % even + 1;
            assert!(even <= extent.min(2 * block) && 2 * last > even, "{extent} {block} {even}");
        }
    }
}
