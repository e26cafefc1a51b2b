//! Plans the copy of a box: the order in which its units are copied, and the code that moves them.
//!
//! If the axes have different orders in the source and in the destination, a copy in the order of
//! either of them uses caches and registers badly. Therefore a plan cuts the box into tiles that
//! fit the cache. One side of a tile lies along cache lines of the destination, and the other along
//! cache lines of the source. The plan also chooses the *mover*, the code that copies a tile.
//!
//! A tile is a matrix of *units*, which are runs of bytes that are contiguous on both sides, such
//! as elements. Along its *rows*, the destination is contiguous if possible, and along its
//! *columns* the source. To *stream* is to write whole cache lines with non-temporal stores. A
//! thread may write several *slices* of the destination that are not next to each other.

use std::fmt;

use smallvec::SmallVec;

use super::{
    machine::Machine,
    pattern::FEW_LOADS,
    pieces::{Destination as _, DestinationSlices},
    plane::{Group, PlanAxis, Plane, is_narrow, merged, spread},
    shuffle::Shuffle,
    simd::{Inner, SHORT_UNIT, Simd},
    stream::{LINE, PAGE},
};
use crate::nest::gcd;

// The sizes below are in bytes, unless their names contain "units", "columns" or "pages". A pair of
// sizes is a tile: its length along the destination, and its length along the source. The values
// were chosen with the everyday shapes and the transposes of the TTC benchmark, in `cargo bench
// --bench host`.

/// The tile of matrices, for all sizes of units. Its runs are long on both sides, so that few lines
/// are shared with other tiles, and the hardware prefetcher can predict the next lines. With tiles
/// of 256 by 128 bytes, units of more than 16 bytes have three quarters of the rate. With 1024 by
/// 1024 or 2048 by 1024, matrices of small units lose a tenth (`benches/NOTES.md`, "One tile"). For
/// units below a byte, the second length is in units.
const TILE: (usize, usize) = (1 << 11, 1 << 9);

/// The size of tiles that are not matrices: rows that byte shuffles fill, units in the order of the
/// source, and rows that are streamed in the order of the source. Matrices with short rows have as
/// many columns as fill this size.
const ROWS_TILE: usize = 1 << 14;

/// The length along the source of a tile that streams whole lines in the order of the source. Runs
/// of the source may be longer than the tile, because the hardware prefetcher loads the rest.
const STRIPS_COLUMN: usize = 1 << 11;

/// The least number of units along the destination of a tile that streams whole lines in the order
/// of the source, if its rows fill whole lines and no column leaves its slice. Longer rows would
/// depart from the order of the source, or shorten its runs. Rows are longer if the columns lie in
/// several slices, because finding the slice of each column takes the time of moving a few units.
const SHORT_ROW_UNITS: usize = 32;

/// The approximate greatest number of units in a row of a tile of [`ROWS_TILE`] bytes. A plan lists
/// the places of all units of a row, which takes 16 bytes for each.
const MOST_ROW_UNITS: usize = 1 << 13;

/// The longest tile along the source, and the greatest number of columns, if the columns have
/// different alignments to cache lines. The limits are low because some incomplete lines of each
/// column wait in the L1 cache.
const UNEVEN_BYTES: usize = 1 << 9;
const UNEVEN_COLUMNS: usize = 1 << 7;

/// The greatest number of columns with different alignments if their lines are joined in registers.
/// The limit is higher because only one line of each column waits in the L1 cache.
const JOINED_COLUMNS: usize = 1 << 9;

/// The shortest row that is streamed with lines joined in registers.
const JOINED_ROW: usize = 1 << 10;

/// The greatest number of runs in a row of a tile that is copied run by run, and the size of such a
/// tile along the source. The hardware prefetcher can follow this many runs. Between two
/// consecutive runs of a row, at most the size of a tile is copied, so the end of the earlier run
/// is still in the L2 cache.
const RUNS: usize = 1 << 9;
const RUNS_TILE: usize = 1 << 16;

