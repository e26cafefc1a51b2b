//! Copies units that are smaller than a byte, or that have different widths on the two sides.
//!
//! A *unit* is the data that is moved at a time, an element of 4 bits for example. Units are
//! unpacked to one byte each, moved, and packed again, unless several of them can be moved together
//! in whole bytes.

use std::cell::RefCell;

use super::{
    box_copy::each_tile,
    micro::transpose,
    packed::{
        BAND, WORD_BYTES, band_bytes, move_units, pack, put, put_lines, spread, spread_past,
        turn_bands, unit,
    },
    pieces::{Destination as _, DestinationSlices},
    plan::TilePlan,
    simd::{INTERLEAVED_PAST, LINES_PAST, Simd},
    stream::{LINE, Stream},
    tile::{CopyTile, byte_index, each_unit},
};
use crate::nest::CopyNest;

/// The number of units that are unpacked or packed at a time.
const RUN: usize = 1 << 12;

/// The shortest run that is copied on its own, in bits. Starting a run takes 13 ns, so shorter ones
/// are unpacked to bytes, many at a time.
const LONG_RUN: usize = 1 << 9;

/// The approximate numbers of processor cycles for the parts of a copy of a matrix.
///
/// A unit is moved on its own. A line of the destination is put to its place, or unpacked to bytes.
/// A band of lines of the source is turned by itself, or all bands of one load are. A tile is
/// started. The ends of a line are the bytes that it shares with other lines. The costs of ends and
/// of loaded bands were measured on an Intel Xeon of model 207, the others on an AMD EPYC of family
/// 25.
const CYCLES_OF_UNIT: usize = 8;
const CYCLES_OF_LINE: usize = 5;
const CYCLES_OF_UNPACKED_LINE: usize = 100;
const CYCLES_OF_BAND: usize = 30;
const CYCLES_OF_LOADED_BANDS: usize = 8;
const CYCLES_OF_TILE: usize = 300;
const CYCLES_OF_ENDS: usize = 20;

/// The approximate number of processor cycles, times 64, for each byte of a [`RunField`]: to spread
/// a run to it, to transpose it and to collect the run again. It was measured on an Intel Xeon of
/// model 207.
const CYCLES_OF_FIELD_BYTES: usize = 50;

/// The approximate number of processor cycles, times 64, for a unit that takes a byte on the way.
pub(super) const CYCLES_OF_BYTES: usize = 32;

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

/// The place of a run of bits in the words of a buffer: 1, 2 or 4 whole bytes, of which the run
/// fills the low bits. Short runs of several units are transposed in fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RunField {
    /// The length of the run, in bits.
    run: usize,
    /// The number of fields in a word of eight bytes.
    in_word: usize,
}

impl RunField {
    /// Returns the shortest field for runs of `run` bits. All runs of a word are taken from eight
    /// bytes of the source, in which the first can begin at any bit of the first byte. Returns
    /// `None` for runs of more than 28 bits, which are not faster in fields.
    fn of(run: usize) -> Option<Self> {
        let fits = |&in_word: &usize| run <= 64 / in_word && in_word * run <= 57;
        [8, 4, 2].into_iter().find(fits).map(|in_word| Self { run, in_word })
    }

    /// Returns the length of the field, in bytes.
    fn bytes(self) -> usize {
        8 / self.in_word
    }

    /// Returns the bits of a word that belong to runs.
    fn mask(self) -> u64 {
        let run = u64::MAX >> (64 - self.run);
        (0..self.in_word).fold(0, |mask, field| mask | run << (field * 64 / self.in_word))
    }
}

impl Bits {
    /// Returns the widths of the units of a nest.
    pub(super) fn of(nest: &CopyNest) -> Self {
        Self { src: nest.src_bits(), dst: nest.dst_bits(), sign_extend: nest.sign_extend() }
    }

    /// Returns the number of units of the destination in a byte. There is at least one if
    /// [`Self::is_packed`] is true.
    pub(super) fn lanes(self) -> usize {
        8 / self.dst as usize
    }

    /// Returns true if units have at most 8 bits on both sides.
    pub(super) fn is_packed(self) -> bool {
        self.src.max(self.dst) <= 8
    }

