//! A *pattern* is a block of the destination that is put together in the same way again and again.
//!
//! A block has a few hundred bytes. Each byte is a byte of a source at a fixed offset, or a
//! constant. The loads that fill each register are chosen once, and are then carried out at every
//! step of the loops around the block. With patterns, rows that end inside a register, padding
//! between short runs, partial tiles and several sources need no code of their own.
//!
//! ```text
//! u8[1080,1920,3] to PAD(1080,1920,4), registers of 16 bytes: four pixels
//! r0 g0 b0 0 r1 g1 b1 0 … 0  =  constants 0, and 12 bytes of one load at 0 1 2 - 3 4 5 - … -
//! ```

use std::fmt;

use smallvec::SmallVec;

use super::{
    pieces::{Destination as _, DestinationSlices},
    plan::TilePlan,
    plane::{PlanAxis, merged},
    simd::{PatternByte, PatternLoop, PatternSource, RegisterReads, Registers, Simd, span},
    stream::{LINE, Stream},
};
use crate::nest::gcd;

/// The longest block that is put together from boxes, in bytes. The tables of a longer block would
/// leave less room for data in the first-level cache. With 1 KiB instead, the period after which
/// tiles of `T(6,10)` and `T(4,8)` of `f32` line up again is cut into runs of 32 bytes and has half
/// the rate.
pub(super) const MOST_BLOCK_BYTES: usize = 1 << 12;

/// The number of registers that make a block long enough. A shorter block is repeated, so that it
/// consists of whole registers, or so that the overlap of its last two registers matters less.
const ENOUGH_REGISTERS: usize = 8;

/// The number of loads for one register up to which a pattern is certainly as fast as copying
/// single units.
pub(super) const FEW_LOADS: usize = 4;

/// The number of loads for one register above which blocks are kept to a single register. With
/// more, the cache lines of the loads would evict each other from the first-level cache.
const MANY_LOADS: usize = 8;

/// The greatest number of cache lines at equal places of pages that one block may load, if later
/// blocks load them again. These lines share a set of the first-level cache, and if they are far
/// apart also one of the second level. Two such sets hold 16 to 32 lines.
const MOST_OF_SET: usize = 32;

/// The greatest number of loads in one slice of the destination before the next slice is written.
/// The first-level cache holds their cache lines until the next slice loads them again. With all
/// loads of a slice at a time, `f16[32,89223]{0,1:T(8,128)(2,1)}` to row-major had 0.4 of the rate
/// on two threads.
const MOST_LINES_OF_SLICE: usize = 1 << 8;

/// The largest size of the tables of a block's loads, in bytes. Larger tables would not leave room
/// for data in the first-level cache, and take hundreds of microseconds to plan: `u8[511,16,5,5]`
/// to `{0,3,1,2:PAD(512,40,6,6)}`.
const MOST_TABLE_BYTES: usize = 1 << 15;

/// A box of *units*, elements for example, inside a block. The units are read at constant strides
/// from one source, or all have the same value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BlockPart {
    /// The axes of the box.
    pub(super) axes: SmallVec<[PlanAxis; 8]>,
    /// The offset of the first unit of the box in the block, in bytes.
    pub(super) to: isize,
    pub(super) take: BlockValue,
}

/// The value of the positions of a [`BlockPart`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockValue {
    /// The unit that starts at byte `from` of a source, and the following units. `source` is an
    /// index into the pattern's own list of sources.
    Unit { source: usize, from: isize },
    /// A constant, in the lowest bits.
    Bits(u128),
}

impl BlockPart {
    /// Returns the number of units of the part.
    pub(super) fn units(&self) -> usize {
        self.axes.iter().map(|axis| axis.extent).product()
    }

