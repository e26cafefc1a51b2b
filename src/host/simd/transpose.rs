//! Transposes matrices in registers.
//!
//! The unpack instructions of a processor interleave two registers: from `a0 a1 …` and `b0 b1 …`
//! they make `a0 b0 a1 b1 …`. A square, such as 16 registers of 16 bytes, is transposed by
//! repeating this a few times. Matrices consist of *units* of 1 to 16 bytes.
#![allow(unsafe_code)] // Register loads and stores take pointers.
#![cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64")),
    allow(unused, unreachable_patterns) // There is no instruction set, and nothing to call.
)]

#[cfg(target_arch = "aarch64")]
use super::neon;
use super::{
    super::stream::{LINE, Stream},
    columns::{ColumnPointers, Starts, pitch},
    set::{Set, Simd},
};
#[cfg(target_arch = "x86_64")]
use super::{lines, narrow, x86};

/// The prefetch distance along a row of the source, in bytes. Near the end of a row, the prefetch
/// continues in the rows that are transposed next. Prefetching gains up to a tenth; 512 and 1024
/// bytes were no faster in cases of `f64` of the TTC benchmark (`benches/NOTES.md`, "Strips").
pub(super) const ROW_PREFETCH_SRC_BYTES: usize = 256;

/// A permutation of the bytes of a row, as a shuffle table for each 16 bytes: entry `n` is the
/// index of the byte that becomes byte `n`. Each group of one or several units is permuted in
/// itself.
pub(in crate::host) type Inner = [u8; 16];

/// Returns the number of bytes of a row that have to be read for `bytes` permuted bytes. It is
/// larger than `bytes` if some units of the first group are not copied.
pub(super) fn read_bytes(inner: &Inner, bytes: usize) -> usize {
    let last = inner.get(..bytes).and_then(|places| places.iter().max());
    last.map_or(bytes, |&last| usize::from(last) + 1)
}

/// Calls a function with the unit size `N`, and the number `E` of units in 16 bytes, as constants.
/// Returns false from the caller for other unit sizes.
macro_rules! by_unit {
    ($self:ident.$function:ident, $unit:expr, $($argument:expr),*) => {
        match $unit {
            1 => $self.$function::<1, 16>($($argument),*),
            2 => $self.$function::<2, 8>($($argument),*),
            4 => $self.$function::<4, 4>($($argument),*),
            8 => $self.$function::<8, 2>($($argument),*),
            16 => $self.$function::<16, 1>($($argument),*),
            _ => return false,
        }
    };
}

/// Calls a function of an instruction set, compiled with or without a permutation of bytes, with a
/// closure that returns the start of each column.
macro_rules! by_inner {
    ($module:ident::$function:ident $(<$squares:literal>)?, $inner:ident, $columns:ident, $($argument:expr),*) => {
        match $inner {
            Some(inner) => by_starts!($columns, |column| {
                $module::$function::<N, E, true $(, $squares)?>(inner, $($argument),*, $columns.count, column);
            }),
            None => by_starts!($columns, |column| {
                $module::$function::<N, E, false $(, $squares)?>(&[0; 16], $($argument),*, $columns.count, column);
            }),
        }
    };
}

/// Calls a function that transposes units of any size, with a closure that returns the start of
/// each column.
#[cfg(target_arch = "x86_64")]
macro_rules! fields {
    ($module:ident::$function:ident <$n:literal, $e:literal>, $columns:ident, $($argument:expr),*) => {
        by_starts!($columns, |column| {
            $module::$function::<$n, $e>($($argument),*, $columns.count, column);
        })
    };
}

impl Simd {
    /// Returns true if this instruction set can transpose matrices with fewer rows or columns than
    /// there are units in 16 bytes.
    pub(in crate::host) fn transposes_narrow(self) -> bool {
        match self.set {
            #[cfg(target_arch = "x86_64")]
            Set::Avx512Vbmi => true,
            _ => false,
        }
    }

    /// Returns the number of rows and of columns from which on units of `unit` bytes should be
    /// transposed in registers. Returns `None` if this instruction set cannot transpose them.
    pub(in crate::host) fn edge(self, unit: usize) -> Option<usize> {
        match (unit, self.set) {
            (16, _) => Some(4),
            (1 | 2 | 4 | 8, _) => Some(16 / unit),
            #[cfg(target_arch = "x86_64")]
            (3..=15, Set::Avx512Vbmi) => Some(LINE / unit.next_power_of_two()),
            _ => None,
        }
    }

