//! [`Assembly`]: builds a nest case by case.
//!
//! To find the copy that a program performs, the compiler loops over the memory of the program's
//! result. For the element at each place, the compiler traces the index backwards through the
//! instructions, until the index reaches a source or a constant. All places are handled at once,
//! because an index is not a number but an [`Index`], an affine expression of the loop counters
//! with its bounds. An instruction such as `concatenate` takes some places from one operand and the
//! others from another. A [`WalkRegion`] therefore records the conditions, called guards, that
//! select the places for which the index is valid. When the index reaches a source or constant
//! bits, the region becomes an entry of the nest's list of [cases](Case).
//!
//! A *walk* is the order of these loops, which visits the memory of the result by address, and a
//! *unit* is one element, or a part of one, that a kernel moves at a time. The [module](super) has
//! an example.

use smallvec::SmallVec;

use super::{
    Affine, Bounds, Case, CaseValue, Conversion, CopyNest, Gaps, Guard, LastRead, Lookup,
    NestError, Operand, Quotient, Source, Value,
    bounds::{Interval, Magnitude, check_range},
    build::{elements, padding_case},
    in_place::in_place,
    index::Index,
    numbers::{LIMIT, signed},
    scattered::Scattered,
    walk::walk,
};
use crate::stride::{Coordinate, Coordinates, Forward, StrideDescriptor, Undo};

/// The default limit on the number of cases. A program that needs more computes some values into
/// scratch buffers first.
pub(crate) const MAX_CASES: usize = 64;
/// The default limit on the number of quotients in a nest.
const MAX_QUOTIENTS: usize = 32;
/// The limit on the number of lookups in a nest.
pub(crate) const MAX_LOOKUPS: usize = 32;

/// A nest under construction: the loops are complete, and the caller adds the cases.
#[derive(Debug)]
pub(crate) struct Assembly {
    nest: CopyNest,
    most_cases: usize,
    most_quotients: usize,
    /// The greatest magnitude of each quotient. From these, the assembly finds out if an expression
    /// can overflow, before it computes the bounds of the expression.
    reach: Magnitude,
    /// The case that fills the padding of the destination. It is added after all others.
    padding: Option<Case>,
}

/// A set of places in the destination that are handled together: the places at which all guards
/// hold and no earlier case applies.
#[derive(Clone, Debug)]
pub(crate) struct WalkRegion {
    guards: Vec<Guard>,
    bounds: Bounds,
}

/// The places of the destination that hold an element, and the index of the element at each place.
pub(crate) type WalkStart = (WalkRegion, Coordinates<Index>);

/// A region cut in two by a guard on one coordinate of an index. Each half comes with this
/// coordinate again, but with the narrower bounds that hold in the half.
pub(crate) struct RegionSplit {
    /// The half in which the guard holds; `None` if it never holds.
    pub(crate) inside: Option<(WalkRegion, Index)>,
    /// The half in which the guard fails; `None` if it always holds. This half has no guard of its
    /// own, so its cases must be added after the cases of `inside`.
    pub(crate) outside: Option<(WalkRegion, Index)>,
}

