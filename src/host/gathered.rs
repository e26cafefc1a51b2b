//! Runs gathers: nests that look up the source of every position or row, such as `table[ids]` and
//! `jnp.take`.
//!
//! If such a nest were divided into *boxes*, ranges of loop steps that read at constant strides,
//! each row would be a box of its own. Instead, every *form* of the nest, an affine expression of
//! the loops, is evaluated for 256 rows at a time, as a column of numbers (`columns`). The rows are
//! then copied one by one.
//!
//! A *position* is an iteration of the whole nest. It takes its value, a unit of a source or a
//! constant, from the first *case* that applies.

use std::ops::Range;

use rayon::prelude::*;
use smallvec::SmallVec;

use super::{
    columns::{LANES, RowValues, column},
    lane::{Lane, is_narrow},
    simd::{gather_units, vectorized},
    stream::{LINE, prefetch_byte},
    tables::{SourceTable, outer_axes},
    tile::copy_run,
    windows,
};
use crate::nest::{Affine, Case, CaseValue, CopyNest, Depends, Gaps, Lookup, Value, signed};

/// The approximate number of bytes of the destination that one thread fills at a time.
pub(super) const GATHER_SHARE_BYTES: usize = 256 << 10;

/// The number of rows between the row that is stored and the row that is prefetched meanwhile.
const ROWS_AHEAD: usize = 8;
/// The size of the longest row that is prefetched, in bytes. Rows of 256 bytes in a table of 2 MiB
/// are stored at 1.5 times the rate, and rows of 1 KiB are not faster (Intel Xeon, model 207).
const MAX_AHEAD_BYTES: usize = 512;

/// The entry for a row to which no case applies. Other entries are indices of cases.
pub(super) const NO_CASE: u8 = u8::MAX;

/// Fills the destination, if every case of the nest depends on a lookup and whole rows can be
/// copied.
///
/// A row is the whole innermost axis if no lookup depends on that axis, as in `table[ids]`.
/// Otherwise a row is one unit. Returns false and writes nothing for any other nest, which is
/// better copied box by box.
pub(super) fn fill(nest: &CopyNest, sources: &[&[u8]], destination: &mut [u8]) -> bool {
    let Some(GatherPlan { row, is_whole, narrow, outer }) = GatherPlan::of(nest) else {
        return false;
    };
    let unit = nest.dst_bits() as usize / 8;
    let first = nest.dst_base().unsigned_abs() as usize;
    let rows = (GATHER_SHARE_BYTES / (row * unit)).max(1);
    let gathered = Gathered { nest, sources, row, is_whole, unit };
    if let Some(outer) = outer {
        let table = if narrow { SourceTable::new::<i32> } else { SourceTable::new::<i64> };
        table(&gathered, outer).fill(&gathered, destination);
        return true;
    }
    destination.par_chunks_mut(rows * row * unit).enumerate().for_each(|(share, out)| {
        let first = first + share * rows * row;
        if narrow {
            gathered.share::<i32>(first, out);
        } else {
            gathered.share::<i64>(first, out);
        }
    });
    true
}

/// Describes, as text for people, how [`fill`] copies a nest. Returns `None` if it does not.
pub(super) fn plan(nest: &CopyNest) -> Option<String> {
    let GatherPlan { row, narrow, outer, .. } = GatherPlan::of(nest)?;
    let bytes = row * nest.dst_bits() as usize / 8;
    let lanes = if narrow { 32 } else { 64 };
    let around = nest.extents().iter();
    let table = outer.map(|outer| {
        format!("; one table of places for {} steps", around.take(outer).product::<u64>())
    });
    let table = table.unwrap_or_default();
    Some(format!("rows of {bytes} bytes, whose places are computed in {lanes} bits{table}\n"))
}

/// The way in which [`fill`] copies a nest.
struct GatherPlan {
    /// The number of units in a row.
    row: usize,
    /// True if a row is the whole innermost axis, and false if it is one unit.
    is_whole: bool,
    /// True if 32-bit integers hold all numbers of the nest.
    narrow: bool,
    /// The number of outer axes that share a table of places, if there is one.
    outer: Option<usize>,
}