    /// Transposes a matrix of units of `unit` bytes, at most 16. The unit in row `r` and column `c`
    /// is read `rows[r]` bytes and `c` units after byte `from` of the source. It is
    /// written to byte `at` plus `r` units of column `c`, with its bytes permuted by `inner`.
    ///
    /// Returns false and writes nothing if the set has no such instructions for the unit, if rows
    /// and columns both have less than 16 bytes, if only one side has less and this is [not
    /// supported](Self::transposes_narrow), or if the matrix does not lie inside the source and the
    /// columns. Also returns false if units of another size than 1, 2, 4, 8 and 16 bytes are to be
    /// permuted, or if a side is shorter than their [`Self::edge`].
    pub(in crate::host) fn transpose(
        self,
        (unit, inner): (usize, Option<&Inner>),
        (source, from, rows): (&[u8], isize, &[isize]),
        (columns, at): (&mut ColumnPointers, usize),
    ) -> bool {
        let count = columns.count;
        let (edge, least) = match self.edge(unit) {
            Some(_) if !unit.is_power_of_two() && inner.is_some() => return false,
            Some(edge) if !unit.is_power_of_two() => (edge, edge),
            Some(_) if self.transposes_narrow() => (16 / unit, 1),
            Some(_) => (16 / unit, 16 / unit),
            None => return false,
        };
        let [shorter, longer] = [rows.len().min(count), rows.len().max(count)];
        let read = inner.map_or(count * unit, |inner| read_bytes(inner, count * unit));
        if shorter < least
            || longer < edge
            || !inside(source, from, rows, read)
            || !columns.hold(at, rows.len(), unit)
        {
            return false;
        }
        let from = source.as_ptr().wrapping_offset(from);
        // SAFETY: the set was found on this processor; every row of the matrix lies inside the
        // source and every column inside the destination; both sides are at least as long as an
        // edge, or one is if the set transposes narrow matrices. Units of other sizes have an edge
        // only with AVX-512 VBMI, and both sides are at least as long.
        unsafe {
            match unit {
                #[cfg(target_arch = "x86_64")]
                3 => {
                    let lines = (rows, self.machine);
                    fields!(lines::transpose_fields<4, 4>, columns, unit, from, lines, at);
                }
                #[cfg(target_arch = "x86_64")]
                5..=7 => {
                    let lines = (rows, self.machine);
                    fields!(lines::transpose_fields<8, 2>, columns, unit, from, lines, at);
                }
                #[cfg(target_arch = "x86_64")]
                9..=15 => {
                    let lines = (rows, self.machine);
                    fields!(lines::transpose_fields<16, 1>, columns, unit, from, lines, at);
                }
                _ => by_unit!(self.transpose_units, unit, inner, from, rows, at, columns),
            }
        }
        true
    }

    /// Transposes a matrix as [`Self::transpose`] does, but with non-temporal stores. In every
    /// column, the written bytes must begin at a cache-line boundary and fill whole lines.
    ///
    /// Returns false and writes nothing if they do not, if the matrix has fewer columns than there
    /// are units in 16 bytes, or if it does not lie inside the source and the columns.
    pub(in crate::host) fn stream_transpose(
        self,
        (unit, inner): (usize, Option<&Inner>),
        (source, from, rows): (&[u8], isize, &[isize]),
        (columns, at): (&mut ColumnPointers, usize),
        _: &Stream,
    ) -> bool {
        let count = columns.count;
        if count < 16 / unit
            || columns.gap() != Some(at % LINE)
            || !(rows.len() * unit).is_multiple_of(LINE)
            || !inside(source, from, rows, count * unit)
            || !columns.hold(at, rows.len(), unit)
        {
            return false;
        }
        let from = source.as_ptr().wrapping_offset(from);
        // SAFETY: as in `transpose`; the matrix has whole lines of every column.
        unsafe { by_unit!(self.stream_units, unit, inner, from, rows, at, columns) };
        true
    }

