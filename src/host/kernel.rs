use smallvec::SmallVec;

use super::stream::LINE;

/// Bytes of a tile along the destination: several whole cache lines, so that few are shared with other tiles.
const ROW_BYTES: usize = 256;

/// Small units of a tile along the destination, at the least: as many as are under way from the source at a time.
const ROW_UNITS: usize = 64;

/// Bytes of a tile along the source: the two lines that processors fetch together.
pub(super) const COLUMN_BYTES: usize = 128;

/// Bytes of a tile whose rows are short, at the least.
const TILE_BYTES: usize = 1 << 12;

/// Blocks of each level that make one of the next: caches and pages are met on the way, whatever their sizes.
const LEVEL: usize = 16;

/// One loop: its steps, and what a step moves each side by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Axis {
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
pub(super) struct Kernel {
    /// Length of a unit.
    pub(super) unit: usize,
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

/// Blocks of an axis, or of a block of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loop {
    /// Position of the axis in [`Kernel::extents`].
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
    axis: Axis,
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

impl Kernel {
    /// Sorts the axes of a box, outermost first, of cells of length `unit`.
    pub(super) fn new(axes: impl IntoIterator<Item = Axis>, mut unit: usize) -> Self {
        let mut axes = merged(axes);
        if let Some(&Axis { extent, src, dst }) = axes.last()
            && (src, dst) == (unit.cast_signed(), unit.cast_signed())
        {
            unit *= extent;
            axes.pop();
        }
        let mut rows: SmallVec<[Axis; 8]> = axes.pop().into_iter().collect();
        let mut columns: SmallVec<[Axis; 8]> = SmallVec::new();
        let start = loop {
            let start = take_nearest(&mut axes, &rows, &mut columns);
            grow(&mut axes, &mut rows, &mut columns, unit);
            // Two small groups in each other's way: the column goes on where the row ends.
            let short = |group: &[Axis]| length(group) * unit < LINE;
            match columns.first() {
                Some(&column)
                    if short(&rows)
                        && short(&columns)
                        && next(&rows, |axis| axis.dst) == Some(column.dst) =>
                {
                    axes.extend(columns.drain(1..));
                    axes.sort_by_key(|axis| std::cmp::Reverse(axis.dst));
                    rows.push(column);
                    columns.clear();
                }
                _ => break start,
            }
        };
        let rows = Group::new(&rows, (ROW_BYTES / unit).max(if unit > 16 { 1 } else { ROW_UNITS }));
        let row = rows.dst.len() * unit;
        let columns = Group::new(&columns, (COLUMN_BYTES / unit).max(TILE_BYTES / row));
        let groups = [(rows.axis, rows.block), (columns.axis, columns.block)];
        let all = groups.into_iter().chain(axes.into_iter().map(|axis| (axis, 1)));
        let (loops, extents) = loops(all);
        let touch = |offsets: &[isize]| {
            offsets.iter().enumerate().all(|(n, &offset)| offset == (n * unit).cast_signed())
        };
        let (rows_touch, columns_touch) = (touch(&rows.dst), touch(&columns.src));
        let whole_rows = rows.block == rows.axis.extent;
        let joined = columns.dst.iter().enumerate();
        let rows_join = rows_touch && whole_rows && { joined }
            .all(|(n, &offset)| offset == (n * row).cast_signed());
        Self { unit, loops, extents, rows, columns, start, rows_touch, columns_touch, rows_join }
    }
}

/// Moves the axis nearest in the source, where the row is not, to the columns, and returns the start on both sides.
fn take_nearest(
    axes: &mut SmallVec<[Axis; 8]>,
    rows: &[Axis],
    columns: &mut SmallVec<[Axis; 8]>,
) -> (isize, isize) {
    // Only where it is nearer than the row's own steps.
    let row = rows.last().filter(|_| rows.len() == 1).map_or(0, |row| row.src.abs());
    let nearest = (0..axes.len())
        .filter(|&axis| axes[axis].src != 0)
        .min_by_key(|&axis| axes[axis].src.abs())
        .filter(|&axis| row == 0 || axes[axis].src.abs() < row);
    let Some(axis) = nearest.map(|axis| axes.remove(axis)) else { return (0, 0) };
    if axis.src > 0 {
        columns.push(axis);
        return (0, 0);
    }
    columns.push(Axis { src: -axis.src, dst: -axis.dst, ..axis });
    let last = axis.extent.cast_signed() - 1;
    (last * axis.src, last * axis.dst)
}

/// Adds the axes that go on where a group ends, until its lines are used as a whole.
fn grow(
    axes: &mut SmallVec<[Axis; 8]>,
    rows: &mut SmallVec<[Axis; 8]>,
    columns: &mut SmallVec<[Axis; 8]>,
    unit: usize,
) {
    let find = |axes: &[Axis], group: &[Axis], side: fn(&Axis) -> isize, bytes: usize| {
        let place = next(group, side).filter(|_| length(group) * unit < bytes)?;
        axes.iter().position(|axis| side(axis) == place)
    };
    loop {
        if let Some(axis) = find(axes, rows, |axis| axis.dst, ROW_BYTES) {
            rows.push(axes.remove(axis));
        } else if let Some(axis) = find(axes, columns, |axis| axis.src, COLUMN_BYTES) {
            columns.push(axes.remove(axis));
        } else {
            return;
        }
    }
}

/// Positions of a group.
fn length(group: &[Axis]) -> usize {
    group.iter().map(|axis| axis.extent).product()
}

/// Where a group would go on.
fn next(group: &[Axis], side: fn(&Axis) -> isize) -> Option<isize> {
    group.last().map(|last| side(last) * last.extent.cast_signed())
}

/// Loops over axes in blocks, and the extents of the axes.
///
/// Long axes become loops of several levels. What is nearest on either side runs innermost, so that lines and pages of
/// both sides are used up while they are at hand.
fn loops(
    axes: impl Iterator<Item = (Axis, usize)>,
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
    fn new(axes: &[Axis], length: usize) -> Self {
        let (inner, axis) = match axes {
            [inner @ .., axis] => (inner, *axis),
            [] => (axes, Axis { extent: 1, src: 0, dst: 0 }),
        };
        let count: usize = inner.iter().map(|axis| axis.extent).product();
        let block = length.div_ceil(count).clamp(1, axis.extent);
        let (mut src, mut dst) = (vec![0], vec![0]);
        for axis in inner.iter().chain([&Axis { extent: block, ..axis }]) {
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
fn merged(axes: impl IntoIterator<Item = Axis>) -> SmallVec<[Axis; 8]> {
    let mut out: SmallVec<[Axis; 8]> = SmallVec::new();
    for axis in axes.into_iter().filter(|axis| axis.extent > 1) {
        let steps = axis.extent.cast_signed();
        match out.last_mut() {
            Some(outer) if (outer.src, outer.dst) == (axis.src * steps, axis.dst * steps) => {
                *outer = Axis { extent: outer.extent * axis.extent, ..axis };
            }
            _ => out.push(axis),
        }
    }
    out
}
