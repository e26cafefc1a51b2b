//! [`Part`]: the copy of one contiguous range of the destination.
//!
//! A copy that is too large for the memory of a device is divided into smaller copies, the parts. A
//! part writes one contiguous range of the destination, but the elements that it reads may be
//! spread over the whole source. To keep the source side small too, the host packs only the rows
//! that the part reads into a buffer, and uploads that buffer.
//!
//! For example, a part of the transpose of `u8[8192,8192]` writes columns 0 to 127. It reads the
//! first 128 bytes of each of the 8192 rows. These bytes are packed at a *pitch*, the distance from
//! one packed row to the next, of 128 bytes: 1 MiB instead of 64.

use smallvec::{SmallVec, smallvec};

use super::{
    Affine, Bounds, CopyNest, Guard, LastRead, Quotient, Value, coalesce, numbers::signed, refine,
    widen,
};

/// The length, in bytes, below which a row counts as short. Short rows are packed only if packing
/// leaves out most of the source.
const SHORT_ROW: u64 = 64;

/// The minimum factor by which packing must shrink the data before short rows are packed. The
/// factor is the size of the contiguous range of the source that contains all rows of a part,
/// divided by the size of the packed rows.
const WORTH: u64 = 8;

/// A copy that writes one contiguous range of a destination. It reads rows of the source that were
/// packed into a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The copy that reads the packed rows and writes the range.
    pub nest: CopyNest,
    /// The rows of the source to pack.
    pub rows: Rows,
    /// The offset, in bits, of the range that the part writes, from the start of the destination.
    pub destination_bit: u64,
}

/// Rows of a source that are packed into a buffer one after the other.
///
/// Row `n` consists of [`bits`](Self::bits) bits of the source, starting at bit
/// [`first_bit(n)`](Self::first_bit). Its copy starts at byte `n · pitch` of the buffer. A row may
/// extend past either end of the source; the copy never reads the bits outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    /// The length of a row, in bits.
    pub bits: u64,
    /// The distance from the start of a packed row to the start of the next, in bytes.
    pub pitch: u64,
    first: i64,
    /// The loops that enumerate the rows, outermost first. Each has a number of steps, and the
    /// distance in the source from one step to the next, in bits.
    loops: SmallVec<[(u64, i64); 4]>,
}

impl Rows {
    /// Returns an empty set of rows, for a copy that reads nothing.
    fn none() -> Self {
        Self { bits: 0, pitch: 0, first: 0, loops: smallvec![(0, 0)] }
    }

    /// Returns the number of rows to pack.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.loops.iter().map(|&(count, _)| count).product()
    }

    /// Returns the first bit of row `row` in the source. The result is negative if the row starts
    /// before the source.
    #[must_use]
    pub fn first_bit(&self, row: u64) -> i64 {
        let mut rest = row;
        self.loops.iter().rev().fold(self.first, |bit, &(count, step)| {
            let at = signed(rest % count);
            rest /= count;
            bit + at * step
        })
    }
}

/// Returns the part of `nest` that executes only the steps in `ranges`, which has a first step and
/// a number of steps for each axis. These steps must write one contiguous range of the destination.
///
/// Returns `None` if the packed rows would exceed `max_source_bytes`.
pub(super) fn part(nest: &CopyNest, ranges: &[(u64, u64)], max_source_bytes: u64) -> Option<Part> {
    let (own, first) = restricted(nest, ranges);
    let mut own = coalesce(refine(own));
    let rows = pack(&mut own, max_source_bytes)?;
    let destination_bit = first * u64::from(nest.dst_bits);
    Some(Part { nest: widen(coalesce(refine(own))), rows, destination_bit })
}

/// Returns a copy that executes only the steps of `nest` in `ranges` and reads the whole source,
/// without packed rows. Also returns the offset, in bits, of the range of the destination that the
/// copy writes.
pub(crate) fn slab(nest: &CopyNest, ranges: &[(u64, u64)]) -> (CopyNest, u64) {
    let (own, first) = restricted(nest, ranges);
    (widen(coalesce(refine(own))), first * u64::from(nest.dst_bits))
}

