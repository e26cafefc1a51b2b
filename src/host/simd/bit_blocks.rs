//! Puts registers of 64 bytes together from bits that lie anywhere in a source, with the byte
//! shuffles and bit-field shifts of AVX-512.
//!
//! A byte of the destination has one or more *parts*: bits that follow each other in the source
//! too. A register is put together in *lanes*. Each lane has at most one part of every byte. In a
//! lane, a shuffle moves the one or two bytes of the source that contain a part to the group of
//! eight bytes to which the part belongs. A shift for each byte then moves the bits.

#![allow(unsafe_code)] // Register loads and stores take pointers.

use std::iter::repeat_n;

use super::{super::bits::Bits, set::Simd};

/// The size of a register, in bytes.
pub(in crate::host) const WIDTH: usize = 64;

/// The bytes of a register, for example the index of the byte that a shuffle selects for each.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(in crate::host) struct ByteTable(pub(in crate::host) [u8; WIDTH]);

/// Pieces of the source that are loaded into one register.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // no instructions
#[derive(Clone, Debug)]
pub(in crate::host) struct BitTerm {
    /// The distances of the pieces from the first byte of the block in the source, in bytes. Only
    /// the first `pieces` are used.
    pub(in crate::host) from: [i32; 8],
    /// The number of pieces: 1, 2, 4 or 8.
    pub(in crate::host) pieces: u8,
    /// The length of a piece, in bytes: 64, 32, 16 or 8. All pieces together fit into a register.
    pub(in crate::host) length: u8,
    /// An entry for each lane: the byte of the register that a shuffle moves to each byte, and a
    /// mask of the bytes that this term provides.
    pub(in crate::host) lanes: Vec<(ByteTable, u64)>,
}

/// The parts of the bytes of a register that are moved together.
#[derive(Clone, Debug)]
pub(in crate::host) struct BitLane {
    /// The bit of the shuffled eight bytes, from 0 to 63, that becomes the first bit of each byte.
    /// Bit 0 follows bit 63.
    pub(in crate::host) shifts: ByteTable,
    /// The bits of each byte that belong to a part of this lane.
    pub(in crate::host) values: ByteTable,
}

/// Some bytes of a block of the destination that are stored at a time.
#[derive(Clone, Debug)]
pub(in crate::host) struct BitRegister {
    /// The offset in the block, in bytes.
    pub(in crate::host) to: usize,
    /// The number of bytes that are stored: 64, 32, 16 or 8.
    pub(in crate::host) length: usize,
    /// The loads.
    pub(in crate::host) terms: Vec<BitTerm>,
    /// At most 8 lanes, as many as each term has. If units are widened with their sign
    /// bits, the first lane has the first unit of every byte, the second lane the second unit, and
    /// so on.
    pub(in crate::host) lanes: Vec<BitLane>,
}

/// The loads of a register without their tables, and the place of the register in the block.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // no instructions
#[derive(Clone, Debug)]
struct StoredRegister {
    to: usize,
    length: usize,
    terms: usize,
}

/// A term without its tables.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // no instructions
#[derive(Clone, Debug)]
struct LoadedTerm {
    from: [i32; 8],
    pieces: u8,
    length: u8,
}

/// A block of the destination that is put together from registers. It may begin and end inside
/// bytes of which some bits belong to other blocks.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // no instructions
#[derive(Clone, Debug)]
pub(in crate::host) struct BitBlock {
    bits: Bits,
    /// The number of lanes of each register, with empty ones: 1, 2, 3, 4, 6 or 8.
    lanes: usize,
    registers: Vec<StoredRegister>,
    terms: Vec<LoadedTerm>,
    /// The tables of the terms of each register, followed by the shifts and the values of its
    /// lanes.
    tables: Vec<ByteTable>,
    /// The bytes that each lane of each term provides.
    masks: Vec<u64>,
    /// The number of bytes of the destination that contain bits of the block.
    bytes: usize,
    /// The bits of the first and of the last byte that do not belong to the block.
    kept: [u8; 2],
    /// The range of bytes that are loaded from the source, as distances from the first byte.
    loads: (isize, isize),
}

