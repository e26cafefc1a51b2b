//! Conversions between indices and linear offsets, like XLA's `IndexUtil`, but also for padded and
//! tiled arrays.
//!
//! A multidimensional index has one value per logical dimension. A linear index is an offset in
//! memory, in elements.

use crate::{
    shape::{Shape, dimension_number},
    stride::{StrideDescriptor, StrideError},
};

/// Returns the offset of the element at `index`, in elements, like XLA's
/// `MultidimensionalIndexToLinearIndex`.
///
/// ```
/// use stridec::xla::index_util::multidimensional_index_to_linear_index as linear;
/// assert_eq!(linear(&"f32[10,20,30]{1,2,0}".parse()?, &[8, 15, 27])?, 5355);
/// assert_eq!(linear(&"f32[3,5]{1,0:T(2,2)}".parse()?, &[2, 3])?, 17);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns an error if the shape cannot be lowered or if the index is outside the array.
pub fn multidimensional_index_to_linear_index(
    shape: &Shape,
    index: &[u64],
) -> Result<u64, StrideError> {
    StrideDescriptor::try_from(shape)?.offset(index)
}

/// Returns the index of the element at an offset, or `None` for padding, like XLA's
/// `LinearIndexToMultidimensionalIndex`.
///
/// # Errors
///
/// Returns an error if the shape cannot be lowered or if the offset is outside its memory.
pub fn linear_index_to_multidimensional_index(
    shape: &Shape,
    linear: u64,
) -> Result<Option<Vec<u64>>, StrideError> {
    StrideDescriptor::try_from(shape)?.index(linear)
}

/// Returns the stride of a dimension, in elements, or `None` if a tile splits the dimension, like
/// XLA's `GetDimensionStride`.
///
/// For a dimension with one element, the result is the stride that follows from the layout,
/// although it has no effect. Negative dimension numbers count from the end.
///
/// ```
/// use stridec::xla::index_util::get_dimension_stride;
/// assert_eq!(get_dimension_stride(&"f32[5,8,10,4]".parse()?, 1)?, Some(40));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns an error if the shape cannot be lowered or if it has no such dimension.
pub fn get_dimension_stride(shape: &Shape, dimension: i64) -> Result<Option<i64>, StrideError> {
    let dimension = dimension_number(dimension, shape.rank())?;
    Ok(StrideDescriptor::try_from(shape)?.strides().nth(dimension).flatten())
}

/// Advances an index to the next one in row-major order, regardless of the layout, like XLA's
/// `BumpIndices`. Returns false if it is already the last index.
///
/// ```
/// use stridec::xla::index_util::bump_indices;
/// let mut index = [0, 2];
/// assert!(bump_indices(&[2, 3], &mut index));
/// assert_eq!(index, [1, 0]);
/// ```
#[must_use]
pub fn bump_indices(sizes: &[u64], index: &mut [u64]) -> bool {
    let steppable = |d: &usize| index[*d].checked_add(1).is_some_and(|next| next < sizes[*d]);
    let Some(bumped) = (0..sizes.len().min(index.len())).rev().find(steppable) else {
        return false;
    };
    index[bumped] += 1;
    index[bumped + 1..].fill(0);
    true
}

/// Returns true if an index has one value per dimension and each value is below the extent, like
/// XLA's `IndexInBounds`.
#[must_use]
pub fn index_in_bounds(sizes: &[u64], index: &[u64]) -> bool {
    index.len() == sizes.len() && index.iter().zip(sizes).all(|(at, size)| at < size)
}