    /// Returns the bits of a byte in which a unit of the source and one of the destination begin.
    pub(super) fn first_bits(self, (from, to): (isize, isize)) -> (usize, usize) {
        let bit = |unit: isize, bits: u32| (unit << bits.ilog2()).rem_euclid(8).cast_unsigned();
        (bit(from, self.src), bit(to, self.dst))
    }

    /// Returns true if `plan` moves long runs of units, or all units as one run.
    pub(super) fn moves_runs(self, plan: &TilePlan) -> bool {
        let bits = self.src.min(self.dst) as usize;
        let single = plan.loops.is_empty() && plan.rows.dst.len() * plan.columns.src.len() == 1;
        plan.unit > 1 && (plan.unit * bits >= LONG_RUN || single)
    }

    /// Returns the field for the runs of a plan that moves several units at a time. Returns `None`
    /// if `simd` has no instructions for fields, or if the runs are too long for a field or change
    /// their width.
    fn field_of(self, plan: &TilePlan, simd: Option<Simd>) -> Option<RunField> {
        let moves = plan.unit > 1
            && plan.rows_touch
            && plan.columns_touch
            && plan.rows.dst.len() * plan.columns.src.len() > 1
            && self.src == self.dst;
        simd.filter(|simd| moves && simd.selects_bits())?;
        RunField::of(plan.unit * self.src as usize)
    }

