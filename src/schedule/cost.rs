//! The cost model: estimates the time of a candidate from its operations and memory accesses.
//!
//! Short rows, odd strides and CPUs need different blocks, so candidates are compared by their
//! estimated cost. An adapter runs several invocations together, each in one *lane*: the 32 lanes
//! of a warp on a GPU, or the lanes of a vector register on a CPU. The cost is the number of
//! operations of all lanes together in which each lane writes one word of the destination:
//!
//! ```text
//! cost = (operations + Σ (ACCESS + words · WORD + lines · LINE) + fetched · BYTE + stored · ACCESS + spilled · SPILL)
//!        / words that an invocation writes · lanes / lanes that have work
//! ```
//!
//! The sum is over the loads and stores of an invocation. Some invocations have no work, because
//! they are past the end of an axis; they cost the same.
//!
//! - *operations* compute addresses and shift elements into words. A term of an affine expression
//!   counts as one operation, a division or a remainder by a power of two as one, another division
//!   as four, and its remainder as two more.
//! - *words* are the 32-bit words that the access moves in one lane.
//! - *lines* are the lines of 128 bytes that all lanes of the access touch together.
//! - *fetched* bytes are the bytes that all lanes move, including the unused bytes of their sectors
//!   of 32 bytes. All loads of a workgroup can share a sector, because a cache keeps the sector. A
//!   store shares a sector only with the same store in other lanes. On average, a range that starts
//!   inside a sector touches a part of one more sector.
//! - *stored* lines are the lines that all stores of the lanes touch together. Before a CPU writes
//!   to a line, it reads the line into its cache, and the store waits for this access.
//! - *spilled* words are the words after the first 16 that an invocation holds at a time. An
//!   invocation loads all its words before it stores any. On a GPU they take registers from other
//!   invocations, so that fewer run at a time.
//!
//! The numbers are fields of the target's [`CostModel`]. The presets are:
//!
//! | | lanes | ACCESS | WORD | LINE | BYTE | SPILL |
//! |---|---|---|---|---|---|---|
//! | GPU | 32 | 16 | 0 | 2 | 0.87 | 18 |
//! | CPU | 4 | 17.644 | 14.627 | 0.252 | 0 | 0 |
//!
//! The row for GPUs was measured on an NVIDIA H100: 3,900 kernels of 173 operations were timed, in
//! up to nine orders of their blocks. The numbers were fitted by least squares to the logarithms of
//! the times. With these numbers, the chosen kernel takes 1.01 times the median of the four fastest
//! kernels of an operation. Earlier numbers, computed from the card's data sheet (ACCESS 0, LINE 4,
//! BYTE 0.28, SPILL 0), gave 1.08. The row for CPUs was measured with lavapipe. `cargo bench
//! --bench relayout -- --cases model` runs every candidate of many operations, and compares the
//! chosen candidate with the best one. `stridec calibrate` fits the numbers to any device.

use smallvec::SmallVec;

use super::{
    AdapterKind, Block, BlockAxis, BlockDigit, CostModel, RowAlignment, RowSegments, Target,
    accesses::{Accesses, Progression, SECTOR_BYTES, first_lanes, lines},
};
use crate::nest::{Affine, CopyNest, Value, gcd};

/// The number of words that an invocation can hold in registers at no cost. See *spilled* at the
/// top of this file.
pub(super) const REGISTERS: u64 = 16;
/// The number of invocations in a workgroup. They share a cache for their loads.
const WORKGROUP: u64 = 256;
/// The minimum number of invocations that keeps a GPU busy if each moves a wide block of up to 64
/// words: about two workgroups of 64 for each of 132 cores. With fewer invocations, a block costs
/// more.
const LEAST_WIDE_BLOCKS: u64 = 1 << 14;

