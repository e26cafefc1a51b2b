//! The plan of a box: which of its axes make a tile, how a tile is moved, and the loops around it.

use smallvec::SmallVec;

use super::{
    cache::{streams_pages, streams_runs},
    pieces::{Destination as _, Pieces},
    plane::{Group, PlanAxis, Plane, is_narrow, merged},
    shuffle::Shuffle,
    simd::{Inner, SHORT_UNIT, Simd},
    stream::{LINE, PAGE},
    strips::joins,
};
use crate::nest::gcd;

/// Bytes along the destination and along the source of a tile that is streamed line by line as it is read: rows that are
/// long in the source are foreseen by the processor.
const STRIPS_TILE: (usize, usize) = (1 << 14, 1 << 11);

/// Units of such a tile along the destination, at the least, where they are whole lines and its columns lie in one piece: an
/// axis that would make rows longer leads away from what the source has next, or makes its runs shorter. Columns of several
/// pieces are looked up one by one, which takes as long as moving so few units of each.
const SHORT_ROW_UNITS: usize = 32;

/// Units of such a tile along the destination, at the most.
const STRIP_UNITS: usize = 1 << 12;

/// Bytes along the source of such a tile whose columns begin at various bytes of a line, and its columns, at the most: some
/// lines of each wait in the first cache.
const UNEVEN_BYTES: usize = 1 << 9;
const UNEVEN_COLUMNS: usize = 1 << 7;

/// Such columns, at the most, where lines are joined in registers: one line of each waits in the first cache.
const JOINED_COLUMNS: usize = 1 << 9;

/// Bytes of rows that are streamed so, at the least.
const JOINED_ROW: usize = 1 << 10;

/// Bytes of the source that are streamed unit by unit in their order.
const UNITS_TILE: usize = 1 << 12;

/// Runs of a row that are streamed in their order, at the most, and bytes of the source that lie between one and the next: as
/// many as the processor foresees, of which the second cache still has the end of the run before.
const RUNS: usize = 1 << 9;
const RUNS_TILE: usize = 1 << 16;

/// Pages that are written in turns, at the most.
const PAGES: usize = 1 << 9;

/// Bytes of rows of which the first and the last line may be cut, at the least, where lines are streamed.
const LONG_ROW: usize = 1 << 11;

/// Bytes of a run that the system's own copy moves best, where it does.
pub(super) const LONG: usize = 1 << 12;

/// Bytes of units of which the first and the last line may be cut, at the least, where units are streamed.
const LONG_UNIT: usize = 1 << 8;

/// Bytes of a tile along the destination and along the source, of units up to [`SMALL`]: runs on both sides long enough
/// that few lines are shared with other tiles and that the processor foresees the next ones.
const SMALL_TILE: (usize, usize) = (1 << 10, 1 << 9);

/// The same where whole lines are transposed: half of the squares that overlap others.
const LINES_TILE: (usize, usize) = (1 << 10, 1 << 10);

/// The same for larger units.
const LARGE_TILE: (usize, usize) = (1 << 8, 1 << 7);

/// Bytes of a small unit, at the most.
const SMALL: usize = 16;

/// Small units of a tile along the destination, at the least: as many as are under way from the source at a time.
const ROW_UNITS: usize = 64;

/// Bytes of a tile whose rows are short, at the least.
const TILE_BYTES: usize = 1 << 12;

/// Bytes of a row or a column that is transposed as a part of a square, at the least, through the caches and past them: what is
/// shorter is shuffled.
const NARROW: usize = 6;
const STREAMED_NARROW: usize = 9;

/// Bytes of a tile whose rows are shuffled, through the caches and past them: there each row begins and ends with a cut line.
const SHUFFLED_BYTES: usize = 1 << 12;
const STREAMED_BYTES: usize = 1 << 14;

/// Blocks of each level that make one of the next: caches and pages are met on the way, whatever their sizes.
const LEVEL: usize = 16;

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
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Plan {
    /// Length of a unit.
    pub(super) unit: usize,
    /// How the bytes inside of a unit are permuted, where they are: in squares and strips alone.
    pub(super) inner: Option<Inner>,
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
    /// Whether the destination is streamed.
    pub(super) streams: bool,
}

