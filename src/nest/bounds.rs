//! [`Bounds`]: the minimum and the maximum of every axis, quotient, lookup and form of a nest.
//!
//! A kernel is emitted only with a proof that it stays inside its buffers, and the proof consists
//! of these intervals. Bounds also let passes drop guards that always hold.

use smallvec::SmallVec;

use super::{
    Affine, Case, CaseValue, CopyNest, Guard, LastRead, Lookup, NestError, Operand, Quotient,
    Scattered, Value,
    numbers::{LIMIT, signed},
};

/// A closed interval: the minimum and the maximum value.
pub(crate) type Interval = (i64, i64);

/// The interval of each loop counter, quotient and lookup of a nest, over some or all iterations of
/// its loops.
///
/// The bounds of an affine expression are computed from the intervals of the axes, quotients and
/// lookups in it. They may be wider than necessary, but never too narrow.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    axes: SmallVec<[Interval; 8]>,
    quotients: SmallVec<[Interval; 4]>,
    lookups: SmallVec<[Interval; 2]>,
}

impl Bounds {
    /// Returns bounds with an interval for each axis. The nest must not have quotients or lookups,
    /// unless [`Self::extend`] adds them.
    pub(super) fn of_axes(axes: impl IntoIterator<Item = Interval>) -> Self {
        let (quotients, lookups) = (SmallVec::new(), SmallVec::new());
        Self { axes: axes.into_iter().collect(), quotients, lookups }
    }

    /// Adds intervals for the quotients and lookups that have none yet, because they were added to
    /// the nest after these bounds were computed. They are the last ones of the two lists.
    pub(super) fn extend(&mut self, quotients: &[Quotient], lookups: &[Lookup]) {
        self.lookups.extend(lookups[self.lookups.len()..].iter().map(lookup_interval));
        for Quotient { of, by } in &quotients[self.quotients.len()..] {
            let (low, high) = self.of(of);
            self.quotients.push((low.div_euclid(signed(*by)), high.div_euclid(signed(*by))));
        }
    }

    /// Returns the bounds over all steps of the nest's loops, including those at which no guard
    /// holds.
    pub(crate) fn of_walk(nest: &CopyNest) -> Self {
        Self::of_box(nest, nest.extents.iter().map(|&extent| (0, signed(extent) - 1)))
    }

    /// Returns the bounds over the positions to which a case may apply; `None` if there are none.
    pub(super) fn of_case(nest: &CopyNest, case: &Case) -> Option<Self> {
        let mut bounds = Self::of_walk(nest);
        // The guards are applied twice, because an axis that one guard narrows can let an earlier
        // guard narrow another axis.
        for _ in 0..2 {
            for guard in &case.when {
                bounds.assume(&nest.quotients, &guard.of, 0, signed(guard.extent) - 1)?;
            }
        }
        Some(bounds)
    }

    /// Returns the bounds over a part of the nest's loops. `axes` has the range of steps along each
    /// axis, outermost first.
    pub(crate) fn of_box(nest: &CopyNest, axes: impl IntoIterator<Item = Interval>) -> Self {
        let mut bounds = Self::of_axes(axes);
        bounds.extend(&nest.quotients, &nest.lookups);
        bounds
    }

    /// Sets a lookup to a known value, and computes the intervals of the quotients again, because
    /// their dividends may contain the lookup.
    pub(crate) fn know(&mut self, nest: &CopyNest, lookup: usize, value: u64) {
        self.lookups[lookup] = (signed(value), signed(value));
        self.quotients.clear();
        self.extend(&nest.quotients, &nest.lookups);
    }

    /// Returns bounds that hold at the positions to which some case applies. They equal the bounds
    /// of the whole walk, except that the lower bound of every quotient is 0: a quotient that a
    /// case uses is not negative at the positions to which the case applies.
    pub(crate) fn of_guarded(nest: &CopyNest) -> Self {
        let mut bounds = Self::of_axes(nest.extents.iter().map(|&extent| (0, signed(extent) - 1)));
        bounds.lookups.extend(nest.lookups.iter().map(lookup_interval));
        for Quotient { of, by } in &nest.quotients {
            let most = bounds.of(of).1;
            bounds.quotients.push((0, most.div_euclid(signed(*by))));
        }
        bounds
    }

