//! A *bit pattern* is a block of the destination that is put together from single bits, in the same
//! way again and again.
//!
//! It copies units of 1, 2 and 4 bits whatever their strides are, and units that change between
//! these widths and a byte. Each register of the destination is assembled from a few *pieces* of
//! the source, of 64, 32, 16 or 8 bytes, which are chosen once. The processor then moves the bits
//! of every unit to their place with a shuffle of bytes and a shift (`simd::bit_blocks`).
//!
//! ```text
//! u4[1311873,17]{0,1} to {1,0}: a register has 7 or 8 units of each of 17 rows, in 17 pieces
//! ```
//!
//! Rows of an odd number of bits begin at different bits of a byte. A bit pattern has a block for
//! each combination of the first bit in the source and in the destination.

use std::fmt;

use smallvec::SmallVec;

use super::{
    bits::{Bits, load, store},
    pattern::blocks_of_axis,
    pieces::{Destination as _, DestinationSlices},
    plane::{PlanAxis, merged, spread},
    simd::{BitBlock, BitLane, BitRegister, BitTerm, ByteTable, PatternLoop, Simd, WIDTH},
    staged::each_tile,
};

/// The least number of bytes that are stored at a time.
const LEAST_STORE: usize = 8;

/// The size of a block, in bits, up to which it takes all steps of an axis.
const LEAST_BLOCK_BITS: usize = 64 * 8;

/// The largest size of a block, in bits. Each lane of a register has two tables of 64 bytes, and
/// one more for each term. They have to stay in the first-level cache.
const MOST_BLOCK_BITS: usize = 1 << 12;

/// The largest size of the tables of all blocks, in bytes.
const MOST_TABLE_BYTES: usize = 3 << 15;

/// The approximate number of processor cycles for a block besides its registers.
const REPEATED_CYCLES: usize = 10;

/// The approximate number of processor cycles to start blocks with the same first bits.
const BLOCK_CYCLES: usize = 100;

/// The number of blocks with the same first bits that are written before those with others, if both
/// are in a loop. The lines of memory that these blocks share should stay in the first-level cache.
const ALIKE: usize = 8;

/// The approximate number of processor cycles for a register of a few pieces. It is used to compare
/// blocks of different lengths.
const REGISTER_CYCLES: usize = 20;

/// A copy of units of at most a byte, up to 64 bytes of the destination at a time.
#[derive(Clone, Debug)]
pub(super) struct BitPattern {
    simd: Simd,
    bits: Bits,
    /// The approximate number of processor cycles for 64 units.
    pub(super) cycles: usize,
    /// The loops around a block, outermost first, in units.
    loops: SmallVec<[PatternLoop; 8]>,
    /// The source offsets of the units of a block, in units.
    reads: Vec<isize>,
    blocks: Vec<BitBlock>,
    /// The block for each first bit in a byte of the source, times 8, plus the first bit in a byte
    /// of the destination.
    block_at: [Option<u8>; 64],
}

impl BitPattern {
    /// Returns the bit pattern of a box with the given axes, outermost first, in units. `from` and
    /// `to` are the first unit of the box in the source and in the destination.
    ///
    /// Returns `None` if the processor lacks AVX-512 VBMI, if the innermost units of the
    /// destination are not contiguous or too few, if the tables would be too large, or if the
    /// pattern takes `most` processor cycles or more for 64 units.
    pub(super) fn new(
        simd: Option<Simd>,
        bits: Bits,
        axes: impl IntoIterator<Item = PlanAxis>,
        (from, to): (isize, isize),
        most: usize,
    ) -> Option<Self> {
        let simd = simd.filter(|simd| simd.selects_bits() && bits.is_packed())?;
        let mut axes = merged(axes);
        let dst_bits = bits.dst as usize;
        let mut reads = vec![0];
        let mut cut = None;
        while cut.is_none()
            && let Some(&axis) = axes.last()
            && axis.dst == reads.len().cast_signed()
        {
            let row = reads.len() * dst_bits;
            let steps = if row * axis.extent <= LEAST_BLOCK_BITS {
                axis.extent
            } else {
                steps_of_block(bits, axis, row)
            };
            if steps == 1 {
                break;
            }
            axes.pop();
            spread(&mut reads, steps, axis.src);
            if steps < axis.extent {
                cut = Some(blocks_of_axis(axis, steps));
            }
        }
        if reads.len() * dst_bits < 64 {
            return None;
        }
        let every = |axis: PlanAxis| blocks_of_axis(axis, 1);
        let loops: SmallVec<[PatternLoop; 8]> = axes.into_iter().map(every).chain(cut).collect();
        let mut pattern =
            Self { simd, bits, cycles: 0, loops, reads, blocks: Vec::new(), block_at: [None; 64] };
        pattern.cycles = pattern.estimate((from, to));
        if pattern.cycles >= most {
            return None;
        }
        let mut tables = 0;
        for (from, to) in pattern.first_bits((from, to)) {
            let block = pattern.block(from, to)?;
            tables += block.table_bytes();
            if tables > MOST_TABLE_BYTES {
                return None;
            }
            pattern.block_at[from * 8 + to] = Some(pattern.blocks.len() as u8);
            pattern.blocks.push(block);
        }
        Some(pattern)
    }

