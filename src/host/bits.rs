//! Units below a byte, and units of another width on the two sides.

use smallvec::SmallVec;
use wide::{i16x8, u8x16, u16x8};

use super::{
    box_copy::each_tile,
    micro::transpose,
    pieces::{Destination as _, Pieces},
    plan::Plan,
    simd::Simd,
    tile::{Tile, at, each_unit},
};

/// Units of a run that are spread out at a time.
const RUN: usize = 1 << 12;

/// Whether the first of two bytes is the lower half of a word.
const LITTLE: bool = cfg!(target_endian = "little");

/// Moves units that are below a byte, or of another width on the two sides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bits {
    /// Bits of a unit of the source.
    pub(super) src: u32,
    /// Bits of a unit of the destination.
    pub(super) dst: u32,
    /// Whether widening repeats the sign.
    pub(super) sign_extend: bool,
}

impl Bits {
    /// Moves the cells of a box that starts at unit `from` of the source and unit `to` of the destination.
    pub(super) fn copy(
        self,
        plan: &Plan,
        source: &[u8],
        from: isize,
        destination: &mut Pieces,
        to: isize,
    ) {
        let (from, to) = (from + plan.start.0, to + plan.start.1);
        let mut room = Room::default();
        each_tile(plan, from, to, &mut |tile| match (self.src, self.dst) {
            (1 | 2 | 4 | 8, 1 | 2 | 4 | 8) => {
                self.small(plan, source, destination, &tile, &mut room);
            }
            (8, 16) => self.bytes::<1, 2>(plan.unit, source, destination, &tile),
            (16, 8) => self.bytes::<2, 1>(plan.unit, source, destination, &tile),
            (16, 32) => self.bytes::<2, 4>(plan.unit, source, destination, &tile),
            (32, 16) => self.bytes::<4, 2>(plan.unit, source, destination, &tile),
            (32, 64) => self.bytes::<4, 8>(plan.unit, source, destination, &tile),
            (64, 32) => self.bytes::<8, 4>(plan.unit, source, destination, &tile),
            _ => each_unit(&tile, |from, to| {
                let (slice, to) = destination.place(to);
                for step in 0..plan.unit {
                    let value = self.resize(load(source, from + step, self.src));
                    store(slice, to + step, self.dst, value);
                }
            }),
        });
    }

    /// Units of at most a byte: a tile is spread out to bytes, transposed, and packed again.
    fn small(
        self,
        plan: &Plan,
        source: &[u8],
        destination: &mut Pieces,
        tile: &Tile,
        room: &mut Room,
    ) {
        if plan.unit > 1 {
            room.spread.resize(plan.unit.min(RUN), 0);
            return each_unit(tile, |from, to| {
                let (slice, to) = destination.place(to);
                for done in (0..plan.unit).step_by(RUN) {
                    let spread = &mut room.spread[..RUN.min(plan.unit - done)];
                    self.unpack(source, from + done, spread);
                    pack(spread, slice, to + done, self.dst);
                }
            });
        }
        let (rows, columns) = (tile.rows.0.len(), tile.columns.0.len());
        room.spread.resize(rows * columns, 0);
        for (line, read) in room.spread.chunks_exact_mut(columns).zip(tile.rows.0) {
            let from = tile.from + read;
            if plan.columns_touch {
                self.unpack(source, at(from), line);
            } else {
                for (byte, column) in line.iter_mut().zip(tile.columns.0) {
                    *byte = self.resize_byte(unit(source, at(from + column), self.src));
                }
            }
        }
        room.turned.resize(rows * columns, 0);
        transpose_bytes(&room.spread, columns, &mut room.turned, rows);
        for (line, write) in room.turned.chunks_exact(rows).zip(tile.columns.1) {
            let to = tile.to + write;
            if plan.rows_touch {
                let (slice, to) = destination.place(to);
                pack(line, slice, to, self.dst);
            } else {
                for (&byte, row) in line.iter().zip(tile.rows.1) {
                    let (slice, to) = destination.place(to + row);
                    pack(&[byte], slice, to, self.dst);
                }
            }
        }
    }

    /// Units of `S` bytes to units of `D` bytes.
    fn bytes<const S: usize, const D: usize>(
        self,
        unit: usize,
        source: &[u8],
        destination: &mut Pieces,
        tile: &Tile,
    ) {
        let source = source.as_chunks::<S>().0;
        each_unit(tile, |from, to| {
            let (slice, to) = destination.place(to);
            let run = &mut slice.as_chunks_mut::<D>().0[to..to + unit];
            for (value, from) in run.iter_mut().zip(&source[from..from + unit]) {
                let sign = if self.sign_extend && from[S - 1] > 127 { u8::MAX } else { 0 };
                *value = std::array::from_fn(|byte| if byte < S { from[byte] } else { sign });
            }
        });
    }

    /// Spreads units out to bytes of the destination's width.
    fn unpack(self, source: &[u8], first: usize, out: &mut [u8]) {
        match self.src {
            1 => spread::<1, 8>(source, first, out),
            2 => spread::<2, 4>(source, first, out),
            4 => spread::<4, 2>(source, first, out),
            _ => out.copy_from_slice(&source[first..first + out.len()]),
        }
        if self.dst != self.src {
            for byte in out {
                *byte = self.resize_byte(*byte);
            }
        }
    }

    /// A source unit's bits at the width of the destination, neither above a byte.
    fn resize_byte(self, value: u8) -> u8 {
        let sign = u8::from(self.sign_extend) << (self.src - 1);
        (value ^ sign).wrapping_sub(sign) & u8::MAX >> (8 - self.dst)
    }

