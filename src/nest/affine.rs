//! [`Affine`]: a weighted sum of the loop counters, quotients and lookups of a nest, plus a
//! constant. Messages and identifiers call it a *form*.
//!
//! Every offset and condition of a nest is such an expression, for example `8·a1 - q0 + 3`.
//! Expressions can be added and bounded, and some can be divided exactly. The passes need no other
//! algebra.

use std::fmt;

use smallvec::SmallVec;

use super::bounds::Interval;

/// A variable of an [`Affine`] expression: a loop counter, or a number that the nest computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// The current step of a loop, from 0. Axis 0 is the outermost loop.
    Axis(usize),
    /// The entry of the nest's list of [quotients](super::Quotient) with this index.
    Quotient(usize),
    /// The entry of the nest's list of [lookups](super::Lookup) with this index.
    Lookup(usize),
}

/// A weighted sum of values plus a constant: `Σ weight · value + constant`. Each value occurs at
/// most once, and no weight is 0, so that equal sums compare equal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Affine {
    terms: SmallVec<[(Value, i64); 8]>,
    constant: i64,
}

impl Affine {
    /// Returns an expression that is always `constant`.
    #[must_use]
    pub fn constant(constant: i64) -> Self {
        Self { terms: SmallVec::new(), constant }
    }

    /// Returns the expression that consists of `value` alone, with weight 1.
    #[must_use]
    pub fn value(value: Value) -> Self {
        Self { terms: [(value, 1)].into_iter().collect(), constant: 0 }
    }

    /// Returns the values, each paired with its weight: first axes, then quotients, then lookups.
    #[must_use]
    pub fn terms(&self) -> &[(Value, i64)] {
        &self.terms
    }

    /// Returns the constant term, 0 if there is none.
    #[must_use]
    pub fn offset(&self) -> i64 {
        self.constant
    }

    /// Returns the value of the expression if it is a constant, and otherwise `None`.
    pub(crate) fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// Returns the weight of `value`, or 0 if it does not occur.
    #[must_use]
    pub fn weight(&self, value: Value) -> i64 {
        self.terms.iter().find(|term| term.0 == value).map_or(0, |term| term.1)
    }

    /// Returns `self + scale · other`.
    ///
    /// # Panics
    ///
    /// Panics if a coefficient exceeds 2^63-1. The expressions of a valid nest stay far below this
    /// limit.
    #[must_use]
    pub fn plus(self, scale: i64, other: &Self) -> Self {
        self.checked_plus(scale, other).expect("forms of a nest stay below 2^60")
    }

    /// Returns `self + scale · other`, or `None` if a coefficient exceeds 2^63-1.
    pub(crate) fn checked_plus(mut self, scale: i64, other: &Self) -> Option<Self> {
        self.add_all(scale, other)?;
        Some(self)
    }

    /// Adds `scale · other` to the expression. Returns `None` if a coefficient exceeds 2^63-1; the
    /// expression is then left in an inconsistent state.
    fn add_all(&mut self, scale: i64, other: &Self) -> Option<()> {
        self.constant = self.constant.checked_add(scale.checked_mul(other.constant)?)?;
        for &(value, weight) in &other.terms {
            self.add(value, scale.checked_mul(weight)?)?;
        }
        Some(())
    }

    /// Replaces every occurrence of `value` by the expression `by`.
    ///
    /// # Panics
    ///
    /// Panics in the same cases as [`plus`](Self::plus).
    pub(crate) fn substitute(&mut self, value: Value, by: &Self) -> &mut Self {
        let weight = self.weight(value);
        if weight != 0 {
            self.terms.retain(|term| term.0 != value);
            self.add_all(weight, by).expect("forms of a nest stay below 2^60");
        }
        self
    }

    /// Returns a copy of the expression in which `value` is replaced by `by`.
    pub(crate) fn substituted(&self, value: Value, by: &Self) -> Self {
        let mut form = self.clone();
        form.substitute(value, by);
        form
    }

    /// Replaces each variable by the result of `name`, for example to renumber axes after one was
    /// removed. `name` must not map two variables to one.
    pub(crate) fn rename(&mut self, name: impl Fn(Value) -> Value) -> &mut Self {
        for term in &mut self.terms {
            term.0 = name(term.0);
        }
        self.terms.sort_unstable_by_key(|term| term.0);
        self
    }

    /// Evaluates the expression. `at` returns the current value of an axis, a quotient or a lookup.
    pub(crate) fn evaluate(&self, at: impl Fn(Value) -> i64) -> i64 {
        self.terms.iter().map(|&(value, weight)| weight * at(value)).sum::<i64>() + self.constant
    }

    /// Returns an upper bound on the sum of the positive terms, and another on the magnitude of the
    /// sum of the negative terms. `of` returns the maximum magnitude of each value. The sums
    /// saturate.
    ///
    /// A kernel computes with unsigned integers: it adds all positive terms and then subtracts the
    /// others. The first sum is therefore the largest intermediate result.
    pub(crate) fn sums(&self, of: impl Fn(Value) -> u128) -> (u128, u128) {
        let constant = (self.constant, 1);
        let parts = self.terms.iter().map(|&(value, weight)| (weight, of(value)));
        parts.chain([constant]).fold((0, 0), |(added, taken): (u128, u128), (weight, most)| {
            let part = most.saturating_mul(weight.unsigned_abs().into());
            if weight > 0 {
                (added.saturating_add(part), taken)
            } else {
                (added, taken.saturating_add(part))
            }
        })
    }

