//! [`StrideDescriptor::index`], which finds the element at an offset: the opposite of
//! [`StrideDescriptor::offset`].
//!
//! In most layouts, one division for each axis finds the element. Explicit strides can interleave,
//! as strides of 2 and 3 do, and then only a search finds the element.

use smallvec::smallvec;

use super::{
    Axis, Coordinates, StrideDescriptor, StrideError, descriptor::signed, steps::IndexValues,
};

/// The maximum number of coordinates that [`StrideDescriptor::index`] tries if strides interleave.
/// The function returns an error if it has not found the element by then.
const SEARCH_LIMIT: u32 = 1 << 20;

impl StrideDescriptor {
    /// Returns the logical index of the element at `offset`, or `None` for padding and gaps.
    ///
    /// If several elements share the place, the result is the first of them in row-major order.
    ///
    /// ```
    /// use stridec::stride::StrideDescriptor;
    /// let tiled: stridec::shape::Shape = "f32[3,5]{1,0:T(2,2)}".parse()?;
    /// let tiled = StrideDescriptor::try_from(&tiled)?;
    /// assert_eq!(tiled.index(17)?.as_deref(), Some(&[2, 3][..]));
    /// assert_eq!(tiled.index(18)?, None); // row 3 of that tile is padding
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if `offset` is outside the memory, or if the strides interleave in too many
    /// ways for a search.
    pub fn index(&self, offset: u64) -> Result<Option<Vec<u64>>, StrideError> {
        if offset >= self.physical_elements {
            return Err(StrideError::Linear { given: offset, limit: self.physical_elements });
        }
        let mut digits: Coordinates<u64> = smallvec![0; self.extents.len()];
        let mut search = Search { order: self.axes.to_vec(), tries: 0 };
        // If several elements may share the place, search in row-major order, which finds the first
        // of them. Otherwise, search the greatest strides first: each step then has only one
        // possible value.
        if !self.nests() {
            search.order.sort_by_key(|axis| axis.coordinate);
        }
        let distance = signed(offset) - signed(self.offset);
        match search.digits(0, distance, &self.extents, &mut digits) {
            None => Err(StrideError::Search {
                strides: self.axes.iter().map(|axis| axis.stride).collect(),
            }),
            Some(false) => Ok(None),
            // A remainder past the end of a partial tile is padding.
            Some(true) => {
                Ok(self.undo(&mut IndexValues, &mut digits).is_ok().then(|| digits.to_vec()))
            }
        }
    }

    /// Returns true if each stride is greater than the largest distance that all smaller strides
    /// together can cover, so that divisions find the index from an offset. Two elements then share
    /// an offset only if a stride is 0.
    fn nests(&self) -> bool {
        let mut span = 0_u64;
        self.axes.iter().rev().filter(|axis| axis.stride != 0).all(|axis| {
            let stride = axis.stride.unsigned_abs();
            let nested = stride > span;
            let steps = self.extents[axis.coordinate].saturating_sub(1);
            span = span.saturating_add(stride.saturating_mul(steps));
            nested
        })
    }
}

/// A depth-first search for a coordinate along each axis, such that the products of coordinates and
/// strides add up to an offset. A branch is abandoned if the remaining axes together cannot cover
/// the remaining distance.
struct Search {
    order: Vec<Axis>,
    tries: u32,
}

impl Search {
    /// Searches for coordinates along the axes from index `depth` on, such that the products of
    /// coordinates and strides add up to `distance`, and writes the coordinates to `digits`.
    /// `extents` has the number of values of each coordinate. Returns true if the search succeeds,
    /// false if there is no solution, and `None` after [`SEARCH_LIMIT`] tries.
    fn digits(
        &mut self,
        depth: usize,
        distance: i64,
        extents: &[u64],
        digits: &mut [u64],
    ) -> Option<bool> {
        let Some(&Axis { coordinate, stride, .. }) = self.order.get(depth) else {
            return Some(distance == 0);
        };
        let (mut low, mut high) = (0, 0);
        for axis in &self.order[depth + 1..] {
            let span = axis.stride * (signed(extents[axis.coordinate]) - 1).max(0);
            low += span.min(0);
            high += span.max(0);
        }
        // Only digits d with low <= distance - d·stride <= high are possible.
        let last = signed(extents[coordinate]) - 1;
        let (first, last) = match stride {
            0 => (0, last.min(0)),
            1.. => {
                (div_ceil(distance - high, stride), (distance - low).div_euclid(stride).min(last))
            }
            _ => {
                (div_ceil(low - distance, -stride), (high - distance).div_euclid(-stride).min(last))
            }
        };
        for digit in first.max(0)..=last {
            self.tries += 1;
            if self.tries > SEARCH_LIMIT {
                return None;
            }
            digits[coordinate] = digit.unsigned_abs();
            if self.digits(depth + 1, distance - digit * stride, extents, digits)? {
                return Some(true);
            }
        }
        Some(false)
    }
}

/// Returns `a / by`, rounded towards +∞. `by` must be positive.
fn div_ceil(a: i64, by: i64) -> i64 {
    -(-a).div_euclid(by)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{shape::ElementType, xla::index_util::for_each_index_of};

    /// Checks every place of small arrays with various strides: `index` returns the first element
    /// there in row-major order, or `None`.
    #[test]
    fn the_first_index_of_a_place_is_found() {
        let (mut found, mut shared) = (0, 0);
        let few = if cfg!(miri) { 1 } else { 4 };
        for sizes in [&[2, 3][..], &[3, 1, 2], &[2, 2, 2], &[4]].into_iter().take(few) {
            let choices = if sizes.len() < 3 { 9 } else { 5_u32 };
            for number in 0..choices.pow(u32::try_from(sizes.len()).unwrap()) {
                let stride = |dimension: usize| {
                    let digit = number / choices.pow(u32::try_from(dimension).unwrap()) % choices;
                    i64::from(digit) - i64::from(choices / 2)
                };
                let strides: Vec<i64> = (0..sizes.len()).map(stride).collect();
                let offset = 20;
                let array =
                    StrideDescriptor::strided(ElementType::S8, 0, sizes, &strides, offset).unwrap();
                let mut first = std::collections::BTreeMap::new();
                for_each_index_of(sizes, |index| {
                    let place = array.offset(index).unwrap();
                    shared += usize::from(first.contains_key(&place));
                    first.entry(place).or_insert_with(|| index.to_vec());
                });
                for place in 0..array.physical_elements() {
                    let expected = first.get(&place).cloned();
                    found += usize::from(expected.is_some());
                    assert_eq!(array.index(place), Ok(expected), "{sizes:?} {strides:?} {place}");
                }
            }
        }
        assert!(found > 250 * few && shared > 100 * few, "{found} {shared}");
    }

    /// All elements are at even places and the search is for an odd one, so that it would have to
    /// try every combination.
    #[test]
    #[cfg_attr(miri, ignore = "a million tries take minutes")]
    fn a_search_without_end_is_given_up() {
        let array = |rank: usize| {
            StrideDescriptor::strided(ElementType::S8, 0, &vec![2; rank], &vec![2; rank], 0)
                .unwrap()
        };
        assert_eq!(array(16).index(17), Ok(None));
        assert_eq!(array(24).index(25), Err(StrideError::Search { strides: vec![2; 24] }));
    }
}