    /// Returns the approximate number of processor cycles in which `plan` copies a unit, times 64.
    /// `simd` joins lines if it can.
    pub(super) fn cycles_of_matrix(self, plan: &TilePlan, simd: Option<Simd>) -> usize {
        let bits = self.src.min(self.dst) as usize;
        let (rows, columns) = (plan.rows.dst.len(), plan.columns.src.len());
        let field = self.field_of(plan, simd);
        if plan.unit > 1 && field.is_none() || !plan.rows_touch || !plan.columns_touch {
            return CYCLES_OF_UNIT * 64;
        }
        let whole_bytes = |units: &isize| (units * bits.cast_signed()) % 8 == 0;
        let line_bits = rows * plan.unit * bits;
        // A line that is joined to the next one, and one that is shifted on its own.
        let (joined_line, odd_line) = if simd.is_some_and(Simd::selects_bits) {
            let joined = if line_bits <= 64 { 2 } else { 10 + line_bits / 128 };
            // Short lines are joined in words only if they follow each other in the buffer.
            let joins = match joined_after(&plan.columns.dst, rows * plan.unit) {
                Some(period) => period == 1 || line_bits >= 64,
                None => false,
            };
            (joined, if joins { joined } else { joined + CYCLES_OF_ENDS })
        } else {
            (CYCLES_OF_UNPACKED_LINE, (6 + line_bits / 10).min(30 + line_bits / 32))
        };
        if let Some(field) = field {
            let of_fields = CYCLES_OF_FIELD_BYTES * field.bytes();
            return (of_fields + odd_line * 64 / rows + CYCLES_OF_TILE * 64 / (rows * columns))
                / plan.unit;
        }
        let together = simd.filter(|_| self.src as usize == bits).map_or(0, |simd| {
            let step = plan.rows.step.map(|(units, _)| units * bits);
            simd.bands_of_load((7, columns * bits), step)
        });
        let of_band = CYCLES_OF_LOADED_BANDS.checked_div(together).unwrap_or(CYCLES_OF_BAND);
        let of_bands = 4 * bits * rows.next_multiple_of(BAND) / rows;
        let (of_units, of_line) = match (self.src, self.dst) {
            (8, _) => (24, CYCLES_OF_LINE),
            (_, 8) if rows.is_multiple_of(BAND) => (of_bands + 8, CYCLES_OF_LINE),
            (_, 8) if plan.rows_join => (of_bands + 8, joined_line),
            (_, 8) => (of_bands + 8, CYCLES_OF_UNPACKED_LINE),
            (src, dst) if src != dst => (CYCLES_OF_BYTES, CYCLES_OF_LINE),
            _ if rows.is_multiple_of(BAND) && plan.columns.dst.iter().all(whole_bytes) => {
                (of_bands, CYCLES_OF_LINE)
            }
            _ => (of_bands, odd_line),
        };
        of_units
            + of_line * 64 / rows
            + of_band * 8 / columns
            + CYCLES_OF_TILE * 64 / (rows * columns)
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
                let simd = Simd::here();
                let field = simd.zip(self.field_of(plan, simd));
                each_tile(plan, from, to, &mut |tile| {
                    if let Some(field) = field {
                        return self.matrix_of_runs(field, source, destination, &tile, room);
                    }
                    if plan.unit > 1 {
                        return self.runs(plan.unit, source, destination, &tile, (room, stream));
                    }
                    if plan.rows_touch && plan.columns_touch {
                        self.matrix(source, destination, &tile, room, stream);
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
    /// The source is read in *bands* of eight lines. A line has the units of one row, in the order
    /// of the source. A band is turned into one piece of memory with the units of eight rows for
    /// each column ([`turn_bands`]). These are whole bytes, which are then transposed.
    ///
    /// ```text
    /// units of 4 bits, eight lines of two columns:  a0 b0 | a1 b1 | … | a7 b7
    /// the band:  a0 a1 … a7 | b0 b1 … b7, two columns of 4 bytes each
    /// ```
    fn matrix(
        self,
        source: &[u8],
        destination: &mut DestinationSlices,
        tile: &CopyTile,
        room: &mut UnpackBuffer,
        stream: Option<&Stream>,
    ) {
        let bits = self.src.min(self.dst);
        let unit = bits as usize;
        let per = 8 / unit;
        let (rows, columns) = (tile.rows.0.len(), tile.columns.0.len());
        // Packing bytes to lines first pays off only for large matrices of units of 1 or 2 bits.
        if self.src == 8 && (bits == 4 || rows.min(columns) < LINE) {
            return self.bytes_of_matrix(source, destination, tile, room);
        }
        let bands = rows.div_ceil(BAND);
        // Units of another width are first brought to the narrower one, line by line.
        let width = columns.div_ceil(per);
        let (lines, from, starts, step) = if self.src == bits {
            (source, tile.from, tile.rows.0, tile.steps[0].map(|(src, _)| src))
        } else {
            let pitch = width.next_multiple_of(WORD_BYTES) + 2 * WORD_BYTES;
            self.narrow_lines(source, tile, room, pitch);
            (&room.lines[..], 0, &room.starts[..], Some(pitch * per))
        };
        // Bands that are loaded at once are next to each other.
        let bands_of_load = Simd::here().map_or(0, |simd| {
            let start = byte_index((from + starts[0]) * bits.cast_signed() as isize) % 8;
            simd.bands_of_load((start, columns * unit), step.map(|units| units * unit))
        });
        let pitch = 64_usize.checked_div(bands_of_load).unwrap_or_else(|| band_bytes(width));
        grow(&mut room.spread, (bands - 1) * pitch + band_bytes(width));
        turn_bands((lines, from, starts, step), (&mut room.spread, pitch), columns, bits);
        let spread = &room.spread[..];
        let writes = tile.columns.1;
        let line = bands * unit;
        let joined = is_joined(tile, rows);
        // Short lines are put together in words, and others by transposing bytes.
        let short = line <= WORD_BYTES && (joined || line < WORD_BYTES);
        if !short && self.dst == bits && rows.is_multiple_of(BAND) {
            // The first bit of each line in the slice of the destination, if all are in one slice.
            let ends = [writes[0], writes[columns - 1]];
            let in_slice = |write: &isize| destination.same_slice(tile.to, tile.to + write);
            let same_slice = match tile.steps[1] {
                Some(_) => ends.iter().all(in_slice),
                None => writes.iter().all(in_slice),
            };
            if same_slice {
                let (slice, first) = destination.place(tile.to);
                let at = |write: &isize| (first.cast_signed() + write) << bits.ilog2();
                if writes.iter().fold(0, |bits, write| bits | at(write)) % 8 == 0 {
                    multiples(&mut room.bands, bands, pitch);
                    room.writes.clear();
                    room.writes.extend(writes.iter().map(|write| at(write) >> 3));
                    return transpose_units((spread, &room.bands), unit, (slice, &room.writes));
                }
            }
        }
        // Whole squares are transposed faster than those at the ends of a tile. The bytes after a
        // band have no meaning, and neither have the lines that they become.
        let edge = 16 / unit;
        let padded = columns.next_multiple_of(edge);
        let whole = joined && rows.is_multiple_of(BAND) && bands.is_multiple_of(edge);
        let apart = match (short, whole) {
            (true, _) => WORD_BYTES,
            (_, true) => line,
            _ => pitch_of(line.next_multiple_of(16)),
        };
        let bytes = (padded + INTERLEAVED_PAST) * apart + LINES_PAST;
        grow(&mut room.turned, bytes);
        let turned = &mut room.turned[..bytes];
        let interleaved = short
            && Simd::here().is_some_and(|simd| {
                simd.interleave_bands((spread, pitch, bands), unit, columns, turned)
            });
        if !interleaved {
            multiples(&mut room.starts, padded, apart);
            multiples(&mut room.bands, bands, pitch);
            // The first band fills up a last square. What it becomes is not used.
            if !short {
                room.bands.resize(bands.next_multiple_of(edge), 0);
            }
            transpose_units((spread, &room.bands), unit, (turned, &room.starts));
        }
        self.put_turned((room, apart), destination, (tile, rows), stream);
    }

    /// Copies a tile as [`Self::matrix`] does, but of runs of several units. Each run is spread to
    /// a [`RunField`] first, so that whole bytes are transposed, and then collected from it.
    ///
    /// ```text
    /// runs of 3 bits, fields of a byte:  aaabbbccc… → aaa00000 bbb00000 ccc00000 …
    /// ```
    fn matrix_of_runs(
        self,
        (simd, field): (Simd, RunField),
        source: &[u8],
        destination: &mut DestinationSlices,
        tile: &CopyTile,
        room: &mut UnpackBuffer,
    ) {
        let (bits, bytes) = (self.dst as usize, field.bytes());
        let (rows, columns) = (tile.rows.0.len(), tile.columns.0.len());
        let (words, mask) = (columns.div_ceil(field.in_word), field.mask());
        let pitch = pitch_of(words * WORD_BYTES);
        grow(&mut room.spread, rows * pitch);
        for (row, line) in tile.rows.0.iter().zip(room.spread.chunks_exact_mut(pitch)) {
            let start = byte_index(tile.from + row) * bits;
            let words = &mut line.as_chunks_mut().0[..words];
            let done = simd.deposit_bits((source, start), words, mask);
            debug_assert!(done, "a set without fields");
        }
        // A line has whole groups of eight words, which become whole bytes.
        let words = rows.div_ceil(field.in_word).next_multiple_of(BAND);
        let apart = pitch_of(words * WORD_BYTES);
        grow(&mut room.turned, columns * apart);
        multiples(&mut room.bands, rows, pitch);
        multiples(&mut room.starts, columns, apart);
        let turned = &mut room.turned[..columns * apart];
        transpose_units((&room.spread, &room.bands), bytes, (turned, &room.starts));
        let turned = turned.as_chunks_mut().0;
        let (groups, length) = (turned.len() / BAND, field.in_word * field.run);
        grow(&mut room.lines, groups * length + LINES_PAST);
        let done = simd.extract_bits(turned, mask)
            && simd.join_words(turned, groups, length, &mut room.lines);
        debug_assert!(done, "a set without fields");
        let line = groups / columns * length;
        std::mem::swap(&mut room.turned, &mut room.lines);
        let units = rows * field.run / bits;
        self.put_turned((room, line), destination, (tile, units), None);
    }

    /// Brings the units of a tile to the narrower of the two widths, line by line. The lines are
    /// written to the buffer `lines`, `pitch` bytes apart, and their first units to `starts`.
    fn narrow_lines(self, source: &[u8], tile: &CopyTile, room: &mut UnpackBuffer, pitch: usize) {
        let bits = self.src.min(self.dst);
        let per = 8 / bits as usize;
        let (rows, columns) = (tile.rows.0.len(), tile.columns.0.len());
        grow(&mut room.lines, rows * pitch + LINE);
        multiples(&mut room.starts, rows, pitch * per);
        let lines = (source, tile.from, tile.rows.0);
        let packed = self.src == 8
            && Simd::here().is_some_and(|simd| {
                simd.pack_lines(lines, (&mut room.lines, pitch), columns, bits)
            });
        if packed {
            return;
        }
        for (number, row) in tile.rows.0.iter().enumerate() {
            let line = &mut room.lines[number * pitch..][..columns.div_ceil(per)];
            let first = byte_index(tile.from + row);
            self.narrow(source, first, (line, columns), &mut room.bytes);
        }
    }

    /// Copies the lines of the buffer `turned`, which are `apart` bytes apart and have `rows` units
    /// each, to the destination of a tile.
    fn put_turned(
        self,
        (room, apart): (&mut UnpackBuffer, usize),
        destination: &mut DestinationSlices,
        (tile, rows): (&CopyTile, usize),
        stream: Option<&Stream>,
    ) {
        let bits = self.src.min(self.dst);
        let per = 8 / bits as usize;
        let writes = tile.columns.1;
        let turned = &mut room.turned[..];
        if is_joined(tile, rows) {
            let (slice, to) = destination.place(tile.to + writes[0]);
            let units = writes.len() * rows;
            if self.dst == bits {
                if apart * per == rows {
                    return put(turned, units, slice, to, bits);
                }
                return put_lines((turned, apart), (writes.len(), rows), (slice, to), bits);
            }
            if self.dst == 8 {
                let lines = if apart * per == rows {
                    turned
                } else {
                    grow(&mut room.lines, units.div_ceil(per));
                    put_lines((turned, apart), (writes.len(), rows), (&mut room.lines, 0), bits);
                    &mut room.lines
                };
                let to = &mut slice[to..to + units];
                let Some(stream) = stream else { return self.unpack(lines, 0, to) };
                // Each group of stores ends at a cache line.
                let head = (to.as_ptr().addr().wrapping_neg() % LINE).min(units);
                let (head, rest) = to.split_at_mut(head);
                self.unpack(lines, 0, head);
                for (number, to) in rest.chunks_mut(RUN).enumerate() {
                    room.bytes.resize(to.len(), 0);
                    self.unpack(lines, head.len() + number * RUN, &mut room.bytes);
                    stream.copy(to, &room.bytes);
                }
                return;
            }
        }
        // Between the first period and the last one, columns cannot leave the slice of both.
        let in_slice = |write: isize| destination.same_slice(tile.to + writes[0], tile.to + write);
        let all_in_slice = |period: usize| {
            let last = writes[writes.len() - period..].iter();
            let ends = last.map(|write| write + rows.cast_signed() - 1);
            writes[..period].iter().copied().chain(ends).all(in_slice)
        };
        if self.dst == bits
            && let Some(period) = joined_after(writes, rows)
            && writes.len() / period > BAND
            && all_in_slice(period)
        {
            for (first, write) in writes[..period].iter().enumerate() {
                let lines = (&mut turned[first * apart..], period * apart);
                let count = (writes.len() - first).div_ceil(period);
                put_lines(lines, (count, rows), destination.place(tile.to + write), bits);
            }
            return;
        }
        for (number, write) in writes.iter().enumerate() {
            let line = &turned[number * apart..];
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
            room.reads.clear();
            room.reads.extend(tile.rows.0.iter().map(|row| first + row));
            let joined = is_joined(tile, rows);
            let apart = if joined { rows } else { pitch_of(rows) };
            grow(&mut room.turned, apart * writes.len());
            let turned = &mut room.turned[..apart * writes.len()];
            room.writes.clear();
            room.writes.extend((0..writes.len()).map(|column| (column * apart).cast_signed()));
            transpose_units((source, &room.reads), 1, (turned, &room.writes));
            if joined {
                let (slice, to) = destination.place(tile.to + writes[0]);
                pack(turned, slice, to, self.dst);
                continue;
            }
            for (line, write) in turned.chunks_exact(apart).zip(writes) {
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
    /// The lines of a tile after they are brought to another width, or after their runs are
    /// collected, and the first unit of each.
    lines: Vec<u8>,
    starts: Vec<isize>,
    /// The offset of each band.
    bands: Vec<isize>,
    /// The offsets of lines that are transposed, and of the lines that they become.
    reads: Vec<isize>,
    writes: Vec<isize>,
}

impl UnpackBuffer {
    const fn new() -> Self {
        Self {
            spread: Vec::new(),
            turned: Vec::new(),
            bytes: Vec::new(),
            lines: Vec::new(),
            starts: Vec::new(),
            bands: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
        }
    }
}

/// Makes a buffer at least `length` bytes long. A longer one stays as it is.
fn grow(buffer: &mut Vec<u8>, length: usize) {
    if buffer.len() < length {
        buffer.resize(length, 0);
    }
}

/// Makes `list` the first `count` multiples of `step`, if it is not yet. The list must have been
/// made by this function before, perhaps with zeros after the multiples.
fn multiples(list: &mut Vec<isize>, count: usize, step: usize) {
    let last = ((count - 1) * step).cast_signed();
    if list.len() != count || list.last() != Some(&last) {
        list.clear();
        list.extend((0..count).map(|number| (number * step).cast_signed()));
    }
}

/// Returns true if the rows of a tile, of `units` units each, are contiguous in the destination.
fn is_joined(tile: &CopyTile, units: usize) -> bool {
    tile.steps[1].is_some_and(|(_, dst)| dst == units)
}

/// Returns the number of columns after which a column follows on the one before, so that their
/// rows, of `rows` units each, are contiguous in the destination. `writes` are the places of the
/// columns. Returns `None` if there is no such number for all columns.
///
/// ```text
/// columns at 0 300 600 4 304 604 8 308 608, rows of 4 units: 3
/// ```
fn joined_after(writes: &[isize], rows: usize) -> Option<usize> {
    let rows = rows.cast_signed();
    let period = writes.iter().position(|write| write - writes[0] == rows)?;
    let mut pairs = writes.iter().zip(&writes[period..]);
    pairs.all(|(before, after)| after - before == rows).then_some(period)
}

/// Returns the distance at which to place lines of `length` bytes, so that they do not all map to a
/// few sets of the first-level cache.
fn pitch_of(length: usize) -> usize {
    if length.is_multiple_of(4 * LINE) { length + LINE } else { length }
}

/// Transposes a matrix of units of 1, 2 or 4 bytes. Its rows begin at the bytes `reads`, and its
/// columns are written to the bytes `writes`.
fn transpose_units(
    (from, reads): (&[u8], &[isize]),
    unit: usize,
    (to, writes): (&mut [u8], &[isize]),
) {
    if let Some(simd) = Simd::here()
        && let Some(columns) = &mut to.columns(0, writes, reads.len() * unit)
        && simd.transpose((unit, None), (from, 0, reads), (columns, 0))
    {
        return;
    }
    match unit {
        1 => transpose_plainly::<1, 16>((from, reads), (to, writes)),
        2 => transpose_plainly::<2, 8>((from, reads), (to, writes)),
        _ => transpose_plainly::<4, 4>((from, reads), (to, writes)),
    }
}

/// Transposes units of `N` bytes, `E` in 16 bytes, as [`transpose_units`] does, without
/// instructions that must be detected at run time.
fn transpose_plainly<const N: usize, const E: usize>(
    (from, reads): (&[u8], &[isize]),
    (to, writes): (&mut [u8], &[isize]),
) {
    for (band, reads) in reads.chunks(E).enumerate() {
        for (part, writes) in writes.chunks(E).enumerate() {
            let from_column = |read: &isize| byte_index(*read) + part * 16;
            let to_row = |write: &isize| byte_index(*write) + band * 16;
            if reads.len() == E && writes.len() == E {
                let mut square = [[0; 16]; E];
                for (line, read) in square.iter_mut().zip(reads) {
                    line.copy_from_slice(&from[from_column(read)..][..16]);
                }
                for (line, write) in transpose::<N, E>(&square).iter().zip(writes) {
                    to[to_row(write)..][..16].copy_from_slice(line);
                }
                continue;
            }
            for (row, read) in reads.iter().enumerate() {
                for (column, write) in writes.iter().enumerate() {
                    let unit = &from[from_column(read) + column * N..][..N];
                    to[to_row(write) + row * N..][..N].copy_from_slice(unit);
                }
            }
        }
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

    fn axis(extent: usize, src: usize, dst: usize) -> PlanAxis {
        PlanAxis { extent, src: src.cast_signed(), dst: dst.cast_signed() }
    }

    fn matrix(rows: usize, columns: usize) -> [PlanAxis; 2] {
        [axis(columns, 1, rows), axis(rows, columns, 1)]
    }

    /// The offsets of the second matrix have the number and the last one of those of the first.
    #[test]
    fn offsets_of_another_matrix_are_not_kept() {
        let source: Vec<u8> = (0..9000_u32).map(|n| ((n * 167) >> 3) as u8).collect();
        let of = |src, dst| Bits { src, dst, sign_extend: false };
        check(of(8, 4), &matrix(9, 447), &source, 9 * 447);
        check(of(4, 4), &matrix(72, 96), &source, 72 * 96);
    }

    /// Runs of every length that fields can have, and longer ones, in matrices whose rows are
    /// joined or lie apart.
    #[test]
    fn runs_of_bits_are_transposed() {
        let source: Vec<u8> = (0..40_000_u32).map(|n| ((n * 167) >> 3) as u8).collect();
        for (bits, run) in [1, 2, 4].into_iter().flat_map(|bits| (2..60).map(move |n| (bits, n))) {
            let of = Bits { src: bits, dst: bits, sign_extend: false };
            for (rows, columns) in [(3, 5), (17, 9), (64, 20), (70, 3), (8, 64)] {
                for gap in [0, 3] {
                    let line = rows * run + gap;
                    let axes =
                        [axis(columns, run, line), axis(rows, columns * run, run), axis(run, 1, 1)];
                    check(of, &axes, &source, columns * line);
                }
            }
        }
    }

    /// Matrices that are cut into tiles in both directions.
    #[test]
    fn several_tiles_of_bits_are_moved() {
        let source: Vec<u8> = (0..700_000_u32).map(|n| ((n * 167) >> 3) as u8).collect();
        for (bits, run, rows, columns) in [(1, 1, 5000, 900), (2, 3, 1100, 410), (4, 1, 4200, 310)]
        {
            let axes =
                [axis(columns, run, rows * run), axis(rows, columns * run, run), axis(run, 1, 1)];
            let of = Bits { src: bits, dst: bits, sign_extend: false };
            check(of, &axes, &source, rows * columns * run);
        }
    }

    #[test]
    fn fields_contain_runs_that_begin_anywhere_in_a_byte() {
        let places = |run| RunField::of(run).map(|field| (field.in_word, field.bytes()));
        let of = [(8, 1), (8, 1), (4, 2), (4, 2), (2, 4), (2, 4)].map(Some);
        assert_eq!([3, 7, 8, 14, 15, 28].map(places), of);
        assert_eq!(places(29), None);
        assert_eq!(RunField::of(3).map(RunField::mask), Some(0x0707_0707_0707_0707));
        assert_eq!(RunField::of(28).map(RunField::mask), Some(0x0fff_ffff_0fff_ffff));
    }

    #[test]
    fn columns_that_follow_on_others_are_joined() {
        let places = [0, 300, 600, 4, 304, 604, 8, 308, 608];
        assert_eq!(joined_after(&places, 4), Some(3));
        assert_eq!(joined_after(&places[..8], 4), Some(3));
        assert_eq!(joined_after(&places, 3), None);
        assert_eq!(joined_after(&[0, 4, 8, 13], 4), None);
        assert_eq!(joined_after(&[0], 4), None);
        // Three planes, whose units alternate in the source.
        let source: Vec<u8> = (0..9000_u32).map(|n| ((n * 167) >> 3) as u8).collect();
        for (bits, rows) in [1, 2, 4].into_iter().flat_map(|bits| [5, 70, 99].map(|n| (bits, n))) {
            let axes = [axis(20, 3, rows), axis(3, 1, 20 * rows), axis(rows, 60, 1)];
            check(Bits { src: bits, dst: bits, sign_extend: false }, &axes, &source, 60 * rows);
        }
    }

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
                for (rows, columns) in
                    [(40, 64), (70, 136), (129, 96), (64, 33), (17, 1000), (5, 700), (12, 333)]
                {
                    let run = [axis(rows * columns, 1, 1)];
                    for axes in [&matrix(rows, columns)[..], &run] {
                        check(bits, axes, &source, rows * columns);
                    }
                }
            }
        }
    }

    #[test]
    fn units_are_transposed_with_and_without_detected_instructions() {
        let source: Vec<u8> = (0..9000_u32).map(|n| ((n * 167) >> 3) as u8).collect();
        for unit in [1, 2, 4] {
            for (rows, columns) in [(1, 1), (15, 17), (16, 16), (33, 50), (48, 31), (3, 40)] {
                let (apart, pitch) = (columns * unit + 5, pitch_of(rows * unit));
                let at =
                    |row: usize, apart: usize, first: usize| (row * apart + first).cast_signed();
                let reads: Vec<isize> = (0..rows).map(|row| at(row, apart, 3)).collect();
                let writes: Vec<isize> = (0..columns).map(|column| at(column, pitch, 0)).collect();
                let mut expected = vec![0xa5; columns * pitch];
                for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |c| (row, c))) {
                    expected[column * pitch + row * unit..][..unit]
                        .copy_from_slice(&source[row * apart + 3 + column * unit..][..unit]);
                }
                let mut out = vec![0xa5; columns * pitch];
                transpose_units((&source, &reads), unit, (&mut out, &writes));
                assert_eq!(out, expected, "{unit}: {rows} by {columns}");
                let mut out = vec![0xa5; columns * pitch];
                match unit {
                    1 => transpose_plainly::<1, 16>((&source, &reads), (&mut out, &writes)),
                    2 => transpose_plainly::<2, 8>((&source, &reads), (&mut out, &writes)),
                    _ => transpose_plainly::<4, 4>((&source, &reads), (&mut out, &writes)),
                }
                assert_eq!(out, expected, "{unit}: {rows} by {columns}");
            }
        }
    }

    /// The shortest runs that are moved on their own, and matrices that cost more because they are
    /// narrow.
    #[test]
    fn long_runs_and_large_matrices_cost_little() {
        let plan = |axes: &[PlanAxis]| {
            let streams = Streams::none(Machine::here());
            TilePlan::new(axes.iter().copied(), 1, None, streams)
        };
        for bits in [1, 2, 4] {
            let of = |src, dst| Bits { src, dst, sign_extend: false };
            let units = LONG_RUN / bits as usize;
            let runs = |units| plan(&[axis(9, 5000, 6000), axis(units, 1, 1)]);
            assert!(of(bits, bits).moves_runs(&runs(units)), "{bits}");
            assert!(of(8, bits).moves_runs(&runs(units)), "{bits}");
            assert!(!of(bits, bits).moves_runs(&runs(units - 1)), "{bits}");
            assert!(of(bits, bits).moves_runs(&plan(&[axis(units - 1, 1, 1)])), "{bits}");
            let cycles = |rows, columns| {
                let plan = plan(&[axis(columns, 1, rows), axis(rows, columns, 1)]);
                of(bits, bits).cycles_of_matrix(&plan, None)
            };
            assert!(cycles(512, 512) < 5 * bits as usize, "{bits}");
            assert!(cycles(512, 20) > cycles(512, 512), "{bits}");
            assert!(cycles(20, 512) > cycles(512, 512), "{bits}");
            let of_runs = of(bits, bits).cycles_of_matrix(&runs(9), None);
            assert_eq!(of_runs, CYCLES_OF_UNIT * 64, "{bits}");
        }
    }

    #[test]
    fn lines_are_not_multiples_of_256_bytes_apart() {
        assert_eq!([64, 255, 256, 512, 514].map(pitch_of), [64, 255, 320, 576, 514]);
    }

    fn check(bits: Bits, axes: &[PlanAxis], source: &[u8], units: usize) {
        let bytes = (units * bits.dst as usize).div_ceil(8);
        let mut expected = vec![0xa5; bytes];
        for unit in 0..axes.iter().map(|axis| axis.extent).product() {
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
        let mut out = [vec![0xa5; bytes], vec![0xa5; bytes]];
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
