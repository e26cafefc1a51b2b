//! Copies units that are smaller than a byte, or that have different widths on the two sides.
//!
//! A *unit* is the data that is moved at a time, an element of 4 bits for example. Units are
//! unpacked to one byte each, moved, and packed again, unless several of them can be moved together
//! in whole bytes.

use std::cell::RefCell;

use smallvec::SmallVec;

use super::{
    box_copy::{each_tile, each_tile_before},
    micro::transpose,
    packed::{
        WORD_BYTES, move_units, pack, put, put_lines, spread, spread_past, take, turn_units, unit,
    },
    pieces::{Destination as _, DestinationSlices},
    plan::TilePlan,
    simd::Simd,
    stream::{LINE, Stream, prefetch_byte},
    tile::{CopyTile, byte_index, each_unit},
};
use crate::nest::CopyNest;

/// The number of units that are unpacked or packed at a time.
const RUN: usize = 1 << 12;

/// The shortest run that is copied on its own, in bits. Starting a run takes 13 ns, so shorter ones
/// are unpacked to bytes, many at a time.
const LONG_RUN: usize = 1 << 9;

/// The longest line of a buffer, in bytes, that [`put_lines`] joins to the next line through a word
/// of bits. Each word depends on the one before it, so longer lines are shifted on their own, many
/// words at a time. A smaller number shifts more lines on their own, which takes 10 ns for each:
/// lines of 17 bytes of `u1[129,116337]` take 1.5 times as long.
const SHORT_LINE: usize = 32;

/// A copy of units that are smaller than a byte or change their width.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bits {
    /// The size of a unit of the source, in bits.
    pub(super) src: u32,
    /// The size of a unit of the destination, in bits.
    pub(super) dst: u32,
    /// True if widening fills the new bits with copies of the sign bit.
    pub(super) sign_extend: bool,
}

impl Bits {
    /// Returns the widths of the units of a nest.
    pub(super) fn of(nest: &CopyNest) -> Self {
        Self { src: nest.src_bits(), dst: nest.dst_bits(), sign_extend: nest.sign_extend() }
    }

    /// Returns true if units have at most 8 bits on both sides.
    pub(super) fn is_packed(self) -> bool {
        self.src.max(self.dst) <= 8
    }

    /// Returns true if `plan` is a fast way to copy units of at most a byte, because it moves them
    /// in whole bytes: as long runs, or as matrices with long rows and columns.
    pub(super) fn suits(self, plan: &TilePlan) -> bool {
        let bits = self.src.min(self.dst) as usize;
        let (rows, columns) = (plan.rows.dst.len(), plan.columns.src.len());
        if plan.unit > 1 {
            return plan.unit * bits >= LONG_RUN || plan.loops.is_empty() && rows * columns == 1;
        }
        let joined = plan.columns.step.is_some_and(|(_, dst)| dst == rows)
            && (rows * bits).is_multiple_of(8);
        // A byte holds fewer units if they are longer, so their lines must be longer for a plan to
        // be faster. Columns of whole bytes may be short, because most are not copied to a buffer
        // first.
        let (line, row) = match bits {
            1 => (1 << 5, 1 << 5),
            2 => (1 << 6, 1 << 7),
            _ => (1 << 8, LONG_RUN),
        };
        plan.rows_touch
            && plan.columns_touch
            && (joined || rows * bits >= row)
            && (self.src == 8 || columns * bits > line)
    }