/// Returns the nest restricted to `ranges`, and the first unit of the destination that it writes.
///
/// The restricted nest reads the whole source. Constants are removed from quotients and guards
/// where possible, so that the nests of different parts differ only in the source offset and can
/// share one kernel.
fn restricted(nest: &CopyNest, ranges: &[(u64, u64)]) -> (CopyNest, u64) {
    let mut own = nest.clone();
    let mut first = 0;
    for (axis, &(from, count)) in ranges.iter().enumerate() {
        first = first * nest.extents[axis] + from;
        own.extents[axis] = count;
        if from > 0 {
            let moved = Affine::value(Value::Axis(axis)).plus(signed(from), &Affine::constant(1));
            own.map(|form| {
                form.substitute(Value::Axis(axis), &moved);
            });
        }
    }
    let base = signed(first) + nest.dst_base;
    let start = base.max(0);
    let end = (base + signed(own.positions())).min(signed(nest.dst_units));
    own.dst_base = base - start;
    own.dst_units = (end - start).unsigned_abs();
    own.dst_bytes = (own.dst_units * u64::from(nest.dst_bits)).div_ceil(8);
    for number in 0..own.quotients.len() {
        let Quotient { of, by } = &own.quotients[number];
        let whole = Bounds::of_walk(&own).of(of).0.div_euclid(signed(*by));
        let rest = of.clone().plus(-whole * signed(*by), &Affine::constant(1));
        let value = Affine::value(Value::Quotient(number)).plus(whole, &Affine::constant(1));
        own.map(|form| {
            form.substitute(Value::Quotient(number), &value);
        });
        own.quotients[number].of = rest;
    }
    let bounds = Bounds::of_walk(&own);
    for guard in own.cases.iter_mut().flat_map(|case| &mut case.when) {
        simplify(guard, &bounds);
    }
    (own, start.unsigned_abs())
}

/// Replaces `guard` by a guard with the smallest possible constants, which is equivalent within
/// `bounds`.
fn simplify(guard: &mut Guard, bounds: &Bounds) {
    let (low, high) = bounds.of(&guard.of);
    let end = signed(guard.extent);
    if high < 0 || low >= end {
        *guard = Guard { of: Affine::constant(1), extent: 1 };
    } else if low > 0 {
        guard.of = std::mem::take(&mut guard.of).plus(-low, &Affine::constant(1));
        guard.extent -= low.unsigned_abs();
    } else if high < end {
        guard.extent = high.unsigned_abs() + 1;
    }
}

/// Changes the nest to read packed rows instead of the whole source, and returns these rows.
/// Returns `None` if the packed rows would exceed `max_bytes`.
///
/// The source offset is a sum over axes and quotients. Terms with large weights select the row, and
/// the others select the unit inside the row. As few terms as possible select the row, so that rows
/// are long.
fn pack(nest: &mut CopyNest, max_bytes: u64) -> Option<Rows> {
    let Some(bounds) = Bounds::of_reading(nest) else {
        nest.set_src(Affine::default());
        for source in &mut nest.sources {
            (source.units, source.bytes) = (0, 0);
            if let LastRead::Unit(_) = source.last_read {
                source.last_read = LastRead::Nothing;
            }
        }
        return Some(Rows::none());
    };
    let bits = u64::from(nest.src_bits);
    let moving = moving_terms(nest.src(), &bounds);
    let (outer_terms, pitch) = row_shape(&moving, bits, max_bytes)?;
    let (outer, inner) = moving.split_at(outer_terms);
    let length = u64::try_from(span(inner)).ok()?;
    // The offset of the lowest unit of a row, relative to the sum of the terms that select the row.
    let lowest: i64 = inner.iter().map(Moving::lowest).sum();
    let still: i64 = nest
        .src()
        .terms()
        .iter()
        .filter(|term| moving.iter().all(|moving| moving.value != term.0))
        .map(|&(value, weight)| weight * bounds.of_value(value).0)
        .sum();
    let first_row: i64 = outer.iter().map(|moving| moving.weight * moving.low).sum();
    let first = nest.src().offset() + still + lowest + first_row;
    // If this product overflows, the bounds are wider than the units that are read. The caller then
    // cuts the part further, which narrows the bounds.
    let in_bits = |units: i64| units.checked_mul(signed(bits));
    let loops = outer.iter().map(|moving| Some((moving.count, in_bits(moving.weight)?)));
    let loops = loops.collect::<Option<_>>()?;
    let rows = Rows { bits: length * bits, pitch, first: in_bits(first)?, loops };

    let mut src = Affine::constant(-lowest);
    let mut step = pitch * 8 / bits;
    for moving in outer.iter().rev() {
        let row = Affine::value(moving.value).plus(-moving.low, &Affine::constant(1));
        src = src.plus(signed(step), &row);
        step *= moving.count;
    }
    for moving in inner {
        src = src.plus(moving.weight, &Affine::value(moving.value));
    }
    nest.set_src(src);
    let source = &mut nest.sources[0];
    source.bytes = rows.count() * pitch;
    source.units = source.bytes * 8 / bits;
    if let LastRead::Unit(_) = source.last_read {
        source.last_read = LastRead::Unit(source.units - (pitch * 8 / bits) + length - 1);
    }
    Some(rows)
}