    /// Returns all combinations of the first bit of a block in a byte of the source and in a byte
    /// of the destination.
    fn first_bits(&self, (from, to): (isize, isize)) -> Vec<(usize, usize)> {
        let mut found = vec![self.bits.first_bits((from, to))];
        for &PatternLoop { times, src, dst, last } in &self.loops {
            let steps = (0..times.min(8).cast_signed()).map(|step| (step * src, step * dst));
            let moves: SmallVec<[_; 10]> =
                steps.chain(last).map(|step| self.bits.first_bits(step)).collect();
            let all = found.iter().flat_map(|&(from, to)| {
                moves.iter().map(move |&(src, dst)| ((from + src) % 8, (to + dst) % 8))
            });
            let mut all: Vec<_> = all.collect();
            all.sort_unstable();
            all.dedup();
            found = all;
        }
        found
    }

    /// Returns the block that begins at the given bits of a byte of the source and of the
    /// destination. Returns `None` if it is too far from its units for a table.
    fn block(&self, from: usize, to: usize) -> Option<BitBlock> {
        let end = to + self.reads.len() * self.bits.dst as usize;
        let bytes = end.div_ceil(8);
        let whole = (0..bytes / WIDTH).map(|register| (register * WIDTH, WIDTH));
        let rest = bytes % WIDTH;
        // The last register overlaps the one before it if the remaining bytes are not a power of
        // two of at least 8. A block that is shorter than a register may need two overlapping ones
        // of half its length.
        let mut ends: SmallVec<[(usize, usize); 2]> = SmallVec::new();
        if rest > 0 {
            let length = rest.next_power_of_two().max(LEAST_STORE);
            if length <= bytes {
                ends.push((bytes - length, length));
            } else {
                ends.extend([(0, length / 2), (bytes - length / 2, length / 2)]);
            }
        }
        let registers: Option<Vec<BitRegister>> =
            whole.chain(ends).map(|place| self.register((from, to), place)).collect();
        let last = if end.is_multiple_of(8) { 0 } else { u8::MAX << (end % 8) };
        Some(BitBlock::new(self.bits, &registers?, bytes, [!(u8::MAX << to), last]))
    }

    /// Returns the register of `length` bytes at byte `at` of a block, which begins at the given
    /// bits of a byte of the source and of the destination.
    fn register(&self, first: (usize, usize), (at, length): (usize, usize)) -> Option<BitRegister> {
        let bits: Vec<Option<isize>> = self.bits_of(first, (at, length)).collect();
        let lanes = PlannedLane::all(&bits, self.bits);
        let loads = Loads::of(&bits, lanes.len());
        let length_of_piece = loads.length.cast_signed();
        let mut terms = Vec::new();
        for offsets in loads.terms() {
            let mut from = [0; 8];
            let pieces = match loads.length {
                8 => offsets.len().max(2).next_power_of_two(),
                length => WIDTH / length,
            };
            for (piece, from) in from.iter_mut().enumerate() {
                *from = i32::try_from(offsets[piece.min(offsets.len() - 1)]).ok()?;
            }
            let of_lane = |lane: &PlannedLane| {
                let mut selected = (ByteTable([0; WIDTH]), 0);
                for (place, byte) in lane.bytes.iter().enumerate() {
                    let Some(byte) = byte else { continue };
                    // If any piece contains the byte, it is the last one that starts at or before
                    // the byte.
                    let Some(piece) =
                        offsets.partition_point(|offset| offset <= byte).checked_sub(1)
                    else {
                        continue;
                    };
                    let inside = byte - offsets[piece];
                    if inside < length_of_piece {
                        let index = piece.cast_signed() * length_of_piece + inside;
                        selected.0.0[place] = index.cast_unsigned() as u8;
                        selected.1 |= 1 << place;
                    }
                }
                selected
            };
            let of_lanes = lanes.iter().map(of_lane).collect();
            let (pieces, length) = (pieces as u8, loads.length as u8);
            terms.push(BitTerm { from, pieces, length, lanes: of_lanes });
        }
        let lanes = lanes.into_iter().map(|lane| lane.moves).collect();
        Some(BitRegister { to: at, length, terms, lanes })
    }

