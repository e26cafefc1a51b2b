//! [`NestParts`]: a nest that was read from a file. It becomes a [`CopyNest`] only if its bounds
//! can be proved again.
//!
//! Lowering proves bounds with the help of the shapes, but a file has no shapes. The proof here
//! uses only loops, guards and expressions: it computes the interval of each expression over all
//! iterations, and if an interval is too wide for a proof, it divides the iterations in two halves
//! and proves each. Nothing in the file is trusted. For example, the proof checks the last unit
//! that is read from each source, and that no dividend is negative.

use std::cell::Cell;

use smallvec::SmallVec;

use crate::shape::ElementType;

use super::{
    Affine, Bounds, Case, CaseValue, Conversion, CopyNest, Gaps, Guard, LastRead, Lookup,
    LookupExpr, MAX_NUMBERS, NestError, Operator, Quotient, Scattered, Source, Value,
    assembly::MAX_LOOKUPS,
    bounds::{Interval, check_range},
    numbers::{LIMIT, signed},
};

/// The fields of a [`CopyNest`], before any of them is checked.
#[derive(Debug)]
pub(crate) struct NestParts {
    pub(crate) extents: Vec<u64>,
    pub(crate) quotients: Vec<Quotient>,
    pub(crate) lookups: Vec<Lookup>,
    pub(crate) sources: Vec<SourceParts>,
    pub(crate) cases: Vec<Case>,
    pub(crate) gaps: Gaps,
    pub(crate) dst_base: i64,
    pub(crate) dst_units: u64,
    pub(crate) dst_bytes: u64,
    pub(crate) src_bits: u32,
    pub(crate) dst_bits: u32,
    pub(crate) sign_extend: bool,
    pub(crate) conversion: Option<Conversion>,
    pub(crate) scattered: Option<Scattered>,
}

/// The fields of a [`Source`], before any of them is checked.
#[derive(Debug)]
pub(crate) struct SourceParts {
    pub(crate) units: u64,
    pub(crate) bytes: u64,
    /// The last unit that is read, or `None` if nothing is read. If the last unit is unknown, this
    /// is a number that exceeds every source.
    pub(crate) last_read: Option<u64>,
}

/// The maximum number of axes, and of sources.
const MAX_AXES: usize = 256;
/// The maximum number of cases, of quotients, and of guards in one case. The limit bounds the time
/// of a proof. Nests of real programs stay below a tenth of it.
const MAX_ITEMS: usize = 512;
/// The maximum number of terms of all expressions together.
const MAX_TERMS: usize = 1 << 14;
/// The maximum number of other expressions that the proof bounds in order to bound one expression.
const MAX_FORM_TRIALS: u32 = 60;
/// The maximum number of such other expressions for a whole nest.
const MAX_TRIALS: u32 = 20_000;
/// The maximum number of times that the proof divides a range of iterations in two. Intervals are
/// narrower over fewer iterations, and exact for a single one, so a greater limit proves more
/// nests. This limit and `MAX_TRIALS` bound the time of a proof.
const MAX_BOXES: u32 = 1_000;
/// The number of values of a 32-bit integer, the type with which kernels compute.
const WORD_VALUES: i64 = 1 << 32;

impl From<&CopyNest> for NestParts {
    fn from(nest: &CopyNest) -> Self {
        let CopyNest {
            extents,
            quotients,
            lookups,
            sources,
            cases,
            gaps,
            dst_base,
            dst_units,
            dst_bytes,
            src_bits,
            dst_bits,
            sign_extend,
            conversion,
            scattered,
        } = nest;
        let parts = |&Source { units, bytes, last_read }: &Source| SourceParts {
            units,
            bytes,
            last_read: match last_read {
                LastRead::Nothing => None,
                LastRead::Unit(last) => Some(last),
                LastRead::Unknown => Some(u64::MAX),
            },
        };
        Self {
            extents: extents.to_vec(),
            quotients: quotients.clone(),
            lookups: lookups.clone(),
            sources: sources.iter().map(parts).collect(),
            cases: cases.to_vec(),
            gaps: *gaps,
            dst_base: *dst_base,
            dst_units: *dst_units,
            dst_bytes: *dst_bytes,
            src_bits: *src_bits,
            dst_bits: *dst_bits,
            sign_extend: *sign_extend,
            conversion: *conversion,
            scattered: scattered.clone(),
        }
    }
}

