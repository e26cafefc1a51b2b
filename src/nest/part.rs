use smallvec::{SmallVec, smallvec};

use super::{
    Affine, CopyNest, Digit, Guard, Value, coalesce, numbers::signed, refine, spans::Spans, widen,
};

/// Rows of the source shorter than this, in bytes, are packed only where that leaves most of the source out.
const SHORT_ROW: u64 = 64;

/// How many times less the rows take than the span they lie in, to make short ones worth their copies.
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
/// Its source is still the whole one. Constants are taken out of digits and guards where they can be, so that parts of
/// one form differ in the source's offset alone.
fn restricted(nest: &CopyNest, ranges: &[(u64, u64)]) -> (CopyNest, u64) {
    let mut own = nest.clone();
    let mut first = 0;
    for (axis, &(from, count)) in ranges.iter().enumerate() {
        first = first * nest.extents[axis] + from;
        own.extents[axis] = count;
        if from > 0 {
            let moved = Affine::value(Value::Axis(axis)).plus(signed(from), &Affine::constant(1));
            own.map(|form| form.substitute(Value::Axis(axis), &moved));
        }
    }
    let base = signed(first) + nest.dst_base;
    let start = base.max(0);
    let end = (base + signed(own.cells())).min(signed(nest.dst_elements));
    own.dst_base = base - start;
    own.dst_elements = (end - start).unsigned_abs();
    own.dst_bytes = (own.dst_elements * u64::from(nest.dst_bits)).div_ceil(8);
    for digit in 0..own.digits.len() {
        let Digit { of, by } = &own.digits[digit];
        let whole = Spans::of_box(&own).of(of).0.div_euclid(signed(*by));
        let rest = of.clone().plus(-whole * signed(*by), &Affine::constant(1));
        let value = Affine::value(Value::Digit(digit)).plus(whole, &Affine::constant(1));
        own.map(|form| form.substitute(Value::Digit(digit), &value));
        own.digits[digit].of = rest;
    }
    let spans = Spans::of_box(&own);
    for guard in &mut own.guards {
        let (low, high) = spans.of(&guard.of);
        let end = signed(guard.extent);
        if high < 0 || low >= end {
            *guard = Guard { of: Affine::constant(1), extent: 1, cell: guard.cell };
        } else if low > 0 {
            guard.of = std::mem::take(&mut guard.of).plus(-low, &Affine::constant(1));
            guard.extent -= low.unsigned_abs();
        } else if high < end {
            guard.extent = high.unsigned_abs() + 1;
        }
    }
    (own, start.unsigned_abs())
}

/// Makes the nest read packed rows in the place of the whole source, and returns the rows.
///
/// The source's offset is a sum over axes and digits. Those of the greatest weights number the rows, the rest walk
/// inside one: as few as possible do the first, so that rows are long.
fn pack(nest: &mut CopyNest, max_bytes: u64) -> Option<Rows> {
    let Some(spans) = Spans::of_reading(nest) else {
        nest.src = Affine::default();
        (nest.src_elements, nest.src_bytes, nest.src_last) = (0, 0, None);
        return Some(Rows::none());
    };
    let bits = u64::from(nest.src_bits);
    let mut moving: SmallVec<[Moving; 8]> = nest
        .src
        .terms()
        .iter()
        .map(|&(value, weight)| {
            let (low, high) = spans.of_value(value);
            Moving { value, weight, low, count: (high - low).unsigned_abs() + 1 }
        })
        .filter(|moving| moving.count > 1)
        .collect();
    moving.sort_by_key(|moving| std::cmp::Reverse(moving.weight.unsigned_abs()));
    let span = |inside: &[Moving]| -> u128 {
        let steps = |moving: &Moving| {
            u128::from(moving.weight.unsigned_abs()) * u128::from(moving.count - 1)
        };
        inside.iter().map(steps).sum::<u128>() + 1
    };
    let contiguous = span(&moving) * u128::from(bits) / 8;
    let (outside, pitch) = (0..=moving.len()).find_map(|outside| {
        let row = u64::try_from((span(&moving[outside..]) * u128::from(bits)).div_ceil(8)).ok()?;
        // Rows start where loads of several units may, unless that would make them much longer. A row of wider units is
        // a multiple of them already.
        let align = if row < SHORT_ROW { 4 } else { 16 };
        let pitch = row.next_multiple_of(align);
        let packed = moving[..outside]
            .iter()
            .fold(u128::from(pitch), |bytes, moving| bytes.saturating_mul(moving.count.into()));
        let worth =
            outside == 0 || row >= SHORT_ROW || packed.saturating_mul(WORTH.into()) <= contiguous;
        (packed <= u128::from(max_bytes) && worth).then_some((outside, pitch))
    })?;
    let (outer, inner) = moving.split_at(outside);
    let length = u64::try_from(span(inner)).ok()?;
    // The lowest unit that each row holds, counted from the row's own place.
    let lowest: i64 = inner.iter().map(Moving::lowest).sum();
    let fixed = |of: &Affine| {
        let still =
            of.terms().iter().filter(|term| moving.iter().all(|moving| moving.value != term.0));
        still.map(|&(value, weight)| weight * spans.of_value(value).0).sum::<i64>()
    };
    let constant = nest.src.offset() + fixed(&nest.src);
    let first =
        constant + lowest + outer.iter().map(|moving| moving.weight * moving.low).sum::<i64>();
    // What is no place of the source in bits is one that no cell reads: fewer cells read less.
    let in_bits = |units: i64| units.checked_mul(signed(bits));
    let loops = outer.iter().map(|moving| Some((moving.count, in_bits(moving.weight)?)));
    let (first, loops) = (in_bits(first)?, loops.collect::<Option<_>>()?);
    let rows = Rows { bits: length * bits, pitch, first, loops };
    let mut src = Affine::constant(-lowest);
    let mut step = pitch * 8 / bits;
    for moving in outer.iter().rev() {
        let value = Affine::value(moving.value).plus(-moving.low, &Affine::constant(1));
        src = src.plus(signed(step), &value);
        step *= moving.count;
    }
    nest.src =
        inner.iter().fold(src, |src, moving| src.plus(moving.weight, &Affine::value(moving.value)));
    nest.src_bytes = rows.count() * pitch;
    nest.src_elements = nest.src_bytes * 8 / bits;
    nest.src_last = Some(nest.src_elements - (pitch * 8 / bits) + length - 1);
    Some(rows)
}

/// An axis or a digit that moves the source's offset.
struct Moving {
    value: Value,
    weight: i64,
    /// The least value where a cell reads, and how many there are.
    low: i64,
    count: u64,
}

impl Moving {
    /// The least that it adds to the offset.
    fn lowest(&self) -> i64 {
        (self.weight * self.low).min(self.weight * (self.low + signed(self.count) - 1))
    }
}
