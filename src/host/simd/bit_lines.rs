//! Puts lines of bits together from bands, and joins lines to one run of bits, in registers of 64
//! bytes. Also spreads runs of bits to words, and collects them.
//! [`turn_bands`](super::super::packed::turn_bands) describes bands.

#![allow(unsafe_code)] // Register loads and stores take pointers.

use super::set::Simd;

/// The greatest number of bytes that [`Simd::interleave_bands`] reads after the last column of each
/// band, and of lines that it writes after the last one.
pub(in crate::host) const INTERLEAVED_PAST: usize = 64;

/// The bytes after the last line that [`Simd::join_lines`] may read.
pub(in crate::host) const LINES_PAST: usize = 64;

impl Simd {
    /// Puts short lines together: line `n` has the bytes of column `n` of each of `bands` bands, in
    /// this order, and is written to byte `8 * n` of `out`. Bytes of it that the bands lack are 0.
    /// A column has `unit` bytes in a band: 1, 2 or 4. Bands are `pitch` bytes apart. Returns false
    /// if this instruction set cannot do this, or if a line would have more than 8 bytes.
    ///
    /// # Panics
    ///
    /// Panics if `from` does not have [`INTERLEAVED_PAST`] bytes after the last column of each
    /// band, or `out` as many lines after the last one.
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
    pub(in crate::host) fn interleave_bands(
        self,
        (from, pitch, bands): (&[u8], usize, usize),
        unit: usize,
        columns: usize,
        out: &mut [u8],
    ) -> bool {
        match self.set {
            #[cfg(target_arch = "x86_64")]
            super::set::Set::Avx512Vbmi if (1..=8).contains(&(bands * unit)) => {
                let read = (bands - 1) * pitch + columns * unit + INTERLEAVED_PAST;
                let lines = columns + INTERLEAVED_PAST;
                assert!(read <= from.len() && lines * 8 <= out.len(), "bands or lines are short");
                let from = (from.as_ptr(), pitch, bands);
                // SAFETY: the set has these instructions. A step reads 64 bytes of each band and
                // writes at most 64 lines, so that the ends that were compared are not passed.
                unsafe {
                    match unit {
                        1 => x86::interleave::<1>(from, columns, out.as_mut_ptr()),
                        2 => x86::interleave::<2>(from, columns, out.as_mut_ptr()),
                        4 => x86::interleave::<4>(from, columns, out.as_mut_ptr()),
                        _ => return false,
                    }
                }
                true
            }
            #[allow(unreachable_patterns)] // aarch64 has no other set
            _ => false,
        }
    }

    /// Copies consecutive bits of `source`, from bit `start` on, to the bits of words that are set
    /// in `mask`, at most 57 of each. Bits past the end of the source have any value. Returns false
    /// if this instruction set cannot do this.
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
    pub(in crate::host) fn deposit_bits(
        self,
        (source, start): (&[u8], usize),
        words: &mut [[u8; 8]],
        mask: u64,
    ) -> bool {
        match self.set {
            #[cfg(target_arch = "x86_64")]
            super::set::Set::Avx512Vbmi => {
                // SAFETY: the set has this instruction.
                unsafe { x86::deposit_bits((source, start), words, mask) };
                true
            }
            #[allow(unreachable_patterns)] // aarch64 has no other set
            _ => false,
        }
    }

    /// Moves the bits of each word that are set in `mask` to its low bits, in the same order.
    /// Returns false if this instruction set cannot do this.
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
    pub(in crate::host) fn extract_bits(self, words: &mut [[u8; 8]], mask: u64) -> bool {
        match self.set {
            #[cfg(target_arch = "x86_64")]
            super::set::Set::Avx512Vbmi => {
                // SAFETY: the set has this instruction.
                unsafe { x86::extract_bits(words, mask) };
                true
            }
            #[allow(unreachable_patterns)] // aarch64 has no other set
            _ => false,
        }
    }