impl BitBlock {
    /// Returns the block of `bytes` bytes that consists of `registers`. `kept` are the bits of its
    /// first and last byte that do not belong to it.
    ///
    /// # Panics
    ///
    /// Panics if there are no registers, if a register does not lie inside the block or has another
    /// length than 8, 16, 32 or 64 bytes, if the pieces of a term are not 1 of 64 bytes, 2 of 32, 4
    /// of 16, or 2, 4 or 8 of 8 bytes, or if a term has another number of lanes than its register.
    pub(in crate::host) fn new(
        bits: Bits,
        registers: &[BitRegister],
        bytes: usize,
        kept: [u8; 2],
    ) -> Self {
        let most = registers.iter().map(|register| register.lanes.len()).max();
        let mut block = Self {
            bits,
            lanes: Self::whole_lanes(most.expect("registers")),
            registers: Vec::new(),
            terms: Vec::new(),
            tables: Vec::new(),
            masks: Vec::new(),
            bytes,
            kept,
            loads: (isize::MAX, isize::MIN),
        };
        let nothing = ByteTable([0; WIDTH]);
        for BitRegister { to, length, terms, lanes } in registers {
            assert!(matches!(*length, 8 | 16 | 32 | WIDTH), "{length} bytes");
            assert!(to + length <= bytes, "a register outside the block");
            let added = block.lanes - lanes.len();
            block.registers.push(StoredRegister { to: *to, length: *length, terms: terms.len() });
            for BitTerm { from, pieces, length, lanes: of_lanes } in terms {
                let size = (usize::from(*pieces), usize::from(*length));
                assert!(
                    matches!(size, (1, WIDTH) | (2, 32) | (4, 16) | (2 | 4 | 8, 8)),
                    "{size:?}"
                );
                assert_eq!(of_lanes.len(), lanes.len());
                for &from in &from[..size.0] {
                    let from = from as isize;
                    let (low, end) = block.loads;
                    block.loads = (low.min(from), end.max(from + size.1.cast_signed()));
                }
                block.terms.push(LoadedTerm { from: *from, pieces: *pieces, length: *length });
                block.tables.extend(of_lanes.iter().map(|(table, _)| table));
                block.tables.extend(repeat_n(nothing, added));
                block.masks.extend(of_lanes.iter().map(|(_, mask)| mask));
                block.masks.extend(repeat_n(0, added));
            }
            for table in [|lane: &BitLane| lane.shifts, |lane: &BitLane| lane.values] {
                block.tables.extend(lanes.iter().map(table));
                block.tables.extend(repeat_n(nothing, added));
            }
        }
        block
    }

    /// Returns the number of lanes that are executed for `lanes` lanes; the others are empty.
    ///
    /// # Panics
    ///
    /// Panics if there are more than 8 lanes.
    pub(in crate::host) fn whole_lanes(lanes: usize) -> usize {
        let fits = |&whole: &usize| lanes <= whole;
        [1, 2, 3, 4, 6, 8].into_iter().find(fits).expect("at most 8 lanes")
    }

    /// Returns the number of registers, and of pieces that are loaded.
    pub(in crate::host) fn operations(&self) -> (usize, usize) {
        let pieces = self.terms.iter().map(|term| usize::from(term.pieces)).sum();
        (self.registers.len(), pieces)
    }

    /// Returns the memory that the tables take, in bytes.
    pub(in crate::host) fn table_bytes(&self) -> usize {
        size_of_val(&self.tables[..]) + size_of_val(&self.terms[..]) + size_of_val(&self.masks[..])
    }

    /// Returns true if all loads for a block whose first byte in the source is `first` are inside a
    /// source of `length` bytes.
    pub(in crate::host) fn reads_inside(&self, first: isize, length: usize) -> bool {
        first + self.loads.0 >= 0 && first + self.loads.1 <= length.cast_signed()
    }
}