    /// Describes the box of a plan as a block of a single unit and loops around it, so that a
    /// pattern can be tried for the box. Returns that unit of the plan as a part, and the loops.
    /// `axes` are the axes of the box, and `scale` is the size of the nest's unit in bytes.
    pub(super) fn of_box(
        plan: &TilePlan,
        axes: &[PlanAxis],
        scale: usize,
    ) -> (Self, SmallVec<[PlanAxis; 8]>) {
        let mut axes = merged(axes.iter().copied());
        if plan.unit > scale {
            axes.pop(); // the axis whose units were merged into a longer one
        }
        let take = BlockValue::Unit { source: 0, from: 0 };
        (Self { axes: SmallVec::new(), to: 0, take }, axes)
    }
}

/// A block of bytes of the destination, and the loops that repeat it.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    registers: Registers,
    /// The loops, outermost first.
    loops: SmallVec<[PatternLoop; 8]>,
}

impl Pattern {
    /// Returns the pattern of a block that consists of `parts`, in units of `unit` bytes, and is
    /// repeated along `loops`.
    ///
    /// At each step of a loop, the place from which a source is read moves by the loop's source
    /// stride times the [scale](PatternSource::scale) of that source. `scales` has one entry for
    /// each source.
    ///
    /// Returns `None` if the block is too long, if its tables would be larger than
    /// [`MOST_TABLE_BYTES`], or if copies of single units take about as many operations.
    pub(super) fn new(
        simd: Simd,
        unit: usize,
        parts: &[BlockPart],
        scales: &[isize],
        loops: impl IntoIterator<Item = PlanAxis>,
    ) -> Option<Self> {
        let block = bytes_of_parts(unit, parts)?;
        let loops: SmallVec<[PlanAxis; 8]> =
            loops.into_iter().filter(|axis| axis.extent > 1).collect();
        let of = |registers| Self::of_block(simd, unit, (block.clone(), scales), &loops, registers);
        of(ENOUGH_REGISTERS).or_else(|| of(1))
    }

    /// Returns the pattern of a block. If the loops allow it, first repeats the block until it has
    /// at least `enough` registers. Also returns `None` if `enough` is not 1 and registers need
    /// more than [`MANY_LOADS`] loads on average: a single register is tried then.
    fn of_block(
        simd: Simd,
        unit: usize,
        (mut block, scales): (BlockBytes, &[isize]),
        loops: &[PlanAxis],
        enough: usize,
    ) -> Option<Self> {
        let mut around: SmallVec<[PatternLoop; 8]> = SmallVec::new();
        let mut rest: SmallVec<[PlanAxis; 8]> = loops.into();
        // If a block has several rows, all of them become longer together.
        while let [(_, run), others @ ..] = &block[..]
            && let length = run.len()
            && others.iter().all(|(_, run)| run.len() == length)
            && length < enough * simd.width()
            && let Some(next) = rest.iter().position(|axis| axis.dst == length.cast_signed())
        {
            let axis = rest.remove(next);
            let steps = steps_of_block(simd, length, axis.extent, enough);
            block.iter_mut().for_each(|(_, run)| repeat(run, steps, axis.src, scales));
            if steps < axis.extent {
                around.push(blocks_of_axis(axis, steps));
                break;
            }
        }
        around.extend(rest.into_iter().map(|axis| blocks_of_axis(axis, 1)));
        around.sort_by_key(|of| std::cmp::Reverse(of.src.abs().min(of.dst.abs())));
        let length = block.iter().map(|(_, run)| run.len()).sum::<usize>();
        let width = simd.width();
        let units = (length / unit).max(FEW_LOADS * length.div_ceil(width));
        let registers = block.iter().map(|(_, run)| run.len().div_ceil(width)).sum::<usize>();
        // Two short pieces take as long as a load of a whole register.
        let most = if enough == 1 { 2 * units } else { (2 * units).min(MANY_LOADS * registers) };
        let runs = block.iter().map(|(to, run)| (*to, &run[..]));
        let registers = Registers::new(simd, runs, most)?;
        let (loads, tables) = registers.whole_loads();
        let pays = loads <= units && tables * width <= MOST_TABLE_BYTES;
        pays.then_some(Self { registers, loops: around })
    }