    /// Joins lines of `length` bits, from 1 to 64, each in the low bits of a word, to one run of
    /// bits, which begins with the first bit of `out`. There are eight times `groups` lines, which
    /// become `length * groups` bytes. The words are overwritten. Returns false if this instruction
    /// set cannot do this.
    ///
    /// # Panics
    ///
    /// Panics if `words` has fewer words than lines, or `out` fewer bytes than they become.
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
    pub(in crate::host) fn join_words(
        self,
        words: &mut [[u8; 8]],
        groups: usize,
        length: usize,
        out: &mut [u8],
    ) -> bool {
        match self.set {
            #[cfg(target_arch = "x86_64")]
            super::set::Set::Avx512Vbmi => {
                assert!((1..=64).contains(&length), "lines of {length} bits");
                // SAFETY: the set has these instructions.
                unsafe { x86::join_words(&mut words[..8 * groups], length, out) };
                true
            }
            #[allow(unreachable_patterns)] // aarch64 has no other set
            _ => false,
        }
    }

    /// Joins `count` lines of `length` bits, which are `pitch` bytes apart, to one run of bits,
    /// which begins with bit `start` of `out`. `start` is at most 7. Bits of the last byte after
    /// the run have any value. Returns false if this instruction set cannot do this, if lines have
    /// fewer than 64 bits, or if there are fewer than [`LINES_PAST`] bytes after the last line.
    ///
    /// # Panics
    ///
    /// Panics if `out` ends before the run.
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
    pub(in crate::host) fn join_lines(
        self,
        (lines, pitch): (&[u8], usize),
        (count, length): (usize, usize),
        out: &mut [u8],
        start: usize,
    ) -> bool {
        match self.set {
            #[cfg(target_arch = "x86_64")]
            super::set::Set::Avx512Vbmi => {
                let last = count.checked_sub(1).and_then(|last| last.checked_mul(pitch));
                let read = last.map(|last| last.saturating_add(length.div_ceil(8) + LINES_PAST));
                if length < 64 || read.is_none_or(|read| read > lines.len()) {
                    return false;
                }
                let out = &mut out[..(start + count * length).div_ceil(8)];
                // SAFETY: the set has these instructions. There are 64 bytes after each line.
                unsafe { x86::join_lines((lines.as_ptr(), pitch), (count, length), out, start) };
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
        __m512i, _mm_cvtsi64_si128, _mm512_alignr_epi64, _mm512_and_si512, _mm512_loadu_si512,
        _mm512_mask_storeu_epi8, _mm512_maskz_loadu_epi8, _mm512_or_si512,
        _mm512_permutex2var_epi64, _mm512_permutexvar_epi8, _mm512_permutexvar_epi64,
        _mm512_set1_epi64, _mm512_setzero_si512, _mm512_shldv_epi64, _mm512_sll_epi64,
        _mm512_sllv_epi64, _mm512_srlv_epi64, _mm512_storeu_si512, _mm512_unpackhi_epi8,
        _mm512_unpackhi_epi16, _mm512_unpackhi_epi32, _mm512_unpacklo_epi8, _mm512_unpacklo_epi16,
        _mm512_unpacklo_epi32, _pdep_u64, _pext_u64,
    };

    /// Puts lines of 8 bytes together; see [`Simd::interleave_bands`](super::Simd).
    ///
    /// # Safety
    ///
    /// Each band, rounded up to 64 bytes, can be read. `out` has room for as many lines as there
    /// are columns, rounded up to `64 / UNIT`.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub(super) unsafe fn interleave<const UNIT: usize>(
        (from, pitch, bands): (*const u8, usize, usize),
        columns: usize,
        out: *mut u8,
    ) {
        // Unpacking takes two columns of each lane of 16 bytes at a time. So that its results are
        // in order, consecutive pairs of columns go to consecutive lanes.
        let places: [u8; 64] = std::array::from_fn(|byte| {
            let (lane, column) = (byte / 16, byte % 16 / UNIT);
            let from = column / 2 * 8 + lane * 2 + column % 2;
            (from * UNIT + byte % UNIT) as u8
        });
        // SAFETY: the array has 64 bytes.
        let places = unsafe { _mm512_loadu_si512(places.as_ptr().cast()) };
        // Makes `$of` registers of each as many: the lower halves of pairs, then the upper halves.
        macro_rules! unpack {
            ($registers:ident, $of:expr, $low:ident, $high:ident) => {
                let before = $registers;
                for group in (0..8 / UNIT).step_by($of) {
                    for pair in 0..$of / 2 {
                        let [one, two] = [0, 1].map(|side| before[group + 2 * pair + side]);
                        $registers[group + pair] = $low(one, two);
                        $registers[group + $of / 2 + pair] = $high(one, two);
                    }
                }
            };
        }
        for first in (0..columns).step_by(64 / UNIT) {
            let mut registers = [_mm512_setzero_si512(); 8];
            for (band, register) in registers.iter_mut().enumerate().take(bands) {
                // SAFETY: the caller guarantees that these bytes can be read.
                let bytes =
                    unsafe { _mm512_loadu_si512(from.add(band * pitch + first * UNIT).cast()) };
                *register = _mm512_permutexvar_epi8(places, bytes);
            }
            if UNIT == 1 {
                unpack!(registers, 8, _mm512_unpacklo_epi8, _mm512_unpackhi_epi8);
            }
            if UNIT <= 2 {
                unpack!(registers, 4, _mm512_unpacklo_epi16, _mm512_unpackhi_epi16);
            }
            unpack!(registers, 2, _mm512_unpacklo_epi32, _mm512_unpackhi_epi32);
            for (number, &register) in registers.iter().enumerate().take(8 / UNIT) {
                // SAFETY: the caller guarantees that these lines can be written.
                unsafe { _mm512_storeu_si512(out.add((first + number * 8) * 8).cast(), register) };
            }
        }
    }

    /// Spreads bits to words; see [`Simd::deposit_bits`](super::Simd::deposit_bits).
    #[target_feature(enable = "bmi2")]
    pub(super) fn deposit_bits((source, start): (&[u8], usize), words: &mut [[u8; 8]], mask: u64) {
        let length = mask.count_ones() as usize;
        let first = |word: usize| start + word * length;
        let spread = |bytes: [u8; 8], word: usize| {
            _pdep_u64(u64::from_le_bytes(bytes) >> (first(word) % 8), mask).to_le_bytes()
        };
        // As many words can be loaded at once; a few more may fit.
        let whole = source.len().saturating_sub(start / 8 + 8) * 8 / length.max(1);
        let (whole, rest) = words.split_at_mut(whole.min(words.len()));
        for (number, word) in whole.iter_mut().enumerate() {
            // SAFETY: the first bit of the word is less than `whole * length` bits after `start`,
            // so that eight bytes from its byte on lie inside the source.
            let from = unsafe { source.as_ptr().add(first(number) / 8).cast::<[u8; 8]>() };
            // SAFETY: as above.
            *word = spread(unsafe { from.read_unaligned() }, number);
        }
        for (number, word) in (whole.len()..).zip(rest) {
            let bytes = source.get(first(number) / 8..).unwrap_or_default();
            let byte = |at: usize| bytes.get(at).copied().unwrap_or_default();
            *word = spread(std::array::from_fn(byte), number);
        }
    }

    /// Collects bits of words; see [`Simd::extract_bits`](super::Simd::extract_bits).
    #[target_feature(enable = "bmi2")]
    pub(super) fn extract_bits(words: &mut [[u8; 8]], mask: u64) {
        for word in words {
            *word = _pext_u64(u64::from_le_bytes(*word), mask).to_le_bytes();
        }
    }

    /// Joins lines in words; see [`Simd::join_words`](super::Simd::join_words).
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn join_words(words: &mut [[u8; 8]], mut length: usize, out: &mut [u8]) {
        let bytes = words.len() / 8 * length;
        let out = &mut out[..bytes];
        let mut count = words.len();
        // Pairs of neighbours are joined until two words together have more than 64 bits.
        while length <= 32 {
            let used = _mm512_set1_epi64((u64::MAX >> (64 - length)).cast_signed());
            let shift = _mm_cvtsi64_si128(length.cast_signed() as i64);
            let [even, odd] =
                [0, 1].map(|side| std::array::from_fn(|word| (2 * word + side) as u64));
            for first in (0..count).step_by(16) {
                let low = _mm512_and_si512(load(words.as_flattened(), first * 8), used);
                let high = _mm512_and_si512(load(words.as_flattened(), first * 8 + 64), used);
                let [even, odd] = [even, odd].map(|places: [u64; 8]| {
                    _mm512_permutex2var_epi64(low, bytemuck::cast(places), high)
                });
                let joined = _mm512_or_si512(even, _mm512_sll_epi64(odd, shift));
                store(words.as_flattened_mut(), first * 4, joined);
            }
            (length, count) = (2 * length, count.div_ceil(2));
        }
        let used = _mm512_set1_epi64((u64::MAX >> (64 - length)).cast_signed());
        // A word of the result has the end of one line, and at most two after it.
        let line = |word: usize| 64 * word / length;
        let terms: [[u64; 8]; 3] =
            std::array::from_fn(|term| std::array::from_fn(|word| (line(word) + term) as u64));
        let terms: [__m512i; 3] = terms.map(bytemuck::cast);
        let offset = |word: usize| 64 * word - line(word) * length;
        let down: [u64; 8] = std::array::from_fn(|word| offset(word) as u64);
        let up: [[u64; 8]; 2] =
            [1, 2].map(|term| std::array::from_fn(|word| (term * length) as u64 - down[word]));
        let (down, up): (__m512i, [__m512i; 2]) = (bytemuck::cast(down), up.map(bytemuck::cast));
        for group in 0..count.div_ceil(8) {
            let lines = _mm512_and_si512(load(words.as_flattened(), group * 64), used);
            let [one, two, three] = terms.map(|places| _mm512_permutexvar_epi64(places, lines));
            let joined =
                _mm512_or_si512(_mm512_srlv_epi64(one, down), _mm512_sllv_epi64(two, up[0]));
            let joined = _mm512_or_si512(joined, _mm512_sllv_epi64(three, up[1]));
            let at = group * length;
            // Bytes after the group are written again with the next group.
            store(out, at, joined);
        }
    }

    /// Joins lines of bytes; see [`Simd::join_lines`](super::Simd::join_lines).
    ///
    /// # Safety
    ///
    /// Each line has at least 64 bits. All bytes of a line can be read, and 64 bytes after it.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2")]
    pub(super) unsafe fn join_lines(
        (lines, pitch): (*const u8, usize),
        (count, length): (usize, usize),
        out: &mut [u8],
        start: usize,
    ) {
        // Eight lines are whole bytes, so that every eighth line begins at the same bit of a byte.
        let starts: [usize; 8] = std::array::from_fn(|line| start + line * length);
        // The last bits of the line before are the highest bits of the eight bytes that end with
        // them, after a shift. Before the first line, they are those of the destination.
        let (ends, rest) = (length.div_ceil(8) - 8, (length.wrapping_neg() % 8) as u32);
        let kept = u64::from(out[0]) << 56 << (8 - start);
        let mut before = _mm512_set1_epi64(kept.cast_signed());
        for line in 0..count {
            let (group, first) = (line / 8 * length, starts[line % 8]);
            let (mut to, shift) = (group + first / 8, first % 8);
            let left = _mm512_set1_epi64(shift.cast_signed() as i64);
            // SAFETY: the caller guarantees that the line can be read.
            unsafe {
                let from = lines.add(line * pitch);
                for part in (0..shift + length).step_by(512) {
                    let words = _mm512_loadu_si512(from.add(part / 8).cast());
                    let carried = _mm512_alignr_epi64::<7>(words, before);
                    // Bytes after the line are written again with the next line.
                    store(out, to, _mm512_shldv_epi64(words, carried, left));
                    (to, before) = (to + 64, words);
                }
                let last = from.add(ends).cast::<i64>().read_unaligned() << rest;
                before = _mm512_set1_epi64(last);
            }
        }
    }

    /// Loads 64 bytes from byte `at`. Bytes past the end are 0.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn load(bytes: &[u8], at: usize) -> __m512i {
        if let Some(bytes) = bytes.get(at..at + 64) {
            // SAFETY: the slice has 64 bytes.
            return unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) };
        }
        let inside = bytes.get(at..).unwrap_or_default();
        let mask = u64::MAX.checked_shr(64 - inside.len() as u32).unwrap_or(0);
        // SAFETY: only bytes of the slice are loaded.
        unsafe { _mm512_maskz_loadu_epi8(mask, inside.as_ptr().cast()) }
    }

    /// Stores a register from byte `at` of `out`, as far as it fits.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn store(out: &mut [u8], at: usize, register: __m512i) {
        if let Some(out) = out.get_mut(at..at + 64) {
            // SAFETY: the slice has 64 bytes.
            return unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), register) };
        }
        let inside = out.get_mut(at..).unwrap_or_default();
        let mask = u64::MAX.checked_shr(64 - inside.len() as u32).unwrap_or(0);
        // SAFETY: only bytes of the slice are stored.
        unsafe { _mm512_mask_storeu_epi8(inside.as_mut_ptr().cast(), mask, register) }
    }
}