impl GatherPlan {
    /// Returns `None` for a nest that is better copied box by box.
    fn of(nest: &CopyNest) -> Option<Self> {
        let (row, is_whole) = row(nest)?;
        let unit = nest.dst_bits() / 8;
        let fits = nest.cases().len() < usize::from(NO_CASE)
            && nest.keeps_units()
            && nest.dst_bits().is_multiple_of(8)
            && nest.dst_base() <= 0
            && nest.dst_base().unsigned_abs().is_multiple_of(row as u64)
            && nest.dst_units().is_multiple_of(row as u64)
            && nest.dst_bytes() == nest.dst_units() * u64::from(unit);
        let shares_table = row == 1 && nest.gaps() == Gaps::Fill && nest.is_exact();
        let outer = if shares_table { outer_axes(nest) } else { None };
        fits.then(|| Self { row, is_whole, narrow: is_narrow(nest), outer })
    }
}

/// Returns true if signed 64-bit integers can hold every number that the lookups of a nest compute.
/// Only unsigned types of more than 32 bits have larger numbers.
pub(super) fn has_lanes(nest: &CopyNest) -> bool {
    let mut numbers = nest.lookups().iter().flat_map(|lookup| &lookup.numbers);
    numbers.all(|number| number.integer.bits <= 32 || number.integer.is_signed)
}

/// Returns the number of units in a row, and true if a row is the whole innermost axis. Returns
/// `None` if the nest is better copied box by box.
fn row(nest: &CopyNest) -> Option<(usize, bool)> {
    let inner = nest.extents().len().checked_sub(1)?;
    if !has_lanes(nest) {
        return None;
    }
    // If some positions are read without a lookup, the nest is better copied box by box.
    let mut guard_looks_up = false;
    for Case { when, take } in nest.cases() {
        guard_looks_up |= Depends::of(nest, when.iter().map(|guard| &guard.of)).looks_up();
        match take {
            CaseValue::Read { at, .. }
                if !guard_looks_up && !Depends::of(nest, [at]).looks_up() =>
            {
                return None;
            }
            _ => {}
        }
    }
    if nest.forms_except_reads().all(|form| form.weight(Value::Axis(inner)) == 0) {
        return nest.whole_row().map(|row| (row as usize, true));
    }
    // A row is a single unit only if the lookups depend on the innermost axis. Otherwise the nest
    // is better copied box by box.
    let depends = Depends::of(nest, nest.lookups().iter().flat_map(Lookup::forms));
    depends.axes[inner].then_some((1, false))
}

/// A nest and its images, to be filled row by row. See [`fill`] for the meaning of a row.
pub(super) struct Gathered<'a> {
    pub(super) nest: &'a CopyNest,
    pub(super) sources: &'a [&'a [u8]],
    /// The number of units in a row.
    pub(super) row: usize,
    /// True if a row is the whole innermost axis, and false if it is one unit.
    pub(super) is_whole: bool,
    /// The size of a unit, in bytes.
    pub(super) unit: usize,
}

