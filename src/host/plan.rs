//! The plan of a box: which of its axes make a tile, how a tile is moved, and the loops around it.

use smallvec::SmallVec;

use super::{shuffle::Shuffle, simd::Simd, stream::LINE};

/// Bytes of a tile along the destination and along the source, of units up to [`SMALL`]: runs on both sides long enough
/// that few lines are shared with other tiles and that the processor foresees the next ones.
const SMALL_TILE: (usize, usize) = (1 << 10, 1 << 9);

/// The same for larger units.
const LARGE_TILE: (usize, usize) = (1 << 8, 1 << 7);

/// Bytes of a small unit, at the most.
const SMALL: usize = 16;

/// Small units of a tile along the destination, at the least: as many as are under way from the source at a time.
const ROW_UNITS: usize = 64;

/// Bytes of a tile whose rows are short, at the least.
const TILE_BYTES: usize = 1 << 12;

/// Bytes of a tile whose rows are shuffled.
const SHUFFLED_BYTES: usize = 1 << 12;

/// Blocks of each level that make one of the next: caches and pages are met on the way, whatever their sizes.
const LEVEL: usize = 16;

/// One loop: its steps, and what a step moves each side by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlanAxis {
    pub(super) extent: usize,
    pub(super) src: isize,
    pub(super) dst: isize,
}

/// How the cells of a box are moved: loops around tiles of a plane of units.
///
/// A unit is a run that both sides share. The plane spans two groups of axes: `rows`, along which the destination is
/// contiguous where it can be, and `columns`, along which the source is. A group is flattened, so that cache lines of
/// either side are used as a whole even where extents are tiny.
///
/// ```text
/// axes (64: 4 → 8192) (2048: 256 → 4) of 4-byte cells, extent: source → destination
/// rows: 64 steps of 256 → 4     columns: 32 steps of 4 → 8192     loops: 32 of rows in 2, 2 of columns
/// ```
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// Length of a unit.
    pub(super) unit: usize,
    /// How a tile is moved.
    pub(super) way: Way,
    /// The loops around a tile, outermost first.
    pub(super) loops: SmallVec<[Loop; 16]>,
    /// Steps along each axis that the loops walk; the rows' axis first, then the columns'.
    pub(super) extents: SmallVec<[usize; 8]>,
    /// The units that neighbours of the destination read.
    pub(super) rows: Group,
    /// The units that neighbours of the source write.
    pub(super) columns: Group,
    /// What a reversed axis adds to the start of each side.
    pub(super) start: (isize, isize),
    /// Whether the units of a row lie side by side in the destination.
    pub(super) rows_touch: bool,
    /// Whether the units of a column lie side by side in the source.
    pub(super) columns_touch: bool,
    /// Whether the rows of a tile lie side by side in the destination too.
    pub(super) rows_join: bool,
}

/// How a tile is moved.
#[derive(Clone, Debug)]
pub(super) enum Way {
    /// Squares of 16 bytes in each direction are transposed in registers.
    Transpose(Option<Simd>),
    /// Rows are put together from loads of registers.
    Shuffle(Shuffle),
    /// Unit by unit.
    Units,
}

/// Blocks of an axis, or of a block of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loop {
    /// Position of the axis in [`Plan::extents`].
    pub(super) axis: usize,
    /// Steps of the axis that make a block.
    pub(super) step: usize,
    /// What a block moves each side by.
    pub(super) src: isize,
    pub(super) dst: isize,
}

/// Axes flattened into one: whole inner axes, and blocks of an outer one.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// The outermost axis.
    axis: PlanAxis,
    /// Steps of it that make a tile.
    block: usize,
    /// Positions in each step.
    pub(super) inner: usize,
    /// Where the positions of a tile are read, from its start.
    pub(super) src: Vec<isize>,
    /// Where they are written.
    pub(super) dst: Vec<isize>,
    /// Steps between the positions on both sides, where all are alike and lead on.
    pub(super) step: Option<(usize, usize)>,
}