    /// Returns the minimum and the maximum of the expression if each value lies in the interval
    /// that `of` returns for it.
    pub(crate) fn interval(&self, of: impl Fn(Value) -> Interval) -> Interval {
        self.terms.iter().fold((self.constant, self.constant), |(low, high), &(value, weight)| {
            let (least, most) = of(value);
            let (a, b) = (weight * least, weight * most);
            (low + a.min(b), high + a.max(b))
        })
    }

    /// Returns `⌊self / by⌋` as an affine expression, or `None` if none is found. `of` returns the
    /// interval of each value.
    ///
    /// Terms whose weights are multiples of `by` are divided exactly. The sum of the other terms
    /// and the constant must give the same quotient for all values in their intervals. For example,
    /// `8·a + b` divided by 8 is `a` if `b` lies in `0..8`.
    pub(crate) fn divide(&self, by: i64, of: impl Fn(Value) -> Interval) -> Option<Self> {
        let mut quotient = Self::default();
        let mut rest = Self::default();
        for &(value, weight) in &self.terms {
            if weight % by == 0 {
                quotient.terms.push((value, weight / by));
            } else {
                rest.terms.push((value, weight));
            }
        }
        let (low, high) = rest.interval(of);
        quotient.constant = (self.constant + low).div_euclid(by);
        let shift = self.constant - quotient.constant * by;
        (low + shift >= 0 && high + shift < by).then_some(quotient)
    }

    fn add(&mut self, value: Value, weight: i64) -> Option<()> {
        match self.terms.binary_search_by_key(&value, |term| term.0) {
            Ok(at) => {
                self.terms[at].1 = self.terms[at].1.checked_add(weight)?;
                if self.terms[at].1 == 0 {
                    self.terms.remove(at);
                }
            }
            Err(at) if weight != 0 => self.terms.insert(at, (value, weight)),
            Err(_) => {}
        }
        Some(())
    }
}

impl fmt::Display for Affine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for &(value, weight) in &self.terms {
            let sign = match (first, weight < 0) {
                (true, true) => "-",
                (true, false) => "",
                (false, true) => " - ",
                (false, false) => " + ",
            };
            f.write_str(sign)?;
            if weight.unsigned_abs() != 1 {
                write!(f, "{}·", weight.unsigned_abs())?;
            }
            write!(f, "{value}")?;
            first = false;
        }
        match (first, self.constant) {
            (true, constant) => write!(f, "{constant}"),
            (false, 0) => Ok(()),
            (false, constant) if constant < 0 => write!(f, " - {}", constant.unsigned_abs()),
            (false, constant) => write!(f, " + {constant}"),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Axis(number) => write!(f, "a{number}"),
            Self::Quotient(number) => write!(f, "q{number}"),
            Self::Lookup(number) => write!(f, "l{number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares each quotient with an integer division at every combination of values.
    #[test]
    fn divide_is_division_wherever_it_answers() {
        let extents = [3_i64, 4, 5];
        let fewer = if cfg!(miri) { 6 } else { 1 };
        let mut answered = 0;
        for weights in [[8, 2, 1], [12, 3, 1], [-8, 1, 0], [6, 4, 1], [1, -1, 8], [0, 5, 1]] {
            for constant in (-9..10).step_by(fewer) {
                for by in 1..13 {
                    let mut form = Affine::constant(constant);
                    for (axis, weight) in weights.into_iter().enumerate() {
                        form = form.plus(weight, &Affine::value(Value::Axis(axis)));
                    }
                    let interval = |value: Value| match value {
                        Value::Axis(axis) => (0, extents[axis] - 1),
                        _ => (0, 0),
                    };
                    let quotient = form.divide(by, interval);
                    let cells = (0..extents[0])
                        .flat_map(|a| (0..extents[1]).map(move |b| (a, b)))
                        .flat_map(|(a, b)| (0..extents[2]).map(move |c| [a, b, c]));
                    for cell in cells {
                        let at = |value: Value| match value {
                            Value::Axis(axis) => cell[axis],
                            _ => 0,
                        };
                        if let Some(quotient) = &quotient {
                            assert_eq!(quotient.evaluate(at), form.evaluate(at).div_euclid(by));
                            answered += 1;
                        }
                    }
                }
            }
        }
        assert!(answered > 5_000 / fewer, "{answered}");
    }

    #[test]
    fn prints_as_a_sum() {
        let form = Affine::constant(-3)
            .plus(8, &Affine::value(Value::Axis(1)))
            .plus(-1, &Affine::value(Value::Quotient(0)));
        assert_eq!(form.to_string(), "8·a1 - q0 - 3");
        let above = Affine::constant(3).plus(1, &Affine::value(Value::Axis(0)));
        assert_eq!(above.to_string(), "a0 + 3");
        assert_eq!(Affine::constant(7).to_string(), "7");
    }
}