    /// Returns the approximate number of processor cycles for 64 units. Counts the loads of a
    /// register in the middle of the first block as those of all registers.
    fn estimate(&self, first: (isize, isize)) -> usize {
        let bytes = (self.reads.len() * self.bits.dst as usize).div_ceil(8);
        let first = self.bits.first_bits(first);
        let at = bytes / 2 / WIDTH * WIDTH;
        let bits: Vec<Option<isize>> = self.bits_of(first, (at, WIDTH)).collect();
        let lanes = PlannedLane::all(&bits, self.bits).len();
        let of_register = Loads::of(&bits, lanes).cycles(lanes);
        let start = self.loops.last().map_or(0, |of| match self.period(of) {
            1 => BLOCK_CYCLES / of.times,
            period => BLOCK_CYCLES / of.times.div_ceil(period).min(ALIKE),
        });
        let of_block = of_register * bytes.div_ceil(WIDTH) + REPEATED_CYCLES;
        (of_block + start) * 64 / self.reads.len()
    }

    /// Returns the first bit in the source of each unit in `length` bytes at byte `at` of a block,
    /// which begins at the given bits of a byte of the source and of the destination. The result is
    /// `None` for units that do not belong to the block.
    fn bits_of(
        &self,
        (from, to): (usize, usize),
        (at, length): (usize, usize),
    ) -> impl Iterator<Item = Option<isize>> {
        let (src_bits, dst_bits) = (self.bits.src.cast_signed() as isize, self.bits.dst as usize);
        (0..length * 8 / dst_bits).map(move |unit| {
            let unit = (at * 8 / dst_bits + unit).checked_sub(to / dst_bits)?;
            Some(self.reads.get(unit)? * src_bits + from.cast_signed())
        })
    }

    /// Returns the number of steps of a loop after which the first bits of its blocks are the same
    /// again: 1, 2, 4 or 8.
    fn period(&self, of: &PatternLoop) -> usize {
        let is_whole =
            |steps: &isize| self.bits.first_bits((steps * of.src, steps * of.dst)) == (0, 0);
        [1, 2, 4].into_iter().find(is_whole).unwrap_or(8).cast_unsigned()
    }

    /// Copies the box from unit `from` of the source to unit `to` of the destination.
    pub(super) fn run(
        &self,
        (source, from): (&[u8], isize),
        (destination, to): (&mut DestinationSlices, isize),
    ) {
        // Blocks of an innermost loop in one slice are written several at a time.
        let in_slice = |of: &PatternLoop| {
            let extent = of.dst.unsigned_abs() * of.times;
            extent >> destination.shift == 0
        };
        let (inner, outer) = match self.loops.split_last() {
            Some((inner, outer)) if in_slice(inner) => (*inner, outer),
            _ => (PatternLoop { times: 1, src: 0, dst: 0, last: None }, &self.loops[..]),
        };
        let (src, dst) = (inner.src, inner.dst);
        let period = self.period(&inner);
        let in_chunk = if period == 1 { inner.times } else { ALIKE * period };
        each_tile(outer, from, to, &mut |from, to| {
            for chunk in (0..inner.times).step_by(in_chunk) {
                let end = inner.times.min(chunk + in_chunk);
                for first in chunk..end.min(chunk + period) {
                    let (times, steps) = ((end - first).div_ceil(period), period.cast_signed());
                    let at = first.cast_signed();
                    let (from, to) = (from + at * src, to + at * dst);
                    let step = (steps * src, steps * dst);
                    self.blocks((source, from), (destination, to), times, step);
                }
            }
            if let Some((src, dst)) = inner.last {
                self.blocks((source, from + src), (destination, to + dst), 1, (0, 0));
            }
        });
    }

