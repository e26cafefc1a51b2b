//! Exchanges units of less than a byte between lines, in registers of 32 bytes.

#![allow(unsafe_code)] // calls functions for instructions that were found

use super::set::Simd;

impl Simd {
    /// Transposes units between neighbouring lines, as
    /// [`turn_units`](super::super::packed::turn_units) does. Lines are `pitch` bytes apart, a
    /// multiple of 32, and their first `width` bytes are exchanged, rounded up to a multiple of 32.
    ///
    /// Returns false and writes nothing if this instruction set has no registers of 32 bytes.
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
    pub(in crate::host) fn turn_units(
        self,
        lines: &mut [u8],
        (pitch, width): (usize, usize),
        bits: u32,
    ) -> bool {
        debug_assert!(bits < 8, "units of whole bytes");
        match self.set {
            #[cfg(target_arch = "x86_64")]
            super::set::Set::Avx2 | super::set::Set::Avx512Vbmi => {
                let (registers, _) = lines.as_chunks_mut::<32>();
                let (pitch, width) = (pitch / 32, width.div_ceil(32));
                // SAFETY: both sets have these instructions.
                unsafe {
                    match bits {
                        1 => x86::turn::<8>(registers, pitch, width),
                        2 => x86::turn::<4>(registers, pitch, width),
                        _ => x86::turn::<2>(registers, pitch, width),
                    }
                }
                true
            }
            #[allow(unreachable_patterns)] // aarch64 has no other set
            _ => false,
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256i, _mm256_and_si256, _mm256_set1_epi8, _mm256_setzero_si256, _mm256_slli_epi16,
        _mm256_srli_epi16, _mm256_xor_si256,
    };

    /// Transposes units between the `PER` lines of each group. A line has `pitch` registers, and
    /// its first `width` registers are exchanged.
    #[target_feature(enable = "avx2")]
    pub(super) fn turn<const PER: usize>(lines: &mut [[u8; 32]], pitch: usize, width: usize) {
        for group in lines.chunks_exact_mut(PER * pitch) {
            for column in 0..width {
                let mut units = [_mm256_setzero_si256(); PER];
                for (number, units) in units.iter_mut().enumerate() {
                    *units = bytemuck::cast(group[number * pitch + column]);
                }
                // Each pass exchanges halves, quarters or eighths of bytes between two lines.
                if PER == 8 {
                    exchange::<PER, 4, 4>(&mut units, 0x0f);
                    exchange::<PER, 2, 2>(&mut units, 0x33);
                    exchange::<PER, 1, 1>(&mut units, 0x55);
                } else if PER == 4 {
                    exchange::<PER, 2, 4>(&mut units, 0x0f);
                    exchange::<PER, 1, 2>(&mut units, 0x33);
                } else {
                    exchange::<PER, 1, 4>(&mut units, 0x0f);
                }
                for (number, units) in units.into_iter().enumerate() {
                    group[number * pitch + column] = bytemuck::cast(units);
                }
            }
        }
    }

    /// Exchanges bits between each line and the line `APART` after it: the bits above `mask` in a
    /// byte of the first, and the bits of `mask` in a byte of the second, which are `SHIFT` lower.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn exchange<const PER: usize, const APART: usize, const SHIFT: i32>(
        units: &mut [__m256i; PER],
        mask: i8,
    ) {
        let mask = _mm256_set1_epi8(mask);
        for first in (0..PER).filter(|first| first & APART == 0) {
            let [low, high] = [units[first], units[first + APART]];
            let shifted = _mm256_srli_epi16::<SHIFT>(low);
            let differs = _mm256_and_si256(_mm256_xor_si256(shifted, high), mask);
            units[first] = _mm256_xor_si256(low, _mm256_slli_epi16::<SHIFT>(differs));
            units[first + APART] = _mm256_xor_si256(high, differs);
        }
    }
}
