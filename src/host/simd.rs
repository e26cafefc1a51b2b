//! The processor's shuffles of bytes, found at run time. This file alone knows these instructions.
#![allow(unsafe_code)]
// Loads and stores of registers take pointers, and an instruction set must be there.
// Elsewhere there is no instruction set, and nothing to call.
#![cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64")),
    allow(unused, unreachable_patterns)
)]

use super::stream::ahead;

/// An instruction set that this processor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Simd(Set);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Set {
    /// `pshufb` on 16 bytes.
    #[cfg(target_arch = "x86_64")]
    Ssse3,
    /// `vpshufb` on twice 16 bytes.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// `vpermb` on 64 bytes.
    #[cfg(target_arch = "x86_64")]
    Avx512Vbmi,
    /// `tbl` on 16 bytes.
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Simd {
    /// The instruction sets of this processor that shuffle bytes, the best last.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn all() -> impl DoubleEndedIterator<Item = Self> {
        let sets = [
            (Set::Ssse3, is_x86_feature_detected!("ssse3")),
            (Set::Avx2, is_x86_feature_detected!("avx2")),
            (
                Set::Avx512Vbmi,
                is_x86_feature_detected!("avx512vbmi") && is_x86_feature_detected!("avx512bw"),
            ),
        ];
        sets.into_iter().filter(|&(_, found)| found).map(|(set, _)| Self(set))
    }

    /// The instruction sets of this processor that shuffle bytes, the best last.
    #[cfg(target_arch = "aarch64")]
    pub(super) fn all() -> impl DoubleEndedIterator<Item = Self> {
        std::arch::is_aarch64_feature_detected!("neon").then_some(Self(Set::Neon)).into_iter()
    }

    /// The instruction sets of this processor that shuffle bytes, the best last.
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub(super) fn all() -> impl DoubleEndedIterator<Item = Self> {
        std::iter::empty()
    }

    /// The best of them; `None` where there is none.
    pub(super) fn best() -> Option<Self> {
        Self::all().next_back()
    }

    /// Bytes of a register that one load fills and one shuffle permutes.
    pub(super) fn width(self) -> usize {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Set::Ssse3 | Set::Avx2 => 16,
            #[cfg(target_arch = "x86_64")]
            Set::Avx512Vbmi => 64,
            #[cfg(target_arch = "aarch64")]
            Set::Neon => 16,
        }
    }

    /// Registers that are made at a time.
    pub(super) fn registers_at_once(self) -> usize {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => 2,
            _ => 1,
        }
    }

    /// Transposes a matrix of units of 1, 2, 4 or 8 bytes: the unit of row `r` and column `c` is read `rows[r]` and `c`
    /// units after `from`, and written `columns[c]` and `r` units after `to`. Offsets count bytes.
    ///
    /// False, and nothing is written, where the matrix is smaller than a register in either direction, or does not lie
    /// inside the slices.
    pub(super) fn transpose(
        self,
        unit: usize,
        (source, from, rows): (&[u8], isize, &[isize]),
        (destination, to, columns): (&mut [u8], isize, &[isize]),
    ) -> bool {
        let inside = |slice: &[u8], start: isize, offsets: &[isize], length: usize| {
            slice.len().checked_sub(length).is_some_and(|last| {
                let place = |offset: &isize| (start + offset).cast_unsigned();
                offsets.iter().all(|offset| place(offset) <= last)
            })
        };
        let edge = 16 / unit;
        if rows.len() < edge
            || columns.len() < edge
            || !inside(source, from, rows, columns.len() * unit)
            || !inside(destination, to, columns, rows.len() * unit)
        {
            return false;
        }
        let from = source.as_ptr().wrapping_offset(from);
        let to = destination.as_mut_ptr().wrapping_offset(to);
        // SAFETY: the set was found on this processor; every row of the matrix lies inside the source and every column
        // inside the destination; both are at least as long as an edge.
        unsafe {
            match unit {
                1 => self.transpose_units::<1, 16>(from, rows, to, columns),
                2 => self.transpose_units::<2, 8>(from, rows, to, columns),
                4 => self.transpose_units::<4, 4>(from, rows, to, columns),
                8 => self.transpose_units::<8, 2>(from, rows, to, columns),
                _ => return false,
            }
        }
        true
    }

    /// With the widest registers that the rows fill.
    ///
    /// # Safety
    ///
    /// As the functions that it calls, but for the features.
    unsafe fn transpose_units<const N: usize, const E: usize>(
        self,
        from: *const u8,
        rows: &[isize],
        to: *mut u8,
        columns: &[isize],
    ) {
        // SAFETY: a set has the features of those before it; rows are as many as the function takes at once.
        unsafe {
            match self.0 {
                #[cfg(target_arch = "x86_64")]
                Set::Avx2 | Set::Avx512Vbmi if rows.len() >= 2 * E => {
                    x86::transpose_32::<N, E>(from, rows, to, columns);
                }
                #[cfg(target_arch = "x86_64")]
                _ => x86::transpose_16::<N, E>(from, rows, to, columns),
                #[cfg(target_arch = "aarch64")]
                Set::Neon => neon::transpose_16::<N, E>(from, rows, to, columns),
            }
        }
    }
}

