//! Moves units of 1, 2 and 4 bits. A *unit* is an element, or several that are moved together.
//! Units are unpacked to one byte each, packed from bytes, or moved several at a time in a byte.

use wide::{i16x8, u8x16, u16x8};

use super::{simd::Simd, tile::copy_run};

/// True on little-endian processors: the first byte of a 16-bit word is its lower half.
const LITTLE: bool = cfg!(target_endian = "little");

/// The least number of units for which those in whole source bytes are unpacked separately from the
/// units before them, as [`spread`] does. Fewer units are unpacked faster through words that begin
/// inside bytes.
const LONG_PIECE: usize = 64;

/// The least number of groups of eight units for which registers are tried. Unpacked, they fill a
/// register of 32 bytes. The code for registers of 16 bytes leaves fewer groups than it needs for
/// one packed register to the caller.
const LEAST_GROUPS: usize = 4;

/// The length of a line, in bits, up to which a few lines are shifted a word at a time although
/// this processor has longer registers.
const LONG_LINE_BITS: usize = 128;

/// The size of a word in which bits are shifted, in bytes.
pub(super) const WORD_BYTES: usize = 8;

/// Unpacks units of `BITS` bits (`PER` in a byte), beginning with unit `first`. Writes one unit to
/// each byte of `out`.
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
    let done = if LITTLE { spread_widest::<BITS, PER>(rest, whole) } else { 0 };
    let packed = rest[done * BITS..].as_chunks::<BITS>().0;
    for (units, packed) in whole[done..].iter_mut().zip(packed) {
        let mut word = [0; 8];
        word[..BITS].copy_from_slice(packed);
        *units = spread_word::<BITS>(u64::from_le_bytes(word)).to_le_bytes();
    }
    for (first, units) in [(first, before), (last, after)] {
        for (n, byte) in units.iter_mut().enumerate() {
            *byte = unit(source, first + n, BITS as u32);
        }
    }
}

/// Unpacks `count` units as [`spread`] does. May also overwrite the bytes of `out` after them, up
/// to a multiple of eight.
pub(super) fn spread_past<const BITS: usize, const PER: usize>(
    source: &[u8],
    first: usize,
    (out, count): (&mut [u8], usize),
) {
    if count >= LONG_PIECE {
        return spread::<BITS, PER>(source, first, &mut out[..count]);
    }
    let groups = out.as_chunks_mut::<8>().0.iter_mut();
    for (number, units) in groups.take(count.div_ceil(8)).enumerate() {
        let start = first + number * 8;
        if let Some(bytes) = source[start / PER..].first_chunk() {
            let word =
                u64::from_le_bytes(*bytes) >> (start % PER * BITS) & u64::MAX >> (64 - 8 * BITS);
            *units = spread_word::<BITS>(word).to_le_bytes();
            continue;
        }
        for (n, byte) in units.iter_mut().enumerate().take(count - number * 8) {
            *byte = unit(source, start + n, BITS as u32);
        }
    }
}

/// Unpacks the eight units in the lowest bits of a word to the eight bytes of the result.
#[inline(always)]
fn spread_word<const BITS: usize>(word: u64) -> u64 {
    (0..3).rev().fold(word, |word, step| {
        (word | word << ((8 - BITS) << step)) & lanes(8 << step, BITS << step)
    })
}

/// Unpacks as many units as fill whole registers, with the widest registers of this processor.
/// Returns the number of groups of eight units that were unpacked.
fn spread_widest<const BITS: usize, const PER: usize>(
    source: &[u8],
    units: &mut [[u8; 8]],
) -> usize {
    if units.len() < LEAST_GROUPS {
        return 0;
    }
    match Simd::here().map_or(0, |simd| simd.spread::<BITS>(source, units)) {
        0 => spread_registers::<BITS, PER>(source, units),
        count => count,
    }
}

/// Packs the low bits of as many bytes as fill whole registers, with the widest registers of this
/// processor. Returns the number of groups of eight units that were packed.
fn gather_widest<const BITS: usize, const PER: usize>(
    units: &[[u8; 8]],
    packed: &mut [u8],
) -> usize {
    if units.len() < LEAST_GROUPS {
        return 0;
    }
    match Simd::here().map_or(0, |simd| simd.pack::<BITS>(units, packed)) {
        0 => gather_registers::<BITS, PER>(units, packed),
        count => count,
    }
}