/// Where a box begins in the cache lines of its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// The pieces of the destination begin at various bytes of a line.
    Uneven,
    /// They begin alike, and the box inside of a line.
    Inside,
    /// They begin alike, and the box with a line.
    Line,
}

/// How a destination is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a threshold of its own")]
pub(super) struct Streams {
    /// Whether it is streamed where units are short, where they are long, where long ones do not fill whole lines, and
    /// where rows of short ones are shuffled.
    pub(super) short: bool,
    pub(super) long: bool,
    pub(super) cut: bool,
    pub(super) shuffled: bool,
    /// Where the box begins.
    pub(super) start: Start,
    /// Where there are several pieces, the bit of an address from which on it has a piece's number, and the bytes from one
    /// piece to the next.
    pub(super) pieces: Option<(u32, isize)>,
}

/// How a tile is moved.
#[derive(Clone, Debug)]
pub(super) enum Way {
    /// Squares of 16 bytes in each direction are transposed in registers.
    Transpose(Option<Simd>),
    /// Rows are put together from loads of registers.
    Shuffle(Shuffle),
    /// The same in strips that fill a cache line of every column, which is streamed.
    Strips(Option<Simd>),
    /// Unit by unit.
    Units,
    /// The same in the order of the source.
    OrderedUnits,
    /// The same, the units of a row one after the other: the lines that two of them have a part of are put together.
    OrderedRuns,
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

impl Plan {
    /// Sorts the axes of a box, outermost first, of cells of length `unit`. Cells of whole bytes are shuffled where
    /// there is `simd`.
    pub(super) fn new(
        axes: impl IntoIterator<Item = PlanAxis>,
        mut unit: usize,
        simd: Option<Simd>,
        streams: Streams,
    ) -> Self {
        let mut axes = merged(axes);
        if let Some(&PlanAxis { extent, src, dst }) = axes.last()
            && (src, dst) == (unit.cast_signed(), unit.cast_signed())
        {
            unit *= extent;
            axes.pop();
        }
        // Units that are dense on both sides, in two orders, are moved as one.
        if let Some((inner_unit, inner, outer)) = simd.and_then(|_| dense(&axes, unit)) {
            let plan = Self::of_axes(outer, inner_unit, simd, streams);
            if matches!(plan.way, Way::Transpose(_) | Way::Strips(_)) {
                return Self { inner: Some(inner), ..plan };
            }
        }
        Self::of_axes(axes, unit, simd, streams)
    }

    /// Whether the rows of a shuffle, of which the first is written from byte `to` on, can be streamed from registers: all
    /// begin alike within their cache lines, and those after whole steps.
    pub(super) fn streams_rows(&self, shuffle: &Shuffle, of: &mut Pieces, to: isize) -> bool {
        let loops = self.loops.iter().map(|around| around.dst);
        let mut steps = loops.chain(self.columns.dst.iter().copied());
        steps.all(|step| step % LINE.cast_signed() == 0)
            && of.are_even()
            && shuffle.streams_after(of.bytes(to, 1).as_ptr().addr().wrapping_neg() % LINE)
    }

    /// About how many bytes it takes to remember.
    pub(super) fn bytes(&self) -> usize {
        let offsets = |group: &Group| size_of_val(&group.src[..]) + size_of_val(&group.dst[..]);
        let way = match &self.way {
            Way::Shuffle(shuffle) => shuffle.bytes(),
            _ => 0,
        };
        size_of::<Self>() + offsets(&self.rows) + offsets(&self.columns) + way
    }