impl NestParts {
    /// Returns the nest, after it has proved again that every access is inside its buffer.
    ///
    /// # Errors
    ///
    /// Returns [`NestError::Unproved`] if a field is invalid, or if an access cannot be proved to
    /// be inside its buffer.
    pub(crate) fn proved(self) -> Result<CopyNest, NestError> {
        let sources = self.sources.iter();
        let sources = sources
            .map(|&SourceParts { units, bytes, last_read }| Source {
                units,
                bytes,
                last_read: last_read.map_or(LastRead::Nothing, LastRead::Unit),
            })
            .collect();
        let nest = CopyNest {
            extents: self.extents.into(),
            quotients: self.quotients,
            lookups: self.lookups,
            sources,
            cases: self.cases.into(),
            gaps: self.gaps,
            dst_base: self.dst_base,
            dst_units: self.dst_units,
            dst_bytes: self.dst_bytes,
            src_bits: self.src_bits,
            dst_bits: self.dst_bits,
            sign_extend: self.sign_extend,
            conversion: self.conversion,
            scattered: self.scattered,
        };
        check_sizes(&nest)?;
        check_images(&nest)?;
        check_names(&nest)?;
        check_range(&nest)?;
        Prover::new(&nest).check_cases()?;
        Ok(nest)
    }
}

fn unproved(what: &'static str) -> NestError {
    NestError::Unproved { what }
}

fn check(holds: bool, what: &'static str) -> Result<(), NestError> {
    if holds { Ok(()) } else { Err(unproved(what)) }
}

/// Checks that no list is too long, so that a proof takes a limited time.
fn check_sizes(nest: &CopyNest) -> Result<(), NestError> {
    check((1..=MAX_AXES).contains(&nest.extents.len()), "1 to 256 axes")?;
    check(nest.sources.len() <= MAX_AXES, "at most 256 sources")?;
    check(nest.cases.len() <= MAX_ITEMS, "at most 512 cases")?;
    check(nest.quotients.len() <= MAX_ITEMS, "at most 512 quotients")?;
    check(nest.lookups.len() <= MAX_LOOKUPS, "at most 32 lookups")?;
    check(nest.cases.iter().all(|case| case.when.len() <= MAX_ITEMS), "at most 512 guards")?;
    let numbers = |lookup: &Lookup| (1..=MAX_NUMBERS).contains(&lookup.numbers.len());
    check(nest.lookups.iter().all(numbers), "1 to 64 numbers in a lookup")?;
    let terms = nest.forms().map(|form| form.terms().len() + 1).sum::<usize>();
    check(terms <= MAX_TERMS, "forms of at most 16384 terms together")
}

/// Checks that all units lie inside their buffers, and that the loops cover the whole destination.
fn check_images(nest: &CopyNest) -> Result<(), NestError> {
    let product = |product: u64, &extent: &u64| product.checked_mul(extent);
    let positions = nest.extents.iter().try_fold(1, product).filter(|&all| all <= LIMIT);
    let positions = positions.ok_or(unproved("at most 2^60 positions"))?;
    let is_width = |bits: u32| bits.is_power_of_two() && bits <= 128;
    check(is_width(nest.src_bits) && is_width(nest.dst_bits), "units of 1 to 128 bits")?;
    let holds = |bits: u32, of: ElementType| of.bits().is_some_and(|own| own <= bits);
    let holds = nest.conversion.is_none_or(|conversion| {
        holds(nest.src_bits, conversion.from()) && holds(nest.dst_bits, conversion.to())
    });
    check(holds, "units that hold the elements that are converted")?;
    let fits = |units: u64, bits: u32, bytes: u64| {
        bytes <= LIMIT && u128::from(units) * u128::from(bits) <= u128::from(bytes) * 8
    };
    check(fits(nest.dst_units, nest.dst_bits, nest.dst_bytes), "units inside the destination")?;
    for (number, source) in nest.sources.iter().enumerate() {
        let bits = nest.loaded_bits(number).unwrap_or(nest.src_bits);
        check(fits(source.units, bits, source.bytes), "units inside their source")?;
    }
    check(nest.dst_base <= 0 && nest.dst_units <= LIMIT, "a walk from the start of an image")?;
    if nest.marks().is_some() {
        let is_table = nest.dst_base == 0 && nest.dst_units * 4 == nest.dst_bytes;
        let marks = |case: &Case| matches!(case.take, CaseValue::Bits(1));
        let is_one = nest.cases.len() == 1 && nest.cases.iter().all(marks);
        return check(is_table && is_one && nest.gaps == Gaps::Keep, "a table of marks");
    }
    if nest.scattered().is_some() {
        let is_whole = nest.keeps_units() && nest.dst_bits >= 32 && nest.dst_base == 0;
        return check(is_whole && nest.gaps == Gaps::Keep, "windows of whole words");
    }
    let walked = u128::from(nest.dst_base.unsigned_abs()) + u128::from(nest.dst_units);
    check(u128::from(positions) >= walked, "a walk over the whole destination")
}

