//! Permutations of dimension numbers, like XLA's `permutation_util.h`.
//!
//! A permutation `p` means `out[i] = in[p[i]]`. TensorFlow 1.x's `Permute` used the inverse
//! convention, like [`permute_inverse`].

use crate::shape::{ShapeError, dimension_number, permutation as checked};

/// Returns true if each number from 0 to n-1 occurs once, like XLA's `IsPermutation`.
#[must_use]
pub fn is_permutation(permutation: &[i64]) -> bool {
    permutation.iter().all(|&n| n >= 0) && checked(permutation, permutation.len()).is_ok()
}

/// Returns the list with `out[i] = input[permutation[i]]`, like XLA's `Permute`.
///
/// ```
/// use stridec::xla::permutation_util::{permute, permute_inverse};
/// assert_eq!(permute(&['a', 'b', 'c'], &[2, 0, 1])?, ['c', 'a', 'b']);
/// // TensorFlow 1.x calls this `Permute`.
/// assert_eq!(permute_inverse(&['a', 'b', 'c'], &[2, 0, 1])?, ['b', 'c', 'a']);
/// # Ok::<(), stridec::shape::ShapeError>(())
/// ```
///
/// # Errors
///
/// Returns an error if `permutation` is not a permutation with the length of `input`.
pub fn permute<T: Clone>(input: &[T], permutation: &[i64]) -> Result<Vec<T>, ShapeError> {
    Ok(checked(permutation, input.len())?.into_iter().map(|i| input[i].clone()).collect())
}

/// Returns the list with `out[permutation[i]] = input[i]`, like XLA's `PermuteInverse`.
///
/// # Errors
///
/// Returns an error if `permutation` is not a permutation with the length of `input`.
pub fn permute_inverse<T: Clone>(input: &[T], permutation: &[i64]) -> Result<Vec<T>, ShapeError> {
    let inverse = inverse(&checked(permutation, input.len())?);
    Ok(inverse.into_iter().map(|i| input[i].clone()).collect())
}

/// Returns the composition of two permutations, `out[i] = p1[p2[i]]`, like XLA's
/// `ComposePermutations`.
///
/// # Errors
///
/// Returns an error if `p1` and `p2` are not permutations of the same length.
pub fn compose_permutations(p1: &[i64], p2: &[i64]) -> Result<Vec<usize>, ShapeError> {
    permute(&checked(p1, p1.len())?, p2)
}

/// Moves the entry at `from` to `to`, and shifts the entries between the two positions by one. Like
/// `move_single` in XLA.
///
/// ```
/// use stridec::xla::permutation_util::move_single;
/// assert_eq!(move_single(&[0, 1, 2, 3, 4], 1, 3)?, [0, 2, 3, 1, 4]);
/// # Ok::<(), stridec::shape::ShapeError>(())
/// ```
///
/// # Errors
///
/// Returns an error if a position is out of range. Negative positions count from the end.
pub fn move_single<T: Clone>(entries: &[T], from: i64, to: i64) -> Result<Vec<T>, ShapeError> {
    let from = dimension_number(from, entries.len())?;
    let to = dimension_number(to, entries.len())?;
    let mut moved = entries.to_vec();
    let entry = moved.remove(from);
    moved.insert(to, entry);
    Ok(moved)
}

/// Returns the inverse of a permutation that has already been checked.
pub(super) fn inverse(permutation: &[usize]) -> Vec<usize> {
    let mut inverse = vec![0; permutation.len()];
    for (i, &to) in permutation.iter().enumerate() {
        inverse[to] = i;
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permutations_are_told_from_others() {
        for (given, expected) in [
            (&[][..], true),
            (&[0], true),
            (&[3, 1, 0, 2], true),
            (&[1, 1], false),
            (&[3, 0, 2], false),
            (&[-1, 0], false),
        ] {
            assert_eq!(is_permutation(given), expected, "{given:?}");
        }
    }

    #[test]
    fn the_inverse_undoes() {
        let p = [2, 0, 3, 1];
        assert_eq!(permute_inverse(&[0, 1, 2, 3], &p).unwrap(), [1, 3, 0, 2]);
        let there = permute(&['a', 'b', 'c', 'd'], &p).unwrap();
        assert_eq!(permute_inverse(&there, &p).unwrap(), ['a', 'b', 'c', 'd']);
        assert_eq!(compose_permutations(&[1, 2, 0], &[1, 2, 0]), Ok(vec![2, 0, 1]));
    }
}
