//! Unpacking of units of 1, 2 and 4 bits to bytes, and packing.

use wide::{i16x8, u8x16, u16x8};

/// True if the first of two bytes is the lower half of a word.
const LITTLE: bool = cfg!(target_endian = "little");

/// Unpacks units of `BITS` bits, `PER` in a byte, from number `first` on: one unit for each byte of
/// `out`.
pub(super) fn spread<const BITS: usize, const PER: usize>(
    source: &[u8],
    first: usize,
    out: &mut [u8],
) {
    let head = (first.wrapping_neg() % PER).min(out.len());
    let (before, out) = out.split_at_mut(head);
    let (whole, after) = out.as_chunks_mut::<8>();
    let (start, last) = (first + head, first + head + whole.len() * 8);
    let rest = &source[start / PER..];
    // Units of 4 bits are unpacked 16 bytes at a time.
    let halves = if BITS == 4 && LITTLE { spread_halves(rest, whole) } else { 0 };
    let packed = rest[halves * BITS..].as_chunks::<BITS>().0;
    for (units, packed) in whole[halves..].iter_mut().zip(packed) {
        let mut word = [0; 8];
        word[..BITS].copy_from_slice(packed);
        let spread = (0..3).rev().fold(u64::from_le_bytes(word), |word, step| {
            (word | word << ((8 - BITS) << step)) & lanes(8 << step, BITS << step)
        });
        *units = spread.to_le_bytes();
    }
    for (first, units) in [(first, before), (last, after)] {
        for (n, byte) in units.iter_mut().enumerate() {
            *byte = unit(source, first + n, BITS as u32);
        }
    }
}

/// Unpacks units of 4 bits, 32 at a time, and returns the number of groups of eight.
fn spread_halves(source: &[u8], units: &mut [[u8; 8]]) -> usize {
    let low_half = u8x16::splat(0xf);
    let blocks = units.as_chunks_mut::<4>().0.iter_mut().zip(source.as_chunks::<16>().0);
    let mut count = 0;
    for (units, &packed) in blocks {
        let packed = u8x16::new(packed);
        let words: u16x8 = bytemuck::cast(packed);
        let (even, odd) = (packed & low_half, bytemuck::cast::<_, u8x16>(words >> 4) & low_half);
        units.copy_from_slice(&bytemuck::cast::<_, [[u8; 8]; 4]>([
            u8x16::unpack_low(even, odd),
            u8x16::unpack_high(even, odd),
        ]));
        count += 4;
    }
    count
}

/// Packs the low halves of bytes, 32 at a time, and returns the number of groups of eight.
fn gather_halves(units: &[[u8; 8]], packed: &mut [u8]) -> usize {
    let (low, high) = (u16x8::splat(0xf), u16x8::splat(0xf0));
    let blocks = units.as_chunks::<4>().0.iter().zip(packed.as_chunks_mut::<16>().0);
    let mut count = 0;
    for (units, packed) in blocks {
        let words: [u16x8; 2] = bytemuck::cast(*units);
        let [first, second] =
            words.map(|word| bytemuck::cast::<_, i16x8>(word & low | word >> 4 & high));
        *packed = bytemuck::cast(u8x16::narrow_i16x8(first, second));
        count += 4;
    }
    count
}

/// Returns a mask of the low `ones` bits of every lane of `lane` bits.
const fn lanes(lane: usize, ones: usize) -> u64 {
    u64::MAX / (u64::MAX >> (64 - lane)) * (u64::MAX >> (64 - ones))
}

/// Packs the low bits of each byte into the units of the destination from number `first` on. Its
/// other units keep their values.
pub(super) fn pack(values: &[u8], destination: &mut [u8], first: usize, bits: u32) {
    match bits {
        1 => gather::<1, 8>(values, destination, first),
        2 => gather::<2, 4>(values, destination, first),
        4 => gather::<4, 2>(values, destination, first),
        _ => destination[first..first + values.len()].copy_from_slice(values),
    }
}

/// Packs units of `BITS` bits, `PER` in a byte; see [`pack`].
fn gather<const BITS: usize, const PER: usize>(
    values: &[u8],
    destination: &mut [u8],
    first: usize,
) {
    let mask = u8::MAX >> (8 - BITS);
    let mut put = |index: usize, value: u8| {
        let (byte, shift) = (&mut destination[index / PER], index % PER * BITS);
        *byte = *byte & !(mask << shift) | (value & mask) << shift;
    };
    let head = (first.wrapping_neg() % PER).min(values.len());
    let (before, values) = values.split_at(head);
    let (whole, after) = values.as_chunks::<8>();
    let (start, last) = (first + head, first + head + whole.len() * 8);
    for (first, units) in [(first, before), (last, after)] {
        units.iter().enumerate().for_each(|(n, &value)| put(first + n, value));
    }
    let destination = &mut destination[start / PER..];
    let halves = if BITS == 4 && LITTLE { gather_halves(whole, destination) } else { 0 };
    let packed = destination[halves * BITS..].as_chunks_mut::<BITS>().0;
    for (packed, units) in packed.iter_mut().zip(&whole[halves..]) {
        let units = u64::from_le_bytes(*units) & lanes(8, BITS);
        let word = (0..3).fold(units, |word, step| {
            (word | word >> ((8 - BITS) << step)) & lanes(16 << step, (2 * BITS) << step)
        });
        packed.copy_from_slice(&word.to_le_bytes()[..BITS]);
    }
}

/// Returns unit `index` of an image whose units have at most 8 bits.
pub(super) fn unit(image: &[u8], index: usize, bits: u32) -> u8 {
    let per = 8 / bits as usize;
    image[index / per] >> (index % per * bits as usize) & u8::MAX >> (8 - bits)
}
