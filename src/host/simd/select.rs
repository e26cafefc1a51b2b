//! Fills rows with bytes selected from a few loads, by the shuffle instructions of the processor.
//!
//! A shuffle takes a register and a table, and returns a register whose byte `n` is the byte at
//! index `table[n]`. For example, three shuffles, whose results are combined, interleave planes of
//! red, green and blue to pixels. Each load of such a combination, with its table, is a *term*.
#![allow(unsafe_code)] // Register loads take pointers.
#![cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64")),
    allow(unused, unreachable_patterns) // There is no instruction set, and nothing to call.
)]

use wide::u64x8;

#[cfg(target_arch = "aarch64")]
use super::neon;
#[cfg(target_arch = "x86_64")]
use super::x86;
use super::{
    super::stream::{LINE, Stream},
    set::{Set, Simd},
};

/// The least table entry that is no index: the load does not provide this byte of the register.
pub(in crate::host) const NO_BYTE: u8 = 0x80;

/// Calls a function with the number of terms as a constant if it is at most four, so that the loop
/// over the terms is unrolled.
macro_rules! by_terms {
    ($module:ident::$function:ident, $of:expr, $start:expr, $row:expr, $ahead:expr) => {
        match $of.terms {
            1 => $module::$function::<1, STREAM>($of, $start, $row, $ahead),
            2 => $module::$function::<2, STREAM>($of, $start, $row, $ahead),
            3 => $module::$function::<3, STREAM>($of, $start, $row, $ahead),
            4 => $module::$function::<4, STREAM>($of, $start, $row, $ahead),
            _ => $module::$function::<MANY, STREAM>($of, $start, $row, $ahead),
        }
    };
}

/// The prefetch distance, in bytes of the source. Hardware prefetchers miss rows that are read
/// backwards, and do not cross into the next page. A copy of mirrored pixels has 0.52 of the rate
/// of memcpy with a distance of 4 KiB, and 0.31 without prefetches. With 1 KiB and 8 KiB, the rate
/// is between these two (`benches/NOTES.md`, "Shuffles, weaves and small copies").
const SELECTION_PREFETCH_SRC_BYTES: isize = 1 << 12;

/// The loads and shuffle tables that fill the registers of a row.
///
/// A selection describes one *period*, a few registers of the row. A longer row repeats the period;
/// each repetition reads `advance` bytes further in the source.
#[derive(Clone, Debug)]
pub(in crate::host) struct Selection {
    simd: Simd,
    /// The number of loads combined into each register of the row.
    pub(super) terms: usize,
    /// The number of registers of a period.
    pub(super) registers: usize,
    /// The offset of each load from the start of the period, in bytes: the first load of every
    /// register, then the second load of every register, and so on.
    pub(super) loads: Vec<isize>,
    /// The shuffle table of each load, in the order of `loads`. For each byte of the register it
    /// has the index of a byte of the load, or a value of at least [`NO_BYTE`] if another load
    /// provides that byte. Tables are aligned to cache lines, so that none crosses a line.
    places: Vec<u64x8>,
    /// The range of bytes that the loads of a period read, relative to the start of the period; the
    /// end is exclusive.
    reach: (isize, isize),
    /// The distance in the source from one period to the next, in bytes; negative if the row is
    /// read backwards.
    pub(super) advance: isize,
    /// True if all registers of a period use the same loads, with different tables.
    pub(super) shares_loads: bool,
    /// The prefetch distance, in bytes, inside a row; negative if the row is read backwards.
    ahead: isize,
}