/// Unpacks as many units as fill whole registers of 16 bytes. Returns the number of groups of eight
/// units that were unpacked.
fn spread_registers<const BITS: usize, const PER: usize>(
    source: &[u8],
    units: &mut [[u8; 8]],
) -> usize {
    let mut count = 0;
    let blocks = units.chunks_exact_mut(2 * PER).zip(source.as_chunks::<16>().0);
    for (units, &packed) in blocks {
        let mut registers = [u8x16::new(packed); PER];
        // Each pass turns one register into two, whose bytes hold half as many units.
        let mut made = 1;
        while made < PER {
            let shift = 8 / (2 * made);
            for number in (0..made).rev() {
                let [low, high] = halves(registers[number], shift as u32);
                (registers[2 * number], registers[2 * number + 1]) = (low, high);
            }
            made *= 2;
        }
        for (units, register) in units.as_chunks_mut::<2>().0.iter_mut().zip(registers) {
            *units = bytemuck::cast(register);
        }
        count += 2 * PER;
    }
    count
}

/// Splits each byte into its lowest `shift` bits and the `shift` bits above them. Returns the parts
/// as bytes of two registers, in the order of the units.
#[inline(always)]
fn halves(packed: u8x16, shift: u32) -> [u8x16; 2] {
    let mask = u8x16::splat(u8::MAX >> (8 - shift));
    let words: u16x8 = bytemuck::cast(packed);
    let (even, odd) = (packed & mask, bytemuck::cast::<_, u8x16>(words >> shift) & mask);
    [u8x16::unpack_low(even, odd), u8x16::unpack_high(even, odd)]
}

/// Packs the low bits of as many bytes as fill whole registers of 16 bytes. Returns the number of
/// groups of eight units that were packed.
fn gather_registers<const BITS: usize, const PER: usize>(
    units: &[[u8; 8]],
    packed: &mut [u8],
) -> usize {
    let mut count = 0;
    let blocks = units.chunks_exact(2 * PER).zip(packed.as_chunks_mut::<16>().0);
    for (units, packed) in blocks {
        let mut registers = [u16x8::ZERO; PER];
        for (register, units) in registers.iter_mut().zip(units.as_chunks::<2>().0) {
            *register = bytemuck::cast(*units);
        }
        // Each pass turns two registers into one, whose bytes hold twice as many units.
        let mut left = PER;
        while left > 1 {
            let shift = (8 / left) as u32;
            let low = u16x8::splat((1 << shift) - 1);
            let high = low << shift;
            left /= 2;
            for number in 0..left {
                let [first, second] =
                    [registers[2 * number], registers[2 * number + 1]].map(|word| {
                        bytemuck::cast::<_, i16x8>(word & low | word >> (8 - shift) & high)
                    });
                registers[number] = bytemuck::cast(u8x16::narrow_i16x8(first, second));
            }
        }
        *packed = bytemuck::cast(registers[0]);
        count += 2 * PER;
    }
    count
}

/// Returns a 64-bit mask that has the low `ones` bits of every group of `lane` bits.
const fn lanes(lane: usize, ones: usize) -> u64 {
    u64::MAX / (u64::MAX >> (64 - lane)) * (u64::MAX >> (64 - ones))
}

/// Packs the low bits of each byte of `values` into consecutive units of the destination, beginning
/// with unit `first`. All other units keep their values.
pub(super) fn pack(values: &[u8], destination: &mut [u8], first: usize, bits: u32) {
    match bits {
        1 => gather::<1, 8>(values, destination, first),
        2 => gather::<2, 4>(values, destination, first),
        4 => gather::<4, 2>(values, destination, first),
        _ => destination[first..first + values.len()].copy_from_slice(values),
    }
}

