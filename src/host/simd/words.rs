//! Puts words of 64 bits together from bits that lie anywhere in a source, with the bit shuffles of
//! AVX-512.

#![allow(unsafe_code)] // Register loads and stores take pointers.

use super::set::Simd;

/// The number of bits of a word, and of bytes of a register.
const WIDTH: usize = 64;

/// Some bits of a word, which are selected from one register. The register is loaded in one piece
/// of 64 bytes, or in pieces of 8 bytes.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // no instructions
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(in crate::host) struct BitTerm {
    /// The byte of the register in which each bit of the word is.
    pub(in crate::host) bytes: [u8; WIDTH],
    /// The place of each bit of the word in the eight bytes that `bytes` selects for its byte of
    /// the word.
    pub(in crate::host) bits: [u8; WIDTH],
    /// The bits of the word that this term provides.
    pub(in crate::host) mask: u64,
    /// The distances of the pieces from the first byte of the block in the source, in bytes. If
    /// `pieces` is 1, only the first is used.
    pub(in crate::host) from: [i32; 8],
    /// The number of pieces: 1, 2, 4 or 8.
    pub(in crate::host) pieces: u8,
    /// True if this is the last term of its word.
    pub(in crate::host) ends_word: bool,
    /// The offset of the word in the block, in bytes.
    pub(in crate::host) to: u16,
}

/// A block of the destination that is put together from words. It may begin and end inside bytes of
/// which some bits belong to other blocks.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // no instructions
#[derive(Clone, Debug)]
pub(in crate::host) struct BitBlock {
    terms: Vec<BitTerm>,
    /// The number of bytes of the destination that contain bits of the block.
    bytes: usize,
    /// The bits of the first and of the last byte that do not belong to the block.
    kept: [u8; 2],
    /// The range of bytes that are loaded from the source, as distances from the first byte.
    loads: (isize, isize),
}

impl BitTerm {
    /// Returns the length of the pieces that are loaded, in bytes.
    pub(in crate::host) fn piece_bytes(pieces: u8) -> usize {
        if pieces == 1 { WIDTH } else { 8 }
    }
}

impl BitBlock {
    /// Returns the block of `bytes` bytes whose words are put together from `terms`. `kept` are the
    /// bits of its first and last byte that do not belong to it.
    ///
    /// # Panics
    ///
    /// Panics if a word does not lie inside the block, or if a term has another number of pieces
    /// than 1, 2, 4 or 8.
    pub(in crate::host) fn new(terms: Vec<BitTerm>, bytes: usize, kept: [u8; 2]) -> Self {
        let mut loads = (isize::MAX, isize::MIN);
        for term in &terms {
            assert!(matches!(term.pieces, 1 | 2 | 4 | 8), "{} pieces", term.pieces);
            assert!(usize::from(term.to) + 8 <= bytes, "a word outside the block");
            let length = BitTerm::piece_bytes(term.pieces).cast_signed();
            for &from in &term.from[..usize::from(term.pieces)] {
                loads = (loads.0.min(from as isize), loads.1.max(from as isize + length));
            }
        }
        Self { terms, bytes, kept, loads }
    }

    /// Returns the terms of all words.
    pub(in crate::host) fn terms(&self) -> &[BitTerm] {
        &self.terms
    }

    /// Returns true if all loads for a block whose first byte in the source is `first` are inside a
    /// source of `length` bytes.
    pub(in crate::host) fn reads_inside(&self, first: isize, length: usize) -> bool {
        first + self.loads.0 >= 0 && first + self.loads.1 <= length.cast_signed()
    }
}

impl Simd {
    /// Returns true if this instruction set can put words of bits together.
    pub(in crate::host) fn selects_bits(self) -> bool {
        match self.set {
            #[cfg(target_arch = "x86_64")]
            super::set::Set::Avx512Vbmi => true,
            #[allow(unreachable_patterns)] // WebAssembly has no sets
            _ => false,
        }
    }

