//! The cost model: what a strategy is expected to take, from the shape of its accesses alone.
//!
//! A cost is counted in operations of a vector: a warp of 32 lanes on a GPU, 8 lanes of a CPU's registers. For each word
//! of the destination that an invocation writes,
//!
//! ```text
//! cost = operations + Σ over loads and stores of (ACCESS + words · WORD + lines · LINE + fetched · BYTE)
//!                   + spilled · SPILL
//! ```
//!
//! - *operations* compute where to read and write, and shift units into words: a product and a sum for each term, more for
//!   a division;
//! - *words* are those of the access, in one lane;
//! - *lines* of 128 bytes are what all lanes of the access touch together;
//! - *fetched* bytes are those of all lanes, with what shares a sector of 32 bytes with them and nobody uses;
//! - *spilled* words are what an invocation holds at a time past 16 of them.
//!
//! | | ACCESS | WORD | LINE | BYTE | SPILL |
//! |---|---|---|---|---|---|
//! | GPU | 0 | 0 | 4 | 0.27 | 0 |
//! | CPU | 8 | 1 | 0 | 0 | 3 |
//!
//! The GPU's row is that of a card of 3.35 TB/s and 132 cores at 1.76 GHz (an H100, by its data sheet): a core issues four
//! operations a cycle, and takes one line and 14.4 bytes of memory a cycle. It is not measured. The CPU's is fitted to
//! lavapipe: `cargo bench --bench relayout -- --cases model` runs every candidate of many operations, and shows what
//! the choice costs beside the best of them.

use smallvec::SmallVec;

use super::{AdapterKind, Block, block::Lane};
use crate::nest::{Affine, CopyNest, Value};

/// Hundredths of an operation.
struct Machine {
    lanes: u64,
    access: u64,
    word: u64,
    line: u64,
    byte: u64,
    spill: u64,
}

const REGISTERS: u64 = 16;
const LINE_BYTES: u64 = 128;
const SECTOR_BYTES: u64 = 32;

impl Machine {
    fn of(kind: AdapterKind) -> Self {
        match kind {
            AdapterKind::Gpu => {
                Self { lanes: 32, access: 0, word: 0, line: 400, byte: 27, spill: 0 }
            }
            AdapterKind::Cpu => {
                Self { lanes: 8, access: 800, word: 100, line: 0, byte: 0, spill: 300 }
            }
        }
    }
}

/// What an invocation does. Its accesses are those to the source and those to the destination.
struct Work {
    operations: u64,
    accesses: [Accesses; 2],
    /// Bytes of the destination.
    bytes: u64,
    invocations: u64,
}

impl Work {
    /// Hundredths of an operation for each word.
    fn cost(&self, kind: AdapterKind) -> u64 {
        let machine = Machine::of(kind);
        let lanes = machine.lanes.min(self.invocations);
        let one = |side: &Accesses| {
            let fetched = lanes * side.bytes * SECTOR_BYTES / side.used();
            machine.access
                + side.bytes.div_ceil(4) * machine.word
                + side.lines(lanes) * machine.line
                + fetched * machine.byte
        };
        let accesses: u64 = self.accesses.iter().map(|side| side.count * one(side)).sum();
        let spilled = (self.bytes / 4).saturating_sub(REGISTERS) * machine.spill;
        // A vector that is not full takes as long.
        (self.operations * 100 + accesses + spilled) * 4 * machine.lanes / (self.bytes * lanes)
    }
}

/// A number of places, and the bytes from one to the next.
type Steps = (u64, u64);

/// The accesses of an invocation to one side, and how those of others lie beside them.
struct Accesses {
    count: u64,
    /// Bytes of each.
    bytes: u64,
    /// Bytes of a unit.
    unit: u64,
    /// The units of an invocation.
    inside: [Steps; 2],
    /// The digits of an invocation's number, the fastest first.
    outside: SmallVec<[Steps; 8]>,
}

impl Accesses {
    /// Lines that the lanes of one access touch together.
    fn lines(&self, mut lanes: u64) -> u64 {
        let mut lines = 1;
        for &(extent, distance) in &self.outside {
            let extent = extent.min(lanes);
            lines *= (extent * distance.min(LINE_BYTES)).div_ceil(LINE_BYTES).max(1);
            lanes = (lanes / extent).max(1);
        }
        lines
    }

    /// Bytes of a sector that some invocation uses.
    fn used(&self) -> u64 {
        let mut steps: SmallVec<[Steps; 10]> = self.outside.iter().copied().collect();
        steps.extend(self.inside);
        steps.sort_unstable_by_key(|step| step.1);
        let mut run = self.unit;
        for (extent, distance) in steps {
            if distance > run {
                return run * (SECTOR_BYTES / distance).max(1);
            }
            run = run.max(extent.saturating_mul(distance)).min(SECTOR_BYTES);
        }
        run.min(SECTOR_BYTES)
    }
}