    /// Transposes a matrix with non-temporal stores, using the widest registers for which there is
    /// such a function.
    ///
    /// # Safety
    ///
    /// As for the functions that it calls, except that the features need not be enabled.
    unsafe fn stream_units<const N: usize, const E: usize>(
        self,
        inner: Option<&Inner>,
        from: *const u8,
        rows: &[isize],
        at: usize,
        columns: &ColumnPointers,
    ) {
        // If units are long enough, two lines of each column are written together.
        let pair = if N >= self.machine.paired_bytes { 2 * LINE / N } else { usize::MAX };
        let (pairs, others) = rows.split_at(rows.len() / pair * pair);
        let after = at + pairs.len() * N;
        // SAFETY: an instruction set includes the features of the sets before it.
        unsafe {
            match self.set {
                #[cfg(target_arch = "x86_64")]
                Set::Avx2 | Set::Avx512Vbmi => {
                    by_inner!(x86::strips_32<4>, inner, columns, from, pairs, at);
                    by_inner!(x86::strips_32<2>, inner, columns, from, others, after);
                }
                #[cfg(target_arch = "x86_64")]
                _ => {
                    by_inner!(x86::strips_16<8>, inner, columns, from, pairs, at);
                    by_inner!(x86::strips_16<4>, inner, columns, from, others, after);
                }
                #[cfg(target_arch = "aarch64")]
                Set::Neon => {
                    by_inner!(neon::strips_16<8>, inner, columns, from, pairs, at);
                    by_inner!(neon::strips_16<4>, inner, columns, from, others, after);
                }
            }
        }
    }

    /// Transposes a matrix with the function that suits its size, using the widest registers that
    /// its rows fill.
    ///
    /// # Safety
    ///
    /// As for the functions that it calls, except that the features need not be enabled.
    unsafe fn transpose_units<const N: usize, const E: usize>(
        self,
        inner: Option<&Inner>,
        from: *const u8,
        rows: &[isize],
        at: usize,
        columns: &ColumnPointers,
    ) {
        let ahead = self.machine.prefetches_rows;
        // SAFETY: an instruction set includes the features of the sets before it; there are at
        // least as many rows as the function takes at once.
        unsafe {
            match self.set {
                #[cfg(target_arch = "x86_64")]
                Set::Avx512Vbmi if rows.len() < E => {
                    by_inner!(narrow::transpose_few_rows, inner, columns, from, rows, at);
                }
                #[cfg(target_arch = "x86_64")]
                Set::Avx512Vbmi if columns.count < E => {
                    by_inner!(narrow::transpose_few_columns, inner, columns, from, rows, at);
                }
                #[cfg(target_arch = "x86_64")]
                Set::Avx512Vbmi if N > 1 && rows.len().min(columns.count) >= 4 * E => {
                    by_inner!(
                        lines::transpose_lines,
                        inner,
                        columns,
                        from,
                        (rows, self.machine),
                        at
                    );
                }
                // Whole lines are written from registers of 64 bytes. Units of one byte use
                // registers of 32 bytes, because which of the two is faster depends on the
                // processor.
                #[cfg(target_arch = "x86_64")]
                Set::Avx512Vbmi if N > 1 && rows.len() >= 4 * E => {
                    by_inner!(x86::transpose_64, inner, columns, from, (rows, ahead), at);
                }
                #[cfg(target_arch = "x86_64")]
                Set::Avx512Vbmi if rows.len() >= 2 * E => {
                    by_inner!(x86::transpose_32_of_many, inner, columns, from, (rows, ahead), at);
                }
                #[cfg(target_arch = "x86_64")]
                Set::Avx2 if rows.len() >= 2 * E => {
                    by_inner!(x86::transpose_32, inner, columns, from, (rows, ahead), at);
                }
                #[cfg(target_arch = "x86_64")]
                _ => by_inner!(x86::transpose_16, inner, columns, from, (rows, ahead), at),
                #[cfg(target_arch = "aarch64")]
                Set::Neon => by_inner!(neon::transpose_16, inner, columns, from, (rows, ahead), at),
            }
        }
    }
}

/// Returns true if every run of `length` bytes lies inside `slice`. Runs begin at byte `start` of
/// the slice plus one of `offsets`.
pub(super) fn inside(slice: &[u8], start: isize, offsets: &[isize], length: usize) -> bool {
    let Some(last) = slice.len().checked_sub(length) else { return false };
    let lies = |offset: &isize| (start + offset).cast_unsigned() <= last;
    match (pitch(offsets), offsets) {
        (Some(_), [first, .., end]) => lies(first) && lies(end),
        _ => offsets.iter().all(lies),
    }
}