/// The average work of an invocation, and the number of invocations. `accesses` has the accesses to
/// the source, and then the accesses to the destination.
struct InvocationWork {
    /// The number of operations, apart from accesses.
    operations: u64,
    accesses: [Accesses; 2],
    /// The number of lines that the stores of all lanes of a vector touch together.
    stored_lines: u64,
    /// The number of words that the invocation holds in registers at a time.
    held: u64,
    /// The number of bytes that the invocation writes.
    bytes: u64,
    invocations: u64,
}

impl InvocationWork {
    /// Returns the cost for each word of the destination, in hundredths of an operation.
    fn cost(&self, model: &CostModel) -> u64 {
        let vector = u64::from(model.lanes);
        let [access, word, line, byte, spill] = model.costs().map(|(_, cost)| u64::from(cost));
        let lanes = vector.min(self.invocations);
        let one =
            |side: &Accesses| access + side.bytes.div_ceil(4) * word + side.lines(lanes) * line;
        let fetched = |side: &Accesses| match byte {
            0 => 0,
            _ => side.moved * lanes * side.fetched() * byte / 100,
        };
        let accesses: u64 =
            self.accesses.iter().map(|side| side.count * one(side) + fetched(side)).sum();
        let accesses = accesses + self.stored_lines * access;
        let spilled = self.held.saturating_sub(REGISTERS) * spill;
        // A vector in which some lanes have no work takes the time of a full vector. The model's
        // costs are thousandths of an operation, and the result is in hundredths.
        (self.operations * 1000 + accesses + spilled) * 4 * vector / (self.bytes * lanes * 10)
    }
}

