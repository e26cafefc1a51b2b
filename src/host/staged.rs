//! Copies through a buffer that stays in the first-level cache.
//!
//! A *unit* is the data that is moved at a time, often one element. If units of one cache line of
//! the source belong to distant places of the destination, a copy in the order of the destination
//! returns to the line once for each unit. By then, rows that are far apart have evicted it. So the
//! box, a range of loop steps, is copied tile by tile, in two passes. The first one copies each
//! *piece* of the source, which is at most a few lines long, to a buffer, right after the piece
//! before it. The second one copies from the buffer, by a plan (loops around a transpose, for
//! example) or by a pattern (a block of bytes that is put together in the same way again and
//! again).
//!
//! Units below a byte are unpacked to bytes in the first pass. The second one moves the bytes to
//! another buffer, and a third one packs them, run by run of the destination.
//!
//! ```text
//! s32[2,96,14,35] with blocks of 32 in the first dimension, of which 2 are used, to the default
//! layout: pieces of 8 bytes, 128 apart  →  2046 of them without gaps  →  2 runs of 8184 bytes
//! ```

use std::fmt;

use smallvec::{SmallVec, smallvec};

use super::{
    bits::{Bits, CYCLES_OF_BYTES},
    box_copy::BoxCopy,
    machine::Machine,
    packed::pack,
    pattern::{BlockPart, BlockValue, Pattern, blocks_of_axis, scale_of},
    pieces::{Destination as _, DestinationSlices},
    plan::{Mover, Streams, TilePlan},
    plane::{PlanAxis, merged, spread},
    simd::{PatternLoop, PatternSource, Simd},
    stream::LINE,
    tile::byte_index,
};

/// The limits by which a [`TileChoice`] chooses pieces, runs and tiles, in units of the buffer.
#[derive(Clone, Copy)]
struct TileSizes {
    /// The greatest length of a piece.
    piece: usize,
    /// The length at which a run of the destination is long enough and need not grow.
    run: usize,
    /// The greatest size of a tile.
    tile: usize,
    /// The distance between units of a piece up to which any part of its bytes may be unused.
    step: usize,
}

/// The limits for units of whole bytes. A longer piece needs no buffer, because a plan without one
/// also reads it line by line. Shorter runs leave more lines of the destination to be completed by
/// later tiles. A larger tile does not fit the first-level cache, and a smaller one reads less of
/// the source in its order: `s32[2,96,14,35]` from blocks of 32 in the first dimension. If four
/// units of a line are used, the buffer already pays off: one channel of blocks of eight,
/// `onednn:s8[1,255,55,112] Acdb8a`.
const WHOLE: TileSizes =
    TileSizes { piece: 2 * LINE, run: 4 * LINE, tile: 1 << 14, step: LINE / 4 };

/// The limits for units below a byte, each of which takes a byte of the buffer. If pieces and runs
/// were shorter, more time would go to the bytes at their ends, which they share with their
/// neighbours: `s4[96,12,118]`.
const PACKED: TileSizes = TileSizes { piece: 1 << 9, run: 1 << 9, tile: 1 << 14, step: 0 };

/// The number of bytes of a piece that are copied at a time. The last copy may go past the end of a
/// piece, because later pieces overwrite the bytes of the buffer after it.
const PART: usize = 16;

/// A copy of a box through a buffer.
#[derive(Clone, Debug)]
pub(super) struct StagedCopy {
    /// The loops around a tile, outermost first. The last step of a loop overlaps the one before it
    /// if tiles do not divide the axis.
    loops: SmallVec<[PatternLoop; 8]>,
    gatherer: Gatherer,
    /// The number of bytes of the buffer.
    size: usize,
    /// The offset of the tile's first unit in the buffer, in bytes.
    first: isize,
    mover: TileMover,
    /// The third pass, if units are smaller than a byte: the offset in the destination of each run
    /// that is packed, in the order of the second buffer, and the length of a run.
    packed: Option<(Vec<isize>, usize)>,
}

/// The code that copies the pieces of a tile to the buffer.
#[derive(Clone, Debug)]
enum Gatherer {
    /// The offset of each piece in the source, in the order of the buffer, and the length of a
    /// piece.
    Pieces(Vec<isize>, usize),
    /// A pattern that copies the units of pieces, without the bytes between them.
    Pattern(Box<Pattern>),
}