/// Loads `$e` registers, each with one row of the square of every lane, and transposes the squares.
/// A *lane* is 16 bytes of a register. `$place` returns the address of lane `lane` of row `line`.
/// If `INNER` is set, `$table` permutes the bytes of units first.
macro_rules! square {
    ($load:ident, $low:ident, $high:ident, $permute:ident, $n:ident, $e:ident, $table:expr, $place:expr) => {{
        let place = $place;
        let square: [_; $e] = std::array::from_fn(|line| {
            let register = $load(|lane| place(line, lane));
            if INNER { $permute(register, $table) } else { register }
        });
        turn!($low, $high, $n, $e, square)
    }};
}

/// Transposes the square in each lane of `$e` registers by interleaving pairs of registers: unit j
/// of row i becomes unit i of row j.
macro_rules! turn {
    ($low:ident, $high:ident, $n:ident, $e:ident, $square:expr) => {{
        let mut square = $square;
        let mut shuffled = 1;
        while shuffled < $e {
            let halves = square;
            let mut line = 0;
            while line < $e / 2 {
                let (first, second) = (halves[line], halves[line + $e / 2]);
                square[2 * line] = $low::<$n>(first, second);
                square[2 * line + 1] = $high::<$n>(first, second);
                line += 1;
            }
            shuffled *= 2;
        }
        square
    }};
}

/// Transposes a strip of rows, square by square, and prefetches the rows `$below` meanwhile.
/// `$place` returns the address of a column in a row of a lane.
macro_rules! squares {
    ($load:ident, $low:ident, $high:ident, $permute:ident, $store:ident, $n:ident, $e:ident, $table:expr, ($start:expr, $at:expr), $columns:expr, ($from:expr, $below:expr), $place:expr) => {{
        let place = $place;
        let mut column = 0;
        loop {
            if column * $n % LINE < $e * $n {
                for row in $below {
                    prefetch($from.wrapping_offset(*row).wrapping_add(column * $n));
                }
            }
            // SAFETY: the square lies inside the caller's matrix.
            unsafe {
                let read = |line: usize, lane: usize| place(column, line, lane);
                let square = square!($load, $low, $high, $permute, $n, $e, $table, read);
                let mut line = 0;
                while line < $e {
                    $store($start(column + line).add($at), square[line]);
                    line += 1;
                }
            }
            // The last square overlaps the previous one.
            if column + $e == $columns {
                break;
            }
            column = (column + $e).min($columns - $e);
        }
    }};
}

/// Defines a function that transposes matrices of units of `N` bytes with one instruction set. A
/// register has `$lanes` lanes of 16 bytes, and each lane transposes squares of `E` by `E` units.
///
/// The defined function is safe to call if the processor has the features, if there are at least
/// `E` columns and `E * $lanes` rows, and if every row may be read and every column written as a
/// whole.
macro_rules! transpose {
    ($name:ident, $features:literal, $lanes:literal, $load:ident, $low:ident, $high:ident, $permute:ident, $store:ident) => {
        #[target_feature(enable = $features)]
        pub(super) unsafe fn $name<const N: usize, const E: usize, const INNER: bool>(
            inner: &Inner,
            from: *const u8,
            (rows, ahead): (&[isize], bool),
            at: usize,
            columns: usize,
            start: impl Fn(usize) -> *mut u8,
        ) {
            // SAFETY: a table has the 16 bytes of a lane.
            let table = unsafe { $load(|_| inner.as_ptr()) };
            let height = E * $lanes;
            // A few rows are read through one address and the distance between two rows, and more
            // rows through an address for each.
            let pitch = if E <= 4 { super::columns::pitch(rows) } else { None };
            let mut lines: [*const u8; 16 * $lanes] = [from; 16 * $lanes];
            let mut row = 0;
            loop {
                for (line, offset) in lines.iter_mut().zip(&rows[row..row + height]) {
                    *line = from.wrapping_offset(*offset);
                }
                let first = lines[0];
                let below = rows.get(row + height..row + 2 * height).filter(|_| ahead);
                let below = below.unwrap_or_default();
                match pitch {
                    Some(pitch) => squares!(
                        $load,
                        $low,
                        $high,
                        $permute,
                        $store,
                        N,
                        E,
                        table,
                        (start, at + row * N),
                        columns,
                        (from, below),
                        |column: usize, line: usize, lane: usize| {
                            let lane = first.wrapping_offset((lane * E).cast_signed() * pitch);
                            lane.wrapping_add(column * N)
                                .wrapping_offset(line.cast_signed() * pitch)
                        }
                    ),
                    None => squares!(
                        $load,
                        $low,
                        $high,
                        $permute,
                        $store,
                        N,
                        E,
                        table,
                        (start, at + row * N),
                        columns,
                        (from, below),
                        |column: usize, line: usize, lane: usize| lines[line + lane * E]
                            .wrapping_add(column * N)
                    ),
                }
                if row + height == rows.len() {
                    break;
                }
                row = (row + height).min(rows.len() - height);
            }
        }
    };
}

