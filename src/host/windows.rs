//! Runs nests that visit the *windows* of a scatter, which are its updates, instead of their
//! destination, as [`Scattered`] describes. A *position* is an iteration of such a nest.

use std::ops::Range;

use rayon::prelude::*;

use super::{
    gathered::{GATHER_SHARE_BYTES, Gathered, NO_CASE, has_lanes},
    lane::is_narrow,
    machine::Machine,
    run::fill,
};
use crate::nest::{Affine, CaseValue, CopyNest, Lookup, Scattered, Value};

/// Runs a nest that visits windows. Units have at least 4 bytes.
pub(super) fn scatter(
    nest: &CopyNest,
    scattered: &Scattered,
    sources: &[&[u8]],
    destination: &mut [u8],
) {
    if !has_lanes(nest) || nest.cases().len() >= usize::from(NO_CASE) {
        return scatter_each(nest, scattered, sources, destination);
    }
    let Some(number) = &scattered.number else {
        let bytes = nest.positions() * u64::from(nest.dst_bits() / 8);
        let is_large = bytes >= 2 * GATHER_SHARE_BYTES as u64;
        if is_large && nest.lookups().iter().all(Lookup::is_constant) {
            return one_window(&nest.clone().with_constants_from(sources), sources, destination);
        }
        let rows = by_rows(nest, sources);
        let all = 0..nest.positions() as usize / rows.row;
        return store(&rows, &scattered.at, all, 0, destination);
    };
    let gathered = Gathered { nest, sources, row: 1, is_whole: false, unit: 4 };
    if is_narrow(nest) {
        gathered.mark::<i32>(&scattered.at, number, destination);
    } else {
        gathered.mark::<i64>(&scattered.at, number, destination);
    }
}

/// Returns a nest with its images, to be stored row by row. A row is the whole innermost axis if
/// possible, and otherwise one unit.
fn by_rows<'a>(nest: &'a CopyNest, sources: &'a [&'a [u8]]) -> Gathered<'a> {
    let whole = nest.whole_row();
    let row = whole.unwrap_or(1).max(1) as usize;
    Gathered { nest, sources, row, is_whole: whole.is_some(), unit: nest.dst_bits() as usize / 8 }
}

/// Stores rows at the places `at`. `out` is the part of the destination that starts at unit
/// `start`.
fn store(rows: &Gathered, at: &Affine, all: Range<usize>, start: usize, out: &mut [u8]) {
    if is_narrow(rows.nest) {
        rows.scatter::<i32>(at, all, start, out);
    } else {
        rows.scatter::<i64>(at, all, start, out);
    }
}

/// Stores a large window, after the lookups that give its place have been replaced by constants. If
/// its elements lie in another order in the source than in the destination, they are first copied
/// to a buffer in the order of the loops, which is that of the destination. Then threads store the
/// rows.
fn one_window(nest: &CopyNest, sources: &[&[u8]], destination: &mut [u8]) {
    let Some(Scattered { at, .. }) = nest.scattered() else { return };
    let covers = nest.cases().last().is_some_and(|case| case.when.is_empty());
    let inner = Value::Axis(nest.extents().len().saturating_sub(1));
    if nest.whole_row().is_none() && covers && at.weight(inner) == 1 {
        let [dense, stored] = nest.through_walk();
        let mut image = vec![0; dense.dst_bytes() as usize];
        fill(Machine::here(), &dense, sources, &mut image);
        return in_shares(&stored, &[&image], destination);
    }
    in_shares(nest, sources, destination);
}