/// Checks that expressions contain only axes, quotients and lookups of the nest, and that none of
/// these depends on itself.
fn check_names(nest: &CopyNest) -> Result<(), NestError> {
    let is_there = |value: Value| match value {
        Value::Axis(axis) => axis < nest.extents.len(),
        Value::Quotient(number) => number < nest.quotients.len(),
        Value::Lookup(number) => number < nest.lookups.len(),
    };
    let named = |form: &Affine| form.terms().iter().all(|&(value, _)| is_there(value));
    check(nest.forms().all(named), "forms of values that exist")?;
    for (number, Quotient { of, by }) in nest.quotients.iter().enumerate() {
        check((1..=LIMIT).contains(by), "a divisor of 1 to 2^60")?;
        let is_earlier = |value: Value| !matches!(value, Value::Quotient(of) if of >= number);
        let earlier = of.terms().iter().all(|&(value, _)| is_earlier(value));
        check(earlier, "quotients of earlier quotients")?;
    }
    check(nest.lookups.iter().all(|of| of.last <= LIMIT), "lookups of at most 2^60")?;
    check(nest.lookups.iter().all(|of| is_computable(nest, of)), "lookups that can be computed")?;
    for case in &nest.cases {
        if let CaseValue::Read { source, .. } = case.take {
            let is_read = source < nest.sources.len() && nest.loaded_bits(source).is_none();
            check(is_read, "cases that read a source of elements")?;
        }
    }
    // Repeatedly find a value that needs only known ones. Values that are left depend on each
    // other.
    let (mut quotients, mut lookups) =
        (vec![false; nest.quotients.len()], vec![false; nest.lookups.len()]);
    loop {
        let is_known = |form: &Affine| {
            form.terms().iter().all(|&(value, _)| match value {
                Value::Axis(_) => true,
                Value::Quotient(number) => quotients[number],
                Value::Lookup(number) => lookups[number],
            })
        };
        let next = (0..quotients.len())
            .find(|&number| !quotients[number] && is_known(&nest.quotients[number].of));
        let looked_up = (0..lookups.len())
            .find(|&number| !lookups[number] && nest.lookups[number].forms().all(is_known));
        match (next, looked_up) {
            (Some(number), _) => quotients[number] = true,
            (None, Some(number)) => lookups[number] = true,
            (None, None) => break,
        }
    }
    let all = quotients.into_iter().chain(lookups).all(|known| known);
    check(all, "values that are computed from earlier ones")
}