    /// Returns the bounds over the positions at which the guards `when` hold and `source` is read
    /// at the offset `at`, or `None` if there are none.
    ///
    /// These bounds are narrower than the bounds of the loops, because the guards hold and the
    /// offset in the source is at most the last one that is read.
    pub(super) fn of_reading<'a>(
        nest: &CopyNest,
        when: &(impl Iterator<Item = &'a Guard> + Clone),
        source: usize,
        at: &Affine,
    ) -> Option<Self> {
        let last = match nest.sources[source].last_read {
            LastRead::Nothing => return None,
            LastRead::Unit(last) => signed(last),
            LastRead::Unknown => signed(nest.sources[source].units) - 1,
        };
        let mut bounds = Self::of_walk(nest);
        // Repeat once: quotients that the first round narrows may narrow axes in the second.
        for _ in 0..2 {
            for Guard { of, extent } in when.clone() {
                bounds.narrow(of, 0, signed(*extent) - 1)?;
            }
            bounds.narrow(at, 0, last)?;
            bounds.narrow_quotients(&nest.quotients)?;
        }
        Some(bounds)
    }

    /// Returns bounds that contain two others, for the same nest.
    pub(super) fn hull(mut self, other: Self) -> Self {
        let pairs = self.axes.iter_mut().zip(other.axes);
        let pairs = pairs.chain(self.quotients.iter_mut().zip(other.quotients));
        for (own, other) in pairs.chain(self.lookups.iter_mut().zip(other.lookups)) {
            *own = (own.0.min(other.0), own.1.max(other.1));
        }
        self
    }

    /// Narrows the bounds to the positions at which `form` lies in `low..=high`. Returns `None` if
    /// the bounds show that there are none.
    pub(super) fn assume(
        &mut self,
        quotients: &[Quotient],
        form: &Affine,
        low: i64,
        high: i64,
    ) -> Option<()> {
        // Repeat once: quotients that the first round narrows may narrow axes in the second.
        for _ in 0..2 {
            self.narrow(form, low, high)?;
            self.narrow_quotients(quotients)?;
        }
        Some(())
    }

    /// Narrows each quotient's dividend by the interval of the quotient, and each quotient by the
    /// bounds of its dividend. Returns `None` if an interval becomes empty.
    fn narrow_quotients(&mut self, quotients: &[Quotient]) -> Option<()> {
        let known = quotients.iter().enumerate().take(self.quotients.len());
        for (number, Quotient { of, by }) in known.clone().rev() {
            let (low, high) = self.quotients[number];
            let by = signed(*by);
            self.narrow(of, low * by, high * by + by - 1)?;
        }
        for (number, Quotient { of, by }) in known {
            let (low, high) = self.of(of);
            let by = signed(*by);
            self.restrict(Value::Quotient(number), low.div_euclid(by), high.div_euclid(by))?;
        }
        Some(())
    }

    /// Returns the minimum and the maximum of an expression.
    pub(crate) fn of(&self, form: &Affine) -> Interval {
        form.interval(|value| self.of_value(value))
    }

    /// Returns the interval of an axis, a quotient or a lookup.
    pub(crate) fn of_value(&self, value: Value) -> Interval {
        match value {
            Value::Axis(axis) => self.axes[axis],
            Value::Quotient(quotient) => self.quotients[quotient],
            Value::Lookup(lookup) => self.lookups[lookup],
        }
    }

    fn weighed(&self, value: Value, weight: i64) -> Interval {
        let (low, high) = self.of_value(value);
        ((weight * low).min(weight * high), (weight * low).max(weight * high))
    }

