//! Unpacks and packs units of less than a byte, and exchanges them between lines, in registers of
//! 32 bytes.

#![allow(unsafe_code)] // calls functions for instructions that were found

use super::set::Simd;

impl Simd {
    /// Unpacks units of `BITS` bits to bytes, eight units at a time, as long as whole registers are
    /// filled. Returns the number of groups of eight units that were unpacked, which is 0 if this
    /// instruction set has no registers of 32 bytes.
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
    pub(in crate::host) fn spread<const BITS: usize>(
        self,
        packed: &[u8],
        units: &mut [[u8; 8]],
    ) -> usize {
        match self.set {
            #[cfg(target_arch = "x86_64")]
            super::set::Set::Avx2 | super::set::Set::Avx512Vbmi => {
                let (registers, _) = units.as_flattened_mut().as_chunks_mut();
                // SAFETY: both sets have these instructions.
                unsafe {
                    match BITS {
                        1 => x86::spread(packed, registers, x86::spread_bits),
                        2 => x86::spread(packed, registers, x86::spread_pairs),
                        _ => x86::spread(packed, registers, x86::spread_nibbles),
                    }
                }
            }
            #[allow(unreachable_patterns)] // aarch64 has no other set
            _ => 0,
        }
    }

    /// Packs the low `BITS` bits of each byte of `units`, as long as whole registers are read.
    /// Returns the number of groups of eight units that were packed, which is 0 if this instruction
    /// set has no registers of 32 bytes.
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
    pub(in crate::host) fn pack<const BITS: usize>(
        self,
        units: &[[u8; 8]],
        packed: &mut [u8],
    ) -> usize {
        match self.set {
            #[cfg(target_arch = "x86_64")]
            super::set::Set::Avx2 | super::set::Set::Avx512Vbmi => {
                let (registers, _) = units.as_flattened().as_chunks();
                // SAFETY: both sets have these instructions.
                unsafe {
                    match BITS {
                        1 => x86::pack(registers, packed, x86::pack_bits),
                        2 => x86::pack(registers, packed, x86::pack_pairs),
                        _ => x86::pack(registers, packed, x86::pack_nibbles),
                    }
                }
            }
            #[allow(unreachable_patterns)] // aarch64 has no other set
            _ => 0,
        }
    }

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
        __m256i, _mm_cvtsi128_si64, _mm_maddubs_epi16, _mm_packus_epi16, _mm_set1_epi16,
        _mm256_and_si256, _mm256_blend_epi16, _mm256_castsi256_si128, _mm256_cmpeq_epi8,
        _mm256_cvtepu8_epi16, _mm256_extracti128_si256, _mm256_maddubs_epi16, _mm256_movemask_epi8,
        _mm256_or_si256, _mm256_set1_epi8, _mm256_set1_epi16, _mm256_set1_epi32,
        _mm256_set1_epi64x, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_slli_epi16,
        _mm256_srli_epi16, _mm256_srli_epi32, _mm256_xor_si256,
    };

    /// Fills registers with units, each from `N` packed bytes by a call of `one`. Returns the
    /// number of groups of eight units that were unpacked.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn spread<const N: usize>(
        packed: &[u8],
        registers: &mut [[u8; 32]],
        one: unsafe fn([u8; N]) -> __m256i,
    ) -> usize {
        let packed = packed.as_chunks().0;
        let count = packed.len().min(registers.len());
        for (units, &packed) in registers.iter_mut().zip(packed) {
            // SAFETY: this function has the instructions of `one`.
            *units = bytemuck::cast(unsafe { one(packed) });
        }
        4 * count
    }

    /// Packs the units of registers, each to `N` bytes by a call of `one`. Returns the number of
    /// groups of eight units that were packed.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn pack<const N: usize>(
        registers: &[[u8; 32]],
        packed: &mut [u8],
        one: unsafe fn(__m256i) -> [u8; N],
    ) -> usize {
        let packed = packed.as_chunks_mut().0;
        let count = packed.len().min(registers.len());
        for (packed, &units) in packed.iter_mut().zip(registers) {
            // SAFETY: this function has the instructions of `one`.
            *packed = unsafe { one(bytemuck::cast(units)) };
        }
        4 * count
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn spread_bits(packed: [u8; 4]) -> __m256i {
        let packed = _mm256_set1_epi32(i32::from_le_bytes(packed));
        // Each byte is repeated for its eight units.
        let places: [[u8; 8]; 4] = [[0; 8], [1; 8], [2; 8], [3; 8]];
        let bytes = _mm256_shuffle_epi8(packed, bytemuck::cast(places));
        let masks = _mm256_set1_epi64x(i64::from_le_bytes([1, 2, 4, 8, 16, 32, 64, 128]));
        let found = _mm256_cmpeq_epi8(_mm256_and_si256(bytes, masks), masks);
        _mm256_and_si256(found, _mm256_set1_epi8(1))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn spread_pairs(packed: [u8; 8]) -> __m256i {
        let packed = _mm256_set1_epi64x(i64::from_le_bytes(packed));
        // Copy each byte to two words. Its lower half is spread in the first word, and its upper
        // half in the second.
        let places: [[u8; 4]; 8] = std::array::from_fn(|byte| [byte as u8, 255, byte as u8, 255]);
        let bytes = _mm256_shuffle_epi8(packed, bytemuck::cast(places));
        let halves = _mm256_blend_epi16::<0xaa>(bytes, _mm256_srli_epi32::<4>(bytes));
        let units = _mm256_or_si256(halves, _mm256_slli_epi16::<6>(halves));
        _mm256_and_si256(units, _mm256_set1_epi8(3))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn spread_nibbles(packed: [u8; 16]) -> __m256i {
        let words = _mm256_cvtepu8_epi16(bytemuck::cast(packed));
        let units = _mm256_or_si256(words, _mm256_slli_epi16::<4>(words));
        _mm256_and_si256(units, _mm256_set1_epi8(15))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn pack_bits(units: __m256i) -> [u8; 4] {
        _mm256_movemask_epi8(_mm256_slli_epi16::<7>(units)).to_le_bytes()
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn pack_pairs(units: __m256i) -> [u8; 8] {
        // Multiplying by powers of two and adding joins two neighbours, and then four.
        let units = _mm256_and_si256(units, _mm256_set1_epi8(3));
        let pairs = _mm256_maddubs_epi16(units, _mm256_set1_epi16(i16::from_le_bytes([1, 4])));
        let low = _mm256_castsi256_si128(pairs);
        let pairs = _mm_packus_epi16(low, _mm256_extracti128_si256::<1>(pairs));
        let fours = _mm_maddubs_epi16(pairs, _mm_set1_epi16(i16::from_le_bytes([1, 16])));
        _mm_cvtsi128_si64(_mm_packus_epi16(fours, fours)).to_le_bytes()
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn pack_nibbles(units: __m256i) -> [u8; 16] {
        let units = _mm256_and_si256(units, _mm256_set1_epi8(15));
        let pairs = _mm256_maddubs_epi16(units, _mm256_set1_epi16(i16::from_le_bytes([1, 16])));
        let low = _mm256_castsi256_si128(pairs);
        bytemuck::cast(_mm_packus_epi16(low, _mm256_extracti128_si256::<1>(pairs)))
    }

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