/// Returns true if each step of `lookup` uses only results of earlier steps, and their types fit
/// the operation.
fn is_computable(nest: &CopyNest, lookup: &Lookup) -> bool {
    let numbers = &lookup.numbers;
    let computable = numbers.iter().enumerate().all(|(place, number)| {
        let of = |operand: usize| {
            let earlier = numbers[..place].get(operand);
            earlier.map(|number| number.integer)
        };
        let own = Some(number.integer);
        let is_pred = |integer: Option<super::Integer>| integer == Some(super::Integer::PRED);
        match number.of {
            LookupExpr::Load { source, .. } => source < nest.sources.len(),
            LookupExpr::Index(_) => true,
            LookupExpr::Constant(value) => number.integer.wrap(value) == value,
            LookupExpr::Convert(a) => of(a).is_some(),
            LookupExpr::Select(holds, a, b) => is_pred(of(holds)) && of(a) == own && of(b) == own,
            LookupExpr::Binary(operator, a, b) => {
                let same = of(a).is_some() && of(a) == of(b);
                same && match operator {
                    Operator::Divide | Operator::Remainder => {
                        of(a) == own && number.integer.bits < 64
                    }
                    Operator::And
                    | Operator::Or
                    | Operator::Add
                    | Operator::Subtract
                    | Operator::Multiply
                    | Operator::Minimum
                    | Operator::Maximum => of(a) == own,
                    Operator::Equal
                    | Operator::NotEqual
                    | Operator::GreaterEqual
                    | Operator::Greater
                    | Operator::LessEqual
                    | Operator::Less => is_pred(own),
                }
            }
        }
    });
    // Kernels do not compare a predicate with `last`, so `last` must allow both of its values.
    let is_pred = numbers.last().is_some_and(|number| number.integer == super::Integer::PRED);
    let is_type = |bits: u32| [1, 2, 4, 8, 16, 32, 64].contains(&bits);
    computable
        && (!is_pred || lookup.last >= 1)
        && numbers.iter().all(|number| is_type(number.integer.bits))
}

/// Proves that the cases of a nest read inside their sources, and mark inside their table.
struct Prover<'a> {
    nest: &'a CopyNest,
    /// The number of bits of each source up to the end of the last unit that is read.
    ends: Vec<u64>,
    /// The number of other expressions that the proof may still bound, at first `MAX_TRIALS`.
    trials: Cell<u32>,
    /// The number of times that the proof may still halve a box, at first `MAX_BOXES`.
    boxes: u32,
}

/// A part of the iterations: the first and the last step of each loop.
type PartOfWalk = SmallVec<[Interval; 8]>;

impl<'a> Prover<'a> {
    fn new(nest: &'a CopyNest) -> Self {
        let sources = nest.sources.iter().enumerate();
        let ends = sources.map(|(number, source)| match source.last_read {
            LastRead::Unit(last) if last < source.units => {
                (last + 1) * u64::from(nest.loaded_bits(number).unwrap_or(nest.src_bits))
            }
            _ => 0,
        });
        Self { nest, ends: ends.collect(), trials: Cell::new(MAX_TRIALS), boxes: MAX_BOXES }
    }

    fn check_cases(&mut self) -> Result<(), NestError> {
        let nest = self.nest;
        for (number, source) in nest.sources.iter().enumerate() {
            let is_inside = source.last_read == LastRead::Nothing || self.ends[number] > 0;
            check(is_inside, "reads inside their source")?;
        }
        if nest.extents.contains(&0) || nest.dst_units == 0 {
            return Ok(());
        }
        let whole: PartOfWalk =
            nest.extents.iter().map(|&extent| (0, signed(extent) - 1)).collect();
        (0..nest.cases.len()).try_for_each(|case| self.check_box(case, &whole))
    }

    /// Checks that the case with index `case` stays inside its buffers in all iterations of `part`.
    /// If the intervals over `part` are too wide for a proof, halves it along its longest axis and
    /// checks both halves. Returns the error if `part` is a single iteration, or if this was done
    /// [`MAX_BOXES`] times already.
    fn check_box(&mut self, case: usize, part: &PartOfWalk) -> Result<(), NestError> {
        let Err(error) = self.check_whole(case, part) else { return Ok(()) };
        let steps = |&(low, high): &Interval| high - low;
        let longest = (0..part.len()).max_by_key(|&axis| steps(&part[axis]));
        let longest = longest.filter(|&axis| steps(&part[axis]) > 0).ok_or(error.clone())?;
        self.boxes = self.boxes.checked_sub(1).ok_or(error)?;
        let (low, high) = part[longest];
        let middle = low + (high - low) / 2;
        for half in [(low, middle), (middle + 1, high)] {
            let mut part = part.clone();
            part[longest] = half;
            self.check_box(case, &part)?;
        }
        Ok(())
    }