/// The code that moves a tile from or to a buffer.
#[derive(Clone, Debug)]
pub(super) enum TileMover {
    Plan(Box<TilePlan>),
    Pattern(Box<Pattern>),
}

/// The buffers of a [`StagedCopy`].
#[derive(Default)]
pub(super) struct StagingBuffers {
    pub(super) source: Vec<u8>,
    pub(super) destination: Vec<u8>,
}

impl StagedCopy {
    /// Returns the copy of a box with the given axes, outermost first, in units of `unit` bytes.
    ///
    /// Returns `None` if the units of a piece do not belong to distant places of the destination,
    /// because a buffer then gains nothing.
    pub(super) fn of_bytes(
        machine: &'static Machine,
        axes: impl IntoIterator<Item = PlanAxis>,
        unit: usize,
        simd: Option<Simd>,
    ) -> Option<Self> {
        let axes = merged(axes);
        let tile = TileChoice::new(&axes, unit, WHOLE);
        (tile.reuse >= 2).then(|| Self::of_tile(machine, &axes, (unit, simd), &tile, false))
    }

    /// Returns the copy of a box of units below a byte, which are unpacked to bytes in the buffer.
    pub(super) fn of_packed(
        machine: &'static Machine,
        axes: impl IntoIterator<Item = PlanAxis>,
    ) -> Self {
        let axes = merged(axes);
        let tile = TileChoice::new(&axes, 1, PACKED);
        Self::of_tile(machine, &axes, (1, Simd::best(machine)), &tile, true)
    }

    fn of_tile(
        machine: &'static Machine,
        axes: &[PlanAxis],
        (unit, simd): (usize, Option<Simd>),
        tile: &TileChoice,
        packs: bool,
    ) -> Self {
        let loops = loops_around(axes, &tile.blocks);
        let (piece, low) = tile.piece(axes, unit);
        // In the buffer, pieces follow each other in the order of the source.
        let mut inner: SmallVec<[PlanAxis; 8]> = axes.into();
        for (axis, &block) in inner.iter_mut().zip(&tile.blocks) {
            axis.extent = block;
        }
        let mut order: SmallVec<[usize; 8]> =
            (0..axes.len()).filter(|&axis| axes[axis].src != 0).collect();
        order.sort_by_key(|&axis| axes[axis].src.abs());
        let units: usize = order
            .iter()
            .filter(|&&axis| tile.in_piece[axis])
            .map(|&axis| tile.blocks[axis])
            .product();
        let gaps = simd.filter(|_| !packs && units * unit < piece);
        let dense = gaps.and_then(|simd| dense(&inner, unit, simd, &order, &tile.in_piece));
        let (gatherer, size, first) = if let Some((pattern, axes, size)) = dense {
            inner = axes;
            (Gatherer::Pattern(Box::new(pattern)), size, LINE)
        } else {
            let mut pieces = vec![low];
            for &axis in order.iter().filter(|&&axis| !tile.in_piece[axis]) {
                inner[axis].src = (pieces.len() * piece).cast_signed();
                spread(&mut pieces, tile.blocks[axis], axes[axis].src);
            }
            let size = pieces.len() * piece;
            (Gatherer::Pieces(pieces, piece), size, LINE + low.unsigned_abs())
        };
        let packed = packs.then(|| {
            let mut order: SmallVec<[usize; 8]> = (0..axes.len()).collect();
            order.sort_by_key(|&axis| axes[axis].dst.abs());
            let (mut runs, mut length, mut size) = (vec![0], 1_usize, 1_isize);
            for &axis in &order {
                let (block, dst) = (tile.blocks[axis], axes[axis].dst);
                if runs.len() == 1 && (block == 1 || dst == length.cast_signed()) {
                    length *= block;
                } else {
                    spread(&mut runs, block, dst);
                }
                inner[axis].dst = size;
                size *= block.cast_signed();
            }
            (runs, length)
        });
        let mover = TileMover::new(machine, &inner, (unit, simd));
        Self { loops, gatherer, size, first: first.cast_signed(), mover, packed }
    }

