//! [`Assembly`]: a nest while it is made, case by case.
//!
//! What a program copies is found by walking its result's image and handing the index backwards, instruction by
//! instruction. A [`WalkRegion`] is what is known on the way: the guards that led there, and how far they narrow axes and
//! quotients. An [`Index`] is one coordinate of an index: its form, and the least and the greatest value that it takes in
//! the region. Where a way ends, in a source or in bits, the region becomes a case.

use smallvec::SmallVec;

use super::{
    Affine, Bounds, Case, CaseValue, CopyNest, Guard, LastRead, Lookup, NestError, Operand,
    Quotient, Source, Value,
    bounds::{Interval, Magnitude, check_range},
    build::{elements, padding_case},
    index::Index,
    numbers::{LIMIT, signed},
    walk::walk,
};
use crate::stride::{Coordinate, Coordinates, Forward, StrideDescriptor};

/// The cases of a nest up to which an assembly makes them, where it is not told another number.
pub(crate) const MAX_CASES: usize = 64;
/// The quotients up to which an assembly makes them, where it is not told another number.
const MAX_QUOTIENTS: usize = 32;
/// The most lookups.
pub(crate) const MAX_LOOKUPS: usize = 32;

/// A nest while it is made.
#[derive(Debug)]
pub(crate) struct Assembly {
    nest: CopyNest,
    most_cases: usize,
    most_quotients: usize,
    /// Every form is checked by it before its bounds are asked for.
    reach: Magnitude,
    /// The case of the destination's own padding, which comes last.
    padding: Option<Case>,
}

/// Positions of the walk: those where all guards hold and that no case so far has taken.
#[derive(Clone, Debug)]
pub(crate) struct WalkRegion {
    guards: Vec<Guard>,
    bounds: Bounds,
}

/// The positions that hold an element, and the index of each.
pub(crate) type WalkStart = (WalkRegion, Coordinates<Index>);

/// What becomes of a region and a coordinate where a guard is asked.
pub(crate) struct RegionSplit {
    /// Where it holds, and the coordinate there.
    pub(crate) inside: Option<(WalkRegion, Index)>,
    /// Where it does not hold, once the inside is taken, and the coordinate there; `None` where it always holds.
    pub(crate) outside: Option<(WalkRegion, Index)>,
}