/// Calls `visit` with each index from `base` up to, but not including, `base + counts`, in steps of
/// `increments` and in row-major order, like XLA's `ForEachIndex`.
///
/// A dimension whose increment or count is 0 stays at its base, as in XLA. If the lists have
/// different lengths, `visit` is never called.
///
/// ```
/// use stridec::xla::index_util::for_each_index;
/// let mut visited = Vec::new();
/// for_each_index(&[1, 0], &[0, 4], &[0, 3], |index| visited.push(index.to_vec()));
/// assert_eq!(visited, [[1, 0], [1, 3]]);
/// ```
pub fn for_each_index(
    base: &[u64],
    counts: &[u64],
    increments: &[u64],
    mut visit: impl FnMut(&[u64]),
) {
    if counts.len() != base.len() || increments.len() != base.len() {
        return;
    }
    let mut index = base.to_vec();
    loop {
        visit(&index);
        let next = |d: usize| {
            let next = index[d].checked_add(increments[d])?;
            (increments[d] > 0 && next - base[d] < counts[d]).then_some(next)
        };
        let bumped = (0..index.len()).rev().find_map(|d| Some((d, next(d)?)));
        let Some((dimension, next)) = bumped else { return };
        index[dimension] = next;
        index[dimension + 1..].copy_from_slice(&base[dimension + 1..]);
    }
}

/// Calls `visit` with every index of an array, in row-major order. An array with an extent of 0 has
/// no indices.
pub fn for_each_index_of(sizes: &[u64], visit: impl FnMut(&[u64])) {
    if !sizes.contains(&0) {
        for_each_index(&vec![0; sizes.len()], sizes, &vec![1; sizes.len()], visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_index_is_bumped_to_once() {
        let sizes = [2, 3, 2];
        let mut bumped = vec![vec![0; 3]];
        let mut index = [0; 3];
        while bump_indices(&sizes, &mut index) {
            bumped.push(index.to_vec());
        }
        let mut visited = Vec::new();
        for_each_index_of(&sizes, |index| visited.push(index.to_vec()));
        assert_eq!(bumped, visited);
        assert!(visited.is_sorted_by(|a, b| a < b));
        assert!(visited.iter().all(|index| index_in_bounds(&sizes, index)));
        assert_eq!(visited.len(), 12);
        assert!(!bump_indices(&[], &mut []));
    }

    #[test]
    fn zero_extents_have_no_index_and_rank_0_has_one() {
        for (sizes, expected) in [(&[][..], 1), (&[0], 0), (&[3, 0], 0), (&[6, 11, 17], 1122)] {
            let mut visits = 0;
            for_each_index_of(sizes, |_| visits += 1);
            assert_eq!(visits, expected, "{sizes:?}");
        }
        assert!(index_in_bounds(&[], &[]) && !index_in_bounds(&[2], &[2]));
    }

    #[test]
    fn a_part_is_visited_in_steps_from_its_base() {
        let mut visited = Vec::new();
        for_each_index(&[1, 2], &[2, 3], &[1, 2], |index| visited.push(index.to_vec()));
        assert_eq!(visited, [[1, 2], [1, 4], [2, 2], [2, 4]]);
        visited.clear();
        for_each_index(&[3, 5], &[0, 2], &[4, 0], |index| visited.push(index.to_vec()));
        assert_eq!(visited, [[3, 5]]);
    }

    #[test]
    fn padded_and_tiled_arrays_have_linear_indices_too() {
        let padded: Shape = "f32[2,3]{0,1:PAD(3,5,zero)}".parse().unwrap();
        assert_eq!(multidimensional_index_to_linear_index(&padded, &[1, 2]), Ok(7));
        assert_eq!(linear_index_to_multidimensional_index(&padded, 7), Ok(Some(vec![1, 2])));
        assert_eq!(linear_index_to_multidimensional_index(&padded, 8), Ok(None));
        assert_eq!(get_dimension_stride(&padded, -1), Ok(Some(3)));
        let tiled: Shape = "f32[8,4]{1,0:T(2,2)}".parse().unwrap();
        assert_eq!(get_dimension_stride(&tiled, 0), Ok(None));
        let folded: Shape = "f32[2,3]{1,0:T(*,4)}".parse().unwrap();
        for_each_index_of(&[2, 3], |index| {
            let linear = multidimensional_index_to_linear_index(&folded, index).unwrap();
            let back = linear_index_to_multidimensional_index(&folded, linear);
            assert_eq!(back, Ok(Some(index.to_vec())));
        });
    }
}