/// Packs units of `BITS` bits (`PER` in a byte); see [`pack`].
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
    let done = if LITTLE { gather_widest::<BITS, PER>(whole, destination) } else { 0 };
    let packed = destination[done * BITS..].as_chunks_mut::<BITS>().0;
    for (packed, units) in packed.iter_mut().zip(&whole[done..]) {
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

/// Returns the eight bytes that begin `shift` bits after the start of `low`, from 1 to 7. `high` is
/// the word that begins one byte after `low`. With two words instead of a word and a byte,
/// compilers shift several words in a register.
#[inline(always)]
fn shifted(low: &[u8; 8], high: &[u8; 8], shift: usize) -> [u8; 8] {
    (u64::from_le_bytes(*low) >> shift | u64::from_le_bytes(*high) << (8 - shift)).to_le_bytes()
}

/// Copies consecutive units, beginning with unit `first`, to the start of `line`, and so aligns
/// them to a byte. Bits past the end of the source are read as zero.
pub(super) fn take(source: &[u8], first: usize, line: &mut [u8], bits: u32) {
    let start = first * bits as usize;
    let (source, shift) = (&source[start / 8..], start % 8);
    if line.len() < 8
        && let Some(bytes) = source.first_chunk()
    {
        let word = u64::from_le_bytes(*bytes) >> shift;
        line.copy_from_slice(&word.to_le_bytes()[..line.len()]);
        return;
    }
    let length = line.len().min(source.len());
    let (inside, past) = line.split_at_mut(length);
    past.fill(0);
    if shift == 0 {
        return copy_run(inside, &source[..length]);
    }
    let after = source.get(1..).unwrap_or_default();
    let (most, last) = inside.split_at_mut(length.min(after.len()));
    // Shift eight bytes at a time.
    let words = most.as_chunks_mut::<8>().0.iter_mut();
    let of = source.as_chunks::<8>().0.iter().zip(after.as_chunks::<8>().0);
    for (to, (low, high)) in words.zip(of) {
        *to = shifted(low, high, shift);
    }
    // The last group may overlap the one before it.
    let end = most.len();
    if let (Some(to), Some(low), Some(high)) =
        (most.last_chunk_mut(), source[..end].last_chunk(), after[..end].last_chunk())
    {
        if !end.is_multiple_of(8) {
            *to = shifted(low, high, shift);
        }
    } else {
        for ((to, low), high) in most.iter_mut().zip(source).zip(after) {
            *to = low >> shift | high << (8 - shift);
        }
    }
    for (to, low) in last.iter_mut().zip(&source[after.len().min(length)..]) {
        *to = low >> shift;
    }
}

/// Copies the first `count` units of `line` to consecutive units of an image, beginning with unit
/// `first`. All other units of the image keep their values.
pub(super) fn put(line: &[u8], count: usize, image: &mut [u8], first: usize, bits: u32) {
    let (start, length) = (first * bits as usize, count * bits as usize);
    let (image, shift) = (&mut image[start / 8..], start % 8);
    // A short line is part of one word.
    if length > 0
        && shift + length <= 64
        && let (Some(image), Some(line)) = (image.first_chunk_mut(), line.first_chunk())
    {
        let mask = u64::MAX >> (64 - length) << shift;
        let (before, line) = (u64::from_le_bytes(*image), u64::from_le_bytes(*line) << shift);
        *image = (before & !mask | line & mask).to_le_bytes();
        return;
    }
    let image = &mut image[..(shift + length).div_ceil(8)];
    let Some(last) = image.len().checked_sub(1) else { return };
    let end = (shift + length) % 8;
    // `from` and `until` mask the bits of the first and of the last byte that are written.
    let (from, until) = (u8::MAX << shift, if end == 0 { u8::MAX } else { !(u8::MAX << end) });
    let (kept_first, kept_last) = (image[0] & !from, image[last] & !until);
    if shift == 0 {
        image.copy_from_slice(&line[..=last]);
    } else if length > LONG_LINE_BITS
        && Simd::here().is_some_and(|simd| simd.join_lines((line, 0), (1, length), image, shift))
    {
    } else {
        image[0] = line[0] << shift;
        let inside = last.min(line.len() - 1);
        let (line_before, line_after) = (&line[..inside], &line[1..=inside]);
        let middle = &mut image[1..=inside];
        // Shift eight bytes at a time.
        let words = middle.as_chunks_mut::<8>().0.iter_mut();
        let of = line_before.as_chunks::<8>().0.iter().zip(line_after.as_chunks::<8>().0);
        for (to, (before, after)) in words.zip(of) {
            *to = shifted(before, after, 8 - shift);
        }
        // The last group may overlap the one before it.
        if let (Some(to), Some(before), Some(after)) =
            (middle.last_chunk_mut(), line_before.last_chunk(), line_after.last_chunk())
        {
            *to = shifted(before, after, 8 - shift);
        } else {
            let pairs = line_before.iter().zip(line_after);
            for (to, (before, after)) in middle.iter_mut().zip(pairs) {
                *to = before >> (8 - shift) | after << shift;
            }
        }
        if inside < last {
            image[last] = line[last - 1] >> (8 - shift);
        }
    }
    if last == 0 {
        let both = from & until;
        image[0] = image[0] & both | (kept_first | kept_last) & !both;
    } else {
        image[0] = image[0] & from | kept_first;
        image[last] = image[last] & until | kept_last;
    }
}

/// Copies the first `count` units of each of `lines` lines, which are `pitch` bytes apart, to
/// consecutive units of an image, beginning with unit `first`. All other units of the image keep
/// their values. After the last line, `image_lines` must have [`WORD_BYTES`] more bytes. Lines that
/// are [`WORD_BYTES`] apart may be overwritten.
pub(super) fn put_lines(
    (image_lines, pitch): (&mut [u8], usize),
    (lines, count): (usize, usize),
    (image, first): (&mut [u8], usize),
    bits: u32,
) {
    let (start, length) = (first * bits as usize, count * bits as usize);
    let shortest = if lines > BAND { 1 } else { LONG_LINE_BITS + 1 };
    let simd = Simd::here().filter(|_| length >= shortest);
    if let Some(simd) = simd
        && lines > BAND
        && pitch == WORD_BYTES
        && let Some(head) = (0..BAND).find(|line| (start + line * length).is_multiple_of(8))
    {
        // Eight lines are whole bytes. The lines before and after them are copied one by one.
        let groups = (lines - head) / BAND;
        let tail = head + groups * BAND;
        let words = &mut image_lines.as_chunks_mut().0[head..];
        if simd.join_words(words, groups, length, &mut image[(start + head * length) / 8..]) {
            for line in (0..head).chain(tail..lines) {
                put(&image_lines[line * pitch..], count, image, first + line * count, bits);
            }
            return;
        }
    }
    let end = start + lines * length;
    let image = &mut image[start / 8..end.div_ceil(8)];
    let Some(&last) = image.last() else { return };
    let joined = simd.is_some_and(|simd| {
        simd.join_lines((image_lines, pitch), (lines, length), image, start % 8)
    });
    if !joined {
        join_lines((image_lines, pitch), (lines, length), image, start % 8);
    }
    // The bits after the end keep their values.
    if let (Some(byte), 1..) = (image.last_mut(), end % 8) {
        *byte = *byte & !(u8::MAX << (end % 8)) | last & u8::MAX << (end % 8);
    }
}

/// Joins `count` lines of `length` bits as [`Simd::join_lines`] does, without instructions that
/// must be detected at run time. Lines may have any length. After the last one, there must be
/// [`WORD_BYTES`] more bytes.
fn join_lines(
    (lines, pitch): (&[u8], usize),
    (count, length): (usize, usize),
    out: &mut [u8],
    start: usize,
) {
    let (whole, past) = (length / 64, (length % 64) as u32);
    // The low `held` bits of `word` are still to be written, after the bytes that were written so
    // far.
    let mut held = start as u32;
    let mut word = u64::from(out[0] & !(u8::MAX << held));
    let mut written = 0;
    for line in 0..count {
        let words = lines[line * pitch..].as_chunks().0;
        let places = out[written..].as_chunks_mut().0;
        for (next, place) in words[..whole].iter().zip(places) {
            let next = u64::from_le_bytes(*next);
            *place = (word | next << held).to_le_bytes();
            // Shift in two steps, because `held` can be 0.
            word = next >> 1 >> (63 - held);
        }
        written += whole * WORD_BYTES;
        if past > 0 {
            let next = u64::from_le_bytes(words[whole]) & !(u64::MAX << past);
            word |= next << held;
            held += past;
            if held >= 64 {
                out[written..written + WORD_BYTES].copy_from_slice(&word.to_le_bytes());
                written += WORD_BYTES;
                held -= 64;
                word = next >> (past - held);
            }
        }
    }
    let rest = &mut out[written..];
    rest.copy_from_slice(&word.to_le_bytes()[..rest.len()]);
}

/// Copies `count` units of the source, beginning with unit `from`, to the destination, beginning
/// with unit `to`. All other units of the destination keep their values.
pub(super) fn move_units(
    (source, from): (&[u8], usize),
    (destination, to): (&mut [u8], usize),
    count: usize,
    bits: u32,
) {
    let [from, to, length] = [from, to, count].map(|units| units * bits as usize);
    // The bits before and after the whole bytes of the destination are moved separately.
    let head = (to.wrapping_neg() % 8).min(length);
    let whole = (length - head) / 8;
    let tail = head + whole * 8;
    for (done, end) in [(0, head), (tail, length)] {
        if done < end {
            let first = (from + done) / 8;
            let next = source.get(first + 1).copied().unwrap_or_default();
            let both = u16::from_le_bytes([source[first], next]) >> ((from + done) % 8);
            let shift = (to + done) % 8;
            let mask = u8::MAX >> (8 - (end - done)) << shift;
            let byte = &mut destination[(to + done) / 8];
            *byte = *byte & !mask | both.to_le_bytes()[0] << shift & mask;
        }
    }
    take(source, from + head, &mut destination[(to + head) / 8..][..whole], 1);
}

/// The number of lines of a band. The units of as many lines fill whole bytes for every width.
pub(super) const BAND: usize = 8;

/// Returns the number of bytes that [`turn_bands`] may overwrite for a band whose lines have
/// `width` bytes. It is also the distance of bands that are turned one by one. Because it is not a
/// multiple of 128, these do not map to a few sets of the first-level cache.
pub(super) fn band_bytes(width: usize) -> usize {
    width.next_multiple_of(16) * BAND + 64
}

/// Returns the number of the line in a band that is at place `place` of [`turn_bands`].
fn line_at(place: usize, bits: u32) -> usize {
    place % bits as usize * (8 / bits as usize) + place / bits as usize
}

/// Turns lines of units, which are contiguous in an image, in bands of [`BAND`] lines. Line `n`
/// begins at unit `from + rows[n]` of `image`. A band has the units of all of its lines for one
/// column, in the order of the lines, then those for the next column, and so on. It is written to
/// byte `n * pitch` of `out`. Lines that the last band lacks have any value, and so have the bytes
/// after the last column, up to [`band_bytes`]. `step` is the distance between lines in units, if
/// it is constant. `pitch` is [`band_bytes`], or 64 divided by [`Simd::bands_of_load`].
pub(super) fn turn_bands(
    (image, from, rows, step): (&[u8], isize, &[isize], Option<usize>),
    (out, pitch): (&mut [u8], usize),
    columns: usize,
    bits: u32,
) {
    let width = (columns * bits as usize).div_ceil(8);
    let simd = Simd::here();
    let (mut rows, mut out) = (rows, out);
    while !rows.is_empty() {
        let lines = (image, from, rows, step);
        let done = simd.map_or(0, |simd| simd.turn_bands(lines, (out, pitch), width, bits));
        rows = rows.get(done * BAND..).unwrap_or_default();
        if rows.is_empty() {
            return;
        }
        out = &mut out[done * pitch..];
        // The instructions for whole bands were not found, or would read past the end of the image.
        let lines = &rows[..rows.len().min(BAND)];
        let starts = std::array::from_fn(|place| {
            let line = line_at(place, bits).min(lines.len() - 1);
            (from + lines[line]).cast_unsigned() * bits as usize
        });
        turn_band(image, starts, &mut out[..band_bytes(width)], width, bits);
        (rows, out) = (&rows[lines.len()..], out.get_mut(pitch..).unwrap_or_default());
    }
}

/// Turns one band as [`turn_bands`] does, without instructions that must be detected at run time.
/// `starts` has the first bit of the line at each place.
fn turn_band(image: &[u8], starts: [usize; BAND], out: &mut [u8], width: usize, bits: u32) {
    for (part, out) in out.as_chunks_mut::<{ 16 * BAND }>().0.iter_mut().enumerate() {
        if part * 16 >= width {
            return;
        }
        let mut lines = starts.map(|start| {
            let mut line = [0; 16];
            take(image, start + part * 128, &mut line, 1);
            bytemuck::cast::<_, u16x8>(line)
        });
        // Each pass exchanges halves, quarters or eighths of bytes between lines.
        for (apart, mask) in [(4, 0x0f0f), (2, 0x3333), (1, 0x5555)] {
            if apart < bits as usize {
                break;
            }
            for first in (0..BAND).filter(|first| first & apart == 0) {
                let [low, high] = [lines[first], lines[first + apart]];
                let differs = (low >> apart as u32 ^ high) & u16x8::splat(mask);
                lines[first] = low ^ differs << apart as u32;
                lines[first + apart] = high ^ differs;
            }
        }
        // Each perfect shuffle brings neighbouring lines closer together.
        let mut lines = lines.map(bytemuck::cast::<_, u8x16>);
        for _ in 0..3 {
            let halves = lines;
            for line in 0..BAND / 2 {
                lines[2 * line] = u8x16::unpack_low(halves[line], halves[line + BAND / 2]);
                lines[2 * line + 1] = u8x16::unpack_high(halves[line], halves[line + BAND / 2]);
            }
        }
        *out = bytemuck::cast(lines);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(seed: u32) -> Vec<u8> {
        (0..200_u32).map(|n| ((n * 167 + seed) >> 3) as u8).collect()
    }

    #[test]
    fn units_are_moved_and_others_are_kept() {
        let source = image(5);
        for bits in [1, 2, 4] {
            for from in 0..9 {
                for to in 0..9 {
                    for count in (0..40).chain([150, 8 / bits as usize * 190]) {
                        let mut expected = image(99);
                        for number in 0..count {
                            let value = unit(&source, from + number, bits);
                            pack(&[value], &mut expected, to + number, bits);
                        }
                        let mut moved = image(99);
                        move_units((&source, from), (&mut moved, to), count, bits);
                        assert_eq!(moved, expected, "{bits} {from} {to} {count}");
                        let mut line = vec![0xa5; (count * bits as usize).div_ceil(8) + 1];
                        take(&source, from, &mut line, bits);
                        let mut moved = image(99);
                        put(&line, count, &mut moved, to, bits);
                        assert_eq!(moved, expected, "{bits} {from} {to} {count}");
                        // A line that ends with its last unit.
                        line.pop();
                        let mut moved = image(99);
                        if count > 0 {
                            put(&line, count, &mut moved, to, bits);
                            assert_eq!(moved, expected, "{bits} {from} {to} {count}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn lines_are_joined() {
        let lines: Vec<u8> = (0..2000_u32).map(|n| ((n * 167) >> 3) as u8).collect();
        for bits in [1, 2, 4] {
            let per = 8 / bits as usize;
            for (first, count) in
                (0..9_usize).flat_map(|first| (0..150_usize).map(move |count| (first, count)))
            {
                let width = count.div_ceil(per);
                for pitch in [width + first % 2, width.max(WORD_BYTES)] {
                    let number = [1, 28, 2, 82, 5, 136, 8, 190, 9][first];
                    let number = ((1990 - WORD_BYTES) / pitch.max(1)).min(number);
                    let mut expected = vec![0xa5; (first + number * count).div_ceil(per) + 9];
                    for line in 0..number {
                        let to = first + line * count;
                        put(&lines[line * pitch..], count, &mut expected, to, bits);
                    }
                    let plain = first < per && count > 0 && number > 0;
                    let [mut joined, mut plainly] = [(); 2].map(|()| vec![0xa5; expected.len()]);
                    let of = (&mut lines.clone()[..], pitch);
                    put_lines(of, (number, count), (&mut joined, first), bits);
                    assert_eq!(joined, expected, "{bits} {first} {count} {pitch}");
                    if plain {
                        let start = first * bits as usize;
                        let length = count * bits as usize;
                        let end = (start + number * length).div_ceil(8);
                        join_lines((&lines, pitch), (number, length), &mut plainly[..end], start);
                        let whole = (start + number * length) / 8;
                        assert_eq!(plainly[..whole], expected[..whole], "{bits} {first} {count}");
                    }
                }
            }
        }
    }

    #[test]
    fn units_are_unpacked_and_packed() {
        let source = image(5);
        for first in 0..9 {
            for count in (0..40).chain([63, 64, 65, 100, 127, 128, 129, 190, 260, 300]) {
                check::<1, 8>(&source, first, count);
                check::<2, 4>(&source, first, count);
                check::<4, 2>(&source, first, count);
            }
        }
        // To the end of the source.
        check::<1, 8>(&source, 1600 - 41, 41);
        check::<2, 4>(&source, 800 - 41, 41);
        check::<4, 2>(&source, 400 - 41, 41);
    }

    fn check<const BITS: usize, const PER: usize>(source: &[u8], first: usize, count: usize) {
        let count = count.min(source.len() * PER - first);
        let expected: Vec<u8> = (0..count).map(|n| unit(source, first + n, BITS as u32)).collect();
        let mut bytes = vec![0xa5; count];
        spread::<BITS, PER>(source, first, &mut bytes);
        assert_eq!(bytes, expected, "{BITS} {first} {count}");
        let mut past = vec![0xa5; count.next_multiple_of(8)];
        spread_past::<BITS, PER>(source, first, (&mut past, count));
        assert_eq!(past[..count], expected, "{BITS} {first} {count}");
        let groups = count / 8 / (2 * PER) * 2 * PER;
        let mut registers = vec![[0xa5; 8]; groups];
        if first.is_multiple_of(PER) {
            let done = spread_registers::<BITS, PER>(&source[first / PER..], &mut registers);
            assert_eq!(done, groups, "{BITS} {first} {count}");
            assert_eq!(registers.as_flattened(), &expected[..groups * 8], "{BITS} {first} {count}");
        }
        let whole_groups = count / 8;
        let whole = &mut vec![[0; 8]; whole_groups];
        // Registers have 16 or 32 bytes, so they may have enough units from four groups on.
        let is_right = |done: usize| match whole_groups {
            0..LEAST_GROUPS => done == 0,
            many => done > 0 || many < 2 * PER,
        };
        assert!(is_right(spread_widest::<BITS, PER>(source, whole)), "{BITS} {count}");
        let done = gather_widest::<BITS, PER>(whole, &mut vec![0; whole.len() * BITS]);
        assert!(is_right(done), "{BITS} {count}");
        // The widest registers unpack as many groups, and pack them again.
        let wide = groups / 4 * 4;
        for simd in Simd::all_with_every_machine().filter(|_| first == 0) {
            let has_registers = matches!(simd.name(), "avx2" | "avx512_vbmi");
            let mut registers = vec![[0xa5; 8]; groups];
            let done = simd.spread::<BITS>(source, &mut registers);
            assert_eq!(done, if has_registers { wide } else { 0 }, "{}", simd.name());
            assert_eq!(registers[..done].as_flattened(), &expected[..done * 8], "{}", simd.name());
            let mut packed = vec![0; groups * BITS];
            let done = simd.pack::<BITS>(&registers, &mut packed);
            assert_eq!(done, if has_registers { wide } else { 0 }, "{}", simd.name());
            assert_eq!(packed[..done * BITS], source[..done * BITS], "{}", simd.name());
        }
        // The other bits of a byte have no effect.
        let noisy: Vec<u8> = bytes.iter().map(|byte| byte | 0xff << BITS).collect();
        let (mut packed, mut by_units) = (image(99), image(99));
        pack(&noisy, &mut packed, first, BITS as u32);
        for (n, &value) in bytes.iter().enumerate() {
            pack(&[value], &mut by_units, first + n, BITS as u32);
        }
        assert_eq!(packed, by_units, "{BITS} {first} {count}");
        if first == 0 {
            let noisy = &noisy.as_chunks().0[..groups];
            let mut packed = vec![0; groups * BITS];
            assert_eq!(gather_registers::<BITS, PER>(noisy, &mut packed), groups);
            assert_eq!(packed, by_units[..groups * BITS], "{BITS} {count}");
        }
    }

    #[test]
    fn lines_of_bytes_are_packed() {
        let image = image(5);
        let simds = Simd::all_with_every_machine().filter(|simd| simd.name() == "avx512_vbmi");
        for (simd, bits) in simds.flat_map(|simd| [1, 2].map(move |bits| (simd, bits))) {
            for (columns, lines) in [(1, 5), (7, 3), (64, 2), (65, 2), (72, 1), (130, 1)] {
                let rows: Vec<isize> = (0..lines).rev().map(|line| line * 33 - 3).collect();
                let width = (columns * bits as usize).div_ceil(8);
                let mut out = vec![0xa5; rows.len() * width + 15];
                let of = (&image[..], 5, &rows[..]);
                assert!(simd.pack_lines(of, (&mut out, width), columns, bits));
                for (row, out) in rows.iter().zip(out.chunks(width)) {
                    let mut expected = vec![0; width];
                    let first = (row + 5).cast_unsigned();
                    pack(&image[first..first + columns], &mut expected, 0, bits);
                    let units = columns / (8 / bits as usize) * (8 / bits as usize);
                    assert_eq!(
                        out[..units * bits as usize / 8],
                        expected[..units * bits as usize / 8]
                    );
                    for column in units..columns {
                        assert_eq!(unit(out, column, bits), unit(&expected, column, bits));
                    }
                }
                let past = (&image[..], 200 - columns.cast_signed() + 4, &rows[..1]);
                assert!(!simd.pack_lines(past, (&mut out, width), columns, bits), "{columns}");
            }
        }
    }

    /// Units at the end of a source of a few bytes, without a whole word after them.
    #[test]
    fn the_last_units_of_a_short_source_are_taken() {
        for (bits, bytes) in [1, 2, 4].into_iter().flat_map(|bits| (1..20).map(move |n| (bits, n)))
        {
            let (source, units) = (&image(5)[..bytes], bytes * 8 / bits as usize);
            for first in 0..units {
                let count = units - first;
                let mut line = vec![0xa5; (count * bits as usize).div_ceil(8) + 2];
                take(source, first, &mut line, bits);
                for number in 0..line.len() * 8 / bits as usize {
                    let expected =
                        if number < count { unit(source, first + number, bits) } else { 0 };
                    assert_eq!(unit(&line, number, bits), expected, "{bits} {bytes} {first}");
                }
            }
        }
    }

    #[test]
    fn bands_of_lines_are_turned() {
        let image: Vec<u8> = (0..3000_u32).map(|n| ((n * 167) >> 3) as u8).collect();
        for bits in [1, 2, 4] {
            let units = 24_000 / bits as usize;
            for (lines, columns, apart) in [
                (8, 5, 5),
                (3, 64, 70),
                (17, 57, 61),
                (40, 130, 131),
                (64, 11, 11),
                (9, 300, 500),
                (100, 8, 8),
                (37, 3, 4),
                (70, 16, 16),
                (29, 31, 33),
            ] {
                // From the start of the image, and to its end.
                let last = units - (lines - 1) * apart - columns;
                for (from, step) in
                    [(0, None), (0, Some(apart)), (3, Some(apart)), (last, Some(apart))]
                {
                    let at = |line: usize| (line * apart).cast_signed();
                    let rows: Vec<isize> = (0..lines).map(at).collect();
                    let width = (columns * bits as usize).div_ceil(8);
                    let unit_bits = bits as usize;
                    let together = Simd::here().map_or(0, |simd| {
                        let step = step.map(|units| units * unit_bits);
                        simd.bands_of_load((from * unit_bits % 8, columns * unit_bits), step)
                    });
                    let pitch = 64_usize.checked_div(together).unwrap_or(band_bytes(width));
                    let mut out = vec![0xa5; lines.div_ceil(BAND) * pitch + band_bytes(width)];
                    let of = (&image[..], from.cast_signed(), &rows[..], step);
                    turn_bands(of, (&mut out, pitch), columns, bits);
                    let mut plain = vec![0xa5; band_bytes(width)];
                    let starts = std::array::from_fn(|place| {
                        (from + line_at(place, bits).min(lines - 1) * apart) * bits as usize
                    });
                    turn_band(&image, starts, &mut plain, width, bits);
                    for (line, column) in
                        (0..lines).flat_map(|line| (0..columns).map(move |c| (line, c)))
                    {
                        let expected = unit(&image, from + line * apart + column, bits);
                        let place = column * BAND + line % BAND;
                        let found = unit(&out[line / BAND * pitch..], place, bits);
                        assert_eq!(found, expected, "{bits} {lines} {columns} {line} {column}");
                        if line < BAND {
                            assert_eq!(unit(&plain, place, bits), expected, "{bits} {line}");
                        }
                    }
                }
            }
        }
    }
}