    /// Returns true if a register needs more than [`MANY_LOADS`] loads on average, or almost as
    /// many in a long block, or if the block [evicts](Self::evicts) its own lines. Then a buffer
    /// may be better.
    pub(super) fn gathers(&self) -> bool {
        let (loads, stores) = self.registers.operations();
        let almost = if stores > ENOUGH_REGISTERS { stores / 2 } else { 0 };
        loads + almost > MANY_LOADS * stores || self.evicts()
    }

    /// Returns true if a later block reads the same cache lines of the source again, and if they
    /// evict each other from the caches before; see [`MOST_OF_SET`].
    pub(super) fn evicts(&self) -> bool {
        let again = |of: &PatternLoop| (1..LINE).contains(&of.src.unsigned_abs());
        self.loops.iter().any(again) && self.registers.lines_of_set() > MOST_OF_SET
    }

    /// Returns the approximate number of cycles that a block takes, and its length in bytes.
    pub(super) fn cost(&self) -> (usize, usize) {
        let (loads, stores) = self.registers.operations();
        let (low, end) = self.registers.written();
        (loads + stores, (end - low).cast_unsigned())
    }

    /// Returns the approximate memory that the pattern occupies, in bytes.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.loops[..]) + self.registers.bytes()
    }

    /// Writes the block at every step of the loops. The first block is read from the offset
    /// [`PatternSource::at`] of each source, and written at address `to`.
    pub(super) fn run(
        &self,
        sources: &[PatternSource],
        destination: &mut DestinationSlices,
        to: isize,
        stream: Option<&Stream>,
    ) {
        // A source that does not move, such as a padding value, may be smaller than a load, so its
        // bytes are first copied to longer memory.
        let rooms: SmallVec<[_; 8]> = sources
            .iter()
            .enumerate()
            .map(|(number, of)| if of.scale == 0 { self.registers.room(number, of) } else { None })
            .collect();
        let sources: SmallVec<[PatternSource; 8]> = sources
            .iter()
            .zip(&rooms)
            .map(|(&of, room)| match room {
                Some((image, at)) => PatternSource { image, at: *at, ..of },
                None => of,
            })
            .collect();
        let aligned = self.registers.aligned(&sources, &self.loops);
        let reads = aligned.as_ref().unwrap_or(&self.registers).reads(&sources);
        self.walk(&self.loops, &reads, 0, (destination, to), stream);
    }

    /// Writes the block at every step of `loops`.
    ///
    /// If all loads lie inside the sources and all stores inside one slice, all steps are written
    /// by the same fast loop. Otherwise the steps are halved repeatedly, so that only a few at the
    /// ends need slower code. `moved` is the distance from the offsets of the sources to the first
    /// step, before it is multiplied by the scale of each source.
    fn walk(
        &self,
        loops: &[PatternLoop],
        reads: &RegisterReads,
        moved: isize,
        (destination, to): (&mut DestinationSlices, isize),
        stream: Option<&Stream>,
    ) {
        let (low, high) = span(loops, PatternLoop::src);
        let (to_low, to_high) = span(loops, PatternLoop::dst);
        let (first, end) = self.registers.written();
        let fits = reads.fit((moved + low, moved + high))
            && destination.same_slice(to + first + to_low, to + end - 1 + to_high);
        if fits {
            return reads.write(moved, destination.place(to), loops, stream);
        }
        // If a loop leads from one slice of the destination to another, make it the outermost loop,
        // so that the steps of all other loops can be written together. If these read so many cache
        // lines that the next slice would have to load them again, halve them first.
        let leaves = |of: &PatternLoop| !destination.same_slice(0, of.dst.abs());
        let lines = |outer: &[PatternLoop]| {
            let steps: usize = outer.iter().map(|of| of.times).product();
            steps * self.registers.operations().0
        };
        if let Some(number) = loops.iter().position(leaves)
            && number > 0
            && lines(&loops[..number]) <= MOST_LINES_OF_SLICE
        {
            let mut loops: SmallVec<[PatternLoop; 8]> = loops.into();
            loops[..=number].rotate_right(1);
            return self.walk(&loops, reads, moved, (destination, to), stream);
        }
        let [outer, inner @ ..] = loops else {
            return reads.write_bytes(moved, destination.place(to));
        };
        if outer.times > 1 {
            let half = outer.times / 2;
            let before = PatternLoop { times: half, last: None, ..*outer };
            let steps = half.cast_signed();
            let (src, dst) = (steps * outer.src, steps * outer.dst);
            let last = outer.last.map(|last| (last.0 - src, last.1 - dst));
            let after = PatternLoop { times: outer.times - half, last, ..*outer };
            for (part, src, dst) in [(before, 0, 0), (after, src, dst)] {
                let mut loops: SmallVec<[PatternLoop; 8]> = loops.into();
                loops[0] = part;
                self.walk(&loops, reads, moved + src, (&mut *destination, to + dst), stream);
            }
            return;
        }
        for (src, dst) in std::iter::once((0, 0)).chain(outer.last) {
            self.walk(inner, reads, moved + src, (&mut *destination, to + dst), stream);
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let ((loads, stores), (low, end)) = (self.registers.operations(), self.registers.written());
        write!(f, "pattern: a block of {} bytes, {loads} loads and {stores} stores", end - low)?;
        self.loops.iter().try_for_each(|PatternLoop { times, src, dst, .. }| {
            write!(f, ", {times} times (source {src:+}, destination {dst:+})")
        })
    }
}