impl Assembly {
    /// Starts a nest that visits the memory of a destination and has no cases yet. Also returns the
    /// places that hold an element, and the index of the element at each; `None` if the destination
    /// has no elements.
    ///
    /// # Errors
    ///
    /// Returns an error if elements of the destination overlap or interleave in memory, or if a
    /// size or a coefficient is too large.
    pub(crate) fn new(
        destination: &StrideDescriptor,
    ) -> Result<(Self, Option<WalkStart>), NestError> {
        let (dst_units, prefix) = elements(Operand::Destination, destination)?;
        let walk = walk(destination, prefix + destination.base_offset(), dst_units)?;
        let nest = CopyNest {
            extents: walk.extents,
            quotients: walk.quotients,
            lookups: vec![],
            sources: SmallVec::new(),
            cases: SmallVec::new(),
            gaps: Gaps::Fill,
            dst_base: walk.dst_base,
            dst_units,
            dst_bytes: destination.image_bytes(),
            src_bits: destination.element_bits(),
            dst_bits: destination.element_bits(),
            sign_extend: destination.element_type().is_signed_integer(),
            conversion: None,
            scattered: None,
        };
        let padding = padding_case(&walk.guards, destination.padding());
        let (most_cases, most_quotients, mut reach) =
            (MAX_CASES, MAX_QUOTIENTS, Magnitude::default());
        for quotient in &nest.quotients {
            reach.add(&nest, quotient)?;
        }
        for form in walk.guards.iter().map(|(guard, _)| &guard.of).chain(&walk.index) {
            reach.check(&nest, Operand::Destination, form)?;
        }
        let assembly = Self { nest, most_cases, most_quotients, reach, padding };
        if dst_units == 0 || destination.sizes().contains(&0) {
            return Ok((assembly, None));
        }
        let extents = assembly.nest.extents.iter();
        let bounds = Bounds::of_axes(extents.map(|&extent| (0, signed(extent) - 1)));
        let guards = walk.guards.into_iter().map(|(guard, _)| guard).collect();
        let mut region = WalkRegion { guards, bounds };
        assembly.extend(&mut region);
        for number in 0..region.guards.len() {
            let Guard { of, extent } = region.guards[number].clone();
            let last = signed(extent) - 1;
            if region.bounds.assume(&assembly.nest.quotients, &of, 0, last).is_none() {
                return Ok((assembly, None));
            }
        }
        let index = walk.index.into_iter().zip(destination.sizes()).map(|(form, &size)| {
            let interval = region.bounds.of(&form);
            Index { form, low: 0, high: signed(size) - 1 }.cut(interval)
        });
        let index = index.collect();
        Ok((assembly, Some((region, index))))
    }

    /// Sets the limit on the number of cases.
    pub(crate) fn allow_cases(&mut self, most: usize) {
        self.most_cases = most;
    }

    /// Sets the limit on the number of quotients.
    pub(super) fn allow_quotients(&mut self, most: usize) {
        self.most_quotients = most;
    }

    /// Adds a source whose elements are copied, and returns its index in the nest's list of
    /// sources.
    ///
    /// # Errors
    ///
    /// Returns an error if the source is too large, if its prefix is not a whole number of
    /// elements, or if its element width differs from the other sources that cases read.
    pub(crate) fn source(&mut self, descriptor: &StrideDescriptor) -> Result<usize, NestError> {
        let (operand, given) =
            (Operand::Source(self.nest.sources.len()), descriptor.element_bits());
        let (units, _) = elements(operand, descriptor)?;
        let is_first = !self.nest.cases.iter().any(Case::reads);
        if is_first {
            self.nest.src_bits = given;
        } else if given != self.nest.src_bits {
            return Err(NestError::Widths { operand, given, expected: self.nest.src_bits });
        }
        Ok(self.add_source(units, descriptor.image_bytes()))
    }

    fn add_source(&mut self, units: u64, bytes: u64) -> usize {
        self.nest.sources.push(Source { units, bytes, last_read: LastRead::Nothing });
        self.nest.sources.len() - 1
    }

    /// Adds a source from which lookups load integers, and returns its index in the nest's list of
    /// sources.
    ///
    /// # Errors
    ///
    /// Returns an error if the source is too large.
    pub(crate) fn number_source(
        &mut self,
        descriptor: &StrideDescriptor,
    ) -> Result<usize, NestError> {
        let (units, _) = elements(Operand::Source(self.nest.sources.len()), descriptor)?;
        Ok(self.add_source(units, descriptor.image_bytes()))
    }

    /// Returns the offset of the element at `index` in `source`, in elements. A lookup loads this
    /// element, an integer, for the places of `region`, so the offset is recorded as read.
    ///
    /// # Errors
    ///
    /// Returns an error if a coefficient exceeds 2^60, or there are too many quotients.
    ///
    /// # Panics
    ///
    /// Panics if `index` may lie outside the source, which means that the instructions are invalid.
    pub(crate) fn load(
        &mut self,
        region: &mut WalkRegion,
        source: usize,
        descriptor: &StrideDescriptor,
        index: Coordinates<Index>,
    ) -> Result<Affine, NestError> {
        let at = self.place(region, descriptor, index)?;
        self.reads(source, &at);
        Ok(at.form)
    }