impl Gathered<'_> {
    /// Fills the rows of one share, the part of the destination that a thread fills at a time.
    /// `first` is the number of the loop iteration that fills the first unit of `out`.
    fn share<L: Lane>(&self, first: usize, out: &mut [u8]) {
        let bytes = self.row * self.unit;
        let mut digits = self.digits(first as u64);
        let mut columns = RowValues::<L>::new(self.nest, self.sources);
        let mut values = column();
        for out in out.chunks_mut(LANES * bytes) {
            let rows = out.len() / bytes;
            columns.start(&mut digits, self.is_whole, rows);
            self.rows(&mut columns, &mut values[..rows], out);
        }
    }

    /// Returns the step of each axis at a position.
    fn digits(&self, position: u64) -> SmallVec<[i64; 8]> {
        let mut digits: SmallVec<[i64; 8]> = SmallVec::new();
        let mut rest = position;
        for &extent in self.nest.extents().iter().rev() {
            digits.push(signed(rest % extent));
            rest /= extent;
        }
        digits.reverse();
        digits
    }

    /// Visits the first `positions` positions in groups of up to [`LANES`], and calls `each` once
    /// for each group and each case of the nest.
    ///
    /// The arguments of `each` are the first position of the group, the index of the case that
    /// applies to each position, the index of the case of this call, and the unit that each
    /// position would read by this case. The units are arbitrary numbers for positions to which
    /// another case applies, and for a case with a constant.
    pub(super) fn each_case<L: Lane>(
        &self,
        positions: usize,
        mut each: impl FnMut(usize, &[u8], u8, &[L]),
    ) {
        let mut digits: SmallVec<[i64; 8]> = SmallVec::from_elem(0, self.nest.extents().len());
        let mut columns = RowValues::<L>::new(self.nest, self.sources);
        let mut values = column();
        for first in (0..positions).step_by(LANES) {
            let rows = (positions - first).min(LANES);
            columns.start(&mut digits, false, rows);
            let mut case_of = [NO_CASE; LANES];
            self.decide(&mut columns, &mut values[..rows], &mut case_of[..rows]);
            for (case, number) in self.nest.cases().iter().zip(0..) {
                if let CaseValue::Read { at, .. } = &case.take {
                    columns.form(at, &mut values[..rows]);
                }
                each(first, &case_of[..rows], number, &values[..rows]);
            }
        }
    }

    /// Raises entry `at` of a table of 32-bit numbers to `number`, at every position to which a
    /// case applies. Evaluates both forms for [`LANES`] positions at a time.
    pub(super) fn mark<L: Lane>(&self, at: &Affine, number: &Affine, destination: &mut [u8]) {
        let (table, _) = destination.as_chunks_mut::<4>();
        let positions = self.nest.positions() as usize;
        let (place, number_of) = (at, number);
        let mut digits: SmallVec<[i64; 8]> = SmallVec::from_elem(0, self.nest.extents().len());
        let mut columns = RowValues::<L>::new(self.nest, self.sources);
        let [mut at, mut numbers] = [column(), column()];
        for first in (0..positions).step_by(LANES) {
            let rows = (positions - first).min(LANES);
            columns.start(&mut digits, false, rows);
            let mut case_of = [NO_CASE; LANES];
            self.decide(&mut columns, &mut at[..rows], &mut case_of[..rows]);
            columns.form(place, &mut at[..rows]);
            columns.form(number_of, &mut numbers[..rows]);
            let marked = case_of.iter().zip(&at).zip(&numbers).take(rows);
            for ((_, at), number) in marked.filter(|((case, _), _)| **case != NO_CASE) {
                windows::raise(table, at.number(), number.number());
            }
        }
    }

    /// Stores the given rows at their places `at` in the destination, [`LANES`] rows at a time.
    /// `out` is the part of the destination that starts at unit `start`, and has all these places.
    pub(super) fn scatter<L: Lane>(
        &self,
        at: &Affine,
        all: Range<usize>,
        start: usize,
        out: &mut [u8],
    ) {
        let mut digits = self.digits((all.start * self.row) as u64);
        let mut columns = RowValues::<L>::new(self.nest, self.sources);
        let [mut places, mut units] = [column(), column()];
        let bytes = self.row * self.unit;
        for first in all.clone().step_by(LANES) {
            let rows = (all.end - first).min(LANES);
            columns.start(&mut digits, self.is_whole, rows);
            let mut case_of = [NO_CASE; LANES];
            self.decide(&mut columns, &mut units[..rows], &mut case_of[..rows]);
            columns.form(at, &mut places[..rows]);
            let place = |row: usize| places[row].unit_index().wrapping_sub(start);
            for (case, number) in self.nest.cases().iter().zip(0..) {
                let own = (0..rows).filter(|&row| case_of[row] == number);
                match &case.take {
                    CaseValue::Bits(bits) => {
                        let bits = bits.to_le_bytes();
                        for row in own {
                            let to = place(row) * self.unit;
                            let units = out[to..to + bytes].chunks_exact_mut(self.unit);
                            units.for_each(|to| to.copy_from_slice(&bits[..self.unit]));
                        }
                    }
                    CaseValue::Read { source, at } => {
                        columns.form(at, &mut units[..rows]);
                        let source = self.sources[*source];
                        for row in own {
                            if row + ROWS_AHEAD < rows && bytes <= MAX_AHEAD_BYTES {
                                prefetch(
                                    out,
                                    place(row + ROWS_AHEAD).wrapping_mul(self.unit),
                                    bytes,
                                );
                            }
                            let to = place(row) * self.unit;
                            let from = units[row].unit_index() * self.unit;
                            copy_run(&mut out[to..to + bytes], &source[from..from + bytes]);
                        }
                    }
                }
            }
        }
    }

    /// Finds the first case that applies to each row of the group in `columns`, and stores its
    /// index in `case_of`. The caller must have filled `case_of` with [`NO_CASE`]. `values` is
    /// scratch memory.
    fn decide<L: Lane>(&self, columns: &mut RowValues<L>, values: &mut [L], case_of: &mut [u8]) {
        for (case, number) in self.nest.cases().iter().zip(0..) {
            let mut of_case = [1; LANES];
            for guard in &case.when {
                columns.form(&guard.of, values);
                let (none, extent) = (L::default(), L::of(signed(guard.extent)));
                let (of_case, values) = (&mut of_case, &*values);
                vectorized(move || {
                    for (holds, &value) in of_case.iter_mut().zip(values) {
                        *holds &= u8::from(none <= value) & u8::from(value < extent);
                    }
                });
            }
            let of_rows = &mut *case_of;
            vectorized(move || {
                for (case_of, holds) in of_rows.iter_mut().zip(&of_case) {
                    let takes = *holds & u8::from(*case_of == NO_CASE);
                    *case_of = if takes == 0 { *case_of } else { number };
                }
            });
            if !case_of.contains(&NO_CASE) {
                break;
            }
        }
    }

    /// Writes the group of rows that `columns` describes to `out`. `values` is scratch memory with
    /// one number for each row.
    fn rows<L: Lane>(&self, columns: &mut RowValues<L>, values: &mut [L], out: &mut [u8]) {
        let mut of_all = [NO_CASE; LANES];
        let case_of = &mut of_all[..values.len()];
        self.decide(columns, values, case_of);
        for (case, number) in self.nest.cases().iter().zip(0..) {
            if !case_of.contains(&number) {
                continue;
            }
            match &case.take {
                CaseValue::Bits(bits) => self.bits(*bits, |row| case_of[row] == number, out),
                CaseValue::Read { source, at } => {
                    columns.form(at, values);
                    let source = self.sources[*source];
                    let other = |others: u8, of: &u8| others | (of ^ number);
                    if vectorized(|| case_of.iter().fold(0, other)) == 0 {
                        self.copy(source, values, None, out);
                    } else {
                        self.copy(source, values, Some((case_of, number)), out);
                    }
                }
            }
        }
        if self.nest.gaps() == Gaps::Fill && case_of.contains(&NO_CASE) {
            self.bits(0, |row| case_of[row] == NO_CASE, out);
        }
    }

    /// Writes a constant to all units of the rows for which `takes` is true.
    pub(super) fn bits(&self, bits: u128, takes: impl Fn(usize) -> bool, out: &mut [u8]) {
        let bytes = bits.to_le_bytes();
        match (self.row, self.unit) {
            (1, 1) => return set::<1>(bytes, takes, out),
            (1, 2) => return set::<2>(bytes, takes, out),
            (1, 4) => return set::<4>(bytes, takes, out),
            (1, 8) => return set::<8>(bytes, takes, out),
            _ => {}
        }
        for (row, out) in out.chunks_exact_mut(self.row * self.unit).enumerate() {
            if takes(row) {
                let units = out.chunks_exact_mut(self.unit);
                units.for_each(|to| to.copy_from_slice(&bytes[..self.unit]));
            }
        }
    }

    /// Copies the rows of one case: `of_case` is the index of the case of each row, together with
    /// the case to copy. If it is `None`, all rows are copied. Row `n` starts at unit `units[n]` of
    /// the source.
    fn copy<L: Lane>(
        &self,
        source: &[u8],
        units: &[L],
        of_case: Option<(&[u8], u8)>,
        out: &mut [u8],
    ) {
        let takes = |row: usize| of_case.is_none_or(|(case_of, case)| case_of[row] == case);
        if self.row == 1 {
            let done = match self.unit {
                1 => follow::<1, L>(source, units, &takes, out),
                2 => follow::<2, L>(source, units, &takes, out),
                4 => follow::<4, L>(source, units, &takes, out),
                8 => follow::<8, L>(source, units, &takes, out),
                _ => follow::<16, L>(source, units, &takes, out),
            };
            if done {
                return;
            }
            // Indices of 32 bits are those of a table already. A negative one is too large.
            if size_of::<L>() == size_of::<u32>() && of_case.is_none() {
                return gather(self.unit, source, bytemuck::cast_slice(units), out);
            }
            return copy_units(self.unit, source, out, |row| {
                takes(row).then(|| units[row].unit_index())
            });
        }
        let bytes = self.row * self.unit;
        for (row, out) in out.chunks_exact_mut(bytes).enumerate() {
            if takes(row) {
                let first = units[row].unit_index() * self.unit;
                copy_run(out, &source[first..first + bytes]);
            }
        }
    }
}