/// A byte that a load does not give.
pub(super) const NONE: u8 = 0x80;

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
pub(super) struct Selection {
    simd: Simd,
    /// Loads for each register of the row.
    terms: usize,
    /// Registers of a period.
    registers: usize,
    /// Where each load starts, from where the period starts: the first load of every register, then the second of
    /// every register.
    loads: Vec<isize>,
    /// What each load gives, in the same order: for each byte of the register its place in the load, or [`NONE`].
    places: Vec<u8>,
    /// The first byte that a period's loads read, and the first past the last.
    reach: (isize, isize),
    /// What a period moves the source by.
    advance: isize,
    /// From a load to the line to ask for, which a later one reads.
    ahead: isize,
}

impl Selection {
    /// A selection of as many loads as are given for `registers` registers.
    ///
    /// # Panics
    ///
    /// Where the loads are none or not as many for each register, have not as many places as a register has bytes, or
    /// the registers cannot be made as many at a time as the instructions make.
    pub(super) fn new(
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

    /// Asks for the lines that a row read from byte `from` on begins with.
    pub(super) fn fetch(&self, source: &[u8], from: isize) {
        let start = from + self.reach.0.max(0) + if self.ahead < 0 { self.ahead } else { 0 };
        let lines = source.as_ptr().wrapping_offset(start);
        (0..AHEAD.unsigned_abs()).step_by(64).for_each(|line| ahead(lines.wrapping_add(line)));
    }

    /// Fills `row` from the source; the first period is read from byte `from` on.
    pub(super) fn fill(&self, source: &[u8], from: isize, row: &mut [u8]) {
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
const MANY: usize = 0;

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

/// A function that transposes matrices of units of `N` bytes with an instruction set: squares of `E` units, an edge, in
/// each of the `LANES` lanes of 16 bytes of a register.
///
/// Its safety: the processor has the features; there are at least `E` columns and `E * LANES` rows; every row may be read
/// and every column written as a whole.
macro_rules! transpose {
    ($name:ident, $features:literal, $lanes:literal, $load:ident, $low:ident, $high:ident, $store:ident) => {
        #[target_feature(enable = $features)]
        pub(super) unsafe fn $name<const N: usize, const E: usize>(
            from: *const u8,
            rows: &[isize],
            to: *mut u8,
            columns: &[isize],
        ) {
            let height = E * $lanes;
            let mut lines = [from; 16 * $lanes];
            let mut row = 0;
            loop {
                for (line, offset) in lines.iter_mut().zip(&rows[row..row + height]) {
                    *line = from.wrapping_offset(*offset);
                }
                let mut column = 0;
                loop {
                    // SAFETY: the square's rows and columns are among the caller's.
                    unsafe {
                        let mut square: [_; E] = std::array::from_fn(|line| {
                            let lane = |lane: usize| lines[line + lane * E].add(column * N);
                            $load(lane)
                        });
                        // Perfect shuffles bring unit j of row i to unit i of row j.
                        let mut shuffled = 1;
                        while shuffled < E {
                            let halves = square;
                            let mut line = 0;
                            while line < E / 2 {
                                let (first, second) = (halves[line], halves[line + E / 2]);
                                square[2 * line] = $low::<N>(first, second);
                                square[2 * line + 1] = $high::<N>(first, second);
                                line += 1;
                            }
                            shuffled *= 2;
                        }
                        let mut line = 0;
                        while line < E {
                            let column = *columns.get_unchecked(column + line);
                            $store(to.offset(column).add(row * N), square[line]);
                            line += 1;
                        }
                    }
                    // The last square overlaps the one before it.
                    if column + E == columns.len() {
                        break;
                    }
                    column = (column + E).min(columns.len() - E);
                }
                if row + height == rows.len() {
                    break;
                }
                row = (row + height).min(rows.len() - height);
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m128i, __m256i, __m512i, _mm_loadu_si128, _mm_or_si128, _mm_setzero_si128,
        _mm_shuffle_epi8, _mm_storeu_si128, _mm_unpackhi_epi8, _mm_unpackhi_epi16,
        _mm_unpackhi_epi32, _mm_unpackhi_epi64, _mm_unpacklo_epi8, _mm_unpacklo_epi16,
        _mm_unpacklo_epi32, _mm_unpacklo_epi64, _mm256_castsi128_si256, _mm256_inserti128_si256,
        _mm256_loadu_si256, _mm256_or_si256, _mm256_setzero_si256, _mm256_shuffle_epi8,
        _mm256_storeu_si256, _mm256_unpackhi_epi8, _mm256_unpackhi_epi16, _mm256_unpackhi_epi32,
        _mm256_unpackhi_epi64, _mm256_unpacklo_epi8, _mm256_unpacklo_epi16, _mm256_unpacklo_epi32,
        _mm256_unpacklo_epi64, _mm512_loadu_si512, _mm512_mask_permutexvar_epi8, _mm512_set1_epi8,
        _mm512_setzero_si512, _mm512_storeu_si512, _mm512_testn_epi8_mask,
    };

    use super::{MANY, NONE, Selection, ahead};

    select!(ssse3, "ssse3", 1, 16, _mm_setzero_si128(), term_16, store_16);
    select!(avx2, "avx2", 2, 16, _mm256_setzero_si256(), term_32, store_32);
    select!(
        avx512_vbmi,
        "avx512f,avx512bw,avx512vbmi",
        1,
        64,
        _mm512_setzero_si512(),
        term_64,
        store_64
    );

    transpose!(transpose_16, "sse2", 1, lanes_16, low_16, high_16, write_16);
    transpose!(transpose_32, "avx2", 2, lanes_32, low_32, high_32, write_32);

    #[inline]
    #[target_feature(enable = "sse2")]
    unsafe fn lanes_16(lane: impl Fn(usize) -> *const u8) -> __m128i {
        // SAFETY: the caller's lane.
        unsafe { _mm_loadu_si128(lane(0).cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn lanes_32(lane: impl Fn(usize) -> *const u8) -> __m256i {
        // SAFETY: the caller's lanes.
        unsafe {
            let first = _mm256_castsi128_si256(_mm_loadu_si128(lane(0).cast()));
            _mm256_inserti128_si256::<1>(first, _mm_loadu_si128(lane(1).cast()))
        }
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn low_16<const N: usize>(a: __m128i, b: __m128i) -> __m128i {
        match N {
            1 => _mm_unpacklo_epi8(a, b),
            2 => _mm_unpacklo_epi16(a, b),
            4 => _mm_unpacklo_epi32(a, b),
            _ => _mm_unpacklo_epi64(a, b),
        }
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn high_16<const N: usize>(a: __m128i, b: __m128i) -> __m128i {
        match N {
            1 => _mm_unpackhi_epi8(a, b),
            2 => _mm_unpackhi_epi16(a, b),
            4 => _mm_unpackhi_epi32(a, b),
            _ => _mm_unpackhi_epi64(a, b),
        }
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    unsafe fn write_16(to: *mut u8, bytes: __m128i) {
        // SAFETY: the caller's place.
        unsafe { _mm_storeu_si128(to.cast(), bytes) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn low_32<const N: usize>(a: __m256i, b: __m256i) -> __m256i {
        match N {
            1 => _mm256_unpacklo_epi8(a, b),
            2 => _mm256_unpacklo_epi16(a, b),
            4 => _mm256_unpacklo_epi32(a, b),
            _ => _mm256_unpacklo_epi64(a, b),
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn high_32<const N: usize>(a: __m256i, b: __m256i) -> __m256i {
        match N {
            1 => _mm256_unpackhi_epi8(a, b),
            2 => _mm256_unpackhi_epi16(a, b),
            4 => _mm256_unpackhi_epi32(a, b),
            _ => _mm256_unpackhi_epi64(a, b),
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn write_32(to: *mut u8, bytes: __m256i) {
        // SAFETY: the caller's place.
        unsafe { _mm256_storeu_si256(to.cast(), bytes) }
    }

    #[inline]
    #[target_feature(enable = "ssse3")]
    unsafe fn term_16(
        bytes: __m128i,
        from: *const u8,
        load: *const isize,
        places: *const u8,
    ) -> __m128i {
        // SAFETY: the caller's load and its places.
        unsafe {
            let loaded = _mm_loadu_si128(from.offset(*load).cast());
            _mm_or_si128(bytes, _mm_shuffle_epi8(loaded, _mm_loadu_si128(places.cast())))
        }
    }

    #[inline]
    #[target_feature(enable = "ssse3")]
    fn store_16(to: &mut [u8; 16], bytes: __m128i) {
        // SAFETY: the array has the register's length.
        unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), bytes) }
    }

    /// The loads of two registers that follow each other.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn term_32(
        bytes: __m256i,
        from: *const u8,
        load: *const isize,
        places: *const u8,
    ) -> __m256i {
        // SAFETY: the caller's loads and their places.
        unsafe {
            let first = _mm_loadu_si128(from.offset(*load).cast());
            let second = _mm_loadu_si128(from.offset(*load.add(1)).cast());
            let loaded = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(first), second);
            let places = _mm256_loadu_si256(places.cast());
            _mm256_or_si256(bytes, _mm256_shuffle_epi8(loaded, places))
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn store_32(to: &mut [u8; 32], bytes: __m256i) {
        // SAFETY: the array has the register's length.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), bytes) }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    unsafe fn term_64(
        bytes: __m512i,
        from: *const u8,
        load: *const isize,
        places: *const u8,
    ) -> __m512i {
        // SAFETY: the caller's load and its places.
        unsafe {
            let loaded = _mm512_loadu_si512(from.offset(*load).cast());
            let places = _mm512_loadu_si512(places.cast());
            let given = _mm512_testn_epi8_mask(places, _mm512_set1_epi8(NONE.cast_signed()));
            _mm512_mask_permutexvar_epi8(bytes, given, places, loaded)
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn store_64(to: &mut [u8; 64], bytes: __m512i) {
        // SAFETY: the array has the register's length.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), bytes) }
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use std::arch::aarch64::{
        uint8x16_t, vdupq_n_u8, vld1q_u8, vorrq_u8, vqtbl1q_u8, vreinterpretq_u8_u16,
        vreinterpretq_u8_u32, vreinterpretq_u8_u64, vreinterpretq_u16_u8, vreinterpretq_u32_u8,
        vreinterpretq_u64_u8, vst1q_u8, vzip1q_u8, vzip1q_u16, vzip1q_u32, vzip1q_u64, vzip2q_u8,
        vzip2q_u16, vzip2q_u32, vzip2q_u64,
    };

    use super::{MANY, Selection, ahead};

    select!(neon, "neon", 1, 16, vdupq_n_u8(0), term, store);

    transpose!(transpose_16, "neon", 1, lanes_16, low_16, high_16, write_16);

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn lanes_16(lane: impl Fn(usize) -> *const u8) -> uint8x16_t {
        // SAFETY: the caller's lane.
        unsafe { vld1q_u8(lane(0)) }
    }

    #[inline]
    #[target_feature(enable = "neon")]
    fn low_16<const N: usize>(a: uint8x16_t, b: uint8x16_t) -> uint8x16_t {
        match N {
            1 => vzip1q_u8(a, b),
            2 => vreinterpretq_u8_u16(vzip1q_u16(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b))),
            4 => vreinterpretq_u8_u32(vzip1q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b))),
            _ => vreinterpretq_u8_u64(vzip1q_u64(vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b))),
        }
    }

    #[inline]
    #[target_feature(enable = "neon")]
    fn high_16<const N: usize>(a: uint8x16_t, b: uint8x16_t) -> uint8x16_t {
        match N {
            1 => vzip2q_u8(a, b),
            2 => vreinterpretq_u8_u16(vzip2q_u16(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b))),
            4 => vreinterpretq_u8_u32(vzip2q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b))),
            _ => vreinterpretq_u8_u64(vzip2q_u64(vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b))),
        }
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn write_16(to: *mut u8, bytes: uint8x16_t) {
        // SAFETY: the caller's place.
        unsafe { vst1q_u8(to, bytes) }
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn term(
        bytes: uint8x16_t,
        from: *const u8,
        load: *const isize,
        places: *const u8,
    ) -> uint8x16_t {
        // SAFETY: the caller's load and its places.
        unsafe {
            let loaded = vld1q_u8(from.offset(*load));
            vorrq_u8(bytes, vqtbl1q_u8(loaded, vld1q_u8(places)))
        }
    }

    #[inline]
    #[target_feature(enable = "neon")]
    fn store(to: &mut [u8; 16], bytes: uint8x16_t) {
        // SAFETY: the array has the register's length.
        unsafe { vst1q_u8(to.as_mut_ptr(), bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every instruction set of this processor, on matrices of every size around its registers.
    #[test]
    fn matrices_are_transposed_and_nothing_else_is_written() {
        let source: Vec<u8> = (0..60_000_u32).map(|n| ((n * 167) >> 3) as u8).collect();
        for (simd, unit) in Simd::all().flat_map(|simd| [1, 2, 4, 8].map(|unit| (simd, unit))) {
            let edge = 16 / unit;
            for (rows, columns) in
                (1..70).flat_map(|rows| [1, edge, edge + 1, 37].map(|of| (rows, of)))
            {
                let (read, write) = (columns * unit + 5, rows * unit + 3);
                let starts = |count: usize, pitch: usize| -> Vec<isize> {
                    (0..count).map(|line| (line * pitch).cast_signed()).collect()
                };
                let (from, to) = (starts(rows, read), starts(columns, write));
                let mut out = vec![0xa5; 7 + columns * write];
                let done = simd.transpose(unit, (&source, 11, &from), (&mut out, 7, &to));
                assert_eq!(
                    done,
                    rows >= edge && columns >= edge,
                    "{simd:?} {unit}: {rows} by {columns}"
                );
                let mut expected = vec![0xa5; out.len()];
                for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |of| (row, of)))
                {
                    let (place, given) =
                        (7 + column * write + row * unit, 11 + row * read + column * unit);
                    if done {
                        expected[place..place + unit].copy_from_slice(&source[given..given + unit]);
                    }
                }
                assert_eq!(out, expected, "{simd:?} {unit}: {rows} by {columns}");
            }
        }
    }

    #[test]
    fn matrices_outside_of_their_slices_are_refused() {
        let (source, mut out) = (vec![0; 300], vec![0; 300]);
        let lines: Vec<isize> = (0..16).map(|line| line * 16).collect();
        for simd in Simd::all() {
            for (from, to) in [(-1, 0), (45, 0), (0, -1), (0, 45)] {
                assert!(!simd.transpose(1, (&source, from, &lines), (&mut out, to, &lines)));
            }
            assert!(simd.transpose(1, (&source, 44, &lines), (&mut out, 44, &lines)));
        }
    }
}