    /// Copies a box of whole bytes from byte `from` of the source to address `to`. `room` provides
    /// the memory of the buffer.
    pub(super) fn run_bytes(
        &self,
        (source, from): (&[u8], isize),
        (destination, to): (&mut DestinationSlices, isize),
        room: &mut Vec<u8>,
    ) {
        room.resize(self.size + 2 * LINE, 0);
        each_tile(&self.loops, from, to, &mut |from, to| {
            match &self.gatherer {
                Gatherer::Pieces(pieces, length) => {
                    for (number, piece) in pieces.iter().enumerate() {
                        let to = LINE + number * length;
                        copy_piece(source, byte_index(from + piece), room, to, *length);
                    }
                }
                Gatherer::Pattern(pattern) => {
                    let source = PatternSource { image: source, at: from, scale: 1 };
                    let mut room = DestinationSlices::whole(room);
                    pattern.run(&[source], &mut room, LINE.cast_signed(), None);
                }
            }
            self.mover.run((room, self.first), (destination, to));
        });
    }

    /// Copies a box of units of at most a byte, from unit `from` of the source to unit `to` of the
    /// destination.
    pub(super) fn run_packed(
        &self,
        bits: Bits,
        (source, from): (&[u8], isize),
        (destination, to): (&mut DestinationSlices, isize),
        buffers: &mut StagingBuffers,
    ) {
        let (Some((runs, length)), Gatherer::Pieces(pieces, piece)) =
            (&self.packed, &self.gatherer)
        else {
            return;
        };
        let StagingBuffers { source: room, destination: turned } = buffers;
        room.resize(self.size + 2 * LINE, 0);
        turned.resize(runs.len() * length, 0);
        each_tile(&self.loops, from, to, &mut |from, to| {
            for (number, at) in pieces.iter().enumerate() {
                let start = LINE + number * piece;
                // Pass a multiple of eight bytes, because `unpack_past` may overwrite as many.
                let out = &mut room[start..start + piece.next_multiple_of(8)];
                bits.unpack_past(source, byte_index(from + at), (out, *piece));
            }
            self.mover.run((room, self.first), (&mut DestinationSlices::whole(turned), 0));
            for (bytes, run) in turned.chunks_exact(*length).zip(runs) {
                let (slice, to) = destination.place(to + run);
                pack(bytes, slice, to, bits.dst);
            }
        });
    }

    /// Returns the approximate number of processor cycles for each unit, times 64, if units are
    /// smaller than a byte.
    pub(super) fn cycles_of_packed(&self) -> usize {
        let is_pattern = matches!(self.mover, TileMover::Pattern(_));
        let is_fast = self.transposes() || is_pattern && !self.mover.gathers();
        if is_fast { CYCLES_OF_BYTES } else { 3 * CYCLES_OF_BYTES }
    }

    /// Returns true if units are transposed in registers on their way from the buffer.
    pub(super) fn transposes(&self) -> bool {
        self.mover.transposes()
    }

    /// Returns the approximate memory that the copy occupies, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let runs = self.packed.as_ref().map_or(0, |(runs, _)| size_of_val(&runs[..]));
        let gatherer = match &self.gatherer {
            Gatherer::Pieces(pieces, _) => size_of_val(&pieces[..]),
            Gatherer::Pattern(pattern) => size_of::<Pattern>() + pattern.bytes(),
        };
        size_of::<Self>() + gatherer + runs + self.mover.bytes()
    }
}

impl fmt::Display for StagedCopy {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let unit = if self.packed.is_some() { "units" } else { "bytes" };
        write!(f, "through a buffer of {} {unit}: ", self.size)?;
        match &self.gatherer {
            Gatherer::Pieces(pieces, length) => write!(f, "{} pieces of {length}", pieces.len())?,
            Gatherer::Pattern(pattern) => write!(f, "{pattern}")?,
        }
        self.loops.iter().try_for_each(|PatternLoop { times, src, dst, .. }| {
            write!(f, ", {times} times (source {src:+}, destination {dst:+})")
        })?;
        write!(f, "; from it {}", self.mover)
    }
}

impl fmt::Display for TileMover {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Plan(plan) => write!(f, "{plan}"),
            Self::Pattern(pattern) => write!(f, "a {pattern}"),
        }
    }
}

impl TileMover {
    /// Returns the mover of a tile with the given axes.
    pub(super) fn new(
        machine: &'static Machine,
        axes: &[PlanAxis],
        (unit, simd): (usize, Option<Simd>),
    ) -> Self {
        let plan = TilePlan::new(axes.iter().copied(), unit, simd, Streams::none(machine));
        if let Some(simd) = simd.filter(|&simd| plan.may_be_pattern(simd)) {
            let (block, loops) = BlockPart::of_box(&plan, axes, unit);
            let scale = scale_of(&loops);
            if let Some(pattern) = Pattern::new(simd, plan.unit, &[block], &[scale], loops) {
                return Self::Pattern(Box::new(pattern));
            }
        }
        Self::Plan(Box::new(plan))
    }