/// Returns the estimated cost of a block for each word of the destination, in hundredths of an
/// operation. The kernel copies the nest `repeats` times, to different places.
pub(super) fn of_block(block: &Block, target: &Target, repeats: u64) -> u64 {
    let (nest, tiled) = (block.nest(), block.tiled());
    let model = &target.model.clamped();
    let digits = block.digits();
    let (loads, stores) = (block.loads(), block.rows() * block.width() / block.store());
    // Each access takes one operation for its address and one for its value. Inserting an element
    // into a word takes three: a shift, a mask and an `or`.
    let shifting = loads * block.load.shifting(nest.src_bits());
    let mut operations = decoding(&digits) + evaluation(tiled) + 2 * (loads + stores) + shifting;
    if nest.dst_bits() < 32 && !block.moves_words() {
        operations += 3 * block.rows() * block.width();
    }
    // The last block along an axis may be incomplete, and then lacks some of the stores. A test for
    // these stores takes three operations for each such axis: a comparison, an `and` and a branch.
    operations +=
        3 * block.axes().iter().filter(|block_axis| block_axis.is_ragged()).count() as u64;
    let word_guards = block.word_guards();
    if let Some((guards, _)) = &word_guards {
        let words = bytes(block.rows() * block.width(), nest.dst_bits()).div_ceil(4);
        operations += 2 * words * guards.len() as u64;
    }
    let side = |axis: usize| block.axes().iter().find(|block_axis| block_axis.number == axis);
    let progressions = |stride: &dyn Fn(&BlockAxis) -> u64, bits| -> SmallVec<[Progression; 8]> {
        let distance = |digit: &BlockDigit| {
            let step = side(digit.axis).map_or(0, |side| stride(side).saturating_mul(side.steps));
            bytes(step.saturating_mul(digit.step), bits)
        };
        digits.iter().map(|digit| (digit.extent, distance(digit))).collect()
    };
    let from = |side: &BlockAxis| side.src_stride.unsigned_abs();
    let inside = block.axes().iter().filter(|block_axis| block_axis.steps > 1);
    // Several loads, of one invocation or of neighbouring ones, may share a sector, which is then
    // fetched only once. So count the elements that are loaded, and not the loads. Elements below a
    // byte are counted as whole loads.
    let (moved, unit) = match nest.src_bits() {
        bits @ 8.. => (block.rows() * block.width(), u64::from(bits / 8)),
        bits => (loads, bytes(block.load(), bits)),
    };
    let read = Accesses {
        count: loads,
        bytes: bytes(block.load(), nest.src_bits()),
        moved,
        unit,
        inside: inside
            .clone()
            .map(|side| (side.steps, bytes(from(side), nest.src_bits())))
            .collect(),
        outside: progressions(&from, nest.src_bits()),
        together: WORKGROUP,
        align: aligned(nest.src().offset().unsigned_abs(), nest.src_bits()),
    };
    let stored = bytes(block.store(), nest.dst_bits());
    // If rows start inside accesses, blocks start at multiples of `piece` bytes instead of at the
    // start of a row. The distance between the blocks of two rows is then a multiple of `piece`.
    let piece = match block.row_alignment() {
        RowAlignment::Aligned => 1,
        _ => bytes(block.steps_per_access() * block.run_stride(), nest.dst_bits()).max(1),
    };
    let apart = |(extent, distance): Progression| match distance {
        _ if distance <= piece => (extent, distance),
        _ => (extent, distance / piece * piece),
    };
    let all: SmallVec<[Progression; 8]> =
        progressions(&|side| side.dst_stride, nest.dst_bits()).into_iter().map(apart).collect();
    let first = first_lanes(&all, model.lanes.into());
    let inside = inside.map(|side| apart((side.steps, bytes(side.dst_stride, nest.dst_bits()))));
    let stored_lines = lines(first.chain(inside.clone()));
    // The stores of a block share no sectors. They are aligned to the distance from one store to
    // the next.
    let steps = inside.filter(|step| step.1 >= stored);
    let written = Accesses {
        count: stores,
        bytes: stored,
        moved: stores,
        unit: stored,
        inside: SmallVec::new(),
        outside: all,
        together: model.lanes.into(),
        align: steps.fold(SECTOR_BYTES, |align, step| gcd(align, step.1)),
    };
    let count: u64 = digits.iter().map(|digit| digit.extent).product();
    let mut moved = block.axes().iter().map(|block_axis| block_axis.covered).product();
    if let Some(seam) = block.seam().filter(|seam| seam.covered.is_none()) {
        moved = nest.dst_units().saturating_sub(seam.rows * block.store()).max(1);
    }
    let words = |side: &Accesses| side.count * side.bytes.div_ceil(4);
    let held = words(&read).max(words(&written));
    let work = InvocationWork {
        operations,
        accesses: [read, written],
        stored_lines,
        held,
        // This is the mean over all invocations. A block that extends past the end of an axis
        // writes less, and an invocation without a block writes nothing.
        bytes: (bytes(moved, nest.dst_bits()) / count).max(1),
        invocations: count.saturating_mul(repeats),
    };
    // The words between rows are computed word by word, as in a gather, and so are the blocks in
    // which a guard fails for some units. The other lanes, the invocations that run together with
    // such a block, wait for it, so its cost counts once for each lane.
    let rest = nest.dst_units() - moved;
    let waits = block.varying_guards().filter(|_| word_guards.is_none()).map(|guard| {
        let is_along = |side: &&BlockAxis| guard.of.weight(Value::Axis(side.number)) != 0;
        let along: u64 = block.axes().iter().filter(is_along).map(BlockAxis::count).product();
        (u64::from(model.lanes).saturating_mul(nest.dst_units()) / along).min(nest.dst_units())
    });
    let units = rest + waits.max().unwrap_or(0);
    let gathered = if units == 0 {
        0
    } else {
        of_gather(nest, model, repeats).saturating_mul(units) / nest.dst_units()
    };
    // With few invocations, some cores of a GPU are idle.
    let is_gpu = target.kind == AdapterKind::Gpu;
    let is_wide = block.may_pass_ends() || held > REGISTERS;
    let all = count.saturating_mul(repeats);
    let idle = if is_gpu && is_wide { LEAST_WIDE_BLOCKS.div_ceil(all) } else { 1 };
    (work.cost(model) + gathered).saturating_mul(idle)
}

