//! Dimension numbers that may be negative, as in numpy: -1 is the last dimension.

use super::{FieldPath, MAX_RANK, ShapeError};

/// Returns the dimension that `dimension` refers to. Negative numbers count from the end, so -1 is
/// the last dimension.
///
/// # Errors
///
/// Returns an error if the number is not in `-rank..rank`.
pub(crate) fn dimension_number(dimension: i64, rank: usize) -> Result<usize, ShapeError> {
    numbered(|| FieldPath::new("dimension"), dimension, rank)
}

/// Returns the dimensions that `dimensions` refer to. Negative numbers count from the end.
///
/// # Errors
///
/// Returns an error if a number is not in `-rank..rank` or if two numbers name the same dimension.
pub(crate) fn dimension_numbers(dimensions: &[i64], rank: usize) -> Result<Vec<usize>, ShapeError> {
    distinct("dimensions", dimensions, rank)
}

/// Returns the permutation of `rank` dimensions that `permutation` describes. Negative numbers
/// count from the end.
///
/// # Errors
///
/// Returns an error unless the numbers name each of the `rank` dimensions once.
pub(crate) fn permutation(permutation: &[i64], rank: usize) -> Result<Vec<usize>, ShapeError> {
    if permutation.len() != rank {
        return Err(ShapeError::Count {
            field: FieldPath::new("permutation"),
            given: permutation.len(),
            rank,
            accepted: "one for each dimension",
        });
    }
    distinct("permutation", permutation, rank)
}

/// Converts dimensions to signed numbers, the type that the other functions of this module accept.
pub(crate) fn signed(dimensions: &[usize]) -> Vec<i64> {
    dimensions.iter().filter_map(|&dimension| i64::try_from(dimension).ok()).collect()
}

/// Does the work of [`dimension_numbers`]. `name` is the name of the list in error messages.
fn distinct(name: &'static str, dimensions: &[i64], rank: usize) -> Result<Vec<usize>, ShapeError> {
    let mut seen = [false; MAX_RANK];
    let mut named = Vec::with_capacity(dimensions.len());
    for (i, &dimension) in dimensions.iter().enumerate() {
        let field = || FieldPath::new(name).index(i);
        let number = numbered(field, dimension, rank)?;
        if std::mem::replace(&mut seen[number], true) {
            return Err(ShapeError::Duplicate { field: field(), given: number as u64 });
        }
        named.push(number);
    }
    Ok(named)
}

fn numbered(
    field: impl FnOnce() -> FieldPath,
    dimension: i64,
    rank: usize,
) -> Result<usize, ShapeError> {
    let end = i64::try_from(rank.min(MAX_RANK)).unwrap_or(0);
    let from_the_start = if dimension < 0 { dimension.saturating_add(end) } else { dimension };
    match usize::try_from(from_the_start) {
        Ok(number) if from_the_start < end => Ok(number),
        _ => Err(ShapeError::Range {
            field: field(),
            given: dimension.into(),
            least: -end,
            greatest: end - 1,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_numbers_count_from_the_end() {
        assert_eq!([0, 1, -1, -2].map(|d| dimension_number(d, 2).unwrap()), [0, 1, 1, 0]);
        for outside in [2, -3, i64::MIN, i64::MAX] {
            assert!(dimension_number(outside, 2).is_err());
        }
        let error = dimension_number(2, 2).unwrap_err().to_string();
        assert_eq!(error, "dimension: expected -2 to 1, got 2");
        let error = dimension_number(0, 0).unwrap_err().to_string();
        assert_eq!(error, "dimension: expected nothing there, got 0");
    }

    #[test]
    fn a_dimension_is_named_once() {
        assert_eq!(dimension_numbers(&[2, 0], 3), Ok(vec![2, 0]));
        assert_eq!(permutation(&[-1, 0, 1], 3), Ok(vec![2, 0, 1]));
        assert!(permutation(&[0], 2).is_err());
        let error = dimension_numbers(&[2, -1], 3).unwrap_err().to_string();
        assert_eq!(error, "dimensions[1]: expected each dimension once, got 2 twice");
    }
}
