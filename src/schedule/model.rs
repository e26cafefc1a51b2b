//! [`CostModel`]: the costs of a kernel's accesses on an adapter.

use super::{AdapterKind, ScheduleError};

/// What an adapter takes for the accesses of a kernel, in thousandths of an operation; the sum that it is for stands at
/// the head of `src/schedule/cost.rs`.
///
/// It says which kernel is chosen, never what a kernel writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CostModel {
    /// Invocations that run together: a warp of a GPU, or the lanes of a CPU's registers. No number of operations.
    pub lanes: u32,
    /// An access of all lanes.
    pub access: u32,
    /// A word of an access in one lane.
    pub word: u32,
    /// A line of 128 bytes that all lanes of an access touch together.
    pub line: u32,
    /// A byte that all lanes fetch or write, with what shares a sector of 32 bytes with it.
    pub byte: u32,
    /// A word that an invocation holds past 16 of them.
    pub spill: u32,
}

impl CostModel {
    /// The most of [`lanes`](Self::lanes).
    pub const MAX_LANES: u32 = 128;
    /// The most of the other numbers: a thousand operations.
    pub const MAX_COST: u32 = 1_000_000;
    /// How many these are.
    pub const COSTS: usize = 5;

    /// The numbers of an adapter that is not known more closely: of a GPU by a data sheet, of a software driver those that
    /// were measured of lavapipe (Mesa 22.3.6, LLVM 15.0.6, 256 bits, an AMD EPYC of family 26, 2 threads, 2026-11-22).
    #[must_use]
    pub fn of(kind: AdapterKind) -> Self {
        match kind {
            AdapterKind::Gpu => {
                Self { lanes: 32, access: 0, word: 0, line: 4000, byte: 280, spill: 0 }
            }
            AdapterKind::Cpu => {
                Self { lanes: 4, access: 17_644, word: 14_627, line: 252, byte: 0, spill: 0 }
            }
        }
    }

    /// The costs by the names of their fields.
    #[must_use]
    pub fn costs(&self) -> [(&'static str, u32); Self::COSTS] {
        let Self { lanes: _, access, word, line, byte, spill } = *self;
        [("access", access), ("word", word), ("line", line), ("byte", byte), ("spill", spill)]
    }

    /// The same, to change them.
    pub fn costs_mut(&mut self) -> [&mut u32; Self::COSTS] {
        let Self { lanes: _, access, word, line, byte, spill } = self;
        [access, word, line, byte, spill]
    }

    /// The same with every number within its bounds.
    pub(super) fn clamped(mut self) -> Self {
        self.lanes = self.lanes.clamp(1, Self::MAX_LANES);
        for cost in self.costs_mut() {
            *cost = (*cost).min(Self::MAX_COST);
        }
        self
    }

    /// No number is so large that a cost overflows.
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