    /// The plan of axes that are merged, of units that are moved as they are.
    fn of_axes(
        axes: SmallVec<[PlanAxis; 8]>,
        unit: usize,
        simd: Option<Simd>,
        streams: Streams,
    ) -> Self {
        if let Some(plan) = Self::of_runs(&axes, unit, streams) {
            return plan;
        }
        if unit > SMALL && streams.long && (unit >= LONG_UNIT || streams.lines(unit, &axes)) {
            // Runs that both sides have in one order are foreseen where they are written too.
            let in_order = |pair: &[PlanAxis]| pair[0].src.abs() >= pair[1].src.abs();
            let ordered = axes.windows(2).all(in_order);
            let streamed = streams.cut || streams.lines(unit, &axes) || !ordered;
            return Self::of_units(axes, unit, streamed);
        }
        let streamed = if unit > SMALL { streams.cut } else { streams.short };
        if let Some(simd) = simd.filter(|_| streamed)
            && let Some(plan) = Self::of_strips(&axes, unit, simd, streams)
        {
            return plan;
        }
        let tile = match simd {
            _ if unit > SMALL => LARGE_TILE,
            Some(simd) if simd.transposes_lines() => LINES_TILE,
            _ => SMALL_TILE,
        };
        let mut plane = Plane::new(axes, unit, tile);
        let narrow = simd.filter(|simd| simd.transposes_narrow());
        let narrow = narrow.map(|_| if streams.shuffled { STREAMED_NARROW } else { NARROW });
        while plane.is_joined_better(simd, narrow) {
            plane.join();
        }
        let least = if unit > SMALL { 1 } else { ROW_UNITS };
        let rows = Group::new(&plane.rows, (tile.0 / unit).max(least));
        let row = rows.dst.len() * unit;
        // Columns that lie close together count with what lies between them.
        let close = |axis: &&PlanAxis| (unit..LINE).contains(&axis.src.unsigned_abs());
        let column = plane.columns.first().filter(close);
        let column = column.map_or(unit, |axis| axis.src.unsigned_abs());
        let columns = Group::new(&plane.columns, (tile.1 / column).max(TILE_BYTES / row));
        let (rows_touch, columns_touch) = (touch(&rows.dst, unit), touch(&columns.src, unit));
        let square = edge(unit, simd.is_some()).is_some_and(|edge| {
            let (rows, columns) = (rows.dst.len(), columns.src.len());
            let fits = rows.min(columns) >= edge || is_narrow(rows, columns, unit, narrow);
            rows_touch && columns_touch && fits
        });
        let shuffle = simd.filter(|_| rows_touch && !square).and_then(|simd| {
            let bytes = if streams.shuffled { STREAMED_BYTES } else { SHUFFLED_BYTES };
            // In whole lines, so that the rows after the first begin like it.
            let lines = LINE / gcd(LINE, rows.inner * unit) * rows.inner;
            // Columns that are pages apart share nothing that is at hand: rows are long before there are several.
            let far = plane.columns.first().is_none_or(|axis| axis.src.unsigned_abs() >= PAGE);
            let side_by_side = if far { 1 } else { columns.dst.len() };
            let length = (bytes / unit / side_by_side).max(rows.dst.len());
            let long = Group::new(&plane.rows, length.next_multiple_of(lines));
            let offsets = &long.src[..long.inner];
            let shuffle = Shuffle::new(simd, unit, offsets, long.axis.src, long.block)?;
            let few = (bytes / unit / long.dst.len()).max(1);
            let columns = if far { Group::new(&plane.columns, few) } else { columns.clone() };
            Some((long, columns, shuffle))
        });
        let (rows, columns, way, streamed) = match shuffle {
            Some((rows, columns, shuffle)) => {
                let streamed = if unit > SMALL { streamed } else { streams.shuffled };
                (rows, columns, Way::Shuffle(shuffle), streamed)
            }
            None if square => (rows, columns, Way::Transpose(simd), streamed),
            None => (rows, columns, Way::Units, streamed),
        };
        Self::around(unit, way, rows, columns, plane, streamed)
    }

    /// Units in the order of the source, past the caches or through them.
    fn of_units(axes: SmallVec<[PlanAxis; 8]>, unit: usize, streamed: bool) -> Self {
        let plane = Plane::of_columns(axes, unit, UNITS_TILE);
        let rows = Group::new(&plane.rows, 1);
        let columns = Group::new(&plane.columns, UNITS_TILE / unit);
        Self::around(unit, Way::OrderedUnits, rows, columns, plane, streamed)
    }

    /// Rows of runs that are streamed, in the order of the source, where they begin or end inside of lines.
    fn of_runs(axes: &[PlanAxis], unit: usize, streams: Streams) -> Option<Self> {
        let long = LINE..if streams_runs() { usize::MAX } else { LONG };
        if !streams.cut || !long.contains(&unit) || streams.lines(unit, axes) {
            return None;
        }
        let plane = Plane::new(axes.into(), unit, (LONG_ROW, RUNS_TILE));
        let rows = Group::new(&plane.rows, RUNS);
        let columns = Group::new(&plane.columns, (RUNS_TILE / unit).min(PAGES));
        let in_order = plane.rows.iter().all(|axis| axis.src >= 0);
        let runs = in_order && touch(&rows.dst, unit) && rows.dst.len() * unit >= LONG_ROW;
        runs.then(|| Self::around(unit, Way::OrderedRuns, rows, columns, plane, true))
    }