/// Returns the estimated cost of [`RowSegments`] for each word of the destination, in hundredths of
/// an operation.
///
/// Each loop counts as one more access, because a CPU also runs a loop in which no lane of the
/// vector has an access.
pub(super) fn of_segments(rows: &RowSegments, model: &CostModel) -> u64 {
    let model = &model.clamped();
    let nest = &rows.nest;
    let outer = nest.extents().iter().enumerate().rev().skip(1);
    let digits: SmallVec<[BlockDigit; 8]> =
        outer.map(|(axis, &extent)| BlockDigit { axis, extent, step: 1 }).collect();
    let loops: u64 = rows.segments.iter().map(|segment| segment.sources().len() as u64).sum();
    let ways: u64 = rows.segments.iter().map(|segment| 6 * segment.cases.len() as u64).sum();
    let accesses = (rows.accesses * rows.rows()).div_ceil(rows.runs()) + loops;
    let is_shifted = !rows.segments.iter().all(|segment| rows.are_aligned(segment));
    // Consecutive unaligned accesses share loads: `n` of them need `n + 1` loads.
    let loads = if is_shifted { accesses + accesses.div_ceil(rows.width) } else { accesses };
    let outside =
        || [(rows.lanes, 16 * rows.width), (rows.rows(), 16 * rows.accesses)].into_iter().collect();
    let side = |count: u64| Accesses {
        count,
        bytes: 16,
        moved: count,
        unit: 16,
        inside: SmallVec::new(),
        outside: outside(),
        together: u64::MAX,
        align: SECTOR_BYTES,
    };
    let work = InvocationWork {
        operations: decoding(&digits)
            + ways
            + 6 * loops
            + accesses * if is_shifted { 20 } else { 8 },
        accesses: [side(loads), side(accesses)],
        stored_lines: 1,
        held: 12,
        bytes: (nest.dst_bytes() / rows.runs()).max(1),
        invocations: rows.runs(),
    };
    work.cost(model)
}

/// Returns the estimated cost of a gather for each word of the destination, in hundredths of an
/// operation. A gather finds the source of every element on its own. The kernel copies the nest
/// `repeats` times.
pub(super) fn of_gather(nest: &CopyNest, model: &CostModel, repeats: u64) -> u64 {
    let model = &model.clamped();
    let units = u64::from((32 / nest.dst_bits()).max(1));
    let axes = nest.extents().iter().enumerate().rev();
    let digits: SmallVec<[BlockDigit; 8]> =
        axes.map(|(axis, &extent)| BlockDigit { axis, extent, step: 1 }).collect();
    // An element is taken from one word and inserted into another by shifts and masks.
    let shifts = if nest.dst_bits() < 32 { 6 } else { 0 };
    let step =
        |axis: usize| bytes(nest.src().weight(Value::Axis(axis)).unsigned_abs(), nest.src_bits());
    let inner = nest.extents().len() - 1;
    // An invocation covers `units` steps of the innermost axis.
    let outside = digits.iter().map(|digit| match digit.axis {
        axis if axis == inner => (digit.extent.div_ceil(units), step(axis).saturating_mul(units)),
        axis => (digit.extent, step(axis)),
    });
    let (unit, word) = (bytes(1, nest.src_bits()), bytes(units, nest.dst_bits()));
    let invocations = nest.dst_units().div_ceil(units);
    let read = Accesses {
        count: units,
        bytes: unit,
        moved: units,
        unit,
        inside: [(units, step(inner))].into_iter().collect(),
        outside: outside.collect(),
        together: WORKGROUP,
        align: aligned(nest.src().offset().unsigned_abs(), nest.src_bits()),
    };
    let written = Accesses {
        count: 1,
        bytes: word,
        moved: 1,
        unit: word,
        inside: SmallVec::new(),
        outside: [(invocations, word)].into_iter().collect(),
        together: model.lanes.into(),
        align: SECTOR_BYTES,
    };
    let work = InvocationWork {
        // Each element takes a function call and a load, and the word takes a store.
        operations: units * (decoding(&digits) + evaluation(nest) + shifts + 2) + 2,
        accesses: [read, written],
        stored_lines: 1,
        held: 1,
        bytes: word,
        invocations: invocations.saturating_mul(repeats),
    };
    work.cost(model)
}