    /// Adds an integer that is loaded at run time, unless the nest already has an equal one.
    /// Returns the integer as an index.
    ///
    /// # Errors
    ///
    /// Returns an error if there are too many lookups.
    pub(crate) fn lookup(&mut self, lookup: Lookup) -> Result<Index, NestError> {
        let high = signed(lookup.last);
        let known = self.nest.lookups.iter().position(|known| *known == lookup);
        let number = match known {
            Some(number) => number,
            None if self.nest.lookups.len() == MAX_LOOKUPS => {
                return Err(NestError::Bound { what: "lookups", limit: MAX_LOOKUPS });
            }
            None => {
                self.nest.lookups.push(lookup);
                self.nest.lookups.len() - 1
            }
        };
        Ok(Index { form: Affine::value(Value::Lookup(number)), low: 0, high })
    }

    /// Splits a region in two: inside, `low <= index < end`; outside, the index has another value.
    /// The cases of the inside must be added first, because the outside has no guard that excludes
    /// the inside.
    ///
    /// # Errors
    ///
    /// Returns an error if the index may exceed 2^60 at some position of the walk.
    pub(crate) fn split_region(
        &self,
        region: &WalkRegion,
        index: &Index,
        low: u64,
        end: u64,
    ) -> Result<RegionSplit, NestError> {
        self.check(&index.form)?;
        let (low, end) = (signed(low), signed(end));
        let mut inside = region.clone();
        self.extend(&mut inside);
        let index = index.clone().cut(inside.bounds.of(&index.form));
        if index.low >= end || index.high < low || low >= end {
            return Ok(RegionSplit { inside: None, outside: Some((inside, index)) });
        }
        let (below, above) = (index.low < low, index.high >= end);
        if !below && !above {
            return Ok(RegionSplit { inside: Some((inside, index)), outside: None });
        }
        let quotients = &self.nest.quotients;
        // Outside, the index lies in an interval that is narrower than before only if no value of
        // it is below `low`, or none is past `end`.
        let (first, last) = match (below, above) {
            (true, true) => (index.low, index.high),
            (true, false) => (index.low, low - 1),
            (false, _) => (end, index.high),
        };
        let mut outside = inside.clone();
        let left = outside.bounds.assume(quotients, &index.form, first, last);
        let outside = left.map(|()| {
            let bounds = outside.bounds.of(&index.form);
            let index = index.clone().cut((first, last)).cut(bounds);
            (outside, index)
        });
        let shift = if below { low } else { 0 };
        let of = index.form.clone().plus(-shift, &Affine::constant(1));
        let guard = Guard { of, extent: (end - shift).unsigned_abs() };
        inside.guards.push(guard);
        let entered = inside.bounds.assume(quotients, &index.form, low, end - 1);
        let inside = entered.map(|()| {
            let bounds = inside.bounds.of(&index.form);
            let index = index.cut((low, end - 1)).cut(bounds);
            (inside, index)
        });
        Ok(RegionSplit { inside, outside })
    }