impl Simd {
    /// Returns true if this instruction set can put blocks of bits together.
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
            let from = (source.as_ptr().wrapping_offset(from.0), from.1);
            let to = (destination.as_mut_ptr().wrapping_offset(to.0), to.1);
            // SAFETY: the instruction set was detected. The range `loads` has all loads of the
            // block, and its registers lie in its first `bytes` bytes. The assertions have compared
            // both with the slices for the first and the last repetition, and the others lie
            // between them. `BitBlock::new` made the tables of `lanes` lanes.
            unsafe {
                match block.lanes {
                    1 => x86::blocks::<1>(block, times, from, to),
                    2 => x86::blocks::<2>(block, times, from, to),
                    3 => x86::blocks::<3>(block, times, from, to),
                    4 => x86::blocks::<4>(block, times, from, to),
                    6 => x86::blocks::<6>(block, times, from, to),
                    _ => x86::blocks::<8>(block, times, from, to),
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m512i, _mm_loadu_si128, _mm_storel_epi64, _mm_storeu_si128, _mm256_loadu_si256,
        _mm256_storeu_si256, _mm512_and_si512, _mm512_castsi128_si512, _mm512_castsi256_si512,
        _mm512_castsi512_si128, _mm512_castsi512_si256, _mm512_load_si512, _mm512_loadu_si512,
        _mm512_mask_broadcast_i32x4, _mm512_mask_broadcast_i64x4, _mm512_mask_permutexvar_epi8,
        _mm512_multishift_epi64_epi8, _mm512_or_si512, _mm512_set1_epi8, _mm512_setzero_si512,
        _mm512_storeu_si512, _mm512_sub_epi8, _mm512_xor_si512,
    };

    use super::{super::x86::pieces_64, BitBlock, LoadedTerm};

    /// Writes a block `times` times. The pointers are its first bytes in the source and in the
    /// destination, with the distances to the next repetition.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub(super) unsafe fn blocks<const LANES: usize>(
        block: &BitBlock,
        times: usize,
        (mut from, from_step): (*const u8, isize),
        (mut to, to_step): (*mut u8, isize),
    ) {
        let [keeps_first, keeps_last] = block.kept;
        let bits = block.bits;
        // In each lane, the sign bit of a unit of the source, and all bits of one of the
        // destination.
        let in_lane = |unit: u32| -> [__m512i; LANES] {
            std::array::from_fn(|lane| {
                _mm512_set1_epi8(((unit << (lane as u32 * bits.dst)) as u8).cast_signed())
            })
        };
        let sign = bits.sign_extend && bits.dst > bits.src;
        let (signs, units) = (in_lane(1 << (bits.src - 1)), in_lane(0xff >> (8 - bits.dst)));
        for time in 0..times {
            // SAFETY: the caller guarantees that all loads and stores are inside the images, and
            // the block has tables for all lanes of all terms and registers.
            unsafe {
                if time > 0 {
                    (from, to) = (from.offset(from_step), to.offset(to_step));
                }
                let last = to.add(block.bytes - 1);
                let (first_kept, last_kept) = (*to & keeps_first, *last & keeps_last);
                let mut terms = block.terms.as_ptr();
                let mut tables = block.tables.as_ptr();
                let mut masks = block.masks.as_ptr();
                for register in &block.registers {
                    let mut lanes = [_mm512_setzero_si512(); LANES];
                    for _ in 0..register.terms {
                        let loaded = load(&*terms, from);
                        for (lane, bytes) in lanes.iter_mut().enumerate() {
                            let places = _mm512_load_si512(tables.add(lane).cast());
                            let mask = *masks.add(lane);
                            *bytes = _mm512_mask_permutexvar_epi8(*bytes, mask, places, loaded);
                        }
                        terms = terms.add(1);
                        tables = tables.add(LANES);
                        masks = masks.add(LANES);
                    }
                    let mut out = _mm512_setzero_si512();
                    for lane in 0..LANES {
                        let shifts = _mm512_load_si512(tables.add(lane).cast());
                        let values = _mm512_load_si512(tables.add(LANES + lane).cast());
                        let moved = _mm512_multishift_epi64_epi8(shifts, lanes[lane]);
                        let mut moved = _mm512_and_si512(moved, values);
                        if sign {
                            moved = _mm512_xor_si512(moved, signs[lane]);
                            moved = _mm512_sub_epi8(moved, signs[lane]);
                            moved = _mm512_and_si512(moved, units[lane]);
                        }
                        out = _mm512_or_si512(out, moved);
                    }
                    tables = tables.add(2 * LANES);
                    let to = to.add(register.to);
                    match register.length {
                        64 => _mm512_storeu_si512(to.cast(), out),
                        32 => _mm256_storeu_si256(to.cast(), _mm512_castsi512_si256(out)),
                        16 => _mm_storeu_si128(to.cast(), _mm512_castsi512_si128(out)),
                        _ => _mm_storel_epi64(to.cast(), _mm512_castsi512_si128(out)),
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
    unsafe fn load(term: &LoadedTerm, from: *const u8) -> __m512i {
        // SAFETY: the caller guarantees that all pieces can be loaded.
        unsafe {
            let at = |piece: usize| from.offset(term.from[piece] as isize);
            if term.length == 64 {
                return _mm512_loadu_si512(at(0).cast());
            }
            if term.length == 32 {
                let half = |piece: usize| _mm256_loadu_si256(at(piece).cast());
                let low = _mm512_castsi256_si512(half(0));
                return _mm512_mask_broadcast_i64x4(low, 0xf0, half(1));
            }
            if term.length == 16 {
                let quarter = |piece: usize| _mm_loadu_si128(at(piece).cast());
                let register = _mm512_castsi128_si512(quarter(0));
                let register = _mm512_mask_broadcast_i32x4(register, 0xf0, quarter(1));
                let register = _mm512_mask_broadcast_i32x4(register, 0xf00, quarter(2));
                return _mm512_mask_broadcast_i32x4(register, 0xf000, quarter(3));
            }
            pieces_64(at, usize::from(term.pieces))
        }
    }
}