/// Prefetches the lines of a row of `bytes` bytes, which starts at `first` and is stored soon.
/// Hardware prefetchers cannot predict the places of scattered rows.
fn prefetch(out: &[u8], first: usize, bytes: usize) {
    (0..bytes).step_by(LINE).for_each(|at| prefetch_byte(out, first.saturating_add(at)));
}

/// Writes a constant to the units of `BYTES` bytes for which `takes` is true.
fn set<const BYTES: usize>(bits: [u8; 16], takes: impl Fn(usize) -> bool, out: &mut [u8]) {
    let bits = *bits.first_chunk::<BYTES>().expect("a unit");
    for (row, out) in out.as_chunks_mut::<BYTES>().0.iter_mut().enumerate() {
        *out = if takes(row) { bits } else { *out };
    }
}

/// Copies a unit of `unit` bytes to each place of `out`. `places` has its index in the source.
pub(super) fn gather(unit: usize, source: &[u8], places: &[u32], out: &mut [u8]) {
    match unit {
        1 => gather_units::<u8>(source, places, out),
        2 => gather_units::<u16>(source, places, out),
        4 => gather_units::<u32>(source, places, out),
        8 => gather_units::<u64>(source, places, out),
        _ => gather_units::<u128>(source, places, out),
    }
}