    /// Copies a box that starts at unit `from` of the source and unit `to` of the destination.
    /// Units of at most a byte are written with non-temporal stores if there is a stream.
    pub(super) fn copy(
        self,
        plan: &TilePlan,
        (source, from): (&[u8], isize),
        (destination, to): (&mut DestinationSlices, isize),
        stream: Option<&Stream>,
    ) {
        let (from, to) = (from + plan.start.0, to + plan.start.1);
        if let (1 | 2 | 4 | 8, 1 | 2 | 4 | 8) = (self.src, self.dst) {
            return BUFFERS.with_borrow_mut(|room| {
                each_tile_before(plan, from, to, &mut |tile, next| {
                    if plan.unit > 1 {
                        return self.runs(plan.unit, source, destination, &tile, (room, stream));
                    }
                    if plan.rows_touch && plan.columns_touch {
                        self.matrix(source, destination, (&tile, next), room, stream);
                    } else {
                        self.units(1, source, destination, &tile);
                    }
                });
            });
        }
        each_tile(plan, from, to, &mut |tile| match (self.src, self.dst) {
            (8, 16) => self.bytes::<1, 2>(plan.unit, source, destination, &tile),
            (16, 8) => self.bytes::<2, 1>(plan.unit, source, destination, &tile),
            (16, 32) => self.bytes::<2, 4>(plan.unit, source, destination, &tile),
            (32, 16) => self.bytes::<4, 2>(plan.unit, source, destination, &tile),
            (32, 64) => self.bytes::<4, 8>(plan.unit, source, destination, &tile),
            (64, 32) => self.bytes::<8, 4>(plan.unit, source, destination, &tile),
            _ => self.units(plan.unit, source, destination, &tile),
        });
    }

    /// Copies units of any widths one by one.
    fn units(
        self,
        unit: usize,
        source: &[u8],
        destination: &mut DestinationSlices,
        tile: &CopyTile,
    ) {
        each_unit(tile, |from, to| {
            let (slice, to) = destination.place(to);
            for step in 0..unit {
                let value = self.resize(load(source, from + step, self.src));
                store(slice, to + step, self.dst, value);
            }
        });
    }

    /// Copies contiguous units of at most a byte. If their width changes, they are unpacked to
    /// bytes, and packed again.
    fn runs(
        self,
        unit: usize,
        source: &[u8],
        destination: &mut DestinationSlices,
        tile: &CopyTile,
        (room, stream): (&mut UnpackBuffer, Option<&Stream>),
    ) {
        let per = 8 / self.dst as usize;
        each_unit(tile, |from, to| {
            let (slice, to) = destination.place(to);
            if self.src == self.dst {
                return move_units((source, from), (slice, to), unit, self.src);
            }
            // End the first group of units at a cache-line boundary, so that later groups are whole
            // lines.
            let gap = slice.as_ptr().addr().wrapping_add(to / per).wrapping_neg() % LINE;
            let (mut done, mut count) = (0, gap * per + RUN);
            while done < unit {
                count = count.min(unit - done);
                let (from, to) = (from + done, to + done);
                let values = if self.src == 8 && self.dst < 8 {
                    &source[from..from + count]
                } else {
                    room.spread.resize(count, 0);
                    self.unpack(source, from, &mut room.spread);
                    &room.spread
                };
                let bytes = count / per;
                let whole = to.is_multiple_of(per) && count.is_multiple_of(per);
                match stream.filter(|_| whole) {
                    Some(stream) if self.dst < 8 => {
                        room.turned.resize(bytes, 0);
                        pack(values, &mut room.turned, 0, self.dst);
                        stream.copy(&mut slice[to / per..][..bytes], &room.turned);
                    }
                    Some(stream) => stream.copy(&mut slice[to..to + count], values),
                    None => pack(values, slice, to, self.dst),
                }
                done += count;
                count = RUN;
            }
        });
    }

