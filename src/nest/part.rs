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
//!
//! A nest of a program may have several sources, cases and lookups. Then the rows of all cases are
//! packed one after the other into one buffer, whatever sources they come from. The integers that
//! lookups load are packed into one more buffer for each of their widths.

use smallvec::SmallVec;

use super::{
    Affine, Bounds, Case, CaseValue, CopyNest, Depends, Guard, LastRead, LookupExpr, Quotient,
    Source, Value, coalesce, known::drop_unused_lookups, numbers::ACCESS_BYTES, numbers::signed,
    refine, widen,
};

/// The length, in bytes, below which a row counts as short. Short rows are packed only if packing
/// leaves out most of the source.
const SHORT_ROW: u64 = 64;

/// The minimum factor by which packing must shrink the data before short rows are packed. The
/// factor is the size of the contiguous range of the source that contains all rows of a part,
/// divided by the size of the packed rows.
const WORTH: u64 = 8;

/// A copy that writes one contiguous range of a destination. It reads rows of the sources that were
/// packed into buffers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The copy that reads the packed rows and writes the range.
    pub nest: CopyNest,
    /// The rows to pack into the buffer of each source of [`nest`](Self::nest).
    pub sources: SmallVec<[Vec<Rows>; 1]>,
    /// The offset, in bits, of the range that the part writes, from the start of the destination.
    pub destination_bit: u64,
}

/// Rows of a source that are packed into a buffer one after the other.
///
/// Row `n` consists of [`bits`](Self::bits) bits of the source, starting at bit
/// [`first_bit(n)`](Self::first_bit). Its copy starts at byte `place + n · pitch` of the buffer. A
/// row may extend past either end of the source; the copy never reads the bits outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    /// The source of the whole copy to which the rows belong.
    pub source: usize,
    /// The offset of the first packed row in the buffer, in bytes.
    pub place: u64,
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

    /// Returns the offset of the end of the last packed row in the buffer, in bytes.
    fn end(&self) -> u64 {
        self.place + self.count() * self.pitch
    }
}

/// The source of which a part would read too much. The caller cuts the part further.
pub(super) struct TooWide {
    pub(super) source: usize,
}

/// Returns the part of `nest` that executes only the steps in `ranges`, which has a first step and
/// a number of steps for each axis. These steps must write one contiguous range of the destination.
///
/// # Errors
///
/// Returns an error if the packed rows would exceed `max_source_bytes` in one of the buffers.
pub(super) fn part(
    nest: &CopyNest,
    ranges: &[(u64, u64)],
    max_source_bytes: u64,
) -> Result<Part, TooWide> {
    let (own, first) = restricted(nest, ranges);
    let mut own = coalesce(refine(own));
    if own.refusals().is_none() {
        own = without_dead_cases(own);
    }
    let sources = pack(&mut own, max_source_bytes)?;
    let destination_bit = first * u64::from(nest.dst_bits);
    Ok(Part { nest: widen(coalesce(refine(own))), sources, destination_bit })
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

/// Drops the cases that apply to no position, and the lookups that only these cases use.
fn without_dead_cases(mut nest: CopyNest) -> CopyNest {
    let lives = |case: &Case| Bounds::of_case(&nest, case).is_some();
    let mut lives = nest.cases.iter().map(lives).collect::<SmallVec<[bool; 8]>>().into_iter();
    nest.cases.retain(|_| lives.next() == Some(true));
    nest = refine(nest);
    drop_unused_lookups(&mut nest);
    nest
}

/// A place in a nest from which a source is read, with the bounds of all positions that read there.
struct Read {
    place: ReadPlace,
    source: usize,
    bounds: Bounds,
}

/// A case that copies units, or a number of a lookup that is loaded.
enum ReadPlace {
    Case(usize),
    Load { lookup: usize, number: usize },
}

impl ReadPlace {
    /// Returns the source that is read, and the offset in it.
    fn of<'a>(&self, nest: &'a mut CopyNest) -> Option<(&'a mut usize, &'a mut Affine)> {
        match *self {
            Self::Case(case) => match &mut nest.cases[case].take {
                CaseValue::Read { source, at } => Some((source, at)),
                CaseValue::Bits(_) => None,
            },
            Self::Load { lookup, number } => match &mut nest.lookups[lookup].numbers[number].of {
                LookupExpr::Load { source, at } => Some((source, at)),
                _ => None,
            },
        }
    }
}

