//! Runs the steps of a descriptor, which turn the index of an element into its coordinates in
//! memory.
//!
//! A *coordinate* is a dimension of the array or a number that a step computes. For example, a tile
//! of 8 rows splits coordinate 0, the row, into the coordinates `row / 8` and `row % 8`.
//! [`StrideDescriptor::forward`] runs the steps, and [`StrideDescriptor::undo`] runs them
//! backwards, from coordinates to an index.
//!
//! Both are generic in the type of the values. With numbers they find one element in memory, with
//! intervals they find bounds, with affine expressions they build the loops of a copy, and with
//! names they print a description such as `d0/8`.

use std::convert::Infallible;

use smallvec::SmallVec;

use super::{Step, StrideDescriptor};

/// A value for each coordinate of a descriptor, or for the first few, such as the dimensions of the
/// array.
pub(crate) type Coordinates<V> = SmallVec<[V; 8]>;

/// An operand of a step.
pub(crate) struct Coordinate<'a, V> {
    /// The index of the coordinate in the descriptor's list.
    pub(crate) number: usize,
    /// The number of values that the coordinate can have, as in [`StrideDescriptor::extents`].
    pub(crate) extent: u64,
    /// The value of the coordinate. In a step that runs backwards, this is the value before the
    /// step, which the result replaces.
    pub(crate) value: &'a V,
}

/// The arithmetic of the steps for one type of values, such as numbers or affine expressions.
pub(crate) trait Forward {
    /// The value of a coordinate.
    type Value;
    /// The reason why a value cannot be computed.
    type Error;

    /// Returns the quotient and the remainder of `whole` divided by `by`.
    fn split(
        &mut self,
        whole: Coordinate<'_, Self::Value>,
        by: u64,
    ) -> Result<[Self::Value; 2], Self::Error>;

    /// Returns `major · extent(minor) + minor`, which joins two coordinates into one.
    fn fold(
        &mut self,
        major: Coordinate<'_, Self::Value>,
        minor: Coordinate<'_, Self::Value>,
    ) -> Result<Self::Value, Self::Error>;

    /// Returns the value of a coordinate that is always 0.
    fn unit(&mut self) -> Self::Value;
}

/// The arithmetic of the steps in reverse, for one type of values.
pub(crate) trait Undo {
    /// The value of a coordinate.
    type Value;
    /// The reason why a value cannot be computed.
    type Error;

    /// Returns `quotient · by + remainder`, the coordinate that was split.
    fn join(
        &mut self,
        whole: Coordinate<'_, Self::Value>,
        by: u64,
        quotient: Self::Value,
        remainder: Self::Value,
    ) -> Result<Self::Value, Self::Error>;

    /// Returns the major and the minor coordinate that were joined into `fold`.
    fn unfold(
        &mut self,
        major: Coordinate<'_, Self::Value>,
        minor: Coordinate<'_, Self::Value>,
        fold: Self::Value,
    ) -> Result<[Self::Value; 2], Self::Error>;
}

impl StrideDescriptor {
    /// Runs the steps from first to last. On entry, `values` has a value for each dimension of the
    /// array; on return, it has one for each coordinate.
    ///
    /// # Errors
    ///
    /// Returns the error of the first step that fails.
    pub(crate) fn forward<F: Forward>(
        &self,
        run: &mut F,
        values: &mut Coordinates<F::Value>,
    ) -> Result<(), F::Error> {
        for step in &self.steps {
            match *step {
                Step::Split { of, by } => {
                    let [quotient, remainder] = run.split(self.coordinate(values, of), by)?;
                    values.push(quotient);
                    values.push(remainder);
                }
                Step::Fold { major, minor } => {
                    let fold =
                        run.fold(self.coordinate(values, major), self.coordinate(values, minor))?;
                    values.push(fold);
                }
                Step::Unit => values.push(run.unit()),
            }
        }
        Ok(())
    }

    /// Runs the steps backwards, from last to first. On entry, `values` has a value for each
    /// coordinate; on return, it has one for each dimension of the array. The result of a step
    /// replaces the value that its operand has on entry.
    ///
    /// # Errors
    ///
    /// Returns the error of the first step that fails.
    pub(crate) fn undo<U: Undo>(
        &self,
        run: &mut U,
        values: &mut Coordinates<U::Value>,
    ) -> Result<(), U::Error> {
        for step in self.steps.iter().rev() {
            let mut result = || values.pop().expect("a value stands for each coordinate");
            match *step {
                Step::Split { of, by } => {
                    let (remainder, quotient) = (result(), result());
                    values[of] = run.join(self.coordinate(values, of), by, quotient, remainder)?;
                }
                Step::Fold { major, minor } => {
                    let fold = result();
                    let [of_major, of_minor] = run.unfold(
                        self.coordinate(values, major),
                        self.coordinate(values, minor),
                        fold,
                    )?;
                    values[major] = of_major;
                    values[minor] = of_minor;
                }
                Step::Unit => drop(result()),
            }
        }
        Ok(())
    }

