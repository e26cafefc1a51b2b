//! [`CostModel`]: the numbers by which the cost of a kernel is estimated on a particular adapter.

use super::{AdapterKind, ScheduleError};

/// The costs of a kernel's accesses on a particular adapter, in thousandths of an operation.
/// `src/schedule/cost.rs` documents how they are added up.
///
/// The model affects which kernel is chosen, never the bytes that a kernel writes.
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
    #[must_use]
    pub fn of(kind: AdapterKind) -> Self {
        match kind {
            AdapterKind::Gpu => {
                Self { lanes: 32, access: 16_000, word: 0, line: 2000, byte: 870, spill: 18_000 }
            }
            AdapterKind::Cpu => {
                Self { lanes: 4, access: 17_644, word: 14_627, line: 252, byte: 0, spill: 0 }
            }
        }
    }

    /// Returns the costs, each with the name of its field.
    #[must_use]
    pub fn costs(&self) -> [(&'static str, u32); Self::COSTS] {
        let Self { lanes: _, access, word, line, byte, spill } = *self;
        [("access", access), ("word", word), ("line", line), ("byte", byte), ("spill", spill)]
    }

    /// Returns mutable references to the costs, in the order of [`costs`](Self::costs), for example
    /// to fit them to measurements.
    pub fn costs_mut(&mut self) -> [&mut u32; Self::COSTS] {
        let Self { lanes: _, access, word, line, byte, spill } = self;
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
        let all = [("lanes", self.lanes, 1, Self::MAX_LANES)].into_iter().chain(costs);
        for (field, given, least, most) in all {
            if !(least..=most).contains(&given) {
                return Err(ScheduleError::Model { field, given, least, most });
            }
        }
        Ok(())
    }
}