    /// Strips of rows that are streamed: from registers where the columns' lines begin together, else through a room.
    fn of_strips(axes: &[PlanAxis], unit: usize, simd: Simd, streams: Streams) -> Option<Self> {
        let edge = edge(unit, true)?;
        let of = |row_bytes| {
            let plane = Plane::new(axes.into(), unit, (row_bytes, STRIPS_TILE.1));
            let rows = Group::new(&plane.rows, (STRIPS_TILE.0 / unit).min(STRIP_UNITS));
            (plane, rows)
        };
        let (plane, rows) = (streams.start == Start::Line)
            .then(|| of(SHORT_ROW_UNITS * unit))
            .filter(|(plane, rows)| {
                let pieces = plane.columns.iter().any(|axis| streams.leaves_piece(axis.dst));
                !pieces && streams.lines(rows.dst.len() * unit, &plane.axes)
            })
            .unwrap_or_else(|| of(SMALL_TILE.0));
        let mut columns = Group::new(&plane.columns, STRIPS_TILE.1 / unit);
        let row = rows.dst.len() * unit;
        let streamed = if streams.start != Start::Uneven
            && columns.dst.iter().all(|offset| offset % LINE.cast_signed() == 0)
        {
            (row >= LONG_ROW || streams.lines(row, &plane.axes))
                && (streams_pages()
                    || joins(simd) && unit <= SHORT_UNIT
                    || plane.columns.first().is_none_or(|axis| !streams.whole_pages(axis.dst)))
        } else {
            let (most, least) = if joins(simd) {
                ((STRIPS_TILE.1 / unit).min(JOINED_COLUMNS), JOINED_ROW)
            } else {
                ((UNEVEN_BYTES / unit).min(UNEVEN_COLUMNS), LONG_ROW)
            };
            columns = Group::new(&plane.columns, most);
            row >= least
        };
        let strips = streamed
            && touch(&rows.dst, unit)
            && touch(&columns.src, unit)
            && columns.src.len() >= edge;
        strips.then(|| Self::around(unit, Way::Strips(Some(simd)), rows, columns, plane, true))
    }

    /// A plan with the loops around its groups.
    fn around(
        unit: usize,
        way: Way,
        rows: Group,
        columns: Group,
        plane: Plane,
        streams: bool,
    ) -> Self {
        let (rows_touch, columns_touch) = (touch(&rows.dst, unit), touch(&columns.src, unit));
        let row = rows.dst.len() * unit;
        let rows_join = rows_touch && rows.block == rows.axis.extent && touch(&columns.dst, row);
        let groups = [(rows.axis, rows.block), (columns.axis, columns.block)];
        let all = groups.into_iter().chain(plane.axes.into_iter().map(|axis| (axis, 1)));
        let of_source = matches!(way, Way::Strips(_) | Way::OrderedUnits | Way::OrderedRuns);
        let (loops, extents) = loops(all, of_source);
        let start = plane.start;
        Self {
            unit,
            inner: None,
            way,
            loops,
            extents,
            rows,
            columns,
            start,
            rows_touch,
            columns_touch,
            rows_join,
            streams,
        }
    }
}

impl Streams {
    /// Nothing is streamed.
    #[cfg(test)]
    pub(super) const NONE: Self = Self {
        short: false,
        long: false,
        cut: false,
        shuffled: false,
        start: Start::Uneven,
        pieces: None,
    };

    /// Whether a step of the destination moves by whole pages of the memory.
    fn whole_pages(self, step: isize) -> bool {
        let bytes = match self.pieces {
            Some((shift, pitch)) => (step >> shift) * pitch + (step & ((1 << shift) - 1)),
            None => step,
        };
        bytes % PAGE.cast_signed() == 0
    }

    /// Whether a step of the destination leads to another piece.
    fn leaves_piece(self, step: isize) -> bool {
        self.pieces.is_some_and(|(shift, _)| step >> shift != 0)
    }