/// The greatest number of pages that are written in turn. The processor caches the address
/// translations of no more pages than this.
const PAGES: usize = 1 << 9;

/// The shortest row that is streamed in a tile whose rows are not contiguous. Shorter rows consist
/// mostly of partial lines: `f16[65,31,2982]` to `T(4,16)`.
const LEAST_STREAMED: usize = 1 << 8;

/// The shortest row that may be streamed although its first and last lines are partial.
const LONG_ROW: usize = 1 << 11;

/// The smallest unit that may be streamed although its first and last lines are partial.
const LONG_UNIT: usize = 1 << 8;

/// The size of the largest unit that counts as small.
const SMALL: usize = 16;

/// The smallest matrix of units of 3, 5, 6, 7 or 9 to 15 bytes that is transposed, in bytes.
const LEAST_FIELDS: usize = 1 << 12;

/// The shortest row that is filled by a loop of byte shuffles of its own, in bytes. Shorter rows
/// are filled by patterns, which take less time to start.
const SHORT_ROW: usize = 1 << 10;

/// The number of blocks of one size in a block of the next larger size. Nested blocks of several
/// sizes fit every level of cache, and the cache of page addresses, without depending on their
/// exact sizes.
const LEVEL: usize = 16;

/// The plan of a box: loops around tiles.
///
/// Rows and columns can span several axes, which are flattened into one, so that whole cache lines
/// are used on both sides even if each axis is short.
///
/// ```text
/// axes (64: 4 → 8192) (2048: 256 → 4) of 4-byte units, extent: source → destination
/// rows: 512 steps of 256 → 4     columns: 64 steps of 4 → 8192     loops: 4 over blocks of rows
/// ```
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct TilePlan {
    /// The length of a unit, in bytes. If the units of the nest are not whole bytes of the same
    /// size on both sides, the length counts these units instead.
    pub(super) unit: usize,
    /// The order into which each 16 bytes of the source are brought, if it changes. Only
    /// [`Mover::Transpose`] and [`Mover::Strips`] support this.
    pub(super) inner: Option<Inner>,
    /// The code that moves a tile.
    pub(super) mover: Mover,
    /// The loops around a tile, outermost first.
    pub(super) loops: SmallVec<[Loop; 16]>,
    /// The extents of all axes: first the axes of the rows and of the columns, and then the
    /// remaining loops.
    pub(super) extents: SmallVec<[usize; 8]>,
    /// The axes along which the destination is contiguous if possible.
    pub(super) rows: Group,
    /// The axes along which the source is contiguous if possible.
    pub(super) columns: Group,
    /// The offsets of the box's first unit in the source and in the destination. They are not 0 if
    /// an axis is reversed.
    pub(super) start: (isize, isize),
    /// True if the units of a row are contiguous in the destination.
    pub(super) rows_touch: bool,
    /// True if the units of a column are contiguous in the source.
    pub(super) columns_touch: bool,
    /// True if the rows of a tile are contiguous in the destination, so that the tile is one run.
    pub(super) rows_join: bool,
    /// True if the destination is written with non-temporal stores.
    pub(super) streams: bool,
}

/// The alignment of a box to the cache lines of the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineAlignment {
    /// The slices of the destination start at different offsets from a cache-line boundary.
    Uneven,
    /// The slices have the same alignment, and the box begins inside a line.
    Inside,
    /// The slices have the same alignment, and the box begins at the start of a line.
    Line,
}

/// The kinds of copies that use non-temporal stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Streams {
    /// The processor model, whose preferences decide further details.
    pub(super) machine: &'static Machine,
    /// True if units of at most [`SMALL`] bytes are streamed.
    pub(super) short: bool,
    /// True if longer units may be streamed if they fill whole lines, or have at least
    /// [`LONG_UNIT`] bytes.
    pub(super) long: bool,
    /// True if longer units are streamed even if they begin or end inside a line.
    pub(super) cut: bool,
    /// The alignment of the box to cache lines.
    pub(super) start: LineAlignment,
    /// The number of units in a byte, of the side with narrower units. It is 1 for longer units.
    pub(super) per_byte: usize,
    /// The layout of addresses if the destination has several slices: the number of low bits, which
    /// are the offset in a slice, and the distance between two slices in bytes.
    pub(super) pieces: Option<(u32, isize)>,
}