    /// Copies a tile whose rows are contiguous in the destination and whose columns are contiguous
    /// in the source, in units of the narrower of the two widths.
    ///
    /// Each column is first copied to the start of a line of a buffer. Then the units of each byte
    /// are exchanged between lines, so that a byte has units that are neighbours in a row. After
    /// that, bytes can be transposed.
    ///
    /// ```text
    /// units of 4 bits, lines of two columns:  a0 a1 | a2 a3 | …     a0 b0 | a2 b2 | …
    ///                                         b0 b1 | b2 b3 | …  →  a1 b1 | a3 b3 | …
    /// ```
    fn matrix(
        self,
        source: &[u8],
        destination: &mut DestinationSlices,
        (tile, next): (&CopyTile, Option<isize>),
        room: &mut UnpackBuffer,
        stream: Option<&Stream>,
    ) {
        let bits = self.src.min(self.dst);
        let per = (8 / bits) as usize;
        let (rows, columns) = (tile.rows.0.len(), tile.columns.0.len());
        // Packing bytes to lines first pays off only for large matrices of units of 1 or 2 bits.
        if self.src == 8 && (bits == 4 || rows.min(columns) < LINE) {
            return self.bytes_of_matrix(source, destination, tile, room);
        }
        let (groups, width) = (rows.div_ceil(per), columns.div_ceil(per));
        // Leave an additional cache line between the lines of the buffer, because long lines could
        // otherwise all map to one set of the cache.
        let pitch = match width {
            LINE.. => width.next_multiple_of(LINE) + LINE,
            _ => width.next_multiple_of(LINE / 2),
        };
        room.spread.resize(groups * per * pitch, 0);
        let lines = room.spread.chunks_exact_mut(pitch);
        for (line, row) in lines.zip(tile.rows.0) {
            let first = byte_index(tile.from + row);
            // Whole words are shifted faster than the bytes at the end of a line.
            let line = &mut line[..width.next_multiple_of(WORD_BYTES)];
            self.narrow(source, first, (line, columns), &mut room.bytes);
            // Prefetch the same line of the next tile.
            if let Some(next) = next {
                let first = byte_index(next + row) / (8 / self.src) as usize;
                let length = columns / (8 / self.src) as usize;
                (0..=length).step_by(LINE).for_each(|at| prefetch_byte(source, first + at));
            }
        }
        turn_units(&mut room.spread, (pitch, width), bits);
        // Byte `j` of line `k` of a group now has units of column `j * per + k`. Therefore list the
        // lines by `k` first, so that consecutive columns follow each other after bytes are
        // transposed.
        let reads: SmallVec<[isize; 512]> = (0..per)
            .flat_map(|number| (0..groups).map(move |group| group * per + number))
            .map(|line| (line * pitch).cast_signed())
            .collect();
        let joined = is_joined(tile);
        let apart = if joined { reads.len() } else { pitch_of(reads.len()) };
        room.turned.resize(width * apart + WORD_BYTES, 0);
        transpose_bytes((&room.spread, &reads), width, (&mut room.turned, apart));
        if joined {
            let (slice, to) = destination.place(tile.to + tile.columns.1[0]);
            let (units, whole) = (columns * rows, rows.is_multiple_of(per));
            if whole && self.dst == bits {
                return put(&room.turned, units, slice, to, bits);
            }
            if whole && self.dst == 8 && stream.is_none() {
                return self.unpack(&room.turned, 0, &mut slice[to..to + units]);
            }
            if self.dst == bits && groups <= SHORT_LINE {
                return put_lines((&room.turned, groups), (columns, rows), (slice, to), bits);
            }
        }
        let lines =
            room.turned.chunks_exact(apart).flat_map(|lines| lines.chunks_exact(groups).take(per));
        for (line, write) in lines.zip(tile.columns.1) {
            let (slice, to) = destination.place(tile.to + write);
            if self.dst == bits {
                put(line, rows, slice, to, bits);
                continue;
            }
            if self.dst == 8 && stream.is_none() {
                self.unpack(line, 0, &mut slice[to..to + rows]);
                continue;
            }
            room.bytes.resize(rows, 0);
            self.unpack(line, 0, &mut room.bytes);
            match stream {
                Some(stream) if self.dst == 8 => {
                    stream.copy(&mut slice[to..to + rows], &room.bytes);
                }
                _ => pack(&room.bytes, slice, to, self.dst),
            }
        }
    }

