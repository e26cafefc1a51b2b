//! Functions of XLA's `ShapeUtil` about reshapes and transposes. They consider only the extents,
//! not the layouts.

use crate::shape::{self, ShapeError};

/// Splits two lists of extents wherever their partial products are equal, like XLA's
/// `CommonFactors`.
///
/// The result is a list of pairs of positions, from (0, 0) to the lengths of the two lists. For
/// example, `[3,8,5,7]` and `[4,3,2,35]` are split at (0,0), (2,3) and (4,4). If both lists contain
/// a 0 and are not equal, the result has only the first and the last pair. Returns `None` if the
/// products differ or exceed 2^128-1.
///
/// ```
/// use stridec::xla::shape_util::common_factors;
/// assert_eq!(common_factors(&[3, 8, 5, 7], &[4, 3, 2, 35]), Some(vec![(0, 0), (2, 3), (4, 4)]));
/// assert_eq!(common_factors(&[3], &[4]), None);
/// ```
#[must_use]
pub fn common_factors(a: &[u64], b: &[u64]) -> Option<Vec<(usize, usize)>> {
    let product = |extents: &[u64]| {
        extents.iter().try_fold(1_u128, |product, &n| product.checked_mul(n.into()))
    };
    if a == b {
        return Some((0..=a.len()).map(|i| (i, i)).collect());
    }
    if a.contains(&0) && b.contains(&0) {
        return Some(vec![(0, 0), (a.len(), b.len())]);
    }
    if product(a)? != product(b)? {
        return None;
    }
    let mut places = vec![(0, 0)];
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        // Equal extents, including ones, form a factor by themselves. Otherwise, extend the side
        // with the smaller product.
        let (mut left, mut right) = (1_u128, 1_u128);
        let (next_a, next_b) = (a.get(i), b.get(j));
        match (next_a, next_b) {
            (Some(&n), Some(&m)) => {
                if n <= m {
                    (left, i) = (n.into(), i + 1);
                }
                if m <= n {
                    (right, j) = (m.into(), j + 1);
                }
            }
            (Some(_), None) => i += 1,
            (None, _) => j += 1,
        }
        while left != right {
            if left < right {
                (left, i) = (left * u128::from(a[i]), i + 1);
            } else {
                (right, j) = (right * u128::from(b[j]), j + 1);
            }
        }
        places.push((i, j));
    }
    Some(places)
}

/// Returns the dimensions that a reshape does not change, as pairs (before, after), like XLA's
/// `DimensionsUnmodifiedByReshape`.
///
/// ```
/// use stridec::xla::shape_util::dimensions_unmodified_by_reshape;
/// assert_eq!(dimensions_unmodified_by_reshape(&[2, 3, 4], &[6, 4]), [(2, 1)]);
/// ```
#[must_use]
pub fn dimensions_unmodified_by_reshape(before: &[u64], after: &[u64]) -> Vec<(usize, usize)> {
    let places = common_factors(before, after).unwrap_or_default();
    let alone = |pair: &[(usize, usize)]| pair[1].0 - pair[0].0 == 1 && pair[1].1 - pair[0].1 == 1;
    places.windows(2).filter(|pair| alone(pair)).map(|pair| pair[0]).collect()
}

/// Returns the dimensions of one element that a reshape deletes, paired with the ones that it
/// inserts, like XLA's `InsertedOrDeleted1SizedDimensions`.
///
/// Returns `None` if the reshape makes any other change.
///
/// ```
/// use stridec::xla::shape_util::inserted_or_deleted_1_sized_dimensions as ones;
/// assert_eq!(ones(&[9, 1, 4], &[1, 9, 4, 1]), Some((vec![1], vec![0, 3])));
/// assert_eq!(ones(&[9, 1, 4], &[3, 1, 12]), None);
/// ```
#[must_use]
pub fn inserted_or_deleted_1_sized_dimensions(
    before: &[u64],
    after: &[u64],
) -> Option<(Vec<usize>, Vec<usize>)> {
    let unmodified = dimensions_unmodified_by_reshape(before, after);
    let deleted: Vec<usize> =
        (0..before.len()).filter(|d| !unmodified.iter().any(|pair| pair.0 == *d)).collect();
    let inserted: Vec<usize> =
        (0..after.len()).filter(|d| !unmodified.iter().any(|pair| pair.1 == *d)).collect();
    let all_ones = |dimensions: &[usize], of: &[u64]| dimensions.iter().all(|&d| of[d] == 1);
    (all_ones(&deleted, before) && all_ones(&inserted, after)).then_some((deleted, inserted))
}