    /// Writes `times` blocks. `src` and `dst` are the distances between them, in units, and are
    /// whole bytes. Blocks whose loads would leave the source, at one of its ends, are copied unit
    /// by unit.
    fn blocks(
        &self,
        (source, from): (&[u8], isize),
        (destination, to): (&mut DestinationSlices, isize),
        times: usize,
        (src, dst): (isize, isize),
    ) {
        let src_bits = self.bits.src.cast_signed() as isize;
        let dst_bits = self.bits.dst as usize;
        let start = from * src_bits;
        let (slice, place) = destination.place(to);
        let (first, first_bit) = (start >> 3, (start & 7).cast_unsigned());
        let (out, out_bit) = (place * dst_bits / 8, place * dst_bits % 8);
        let block = self.block_at[first_bit * 8 + out_bit].expect("a block for all first bits");
        let block = &self.blocks[usize::from(block)];
        let (step, out_step) = (src * src_bits / 8, dst * dst_bits.cast_signed() / 8);
        let inside =
            |time: usize| block.reads_inside(first + time.cast_signed() * step, source.len());
        let mut whole = 0..times;
        while !whole.is_empty() && !inside(whole.start) {
            whole.start += 1;
        }
        while !whole.is_empty() && !inside(whole.end - 1) {
            whole.end -= 1;
        }
        if !whole.is_empty() {
            let before = whole.start.cast_signed();
            self.simd.select_bits(
                block,
                whole.len(),
                (source, (first + before * step, step)),
                (slice, (out.cast_signed() + before * out_step, out_step)),
            );
        }
        for time in (0..whole.start).chain(whole.end..times) {
            let from = from + time.cast_signed() * src;
            let to = (place.cast_signed() + time.cast_signed() * dst).cast_unsigned();
            for (number, read) in self.reads.iter().enumerate() {
                let value = load(source, (from + read).cast_unsigned(), self.bits.src);
                store(slice, to + number, self.bits.dst, self.bits.resize(value));
            }
        }
    }

    /// Returns the approximate memory that the pattern occupies, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let tables = self.blocks.iter().map(BitBlock::table_bytes);
        size_of::<Self>() + size_of_val(&self.reads[..]) + tables.sum::<usize>()
    }
}

impl fmt::Display for BitPattern {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let block = &self.blocks[0];
        let (registers, pieces) = block.operations();
        write!(
            f,
            "bits selected from pieces: a block of {} units, {registers} registers and {pieces} pieces",
            self.reads.len()
        )?;
        self.loops.iter().try_for_each(|PatternLoop { times, src, dst, .. }| {
            write!(f, ", {times} times (source {src:+}, destination {dst:+})")
        })
    }
}

/// Returns the number of steps of an axis in a block, so that all blocks together take the fewest
/// cycles. Each step fills `row` bits of the destination.
fn steps_of_block(bits: Bits, axis: PlanAxis, row: usize) -> usize {
    let from = bits.src as usize * axis.src.unsigned_abs();
    // True if so many steps move by whole bytes on both sides, so that all blocks are alike.
    let whole = |steps: usize| (steps * row).is_multiple_of(8) && (steps * from).is_multiple_of(8);
    let cycles = |&steps: &usize| {
        let registers = (steps * row).div_ceil(WIDTH * 8);
        // A last block that overlaps the one before it is started on its own.
        let alike = steps == axis.extent || whole(steps) && axis.extent.is_multiple_of(steps);
        let start = if alike { 0 } else { BLOCK_CYCLES };
        axis.extent.div_ceil(steps) * (registers * REGISTER_CYCLES + REPEATED_CYCLES) + start
    };
    let least = (1..8).find(|&steps| whole(steps)).unwrap_or(8);
    let choices = (1..)
        .map(|count| count * least)
        .take_while(|steps| *steps <= axis.extent && steps * row <= MOST_BLOCK_BITS / 2);
    let all = [1, least, axis.extent].into_iter();
    let all = all.filter(|steps| *steps <= axis.extent && steps * row <= MOST_BLOCK_BITS);
    choices.chain(all).min_by_key(cycles).unwrap_or(1)
}

/// Bits of a byte of the destination that follow each other in the source.
#[derive(Clone, Copy)]
struct BitPart {
    /// The first bit in the source.
    bit: isize,
    /// The first bit in the byte.
    first: usize,
    /// The number of bits.
    bits: usize,
}

impl BitPart {
    /// Returns the bytes of the source that contain the part: one or two.
    fn bytes(self) -> impl Iterator<Item = isize> {
        let last = self.bit + self.bits.cast_signed() - 1;
        self.bit.div_euclid(8)..=last.div_euclid(8)
    }
}

/// At most one part of each byte of a register.
struct PlannedLane {
    /// The byte of the source that the shuffle selects for each byte of the register.
    bytes: [Option<isize>; WIDTH],
    moves: BitLane,
}