impl Plan {
    /// Sorts the axes of a box, outermost first, of cells of length `unit`. Cells of whole bytes are shuffled where
    /// there is `simd`.
    pub(super) fn new(
        axes: impl IntoIterator<Item = PlanAxis>,
        mut unit: usize,
        simd: Option<Simd>,
    ) -> Self {
        let mut axes = merged(axes);
        if let Some(&PlanAxis { extent, src, dst }) = axes.last()
            && (src, dst) == (unit.cast_signed(), unit.cast_signed())
        {
            unit *= extent;
            axes.pop();
        }
        let mut plane = Plane::new(axes, unit);
        while plane.is_joined_better(simd) {
            plane.join();
        }
        let Plane { axes, rows: row_axes, columns: column_axes, start, .. } = plane;
        let (row_bytes, column_bytes) = tile_bytes(unit);
        let least = if unit > SMALL { 1 } else { ROW_UNITS };
        let rows = Group::new(&row_axes, (row_bytes / unit).max(least));
        let row = rows.dst.len() * unit;
        // Columns that lie close together count with what lies between them.
        let close = |axis: &&PlanAxis| (unit..LINE).contains(&axis.src.unsigned_abs());
        let column = column_axes.first().filter(close).map_or(unit, |axis| axis.src.unsigned_abs());
        let columns = Group::new(&column_axes, (column_bytes / column).max(TILE_BYTES / row));
        let touch = |offsets: &[isize]| {
            offsets.iter().enumerate().all(|(n, &offset)| offset == (n * unit).cast_signed())
        };
        let (rows_touch, columns_touch) = (touch(&rows.dst), touch(&columns.src));
        let edge = 16_usize.checked_div(unit).filter(|edge| edge * unit == 16 && *edge > 1);
        let square = edge.is_some_and(|edge| {
            rows_touch && columns_touch && rows.dst.len() >= edge && columns.src.len() >= edge
        });
        let shuffle = simd.filter(|_| rows_touch && !square).and_then(|simd| {
            let length = SHUFFLED_BYTES / unit / columns.dst.len();
            let long = Group::new(&row_axes, length.max(rows.dst.len()));
            let offsets = &long.src[..long.inner];
            let shuffle = Shuffle::new(simd, unit, offsets, long.axis.src, long.block)?;
            Some((long, shuffle))
        });
        let (rows, way) = match shuffle {
            Some((rows, shuffle)) => (rows, Way::Shuffle(shuffle)),
            None if square => (rows, Way::Transpose(simd)),
            None => (rows, Way::Units),
        };
        let row = rows.dst.len() * unit;
        let rows_join = rows_touch && rows.block == rows.axis.extent && {
            let mut joined = columns.dst.iter().enumerate();
            joined.all(|(n, &offset)| offset == (n * row).cast_signed())
        };
        let groups = [(rows.axis, rows.block), (columns.axis, columns.block)];
        let all = groups.into_iter().chain(axes.into_iter().map(|axis| (axis, 1)));
        let (loops, extents) = loops(all);
        Self {
            unit,
            way,
            loops,
            extents,
            rows,
            columns,
            start,
            rows_touch,
            columns_touch,
            rows_join,
        }
    }
}

impl Plan {
    /// Whether units are runs of their own, rather than moved in registers.
    pub(super) fn has_long_units(&self) -> bool {
        self.unit > SMALL
    }
}

/// The axes of a box, while they are sorted into the two groups of a plane and the loops around it.
struct Plane {
    /// Length of a unit.
    unit: usize,
    /// The loops around the plane, outermost first.
    axes: SmallVec<[PlanAxis; 8]>,
    /// The rows' axes, innermost first.
    rows: SmallVec<[PlanAxis; 8]>,
    /// The columns' axes, innermost first.
    columns: SmallVec<[PlanAxis; 8]>,
    /// What a reversed axis adds to the start of each side.
    start: (isize, isize),
}

impl Plane {
    fn new(mut axes: SmallVec<[PlanAxis; 8]>, unit: usize) -> Self {
        let rows = axes.pop().into_iter().collect();
        let mut plane = Self { unit, axes, rows, columns: SmallVec::new(), start: (0, 0) };
        plane.take_nearest();
        plane.grow();
        plane
    }

    /// Whether the first of the columns' axes serves better as a further axis of the rows, where it continues them in
    /// the destination: both groups are shorter than a cache line, or a row is shorter than a register, which shuffles
    /// fill from several columns.
    fn is_joined_better(&self, simd: Option<Simd>) -> bool {
        let Some(&column) = self.columns.first() else { return false };
        let (row, column_bytes) =
            (length(&self.rows) * self.unit, length(&self.columns) * self.unit);
        let shuffled = simd.is_some_and(|simd| {
            row < 16 && length(&self.rows) <= Shuffle::most_terms(simd, self.unit)
        });
        next(&self.rows, |axis| axis.dst) == Some(column.dst)
            && (shuffled || row < LINE && column_bytes < LINE)
    }