impl Selection {
    /// Returns a selection whose period has `registers` registers. `loads`, `places` and `advance`
    /// become the fields of the same names.
    ///
    /// # Panics
    ///
    /// Panics if there are no loads, if registers have different numbers of loads, if `places` does
    /// not have one byte for each byte of every load, or if `registers` is not a multiple of
    /// [`Simd::registers_at_once`].
    pub(in crate::host) fn new(
        simd: Simd,
        registers: usize,
        loads: Vec<isize>,
        mut places: Vec<u8>,
        advance: isize,
    ) -> Self {
        let width = simd.width();
        // If a load does not contain a byte, the register keeps the byte from the loads before.
        for (byte, place) in places.iter_mut().enumerate().filter(|(_, place)| **place >= NO_BYTE) {
            *place = NO_BYTE | 64 | (byte % width) as u8;
        }
        let terms = loads.len() / registers;
        assert!(terms > 0 && loads.len() == terms * registers, "{} loads", loads.len());
        assert_eq!(places.len(), loads.len() * width);
        assert!(registers.is_multiple_of(simd.registers_at_once()));
        let (low, high) = loads
            .iter()
            .fold((isize::MAX, isize::MIN), |(low, high), &load| (low.min(load), high.max(load)));
        let reach = (low, high + width.cast_signed());
        let ahead = advance.signum() * SELECTION_PREFETCH_SRC_BYTES;
        let shares_loads =
            loads.chunks_exact(registers).all(|of| of.iter().all(|load| *load == of[0]));
        let all = places;
        let mut places = vec![u64x8::ZERO; all.len().div_ceil(LINE)];
        bytemuck::cast_slice_mut(&mut places)[..all.len()].copy_from_slice(&all);
        Self { simd, terms, registers, loads, places, reach, advance, shares_loads, ahead }
    }

    /// Returns the number of loads from which each register is filled.
    pub(in crate::host) fn terms(&self) -> usize {
        self.terms
    }

    /// Returns the memory that the selection's offsets and tables take, in bytes.
    pub(in crate::host) fn bytes(&self) -> usize {
        size_of_val(&self.loads[..]) + size_of_val(&self.places[..])
    }

    /// Returns the shuffle tables as bytes, in the order of the loads.
    pub(super) fn places(&self) -> &[u8] {
        bytemuck::cast_slice(&self.places)
    }

    /// Fills `row`; its first period is read from byte `from` of the source. `next` is the source
    /// offset of the row that follows; its cache lines are prefetched while this row finishes. The
    /// row is written with non-temporal stores if there is a `stream` and the row begins at a
    /// cache-line boundary.
    pub(in crate::host) fn fill(
        &self,
        source: &[u8],
        (from, next): (isize, Option<isize>),
        row: &mut [u8],
        stream: Option<&Stream>,
    ) {
        let stream = stream.is_some() && row.as_ptr().addr().is_multiple_of(LINE);
        let period = self.registers * self.simd.width();
        let count = row.len().div_ceil(period);
        let moved = |number: usize| from + number.cast_signed() * self.advance;
        let fits = |number: usize| {
            let (low, end) = (moved(number) + self.reach.0, moved(number) + self.reach.1);
            low >= 0 && end <= source.len().cast_signed()
        };
        // Periods whose loads lie inside the source are consecutive.
        let first = (0..count).find(|&number| fits(number)).unwrap_or(count);
        let end = (first..count).rfind(|&number| fits(number)).map_or(first, |last| last + 1);
        let (before, rest) = row.split_at_mut((first * period).min(row.len()));
        let (inside, after) = rest.split_at_mut(((end - first) * period).min(rest.len()));
        self.fill_at_ends(source, from, before);
        let (near_end, to_next) = self.ahead_of_end(from, next, count);
        let near_end = near_end.clamp(first, end);
        let (most, last) = inside.split_at_mut(((near_end - first) * period).min(inside.len()));
        for (first, periods, ahead) in [(first, most, self.ahead), (near_end, last, to_next)] {
            if periods.is_empty() {
                continue;
            }
            let start = source.as_ptr().wrapping_offset(moved(first));
            // SAFETY: the loads of the first and of the last period lie inside the source, so that
            // those between them do too; there is a start for each load. A period has whole
            // registers, so that those of a row that begins with a line are aligned.
            unsafe {
                let load = |load: usize| start.wrapping_offset(*self.loads.get_unchecked(load));
                self.periods(load, periods, stream, ahead);
            }
        }
        self.fill_at_ends(source, moved(end), after);
    }