/// Returns the scale of a source that moves by exactly the source strides of `loops`: 1, or 0 if
/// none of them moves it.
pub(super) fn scale_of(loops: &[PlanAxis]) -> isize {
    isize::from(loops.iter().any(|axis| axis.src != 0))
}

/// Returns a loop over blocks of `steps` steps of an axis. If the blocks do not divide the axis,
/// the last block overlaps the one before it.
pub(super) fn blocks_of_axis(axis: PlanAxis, steps: usize) -> PatternLoop {
    let PlanAxis { extent, src, dst } = axis;
    let by = steps.cast_signed();
    let last = (extent - steps).cast_signed();
    PatternLoop {
        times: extent / steps,
        src: src * by,
        dst: dst * by,
        last: (!extent.is_multiple_of(steps)).then_some((last * src, last * dst)),
    }
}

/// Returns the number of steps of an axis that form one block, so that all blocks together need the
/// fewest registers. The axis has `extent` steps, and each step fills `bytes` bytes of the
/// destination.
fn steps_of_block(simd: Simd, bytes: usize, extent: usize, enough: usize) -> usize {
    let width = simd.width();
    if bytes * extent <= 2 * enough * width {
        return extent;
    }
    // Blocks of whole registers, blocks of equal length, and long ones, in which the overlap of the
    // last two registers matters less.
    let whole = width / gcd(width, bytes);
    let whole = whole * (enough * width / (whole * bytes)).max(1);
    let long = (2 * enough * width / bytes).max(1);
    let most = extent.min(4 * enough * width / bytes);
    let equal = (1..=4).map(|count| extent.div_ceil(count));
    let choices = [whole, long].into_iter().chain(equal).filter(|&steps| steps <= most);
    let registers = |steps: &usize| extent.div_ceil(*steps) * (steps * bytes).div_ceil(width);
    choices.min_by_key(registers).unwrap_or(1)
}

