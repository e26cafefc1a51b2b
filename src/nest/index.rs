//! [`Index`]: one coordinate of an element's index, with the bounds of its values.
//!
//! While an operation is lowered, an index is not a number but an expression of the loops. Its
//! bounds are kept with it, because they are needed to prove that a kernel stays inside its
//! buffers.

use super::{
    Affine,
    bounds::Interval,
    numbers::{LIMIT, signed},
};

/// One coordinate of an index: an expression, and the interval of its values in a
/// [`WalkRegion`](super::WalkRegion), a set of places in the destination.
///
/// The interval starts as the extent of a dimension. Each guard narrows it, and each operation
/// computes the interval of its result from the intervals of its operands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Index {
    pub(super) form: Affine,
    pub(super) low: i64,
    pub(super) high: i64,
}

impl Index {
    /// Returns a coordinate that is the same in all iterations.
    pub(crate) fn constant(value: u64) -> Self {
        let value = signed(value);
        Self { form: Affine::constant(value), low: value, high: value }
    }

    /// Returns a coordinate that is the same in all iterations and may be negative.
    pub(crate) fn constant_signed(value: i64) -> Self {
        Self { form: Affine::constant(value), low: value, high: value }
    }

    /// Returns the minimum and the maximum value over the region.
    pub(crate) fn interval(&self) -> Interval {
        (self.low, self.high)
    }

    /// Returns the maximum value over the region, or `None` if it is negative.
    pub(crate) fn greatest(&self) -> Option<u64> {
        u64::try_from(self.high).ok()
    }

    /// Returns the expression that computes the coordinate.
    pub(crate) fn form(&self) -> &Affine {
        &self.form
    }

    /// Returns the magnitude of the coordinate if it is constant over the region.
    pub(crate) fn as_constant(&self) -> Option<u64> {
        (self.low == self.high).then_some(self.low.unsigned_abs())
    }

    /// Returns `self · scale + shift`, or `None` if a bound of the result exceeds 2^60 or a
    /// coefficient exceeds 2^63-1.
    pub(crate) fn scaled(&self, scale: i64, shift: i64) -> Option<Self> {
        let form = Affine::constant(shift).checked_plus(scale, &self.form)?;
        let at = |value: i64| value.checked_mul(scale)?.checked_add(shift);
        let (a, b) = (at(self.low)?, at(self.high)?);
        let small = |value: i64| value.unsigned_abs() <= LIMIT;
        (small(a) && small(b)).then(|| Self { form, low: a.min(b), high: a.max(b) })
    }

    /// Returns `self + scale · other`, or `None` if a bound of the result exceeds 2^60 or a
    /// coefficient exceeds 2^63-1.
    pub(crate) fn plus(&self, scale: i64, other: &Self) -> Option<Self> {
        let other = other.scaled(scale, 0)?;
        let form = self.form.clone().checked_plus(1, &other.form)?;
        let (low, high) = (self.low + other.low, self.high + other.high);
        let small = |value: i64| value.unsigned_abs() <= LIMIT;
        (small(low) && small(high)).then_some(Self { form, low, high })
    }

    /// Intersects the interval with `low..=high`. If only one value remains, the expression becomes
    /// that constant.
    pub(super) fn cut(mut self, (low, high): Interval) -> Self {
        let (low, high) = (self.low.max(low), self.high.min(high));
        // If the intersection is empty, so is the region, and the interval no longer matters.
        if low <= high {
            (self.low, self.high) = (low, high);
        }
        if low == high {
            self.form = Affine::constant(low);
        }
        self
    }
}