/// Normalizes a transpose, like XLA's `GetNormalizedLogicalTransposeShape`. Dimensions of one
/// element are removed, and neighbouring dimensions that remain neighbours are merged. Returns the
/// extents of the output and the permutation.
///
/// ```
/// use stridec::xla::shape_util::normalized_transpose;
/// let (dimensions, permutation) = normalized_transpose(&[10, 1, 11, 32], &[3, 1, 0, 2])?;
/// assert_eq!((dimensions, permutation), (vec![32, 110], vec![1, 0]));
/// # Ok::<(), stridec::shape::ShapeError>(())
/// ```
///
/// # Errors
///
/// Returns an error if the permutation does not name each dimension once.
pub fn normalized_transpose(
    dimensions: &[u64],
    permutation: &[i64],
) -> Result<(Vec<u64>, Vec<usize>), ShapeError> {
    let order = shape::permutation(permutation, dimensions.len())?;
    let kept: Vec<usize> = (0..dimensions.len()).filter(|&d| dimensions[d] != 1).collect();
    let rank_of = |dimension: usize| kept.iter().position(|&d| d == dimension);
    let mut merged: Vec<(u64, usize)> = Vec::new();
    let mut previous = None;
    for (extent, from) in order.iter().filter_map(|&d| Some((dimensions[d], rank_of(d)?))) {
        match merged.last_mut() {
            Some(last) if previous.map(|p: usize| p + 1) == Some(from) => {
                last.0 = last.0.saturating_mul(extent);
            }
            _ => merged.push((extent, from)),
        }
        previous = Some(from);
    }
    let mut sources: Vec<usize> = merged.iter().map(|&(_, from)| from).collect();
    sources.sort_unstable();
    let rank = |from: usize| sources.partition_point(|&source| source < from);
    Ok(merged.into_iter().map(|(extent, from)| (extent, rank(from))).unzip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_part_where_products_meet() {
        for (a, b, expected) in [
            (&[1, 1, 1, 1][..], &[1, 1, 1][..], &[(0, 0), (1, 1), (2, 2), (3, 3), (4, 3)][..]),
            (&[2, 3], &[2, 3], &[(0, 0), (1, 1), (2, 2)]),
            (&[6, 4], &[2, 3, 4], &[(0, 0), (1, 2), (2, 3)]),
            (&[1, 6], &[2, 3], &[(0, 0), (1, 0), (2, 2)]),
            (&[], &[1], &[(0, 0), (0, 1)]),
            (&[0, 2], &[2, 0], &[(0, 0), (2, 2)]),
        ] {
            assert_eq!(common_factors(a, b).unwrap(), expected, "{a:?} {b:?}");
        }
        assert_eq!(common_factors(&[0], &[2]), None);
    }

    #[test]
    fn ones_go_and_come() {
        let ones = inserted_or_deleted_1_sized_dimensions;
        assert_eq!(ones(&[9, 1, 4], &[1, 9, 4, 1]), Some((vec![1], vec![0, 3])));
        assert_eq!(ones(&[9, 1, 4], &[3, 1, 12]), None);
        assert_eq!((ones(&[1], &[2]), ones(&[2], &[1])), (None, None));
    }

    #[test]
    fn transposes_normalise() {
        for (dimensions, permutation, expected) in [
            (&[50, 20, 30][..], &[1, 2, 0][..], (vec![600, 50], vec![1, 0])),
            (&[8, 32, 32, 32, 16], &[0, 4, 1, 2, 3], (vec![8, 16, 32768], vec![0, 2, 1])),
            (&[1, 32, 1, 3, 1, 64, 1], &[6, 1, 4, 5, 2, 3, 0], (vec![32, 64, 3], vec![0, 2, 1])),
            (&[2, 3], &[0, 1], (vec![6], vec![0])),
            (&[1], &[0], (vec![], vec![])),
        ] {
            assert_eq!(normalized_transpose(dimensions, permutation), Ok(expected));
        }
    }
}