/// Returns the alignment, in bytes, of an address that is `units` units of `bits` bits past an
/// aligned address. The result is at most the size of a sector.
fn aligned(units: u64, bits: u32) -> u64 {
    gcd(SECTOR_BYTES, units.saturating_mul(bits.into()) / 8)
}

/// Returns the size of `units` units of `bits` bits in bytes, rounded up.
fn bytes(units: u64, bits: u32) -> u64 {
    units.saturating_mul(bits.into()).div_ceil(8)
}

/// Returns the number of operations that split the index of an invocation into the position of its
/// block along each axis, such as `block / 8 % 4`, and compute the offset in the destination from
/// these.
fn decoding(digits: &[BlockDigit]) -> u64 {
    // True if a shift must still divide the index by the previous extent, a power of two. For other
    // extents, the quotient was already computed together with the remainder.
    let mut is_shifted = false;
    let mut operations = 0;
    for (number, digit) in digits.iter().enumerate() {
        let is_last = number + 1 == digits.len();
        operations += u64::from(is_shifted) + 1;
        if !is_last {
            operations += remainder(digit.extent);
            is_shifted = digit.extent.is_power_of_two();
        }
    }
    operations
}

/// Returns the number of operations that evaluate the source offset, the guards and the quotients
/// of a nest once.
fn evaluation(nest: &CopyNest) -> u64 {
    let terms = |form: &Affine| form.terms().len() as u64;
    let guards: u64 = nest.reading_guards().iter().map(|guard| terms(&guard.of) + 2).sum();
    let quotients = nest.quotients().iter();
    let quotients: u64 =
        quotients.map(|quotient| terms(&quotient.of) + division(quotient.by)).sum();
    terms(nest.src()) + guards + quotients
}

/// Returns the number of operations of a division by the constant `by`: a shift, or the upper half
/// of a product with corrections.
fn division(by: u64) -> u64 {
    match by {
        1 => 0,
        _ if by.is_power_of_two() => 1,
        _ => 4,
    }
}

/// Returns the number of operations of a remainder by the constant `by`: a mask, or a division, a
/// product and a subtraction.
fn remainder(by: u64) -> u64 {
    if by.is_power_of_two() { 1 } else { division(by) + 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares costs with ones computed by hand: for lines and fetched bytes on a GPU, for a
    /// half-filled vector on a GPU, and for words and spills on a CPU.
    #[test]
    fn costs_are_the_sum_at_the_head_of_the_file() {
        let work = |bytes, count, invocations| {
            let side =
                || Accesses { count, moved: count, ..Accesses::of(16, &[], &[(invocations, 16)]) };
            let (accesses, held) = ([side(), side()], count * 4);
            InvocationWork { operations: 10, accesses, stored_lines: 2, held, bytes, invocations }
        };
        let full = (1000 + 2 * (1600 + 4 * 200 + 32 * 16 * 87) + 2 * 1600) / 4;
        assert_eq!(work(16, 1, 1 << 20).cost(&CostModel::of(AdapterKind::Gpu)), full);
        let half = (1000 + 2 * (1600 + 2 * 200 + 16 * 16 * 87) + 2 * 1600) * 2 / 4;
        assert_eq!(work(16, 1, 16).cost(&CostModel::of(AdapterKind::Gpu)), half);
        let model = CostModel {
            lanes: 8,
            access: 8000,
            word: 1000,
            line: 500,
            byte: 0,
            spill: 3000,
            ..CostModel::of(AdapterKind::Cpu)
        };
        let spilled = (1000 + 2 * 6 * (800 + 4 * 100 + 50) + 2 * 800 + (24 - 16) * 300) / 24;
        assert_eq!(work(96, 6, 1 << 20).cost(&model), spilled);
    }
}