impl Assembly {
    /// Starts with the walk over a destination's image: no case yet, and the index of its positions. `None` where the
    /// destination holds no element.
    ///
    /// # Errors
    ///
    /// Where the destination's places overlap or interleave, or a size or a number of a form is too large.
    pub(crate) fn new(
        destination: &StrideDescriptor,
    ) -> Result<(Self, Option<WalkStart>), NestError> {
        let bits = destination.element_bits();
        let bytes = destination.prefix_bytes();
        if !(bytes * 8).is_multiple_of(bits.into()) {
            return Err(NestError::Prefix { bytes, bits });
        }
        let (dst_units, prefix) = elements(Operand::Destination, destination)?;
        let walk = walk(destination, prefix + destination.base_offset(), dst_units)?;
        let nest = CopyNest {
            extents: walk.extents,
            quotients: walk.quotients,
            lookups: vec![],
            sources: SmallVec::new(),
            cases: SmallVec::new(),
            dst_base: walk.dst_base,
            dst_units,
            dst_bytes: destination.image_bytes(),
            src_bits: bits,
            dst_bits: bits,
            sign_extend: destination.element_type().is_signed_integer(),
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

    /// Allows this many cases.
    pub(crate) fn allow_cases(&mut self, most: usize) {
        self.most_cases = most;
    }

    /// Allows this many quotients.
    pub(super) fn allow_quotients(&mut self, most: usize) {
        self.most_quotients = most;
    }

    /// Adds a source that cases read; gives its number.
    ///
    /// # Errors
    ///
    /// Where it is too large, or its elements have another width than those of other sources.
    pub(crate) fn source(&mut self, descriptor: &StrideDescriptor) -> Result<usize, NestError> {
        let (operand, given) =
            (Operand::Source(self.nest.sources.len()), descriptor.element_bits());
        let bytes = descriptor.prefix_bytes();
        if !(bytes * 8).is_multiple_of(given.into()) {
            return Err(NestError::Prefix { bytes, bits: given });
        }
        let is_first = !self.nest.cases.iter().any(Case::reads);
        if is_first {
            self.nest.src_bits = given;
        } else if given != self.nest.src_bits {
            return Err(NestError::Widths { operand, given, expected: self.nest.src_bits });
        }
        let (units, _) = elements(operand, descriptor)?;
        Ok(self.add_source(units, descriptor.image_bytes()))
    }

    fn add_source(&mut self, units: u64, bytes: u64) -> usize {
        self.nest.sources.push(Source { units, bytes, last_read: LastRead::Nothing });
        self.nest.sources.len() - 1
    }

    /// Adds a source of numbers, which lookups load; gives its number.
    ///
    /// # Errors
    ///
    /// Where it is too large.
    pub(crate) fn number_source(
        &mut self,
        descriptor: &StrideDescriptor,
    ) -> Result<usize, NestError> {
        let (units, _) = elements(Operand::Source(self.nest.sources.len()), descriptor)?;
        Ok(self.add_source(units, descriptor.image_bytes()))
    }

    /// Where the number of `source` at `index` lies, which a lookup may load wherever the region is.
    ///
    /// # Errors
    ///
    /// Where a number passes 2^60, or there are too many quotients.
    ///
    /// # Panics
    ///
    /// Where the index may pass the source: its instructions were not valid.
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

    /// The value of a lookup.
    ///
    /// # Errors
    ///
    /// Where there are too many.
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

    /// Divides a region by whether `low <= index < end`: the inside is to be taken first.
    ///
    /// # Errors
    ///
    /// Where the index may pass 2^60 somewhere on the walk.
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
        // What lies on both sides of an interval is none.
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

    /// `⌊index / by⌋` and what is left; the index is not negative.
    ///
    /// # Errors
    ///
    /// Where the index may pass 2^60 somewhere on the walk, or there are too many quotients.
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

    /// Ends a way: where the region is, positions take the element of `source` at `index`.
    ///
    /// # Errors
    ///
    /// Where there are too many cases, or a number passes 2^60.
    ///
    /// # Panics
    ///
    /// Where the index may pass the source: its instructions were not valid.
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

    /// The unit of an image that the element at an index is.
    fn place(
        &mut self,
        region: &mut WalkRegion,
        descriptor: &StrideDescriptor,
        index: Coordinates<Index>,
    ) -> Result<Index, NestError> {
        for (index, &size) in index.iter().zip(descriptor.sizes()) {
            assert!(index.low >= 0 && index.high < signed(size), "an index of the source");
        }
        let mut values = index;
        descriptor.forward(&mut CoordinateBuilder { assembly: self, region }, &mut values)?;
        let prefix = descriptor.prefix_bytes() * 8 / u64::from(descriptor.element_bits());
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

    /// Notes that a unit of a source is read.
    fn reads(&mut self, source: usize, at: &Index) {
        let last = at.high.unsigned_abs();
        let seen = &mut self.nest.sources[source].last_read;
        *seen = match *seen {
            LastRead::Unit(earlier) => LastRead::Unit(earlier.max(last)),
            _ => LastRead::Unit(last),
        };
    }

    /// Ends a way: where the region is, positions take these bits.
    ///
    /// # Errors
    ///
    /// Where there are too many cases.
    pub(crate) fn bits(&mut self, region: WalkRegion, bits: u128) -> Result<(), NestError> {
        let mask = u128::MAX >> (128 - self.nest.dst_bits);
        self.case(region, CaseValue::Bits(bits & mask))
    }

    fn case(&mut self, region: WalkRegion, take: CaseValue) -> Result<(), NestError> {
        if self.nest.cases.len() == self.most_cases {
            return Err(NestError::Bound { what: "cases", limit: self.most_cases });
        }
        self.nest.cases.push(Case { when: region.guards, take });
        Ok(())
    }

    /// The cases so far, in order.
    pub(crate) fn cases(&self) -> &[Case] {
        &self.nest.cases
    }

    /// The nest, once every way has ended.
    ///
    /// # Errors
    ///
    /// Where a form may pass 2^60.
    pub(crate) fn finish(mut self) -> Result<CopyNest, NestError> {
        self.nest.cases.extend(self.padding);
        // What no case takes is zero already.
        while let Some(Case { take: CaseValue::Bits(0), .. }) = self.nest.cases.last() {
            self.nest.cases.pop();
        }
        check_range(&self.nest)?;
        Ok(self.nest)
    }

    fn check(&self, form: &Affine) -> Result<(), NestError> {
        self.reach.check(&self.nest, Operand::Source(0), form)
    }

    /// Bounds the quotients and lookups that have come since the region was made.
    fn extend(&self, region: &mut WalkRegion) {
        region.bounds.extend(&self.nest.quotients, &self.nest.lookups);
    }
}

impl NestError {
    /// A number of a form passes what a nest counts.
    pub(crate) const PAST_LIMIT: Self = Self::Reach { operand: Operand::Source(0), limit: LIMIT };
}

const PAST_LIMIT: NestError = NestError::PAST_LIMIT;

/// The coordinates in memory of an index: a split needs a quotient.
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
