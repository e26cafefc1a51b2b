//! Rows selected byte by byte from a few loads, with the shuffles of an instruction set.
#![allow(unsafe_code)] // Loads of registers take pointers, and an instruction set must be there.
#![cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64")),
    allow(unused, unreachable_patterns) // There is no instruction set, and nothing to call.
)]

#[cfg(target_arch = "aarch64")]
use super::neon;
#[cfg(target_arch = "x86_64")]
use super::x86;
use super::{
    super::stream::ahead,
    set::{Set, Simd},
};

/// A byte that a load does not give.
pub(in crate::host) const NONE: u8 = 0x80;

/// The loops over few terms are unrolled.
macro_rules! by_terms {
    ($module:ident::$function:ident, $of:expr, $($argument:expr),*) => {
        match $of.terms {
            1 => $module::$function::<1>($of, $($argument),*),
            2 => $module::$function::<2>($of, $($argument),*),
            3 => $module::$function::<3>($of, $($argument),*),
            4 => $module::$function::<4>($of, $($argument),*),
            _ => $module::$function::<MANY>($of, $($argument),*),
        }
    };
}

/// Bytes from a load to the line that is asked for meanwhile: processors do not foresee rows that are read backwards, nor
/// the next page.
const AHEAD: isize = 1 << 12;

/// Which bytes of which loads make the registers of a row.
///
/// A selection covers a *period*, some registers of the row. A longer row repeats it, each time `advance` bytes further in
/// the source.
#[derive(Clone, Debug)]
pub(in crate::host) struct Selection {
    simd: Simd,
    /// Loads for each register of the row.
    pub(super) terms: usize,
    /// Registers of a period.
    pub(super) registers: usize,
    /// Where each load starts, from where the period starts: the first load of every register, then the second of
    /// every register.
    pub(super) loads: Vec<isize>,
    /// What each load gives, in the same order: for each byte of the register its place in the load, or [`NONE`].
    pub(super) places: Vec<u8>,
    /// The first byte that a period's loads read, and the first past the last.
    reach: (isize, isize),
    /// What a period moves the source by.
    pub(super) advance: isize,
    /// From a load to the line to ask for, which a later one reads.
    pub(super) ahead: isize,
}

impl Selection {
    /// A selection of as many loads as are given for `registers` registers.
    ///
    /// # Panics
    ///
    /// Where the loads are none or not as many for each register, have not as many places as a register has bytes, or
    /// the registers cannot be made as many at a time as the instructions make.
    pub(in crate::host) fn new(
        simd: Simd,
        registers: usize,
        loads: Vec<isize>,
        places: Vec<u8>,
        advance: isize,
    ) -> Self {
        let width = simd.width();
        let terms = loads.len() / registers;
        assert!(terms > 0 && loads.len() == terms * registers, "{} loads", loads.len());
        assert_eq!(places.len(), loads.len() * width);
        assert!(registers.is_multiple_of(simd.registers_at_once()));
        let (low, high) = loads
            .iter()
            .fold((isize::MAX, isize::MIN), |(low, high), &load| (low.min(load), high.max(load)));
        let reach = (low, high + width.cast_signed());
        let ahead = advance.signum() * AHEAD;
        Self { simd, terms, registers, loads, places, reach, advance, ahead }
    }

    /// Bytes of its tables.
    pub(in crate::host) fn bytes(&self) -> usize {
        size_of_val(&self.loads[..]) + self.places.len()
    }

    /// Asks for the lines that a row read from byte `from` on begins with.
    pub(in crate::host) fn fetch(&self, source: &[u8], from: isize) {
        let start = from + self.reach.0.max(0) + if self.ahead < 0 { self.ahead } else { 0 };
        let lines = source.as_ptr().wrapping_offset(start);
        (0..AHEAD.unsigned_abs()).step_by(64).for_each(|line| ahead(lines.wrapping_add(line)));
    }