/// Defines a function that transposes whole strips of rows with non-temporal stores. A strip fills
/// `SQUARES` registers, of `$lanes` lanes each, in every column.
///
/// The rows of a strip are read together, each by its own load instruction, so that hardware
/// prefetchers recognize them; the lines of the destination are written whole.
///
/// The defined function is safe to call if the processor has the features, if there are at least
/// `E` columns, and rows for whole strips, if every row may be read and every column written as a
/// whole, and if columns begin with cache lines.
macro_rules! strips {
    ($name:ident, $features:literal, $lanes:literal, $load:ident, $low:ident, $high:ident, $permute:ident, $store:ident) => {
        #[target_feature(enable = $features)]
        pub(super) unsafe fn $name<
            const N: usize,
            const E: usize,
            const INNER: bool,
            const SQUARES: usize,
        >(
            inner: &Inner,
            from: *const u8,
            rows: &[isize],
            at: usize,
            columns: usize,
            start: impl Fn(usize) -> *mut u8,
        ) {
            // SAFETY: a table has the 16 bytes of a lane.
            let table = unsafe { $load(|_| inner.as_ptr()) };
            let (height, width) = (SQUARES * $lanes * E, (columns * N).next_multiple_of(LINE));
            let (strips_ahead, bytes_ahead) =
                (ROW_PREFETCH_SRC_BYTES / width, ROW_PREFETCH_SRC_BYTES % width);
            // A strip that is one run of at most a page needs no prefetches, because hardware
            // prefetchers predict it.
            let run = matches!(rows, [first, second, ..] if second - first == width.cast_signed());
            let prefetches = !run || height * width > PAGE;
            let mut lines: [*const u8; LINE] = [from; LINE];
            for strip in 0..rows.len() / height {
                let rows = &rows[strip * height..];
                for (line, offset) in lines.iter_mut().zip(&rows[..height]) {
                    *line = from.wrapping_offset(*offset);
                }
                let below = |strips: usize| {
                    rows.get(strips * height..(strips + 1) * height).filter(|_| prefetches)
                };
                let (same, next) = (below(strips_ahead), below(strips_ahead + 1));
                let mut column = 0;
                loop {
                    if column * N % LINE < E * N {
                        let place = column * N / LINE * LINE;
                        let place = place + bytes_ahead;
                        let (rows_ahead, place) =
                            if place < width { (same, place) } else { (next, place - width) };
                        for row in rows_ahead.unwrap_or_default() {
                            prefetch(from.wrapping_offset(*row).wrapping_add(place));
                        }
                    }
                    // SAFETY: the squares lie inside the caller's matrix.
                    unsafe {
                        // A closure passed to an array constructor would not be inlined here.
                        macro_rules! read {
                            ($number:expr) => {
                                square!(
                                    $load,
                                    $low,
                                    $high,
                                    $permute,
                                    N,
                                    E,
                                    table,
                                    |line: usize, lane: usize| {
                                        lines[($number * $lanes + lane) * E + line].add(column * N)
                                    }
                                )
                            };
                        }
                        let mut squares = [read!(0); SQUARES];
                        let mut number = 1;
                        while number < SQUARES {
                            squares[number] = read!(number);
                            number += 1;
                        }
                        let mut line = 0;
                        while line < E {
                            let place = start(column + line).add(at + strip * height * N);
                            let mut square = 0;
                            while square < SQUARES {
                                $store(place.add(square * 16 * $lanes), squares[square][line]);
                                square += 1;
                            }
                            line += 1;
                        }
                    }
                    // The last squares overlap the previous ones.
                    if column + E == columns {
                        break;
                    }
                    column = (column + E).min(columns - E);
                }
            }
        }
    };
}

#[cfg(test)]
mod tests;
