//! Unpacks and packs units of less than a byte in registers of 32 bytes. Packs lines, and turns
//! bands of lines, in registers of 64 bytes.

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

    /// Packs lines of `columns` bytes, each byte to 1 or 2 bits. Line `n` begins at byte
    /// `from + rows[n]` of the image, and is written to byte `n * pitch` of `out`. Up to 15 bytes
    /// after it are overwritten too. Returns false if this instruction set cannot pack lines, or if
    /// a line does not lie in the image.
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
    pub(in crate::host) fn pack_lines(
        self,
        lines: (&[u8], isize, &[isize]),
        out: (&mut [u8], usize),
        columns: usize,
        bits: u32,
    ) -> bool {
        match self.set {
            #[cfg(target_arch = "x86_64")]
            super::set::Set::Avx512Vbmi => {
                // SAFETY: the set has these instructions.
                unsafe {
                    match bits {
                        1 => x86::pack_lines::<1>(lines, out, columns),
                        _ => x86::pack_lines::<2>(lines, out, columns),
                    }
                }
            }
            #[allow(unreachable_patterns)] // aarch64 has no other set
            _ => false,
        }
    }

    /// Returns the number of bands that [`Self::turn_bands`] turns with one load of 64 bytes: a
    /// power of two, or 0 if a band does not fit. Lines have `length` bits, and are `step` bits
    /// apart if that distance is constant and positive. The first begins at bit `start` of a byte.
    pub(in crate::host) fn bands_of_load(
        self,
        (start, length): (usize, usize),
        step: Option<usize>,
    ) -> usize {
        let Some(step) = step.filter(|&step| step > 0 && self.selects_bits()) else { return 0 };
        let fits = |bands: &usize| {
            let end = (8 * bands - 1).saturating_mul(step).saturating_add(start + length);
            length <= 64 / bands && end <= 512
        };
        [8, 4, 2, 1].into_iter().find(fits).unwrap_or(0)
    }

    /// Turns bands of lines as [`turn_bands`](super::super::packed::turn_bands) does; lines have
    /// `width` bytes. If `pitch` divides 64, several bands are turned at a time: 64 divided by
    /// `pitch`, which must be the result of [`Self::bands_of_load`]. Returns the number of bands
    /// that were turned. It is 0 if this instruction set cannot turn bands, and less than all if a
    /// band would read past the end of the image.
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
    pub(in crate::host) fn turn_bands(
        self,
        (image, from, rows, step): (&[u8], isize, &[isize], Option<usize>),
        (out, pitch): (&mut [u8], usize),
        width: usize,
        bits: u32,
    ) -> usize {
        match self.set {
            #[cfg(target_arch = "x86_64")]
            super::set::Set::Avx512Vbmi => {
                // SAFETY: the set has these instructions.
                unsafe {
                    let image = (image, from << bits.ilog2());
                    let out = (out, pitch);
                    match bits {
                        1 => x86::turn::<0>(image, (rows, step), out, width),
                        2 => x86::turn::<1>(image, (rows, step), out, width),
                        _ => x86::turn::<2>(image, (rows, step), out, width),
                    }
                }
            }
            #[allow(unreachable_patterns)] // aarch64 has no other set
            _ => 0,
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256i, __m512i, _mm_cvtsi64_si128, _mm_cvtsi128_si64, _mm_maddubs_epi16,
        _mm_packus_epi16, _mm_set1_epi16, _mm256_and_si256, _mm256_blend_epi16,
        _mm256_castsi256_si128, _mm256_cmpeq_epi8, _mm256_cvtepu8_epi16, _mm256_extracti128_si256,
        _mm256_maddubs_epi16, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8,
        _mm256_set1_epi16, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_shuffle_epi8,
        _mm256_slli_epi16, _mm256_srli_epi32, _mm512_add_epi8, _mm512_add_epi64, _mm512_and_si512,
        _mm512_castsi128_si512, _mm512_cmpgt_epu64_mask, _mm512_cvtepi32_epi8,
        _mm512_gf2p8affine_epi64_epi8, _mm512_loadu_si512, _mm512_madd_epi16, _mm512_maddubs_epi16,
        _mm512_mask_multishift_epi64_epi8, _mm512_mask_set1_epi64, _mm512_maskz_loadu_epi8,
        _mm512_maskz_loadu_epi64, _mm512_min_epi64, _mm512_movepi8_mask,
        _mm512_multishift_epi64_epi8, _mm512_or_si512, _mm512_permutexvar_epi8,
        _mm512_permutexvar_epi64, _mm512_set1_epi8, _mm512_set1_epi16, _mm512_set1_epi32,
        _mm512_set1_epi64, _mm512_shrdv_epi64, _mm512_shuffle_i64x2, _mm512_slli_epi16,
        _mm512_slli_epi64, _mm512_srai_epi64, _mm512_srli_epi64, _mm512_srlv_epi64,
        _mm512_storeu_si512, _mm512_unpackhi_epi64, _mm512_unpacklo_epi64, _mm512_xor_si512,
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

    /// Packs lines of bytes; see [`Simd::pack_lines`](super::Simd::pack_lines).
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn pack_lines<const BITS: usize>(
        (image, from, rows): (&[u8], isize, &[isize]),
        (out, pitch): (&mut [u8], usize),
        columns: usize,
    ) -> bool {
        for (number, row) in rows.iter().enumerate() {
            let first = (from + row).cast_unsigned();
            let line = image.get(first..).and_then(|line| line.get(..columns));
            let (Some(line), Some(mut out)) = (line, out.get_mut(number * pitch..)) else {
                return false;
            };
            for units in line.chunks(64) {
                let loaded = u64::MAX >> (64 - units.len());
                // SAFETY: only the bytes of the slice are loaded.
                let units = unsafe { _mm512_maskz_loadu_epi8(loaded, units.as_ptr().cast()) };
                let Some((packed, rest)) = out.split_at_mut_checked(8 * BITS) else { return false };
                pack_64::<BITS>(units, packed);
                out = rest;
            }
        }
        true
    }

    /// Packs the low `BITS` bits of 64 bytes to `8 * BITS` bytes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn pack_64<const BITS: usize>(units: __m512i, packed: &mut [u8]) {
        if BITS == 1 {
            let bits = _mm512_movepi8_mask(_mm512_slli_epi16::<7>(units));
            return packed[..8].copy_from_slice(&bits.to_le_bytes());
        }
        // Multiplying by powers of two and adding joins two neighbours, and then four.
        let units = _mm512_and_si512(units, _mm512_set1_epi8(3));
        let pairs = _mm512_maddubs_epi16(units, _mm512_set1_epi16(i16::from_le_bytes([1, 4])));
        let fours = _mm512_madd_epi16(pairs, _mm512_set1_epi32(1 | 16 << 16));
        let bytes: [u8; 16] = bytemuck::cast(_mm512_cvtepi32_epi8(fours));
        packed[..16].copy_from_slice(&bytes);
    }

    /// Turns bands of eight lines of units of `1 << LOG` bits. `from` is the first bit of all rows.
    /// `step` is the number of units between rows if it is constant.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,gfni")]
    pub(super) fn turn<const LOG: u32>(
        (image, from): (&[u8], isize),
        (rows, step): (&[isize], Option<usize>),
        (out, pitch): (&mut [u8], usize),
        width: usize,
    ) -> usize {
        // Long lines are turned in parts of 64 bytes, and the rest of them in shorter parts.
        let wide = if width % WIDE <= 2 * PART { width / WIDE } else { width.div_ceil(WIDE) };
        let parts = width.saturating_sub(wide * WIDE).div_ceil(PART);
        let read = wide * WIDE + parts.checked_sub(1).map_or(0, |before| before * PART + 8);
        // The last part of 64 bytes reads one byte past the line.
        let read = if parts == 0 { width + 1 } else { read };
        let Some(last) = image.len().checked_sub(read) else { return 0 };
        let written = width.next_multiple_of(8) * 8 + 64;
        let lines = lines::<LOG>();
        let step = step.map_or(usize::MAX, |units| units << LOG);
        let mut done = 0;
        if 64 % pitch == 0 {
            let (first, bands) = (from + (rows[0] << LOG), (rows.len().div_ceil(8), 64 / pitch));
            done = turn_short::<LOG>((image, first), bands, step, out);
        }
        // SAFETY: `loadu` of an array of 64 bytes.
        let lines = unsafe { _mm512_loadu_si512(lines.as_ptr().cast()) };
        let from = _mm512_set1_epi64(from as i64);
        let last = _mm512_set1_epi64(last.cast_signed() as i64);
        for rows in rows.get(8 * done..).unwrap_or_default().chunks(8) {
            let Some(out) = out.get_mut(done * pitch..done * pitch + written) else { return done };
            // SAFETY: only the rows of the slice are loaded.
            let rows_loaded = unsafe {
                _mm512_maskz_loadu_epi64(u8::MAX >> (8 - rows.len()), rows.as_ptr().cast())
            };
            // Lines that a last band lacks repeat its last line.
            let lines =
                _mm512_min_epi64(lines, _mm512_set1_epi64(rows.len().cast_signed() as i64 - 1));
            let starts = _mm512_permutexvar_epi64(lines, rows_loaded);
            let starts = _mm512_add_epi64(_mm512_slli_epi64::<LOG>(starts), from);
            let shifts = _mm512_and_si512(starts, _mm512_set1_epi64(7));
            let bytes = _mm512_srai_epi64::<3>(starts);
            if _mm512_cmpgt_epu64_mask(bytes, last) != 0 {
                return done;
            }
            let starts: [isize; 8] = bytemuck::cast(bytes);
            // SAFETY: the comparison found that `read` bytes can be read from each of `bytes`.
            let lines = starts.map(|start| unsafe { image.as_ptr().offset(start) });
            for part in 0..wide {
                let from = part * WIDE;
                // SAFETY: all bytes from the start of a line to one byte after its end can be read.
                // `out` has `written` bytes.
                unsafe {
                    turn_wide::<LOG>(lines, shifts, from, width, out.as_mut_ptr().add(from * 8));
                }
            }
            for part in 0..parts {
                let from = wide * WIDE + part * PART;
                // SAFETY: the comparison found that `read` bytes can be read from each of `bytes`.
                // `out` has `written` bytes.
                unsafe {
                    let word = |place: usize| lines[place].add(from).cast::<i64>().read_unaligned();
                    let mut band = _mm512_castsi128_si512(_mm_cvtsi64_si128(word(0)));
                    band = _mm512_mask_set1_epi64(band, 1 << 1, word(1));
                    band = _mm512_mask_set1_epi64(band, 1 << 2, word(2));
                    band = _mm512_mask_set1_epi64(band, 1 << 3, word(3));
                    band = _mm512_mask_set1_epi64(band, 1 << 4, word(4));
                    band = _mm512_mask_set1_epi64(band, 1 << 5, word(5));
                    band = _mm512_mask_set1_epi64(band, 1 << 6, word(6));
                    band = _mm512_mask_set1_epi64(band, 1 << 7, word(7));
                    let band = turned::<LOG>(_mm512_srlv_epi64(band, shifts));
                    _mm512_storeu_si512(out.as_mut_ptr().add(from * 8).cast(), band);
                }
            }
            done += 1;
        }
        done
    }

    /// Turns at most [`WIDE`] bytes of each line of a band, from byte `from` of each on. A line has
    /// `width` bytes, from bit `shifts` of its first byte.
    ///
    /// # Safety
    ///
    /// Each line has `width + 1` readable bytes, of which at least 9 are left. `out` has room for
    /// eight times as many bytes as are turned, rounded up to 64.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,gfni")]
    unsafe fn turn_wide<const LOG: u32>(
        lines: [*const u8; 8],
        shifts: __m512i,
        from: usize,
        width: usize,
        out: *mut u8,
    ) {
        let left = width - from;
        let mask = |bytes: usize| u64::MAX >> (64 - bytes.min(64));
        let (low, high) = (mask(left + 1), mask(left - 7));
        let shifts: [i64; 8] = bytemuck::cast(shifts);
        let words: [__m512i; 8] = std::array::from_fn(|place| {
            // SAFETY: the masks select bytes that the caller allows to be read.
            unsafe {
                let line = lines[place].add(from);
                let first = _mm512_maskz_loadu_epi8(low, line.cast());
                if shifts[place] == 0 {
                    return first;
                }
                let second = _mm512_maskz_loadu_epi8(high, line.add(8).cast());
                _mm512_shrdv_epi64(first, second, _mm512_set1_epi64(shifts[place]))
            }
        });
        for (number, band) in transpose_words(&words).into_iter().enumerate() {
            if number * 8 < left {
                // SAFETY: the caller guarantees room for these bytes.
                unsafe { _mm512_storeu_si512(out.add(number * 64).cast(), turned::<LOG>(band)) };
            }
        }
    }

    /// Transposes a matrix of 8 by 8 words of 64 bits.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn transpose_words(words: &[__m512i; 8]) -> [__m512i; 8] {
        let [mut pairs, mut fours, mut out] = [*words; 3];
        for n in 0..4 {
            pairs[n] = _mm512_unpacklo_epi64(words[2 * n], words[2 * n + 1]);
            pairs[4 + n] = _mm512_unpackhi_epi64(words[2 * n], words[2 * n + 1]);
        }
        // Lanes 0 and 2, or 1 and 3, of two registers.
        for n in 0..4 {
            fours[n] = _mm512_shuffle_i64x2::<0x88>(pairs[2 * n], pairs[2 * n + 1]);
            fours[4 + n] = _mm512_shuffle_i64x2::<0xdd>(pairs[2 * n], pairs[2 * n + 1]);
        }
        // Word `w` of each line is in lane `w / 2` of the pairs, in the upper half if `w` is odd.
        for odd in 0..2 {
            for high in 0..2 {
                let [one, two] = [0, 1].map(|side| fours[4 * high + 2 * odd + side]);
                out[2 * high + odd] = _mm512_shuffle_i64x2::<0x88>(one, two);
                out[4 + 2 * high + odd] = _mm512_shuffle_i64x2::<0xdd>(one, two);
            }
        }
        out
    }

    /// The number of bytes of each line of a band that are turned at a time if the lines are long.
    const WIDE: usize = 64;

    /// The number of bytes of each line that are turned at a time. Eight bytes are loaded, because
    /// a line can begin inside a byte.
    const PART: usize = 7;

    /// Returns the number of the line at each place of a band.
    fn lines<const LOG: u32>() -> [usize; 8] {
        let bits = 1 << LOG;
        std::array::from_fn(|place| place % bits * (8 >> LOG) + place / bits)
    }

    /// Turns `bands` bands of short lines, which are `step` bits apart and begin at bit `first`,
    /// `together` of them with one load. A word of the register has `8 / together` bytes of a line
    /// of each of them. Returns the number of bands that were turned, which is less than all if a
    /// load would end past the image.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
    fn turn_short<const LOG: u32>(
        (image, first): (&[u8], isize),
        (bands, together): (usize, usize),
        step: usize,
        out: &mut [u8],
    ) -> usize {
        let Some(image) = usize::try_from(first >> 3).ok().and_then(|first| image.get(first..))
        else {
            return 0;
        };
        let (phase, step_bits) = ((first.cast_unsigned() % 8) as u16, step as u16);
        let (lines, field) = (lines::<LOG>(), (8 / together).ilog2());
        // The first bit, counted from the load, of each byte of a register.
        let bits: [u16; 64] = std::array::from_fn(|byte| {
            let of_word = byte % 8;
            let (band, of_line) = (of_word >> field, of_word & ((1 << field) - 1));
            phase + (band * 8 + lines[byte / 8]) as u16 * step_bits + of_line as u16 * 8
        });
        let starts: __m512i = bytemuck::cast(bits.map(|bit| (bit / 8) as u8));
        // Each byte is shifted out of two bytes of the load, so that four bytes of the register
        // come from eight.
        let [low, high] = [0, 4].map(|half| {
            let pairs: [u8; 64] =
                std::array::from_fn(|byte| (byte / 8 * 8 + half + byte % 8 / 2) as u8);
            let second: [u8; 64] = std::array::from_fn(|byte| (byte % 2) as u8);
            let starts = _mm512_permutexvar_epi8(bytemuck::cast(pairs), starts);
            _mm512_add_epi8(starts, bytemuck::cast(second))
        });
        let shifts: [u8; 64] =
            std::array::from_fn(|byte| (byte % 4 * 16) as u8 + bits[byte] as u8 % 8);
        let shifts: __m512i = bytemuck::cast(shifts);
        // Eight lines have `8 * step` bits, so each band begins at the same bit of a byte.
        let loads = image.windows(64).step_by(step * together);
        let stores = out.as_chunks_mut::<64>().0;
        let mut done = 0;
        for (bytes, out) in loads.zip(stores).take(bands.div_ceil(together)) {
            // SAFETY: both have 64 bytes.
            unsafe {
                let bytes = _mm512_loadu_si512(bytes.as_ptr().cast());
                let [low, high] = [low, high].map(|of| _mm512_permutexvar_epi8(of, bytes));
                let low = _mm512_multishift_epi64_epi8(shifts, low);
                let halves = 0xf0f0_f0f0_f0f0_f0f0;
                let band = _mm512_mask_multishift_epi64_epi8(low, halves, shifts, high);
                _mm512_storeu_si512(out.as_mut_ptr().cast(), turned::<LOG>(band));
            }
            done += together;
        }
        done.min(bands)
    }

    /// Turns a band: moves byte `n` of the line at place `p` to byte `n * 8 + p`, and exchanges the
    /// halves, quarters and eighths of bytes between lines, down to the size of a unit.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
    fn turned<const LOG: u32>(band: __m512i) -> __m512i {
        // The affine transformation counts the rows of a matrix from its last byte.
        let reverse = if LOG < 2 { 7 } else { 0 };
        let places: [u8; 64] = std::array::from_fn(|at| (((at % 8) ^ reverse) * 8 + at / 8) as u8);
        // SAFETY: the array has 64 bytes.
        let places = unsafe { _mm512_loadu_si512(places.as_ptr().cast()) };
        let band = _mm512_permutexvar_epi8(places, band);
        if LOG == 2 {
            return exchange::<28>(band, 0xf0f0_f0f0);
        }
        // A word of 64 bits is a matrix of 8 by 8 bits. Its product with each column of the
        // identity is its transpose, in which all three parts of bytes are exchanged.
        let identity = i64::from_le_bytes(std::array::from_fn(|row| 1 << row));
        let band = _mm512_gf2p8affine_epi64_epi8::<0>(_mm512_set1_epi64(identity), band);
        if LOG == 1 { exchange::<7>(band, 0xaa_00aa_00aa_00aa) } else { band }
    }

    /// Exchanges, in each word of 64 bits, the bits of `mask` with the bits that are `DISTANCE`
    /// higher.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn exchange<const DISTANCE: u32>(words: __m512i, mask: i64) -> __m512i {
        let shifted = _mm512_srli_epi64::<DISTANCE>(words);
        let differs = _mm512_and_si512(_mm512_xor_si512(words, shifted), _mm512_set1_epi64(mask));
        let both = _mm512_or_si512(differs, _mm512_slli_epi64::<DISTANCE>(differs));
        _mm512_xor_si512(words, both)
    }
}