    /// Narrows the interval of each value in `form` to the range in which `form` can lie in
    /// `low..=high`. For example, `a0 + 8·a1 <= 15` limits `a1` to 1. Returns `None` if an interval
    /// becomes empty.
    fn narrow(&mut self, form: &Affine, low: i64, high: i64) -> Option<()> {
        let (least, most) = self.of(form);
        if least > high || most < low {
            return None;
        }
        for &(value, weight) in form.terms() {
            let (least, most) = self.of(form);
            let own = self.weighed(value, weight);
            // If the expression is in `low..=high`, and the other terms are within their bounds,
            // then `weight · value` is in this interval.
            let (from, to) = (low - (most - own.1), high - (least - own.0));
            let by = weight.abs();
            let (first, last) = (-(-from).div_euclid(by), to.div_euclid(by));
            let (first, last) = if weight > 0 { (first, last) } else { (-last, -first) };
            self.restrict(value, first, last)?;
        }
        Some(())
    }

    /// Intersects the interval of a value with `low..=high`. Returns `None` if the result is empty.
    pub(super) fn restrict(&mut self, value: Value, low: i64, high: i64) -> Option<()> {
        let interval = match value {
            Value::Axis(axis) => &mut self.axes[axis],
            Value::Quotient(quotient) => &mut self.quotients[quotient],
            Value::Lookup(lookup) => &mut self.lookups[lookup],
        };
        *interval = (interval.0.max(low), interval.1.min(high));
        (interval.0 <= interval.1).then_some(())
    }
}

fn lookup_interval(lookup: &Lookup) -> Interval {
    (0, signed(lookup.last))
}

/// The largest intermediate results when the expressions of a nest are evaluated, at positions to
/// which some case applies. Positive terms are added first, and then the magnitudes of the others
/// are subtracted. A kernel computes with 32-bit integers, so it can run the nest only if these
/// results fit.
///
/// The numbers saturate at 2^64-1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GreatestSums {
    /// The largest intermediate result that must be exact, because its expression is divided,
    /// compared or used as the index of a lookup.
    ///
    /// Other expressions are offsets in a source. Their intermediate results may wrap around,
    /// because the final result lies inside the source. Their constants count nevertheless, because
    /// they are written into the kernel.
    pub(crate) tested: u64,
    /// The largest intermediate result of any expression, including those that may wrap around.
    pub(crate) any: u64,
}

impl GreatestSums {
    /// Returns the largest intermediate results of all expressions of a nest.
    pub(crate) fn of(nest: &CopyNest) -> Self {
        let bounds = Bounds::of_guarded(nest);
        let sum = |form: &Affine| {
            let (added, taken) =
                form.sums(|value| bounds.of_value(value).1.max(1).unsigned_abs().into());
            u64::try_from(added.max(taken)).unwrap_or(u64::MAX)
        };
        let spelled = |form: &Affine| {
            let weights = form.terms().iter().map(|&(_, weight)| weight);
            weights.chain([form.offset()]).map(i64::unsigned_abs).max().unwrap_or(0)
        };
        let may_wrap = |source: usize| {
            let source = nest.sources().get(source);
            source.is_some_and(|source| matches!(source.last_read(), LastRead::Unit(_)))
        };
        let mut sums = Self { tested: 0, any: 0 };
        let divided = nest.quotients().iter().map(|quotient| &quotient.of);
        let looked_up = nest.lookups().iter().flat_map(Lookup::forms);
        let guards = nest.cases().iter().flat_map(|case| &case.when).map(|guard| &guard.of);
        for form in divided.chain(looked_up).chain(guards) {
            sums.tested = sums.tested.max(sum(form));
        }
        for form in nest.scattered().into_iter().flat_map(Scattered::forms) {
            sums.tested = sums.tested.max(sum(form));
        }
        sums.any = sums.tested;
        for case in nest.cases() {
            if let CaseValue::Read { source, at } = &case.take {
                let tested = if may_wrap(*source) { spelled(at) } else { sum(at) };
                sums.tested = sums.tested.max(tested);
                sums.any = sums.any.max(sum(at));
            }
        }
        sums
    }
}

