//! A *bit pattern* is a block of the destination that is put together from single bits, in the same
//! way again and again.
//!
//! It copies units of 1, 2 and 4 bits whatever their strides are, and units that change between
//! these widths and a byte. Each word of 64 bits is assembled from a few loads, which are chosen
//! once: a load of 64 bytes if all of its bits are close together in the source, and otherwise up
//! to eight loads of 8 bytes. The processor then selects any bits of them with two instructions
//! (`simd::words`).
//!
//! ```text
//! u1[65,1025,11]{2,1,0} to {2,0,1}: words of six runs of 11 bits, 1409 bytes apart in the source
//! ```
//!
//! Rows of an odd number of bits begin at different bits of a byte. A bit pattern has a block for
//! each combination of the first bit in the source and in the destination.

use std::fmt;

use smallvec::{SmallVec, smallvec};

use super::{
    bits::{Bits, load, store},
    pattern::blocks_of_axis,
    pieces::{Destination as _, DestinationSlices},
    plane::{PlanAxis, merged, spread},
    simd::{BitBlock, BitTerm, PatternLoop, Simd},
    staged::each_tile,
};

/// The least size of a block, in bits. Starting a block takes the time of two words.
const LEAST_BLOCK_BITS: usize = 64 * 8;

/// The largest size of a block, in bits. Each word has tables of about 200 bytes, which have to
/// stay in the first-level cache.
const MOST_BLOCK_BITS: usize = 1 << 12;

/// The largest size of the tables of all blocks, in bytes.
const MOST_TABLE_BYTES: usize = 1 << 16;

/// The approximate number of processor cycles for a block that follows another one at a distance of
/// whole bytes on both sides, and for any other block.
const REPEATED_CYCLES: usize = 10;
const BLOCK_CYCLES: usize = 100;