    /// Makes the first of the columns' axes the outermost of the rows', and looks for other columns.
    fn join(&mut self) {
        self.rows.push(self.columns.remove(0));
        self.axes.append(&mut self.columns);
        self.axes.sort_by_key(|axis| std::cmp::Reverse(axis.dst));
        self.take_nearest();
        self.grow();
    }

    /// Moves the axis nearest in the source to the columns, where it is nearer than the row's own steps.
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

    /// Adds the axes that go on where a group ends, until its lines are used as a whole.
    fn grow(&mut self) {
        let Self { unit, axes, rows, columns, .. } = self;
        let (row_bytes, column_bytes) = tile_bytes(*unit);
        let find = |axes: &[PlanAxis], group: &[PlanAxis], side: Side, bytes: usize| {
            let place = next(group, side).filter(|_| length(group) * *unit < bytes)?;
            axes.iter().position(|axis| side(axis) == place)
        };
        loop {
            if let Some(axis) = find(axes, rows, |axis| axis.dst, row_bytes) {
                rows.push(axes.remove(axis));
            } else if let Some(axis) = find(axes, columns, |axis| axis.src, column_bytes) {
                columns.push(axes.remove(axis));
            } else {
                return;
            }
        }
    }
}

/// The step of an axis on one side.
type Side = fn(&PlanAxis) -> isize;

/// Bytes of a tile along the destination and along the source, where there are as many.
fn tile_bytes(unit: usize) -> (usize, usize) {
    if unit > SMALL { LARGE_TILE } else { SMALL_TILE }
}

/// Positions of a group.
fn length(group: &[PlanAxis]) -> usize {
    group.iter().map(|axis| axis.extent).product()
}

/// Where a group would go on.
fn next(group: &[PlanAxis], side: Side) -> Option<isize> {
    group.last().map(|last| side(last) * last.extent.cast_signed())
}

/// Loops over axes in blocks, and the extents of the axes.
///
/// Long axes become loops of several levels. What is nearest on either side runs innermost, so that lines and pages of
/// both sides are used up while they are at hand.
fn loops(
    axes: impl Iterator<Item = (PlanAxis, usize)>,
) -> (SmallVec<[Loop; 16]>, SmallVec<[usize; 8]>) {
    let (mut loops, mut extents): (SmallVec<[Loop; 16]>, _) = (SmallVec::new(), SmallVec::new());
    for (number, (axis, mut step)) in axes.enumerate() {
        extents.push(axis.extent);
        while step < axis.extent {
            let steps = step.cast_signed();
            let (src, dst) = (axis.src * steps, axis.dst * steps);
            loops.push(Loop { axis: number, step, src, dst });
            step *= LEVEL;
        }
    }
    loops.sort_by_key(|of| std::cmp::Reverse(of.src.abs().min(of.dst.abs())));
    (loops, extents)
}

impl Group {
    /// Flattens axes, innermost first, into tiles of about `length` positions.
    fn new(axes: &[PlanAxis], length: usize) -> Self {
        let (inner, axis) = match axes {
            [inner @ .., axis] => (inner, *axis),
            [] => (axes, PlanAxis { extent: 1, src: 0, dst: 0 }),
        };
        let count: usize = inner.iter().map(|axis| axis.extent).product();
        let block = length.div_ceil(count);
        // A last block much shorter than the others costs more than a longer one.
        let block = if 2 * axis.extent <= 3 * block { axis.extent } else { block.max(1) };
        let (mut src, mut dst) = (vec![0], vec![0]);
        for axis in inner.iter().chain([&PlanAxis { extent: block, ..axis }]) {
            let spread = |offsets: &[isize], step: isize| -> Vec<isize> {
                (0..axis.extent.cast_signed())
                    .flat_map(|n| offsets.iter().map(move |offset| offset + n * step))
                    .collect()
            };
            (src, dst) = (spread(&src, axis.src), spread(&dst, axis.dst));
        }
        let step = |offsets: &[isize]| {
            let step = offsets.get(1).map_or(0, |second| second - offsets[0]);
            let even = offsets.windows(2).all(|pair| pair[1] - pair[0] == step);
            usize::try_from(step).ok().filter(|&step| even && step > 0)
        };
        let step = step(&src).zip(step(&dst));
        Self { axis, block, inner: count, src, dst, step }
    }
}

/// Drops axes of one step, and merges axes that continue each other on both sides.
fn merged(axes: impl IntoIterator<Item = PlanAxis>) -> SmallVec<[PlanAxis; 8]> {
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