/// Copies units of `unit` bytes, one for each row. `place` returns the index of the source unit for
/// a row, or `None` if the row keeps its contents.
pub(super) fn copy_units(
    unit: usize,
    source: &[u8],
    out: &mut [u8],
    place: impl Fn(usize) -> Option<usize>,
) {
    match unit {
        1 => each::<1>(source, out, place),
        2 => each::<2>(source, out, place),
        4 => each::<4>(source, out, place),
        8 => each::<8>(source, out, place),
        _ => each::<16>(source, out, place),
    }
}

/// Copies units of `BYTES` bytes, as [`copy_units`] does. A branch for each row would often be
/// mispredicted. To avoid it, a row without a unit loads the first unit of the source, and stores
/// its old contents.
fn each<const BYTES: usize>(source: &[u8], out: &mut [u8], place: impl Fn(usize) -> Option<usize>) {
    let (source, _) = source.as_chunks::<BYTES>();
    if source.is_empty() {
        return; // No row can take a unit.
    }
    for (row, out) in out.as_chunks_mut::<BYTES>().0.iter_mut().enumerate() {
        let place = place(row);
        let unit = source[place.unwrap_or(0)];
        *out = if place.is_some() { unit } else { *out };
    }
}

/// Copies units of `BYTES` bytes if they are consecutive in the source, which is the most frequent
/// order. Returns false and writes nothing otherwise.
fn follow<const BYTES: usize, L: Lane>(
    source: &[u8],
    units: &[L],
    takes: &impl Fn(usize) -> bool,
    out: &mut [u8],
) -> bool {
    let (out, _) = out.as_chunks_mut::<BYTES>();
    let first = units.first().map_or(0, |first| first.unit_index());
    let other =
        move |other: usize, (n, at): (usize, &L)| other | (at.unit_index() ^ first.wrapping_add(n));
    let follows = |units: &[L]| vectorized(|| units.iter().enumerate().fold(0, other)) == 0;
    if !(follows(&units[..units.len().min(8)]) && follows(units)) {
        return false;
    }
    let source = source.as_chunks::<BYTES>().0;
    let Some(source) = source.get(first..first.saturating_add(out.len())) else { return false };
    for (row, (out, unit)) in out.iter_mut().zip(source).enumerate() {
        *out = if takes(row) { *unit } else { *out };
    }
    true
}