    /// Writes a block `times` times. Its first byte in the source is `from.0`, and its first byte
    /// in the destination `to.0`. The second numbers are the distances to the next repetition.
    ///
    /// # Panics
    ///
    /// Panics if a load or a store leaves its slice, or if [`Self::selects_bits`] is false.
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
    pub(in crate::host) fn select_bits(
        self,
        block: &BitBlock,
        times: usize,
        (source, from): (&[u8], (isize, isize)),
        (destination, to): (&mut [u8], (isize, isize)),
    ) {
        assert!(self.selects_bits() && times > 0);
        let last = (times - 1).cast_signed();
        for time in [0, last] {
            let (from, to) = (from.0 + time * from.1, to.0 + time * to.1);
            assert!(block.reads_inside(from, source.len()), "loads outside the source");
            let end = to + block.bytes.cast_signed();
            assert!(to >= 0 && end <= destination.len().cast_signed(), "stores outside a slice");
        }
        #[cfg(target_arch = "x86_64")]
        {
            let (source, destination) = (source.as_ptr(), destination.as_mut_ptr());
            // SAFETY: the instruction set was detected. The range `loads` has all loads of the
            // block, and its words lie in its first `bytes` bytes. The assertions have compared
            // both with the slices for the first and the last repetition, and the others lie
            // between them.
            unsafe {
                x86::blocks(
                    block,
                    times,
                    (source.offset(from.0), from.1),
                    (destination.offset(to.0), to.1),
                );
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m512i, _mm_loadl_epi64, _mm512_bitshuffle_epi64_mask, _mm512_castsi128_si512,
        _mm512_loadu_si512, _mm512_mask_set1_epi64, _mm512_permutexvar_epi8,
    };

    use super::{BitBlock, BitTerm};

    /// Writes a block `times` times. The pointers are its first bytes in the source and in the
    /// destination, with the distances to the next repetition.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512bitalg")]
    pub(super) unsafe fn blocks(
        block: &BitBlock,
        times: usize,
        (mut from, from_step): (*const u8, isize),
        (mut to, to_step): (*mut u8, isize),
    ) {
        let [keeps_first, keeps_last] = block.kept;
        for time in 0..times {
            // SAFETY: the caller guarantees that all loads and stores are inside the images.
            unsafe {
                if time > 0 {
                    (from, to) = (from.offset(from_step), to.offset(to_step));
                }
                let last = to.add(block.bytes - 1);
                let (first_kept, last_kept) = (*to & keeps_first, *last & keeps_last);
                let mut word = 0;
                for term in &block.terms {
                    let bytes = _mm512_loadu_si512(term.bytes.as_ptr().cast());
                    let bits = _mm512_loadu_si512(term.bits.as_ptr().cast());
                    let bytes = _mm512_permutexvar_epi8(bytes, load(term, from));
                    word |= _mm512_bitshuffle_epi64_mask(bytes, bits) & term.mask;
                    if term.ends_word {
                        to.add(usize::from(term.to)).cast::<u64>().write_unaligned(word.to_le());
                        word = 0;
                    }
                }
                if keeps_first | keeps_last != 0 {
                    *to |= first_kept;
                    *last |= last_kept;
                }
            }
        }
    }

    /// Loads the pieces of a term into one register.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn load(term: &BitTerm, from: *const u8) -> __m512i {
        // SAFETY: the caller guarantees that all pieces can be loaded.
        unsafe {
            let at = |piece: usize| from.offset(term.from[piece] as isize);
            if term.pieces == 1 {
                return _mm512_loadu_si512(at(0).cast());
            }
            let word = |piece: usize| at(piece).cast::<i64>().read_unaligned();
            let mut register = _mm512_castsi128_si512(_mm_loadl_epi64(at(0).cast()));
            register = _mm512_mask_set1_epi64(register, 1 << 1, word(1));
            if term.pieces > 2 {
                register = _mm512_mask_set1_epi64(register, 1 << 2, word(2));
                register = _mm512_mask_set1_epi64(register, 1 << 3, word(3));
            }
            if term.pieces > 4 {
                register = _mm512_mask_set1_epi64(register, 1 << 4, word(4));
                register = _mm512_mask_set1_epi64(register, 1 << 5, word(5));
                register = _mm512_mask_set1_epi64(register, 1 << 6, word(6));
                register = _mm512_mask_set1_epi64(register, 1 << 7, word(7));
            }
            register
        }
    }
}