    /// Returns `⌊index / by⌋` and the remainder. The index must not be negative.
    ///
    /// # Errors
    ///
    /// Returns an error if the index may exceed 2^60 at some position of the walk, or if there are
    /// too many quotients.
    pub(crate) fn divide(
        &mut self,
        region: &mut WalkRegion,
        index: &Index,
        by: u64,
    ) -> Result<[Index; 2], NestError> {
        self.check(&index.form)?;
        self.extend(region);
        let step = signed(by);
        let (first, last) = (index.low.div_euclid(step), index.high.div_euclid(step));
        let quotient = if first == last {
            Affine::constant(first)
        } else if let Some(form) = index.form.divide(step, |value| region.bounds.of_value(value)) {
            form
        } else {
            let quotient = Quotient { of: index.form.clone(), by };
            let known = self.nest.quotients.iter().position(|known| *known == quotient);
            let number = match known {
                Some(number) => number,
                None if self.nest.quotients.len() >= self.most_quotients => {
                    let limit = self.most_quotients;
                    return Err(NestError::Bound { what: "quotients", limit });
                }
                None => {
                    self.reach.add(&self.nest, &quotient)?;
                    self.nest.quotients.push(quotient);
                    self.nest.quotients.len() - 1
                }
            };
            Affine::value(Value::Quotient(number))
        };
        self.extend(region);
        let rest = index.form.clone().checked_plus(-step, &quotient).ok_or(PAST_LIMIT)?;
        let rests = if first == last {
            (index.low - first * step, index.high - first * step)
        } else {
            (0, step - 1)
        };
        let in_region = |form: Affine, (low, high): Interval| {
            let interval = region.bounds.of(&form);
            Index { form, low, high }.cut(interval)
        };
        Ok([in_region(quotient, (first, last)), in_region(rest, rests)])
    }

    /// Adds a case: each place of the region gets the element of `source` at `index`.
    ///
    /// # Errors
    ///
    /// Returns an error if there are too many cases, or a coefficient exceeds 2^60.
    ///
    /// # Panics
    ///
    /// Panics if `index` may lie outside the source, which means that the instructions are invalid.
    pub(crate) fn read(
        &mut self,
        mut region: WalkRegion,
        source: usize,
        descriptor: &StrideDescriptor,
        index: Coordinates<Index>,
    ) -> Result<(), NestError> {
        let at = self.place(&mut region, descriptor, index)?;
        self.reads(source, &at);
        self.case(region, CaseValue::Read { source, at: at.form })
    }

    /// Returns the offset of the element at `index` in the memory of `descriptor`, in elements.
    fn place(
        &mut self,
        region: &mut WalkRegion,
        descriptor: &StrideDescriptor,
        index: Coordinates<Index>,
    ) -> Result<Index, NestError> {
        for (index, &size) in index.iter().zip(descriptor.sizes()) {
            assert!(index.low >= 0 && index.high < signed(size), "an index of the tensor");
        }
        let mut values = index;
        descriptor.forward(&mut CoordinateBuilder { assembly: self, region }, &mut values)?;
        let prefix = descriptor.prefix_elements().expect("a source's prefix is checked");
        let mut at = Index::constant(prefix + descriptor.base_offset());
        for axis in descriptor.axes() {
            if descriptor.extents()[axis.coordinate] > 1 {
                at = at.plus(axis.stride, &values[axis.coordinate]).ok_or(PAST_LIMIT)?;
            }
        }
        self.check(&at.form)?;
        self.extend(region);
        let bounds = region.bounds.of(&at.form);
        Ok(at.cut(bounds))
    }

    /// Returns the coordinates of the element at `index` along the axes of `descriptor`, from major
    /// to minor. The offset of the element is the base offset plus the sum of the coordinates times
    /// the strides of the axes.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`divide`](Self::divide).
    pub(crate) fn along_axes(
        &mut self,
        region: &mut WalkRegion,
        descriptor: &StrideDescriptor,
        index: &[Index],
    ) -> Result<Vec<Index>, NestError> {
        let mut values = index.iter().cloned().collect();
        descriptor.forward(&mut CoordinateBuilder { assembly: self, region }, &mut values)?;
        Ok(descriptor.axes().iter().map(|axis| values[axis.coordinate].clone()).collect())
    }