    /// Copies a tile whose source has a byte for each unit: transposes bytes, and packs lines.
    fn bytes_of_matrix(
        self,
        source: &[u8],
        destination: &mut DestinationSlices,
        tile: &CopyTile,
        room: &mut UnpackBuffer,
    ) {
        let rows = tile.rows.0.len();
        let part_columns = (RUN / rows).max(LINE);
        for (part, writes) in tile.columns.1.chunks(part_columns).enumerate() {
            let first = tile.from + (part * part_columns).cast_signed();
            let reads: SmallVec<[isize; 512]> = tile.rows.0.iter().map(|row| first + row).collect();
            let joined = is_joined(tile);
            let apart = if joined { rows } else { pitch_of(rows) };
            room.turned.resize(apart * writes.len(), 0);
            transpose_bytes((source, &reads), writes.len(), (&mut room.turned, apart));
            if joined {
                let (slice, to) = destination.place(tile.to + writes[0]);
                pack(&room.turned, slice, to, self.dst);
                continue;
            }
            for (line, write) in room.turned.chunks_exact(apart).zip(writes) {
                let (slice, to) = destination.place(tile.to + write);
                pack(&line[..rows], slice, to, self.dst);
            }
        }
    }

    /// Copies `count` units from unit `first` of the source to the start of `line`. In `line`,
    /// units have the narrower of the two widths.
    fn narrow(
        self,
        source: &[u8],
        first: usize,
        (line, count): (&mut [u8], usize),
        bytes: &mut Vec<u8>,
    ) {
        if self.src <= self.dst {
            return take(source, first, line, self.src);
        }
        if self.src == 8 {
            return pack(&source[first..first + count], line, 0, self.dst);
        }
        bytes.resize(count, 0);
        self.unpack(source, first, bytes);
        pack(bytes, line, 0, self.dst);
    }