    fn check_whole(&self, number: usize, part: &PartOfWalk) -> Result<(), NestError> {
        let nest = self.nest;
        let Some(region) = CaseRegion::of(self, number, part)? else { return Ok(()) };
        if let CaseValue::Read { source, at } = &nest.cases[number].take {
            region.inside(at, self.ends[*source] / u64::from(nest.src_bits))?;
        }
        if let Some(scattered) = nest.scattered() {
            region.inside(&scattered.at, nest.dst_units)?;
        }
        if let Some((_, number)) = nest.marks() {
            region.inside(number, WORD_VALUES.unsigned_abs())?;
        }
        Ok(())
    }
}

/// The iterations in a part of the loops in which a case applies: their bounds, and the quotients
/// and lookups that are proved to have a meaning there.
///
/// A quotient has a meaning if its dividend is not negative, because a kernel divides unsigned
/// integers. A lookup has a meaning if its loads are inside their sources. A guard narrows the
/// bounds only after all values in its expression are proved to have a meaning.
struct CaseRegion<'a> {
    prover: &'a Prover<'a>,
    nest: &'a CopyNest,
    bounds: Bounds,
    facts: Vec<Fact>,
    quotients: Vec<bool>,
    lookups: Vec<bool>,
}

/// An interval that contains the value of `form` everywhere in a region. The expression is the
/// remainder of a division, or comes from a guard that always holds or always fails in the region.
struct Fact {
    form: Affine,
    low: i64,
    high: i64,
    is_remainder: bool,
}

impl<'a> CaseRegion<'a> {
    /// Returns the iterations in `part` to which the case with index `number` applies; `None` if
    /// there are none.
    fn of(
        prover: &'a Prover<'a>,
        number: usize,
        part: &PartOfWalk,
    ) -> Result<Option<Self>, NestError> {
        let nest = prover.nest;
        let (earlier, case) = (&nest.cases[..number], &nest.cases[number]);
        if earlier.iter().any(|earlier| case.asks_all_of(earlier)) {
            return Ok(None);
        }
        let mut region = Self {
            prover,
            nest,
            bounds: Bounds::of_box(nest, part.iter().copied()),
            facts: nest.quotients.iter().enumerate().filter_map(Fact::of_remainder).collect(),
            quotients: vec![false; nest.quotients.len()],
            lookups: vec![false; nest.lookups.len()],
        };
        let mut assumed = vec![false; case.when.len()];
        let mut excluded = vec![false; earlier.len()];
        loop {
            let mut goes_on = region.settle();
            for (guard, assumed) in case.when.iter().zip(&mut assumed) {
                if !region.has_meaning(&guard.of) {
                    // A kernel computes a lookup after it has tested the guards before it, so only
                    // these guards may bound its loads. A quotient may be computed after any guard.
                    if region.awaits_lookup(&guard.of) {
                        break;
                    }
                    continue;
                }
                let last = signed(guard.extent) - 1;
                if !*assumed {
                    check(region.is_compared(guard), "guards that 32 bits can test")?;
                    region.facts.push(Fact::of_guard(&guard.of, 0, last));
                    goes_on = true;
                }
                *assumed = true;
                if region.bounds.assume(&nest.quotients, &guard.of, 0, last).is_none() {
                    return Ok(None);
                }
            }
            for (earlier, excluded) in earlier.iter().zip(&mut excluded) {
                if *excluded {
                    continue;
                }
                match region.exclude(earlier, case) {
                    Exclusion::Unknown => {}
                    Exclusion::Done => (*excluded, goes_on) = (true, true),
                    Exclusion::Nowhere => return Ok(None),
                }
            }
            if !goes_on {
                break;
            }
        }
        check(assumed.iter().all(|assumed| *assumed), "guards of values that are known")?;
        let read = match &case.take {
            CaseValue::Read { at, .. } => Some(at),
            CaseValue::Bits(_) => None,
        };
        let stored = nest.scattered().into_iter().flat_map(Scattered::forms);
        let all = read.into_iter().chain(stored).all(|form| region.has_meaning(form));
        check(all, "dividends that are not negative, and lookups inside their sources")?;
        Ok(Some(region))
    }