    fn coordinate<'a, V>(&self, values: &'a [V], number: usize) -> Coordinate<'a, V> {
        Coordinate { number, extent: self.extents[number], value: &values[number] }
    }

    /// Returns the value of each coordinate at `index`, which may be inside padding.
    pub(crate) fn coordinates(&self, index: &[u64]) -> Coordinates<u64> {
        let mut values = index.into();
        let Ok(()) = self.forward(&mut IndexValues, &mut values);
        values
    }

    /// Returns the least and the greatest value of each coordinate over a box of indices. `of` has
    /// the least and the greatest index along each dimension of the array.
    ///
    /// If a step joins two coordinates, the range of the result may contain values that do not
    /// occur.
    pub(crate) fn intervals(&self, mut of: Coordinates<(u64, u64)>) -> Coordinates<(u64, u64)> {
        let Ok(()) = self.forward(&mut CoordinateIntervals, &mut of);
        of
    }
}

impl Step {
    /// Returns the step with its coordinates renumbered by `number`.
    pub(super) fn renumbered(self, number: impl Fn(usize) -> usize) -> Self {
        match self {
            Self::Split { of, by } => Self::Split { of: number(of), by },
            Self::Fold { major, minor } => {
                Self::Fold { major: number(major), minor: number(minor) }
            }
            Self::Unit => Self::Unit,
        }
    }
}

/// Runs the steps with numbers, for a single index.
pub(super) struct IndexValues;

/// The error for a place past the end of a partial tile. It is padding, so it has no index.
pub(super) struct InPadding;

impl Forward for IndexValues {
    type Value = u64;
    type Error = Infallible;

    fn split(&mut self, whole: Coordinate<'_, u64>, by: u64) -> Result<[u64; 2], Infallible> {
        Ok([whole.value / by, whole.value % by])
    }

    fn fold(
        &mut self,
        major: Coordinate<'_, u64>,
        minor: Coordinate<'_, u64>,
    ) -> Result<u64, Infallible> {
        Ok(major.value * minor.extent + minor.value)
    }

    fn unit(&mut self) -> u64 {
        0
    }
}

impl Undo for IndexValues {
    type Value = u64;
    type Error = InPadding;

    fn join(
        &mut self,
        whole: Coordinate<'_, u64>,
        by: u64,
        quotient: u64,
        remainder: u64,
    ) -> Result<u64, InPadding> {
        let value = quotient * by + remainder;
        if value < whole.extent { Ok(value) } else { Err(InPadding) }
    }

    fn unfold(
        &mut self,
        _: Coordinate<'_, u64>,
        minor: Coordinate<'_, u64>,
        fold: u64,
    ) -> Result<[u64; 2], InPadding> {
        Ok([fold / minor.extent, fold % minor.extent])
    }
}

/// Runs the steps with intervals, for a box of indices.
struct CoordinateIntervals;

impl Forward for CoordinateIntervals {
    type Value = (u64, u64);
    type Error = Infallible;

    fn split(
        &mut self,
        whole: Coordinate<'_, (u64, u64)>,
        by: u64,
    ) -> Result<[(u64, u64); 2], Infallible> {
        let (low, high) = *whole.value;
        let quotients = (low / by, high / by);
        // If the interval lies in one tile, so do the remainders. Otherwise assume that every
        // remainder occurs.
        let remainders =
            if quotients.0 == quotients.1 { (low % by, high % by) } else { (0, by - 1) };
        Ok([quotients, remainders])
    }

    fn fold(
        &mut self,
        major: Coordinate<'_, (u64, u64)>,
        minor: Coordinate<'_, (u64, u64)>,
    ) -> Result<(u64, u64), Infallible> {
        let end = |major: u64, of_minor: u64| major * minor.extent + of_minor;
        Ok((end(major.value.0, minor.value.0), end(major.value.1, minor.value.1)))
    }

    fn unit(&mut self) -> (u64, u64) {
        (0, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{shape::Shape, xla::index_util::for_each_index_of};

    const SHAPES: [&str; 6] = [
        "u8[3,5]{1,0:T(2,2)}",
        "u8[2,3]{1,0:T(*,4)}",
        "u8[4,5,3]{2,0,1:T(*,3,2)(2,1)}",
        "u8[7]{0:T(2,3)}",
        "u8[5,9]{1,0:T(4,4)(2,1)}",
        "u8[3,4,5]{2,1,0:T(*,*,7)}",
    ];

    fn lower(text: &str) -> StrideDescriptor {
        StrideDescriptor::try_from(&text.parse::<Shape>().unwrap()).unwrap()
    }

    #[test]
    fn undone_coordinates_are_the_index_that_made_them() {
        for text in SHAPES {
            let descriptor = lower(text);
            for_each_index_of(descriptor.sizes(), |index| {
                let mut values = descriptor.coordinates(index);
                assert_eq!(values.len(), descriptor.extents().len(), "{text}");
                assert!(descriptor.undo(&mut IndexValues, &mut values).is_ok(), "{text} {index:?}");
                assert_eq!(values[..], *index, "{text}");
            });
        }
    }

    #[test]
    fn coordinates_stay_in_their_intervals() {
        for text in SHAPES {
            let descriptor = lower(text);
            // The box excludes the first and the last index of each dimension.
            let part = descriptor.sizes().iter().map(|&size| (1, size.max(3) - 2)).collect();
            let intervals = descriptor.intervals(part);
            for_each_index_of(descriptor.sizes(), |index| {
                if index.iter().zip(&intervals).all(|(at, (low, high))| (low..=high).contains(&at))
                {
                    let values = descriptor.coordinates(index);
                    for (value, (low, high)) in values.iter().zip(&intervals) {
                        assert!((low..=high).contains(&value), "{text} {index:?}");
                    }
                }
            });
        }
    }
}