/// Stores the rows of a nest in parallel if their places ascend, so that the destination can be cut
/// at the places of rows. Otherwise stores them in sequence.
fn in_shares(nest: &CopyNest, sources: &[&[u8]], destination: &mut [u8]) {
    let Some(Scattered { at, .. }) = nest.scattered() else { return };
    let rows = by_rows(nest, sources);
    let (row, unit) = (rows.row, rows.unit);
    let count = nest.positions() as usize / row;
    if !ascends(nest, at) {
        return store(&rows, at, 0..count, 0, destination);
    }
    let place =
        |number: usize| nest.position((number * row) as u64, None).form(at).unsigned_abs() as usize;
    let step = (GATHER_SHARE_BYTES / (row * unit)).max(1);
    let mut shares: Vec<(Range<usize>, usize, &mut [u8])> = Vec::new();
    let (mut rest, mut start) = (destination, 0);
    for first in (0..count).step_by(step) {
        let next = place(first);
        let (before, after) = rest.split_at_mut((next - start) * unit);
        if let Some(last) = shares.last_mut() {
            last.2 = before;
        }
        shares.push((first..(first + step).min(count), next, &mut []));
        (rest, start) = (after, next);
    }
    if let Some(last) = shares.last_mut() {
        last.2 = rest;
    }
    shares.into_par_iter().for_each(|(all, start, out)| store(&rows, at, all, start, out));
}

/// Returns true if each position stores to a later place than the position before it: one step of
/// an axis moves further than all steps of the axes inside it together.
fn ascends(nest: &CopyNest, at: &Affine) -> bool {
    let mut inside = 0_i64;
    let is_of_axes = at.terms().iter().all(|(value, _)| matches!(value, Value::Axis(_)));
    let mut axes = nest.extents().iter().enumerate().rev();
    is_of_axes
        && axes.all(|(axis, &extent)| {
            let weight = at.weight(Value::Axis(axis));
            let passes = extent == 1 || weight > inside;
            let steps = i64::try_from(extent - 1).unwrap_or(i64::MAX);
            inside = inside.saturating_add(weight.saturating_mul(steps));
            passes
        })
}

/// Runs a nest that visits windows, position by position.
fn scatter_each(nest: &CopyNest, scattered: &Scattered, sources: &[&[u8]], destination: &mut [u8]) {
    let unit = nest.dst_bits() as usize / 8;
    for position in 0..nest.positions() {
        let at = nest.position(position, Some(sources));
        let Some(case) = at.first(nest.cases()) else { continue };
        let place = at.form(&scattered.at);
        if let Some(number) = &scattered.number {
            raise(destination.as_chunks_mut::<4>().0, place, at.form(number));
            continue;
        }
        let to = place.unsigned_abs() as usize * unit;
        let to = &mut destination[to..to + unit];
        match &nest.cases()[case].take {
            CaseValue::Bits(bits) => to.copy_from_slice(&bits.to_le_bytes()[..unit]),
            CaseValue::Read { source, at: form } => {
                let from = at.form(form).unsigned_abs() as usize * unit;
                to.copy_from_slice(&sources[*source][from..from + unit]);
            }
        }
    }
}

/// Stores a number at entry `place` of a table, unless the entry is already greater.
pub(super) fn raise(table: &mut [[u8; 4]], place: i64, number: i64) {
    let entry = &mut table[place.unsigned_abs() as usize];
    *entry = u32::from_le_bytes(*entry).max(number.unsigned_abs() as u32).to_le_bytes();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Operation;

    #[test]
    fn places_ascend_if_outer_steps_pass_all_inner_ones() {
        let [from, to] = ["u8[3,4]", "u8[3,4]{0,1}"].map(|text| text.parse().expect("a shape"));
        let operation = Operation::relayout(from, to).expect("a relayout");
        assert_eq!(operation.nest().extents(), [4, 3]);
        let ascends = |outer: i64, inner: i64| {
            let axis = |number| Affine::value(Value::Axis(number));
            let at = Affine::constant(7).plus(outer, &axis(0)).plus(inner, &axis(1));
            ascends(operation.nest(), &at)
        };
        assert!(ascends(3, 1) && ascends(100, 40));
        assert!(!ascends(2, 1) && !ascends(1, 4) && !ascends(5, 0) && !ascends(-9, 1));
    }
}