impl PlannedLane {
    fn new() -> Self {
        let nothing = ByteTable([0; WIDTH]);
        Self { bytes: [None; WIDTH], moves: BitLane { shifts: nothing, values: nothing } }
    }

    /// Returns the lanes for units that begin at the given bits of the source.
    fn all(bits: &[Option<isize>], of: Bits) -> Vec<Self> {
        let parts = if of.src == of.dst { Self::of_parts(bits, of) } else { None };
        parts.unwrap_or_else(|| Self::of_units(bits, of))
    }

    /// Returns a lane for the first unit of every byte, one for the second unit, and so on.
    fn of_units(bits: &[Option<isize>], of: Bits) -> Vec<Self> {
        let mut lanes: Vec<Self> = (0..of.lanes()).map(|_| Self::new()).collect();
        for (unit, bit) in bits.iter().enumerate() {
            let Some(bit) = *bit else { continue };
            let (byte, lane) = (unit / of.lanes(), unit % of.lanes());
            let (first, bits) = (lane * of.dst as usize, of.src.min(of.dst) as usize);
            lanes[lane].put(byte, byte % 8, BitPart { bit, first, bits });
        }
        lanes
    }

    /// Returns lanes for parts of several units. Returns `None` if there would be as many as for
    /// single units.
    fn of_parts(bits: &[Option<isize>], of: Bits) -> Option<Vec<Self>> {
        let width = of.dst as usize;
        let mut lanes: Vec<Self> = Vec::new();
        for (byte, units) in bits.chunks(of.lanes()).enumerate() {
            let mut parts: SmallVec<[BitPart; 8]> = SmallVec::new();
            for (unit, bit) in units.iter().enumerate() {
                let Some(bit) = *bit else { continue };
                match parts.last_mut() {
                    Some(last) if bit == last.bit + last.bits.cast_signed() => last.bits += width,
                    _ => parts.push(BitPart { bit, first: unit * width, bits: width }),
                }
            }
            for part in parts {
                let place = |lane: usize| Some((lane, lanes[lane].place(byte, part)?));
                let (lane, place) =
                    (0..lanes.len()).find_map(place).unwrap_or((lanes.len(), byte % 8));
                if lane + 1 == of.lanes() {
                    return None;
                }
                if lane == lanes.len() {
                    lanes.push(Self::new());
                }
                lanes[lane].put(byte, place, part);
            }
        }
        Some(lanes)
    }

    /// Returns where the shuffle may move the bytes that contain a part of `byte`: the place of the
    /// first of them in the eight bytes around `byte`. The place after the last one is the first
    /// one. Returns `None` if there is no room.
    fn place(&self, byte: usize, part: BitPart) -> Option<usize> {
        if self.moves.values.0[byte] != 0 {
            return None;
        }
        let around = &self.bytes[byte / 8 * 8..][..8];
        let fits = |place: &usize| {
            part.bytes().zip(*place..).all(|(of, at)| around[at % 8].is_none_or(|has| has == of))
        };
        let is_there = |place: &usize| around[*place].is_some() && fits(place);
        (0..8).find(is_there).or_else(|| (0..8).find(fits))
    }

    /// Adds a part of `byte` at a place that [`Self::place`] returned.
    fn put(&mut self, byte: usize, place: usize, part: BitPart) {
        for (of, at) in part.bytes().zip(place..) {
            self.bytes[byte / 8 * 8 + at % 8] = Some(of);
        }
        let bit = place * 8 + part.bit.rem_euclid(8).cast_unsigned();
        self.moves.shifts.0[byte] = ((bit + 64 - part.first) % 64) as u8;
        self.moves.values.0[byte] = u8::MAX >> (8 - part.bits) << part.first;
    }
}

/// The loads that contain all units of a register.
struct Loads {
    /// The length of a piece, in bytes: 64, 32, 16 or 8.
    length: usize,
    /// The offset of each piece in the source, in bytes, in ascending order.
    offsets: Vec<isize>,
}

impl Loads {
    /// Chooses the loads for units that begin at the given bits of the source, for a register of so
    /// many lanes.
    fn of(bits: &[Option<isize>], lanes: usize) -> Self {
        let mut bytes: Vec<isize> = bits.iter().flatten().map(|bit| bit.div_euclid(8)).collect();
        bytes.sort_unstable();
        bytes.dedup();
        let ways = [64, 32, 16, 8].map(|length| Self::of_length(&bytes, length));
        ways.into_iter().min_by_key(|way| way.cycles(lanes)).expect("four ways")
    }