/// A copy of units of at most a byte, 64 bits of the destination at a time.
#[derive(Clone, Debug)]
pub(super) struct BitPattern {
    simd: Simd,
    bits: Bits,
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
    /// Returns `None` if the processor has no bit shuffles, if the innermost units of the
    /// destination are not contiguous or too few, if the tables would be too large, or if the
    /// pattern takes `most` processor cycles or more for 64 units.
    pub(super) fn new(
        bits: Bits,
        axes: impl IntoIterator<Item = PlanAxis>,
        (from, to): (isize, isize),
        most: usize,
    ) -> Option<Self> {
        let simd = Simd::here().filter(|simd| simd.selects_bits() && bits.is_packed())?;
        let mut axes = merged(axes);
        let (src_bits, dst_bits) = (bits.src as usize, bits.dst as usize);
        // True if so many steps of an axis move by whole bytes on both sides, in which a step fills
        // `row` bits.
        let whole_bytes = |steps: usize, row: usize, axis: PlanAxis| {
            (steps * row).is_multiple_of(8)
                && (steps * src_bits * axis.src.unsigned_abs()).is_multiple_of(8)
        };
        let mut reads = vec![0];
        let mut cut = None;
        while let Some(&axis) = axes.last()
            && axis.dst == reads.len().cast_signed()
            && reads.len() * dst_bits < LEAST_BLOCK_BITS
        {
            axes.pop();
            let row = reads.len() * dst_bits;
            if row * axis.extent <= MOST_BLOCK_BITS {
                spread(&mut reads, axis.extent, axis.src);
                continue;
            }
            let least = LEAST_BLOCK_BITS.div_ceil(row);
            let steps = (least..least + 8).find(|&steps| whole_bytes(steps, row, axis))?;
            let steps = steps.min(axis.extent);
            spread(&mut reads, steps, axis.src);
            cut = Some(blocks_of_axis(axis, steps));
            break;
        }
        // Several rows that together are whole bytes need one block instead of several.
        if let (None, Some(&axis)) = (&cut, axes.last())
            && axis.dst == reads.len().cast_signed()
        {
            let row = reads.len() * dst_bits;
            let mut steps = 2..=axis.extent.min(MOST_BLOCK_BITS / row).min(8);
            if !whole_bytes(1, row, axis)
                && let Some(steps) = steps.find(|&steps| whole_bytes(steps, row, axis))
            {
                axes.pop();
                spread(&mut reads, steps, axis.src);
                cut = Some(blocks_of_axis(axis, steps));
            }
        }
        if reads.len() * dst_bits < 64 {
            return None;
        }
        let every = |axis: PlanAxis| blocks_of_axis(axis, 1);
        let loops: SmallVec<[PatternLoop; 8]> = axes.into_iter().map(every).chain(cut).collect();
        let mut pattern =
            Self { simd, bits, loops, reads, blocks: Vec::new(), block_at: [None; 64] };
        if pattern.cycles((from, to)) >= most {
            return None;
        }
        let mut tables = 0;
        for (from, to) in pattern.first_bits((from, to)) {
            let block = pattern.block(from, to)?;
            tables += size_of_val(block.terms());
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
        let mut terms = Vec::new();
        let words = (0..bytes / 8).map(|word| word * 8);
        let last = (!bytes.is_multiple_of(8)).then(|| bytes - 8);
        for at in words.chain(last) {
            let word = self.word(from, to, at);
            let first = terms.len();
            for (pieces, offsets) in loads_of(&word) {
                let length = BitTerm::piece_bytes(pieces).cast_signed();
                let offset = |piece: usize| offsets[piece.min(offsets.len() - 1)];
                let mut from = [0; 8];
                for (piece, from) in from.iter_mut().enumerate() {
                    *from = i32::try_from(offset(piece)).ok()?;
                }
                let mut term = BitTerm {
                    bytes: [0; 64],
                    bits: [0; 64],
                    mask: 0,
                    from,
                    pieces,
                    ends_word: false,
                    to: at as u16,
                };
                for (number, bit) in word.iter().enumerate() {
                    let Some(bit) = bit else { continue };
                    let (byte, bit) = (bit.div_euclid(8), bit.rem_euclid(8));
                    let inside = |offset: &isize| (0..length).contains(&(byte - offset));
                    let Some(piece) = offsets.iter().position(inside) else { continue };
                    let at = piece.cast_signed() * length + byte - offsets[piece];
                    term.bytes[number] = at.cast_unsigned() as u8;
                    term.bits[number] = (number % 8 * 8 + bit.cast_unsigned()) as u8;
                    term.mask |= 1 << number;
                }
                terms.push(term);
            }
            if terms.len() == first {
                return None; // a word without bits of the source
            }
            if let Some(term) = terms.last_mut() {
                term.ends_word = true;
            }
        }
        let last = if end.is_multiple_of(8) { 0 } else { u8::MAX << (end % 8) };
        Some(BitBlock::new(terms, bytes, [!(u8::MAX << to), last]))
    }

    /// Returns the approximate number of processor cycles for 64 units. Counts the loads of a word
    /// in the middle of the first block as those of all words.
    fn cycles(&self, (from, to): (isize, isize)) -> usize {
        let bits = self.reads.len() * self.bits.dst as usize;
        let (from, to) = self.bits.first_bits((from, to));
        let word = self.word(from, to, bits / 128 * 8);
        let of_load =
            |(pieces, _): &(u8, _)| if *pieces == 1 { 6 } else { 4 + usize::from(*pieces) };
        let of_word = loads_of(&word).iter().map(of_load).sum::<usize>();
        let start = if self.loops.last().is_none_or(|of| self.is_whole(of)) {
            REPEATED_CYCLES
        } else {
            BLOCK_CYCLES
        };
        of_word * self.bits.dst as usize + start * 64 / self.reads.len()
    }

    /// Returns the bit of the source for each bit of the word at byte `at` of a block, which begins
    /// at the given bits of a byte of the source and of the destination. Returns `None` for bits
    /// that are zero, or that do not belong to the block.
    fn word(&self, from: usize, to: usize, at: usize) -> [Option<isize>; 64] {
        let (src_bits, dst_bits) = (self.bits.src as usize, self.bits.dst as usize);
        let sign = self.bits.sign_extend.then_some(src_bits - 1);
        std::array::from_fn(|bit| {
            let bit = (at * 8 + bit).checked_sub(to)?;
            let (read, bit) = (self.reads.get(bit / dst_bits)?, bit % dst_bits);
            let bit = if bit < src_bits { bit } else { sign? };
            Some(read * src_bits.cast_signed() + (from + bit).cast_signed())
        })
    }

    /// Returns true if all steps of a loop move by whole bytes on both sides.
    fn is_whole(&self, of: &PatternLoop) -> bool {
        self.bits.first_bits((of.src, of.dst)) == (0, 0)
    }

    /// Copies the box from unit `from` of the source to unit `to` of the destination.
    pub(super) fn run(
        &self,
        (source, from): (&[u8], isize),
        (destination, to): (&mut DestinationSlices, isize),
    ) {
        // All blocks of an innermost loop of whole bytes in one slice are written at once.
        let whole = |of: &PatternLoop| {
            let extent = of.dst.unsigned_abs() * of.times;
            self.is_whole(of) && extent >> destination.shift == 0
        };
        let (inner, outer) = match self.loops.split_last() {
            Some((inner, outer)) if whole(inner) => (Some(*inner), outer),
            _ => (None, &self.loops[..]),
        };
        let last = inner.and_then(|of| of.last);
        let (times, src, dst) = inner.map_or((1, 0, 0), |of| (of.times, of.src, of.dst));
        each_tile(outer, from, to, &mut |from, to| {
            self.blocks((source, from), (destination, to), times, (src, dst));
            if let Some((src, dst)) = last {
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
        let tables = self.blocks.iter().map(|block| size_of_val(block.terms()));
        size_of::<Self>() + size_of_val(&self.reads[..]) + tables.sum::<usize>()
    }
}

impl fmt::Display for BitPattern {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let block = &self.blocks[0];
        let loads = block.terms().iter().map(|term| usize::from(term.pieces)).sum::<usize>();
        let words = block.terms().iter().filter(|term| term.ends_word).count();
        write!(
            f,
            "bits selected from loads: a block of {} units, {words} words and {loads} loads",
            self.reads.len()
        )?;
        self.loops.iter().try_for_each(|PatternLoop { times, src, dst, .. }| {
            write!(f, ", {times} times (source {src:+}, destination {dst:+})")
        })
    }
}

/// Chooses the loads that contain all bits of a word: one of 64 bytes for each register, or up to
/// eight of 8 bytes. Returns for each register the number of pieces, and their offsets in the
/// source.
fn loads_of(word: &[Option<isize>; 64]) -> Vec<(u8, SmallVec<[isize; 8]>)> {
    let mut bytes: Vec<isize> = word.iter().flatten().map(|bit| bit.div_euclid(8)).collect();
    bytes.sort_unstable();
    let cover = |length: isize| {
        let mut starts: Vec<isize> = Vec::new();
        for &byte in &bytes {
            if starts.last().is_none_or(|start| byte - start >= length) {
                starts.push(byte);
            }
        }
        starts
    };
    let (wide, narrow) = (cover(64), cover(8));
    if wide.len() * 4 <= narrow.len() + narrow.len().div_ceil(8) * 3 {
        return wide.into_iter().map(|start| (1, smallvec![start])).collect();
    }
    let registers = narrow.chunks(8).map(|starts| {
        (starts.len().max(2).next_power_of_two() as u8, SmallVec::from_slice(starts))
    });
    registers.collect()
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
            let extents: Vec<usize> = (0..count)
                .map(|_| [2, 3, 4, 5, 7, 8, 11, 16, 24, 33, 130, 700][below(12 - 2 * count)])
                .collect();
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
            let Some(pattern) = BitPattern::new(bits, axes.iter().copied(), first, usize::MAX)
            else {
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