/// The maximum magnitude of each quotient of a nest over the whole walk, including padding and
/// gaps.
///
/// With these numbers, the magnitude of every expression is checked against [`LIMIT`]. Passes add
/// up a few expressions at a time, and such a sum cannot overflow if each expression is within the
/// limit.
#[derive(Clone, Debug, Default)]
pub(super) struct Magnitude {
    quotients: SmallVec<[u128; 4]>,
}

impl Magnitude {
    /// Returns an error, which names `operand`, if the magnitude of an expression exceeds
    /// [`LIMIT`].
    pub(super) fn check(
        &self,
        nest: &CopyNest,
        operand: Operand,
        form: &Affine,
    ) -> Result<(), NestError> {
        within(operand, self.of(nest, form))
    }

    /// Adds the next quotient of the nest. Returns an error if its dividend or divisor exceeds
    /// [`LIMIT`].
    pub(super) fn add(
        &mut self,
        nest: &CopyNest,
        Quotient { of, by }: &Quotient,
    ) -> Result<(), NestError> {
        let whole = self.of(nest, of);
        within(Operand::Source(0), whole.max((*by).into()))?;
        self.quotients.push(whole / u128::from(*by) + 1);
        Ok(())
    }

    /// Returns the maximum magnitude of an expression; the result saturates.
    fn of(&self, nest: &CopyNest, form: &Affine) -> u128 {
        let (added, taken) = form.sums(|value| match value {
            Value::Axis(axis) => nest.extents[axis].into(),
            Value::Quotient(quotient) => self.quotients[quotient],
            Value::Lookup(lookup) => nest.lookups[lookup].last.into(),
        });
        added.saturating_add(taken)
    }
}

fn within(operand: Operand, furthest: u128) -> Result<(), NestError> {
    if furthest > LIMIT.into() {
        return Err(NestError::Reach { operand, limit: LIMIT });
    }
    Ok(())
}

/// Returns an error if the magnitude of any expression of the nest exceeds [`LIMIT`].
pub(super) fn check_range(nest: &CopyNest) -> Result<(), NestError> {
    let mut reach = Magnitude::default();
    for quotient in &nest.quotients {
        reach.add(nest, quotient)?;
    }
    for form in nest.lookups.iter().flat_map(Lookup::forms) {
        reach.check(nest, Operand::Source(0), form)?;
    }
    for Case { when, take } in &nest.cases {
        for Guard { of, extent } in when {
            within(Operand::Destination, (*extent).into())?;
            reach.check(nest, Operand::Destination, of)?;
        }
        if let CaseValue::Read { source, at } = take {
            reach.check(nest, Operand::Source(*source), at)?;
        }
    }
    for form in nest.scattered().into_iter().flat_map(Scattered::forms) {
        reach.check(nest, Operand::Destination, form)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{nest::build, shape::Shape, stride::StrideDescriptor, window::Window};

    /// Checks that guards narrow the axes, and that axes narrow the quotients.
    #[test]
    fn positions_that_read() {
        for (source, destination, axes, quotients) in [
            ("u8[3,2]", "u8[3,2]{1,0:PAD(5,4)}", [(0, 2), (0, 1)], &[][..]),
            ("u8[3,2]{0,1}", "u8[3,2]", [(0, 2), (0, 1)], &[]),
            ("u8[4,5]{1,0:T(2,4)}", "u8[4,5]{1,0:PAD(6,9)}", [(0, 3), (0, 4)], &[(0, 1), (0, 1)]),
        ] {
            let [source, destination] = [source, destination]
                .map(|text| StrideDescriptor::try_from(&text.parse::<Shape>().unwrap()).unwrap());
            let window = Window::identity(source.sizes());
            let nest = build(&source, &destination, &window).unwrap();
            let when = nest.reading_guards().iter();
            let bounds = Bounds::of_reading(&nest, &when, 0, nest.src()).unwrap();
            let given = (&bounds.axes[..], &bounds.quotients[..]);
            assert_eq!(given, (&axes[..], quotients), "{nest}");
        }
    }
}