/// Hundredths of an operation for each word that a block writes.
pub(super) fn of_block(block: &Block, kind: AdapterKind) -> u64 {
    let nest = &block.nest;
    let lanes = block.lanes(kind);
    let units = block.rows * block.width;
    let (loads, stores) = (block.source_runs() * block.loads_of_run(), units / block.store);
    let mut operations = decoding(&lanes) + evaluation(nest) + 2 * (loads + stores);
    if !block.is_word_aligned() {
        operations += 4 * loads;
    } else if nest.dst_bits < 32 && block.src_axis.is_some() {
        operations += 3 * units;
    }
    let strides: SmallVec<[u64; 8]> = nest.axes().map(|axis| axis.dst_stride).collect();
    let from = |axis: usize| nest.src.weight(Value::Axis(axis)).unsigned_abs();
    let side = |count, units, bits, stride: &dyn Fn(usize) -> u64| Accesses {
        count,
        bytes: bytes(units, bits).max(4),
        unit: bytes(1, bits),
        inside: [
            (block.rows, bytes(stride(block.dst_axis), bits)),
            (block.width, block.src_axis.map_or(0, |axis| bytes(stride(axis), bits))),
        ],
        outside: lanes
            .iter()
            .map(|lane| (lane.extent, bytes(stride(lane.axis) * lane.step, bits)))
            .collect(),
    };
    let work = Work {
        operations,
        accesses: [
            side(loads, block.loaded_units(), nest.src_bits, &from),
            side(stores, block.store, nest.dst_bits, &|axis| strides[axis]),
        ],
        bytes: bytes(units, nest.dst_bits),
        invocations: block.count(),
    };
    work.cost(kind)
}

/// Hundredths of an operation for each word that a gather writes.
pub(super) fn of_gather(nest: &CopyNest, kind: AdapterKind) -> u64 {
    let units = u64::from((32 / nest.dst_bits).max(1));
    let axes = nest.extents.iter().enumerate().rev();
    let lanes: SmallVec<[Lane; 8]> =
        axes.map(|(axis, &extent)| Lane { axis, extent, step: 1 }).collect();
    // Shifts and masks: to take a unit out of a word, and to put it into another.
    let shifts = if nest.dst_bits < 32 { 6 } else { 0 };
    let from = |lane: &Lane| {
        let weight = nest.src.weight(Value::Axis(lane.axis)).unsigned_abs();
        (lane.extent, bytes(weight, nest.src_bits))
    };
    let (unit, word) = (bytes(1, nest.src_bits), bytes(units, nest.dst_bits));
    let invocations = nest.dst_elements.div_ceil(units);
    let none = [(1, 0); 2];
    let read = Accesses {
        count: units,
        bytes: unit.max(4),
        unit,
        inside: none,
        outside: lanes.iter().map(from).collect(),
    };
    let outside = [(invocations, word)].into_iter().collect();
    let written = Accesses { count: 1, bytes: word, unit: word, inside: none, outside };
    let work = Work {
        operations: units * (decoding(&lanes) + evaluation(nest) + shifts + 2) + 3,
        accesses: [read, written],
        bytes: word,
        invocations,
    };
    work.cost(kind)
}

/// Whole bytes of so many units.
fn bytes(units: u64, bits: u32) -> u64 {
    units.saturating_mul(bits.into()).div_ceil(8)
}

/// Operations that take an invocation's number apart.
fn decoding(lanes: &[Lane]) -> u64 {
    let mut below = 1_u64;
    let mut operations = 0;
    for (number, lane) in lanes.iter().enumerate() {
        let is_last = number + 1 == lanes.len();
        operations += division(below) + if is_last { 0 } else { division(lane.extent) + 2 };
        below = below.saturating_mul(lane.extent);
    }
    operations
}

/// Operations that evaluate the forms of a nest, once.
fn evaluation(nest: &CopyNest) -> u64 {
    let terms = |form: &Affine| form.terms().len() as u64;
    let guards: u64 = nest.guards.iter().map(|guard| terms(&guard.of) + 2).sum();
    let digits: u64 = nest.digits.iter().map(|digit| terms(&digit.of) + division(digit.by)).sum();
    terms(&nest.src) + guards + digits
}

/// Operations that divide by a constant: a shift, or a product, its upper half and a shift.
fn division(by: u64) -> u64 {
    match by {
        1 => 0,
        _ if by.is_power_of_two() => 1,
        _ => 4,
    }
}