    /// Fills `row` from the source; the first period is read from byte `from` on.
    pub(in crate::host) fn fill(&self, source: &[u8], from: isize, row: &mut [u8]) {
        let period = self.registers * self.simd.width();
        let count = row.len().div_ceil(period);
        let start = |number: usize| from + number.cast_signed() * self.advance;
        let fits = |number: usize| {
            let (low, end) = (start(number) + self.reach.0, start(number) + self.reach.1);
            low >= 0 && end <= source.len().cast_signed()
        };
        // The periods whose loads lie inside the source follow each other.
        let first = (0..count).find(|&number| fits(number)).unwrap_or(count);
        let end = (first..count).rfind(|&number| fits(number)).map_or(first, |last| last + 1);
        let (before, rest) = row.split_at_mut((first * period).min(row.len()));
        let (inside, after) = rest.split_at_mut(((end - first) * period).min(rest.len()));
        self.byte_by_byte(source, start(0), before);
        if !inside.is_empty() {
            let from = source.as_ptr().wrapping_offset(start(first));
            // SAFETY: the set was found on this processor; the loads of the first and of the last period lie inside
            // the source, so that those between them do too.
            unsafe {
                match self.simd.0 {
                    #[cfg(target_arch = "x86_64")]
                    Set::Ssse3 => by_terms!(x86::ssse3, self, from, inside),
                    #[cfg(target_arch = "x86_64")]
                    Set::Avx2 => by_terms!(x86::avx2, self, from, inside),
                    #[cfg(target_arch = "x86_64")]
                    Set::Avx512Vbmi => by_terms!(x86::avx512_vbmi, self, from, inside),
                    #[cfg(target_arch = "aarch64")]
                    Set::Neon => by_terms!(neon::neon, self, from, inside),
                }
            }
        }
        self.byte_by_byte(source, start(end), after);
    }

    /// What the instructions do, for periods of which a load would reach past the source.
    fn byte_by_byte(&self, source: &[u8], mut from: isize, row: &mut [u8]) {
        let width = self.simd.width();
        for period in row.chunks_mut(self.registers * width) {
            for (register, bytes) in period.chunks_mut(width).enumerate() {
                for load in (register..self.loads.len()).step_by(self.registers) {
                    let start = from + self.loads[load];
                    let places = &self.places[load * width..(load + 1) * width];
                    for (byte, &place) in bytes.iter_mut().zip(places) {
                        if place != NONE {
                            *byte = source[(start + isize::from(place)).cast_unsigned()];
                        }
                    }
                }
            }
            from += self.advance;
        }
    }
}

/// Terms whose number the compiler does not know.
pub(super) const MANY: usize = 0;

/// A function that fills rows with an instruction set: `WIDTH` bytes of `REGISTER` at a time, each term of which
/// `term` adds.
///
/// Its safety: the processor has the features, and from `from` on every load of the periods of `row` may be read.
macro_rules! select {
    ($name:ident, $features:literal, $registers:literal, $width:literal, $zero:expr, $term:ident, $store:ident) => {
        #[target_feature(enable = $features)]
        pub(super) unsafe fn $name<const TERMS: usize>(
            of: &Selection,
            mut from: *const u8,
            row: &mut [u8],
        ) {
            const BYTES: usize = $registers * $width;
            let terms = if TERMS == MANY { of.terms } else { TERMS };
            for period in row.chunks_mut(of.registers * $width) {
                let mut register = 0;
                while register * $width < period.len() {
                    let mut bytes = $zero;
                    for term in 0..terms {
                        let load = term * of.registers + register;
                        // SAFETY: `Selection::new` saw a load and its places for every term and register; a set that
                        // makes several registers at once has a multiple of them in a period.
                        bytes = unsafe {
                            let places = of.places.as_ptr().add(load * $width);
                            let load = of.loads.as_ptr().add(load);
                            ahead(from.wrapping_offset(*load + of.ahead));
                            $term(bytes, from, load, places)
                        };
                    }
                    match period[register * $width..].first_chunk_mut::<BYTES>() {
                        Some(to) => $store(to, bytes),
                        None => {
                            let mut whole = [0; BYTES];
                            $store(&mut whole, bytes);
                            let rest = &mut period[register * $width..];
                            rest.copy_from_slice(&whole[..rest.len()]);
                        }
                    }
                    register += $registers;
                }
                from = from.wrapping_offset(of.advance);
            }
        }
    };
}
