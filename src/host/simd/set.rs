//! The instruction sets for shuffling bytes, and their detection.

/// An instruction set that this processor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::host) struct Simd(pub(super) Set);

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
    /// Returns the instruction sets of this processor that shuffle bytes, the best last.
    #[cfg(target_arch = "x86_64")]
    pub(in crate::host) fn all() -> impl DoubleEndedIterator<Item = Self> {
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
        sets.into_iter().filter(|&(_, found)| found).map(|(set, _)| Self(set))
    }

    /// Returns the instruction sets of this processor that shuffle bytes, the best last.
    #[cfg(target_arch = "aarch64")]
    pub(in crate::host) fn all() -> impl DoubleEndedIterator<Item = Self> {
        std::arch::is_aarch64_feature_detected!("neon").then_some(Self(Set::Neon)).into_iter()
    }

    /// Returns the instruction sets of this processor that shuffle bytes, the best last.
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub(in crate::host) fn all() -> impl DoubleEndedIterator<Item = Self> {
        std::iter::empty()
    }

    /// Returns the best instruction set, or `None` if the processor has none.
    pub(in crate::host) fn best() -> Option<Self> {
        Self::all().next_back()
    }

    /// Returns the size in bytes of a register that one load fills and one shuffle permutes.
    pub(in crate::host) fn width(self) -> usize {
        match self.0 {
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
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => 2,
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            _ => 1,
        }
    }
}