    /// Narrows the region to the iterations to which `earlier` does not apply. This is possible
    /// only if exactly one guard of `earlier` can fail.
    fn exclude(&mut self, earlier: &Case, case: &Case) -> Exclusion {
        let open: SmallVec<[&Guard; 4]> = earlier
            .when
            .iter()
            .filter(|guard| !case.when.contains(guard) && !self.always_holds(guard))
            .collect();
        let [Guard { of, extent }] = open[..] else {
            return if open.is_empty() { Exclusion::Nowhere } else { Exclusion::Unknown };
        };
        if !self.has_meaning(of) {
            return Exclusion::Unknown;
        }
        let ((low, high), extent) = (self.range(of), signed(*extent));
        let (low, high) = match (low >= 0, high < extent) {
            (true, true) => return Exclusion::Nowhere,
            (true, false) => (extent, high),
            (false, true) => (low, -1),
            (false, false) => return Exclusion::Unknown,
        };
        self.facts.push(Fact::of_guard(of, low, high));
        match self.bounds.assume(&self.nest.quotients, of, low, high) {
            Some(()) => Exclusion::Done,
            None => Exclusion::Nowhere,
        }
    }

    fn always_holds(&self, Guard { of, extent }: &Guard) -> bool {
        let holds = |(low, high): Interval| low >= 0 && high < signed(*extent);
        self.has_meaning(of) && (holds(self.bounds.of(of)) || holds(self.range(of)))
    }

    /// Looks for quotients and lookups that can be proved to have a meaning now that the region is
    /// narrower, and records them. Returns true if there is a new one.
    fn settle(&mut self) -> bool {
        let mut found = false;
        for (number, Quotient { of, by }) in self.nest.quotients.iter().enumerate() {
            let ((low, high), by) = (self.range(of), signed(*by));
            let value = Value::Quotient(number);
            // If the interval is empty, the case never applies. This needs no special treatment,
            // because a guard then shows it too.
            let _ = self.bounds.restrict(value, low.div_euclid(by), high.div_euclid(by));
        }
        loop {
            let quotient = (0..self.quotients.len()).find(|&number| {
                let of = &self.nest.quotients[number].of;
                !self.quotients[number] && self.has_meaning(of) && self.range(of).0 >= 0
            });
            let lookup = (0..self.lookups.len()).find(|&number| {
                !self.lookups[number] && self.loads_inside(&self.nest.lookups[number])
            });
            match (quotient, lookup) {
                (Some(number), _) => self.quotients[number] = true,
                (None, Some(number)) => self.lookups[number] = true,
                (None, None) => return found,
            }
            found = true;
        }
    }

    fn loads_inside(&self, lookup: &Lookup) -> bool {
        lookup.forms().all(|form| self.has_meaning(form))
            && lookup.numbers.iter().all(|number| match &number.of {
                LookupExpr::Load { source, at } => {
                    let bits = u64::from(number.integer.bits_in_memory());
                    self.inside(at, self.prover.ends[*source] / bits).is_ok()
                }
                LookupExpr::Index(form) => self.range(form).0 >= 0,
                _ => true,
            })
    }

    fn has_meaning(&self, form: &Affine) -> bool {
        form.terms().iter().all(|&(value, _)| match value {
            Value::Axis(_) => true,
            Value::Quotient(number) => self.quotients[number],
            Value::Lookup(number) => self.lookups[number],
        })
    }

    /// Returns true if `form` depends, directly or through a quotient, on a lookup that is not yet
    /// proved to have a meaning.
    fn awaits_lookup(&self, form: &Affine) -> bool {
        form.terms().iter().any(|&(value, _)| match value {
            Value::Axis(_) => false,
            Value::Quotient(number) => {
                !self.quotients[number] && self.awaits_lookup(&self.nest.quotients[number].of)
            }
            Value::Lookup(number) => !self.lookups[number],
        })
    }

    /// Returns true if 32-bit integers suffice to test the guard: no negative value of its
    /// expression wraps around to a value below `extent`.
    fn is_compared(&self, Guard { of, extent }: &Guard) -> bool {
        let low = self.range(of).0;
        low >= 0 || low >= signed(*extent) - WORD_VALUES
    }

