//! Packs the rows of a source that one part of a copy reads, and writes the result of that part to
//! the destination. All offsets are in bits, because rows of 4-bit elements may start inside a
//! byte.

use crate::nest::part::Rows;

/// Packs the rows of a part of a copy. Calls `put` for each row with its offset in the buffer, in
/// bytes, and its contents, and again for the zeros between this row and the next.
pub(super) fn pack(rows: &Rows, image: &[u8], mut put: impl FnMut(usize, &[u8])) {
    let pitch = to_usize(rows.pitch);
    let bytes = to_usize(rows.bits.div_ceil(8));
    let gap = [0; 16];
    let mut shifted = Vec::new();
    for row in 0..rows.count() {
        let bit = rows.first_bit(row);
        let place = to_usize(rows.place) + to_usize(row) * pitch;
        let whole = usize::try_from(bit)
            .ok()
            .filter(|bit| bit.is_multiple_of(8))
            .and_then(|bit| image.get(bit / 8..bit / 8 + bytes));
        if let Some(whole) = whole {
            put(place, whole);
        } else {
            // The row starts inside a byte, or extends past an end of the source.
            shifted.clear();
            shifted.extend((bit..).step_by(8).take(bytes).map(|bit| byte_at(image, bit)));
            put(place, &shifted);
        }
        put(place + bytes, &gap[..pitch - bytes]);
    }
}

/// Returns eight bits of `image` from bit `bit` on. Bits outside `image` are 0.
fn byte_at(image: &[u8], bit: i64) -> u8 {
    let byte = |number: i64| {
        usize::try_from(number).ok().and_then(|number| image.get(number)).copied().unwrap_or(0)
    };
    let (first, shift) = (bit.div_euclid(8), bit.rem_euclid(8));
    let both = u16::from_le_bytes([byte(first), byte(first + 1)]);
    (both >> shift).to_le_bytes()[0]
}

/// Fills `run` with bits of `image` from bit `bit` on. Bits outside `image` are 0.
pub(super) fn read_bits(image: &[u8], bit: u64, run: &mut [u8]) {
    let first = to_usize(bit / 8);
    match image.get(first..first + run.len()) {
        Some(bytes) if bit.is_multiple_of(8) => run.copy_from_slice(bytes),
        _ => {
            for (byte, bit) in run.iter_mut().zip((bit.cast_signed()..).step_by(8)) {
                *byte = byte_at(image, bit);
            }
        }
    }
}

/// Writes the first `bits` bits of `run` to `image`, starting at bit `bit`. Keeps all other bits of
/// `image`.
pub(super) fn change_bits(image: &mut [u8], bit: u64, run: &[u8], bits: u64) {
    let (last, kept) = (to_usize((bit + bits) / 8), u8::MAX << ((bit + bits) % 8));
    let after = image.get(last).copied();
    write_bits(image, bit, run, bits);
    if let (Some(byte), Some(after)) = (image.get_mut(last), after) {
        *byte = *byte & !kept | after & kept;
    }
}

/// Writes the first `bits` bits of `run` to `image`, starting at bit `bit`. Keeps the earlier bits
/// of the first byte. The remaining bits of `run` must be 0, because they overwrite the later bits
/// of the last byte.
pub(super) fn write_bits(image: &mut [u8], bit: u64, run: &[u8], bits: u64) {
    let (first, shift) = (to_usize(bit / 8), bit % 8);
    if shift == 0 {
        image[first..first + run.len()].copy_from_slice(run);
        return;
    }
    let last = to_usize((bit + bits).div_ceil(8));
    image[first] &= (1 << shift) - 1;
    image[first + 1..last].fill(0);
    for (number, &byte) in run.iter().enumerate() {
        let [low, high] = (u16::from(byte) << shift).to_le_bytes();
        image[first + number] |= low;
        if first + number + 1 < last {
            image[first + number + 1] |= high;
        }
    }
}

/// Converts an offset in host memory, in bytes. An offset that is too large becomes `usize::MAX`.
fn to_usize(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_from_any_bit() {
        let image = [0b1010_0101, 0b1100_0011];
        assert_eq!(byte_at(&image, 0), image[0]);
        assert_eq!(byte_at(&image, 4), 0b0011_1010);
        assert_eq!(byte_at(&image, 12), 0b0000_1100);
        assert_eq!(byte_at(&image, -4), 0b0101_0000);
        assert_eq!(byte_at(&image, 100), 0);
    }

    #[test]
    fn only_the_bits_of_a_run_change() {
        for bit in 0..20_u64 {
            for bits in 1..=24_u64 {
                let before = [0xa5, 0x5a, 0xc3, 0x3c, 0x0f, 0xf0];
                let (mut image, mut run) = (before, [0; 3]);
                read_bits(&image, bit, &mut run[..to_usize(bits.div_ceil(8))]);
                for byte in &mut run {
                    *byte = !*byte;
                }
                change_bits(&mut image, bit, &run[..to_usize(bits.div_ceil(8))], bits);
                for at in 0..48_u64 {
                    let of = |image: &[u8; 6]| image[to_usize(at / 8)] >> (at % 8) & 1;
                    let changes = (bit..bit + bits).contains(&at);
                    assert_eq!(of(&image) != of(&before), changes, "{bit} {bits} {at}");
                }
            }
        }
    }

    #[test]
    fn runs_of_bits_follow_each_other() {
        let mut image = [0xff; 3];
        write_bits(&mut image, 0, &[0b101], 3);
        write_bits(&mut image, 3, &[0b1111_0000, 0b1], 9);
        write_bits(&mut image, 12, &[0b11_0011], 6);
        assert_eq!(image, [0b1000_0101, 0b0011_1111, 0b11]);
    }
}