/// Returns the terms of the source offset that are not constant within `bounds`, by decreasing
/// weight.
fn moving_terms(src: &Affine, bounds: &Bounds) -> SmallVec<[Moving; 8]> {
    let mut moving: SmallVec<[Moving; 8]> = src
        .terms()
        .iter()
        .map(|&(value, weight)| {
            let (low, high) = bounds.of_value(value);
            Moving { value, weight, low, count: (high - low).unsigned_abs() + 1 }
        })
        .filter(|moving| moving.count > 1)
        .collect();
    moving.sort_by_key(|moving| std::cmp::Reverse(moving.weight.unsigned_abs()));
    moving
}

/// Divides the terms of the source offset into those that select a row and those that select a unit
/// inside the row. Returns the number of terms that select the row, which are the ones with the
/// largest weights, and the pitch of packed rows in bytes. Returns `None` if no division fits.
///
/// The number of terms is the smallest for which the packed rows fit in `max_bytes` and are long
/// enough. Short rows count as long enough if together they are much smaller than the range of the
/// source that contains them.
fn row_shape(moving: &[Moving], bits: u64, max_bytes: u64) -> Option<(usize, u64)> {
    let contiguous = span(moving) * u128::from(bits) / 8;
    (0..=moving.len()).find_map(|outer_terms| {
        let (outer, inner) = moving.split_at(outer_terms);
        let row = u64::try_from((span(inner) * u128::from(bits)).div_ceil(8)).ok()?;
        // Start rows at multiples of 16 bytes for wide loads, or at multiples of 4 bytes if rows
        // are so short that padding to 16 bytes would make them much longer.
        let align = if row < SHORT_ROW { 4 } else { 16 };
        let pitch = row.next_multiple_of(align);
        let packed = outer
            .iter()
            .fold(u128::from(pitch), |bytes, moving| bytes.saturating_mul(moving.count.into()));
        let worth = outer_terms == 0
            || row >= SHORT_ROW
            || packed.saturating_mul(WORTH.into()) <= contiguous;
        (packed <= u128::from(max_bytes) && worth).then_some((outer_terms, pitch))
    })
}

/// Returns the number of units from the lowest to the highest offset that the terms can give, both
/// included.
fn span(terms: &[Moving]) -> u128 {
    let steps =
        |moving: &Moving| u128::from(moving.weight.unsigned_abs()) * u128::from(moving.count - 1);
    terms.iter().map(steps).sum::<u128>() + 1
}

/// A term of the source offset that varies within a part.
struct Moving {
    value: Value,
    weight: i64,
    /// The minimum of the axis or quotient, over all reads of the part.
    low: i64,
    /// The number of values that the axis or quotient can have.
    count: u64,
}

impl Moving {
    /// Returns the minimum of the term, which is its weight times the value of its axis or
    /// quotient.
    fn lowest(&self) -> i64 {
        (self.weight * self.low).min(self.weight * (self.low + signed(self.count) - 1))
    }
}