    /// Returns true if the mover transposes units in registers.
    pub(super) fn transposes(&self) -> bool {
        matches!(self, Self::Plan(plan) if matches!(plan.mover, Mover::Transpose(_)))
    }

    /// Returns true if the mover is a pattern that [gathers](Pattern::gathers), or copies single
    /// units.
    pub(super) fn gathers(&self) -> bool {
        match self {
            Self::Plan(plan) => plan.copies_single_units(),
            Self::Pattern(pattern) => pattern.gathers(),
        }
    }

    /// Returns the approximate memory that the mover occupies, in bytes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Plan(plan) => plan.bytes(),
            Self::Pattern(pattern) => size_of::<Pattern>() + pattern.bytes(),
        }
    }

    /// Moves a tile from byte `from` of an image to address `to`.
    pub(super) fn run(
        &self,
        (source, from): (&[u8], isize),
        (destination, to): (&mut DestinationSlices, isize),
    ) {
        match self {
            Self::Plan(plan) => {
                BoxCopy { plan, source, destination, stream: None }.run(from, to);
            }
            Self::Pattern(pattern) => {
                let source = PatternSource { image: source, at: from, scale: 1 };
                pattern.run(&[source], destination, to, None);
            }
        }
    }
}

/// Builds the first pass for pieces, contiguous parts of the source, that have unused bytes between
/// their units. Returns a pattern that leaves these bytes out, the axes of a tile when it is read
/// from the buffer, and the size of the buffer. Returns `None` if there is no pattern. `order` has
/// the axes that move in the source, beginning with the shortest source stride.
fn dense(
    axes: &[PlanAxis],
    unit: usize,
    simd: Simd,
    order: &[usize],
    in_piece: &[bool],
) -> Option<(Pattern, SmallVec<[PlanAxis; 8]>, usize)> {
    let mut inner: SmallVec<[PlanAxis; 8]> = axes.into();
    let (mut piece, mut loops) = (SmallVec::new(), SmallVec::<[PlanAxis; 8]>::new());
    let mut size = unit;
    for &axis in order {
        let PlanAxis { extent, src, .. } = axes[axis];
        inner[axis].src = size.cast_signed();
        size *= extent;
        let of = PlanAxis { extent, src, dst: inner[axis].src };
        if in_piece[axis] { piece.insert(0, of) } else { loops.insert(0, of) }
    }
    let take = BlockValue::Unit { source: 0, from: 0 };
    let part = BlockPart { axes: piece, to: 0, take };
    let pattern = Pattern::new(simd, unit, &[part], &[1], loops)?;
    Some((pattern, inner, size))
}

/// The tile that is copied through the buffer at a time, and the pieces in it, which are contiguous
/// parts of the source.
struct TileChoice {
    /// The number of steps of each axis in a tile.
    blocks: SmallVec<[usize; 8]>,
    /// True for axes whose steps in a tile share a piece.
    in_piece: SmallVec<[bool; 8]>,
    /// The number of distant places of the destination to which the units of a piece are copied. If
    /// it is 1, a buffer gains nothing for units of whole bytes.
    reuse: usize,
}