    /// Returns the first of `count` periods that prefetches lines of the next row, and the prefetch
    /// distance from that period on. The next row is read from byte `next`. If there is no next
    /// row, or if it continues this row, the first result is `count`, because no period prefetches
    /// another row. The distance is one row if a row is shorter than
    /// [`SELECTION_PREFETCH_SRC_BYTES`].
    fn ahead_of_end(&self, from: isize, next: Option<isize>, count: usize) -> (usize, isize) {
        let length = count.cast_signed() * self.advance;
        let Some(next) = next.filter(|&next| next != from + length) else {
            return (count, self.ahead);
        };
        if length.abs() <= SELECTION_PREFETCH_SRC_BYTES
            || self.advance.abs() > SELECTION_PREFETCH_SRC_BYTES
        {
            return (0, next - from);
        }
        let last =
            SELECTION_PREFETCH_SRC_BYTES.unsigned_abs().div_ceil(self.advance.unsigned_abs());
        (count - last.min(count), self.ahead + next - (from + length))
    }

    /// Fills `row` period by period. All of its loads must lie inside the source. `start` returns
    /// the address of each load of the first period, and `ahead` is the prefetch distance.
    ///
    /// # Safety
    ///
    /// Every load may be read; a row that is streamed begins with a cache line or a whole number of
    /// registers after one.
    unsafe fn periods(
        &self,
        start: impl Fn(usize) -> *const u8,
        row: &mut [u8],
        stream: bool,
        ahead: isize,
    ) {
        // SAFETY: the called functions have the same requirements as this one.
        unsafe {
            if stream {
                self.periods_by_set::<true>(start, row, ahead);
            } else {
                self.periods_by_set::<false>(start, row, ahead);
            }
        }
    }

    /// Calls the function that was compiled for the instruction set, with or without non-temporal
    /// stores.
    ///
    /// # Safety
    ///
    /// As for [`Self::periods`].
    unsafe fn periods_by_set<const STREAM: bool>(
        &self,
        start: impl Fn(usize) -> *const u8,
        row: &mut [u8],
        ahead: isize,
    ) {
        // SAFETY: the set was found on this processor, and the caller guarantees the loads and the
        // row.
        unsafe {
            match self.simd.set {
                #[cfg(target_arch = "x86_64")]
                Set::Ssse3 => by_terms!(x86::ssse3, self, start, row, ahead),
                #[cfg(target_arch = "x86_64")]
                Set::Avx2 => by_terms!(x86::avx2, self, start, row, ahead),
                #[cfg(target_arch = "x86_64")]
                Set::Avx512Vbmi => by_terms!(x86::avx512_vbmi, self, start, row, ahead),
                #[cfg(target_arch = "aarch64")]
                Set::Neon => by_terms!(neon::neon, self, start, row, ahead),
            }
        }
    }

    /// Fills periods near the ends of the source, where a load of a whole register could read past
    /// them. The bytes of each load that lie inside the source are first copied to a buffer.
    fn fill_at_ends(&self, source: &[u8], mut from: isize, row: &mut [u8]) {
        let width = self.simd.width();
        let mut buffer = vec![0; if row.is_empty() { 0 } else { self.loads.len() * width }];
        for period in row.chunks_mut(self.registers * width) {
            let used = period.len().div_ceil(width);
            let loads = self.loads.iter().zip(buffer.chunks_exact_mut(width)).enumerate();
            for (_, (load, bytes)) in loads.filter(|(load, _)| load % self.registers < used) {
                let start = from + load;
                let skipped = start.min(0).unsigned_abs().min(width);
                let inside = source.get(start.max(0).cast_unsigned()..).unwrap_or_default();
                let length = inside.len().min(width - skipped);
                bytes[skipped..skipped + length].copy_from_slice(&inside[..length]);
            }
            let load = |load: usize| buffer.as_ptr().wrapping_add(load * width);
            // SAFETY: the buffer has a whole register for each load, and `period` is one period.
            unsafe { self.periods(load, period, false, 0) };
            from += self.advance;
        }
    }
}

