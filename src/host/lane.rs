//! Chooses the integer type of the numbers in columns, which hold the values of an expression for
//! many rows. The type has 32 bits if these can hold every number that a nest computes, and
//! otherwise 64. Columns of 32 bits are four times as fast.

use std::ops::{BitAnd, BitOr};

use bytemuck::Pod;

use crate::nest::{Bounds, CopyNest, Integer, LookupExpr, signed};

/// A signed integer type for the numbers of a column. Sums, differences and products wrap around.
pub(super) trait Lane:
    Pod + Ord + Default + BitAnd<Output = Self> + BitOr<Output = Self>
{
    /// Converts a number, and keeps only the low bits that fit.
    fn of(value: i64) -> Self;

    /// Returns the number as the index of a unit. A negative number becomes an index past the end
    /// of every image.
    fn unit_index(self) -> usize;

    /// Returns the number with 64 bits.
    fn number(self) -> i64;

    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;

    /// Returns the quotient by a positive number, rounded down.
    fn floor(self, by: Self) -> Self;

    /// Returns the quotient, rounded towards zero. A division by 0 gives -1.
    fn divided(self, by: Self) -> Self;

    /// Returns the remainder of the division by [`divided`](Self::divided). If `by` is 0, the
    /// remainder is the dividend.
    fn remainder(self, by: Self) -> Self;

    /// Returns the number wrapped to the range of an integer type. A number of type `pred` becomes
    /// 1 if it is not 0.
    fn wrapped(self, integer: Integer) -> Self;
}

macro_rules! lane {
    ($($of:ty),*) => {
        $(impl Lane for $of {
            #[inline]
            fn of(value: i64) -> Self {
                value as Self
            }

            #[inline]
            fn unit_index(self) -> usize {
                usize::try_from(self).unwrap_or(usize::MAX)
            }

            #[inline]
            fn number(self) -> i64 {
                self.into()
            }

            #[inline]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            #[inline]
            fn floor(self, by: Self) -> Self {
                self.div_euclid(by)
            }

            #[inline]
            fn divided(self, by: Self) -> Self {
                if by == 0 { -1 } else { self.wrapping_div(by) }
            }

            #[inline]
            fn remainder(self, by: Self) -> Self {
                if by == 0 { self } else { self.wrapping_rem(by) }
            }

            #[inline]
            fn wrapped(self, integer: Integer) -> Self {
                let unused = Self::BITS - integer.bits;
                match (integer.is_signed, integer.bits) {
                    (false, 1) => Self::from(self != 0),
                    (true, _) => self << unused >> unused,
                    (false, bits) => self & ((1 << bits) - 1),
                }
            }
        })*
    };
}

lane!(i32, i64);

/// Returns true if 32-bit signed integers hold every number that a nest computes.
pub(super) fn is_narrow(nest: &CopyNest) -> bool {
    let most = u128::from(i32::MAX.unsigned_abs());
    let fits = |integer: Integer| integer.bits < 32 || integer.bits == 32 && integer.is_signed;
    let bounds = Bounds::of_box(nest, nest.extents().iter().map(|&extent| (0, signed(extent))));
    let forms = nest.forms().all(|form| {
        let furthest = |value| {
            let (low, high) = bounds.of_value(value);
            u128::from(low.unsigned_abs().max(high.unsigned_abs()))
        };
        let (added, taken) = form.sums(furthest);
        added.saturating_add(taken) <= most
    });
    let mut guards = nest.cases().iter().flat_map(|case| &case.when);
    forms
        && guards.all(|guard| u128::from(guard.extent) <= most)
        && nest.quotients().iter().all(|quotient| u128::from(quotient.by) <= most)
        && nest.lookups().iter().all(|lookup| {
            u128::from(lookup.last) <= most
                && lookup.numbers.iter().all(|number| {
                    let constant = match number.of {
                        LookupExpr::Constant(value) => i32::try_from(value).is_ok(),
                        _ => true,
                    };
                    fits(number.integer) && constant
                })
        })
}