impl TileChoice {
    /// Chooses the tile of a box. Units that are close together in the source become a piece, and
    /// units that are contiguous in the destination a run. The tile then grows in the order of the
    /// source, as far as its size allows.
    fn new(axes: &[PlanAxis], unit: usize, sizes: TileSizes) -> Self {
        let mut blocks: SmallVec<[usize; 8]> = smallvec![1; axes.len()];
        let mut in_piece: SmallVec<[bool; 8]> = smallvec![false; axes.len()];
        let mut order: SmallVec<[usize; 8]> =
            (0..axes.len()).filter(|&axis| axes[axis].src != 0).collect();
        order.sort_by_key(|&axis| axes[axis].src.abs());
        let mut span = unit;
        for &axis in &order {
            let PlanAxis { extent, src, .. } = axes[axis];
            let step = src.unsigned_abs();
            // At least half of the bytes of a piece must be used, or several units of each line.
            if step > sizes.step.max(2 * span) || span + step > sizes.piece {
                break;
            }
            blocks[axis] = balanced(extent, (sizes.piece - span) / step + 1);
            in_piece[axis] = true;
            span += (blocks[axis] - 1) * step;
            if blocks[axis] < extent {
                break;
            }
        }
        // A buffer gains nothing for units of a piece that are close together in the destination as
        // well.
        let apart = |&axis: &usize| in_piece[axis] && axes[axis].dst.unsigned_abs() >= LINE;
        // The axes of the run, innermost first. `of_run` has the number of steps that each axis
        // takes inside a run, which are one place of the destination.
        let mut of_run: SmallVec<[usize; 8]> = smallvec![1; axes.len()];
        let mut run = unit;
        while run < sizes.run
            && let Some(axis) = axes.iter().position(|axis| axis.dst == run.cast_signed())
        {
            let extent = axes[axis].extent;
            of_run[axis] = balanced(extent, sizes.run.div_ceil(run));
            blocks[axis] = blocks[axis].max(of_run[axis]);
            run *= blocks[axis];
            if blocks[axis] < extent {
                break;
            }
        }
        let places = |axis: usize| blocks[axis] / of_run[axis];
        let reuse = (0..axes.len()).filter(apart).map(places).product();
        let mut size = unit * blocks.iter().product::<usize>();
        for &axis in &order {
            if size >= sizes.tile {
                break;
            }
            size /= blocks[axis];
            blocks[axis] = blocks[axis].max(balanced(axes[axis].extent, sizes.tile / size));
            size *= blocks[axis];
        }
        Self { blocks, in_piece, reuse }
    }

    /// Returns the length of a piece, and the offset of its first byte from the first unit.
    fn piece(&self, axes: &[PlanAxis], unit: usize) -> (usize, isize) {
        let of_piece = axes.iter().zip(&self.blocks).zip(&self.in_piece).filter(|(_, of)| **of);
        of_piece.fold((unit, 0), |(length, low), ((axis, &block), _)| {
            let span = (block - 1).cast_signed() * axis.src;
            (length + span.unsigned_abs(), low + span.min(0))
        })
    }
}

/// Returns the number of steps of a block: about `most`, chosen so that the last block is as long
/// as the others if possible.
pub(super) fn balanced(extent: usize, most: usize) -> usize {
    let most = most.clamp(1, extent);
    extent.div_ceil(extent.div_ceil(most))
}

/// Returns the loops around tiles of `blocks` steps along the axes, outermost first. The last step
/// of a loop overlaps the one before it if tiles do not divide the axis.
pub(super) fn loops_around(axes: &[PlanAxis], blocks: &[usize]) -> SmallVec<[PatternLoop; 8]> {
    let around = |(&axis, &block): (&PlanAxis, &usize)| {
        (block < axis.extent).then(|| blocks_of_axis(axis, block))
    };
    let mut loops: SmallVec<[PatternLoop; 8]> =
        axes.iter().zip(blocks).filter_map(around).collect();
    loops.sort_by_key(|of| std::cmp::Reverse(of.src.abs().min(of.dst.abs())));
    loops
}

/// Calls `each` with the offsets of every tile, in the order of the loops.
pub(super) fn each_tile(
    loops: &[PatternLoop],
    from: isize,
    to: isize,
    each: &mut impl FnMut(isize, isize),
) {
    let [PatternLoop { times, src, dst, last }, inner @ ..] = loops else { return each(from, to) };
    for step in 0..times.cast_signed() {
        each_tile(inner, from + step * src, to + step * dst, each);
    }
    if let Some((src, dst)) = last {
        each_tile(inner, from + src, to + dst, each);
    }
}

/// Copies a piece to byte `to` of the buffer. May also overwrite the bytes after it, up to the end
/// of its last part, because later pieces are copied there.
#[inline(always)]
fn copy_piece(source: &[u8], from: usize, room: &mut [u8], to: usize, length: usize) {
    let parts = length.next_multiple_of(PART);
    if let Some(source) = source.get(from..from + parts) {
        let room = room[to..to + parts].as_chunks_mut::<PART>().0.iter_mut();
        room.zip(source.as_chunks::<PART>().0).for_each(|(to, from)| *to = *from);
    } else {
        room[to..to + length].copy_from_slice(&source[from..from + length]);
    }
}

#[cfg(test)]
mod tests;