/// The value of the constant parameter `TERMS` for functions that read the number of terms at run
/// time.
pub(super) const MANY: usize = 0;

/// The number of loads, and the number of registers, in a period for which there is a special loop.
/// All registers of such a period share the loads. The usual case is interleaving three channels to
/// pixels.
pub(in crate::host) const TRIPLE: usize = 3;

/// Defines a function that fills a row with one instruction set. It makes `$registers` registers of
/// `$width` bytes at a time; `$term` combines the bytes of one load with those of earlier loads.
///
/// The defined function is safe to call if the processor has the features, if every load of every
/// period of `row` may be read, and if `start` returns the start of each load of the first period.
/// A row that is written with non-temporal stores must begin at a multiple of the bytes that are
/// stored at a time.
macro_rules! select {
    ($name:ident, $features:literal, $registers:literal, $width:literal, $zero:expr, $term:ident, $store:ident, $stream:ident) => {
        #[target_feature(enable = $features)]
        pub(super) unsafe fn $name<const TERMS: usize, const STREAM: bool>(
            of: &Selection,
            start: impl Fn(usize) -> *const u8,
            row: &mut [u8],
            to_ahead: isize,
        ) {
            const BYTES: usize = $registers * $width;
            let terms = if TERMS == MANY { of.terms } else { TERMS };
            let period = of.registers * $width;
            let (whole, rest) = row.split_at_mut(row.len() / period * period);
            let mut moved = 0;
            if of.registers == $registers && TERMS != MANY {
                // The starts and tables of the loads stay in registers.
                let mut starts = [[std::ptr::null(); $registers]; TERMS];
                let mut tables = [[0; BYTES]; TERMS];
                for (load, start_of) in starts.as_flattened_mut().iter_mut().enumerate() {
                    *start_of = start(load);
                }
                tables.as_flattened_mut().copy_from_slice(&of.places()[..TERMS * BYTES]);
                for to in whole.as_chunks_mut::<BYTES>().0 {
                    let mut bytes = $zero;
                    for (starts, table) in starts.iter().zip(&tables) {
                        // SAFETY: the caller guarantees that every load may be read, and each load
                        // has a table.
                        bytes = unsafe {
                            let at = |number: usize| starts[number].wrapping_offset(moved);
                            prefetch(at(0).wrapping_offset(to_ahead));
                            $term(bytes, at, table.as_ptr())
                        };
                    }
                    if STREAM {
                        // SAFETY: registers of a row that is streamed are aligned.
                        unsafe { $stream(to.as_mut_ptr(), bytes) };
                    } else {
                        $store(to, bytes);
                    }
                    moved += of.advance;
                }
            } else if of.shares_loads && of.registers == TRIPLE * $registers && TERMS == TRIPLE {
                // Pixels of three planes: three loads serve three registers, and the tables stay in
                // other registers.
                let mut tables = [[[0; BYTES]; TRIPLE]; TRIPLE];
                tables
                    .as_flattened_mut()
                    .as_flattened_mut()
                    .copy_from_slice(&of.places()[..TRIPLE * TRIPLE * BYTES]);
                let starts: [_; TRIPLE] = std::array::from_fn(|term| start(term * of.registers));
                for to in whole.as_chunks_mut::<BYTES>().0.as_chunks_mut::<TRIPLE>().0 {
                    let mut bytes = [$zero; TRIPLE];
                    for (start, tables) in starts.iter().zip(&tables) {
                        let start = start.wrapping_offset(moved);
                        prefetch(start.wrapping_offset(to_ahead));
                        for (bytes, table) in bytes.iter_mut().zip(tables) {
                            // SAFETY: the caller guarantees that every load may be read, and each
                            // load has a table.
                            *bytes = unsafe { $term(*bytes, |_| start, table.as_ptr()) };
                        }
                    }
                    for (to, bytes) in to.iter_mut().zip(bytes) {
                        if STREAM {
                            // SAFETY: registers of a row that is streamed are aligned.
                            unsafe { $stream(to.as_mut_ptr(), bytes) };
                        } else {
                            $store(to, bytes);
                        }
                    }
                    moved += of.advance;
                }
            } else {
                for registers in whole.chunks_exact_mut(period) {
                    let registers = registers.as_chunks_mut::<BYTES>().0;
                    for (number, to) in registers.iter_mut().enumerate() {
                        let mut bytes = $zero;
                        for term in 0..terms {
                            let load = term * of.registers + number * $registers;
                            // SAFETY: `Selection::new` saw a load and its places for every term and
                            // register; a set that makes several registers at once has a multiple
                            // of them in a period.
                            bytes = unsafe {
                                let places = of.places().as_ptr().add(load * $width);
                                let at =
                                    |number: usize| start(load + number).wrapping_offset(moved);
                                prefetch(at(0).wrapping_offset(to_ahead));
                                $term(bytes, at, places)
                            };
                        }
                        if STREAM {
                            // SAFETY: registers of a row that is streamed are aligned.
                            unsafe { $stream(to.as_mut_ptr(), bytes) };
                        } else {
                            $store(to, bytes);
                        }
                    }
                    moved += of.advance;
                }
            }
            for (number, to) in rest.chunks_mut(BYTES).enumerate() {
                let mut bytes = $zero;
                for term in 0..terms {
                    let load = term * of.registers + number * $registers;
                    // SAFETY: as above.
                    bytes = unsafe {
                        let places = of.places().as_ptr().add(load * $width);
                        let at = |number: usize| start(load + number).wrapping_offset(moved);
                        prefetch(at(0).wrapping_offset(to_ahead));
                        $term(bytes, at, places)
                    };
                }
                let mut whole = [0; BYTES];
                $store(&mut whole, bytes);
                match to.first_chunk_mut::<BYTES>() {
                    // SAFETY: registers of a row that is streamed are aligned.
                    Some(to) if STREAM => unsafe { $stream(to.as_mut_ptr(), bytes) },
                    Some(to) => *to = whole,
                    None => to.copy_from_slice(&whole[..to.len()]),
                }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_row_prefetches_the_next_one() {
        let Some(simd) = Simd::here() else { return };
        let registers = simd.registers_at_once();
        let of = |advance: isize| {
            let places = vec![0; registers * simd.width()];
            Selection::new(simd, registers, vec![0; registers], places, advance)
        };
        // This row has a hundred periods of 64 bytes, and the next row begins 10,000 bytes after
        // it. The last 4 KiB are 64 periods.
        assert_eq!(of(64).ahead_of_end(5, Some(10_005), 100), (36, 4096 + 10_000 - 6400));
        assert_eq!(of(-64).ahead_of_end(5, Some(10_005), 100), (36, -4096 + 10_000 + 6400));
        // Contiguous rows are prefetched like a single row.
        assert_eq!(of(64).ahead_of_end(5, Some(6405), 100), (100, 4096));
        assert_eq!(of(64).ahead_of_end(5, None, 100), (100, 4096));
        // The next row is prefetched as a whole if rows are short.
        assert_eq!(of(64).ahead_of_end(5, Some(10_005), 10), (0, 10_000));
        assert_eq!(of(0).ahead_of_end(5, Some(10_005), 1), (0, 10_000));
    }
}