    /// Copies units separately, from `S` bytes in the source to `D` bytes in the destination.
    fn bytes<const S: usize, const D: usize>(
        self,
        unit: usize,
        source: &[u8],
        destination: &mut DestinationSlices,
        tile: &CopyTile,
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

    /// Unpacks one unit for each byte of `out`, and extends or truncates it to the width of the
    /// destination.
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

    /// Unpacks `count` units as [`Self::unpack`] does. May also overwrite the bytes of `out` after
    /// them, up to a multiple of eight.
    pub(super) fn unpack_past(self, source: &[u8], first: usize, (out, count): (&mut [u8], usize)) {
        match self.src {
            1 => spread_past::<1, 8>(source, first, (out, count)),
            2 => spread_past::<2, 4>(source, first, (out, count)),
            4 => spread_past::<4, 2>(source, first, (out, count)),
            _ => out[..count].copy_from_slice(&source[first..first + count]),
        }
        if self.dst != self.src {
            for byte in &mut out[..count] {
                *byte = self.resize_byte(*byte);
            }
        }
    }

    /// Extends or truncates a unit of the source to the destination's width. Both widths are at
    /// most 8 bits.
    fn resize_byte(self, value: u8) -> u8 {
        let sign = u8::from(self.sign_extend) << (self.src - 1);
        (value ^ sign).wrapping_sub(sign) & u8::MAX >> (8 - self.dst)
    }

    /// Extends or truncates a unit of the source to the destination's width.
    pub(super) fn resize(self, value: u128) -> u128 {
        let sign = self.sign_extend && value >> (self.src - 1) & 1 == 1;
        let wide = self.dst > self.src;
        let value = if sign && wide { value | u128::MAX << self.src } else { value };
        value & u128::MAX >> (128 - self.dst)
    }
}

thread_local! {
    /// The buffers of this thread, which are kept for later copies because the first use of new
    /// memory takes longer than copying a tile.
    static BUFFERS: RefCell<UnpackBuffer> =
        const { RefCell::new(UnpackBuffer::new()) };
}

/// Buffers for one tile, before and after it is transposed, and for one line.
struct UnpackBuffer {
    spread: Vec<u8>,
    turned: Vec<u8>,
    /// The bytes of a run or of a line, one for each unit.
    bytes: Vec<u8>,
}

impl UnpackBuffer {
    const fn new() -> Self {
        Self { spread: Vec::new(), turned: Vec::new(), bytes: Vec::new() }
    }
}

/// Returns true if the rows of a tile are contiguous in the destination.
fn is_joined(tile: &CopyTile) -> bool {
    tile.steps[1].is_some_and(|(_, dst)| dst == tile.rows.0.len())
}

/// Returns the distance at which to place lines of `length` bytes, so that they do not all map to a
/// few sets of the first-level cache.
fn pitch_of(length: usize) -> usize {
    if length.is_multiple_of(4 * LINE) { length + LINE } else { length }
}

/// Transposes a matrix of bytes whose rows begin at the offsets `reads`, and writes its columns as
/// lines that are `pitch` bytes apart.
fn transpose_bytes(
    (from, reads): (&[u8], &[isize]),
    columns: usize,
    (to, pitch): (&mut [u8], usize),
) {
    if let Some(simd) = Simd::here() {
        let write: SmallVec<[isize; 512]> =
            (0..columns).map(|line| (line * pitch).cast_signed()).collect();
        if let Some(mut columns) = to.columns(0, &write, reads.len())
            && simd.transpose((1, None), (from, 0, reads), (&mut columns, 0))
        {
            return;
        }
    }
    transpose_bytes_plainly((from, reads), columns, (to, pitch));
}

/// Transposes bytes as [`transpose_bytes`] does, without instructions that must be detected at run
/// time.
fn transpose_bytes_plainly(
    (from, reads): (&[u8], &[isize]),
    columns: usize,
    (to, pitch): (&mut [u8], usize),
) {
    let rows = reads.len();
    let starts: SmallVec<[usize; 512]> = reads.iter().map(|&read| byte_index(read)).collect();
    let mut row = 0;
    while row < rows {
        let wide = row + 16 <= rows;
        let mut column = 0;
        while column < columns {
            if wide && column + 16 <= columns {
                let mut square = [[0; 16]; 16];
                for (line, start) in square.iter_mut().zip(&starts[row..]) {
                    line.copy_from_slice(&from[start + column..][..16]);
                }
                for (n, line) in transpose::<1, 16>(&square).iter().enumerate() {
                    let start = (column + n) * pitch + row;
                    to[start..start + 16].copy_from_slice(line);
                }
                column += 16;
            } else {
                let until = if wide { row + 16 } else { rows };
                (row..until).for_each(|row| to[column * pitch + row] = from[starts[row] + column]);
                column += 1;
            }
        }
        row = if wide { row + 16 } else { rows };
    }
}

/// Returns unit `index` of an image whose units have `bits` bits.
pub(super) fn load(image: &[u8], index: usize, bits: u32) -> u128 {
    if bits < 8 {
        return unit(image, index, bits).into();
    }
    let bytes = bits as usize / 8;
    let unit = &image[index * bytes..(index + 1) * bytes];
    unit.iter().rev().fold(0, |value, &byte| value << 8 | u128::from(byte))
}

/// Writes unit `index` of an image whose units have `bits` bits.
pub(super) fn store(image: &mut [u8], index: usize, bits: u32, value: u128) {
    let value = value.to_le_bytes();
    if bits < 8 {
        return pack(&value[..1], image, index, bits);
    }
    let bytes = bits as usize / 8;
    image[index * bytes..(index + 1) * bytes].copy_from_slice(&value[..bytes]);
}

#[cfg(test)]
mod tests {
    use super::{
        super::{machine::Machine, plan::Streams, plane::PlanAxis, stream::streaming},
        *,
    };

    /// Compares copies of matrices and of runs, with and without streaming, with copies unit by
    /// unit.
    #[test]
    fn units_below_a_byte_are_moved_past_the_caches_as_through_them() {
        let source: Vec<u8> = (0..40_000_u32).map(|n| ((n * 167) >> 3) as u8).collect();
        for (src, dst) in
            [1, 2, 4, 8].into_iter().flat_map(|src| [1, 2, 4, 8].map(|dst| (src, dst)))
        {
            for sign_extend in [false, true] {
                if (src, dst) == (8, 8) {
                    continue;
                }
                let bits = Bits { src, dst, sign_extend };
                for (rows, columns) in [(40, 64), (70, 136), (129, 96), (64, 33), (17, 1000)] {
                    let axis = |extent: usize, src: usize, dst: usize| PlanAxis {
                        extent,
                        src: src.cast_signed(),
                        dst: dst.cast_signed(),
                    };
                    let matrix = [axis(columns, 1, rows), axis(rows, columns, 1)];
                    let run = [axis(rows * columns, 1, 1)];
                    for axes in [&matrix[..], &run] {
                        check(bits, axes, &source, rows * columns);
                    }
                }
            }
        }
    }