#[cfg(test)]
mod tests {
    use super::{INTERLEAVED_PAST, Simd};

    /// Sources that end inside the words that are loaded, and before them.
    #[test]
    fn bits_are_deposited_up_to_the_end_of_a_source() {
        let Some(simd) = Simd::here().filter(|simd| simd.selects_bits()) else { return };
        let bytes: [u8; 20] = std::array::from_fn(|n| ((n * 167) >> 3) as u8);
        for (length, size) in (1..=57).flat_map(|length| (0..=20).map(move |size| (length, size))) {
            let source = &bytes[..size];
            // Every second bit, and then the low bits, of a word.
            let mask = if length <= 32 { u64::MAX / 3 } else { u64::MAX };
            let mask = (0..64).filter(|bit| mask >> bit & 1 == 1).take(length);
            let mask: Vec<u32> = mask.collect();
            let of_mask = mask.iter().fold(0, |all, bit| all | 1 << bit);
            for start in 0..40 {
                let mut words = [[0xa5; 8]; 4];
                assert!(simd.deposit_bits((source, start), &mut words, of_mask));
                for (number, word) in words.iter().enumerate() {
                    let word = u64::from_le_bytes(*word);
                    assert_eq!(word & !of_mask, 0);
                    for (bit, place) in mask.iter().enumerate() {
                        let bit = start + number * length + bit;
                        let Some(byte) = source.get(bit / 8) else { continue };
                        let expected = u64::from(byte >> (bit % 8) & 1);
                        assert_eq!(word >> place & 1, expected, "{length} {size} {start} {bit}");
                    }
                }
            }
        }
    }

    #[test]
    fn bands_are_interleaved() {
        let image: Vec<u8> = (0..4000_u32).map(|n| ((n * 167) >> 3) as u8).collect();
        for simd in Simd::all_with_every_machine() {
            for unit in [1, 2, 4] {
                for (bands, columns) in (1..=9).flat_map(|n| [1, 15, 64, 65].map(|m| (n, m))) {
                    let pitch = columns * unit + 77;
                    let mut out = vec![0xa5; (columns + INTERLEAVED_PAST) * 8];
                    if !simd.interleave_bands((&image, pitch, bands), unit, columns, &mut out) {
                        assert!(bands * unit > 8 || simd.name() != "avx512_vbmi");
                        continue;
                    }
                    for (column, line) in out.chunks(8).take(columns).enumerate() {
                        let of = |band: usize| &image[band * pitch + column * unit..][..unit];
                        let mut expected: Vec<u8> = (0..bands).flat_map(of).copied().collect();
                        expected.resize(8, 0);
                        assert_eq!(line, expected, "{unit} {bands} {columns} {column}");
                    }
                }
            }
        }
    }
}
