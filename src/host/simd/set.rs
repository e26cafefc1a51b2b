//! The instruction sets for shuffling bytes, and their detection.

use crate::host::machine::Machine;

/// An instruction set that this processor has, and the preferences with which it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::host) struct Simd {
    pub(super) set: Set,
    pub(in crate::host) machine: &'static Machine,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Set {
    /// `pshufb` on 16 bytes.
    #[cfg(target_arch = "x86_64")]
    Ssse3,
    /// `vpshufb` on twice 16 bytes.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// `vpermb` on 64 bytes.
    #[cfg(target_arch = "x86_64")]
    Avx512Vbmi,
    /// `tbl` on 16 bytes.
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Simd {
    /// Returns the instruction sets of this processor that shuffle bytes, the best last, to be used
    /// as `machine` prefers.
    #[cfg(target_arch = "x86_64")]
    pub(in crate::host) fn all(machine: &'static Machine) -> impl DoubleEndedIterator<Item = Self> {
        let sets = [
            (Set::Ssse3, is_x86_feature_detected!("ssse3")),
            (Set::Avx2, is_x86_feature_detected!("avx2")),
            (
                Set::Avx512Vbmi,
                is_x86_feature_detected!("avx512vbmi")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vl"),
            ),
        ];
        sets.into_iter().filter(|&(_, found)| found).map(move |(set, _)| Self { set, machine })
    }

    /// Returns the instruction sets of this processor that shuffle bytes, the best last, to be used
    /// as `machine` prefers.
    #[cfg(target_arch = "aarch64")]
    pub(in crate::host) fn all(machine: &'static Machine) -> impl DoubleEndedIterator<Item = Self> {
        let found = std::arch::is_aarch64_feature_detected!("neon");
        found.then_some(Self { set: Set::Neon, machine }).into_iter()
    }

    /// Returns the instruction sets of this processor that shuffle bytes, the best last, to be used
    /// as `machine` prefers.
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub(in crate::host) fn all(_: &'static Machine) -> impl DoubleEndedIterator<Item = Self> {
        std::iter::empty()
    }

    /// Returns the instruction sets of this processor with the preferences of every processor.
    #[cfg(test)]
    pub(in crate::host) fn all_ways() -> impl Iterator<Item = Self> {
        crate::host::machine::MACHINES.iter().flat_map(Self::all)
    }

    /// Returns the instruction set with the preferences of another processor.
    #[cfg(test)]
    pub(in crate::host) fn with(self, machine: &'static Machine) -> Self {
        Self { machine, ..self }
    }

    /// Returns the name of the instruction set.
    #[cfg(test)]
    pub(in crate::host) fn name(self) -> &'static str {
        match self.set {
            #[cfg(target_arch = "x86_64")]
            Set::Ssse3 => "ssse3",
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Set::Avx512Vbmi => "avx512_vbmi",
            #[cfg(target_arch = "aarch64")]
            Set::Neon => "neon",
        }
    }

    /// Returns the best instruction set, to be used as `machine` prefers; `None` if the processor
    /// has none.
    pub(in crate::host) fn best(machine: &'static Machine) -> Option<Self> {
        Self::all(machine).next_back()
    }

    /// Returns the best instruction set with the preferences of this processor; `None` if it has
    /// none.
    pub(in crate::host) fn here() -> Option<Self> {
        Self::best(Machine::here())
    }

    /// Returns the size in bytes of a register that one load fills and one shuffle permutes.
    pub(in crate::host) fn width(self) -> usize {
        match self.set {
            #[cfg(target_arch = "x86_64")]
            Set::Ssse3 | Set::Avx2 => 16,
            #[cfg(target_arch = "x86_64")]
            Set::Avx512Vbmi => 64,
            #[cfg(target_arch = "aarch64")]
            Set::Neon => 16,
        }
    }

    /// Returns the number of registers that are made at a time.
    pub(in crate::host) fn registers_at_once(self) -> usize {
        match self.set {
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => 2,
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            _ => 1,
        }
    }
}