    /// A source unit's bits at the width of the destination.
    fn resize(self, value: u128) -> u128 {
        let sign = self.sign_extend && value >> (self.src - 1) & 1 == 1;
        let wide = self.dst > self.src;
        let value = if sign && wide { value | u128::MAX << self.src } else { value };
        value & u128::MAX >> (128 - self.dst)
    }
}

/// Room for a tile as bytes, before and after it is transposed.
#[derive(Default)]
struct Room {
    spread: Vec<u8>,
    turned: Vec<u8>,
}

/// Transposes a dense matrix of bytes.
fn transpose_bytes(from: &[u8], columns: usize, to: &mut [u8], rows: usize) {
    if let Some(simd) = Simd::best() {
        let starts = |count: usize, length: usize| -> SmallVec<[isize; 512]> {
            (0..count).map(|line| (line * length).cast_signed()).collect()
        };
        let (read, write) = (starts(rows, columns), starts(columns, rows));
        if let Some(mut columns) = to.columns(0, &write, rows)
            && simd.transpose((1, None), (from, 0, &read), (&mut columns, 0))
        {
            return;
        }
    }
    let mut row = 0;
    while row < rows {
        let wide = row + 16 <= rows;
        let mut column = 0;
        while column < columns {
            if wide && column + 16 <= columns {
                let mut square = [[0; 16]; 16];
                for (n, line) in square.iter_mut().enumerate() {
                    let start = (row + n) * columns + column;
                    line.copy_from_slice(&from[start..start + 16]);
                }
                for (n, line) in transpose::<1, 16>(&square).iter().enumerate() {
                    let start = (column + n) * rows + row;
                    to[start..start + 16].copy_from_slice(line);
                }
                column += 16;
            } else {
                let until = if wide { row + 16 } else { rows };
                (row..until).for_each(|row| to[column * rows + row] = from[row * columns + column]);
                column += 1;
            }
        }
        row = if wide { row + 16 } else { rows };
    }
}

/// Spreads units of `BITS` bits, `PER` in a byte, from the unit at `first` on.
fn spread<const BITS: usize, const PER: usize>(source: &[u8], first: usize, out: &mut [u8]) {
    let head = (first.wrapping_neg() % PER).min(out.len());
    let (before, out) = out.split_at_mut(head);
    let (whole, after) = out.as_chunks_mut::<8>();
    let (start, last) = (first + head, first + head + whole.len() * 8);
    let rest = &source[start / PER..];
    // Halves of a byte are spread 16 bytes at a time.
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

/// Spreads units of 4 bits, four times eight at a time, and returns how many times eight.
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

/// Packs units of 4 bits, four times eight at a time, and returns how many times eight.
fn gather_halves(units: &[[u8; 8]], packed: &mut [u8]) -> usize {
    let low_byte = u16x8::splat(0xff);
    let blocks = units.as_chunks::<4>().0.iter().zip(packed.as_chunks_mut::<16>().0);
    let mut count = 0;
    for (units, packed) in blocks {
        let words: [u16x8; 2] = bytemuck::cast(*units);
        let [first, second] =
            words.map(|word| bytemuck::cast::<_, i16x8>((word | word >> 4) & low_byte));
        *packed = bytemuck::cast(u8x16::narrow_i16x8(first, second));
        count += 4;
    }
    count
}

/// A mask of the low `ones` bits of every lane of so many bits.
const fn lanes(lane: usize, ones: usize) -> u64 {
    u64::MAX / (u64::MAX >> (64 - lane)) * (u64::MAX >> (64 - ones))
}

/// Packs bytes, each a unit, from the unit at `first` of the destination on; its other units stay.
fn pack(values: &[u8], destination: &mut [u8], first: usize, bits: u32) {
    match bits {
        1 => gather::<1, 8>(values, destination, first),
        2 => gather::<2, 4>(values, destination, first),
        4 => gather::<4, 2>(values, destination, first),
        _ => destination[first..first + values.len()].copy_from_slice(values),
    }
}

fn gather<const BITS: usize, const PER: usize>(
    values: &[u8],
    destination: &mut [u8],
    first: usize,
) {
    let mask = u8::MAX >> (8 - BITS);
    let mut put = |index: usize, value: u8| {
        let (byte, shift) = (&mut destination[index / PER], index % PER * BITS);
        *byte = *byte & !(mask << shift) | value << shift;
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
        let word = (0..3).fold(u64::from_le_bytes(*units), |word, step| {
            (word | word >> ((8 - BITS) << step)) & lanes(16 << step, (2 * BITS) << step)
        });
        packed.copy_from_slice(&word.to_le_bytes()[..BITS]);
    }
}

/// The unit at `index` of an image of units below or at a byte.
fn unit(image: &[u8], index: usize, bits: u32) -> u8 {
    let per = 8 / bits as usize;
    image[index / per] >> (index % per * bits as usize) & u8::MAX >> (8 - bits)
}

/// The unit at `index` of an image of units of any width.
fn load(image: &[u8], index: usize, bits: u32) -> u128 {
    if bits < 8 {
        return unit(image, index, bits).into();
    }
    let bytes = bits as usize / 8;
    let unit = &image[index * bytes..(index + 1) * bytes];
    unit.iter().rev().fold(0, |value, &byte| value << 8 | u128::from(byte))
}

/// Writes the unit at `index`.
fn store(image: &mut [u8], index: usize, bits: u32, value: u128) {
    let value = value.to_le_bytes();
    if bits < 8 {
        return pack(&value[..1], image, index, bits);
    }
    let bytes = bits as usize / 8;
    image[index * bytes..(index + 1) * bytes].copy_from_slice(&value[..bytes]);
}