/// The code that moves a tile.
#[derive(Clone, Debug)]
pub(super) enum Mover {
    /// Squares are transposed in registers.
    Transpose(Option<Simd>),
    /// Rows are assembled in registers from a few loads.
    Shuffle(Shuffle),
    /// Squares are transposed in strips that fill whole cache lines of every column. The lines are
    /// streamed.
    Strips(Option<Simd>),
    /// Units are copied separately, in the order of the destination.
    Units,
    /// Units are copied separately, in the order of the source.
    OrderedUnits,
    /// Units of a row, which are long runs, are copied in the order of the source. A cache line
    /// that two of them share is put together and written once.
    OrderedRuns,
}

/// A loop over the blocks of an axis, or over smaller blocks inside a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loop {
    /// The index of the axis in [`TilePlan::extents`].
    pub(super) axis: usize,
    /// The number of steps of the axis in a block.
    pub(super) step: usize,
    /// The distance between two blocks in the source.
    pub(super) src: isize,
    /// The distance between two blocks in the destination.
    pub(super) dst: isize,
}

impl TilePlan {
    /// Returns the plan of a box with the given axes, outermost first, in units of `unit` bytes. If
    /// `simd` is set, rows may be filled by shuffle instructions.
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
        // Units that together fill the same contiguous bytes on both sides, but in different
        // orders, are treated as one larger unit.
        if let Some((inner_unit, inner, outer)) = simd.and_then(|_| dense(&axes, unit)) {
            let plan = Self::of_axes(outer, inner_unit, simd, streams);
            if matches!(plan.mover, Mover::Transpose(_) | Mover::Strips(_)) {
                return Self { inner: Some(inner), ..plan };
            }
        }
        // Units that are interleaved in the source become longer units if 16 bytes of the source
        // have whole units. The columns of all tiles must have whole groups of them.
        if let Some(Woven { unit: longer, inner, axes: outer, group, present }) =
            simd.and_then(|_| woven(&axes, unit))
        {
            let plan = Self::of_axes(outer, longer, simd, streams);
            let columns = &plan.columns;
            let in_a_tile = columns.inner > 1 || columns.block == columns.axis.extent;
            let whole = present == group && columns.src.len().is_multiple_of(group);
            let fits = match plan.mover {
                Mover::Transpose(Some(simd)) if simd.transposes_narrow() => {
                    whole || columns.src.len() == present
                }
                Mover::Transpose(_) | Mover::Strips(_) => whole,
                _ => false,
            };
            if fits && in_a_tile {
                return Self { inner: Some(inner), ..plan };
            }
        }
        Self::of_axes(axes, unit, simd, streams)
    }

    /// Returns true if shuffled rows can be streamed directly from registers. This is possible if
    /// all rows have the same alignment, and if the shuffle can start at the first line boundary.
    /// The first row is written to byte `to`.
    pub(super) fn streams_rows(
        &self,
        shuffle: &Shuffle,
        of: &mut DestinationSlices,
        to: isize,
    ) -> bool {
        let loops = self.loops.iter().map(|around| around.dst);
        let mut steps = loops.chain(self.columns.dst.iter().copied());
        steps.all(|step| step % LINE.cast_signed() == 0)
            && of.are_even()
            && shuffle.streams_after(of.bytes(to, 1).as_ptr().addr().wrapping_neg() % LINE)
    }

    /// Returns true if a pattern may be faster than this plan, because the units are short and are
    /// copied one by one, or selected in short rows or from many loads.
    pub(super) fn may_be_pattern(&self, simd: Simd) -> bool {
        self.unit < simd.width()
            && match &self.mover {
                Mover::Units => true,
                Mover::Shuffle(shuffle) => !self.selects_long_rows() || shuffle.terms() > FEW_LOADS,
                _ => false,
            }
    }

    /// Returns true if units of 1, 2, 4 or 8 bytes are copied one by one although registers could
    /// transpose them.
    pub(super) fn copies_single_units(&self) -> bool {
        matches!(self.mover, Mover::Units) && matches!(self.unit, 1 | 2 | 4 | 8)
    }

    /// Returns true if the registers of long rows are selected from loads.
    pub(super) fn selects_long_rows(&self) -> bool {
        let row = self.rows.dst.len() * self.unit;
        matches!(self.mover, Mover::Shuffle(_)) && row >= SHORT_ROW
    }

    /// Returns the approximate size of the plan, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let offsets = |group: &Group| size_of_val(&group.src[..]) + size_of_val(&group.dst[..]);
        let mover = match &self.mover {
            Mover::Shuffle(shuffle) => shuffle.bytes(),
            _ => 0,
        };
        size_of::<Self>() + offsets(&self.rows) + offsets(&self.columns) + mover
    }

    /// Returns the plan for axes that are merged already, without a change of the bytes inside
    /// units.
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
            // If both sides have the same order, the hardware prefetcher follows the writes of
            // ordinary stores.
            let descends = |pair: &[PlanAxis]| pair[0].src.abs() >= pair[1].src.abs();
            let ordered = axes.windows(2).all(descends);
            let streamed = streams.cut || streams.lines(unit, &axes) || !ordered;
            return Self::of_units(axes, unit, streamed);
        }
        let streamed = if unit > SMALL { streams.cut } else { streams.short };
        if let Some(simd) = simd.filter(|_| streamed)
            && let Some(plan) = Self::of_strips(&axes, unit, simd, streams)
        {
            return plan;
        }
        // Units below a byte go through two buffers, so that their rows have half the length.
        let tile = match streams.per_byte {
            1 => TILE,
            per_byte => (TILE.0 / 2 * per_byte, TILE.1),
        };
        let mut plane = Plane::new(axes, unit, tile);
        while plane.is_joined_better(simd) {
            plane.join();
        }
        let rows = Group::new(&plane.rows, (tile.0 / unit).max(1));
        let row = rows.dst.len() * unit;
        // If columns are close together in the source, the bytes between them count as part of the
        // tile.
        let close = |axis: &&PlanAxis| (unit..LINE).contains(&axis.src.unsigned_abs());
        let column = plane.columns.first().filter(close);
        let column = column.map_or(unit, |axis| axis.src.unsigned_abs());
        let columns = Group::new(&plane.columns, (tile.1 / column).max(ROWS_TILE / row));
        let (rows_touch, columns_touch) = (touch(&rows.dst, unit), touch(&columns.src, unit));
        let square = edge(unit, simd).is_some_and(|edge| {
            let (rows, columns) = (rows.dst.len(), columns.src.len());
            let fits = rows.min(columns) >= edge || is_narrow(rows, columns, unit, simd);
            // Patterns select units of other sizes from small matrices faster.
            let large = unit.is_power_of_two() || rows * columns * unit >= LEAST_FIELDS;
            rows_touch && columns_touch && fits && large
        });
        let shuffle = simd.filter(|_| rows_touch && !square).and_then(|simd| {
            // Columns that are pages apart share no cache lines, so long rows are better than
            // several columns.
            let far = plane.columns.first().is_none_or(|axis| axis.src.unsigned_abs() >= PAGE);
            let side_by_side = if far { 1 } else { columns.dst.len() };
            let most = (ROWS_TILE / unit).min(MOST_ROW_UNITS);
            let length = (most / side_by_side).max(rows.dst.len());
            // Make rows a whole number of lines, so that all have the alignment of the first row,
            // unless that takes longer rows than fit a tile.
            let lines = LINE / gcd(LINE, rows.inner * unit) * rows.inner;
            let lines = if lines * unit > ROWS_TILE { 1 } else { lines };
            let long = Group::new(&plane.rows, length.next_multiple_of(lines));
            let offsets = &long.src[..long.inner];
            let shuffle = Shuffle::new(simd, unit, offsets, long.axis.src, long.block)?;
            let few = (most / long.dst.len()).max(1);
            let columns = if far { Group::new(&plane.columns, few) } else { columns.clone() };
            Some((long, columns, shuffle))
        });
        let (rows, columns, mover, streamed) = if let Some((rows, columns, shuffle)) = shuffle {
            (rows, columns, Mover::Shuffle(shuffle), streamed)
        } else {
            let mover = if square { Mover::Transpose(simd) } else { Mover::Units };
            // Short rows leave partial lines, which non-temporal stores do not fill.
            let joined = touch(&columns.dst, rows.dst.len() * unit);
            let lines = streams.lines(row, &plane.axes) && streams.lines(row, &plane.columns);
            let streamed = streamed && (joined || lines || row >= LEAST_STREAMED);
            (rows, columns, mover, streamed)
        };
        Self::around(unit, mover, rows, columns, plane, streamed)
    }

    /// Returns a plan of units in the order of the source, with or without streaming.
    fn of_units(axes: SmallVec<[PlanAxis; 8]>, unit: usize, streamed: bool) -> Self {
        let plane = Plane::of_columns(axes, unit, ROWS_TILE);
        let rows = Group::new(&plane.rows, 1);
        let columns = Group::new(&plane.columns, ROWS_TILE / unit);
        Self::around(unit, Mover::OrderedUnits, rows, columns, plane, streamed)
    }

    /// Returns a plan that streams runs in the order of the source although they begin or end
    /// inside cache lines. Returns `None` if `streams` excludes runs of this kind or length, if the
    /// runs fill whole lines, or if they do not form long rows in the destination.
    fn of_runs(axes: &[PlanAxis], unit: usize, streams: Streams) -> Option<Self> {
        if !streams.cut || unit < LINE || streams.lines(unit, axes) {
            return None;
        }
        let plane = Plane::new(axes.into(), unit, (LONG_ROW, RUNS_TILE));
        let rows = Group::new(&plane.rows, RUNS);
        let columns = Group::new(&plane.columns, (RUNS_TILE / unit).min(PAGES));
        let reads_forward = plane.rows.iter().all(|axis| axis.src >= 0);
        let runs = reads_forward && touch(&rows.dst, unit) && rows.dst.len() * unit >= LONG_ROW;
        runs.then(|| Self::around(unit, Mover::OrderedRuns, rows, columns, plane, true))
    }

    /// Returns a plan that transposes strips and streams whole lines, or `None` if the box is not
    /// suitable. Lines are stored from registers if all columns have the same alignment, or if the
    /// processor can join lines in registers, and otherwise through a buffer.
    fn of_strips(axes: &[PlanAxis], unit: usize, simd: Simd, streams: Streams) -> Option<Self> {
        let edge = simd.edge(unit).filter(|_| unit.is_power_of_two())?;
        let of = |row_bytes| {
            let plane = Plane::new(axes.into(), unit, (row_bytes, STRIPS_COLUMN));
            let rows = Group::new(&plane.rows, (ROWS_TILE / unit).min(MOST_ROW_UNITS));
            (plane, rows)
        };
        let (plane, rows) = (streams.start == LineAlignment::Line)
            .then(|| of(SHORT_ROW_UNITS * unit))
            .filter(|(plane, rows)| {
                let pieces = plane.columns.iter().any(|axis| streams.leaves_piece(axis.dst));
                !pieces && streams.lines(rows.dst.len() * unit, &plane.axes)
            })
            .unwrap_or_else(|| of(TILE.0));
        let mut columns = Group::new(&plane.columns, STRIPS_COLUMN / unit);
        let row = rows.dst.len() * unit;
        let streamed = if streams.start != LineAlignment::Uneven
            && columns.dst.iter().all(|offset| offset % LINE.cast_signed() == 0)
        {
            (row >= LONG_ROW || streams.lines(row, &plane.axes))
                && (streams.machine.streams_pages
                    || simd.joins_lines() && unit <= SHORT_UNIT
                    || plane.columns.first().is_none_or(|axis| !streams.whole_pages(axis.dst)))
        } else {
            let (most, least) = if simd.joins_lines() {
                ((STRIPS_COLUMN / unit).min(JOINED_COLUMNS), JOINED_ROW)
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
        strips.then(|| Self::around(unit, Mover::Strips(Some(simd)), rows, columns, plane, true))
    }

    /// Returns a plan with loops around tiles of the given rows and columns.
    fn around(
        unit: usize,
        mover: Mover,
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
        let of_source =
            matches!(mover, Mover::Strips(_) | Mover::OrderedUnits | Mover::OrderedRuns);
        let (loops, extents) = loops(all, of_source);
        let start = plane.start;
        Self {
            unit,
            inner: None,
            mover,
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

impl fmt::Display for TilePlan {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let name = match self.mover {
            Mover::Transpose(_) => "transpose in registers",
            Mover::Shuffle(_) => "rows selected from a few loads",
            Mover::Strips(_) => "transpose in streamed strips",
            Mover::Units => "units one by one",
            Mover::OrderedUnits => "units in the order of the source",
            Mover::OrderedRuns => "runs in the order of the source",
        };
        write!(
            f,
            "{name}: units of {} in tiles of {} by {}{}",
            self.unit,
            self.rows.dst.len(),
            self.columns.src.len(),
            if self.streams { ", streamed" } else { "" }
        )?;
        self.loops.iter().try_for_each(|&Loop { axis, step, src, dst }| {
            let times = self.extents[axis].div_ceil(step);
            write!(f, ", {times} times (source {src:+}, destination {dst:+})")
        })
    }
}

impl Streams {
    /// Returns the choice to stream no copy at all.
    pub(super) fn none(machine: &'static Machine) -> Self {
        Self {
            machine,
            short: false,
            long: false,
            cut: false,
            start: LineAlignment::Uneven,
            per_byte: 1,
            pieces: None,
        }
    }

    /// Returns true if a destination stride of `step` is a whole number of memory pages.
    fn whole_pages(self, step: isize) -> bool {
        let bytes = match self.pieces {
            Some((shift, pitch)) => (step >> shift) * pitch + (step & ((1 << shift) - 1)),
            None => step,
        };
        bytes % PAGE.cast_signed() == 0
    }

    /// Returns true if a destination stride of `step` leads to another slice.
    fn leaves_piece(self, step: isize) -> bool {
        self.pieces.is_some_and(|(shift, _)| step >> shift != 0)
    }

    /// Returns true if a copy fills whole cache lines: the box begins at the start of a line, and
    /// the length `run` and all destination strides of `axes` are multiples of a line.
    fn lines(self, run: usize, axes: &[PlanAxis]) -> bool {
        let line = |bytes: usize| bytes.is_multiple_of(LINE);
        self.start == LineAlignment::Line
            && line(run)
            && axes.iter().all(|axis| line(axis.dst.unsigned_abs()))
    }
}

/// Returns the number of units along the edge of a square that can be transposed, with `simd` or
/// without. Returns `None` if there is no square for this unit size.
fn edge(unit: usize, simd: Option<Simd>) -> Option<usize> {
    match (unit, simd) {
        (_, Some(simd)) => simd.edge(unit),
        (1 | 2 | 4 | 8, None) => Some(16 / unit),
        _ => None,
    }
}

/// Finds innermost axes whose units together fill the same number of contiguous bytes on both
/// sides, but in different orders. Returns that number, the permutation of the bytes, and the
/// remaining axes.
fn dense(axes: &[PlanAxis], unit: usize) -> Option<(usize, Inner, SmallVec<[PlanAxis; 8]>)> {
    let (mut reads, mut best) = (vec![0], None);
    for (number, axis) in axes.iter().enumerate().rev() {
        let bytes = reads.len() * unit;
        if axis.dst != bytes.cast_signed() || bytes * axis.extent > SMALL {
            break;
        }
        spread(&mut reads, axis.extent, axis.src);
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

/// Short units that become longer ones if the bytes of the source are permuted.
struct Woven {
    /// The length of the longer unit, in bytes.
    unit: usize,
    /// The permutation after which 16 bytes of the source are whole units.
    inner: Inner,
    /// The axes of the longer units, as if the source had been permuted.
    axes: SmallVec<[PlanAxis; 8]>,
    /// The number of longer units whose bytes are interleaved, and the number of these that are
    /// copied.
    group: usize,
    present: usize,
}

/// Finds units that are contiguous in the destination, and that are interleaved with others in the
/// source. This is the case between tiles such as `T(8,128)(2,1)` whose rows are different
/// dimensions.
///
/// ```text
/// axes (4: 1 → 400) (4: 4 → 1), as extent: source → destination, in bytes
/// source:  a0 b0 c0 d0 a1 b1 c1 d1 a2 …  →  units of 4 bytes: a0 a1 a2 a3, b0 b1 …
/// ```
fn woven(axes: &[PlanAxis], unit: usize) -> Option<Woven> {
    let (run, outer) = axes.split_last()?;
    let step = unit.cast_signed();
    let place = outer.iter().position(|axis| axis.src == step)?;
    let group = usize::try_from(run.src).ok()? / unit;
    let (longer, block) = (unit * run.extent, unit * run.extent * group);
    let is_block = (run.src, run.dst) == (step * group.cast_signed(), step)
        && outer[place].extent <= group
        && longer.is_power_of_two()
        && longer <= 8
        && group.is_power_of_two()
        && block <= SMALL;
    is_block.then(|| {
        let from = |byte: usize| {
            let (first, of_block) = (byte / block * block, byte % block);
            let (number, of_unit) = (of_block / longer, of_block % longer);
            first + (of_unit / unit * group + number) * unit + of_unit % unit
        };
        let mut axes: SmallVec<[PlanAxis; 8]> = outer.into();
        axes[place].src = longer.cast_signed();
        let inner = std::array::from_fn(|byte| from(byte) as u8);
        Woven { unit: longer, inner, axes, group, present: outer[place].extent }
    })
}

/// Returns true if units at these offsets are contiguous.
fn touch(offsets: &[isize], unit: usize) -> bool {
    offsets.iter().enumerate().all(|(n, &offset)| offset == (n * unit).cast_signed())
}

/// Returns the loops over the blocks of axes, and the extents of the axes.
///
/// In the order of the source, each axis is one loop, in the order of [`sorted_by_source`].
/// Otherwise long axes become loops of several levels, and the loop with the smallest distance on
/// either side is innermost, so that lines and pages of both sides are used while they are in the
/// caches.
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
        return (sorted_by_source(loops, &extents), extents);
    }
    loops.sort_by_key(|of| std::cmp::Reverse(of.src.abs().min(of.dst.abs())));
    (loops, extents)
}

/// Sorts loops in the order of the source, with one exception: if the inner loops would write to
/// more than [`PAGES`] pages of the destination, a loop whose destination steps are shorter than a
/// page first moves inside, because consecutive steps of such a loop often stay on one page.
fn sorted_by_source(mut loops: SmallVec<[Loop; 16]>, extents: &[usize]) -> SmallVec<[Loop; 16]> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A plan lists the offsets of a tile, so a tile must not grow until odd rows fill whole lines.
    #[test]
    fn tiles_of_odd_rows_stay_small() {
        let machine = Machine::here();
        let axes = [(1108, 1024, 511), (511, -1, 1)];
        let axes = axes.map(|(extent, src, dst)| PlanAxis { extent, src, dst });
        for simd in Simd::all(machine).map(Some).chain([None]) {
            let plan = TilePlan::new(axes, 1, simd, Streams::none(machine));
            assert!(plan.bytes() < 1 << 17, "{plan}: {} bytes", plan.bytes());
        }
    }
}
