//! A run of a copy as a copy of its own, which reads its source from packed rows.

use smallvec::{SmallVec, smallvec};

use super::{
    Affine, Bounds, CopyNest, Guard, LastRead, Quotient, Value, coalesce, numbers::signed, refine,
    widen,
};

/// Rows of the source shorter than this, in bytes, are packed only where that leaves most of the source out.
const SHORT_ROW: u64 = 64;

/// Short rows are packed where they take this many times fewer bytes than the span of the source that they lie in.
const WORTH: u64 = 8;

/// A run of a copy's destination, with the rows of the source that it reads, as a copy of its own.
///
/// The nest copies from one image to another: the source is the rows, packed; the destination is the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The copy from the packed rows to the run.
    pub nest: CopyNest,
    /// The rows of the whole source.
    pub rows: Rows,
    /// Bits of the whole destination before the run.
    pub destination_bit: u64,
}

/// Rows of an image that are packed, each after the other.
///
/// Row `n` is [`bits`](Self::bits) bits of the image from [`first_bit`](Self::first_bit), and byte `n · pitch` of what is
/// packed is its first. A row may reach past either end of the image: what lies there is never read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Bits of a row.
    pub bits: u64,
    /// Bytes from one packed row to the next.
    pub pitch: u64,
    first: i64,
    /// Counts and steps in bits, the slowest first.
    loops: SmallVec<[(u64, i64); 4]>,
}

impl Rows {
    /// No rows.
    fn none() -> Self {
        Self { bits: 0, pitch: 0, first: 0, loops: smallvec![(0, 0)] }
    }

    /// Number of rows.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.loops.iter().map(|&(count, _)| count).product()
    }

    /// The first bit of a row in the image; below 0 where it reaches past the image's start.
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

/// The part of `nest` whose axes run over `ranges`, first position and count of each; these make one run of the walk.
///
/// `None` where the rows would pack to more than `max_source_bytes`.
pub(super) fn part(nest: &CopyNest, ranges: &[(u64, u64)], max_source_bytes: u64) -> Option<Part> {
    let (own, first) = restricted(nest, ranges);
    let mut own = coalesce(refine(own));
    let rows = pack(&mut own, max_source_bytes)?;
    let destination_bit = first * u64::from(nest.dst_bits);
    Some(Part { nest: widen(coalesce(refine(own))), rows, destination_bit })
}

/// The slab of `nest` over these ranges, which reads the whole source, and the bits of the destination before it.
pub(super) fn slab(nest: &CopyNest, ranges: &[(u64, u64)]) -> (CopyNest, u64) {
    let (own, first) = restricted(nest, ranges);
    (widen(coalesce(refine(own))), first * u64::from(nest.dst_bits))
}

/// The nest over these ranges, and the first unit of the destination that it writes.
///
/// Its source is still the whole one. Constants are taken out of quotients and guards where they can be, so that parts of
/// one form differ in the source's offset alone.
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

/// Writes a guard with the least numbers that decide the same within these bounds.
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

/// Makes the nest read packed rows in the place of the whole source, and returns the rows; `None` where they would pack
/// to more than `max_bytes`.
///
/// The source's offset is a sum over axes and quotients. Those of the greatest weights number the rows, the rest walk
/// inside a row. As few as possible number rows, so that rows are long.
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
    // The lowest unit of a row, counted from where the row's outer terms lead.
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
    // Overflow here means that the bounds are wider than what is read: a part of fewer positions has narrower ones.
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

/// The terms of the source's offset that take more than one value where the nest reads, those of the greatest weight
/// first.
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

/// How many terms number the rows, and the bytes from one packed row to the next.
///
/// The fewest terms with which the rows pack to at most `max_bytes`, and with which rows are not short, unless packing
/// leaves most of the source out.
fn row_shape(moving: &[Moving], bits: u64, max_bytes: u64) -> Option<(usize, u64)> {
    let contiguous = span(moving) * u128::from(bits) / 8;
    (0..=moving.len()).find_map(|outer_terms| {
        let (outer, inner) = moving.split_at(outer_terms);
        let row = u64::try_from((span(inner) * u128::from(bits)).div_ceil(8)).ok()?;
        // Rows start where loads of several units may, unless that would make them much longer. A row of wider units is
        // a multiple of them already.
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

/// Units from the lowest to the highest that these terms lead to.
fn span(terms: &[Moving]) -> u128 {
    let steps =
        |moving: &Moving| u128::from(moving.weight.unsigned_abs()) * u128::from(moving.count - 1);
    terms.iter().map(steps).sum::<u128>() + 1
}

/// An axis or a quotient that moves the source's offset.
struct Moving {
    value: Value,
    weight: i64,
    /// The least value where the nest reads, and how many values there are.
    low: i64,
    count: u64,
}

impl Moving {
    /// The least that it adds to the offset.
    fn lowest(&self) -> i64 {
        (self.weight * self.low).min(self.weight * (self.low + signed(self.count) - 1))
    }
}
