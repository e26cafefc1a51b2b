//! Detects the instruction sets that can shuffle bytes.

use std::sync::OnceLock;

use crate::host::machine::Machine;

/// An instruction set that this processor supports, with the preferences of a processor model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::host) struct Simd {
    pub(super) set: Set,
    pub(in crate::host) machine: &'static Machine,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Set {
    /// SSSE3: `pshufb` on 16 bytes.
    #[cfg(target_arch = "x86_64")]
    Ssse3,
    /// AVX2: `vpshufb` on two lanes of 16 bytes.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 VBMI, VBMI2, GFNI and BMI2: `vpermb` on 64 bytes, `vpshldvq`, `vgf2p8affineqb` and
    /// `pdep`.
    #[cfg(target_arch = "x86_64")]
    Avx512Vbmi,
    /// Neon: `tbl` on 16 bytes.
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Simd {
    /// Returns the byte-shuffling instruction sets that this processor supports, from the narrowest
    /// to the widest. Each uses the preferences of `machine`.
    #[cfg(target_arch = "x86_64")]
    pub(in crate::host) fn all(machine: &'static Machine) -> impl DoubleEndedIterator<Item = Self> {
        let sets = [
            (Set::Ssse3, is_x86_feature_detected!("ssse3")),
            (Set::Avx2, is_x86_feature_detected!("avx2")),
            (
                Set::Avx512Vbmi,
                is_x86_feature_detected!("avx512vbmi")
                    && is_x86_feature_detected!("avx512vbmi2")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("gfni")
                    && is_x86_feature_detected!("bmi2"),
            ),
        ];
        sets.into_iter().filter(|&(_, found)| found).map(move |(set, _)| Self { set, machine })
    }

    /// Returns the byte-shuffling instruction sets that this processor supports, from the narrowest
    /// to the widest. Each uses the preferences of `machine`.
    #[cfg(target_arch = "aarch64")]
    pub(in crate::host) fn all(machine: &'static Machine) -> impl DoubleEndedIterator<Item = Self> {
        let found = std::arch::is_aarch64_feature_detected!("neon");
        found.then_some(Self { set: Set::Neon, machine }).into_iter()
    }

    /// Returns an empty iterator: no instruction set of this architecture is used.
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub(in crate::host) fn all(_: &'static Machine) -> impl DoubleEndedIterator<Item = Self> {
        std::iter::empty()
    }

    /// Returns every combination of an instruction set of this processor and the preferences of a
    /// known processor model, for tests.
    #[cfg(test)]
    pub(in crate::host) fn all_with_every_machine() -> impl Iterator<Item = Self> {
        crate::host::machine::MACHINES.iter().flat_map(Self::all)
    }

    /// Returns this instruction set with the preferences of `machine`.
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

    /// Returns the widest instruction set that this processor supports, with the preferences of
    /// `machine`. Returns `None` if it supports none.
    pub(in crate::host) fn best(machine: &'static Machine) -> Option<Self> {
        Self::all(machine).next_back()
    }

    /// Returns the widest instruction set that this processor supports, with its own preferences.
    /// Returns `None` if it supports none.
    pub(in crate::host) fn here() -> Option<Self> {
        static HERE: OnceLock<Option<Simd>> = OnceLock::new();
        *HERE.get_or_init(|| Self::best(Machine::here()))
    }

    /// Returns the number of bytes that one load reads and one shuffle permutes.
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

    /// Returns true if registers can be put together from loads of eight bytes.
    pub(in crate::host) fn loads_pieces(self) -> bool {
        match self.set {
            #[cfg(target_arch = "x86_64")]
            Set::Avx512Vbmi => true,
            #[allow(unreachable_patterns)] // WebAssembly has no sets
            _ => false,
        }
    }

    /// Returns the number of registers, of [`Self::width`] bytes each, that are filled together. A
    /// period of a row, after which the selection of bytes repeats, must consist of a multiple of
    /// this number of registers.
    pub(in crate::host) fn registers_at_once(self) -> usize {
        match self.set {
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => 2,
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            _ => 1,
        }
    }
}