    /// Returns the index of the element that has the given coordinates along the axes, the opposite
    /// of [`along_axes`](Self::along_axes). Returns `None` if some of the places may be padding. If
    /// an expression of the result also occurs in `known`, it takes the bounds from there, because
    /// they may be narrower.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`divide`](Self::divide).
    pub(crate) fn at_axes(
        &mut self,
        region: &mut WalkRegion,
        descriptor: &StrideDescriptor,
        places: Vec<Index>,
        known: &[Index],
    ) -> Result<Option<Vec<Index>>, NestError> {
        let count = descriptor.extents().len();
        let mut values: Coordinates<Index> = (0..count).map(|_| Index::constant(0)).collect();
        for (axis, place) in descriptor.axes().iter().zip(places) {
            values[axis.coordinate] = place;
        }
        descriptor.undo(&mut CoordinateBuilder { assembly: self, region }, &mut values)?;
        self.extend(region);
        let mut index = Vec::with_capacity(values.len());
        for (value, &size) in values.into_iter().zip(descriptor.sizes()) {
            self.check(&value.form)?;
            let bounds = region.bounds.of(&value.form);
            let same = known.iter().find(|known| known.form == value.form);
            let value = same.cloned().unwrap_or(value).cut(bounds);
            if value.low < 0 || value.high >= signed(size) {
                return Ok(None);
            }
            index.push(value);
        }
        Ok(Some(index))
    }

    /// Records that a case or a lookup reads a source at the offset `at`, in order to know the last
    /// unit that the kernel reads from each source.
    fn reads(&mut self, source: usize, at: &Index) {
        let last = at.high.unsigned_abs();
        let seen = &mut self.nest.sources[source].last_read;
        *seen = match *seen {
            LastRead::Unit(earlier) => LastRead::Unit(earlier.max(last)),
            _ => LastRead::Unit(last),
        };
    }

    /// Adds a case: each place of the region is filled with `bits`.
    ///
    /// # Errors
    ///
    /// Returns an error if there are too many cases.
    pub(crate) fn bits(&mut self, region: WalkRegion, bits: u128) -> Result<(), NestError> {
        let mask = u128::MAX >> (128 - self.nest.dst_bits);
        self.case(region, CaseValue::Bits(bits & mask))
    }

    /// Turns the nest into one that copies nothing, and stores [marks](Scattered) in a table of
    /// `places` 32-bit numbers.
    pub(crate) fn mark_table(&mut self, places: u64) {
        self.nest = self.nest.clone().scattering(places, places * 4);
        self.padding = None;
    }

    /// Turns the nest of a scatter's updates into one that stores them in `destination`. The caller
    /// must then call [`store_at`](Self::store_at), before it adds cases.
    ///
    /// # Errors
    ///
    /// Returns an error if the destination is too large, or if its prefix is not a whole number of
    /// elements.
    pub(crate) fn scatter_into(&mut self, destination: &StrideDescriptor) -> Result<(), NestError> {
        let (units, _) = elements(Operand::Destination, destination)?;
        self.nest = self.nest.clone().scattering(units, destination.image_bytes());
        self.padding = None;
        Ok(())
    }

    /// Sets the place to which the nest of a scatter stores each update: the place of the element
    /// at `index` of `destination`.
    ///
    /// # Errors
    ///
    /// Returns an error if a coefficient exceeds 2^60, or there are too many quotients.
    ///
    /// # Panics
    ///
    /// Panics if `index` may lie outside the destination.
    pub(crate) fn store_at(
        &mut self,
        region: &mut WalkRegion,
        destination: &StrideDescriptor,
        index: Coordinates<Index>,
    ) -> Result<(), NestError> {
        let at = self.place(region, destination, index)?.form;
        self.nest.scattered = Some(Scattered { at, number: None });
        Ok(())
    }

    /// Adds the only case of a nest that makes a table of [marks](Scattered): for each place of a
    /// destination, the number of the last update that covers it. In each iteration of the region,
    /// `number` is stored at the entry `at` of the table, unless a greater number is there.
    ///
    /// # Errors
    ///
    /// Returns an error if an expression may exceed 2^60.
    pub(crate) fn mark(
        &mut self,
        region: WalkRegion,
        at: Index,
        number: Index,
    ) -> Result<(), NestError> {
        self.check(&at.form)?;
        self.nest.scattered = Some(Scattered { at: at.form, number: Some(number.form) });
        self.case(region, CaseValue::Bits(1))
    }