/// Returns all reads of a nest by cases, except by those that apply to no position.
fn case_reads(nest: &CopyNest) -> Vec<Read> {
    let read = |(number, case): (usize, &Case)| {
        let CaseValue::Read { source, ref at } = case.take else { return None };
        let bounds = Bounds::of_reading(nest, &case.when.iter(), source, at)?;
        Some(Read { place: ReadPlace::Case(number), source, bounds })
    };
    nest.cases.iter().enumerate().filter_map(read).collect()
}

/// Returns all loads of a nest by lookups, each with the width of the loaded integers in bits.
///
/// The guards of a case that are computed from lookups do not bound the loads, because the loads
/// come first.
fn loads(nest: &CopyNest) -> Vec<(u32, Read)> {
    let forms = |case: &Case| {
        let at = match &case.take {
            CaseValue::Read { at, .. } => Some(at.clone()),
            CaseValue::Bits(_) => None,
        };
        let forms: Vec<Affine> = case.when.iter().map(|guard| guard.of.clone()).chain(at).collect();
        Depends::of(nest, &forms)
    };
    let depends: Vec<Depends> = nest.cases.iter().map(forms).collect();
    let plain = |guard: &&Guard| !Depends::of(nest, [&guard.of]).looks_up();
    let mut loads = Vec::new();
    for (lookup, of) in nest.lookups.iter().enumerate() {
        for (number, loaded) in of.numbers.iter().enumerate() {
            let LookupExpr::Load { source, ref at } = loaded.of else { continue };
            let cases = nest.cases.iter().zip(&depends).filter(|(_, uses)| uses.lookups[lookup]);
            let bounds = cases.filter_map(|(case, _)| {
                Bounds::of_reading(nest, &case.when.iter().filter(plain), source, at)
            });
            let bounds = bounds.reduce(Bounds::hull).unwrap_or_else(|| Bounds::of_walk(nest));
            let place = ReadPlace::Load { lookup, number };
            loads.push((loaded.integer.bits_in_memory(), Read { place, source, bounds }));
        }
    }
    loads
}

/// Changes the nest to read packed rows instead of the whole sources, and returns these rows, a
/// list for each buffer. The first buffer has the rows of all cases, if any case reads. The others
/// have the integers of lookups.
fn pack(nest: &mut CopyNest, max_bytes: u64) -> Result<SmallVec<[Vec<Rows>; 1]>, TooWide> {
    let reads = case_reads(nest);
    let loads = loads(nest);
    let mut widths: SmallVec<[u32; 4]> = loads.iter().map(|&(bits, _)| bits).collect();
    widths.sort_unstable();
    widths.dedup();
    // Lowering knows the last read of every source. The parts of any other nest have no proof either.
    let is_lowered = nest.sources.iter().all(|source| source.last_read != LastRead::Unknown);
    let (sources, rows) = (SmallVec::new(), SmallVec::new());
    let mut packer = Packer { nest, is_lowered, max_bytes, sources, rows };
    if packer.nest.cases.iter().any(Case::reads) {
        packer.move_dead_reads();
        packer.pack(packer.nest.src_bits, &reads.iter().collect::<SmallVec<[&Read; 8]>>())?;
    }
    for bits in widths {
        let of_width = loads.iter().filter(|&&(width, _)| width == bits);
        packer.pack(bits, &of_width.map(|(_, read)| read).collect::<SmallVec<[&Read; 8]>>())?;
    }
    let Packer { sources, rows, .. } = packer;
    nest.sources = sources;
    Ok(rows)
}

/// The state of [`pack`]: the nest, and the buffers that were packed so far.
struct Packer<'a> {
    nest: &'a mut CopyNest,
    /// True if the last read of every source is known.
    is_lowered: bool,
    max_bytes: u64,
    sources: SmallVec<[Source; 1]>,
    rows: SmallVec<[Vec<Rows>; 1]>,
}