    /// Whether runs of so many bytes along the axes are whole cache lines.
    fn lines(self, run: usize, axes: &[PlanAxis]) -> bool {
        let line = |bytes: usize| bytes.is_multiple_of(LINE);
        self.start == Start::Line
            && line(run)
            && axes.iter().all(|axis| line(axis.dst.unsigned_abs()))
    }
}

/// Units along the edge of a square that is transposed in registers, where there can be one.
fn edge(unit: usize, simd: bool) -> Option<usize> {
    match unit {
        1 | 2 | 4 | 8 => Some(16 / unit),
        16 if simd => Some(4),
        _ => None,
    }
}

/// The innermost axes whose units fill as many bytes on both sides, in two orders: the bytes, how they are permuted, and
/// the axes around them.
fn dense(axes: &[PlanAxis], unit: usize) -> Option<(usize, Inner, SmallVec<[PlanAxis; 8]>)> {
    let (mut reads, mut best) = (vec![0], None);
    for (number, axis) in axes.iter().enumerate().rev() {
        let bytes = reads.len() * unit;
        if axis.dst != bytes.cast_signed() || bytes * axis.extent > SMALL {
            break;
        }
        let steps = 0..axis.extent.cast_signed();
        reads = steps.flat_map(|n| reads.iter().map(move |read| read + n * axis.src)).collect();
        let bytes = reads.len() * unit;
        let mut sorted = reads.clone();
        sorted.sort_unstable();
        if bytes.is_power_of_two() && touch(&sorted, unit) {
            let place = |byte: usize| {
                let (first, byte) = (byte / bytes * bytes, byte % bytes);
                first + reads[byte / unit].cast_unsigned() + byte % unit
            };
            best = Some((bytes, std::array::from_fn(|byte| place(byte) as u8), number));
        }
    }
    best.map(|(bytes, inner, number)| (bytes, inner, axes[..number].into()))
}

/// Whether units at these offsets lie side by side.
fn touch(offsets: &[isize], unit: usize) -> bool {
    offsets.iter().enumerate().all(|(n, &offset)| offset == (n * unit).cast_signed())
}

/// Loops over axes in blocks of so many steps, and the extents of the axes.
///
/// In the order of the source each axis is one loop, as [`in_order`] sorts them. Else long axes become loops of several
/// levels, and what is nearest on either side runs innermost, so that lines and pages of both sides are used up while
/// they are at hand.
fn loops(
    axes: impl Iterator<Item = (PlanAxis, usize)>,
    of_source: bool,
) -> (SmallVec<[Loop; 16]>, SmallVec<[usize; 8]>) {
    let (mut loops, mut extents): (SmallVec<[Loop; 16]>, _) = (SmallVec::new(), SmallVec::new());
    for (number, (axis, mut step)) in axes.enumerate() {
        extents.push(axis.extent);
        while step < axis.extent {
            let steps = step.cast_signed();
            let (src, dst) = (axis.src * steps, axis.dst * steps);
            loops.push(Loop { axis: number, step, src, dst });
            step = if of_source { axis.extent } else { step * LEVEL };
        }
    }
    if of_source {
        return (in_order(loops, &extents), extents);
    }
    loops.sort_by_key(|of| std::cmp::Reverse(of.src.abs().min(of.dst.abs())));
    (loops, extents)
}

/// Sorts loops in the order of the source, but for those that come back to pages of the destination after more pages than
/// the processor keeps addresses of: they run inside of the loops that lead from page to page.
fn in_order(mut loops: SmallVec<[Loop; 16]>, extents: &[usize]) -> SmallVec<[Loop; 16]> {
    loops.sort_by_key(|of| of.src.abs());
    let (mut inner, mut pages): (SmallVec<[Loop; 16]>, usize) = (SmallVec::new(), 1);
    while !loops.is_empty() {
        let times = |of: &Loop| extents[of.axis].div_ceil(of.step);
        let within = |of: &Loop| of.dst.unsigned_abs() < PAGE;
        let next = if within(&loops[0]) || pages * times(&loops[0]) <= PAGES {
            0
        } else {
            loops.iter().position(within).unwrap_or(0)
        };
        let next = loops.remove(next);
        if !within(&next) {
            pages = pages.saturating_mul(times(&next));
        }
        inner.push(next);
    }
    inner.reverse();
    inner
}