    fn case(&mut self, region: WalkRegion, take: CaseValue) -> Result<(), NestError> {
        if self.nest.cases.len() == self.most_cases {
            return Err(NestError::Bound { what: "cases", limit: self.most_cases });
        }
        self.nest.cases.push(Case { when: region.guards, take });
        Ok(())
    }

    /// Sets the conversion between element types that is applied to every element that a case
    /// reads. Without one, elements are copied as they are.
    pub(crate) fn convert(&mut self, conversion: Option<Conversion>) {
        self.nest.conversion = conversion;
    }

    /// Returns the cases added so far, in order.
    pub(crate) fn cases(&self) -> &[Case] {
        &self.nest.cases
    }

    /// Returns the nest of a copy into the buffer that holds `source`. Elements that stay at their
    /// place are not copied, and padding is not written.
    ///
    /// Returns `None` if the copy could overwrite an element before it is read, or if it takes too
    /// many cases.
    pub(crate) fn in_place(&self, source: usize) -> Option<CopyNest> {
        in_place(self.nest.clone(), source)
    }

    /// Returns the finished nest.
    ///
    /// # Errors
    ///
    /// Returns an error if an expression may exceed 2^60.
    pub(crate) fn finish(mut self) -> Result<CopyNest, NestError> {
        self.nest.cases.extend(self.padding);
        // Drop the last cases if they fill with zero, because a place without a case becomes zero
        // anyway.
        while let Some(Case { take: CaseValue::Bits(0), .. }) = self.nest.cases.last() {
            self.nest.cases.pop();
        }
        check_range(&self.nest)?;
        Ok(self.nest)
    }

    fn check(&self, form: &Affine) -> Result<(), NestError> {
        self.reach.check(&self.nest, Operand::Source(0), form)
    }

    /// Adds bounds for the quotients and lookups that the nest got after the region was made.
    fn extend(&self, region: &mut WalkRegion) {
        region.bounds.extend(&self.nest.quotients, &self.nest.lookups);
    }
}

impl NestError {
    /// The error for a coefficient that exceeds the limit of a nest.
    pub(crate) const PAST_LIMIT: Self = Self::Reach { operand: Operand::Source(0), limit: LIMIT };
}

const PAST_LIMIT: NestError = NestError::PAST_LIMIT;

/// Runs [`StrideDescriptor::forward`], which computes the coordinates of an element from its index,
/// and [`StrideDescriptor::undo`], the opposite, on affine expressions of the loop counters instead
/// of numbers. A split at a tile may therefore add a division to the nest.
struct CoordinateBuilder<'a> {
    assembly: &'a mut Assembly,
    region: &'a mut WalkRegion,
}

impl Forward for CoordinateBuilder<'_> {
    type Value = Index;
    type Error = NestError;

    fn split(&mut self, whole: Coordinate<'_, Index>, by: u64) -> Result<[Index; 2], NestError> {
        self.assembly.divide(self.region, whole.value, by)
    }

    fn fold(
        &mut self,
        major: Coordinate<'_, Index>,
        minor: Coordinate<'_, Index>,
    ) -> Result<Index, NestError> {
        minor.value.plus(signed(minor.extent), major.value).ok_or(PAST_LIMIT)
    }

    fn unit(&mut self) -> Index {
        Index::constant(0)
    }
}

impl Undo for CoordinateBuilder<'_> {
    type Value = Index;
    type Error = NestError;

    fn join(
        &mut self,
        _: Coordinate<'_, Index>,
        by: u64,
        quotient: Index,
        remainder: Index,
    ) -> Result<Index, NestError> {
        remainder.plus(signed(by), &quotient).ok_or(PAST_LIMIT)
    }

    fn unfold(
        &mut self,
        _: Coordinate<'_, Index>,
        minor: Coordinate<'_, Index>,
        fold: Index,
    ) -> Result<[Index; 2], NestError> {
        self.assembly.divide(self.region, &fold, minor.extent)
    }
}