impl Packer<'_> {
    /// Lets every case that reads at no position read the start of the first buffer. The guards of
    /// such a case never hold.
    fn move_dead_reads(&mut self) {
        for number in 0..self.nest.cases.len() {
            let case = &self.nest.cases[number];
            let CaseValue::Read { source, at } = &case.take else { continue };
            if Bounds::of_reading(self.nest, &case.when.iter(), *source, at).is_none() {
                self.nest.cases[number].take = CaseValue::Read { source: 0, at: Affine::default() };
            }
        }
    }

    /// Packs the rows of `reads` into the next buffer. A unit has `bits` bits.
    fn pack(&mut self, bits: u32, reads: &[&Read]) -> Result<(), TooWide> {
        let buffer = self.sources.len();
        let bits = u64::from(bits);
        let max_bytes = match reads.len() as u64 {
            0 | 1 => self.max_bytes,
            count => self.max_bytes / count / ACCESS_BYTES * ACCESS_BYTES,
        };
        let mut rows = Vec::<Rows>::new();
        let mut last_read = if self.is_lowered { LastRead::Nothing } else { LastRead::Unknown };
        for Read { place, source, bounds } in reads {
            let start = rows.last().map_or(0, Rows::end).next_multiple_of(ACCESS_BYTES);
            let Some((read, at)) = place.of(self.nest) else { continue };
            let packed = packed(at, bounds, bits, max_bytes).ok_or(TooWide { source: *source })?;
            let (mut own, offset) = packed;
            (own.source, own.place) = (*source, start);
            *read = buffer;
            *at = offset.plus(signed(start * 8 / bits), &Affine::constant(1));
            let last_row = own.end() - own.pitch;
            if self.is_lowered {
                last_read = LastRead::Unit((last_row * 8 + own.bits) / bits - 1);
            }
            rows.push(own);
        }
        let bytes = rows.last().map_or(0, Rows::end);
        self.sources.push(Source { units: bytes * 8 / bits, bytes, last_read });
        self.rows.push(rows);
        Ok(())
    }
}

/// Returns the rows that contain all units which a read at the offset `src` may read within
/// `bounds`, and the offset of the read in the packed rows. Returns `None` if the packed rows would
/// exceed `max_bytes`.
///
/// The source offset is a sum over axes, quotients and lookups. Terms with large weights select the
/// row, and the others select the unit inside the row. As few terms as possible select the row, so
/// that rows are long.
fn packed(src: &Affine, bounds: &Bounds, bits: u64, max_bytes: u64) -> Option<(Rows, Affine)> {
    let moving = moving_terms(src, bounds);
    let (outer_terms, pitch) = row_shape(&moving, bits, max_bytes)?;
    let (outer, inner) = moving.split_at(outer_terms);
    let length = u64::try_from(span(inner)).ok()?;
    // The offset of the lowest unit of a row, relative to the sum of the terms that select the row.
    let lowest: i64 = inner.iter().map(Moving::lowest).sum();
    let still: i64 = src
        .terms()
        .iter()
        .filter(|term| moving.iter().all(|moving| moving.value != term.0))
        .map(|&(value, weight)| weight * bounds.of_value(value).0)
        .sum();
    let first_row: i64 = outer.iter().map(|moving| moving.weight * moving.low).sum();
    let first = src.offset() + still + lowest + first_row;
    // If this product overflows, the bounds are wider than the units that are read. The caller then
    // cuts the part further, which narrows the bounds.
    let in_bits = |units: i64| units.checked_mul(signed(bits));
    let loops = outer.iter().map(|moving| Some((moving.count, in_bits(moving.weight)?)));
    let loops = loops.collect::<Option<_>>()?;
    let (source, place) = (0, 0);
    let rows = Rows { source, place, bits: length * bits, pitch, first: in_bits(first)?, loops };

    let mut offset = Affine::constant(-lowest);
    let mut step = pitch * 8 / bits;
    for moving in outer.iter().rev() {
        let row = Affine::value(moving.value).plus(-moving.low, &Affine::constant(1));
        offset = offset.plus(signed(step), &row);
        step *= moving.count;
    }
    for moving in inner {
        offset = offset.plus(moving.weight, &Affine::value(moving.value));
    }
    Some((rows, offset))
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
    /// The minimum of the axis, quotient or lookup, over all reads of the part.
    low: i64,
    /// The number of values that the axis, quotient or lookup can have.
    count: u64,
}

impl Moving {
    /// Returns the minimum of the term, which is its weight times the value of its axis, quotient
    /// or lookup.
    fn lowest(&self) -> i64 {
        (self.weight * self.low).min(self.weight * (self.low + signed(self.count) - 1))
    }
}
