//! [`CostModel`]: the numbers by which the cost and the time of a kernel are estimated on a
//! particular adapter.

use super::{AdapterKind, ScheduleError};

/// The costs of a kernel's accesses on a particular adapter, in thousandths of an operation, and
/// two rates that turn a cost into a time. `src/schedule/cost.rs` documents how the costs are added
/// up.
///
/// The costs affect which kernel is chosen, never the bytes that a kernel writes. The rates affect
/// neither: only [`Estimate::nanoseconds`](super::Estimate::nanoseconds) depends on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CostModel {
    /// The number of invocations that run together: a warp of a GPU, or the lanes of a CPU's
    /// registers. This number is a count, not a cost.
    pub lanes: u32,
    /// The cost of one access by all lanes together, whatever its size.
    pub access: u32,
    /// The cost of each 32-bit word that an access moves in one lane.
    pub word: u32,
    /// The cost of each cache line of 128 bytes that all lanes of an access touch together.
    pub line: u32,
    /// The cost of each byte that all lanes fetch or write. Unused bytes of touched 32-byte sectors
    /// count.
    pub byte: u32,
    /// The cost of each word after the first 16 that an invocation holds at a time. A CPU spills
    /// these words to memory, and a GPU runs fewer invocations at a time.
    pub spill: u32,
    /// The number of operations that the whole adapter completes in a microsecond. If a kernel
    /// writes `words` words at a cost of `cost` operations each, it takes `words` · `cost` divided
    /// by this number.
    pub operations_per_microsecond: u32,
    /// The time that each dispatch takes in addition to its work, in nanoseconds. It is the time
    /// from one kernel to the next in a submission. The submission itself does not count.
    pub dispatch_nanoseconds: u32,
}

impl CostModel {
    /// The maximum of [`lanes`](Self::lanes).
    pub(crate) const MAX_LANES: u32 = 128;
    /// The maximum of every cost: a thousand operations.
    pub const MAX_COST: u32 = 1_000_000;
    /// The number of costs in a model. `lanes` is not a cost.
    pub const COSTS: usize = 5;

    /// Returns default numbers for an unknown adapter of the given kind. The numbers for a GPU were
    /// measured on an NVIDIA H100 (Vulkan, driver 580.159, 2026-11-26). The numbers for a software
    /// driver were measured with lavapipe (Mesa 22.3.6, LLVM 15.0.6, 256 bits, an AMD EPYC of
    /// family 26, 2 threads, 2026-11-22).
    ///
    /// The rates are not calibrated. They are computed from the recorded rate of a plain copy: 2.1
    /// TB/s on the H100 and 11.6 GB/s on the EPYC, reads and writes together. A dispatch takes 5 µs
    /// on a GPU, as measured on an H200, and 7 µs in lavapipe, on an Intel Xeon.
    #[must_use]
    pub fn of(kind: AdapterKind) -> Self {
        match kind {
            AdapterKind::Gpu => Self {
                lanes: 32,
                access: 16_000,
                word: 0,
                line: 2000,
                byte: 870,
                spill: 18_000,
                operations_per_microsecond: 66_000_000,
                dispatch_nanoseconds: 5000,
            },
            AdapterKind::Cpu => Self {
                lanes: 4,
                access: 17_644,
                word: 14_627,
                line: 252,
                byte: 0,
                spill: 0,
                operations_per_microsecond: 60_000,
                dispatch_nanoseconds: 7000,
            },
        }
    }

    /// Returns the costs, each with the name of its field.
    #[must_use]
    pub fn costs(&self) -> [(&'static str, u32); Self::COSTS] {
        let Self { access, word, line, byte, spill, .. } = *self;
        [("access", access), ("word", word), ("line", line), ("byte", byte), ("spill", spill)]
    }

    /// Returns mutable references to the costs, in the order of [`costs`](Self::costs), for example
    /// to fit them to measurements.
    pub fn costs_mut(&mut self) -> [&mut u32; Self::COSTS] {
        let Self { access, word, line, byte, spill, .. } = self;
        [access, word, line, byte, spill]
    }

    /// Returns the model with every number limited to its range, so that no cost overflows.
    pub(super) fn clamped(mut self) -> Self {
        self.lanes = self.lanes.clamp(1, Self::MAX_LANES);
        for cost in self.costs_mut() {
            *cost = (*cost).min(Self::MAX_COST);
        }
        self
    }

    /// Returns an error if a number is outside its range.
    pub(super) fn check(&self) -> Result<(), ScheduleError> {
        let costs = self.costs().map(|(name, given)| (name, given, 0, Self::MAX_COST));
        let counts = [
            ("lanes", self.lanes, 1, Self::MAX_LANES),
            ("operations_per_microsecond", self.operations_per_microsecond, 1, u32::MAX),
        ];
        for (field, given, least, most) in counts.into_iter().chain(costs) {
            if !(least..=most).contains(&given) {
                return Err(ScheduleError::Model { field, given, least, most });
            }
        }
        Ok(())
    }
}