    /// Returns an error if the value of `form` may lie outside `0..end`.
    fn inside(&self, form: &Affine, end: u64) -> Result<(), NestError> {
        let is_inside = |(low, high): Interval| low >= 0 && i128::from(high) < i128::from(end);
        let proved = is_inside(self.bounds.of(form)) || is_inside(self.range(form));
        check(proved, "reads inside their source")
    }

    /// Returns the minimum and the maximum of an expression in the region, or a wider interval.
    fn range(&self, form: &Affine) -> Interval {
        let mut trials = MAX_FORM_TRIALS;
        self.range_without(form, &mut SmallVec::new(), &mut trials)
    }

    /// Bounds `form` by the intervals of its values, and by the facts that are not in `used`.
    ///
    /// To use a fact, `form` is written as a multiple of the fact's expression plus a rest, and the
    /// rest is bounded in the same way. So that this ends, the rest must have fewer terms than
    /// `form`, or at most as many if the fact is a remainder.
    fn range_without(
        &self,
        form: &Affine,
        used: &mut SmallVec<[usize; 8]>,
        trials: &mut u32,
    ) -> Interval {
        let (mut low, mut high) = self.bounds.of(form);
        for (number, fact) in self.facts.iter().enumerate() {
            if used.contains(&number) {
                continue;
            }
            let shared = fact.form.terms().iter().filter_map(|&(value, each)| {
                let weight = form.weight(value);
                (weight != 0 && weight % each == 0).then(|| weight / each)
            });
            let mut factors: SmallVec<[i64; 8]> = shared.collect();
            factors.sort_unstable();
            factors.dedup();
            for factor in factors {
                let Some(rest) = form.clone().checked_plus(-factor, &fact.form) else { continue };
                let ends = (factor.checked_mul(fact.low), factor.checked_mul(fact.high));
                let (Some(a), Some(b)) = ends else { continue };
                let is_bounded = a.unsigned_abs().max(b.unsigned_abs()) <= LIMIT;
                let terms = rest.terms().len() + usize::from(!fact.is_remainder);
                if terms > form.terms().len() || !is_bounded || !self.is_small(&rest) {
                    continue;
                }
                let left = self.prover.trials.get();
                if *trials == 0 || left == 0 {
                    return (low, high);
                }
                *trials -= 1;
                self.prover.trials.set(left - 1);
                used.push(number);
                let (least, most) = self.range_without(&rest, used, trials);
                used.pop();
                low = low.max(least.saturating_add(a.min(b)));
                high = high.min(most.saturating_add(a.max(b)));
            }
        }
        (low, high)
    }

    /// Returns true if the bounds of an expression can be computed without overflow.
    fn is_small(&self, form: &Affine) -> bool {
        let most = |value| {
            let (low, high) = self.bounds.of_value(value);
            low.unsigned_abs().max(high.unsigned_abs()).into()
        };
        let (added, taken) = form.sums(most);
        added.saturating_add(taken) <= LIMIT.into()
    }
}

impl Fact {
    /// Returns the fact that a guard's expression is in `low..=high`.
    fn of_guard(form: &Affine, low: i64, high: i64) -> Self {
        Self { form: form.clone(), low, high, is_remainder: false }
    }

    /// Returns the fact that the remainder of a division by `by` is in `0..by`.
    fn of_remainder((number, Quotient { of, by }): (usize, &Quotient)) -> Option<Self> {
        let (by, whole) = (signed(*by), Affine::value(Value::Quotient(number)));
        Some(Self {
            form: of.clone().checked_plus(-by, &whole)?,
            low: 0,
            high: by - 1,
            is_remainder: true,
        })
    }
}

/// The result of an attempt to narrow a region to the iterations to which an earlier case does not
/// apply.
enum Exclusion {
    /// The region is unchanged, because too little is known or several guards of the earlier case
    /// can fail.
    Unknown,
    /// The region was narrowed.
    Done,
    /// The earlier case applies to all iterations, so the region is empty.
    Nowhere,
}