    #[test]
    fn bytes_are_transposed_with_and_without_detected_instructions() {
        let source: Vec<u8> = (0..3000_u32).map(|n| ((n * 167) >> 3) as u8).collect();
        for (rows, columns) in [(1, 1), (15, 17), (16, 16), (33, 50), (48, 31)] {
            let (apart, pitch) = (columns + 5, pitch_of(rows));
            let reads: Vec<isize> = (0..rows).map(|row| (row * apart + 3).cast_signed()).collect();
            let mut expected = vec![0xa5; columns * pitch];
            for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |c| (row, c))) {
                expected[column * pitch + row] = source[row * apart + 3 + column];
            }
            for transpose in [transpose_bytes, transpose_bytes_plainly] {
                let mut out = vec![0xa5; columns * pitch];
                transpose((&source, &reads), columns, (&mut out, pitch));
                assert_eq!(out, expected, "{rows} by {columns}");
            }
        }
    }

    /// The shortest runs and matrices that are moved in whole bytes.
    #[test]
    fn long_runs_and_large_matrices_suit() {
        let axis = |extent: usize, src: usize, dst: usize| PlanAxis {
            extent,
            src: src.cast_signed(),
            dst: dst.cast_signed(),
        };
        let suits = |(src, dst), axes: &[PlanAxis]| {
            let streams = Streams::none(Machine::here());
            let plan = TilePlan::new(axes.iter().copied(), 1, None, streams);
            Bits { src, dst, sign_extend: false }.suits(&plan)
        };
        for bits in [1, 2, 4] {
            let units = LONG_RUN / bits as usize;
            let runs = |units| [axis(9, 5000, 6000), axis(units, 1, 1)];
            assert!(suits((bits, bits), &runs(units)) && suits((8, bits), &runs(units)), "{bits}");
            assert!(!suits((bits, bits), &runs(units - 1)), "{bits}");
            assert!(suits((bits, bits), &[axis(units - 1, 1, 1)]), "{bits}");
            let square = [axis(3, 1000, 9000), axis(3, 30_000, 3000), axis(units - 1, 1, 1)];
            assert!(!suits((bits, bits), &square), "{bits}");
        }
    }

    #[test]
    fn lines_are_not_multiples_of_256_bytes_apart() {
        assert_eq!([64, 255, 256, 512, 514].map(pitch_of), [64, 255, 320, 576, 514]);
    }

    fn check(bits: Bits, axes: &[PlanAxis], source: &[u8], units: usize) {
        let bytes = (units * bits.dst as usize).div_ceil(8);
        let mut expected = vec![0; bytes];
        for unit in 0..units {
            let (mut rest, mut from, mut to) = (unit, 8, 0);
            for axis in axes.iter().rev() {
                let step = rest % axis.extent;
                from += step * axis.src.unsigned_abs();
                to += step * axis.dst.unsigned_abs();
                rest /= axis.extent;
            }
            store(&mut expected, to, bits.dst, bits.resize(load(source, from, bits.src)));
        }
        let plan = TilePlan::new(axes.iter().copied(), 1, None, Streams::none(Machine::here()));
        let mut out = [vec![0; bytes], vec![0; bytes]];
        let [through, past] = &mut out;
        bits.copy(&plan, (source, 8), (&mut DestinationSlices::whole(through), 0), None);
        streaming(|stream| {
            bits.copy(&plan, (source, 8), (&mut DestinationSlices::whole(past), 0), Some(stream));
        });
        for out in out {
            assert_eq!(out, expected, "{bits:?} {axes:?}");
        }
    }
}