    /// Returns loads in pieces of `length` bytes that contain all `bytes`, which are sorted.
    fn of_length(bytes: &[isize], length: usize) -> Self {
        let mut offsets: Vec<isize> = Vec::new();
        // A piece ends with the last byte at most, so that fewer loads leave the source.
        let latest = bytes.last().map_or(0, |last| last + 1 - length.cast_signed());
        for &byte in bytes {
            if offsets.last().is_none_or(|start| byte - start >= length.cast_signed()) {
                offsets.push(byte.min(latest));
            }
        }
        Self { length, offsets }
    }

    /// Returns the offsets of the pieces of each term.
    fn terms(&self) -> std::slice::Chunks<'_, isize> {
        self.offsets.chunks(WIDTH / self.length)
    }

    /// Returns the approximate number of processor cycles for a register of so many lanes.
    fn cycles(&self, lanes: usize) -> usize {
        let lanes = BitBlock::whole_lanes(lanes);
        let of_piece = if self.length == WIDTH { 4 } else { 3 };
        4 + 2 * lanes + self.terms().len() * 2 * lanes + self.offsets.len() * of_piece / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares copies of random boxes with copies unit by unit. Bits around the box keep their
    /// values.
    #[test]
    fn bits_are_selected_and_others_are_kept() {
        let mut state = 3_u64;
        let mut below = |limit: usize| {
            state =
                state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
            (state >> 33) as usize % limit
        };
        let mut tried = 0;
        for case in 0..1500 {
            let widths = [1, 2, 4, 8];
            let (src, dst) = (widths[below(4)], widths[below(4)]);
            let bits = Bits { src, dst, sign_extend: below(2) == 0 };
            let count = 1 + below(3);
            let all = [2, 3, 4, 5, 7, 8, 11, 16, 24, 33, 130, 700];
            let mut extents: Vec<usize> =
                (0..count).map(|_| all[below(all.len() - 2 * count)]).collect();
            extents[0] = all[below(all.len() + 1 - count)];
            // The source has the axes in another order, and sometimes gaps between their steps.
            let mut order: Vec<usize> = (0..count).collect();
            order.rotate_left(below(count));
            let mut axes: Vec<PlanAxis> =
                extents.iter().map(|&extent| PlanAxis { extent, src: 0, dst: 0 }).collect();
            let (mut read, mut written) = (1, 1);
            for axis in axes.iter_mut().rev() {
                axis.dst = written;
                written *= axis.extent.cast_signed();
            }
            for &axis in &order {
                axes[axis].src = read;
                read = read * axes[axis].extent.cast_signed() + [0, 0, 1, 9][below(4)];
            }
            let (from, to) = (below(20), below(20));
            let bytes = |units: isize, first: usize, bits: u32| {
                ((units.unsigned_abs() + first) * bits as usize).div_ceil(8)
            };
            // Some boxes end with the source, so that the last blocks are copied unit by unit.
            let after = [0, 100][below(2)];
            let source: Vec<u8> = (0..bytes(read, from, src) + after)
                .map(|n| (n.wrapping_mul(0x9e37_79b9) >> 11) as u8)
                .collect();
            let first = (from.cast_signed(), to.cast_signed());
            let of = axes.iter().copied();
            let Some(pattern) = BitPattern::new(Simd::here(), bits, of, first, usize::MAX) else {
                continue;
            };
            tried += 1;
            let mut places = vec![(from, to)];
            for axis in &axes {
                let step = |(from, to): (usize, usize)| {
                    let (src, dst) = (axis.src.unsigned_abs(), axis.dst.unsigned_abs());
                    (0..axis.extent).map(move |n| (from + n * src, to + n * dst))
                };
                places = places.into_iter().flat_map(step).collect();
            }
            let mut out = vec![0xa5; bytes(written, to, dst) + 3];
            let mut expected = out.clone();
            for (from, to) in places {
                store(&mut expected, to, dst, bits.resize(load(&source, from, src)));
            }
            let mut destination = DestinationSlices::whole(&mut out);
            pattern.run((&source, first.0), (&mut destination, first.1));
            drop(destination);
            assert_eq!(out, expected, "{case}: {bits:?} {axes:?} {first:?} {pattern}");
        }
        let found = Simd::here().is_some_and(Simd::selects_bits);
        assert!(!found || tried > 500, "{tried} boxes");
    }
}