/// Makes a block longer, until it contains `steps` copies of itself. Each copy reads its sources
/// further on than the previous copy, by `src` bytes times the scale of the source.
fn repeat(block: &mut Vec<PatternByte>, steps: usize, src: isize, scales: &[isize]) {
    let length = block.len();
    for step in 1..steps.cast_signed() {
        for byte in 0..length {
            block.push(match block[byte] {
                PatternByte::Read { source, at } => {
                    PatternByte::Read { source, at: at + step * src * scales[source] }
                }
                same @ PatternByte::Fill(_) => same,
            });
        }
    }
}

/// The bytes of a block, divided into contiguous runs of the destination. Each entry has the offset
/// of a run and its bytes.
type BlockBytes = SmallVec<[(isize, Vec<PatternByte>); 1]>;

/// Contiguous bytes of a block that are contiguous in their source as well, or are all constants.
struct Piece {
    /// The offset in the block, in bytes.
    to: isize,
    /// The number of bytes.
    length: usize,
    /// The value of the first unit of the piece.
    take: BlockValue,
}

impl Piece {
    /// Returns the bytes of the piece, which consists of units of `unit` bytes.
    fn bytes(&self, unit: usize) -> impl Iterator<Item = PatternByte> + use<> {
        let take = self.take;
        (0..self.length).map(move |byte| match take {
            BlockValue::Unit { source, from } => {
                PatternByte::Read { source, at: from + byte.cast_signed() }
            }
            BlockValue::Bits(bits) => PatternByte::Fill(bits.to_le_bytes()[byte % unit]),
        })
    }
}

/// Returns the bytes of all parts of a block, as runs in the order of the destination. Returns
/// `None` if there are more than [`MOST_BLOCK_BYTES`]. The parts must not overlap.
fn bytes_of_parts(unit: usize, parts: &[BlockPart]) -> Option<BlockBytes> {
    let units = parts.iter().map(BlockPart::units).fold(0, usize::saturating_add);
    let bytes = units.saturating_mul(unit);
    if bytes > MOST_BLOCK_BYTES {
        return None;
    }
    let mut pieces: Vec<Piece> = Vec::new();
    for BlockPart { axes, to, take } in parts {
        let (mut axes, mut length) = (&axes[..], unit);
        while let [outer @ .., PlanAxis { extent, src, dst }] = axes
            && *dst == length.cast_signed()
            && (dst == src || matches!(take, BlockValue::Bits(_)))
        {
            (axes, length) = (outer, length * extent);
        }
        let first = pieces.len();
        pieces.push(Piece { to: *to, length, take: *take });
        for axis in axes.iter().rev() {
            let end = pieces.len();
            for step in 1..axis.extent.cast_signed() {
                for number in first..end {
                    let take = match pieces[number].take {
                        BlockValue::Unit { source, from } => {
                            BlockValue::Unit { source, from: from + step * axis.src }
                        }
                        bits @ BlockValue::Bits(_) => bits,
                    };
                    let to = pieces[number].to + step * axis.dst;
                    pieces.push(Piece { to, length, take });
                }
            }
        }
    }
    // Pieces without gaps between them are put in their places. Others must be sorted first.
    let low = pieces.iter().map(|piece| piece.to).min()?;
    let end = pieces.iter().map(|piece| piece.to + piece.length.cast_signed()).max()?;
    let mut runs = BlockBytes::new();
    if end - low == bytes.cast_signed() {
        let mut run = vec![PatternByte::Fill(0); bytes];
        for piece in &pieces {
            let at = (piece.to - low).cast_unsigned();
            run[at..].iter_mut().zip(piece.bytes(unit)).for_each(|(to, byte)| *to = byte);
        }
        runs.push((low, run));
        return Some(runs);
    }
    pieces.sort_unstable_by_key(|piece| piece.to);
    for piece in &pieces {
        match runs.last_mut() {
            Some((start, run)) if *start + run.len().cast_signed() == piece.to => {
                run.extend(piece.bytes(unit));
            }
            _ => runs.push((piece.to, piece.bytes(unit).collect())),
        }
    }
    Some(runs)
}
