//! [`DigitPermutation`]: the order of devices that XLA writes as `<=[2,4]T(1,0)`, an array of the
//! integers `0..8` that is reshaped to `[2,4]` and then transposed.
//!
//! A permutation is stored as a few numbers, however many devices there are. The index of a device
//! is split into mixed-radix digits, such as row and column, and a transposition only exchanges
//! digits.

use smallvec::SmallVec;

/// A digit of a mixed-radix number: the digit of `number` is `(number / stride) % size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct RadixDigit {
    pub(super) size: u64,
    pub(super) stride: u64,
}

/// A permutation of `0..count`, stored as a list of digits.
///
/// For example, `iota(6).reshape(2,3).transpose(1,0)` is 0, 3, 1, 4, 2, 5. It has two digits: size
/// 3 with stride 1, and size 2 with stride 3. The permutation maps a position to a number as
/// follows. The position is split by the sizes of the digits, major to minor, and each part is
/// multiplied by the stride of its digit: position 1 is (0,1), so its number is 0·1 + 1·3 = 3. No
/// digit has size 1, and adjacent digits are merged if possible, so equal permutations have equal
/// digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct DigitPermutation(SmallVec<[RadixDigit; 4]>);

impl DigitPermutation {
    /// Returns the permutation that maps every position to itself.
    pub(super) fn identity(count: u64) -> Self {
        Self::new([RadixDigit { size: count, stride: 1 }])
    }

    /// Returns `iota(count).reshape(sizes).transpose(perm)` as defined by numpy. `perm` must be a
    /// permutation, and the product of `sizes` must fit a `u64`.
    pub(super) fn transposed(sizes: &[u64], perm: &[usize]) -> Self {
        let mut strides = vec![1; sizes.len()];
        for axis in (1..sizes.len()).rev() {
            strides[axis - 1] = strides[axis] * sizes[axis];
        }
        Self::new(perm.iter().map(|&axis| RadixDigit { size: sizes[axis], stride: strides[axis] }))
    }

    /// Creates the permutation from its digits, major to minor. Digits of size 1 are dropped, and
    /// adjacent digits are merged if possible.
    pub(super) fn new(digits: impl IntoIterator<Item = RadixDigit>) -> Self {
        let mut merged: SmallVec<[RadixDigit; 4]> = SmallVec::new();
        for digit in digits.into_iter().filter(|digit| digit.size != 1) {
            match merged.last_mut() {
                Some(last) if last.stride == digit.size * digit.stride => {
                    *last = RadixDigit { size: last.size * digit.size, stride: digit.stride };
                }
                _ => merged.push(digit),
            }
        }
        Self(merged)
    }

    /// Returns the number of positions.
    pub(super) fn count(&self) -> u64 {
        self.0.iter().map(|digit| digit.size).product()
    }

    pub(super) fn is_identity(&self) -> bool {
        self.0.len() <= 1
    }

    /// Returns the number at `position`, which must be below [`count`](Self::count).
    pub(super) fn at(&self, mut position: u64) -> u64 {
        let [major, minor @ ..] = &self.0[..] else { return 0 };
        let mut number = 0;
        for digit in minor.iter().rev() {
            number += position % digit.size * digit.stride;
            position /= digit.size;
        }
        number + position * major.stride
    }

    /// Returns the position of `number`. This is the inverse of [`at`](Self::at).
    pub(super) fn position(&self, number: u64) -> u64 {
        self.0.iter().fold(0, |at, digit| at * digit.size + number / digit.stride % digit.size)
    }

    /// Returns the arguments `sizes` and `perm` for which [`DigitPermutation::transposed`] returns
    /// `self`, so that the permutation can be printed in XLA's notation.
    pub(super) fn transposition(&self) -> (Vec<u64>, Vec<usize>) {
        if self.0.is_empty() {
            return (vec![1], vec![0]);
        }
        let mut axes: Vec<usize> = (0..self.0.len()).collect();
        axes.sort_by_key(|&digit| std::cmp::Reverse(self.0[digit].stride));
        let sizes = axes.iter().map(|&digit| self.0[digit].size).collect();
        let mut perm = vec![0; axes.len()];
        for (axis, &digit) in axes.iter().enumerate() {
            perm[digit] = axis;
        }
        (sizes, perm)
    }

    /// Splits the digits into one group for each extent, major to minor, so that the sizes in a
    /// group multiply to its extent. A digit may be split between two groups. Returns `None` if an
    /// extent does not divide the digits evenly.
    pub(super) fn groups(&self, extents: &[u64]) -> Option<Vec<Vec<RadixDigit>>> {
        let mut rest = self.0.clone();
        let mut groups = Vec::with_capacity(extents.len());
        for &extent in extents.iter().rev() {
            let (mut group, mut wanted) = (Vec::new(), extent);
            while wanted > 1 {
                let RadixDigit { size, stride } = rest.pop()?;
                if wanted % size == 0 {
                    group.push(RadixDigit { size, stride });
                    wanted /= size;
                } else if size % wanted == 0 {
                    rest.push(RadixDigit { size: size / wanted, stride: stride * wanted });
                    group.push(RadixDigit { size: wanted, stride });
                    wanted = 1;
                } else {
                    return None;
                }
            }
            group.reverse();
            groups.push(group);
        }
        groups.reverse();
        Some(groups)
    }

    /// Returns the permutation that applies `self` and then `then`: it maps each position `p` to
    /// `then.at(self.at(p))`. Returns `None` if the result cannot be expressed with digits.
    pub(super) fn then(&self, then: &Self) -> Option<Self> {
        let mut digits = Vec::new();
        for digit in &self.0 {
            // The digits of `then` that the positions from `stride` to `stride · size` determine.
            let above = then.count().checked_div(digit.size.checked_mul(digit.stride)?)?;
            let groups = then.groups(&[above, digit.size, digit.stride])?;
            digits.extend_from_slice(&groups[1]);
        }
        Some(Self::new(digits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares every reshape of 24 into at most three axes, in every axis order, with numpy's
    /// definition.
    #[test]
    fn digits_are_a_reshape_and_a_transposition() {
        let perms: [&[usize]; 6] =
            [&[0, 1, 2], &[0, 2, 1], &[1, 0, 2], &[1, 2, 0], &[2, 0, 1], &[2, 1, 0]];
        for a in [1, 2, 3, 4, 6] {
            for b in [1, 2, 4].into_iter().filter(|b| 24 % (a * b) == 0) {
                for perm in perms {
                    let sizes = [a, b, 24 / a / b];
                    let digits = DigitPermutation::transposed(&sizes, perm);
                    let out = perm.iter().map(|&axis| sizes[axis]).collect::<Vec<_>>();
                    for position in 0..24 {
                        let index = [
                            position / (out[1] * out[2]),
                            position / out[2] % out[1],
                            position % out[2],
                        ];
                        let mut source = [0; 3];
                        for (place, &axis) in perm.iter().enumerate() {
                            source[axis] = index[place];
                        }
                        let number = (source[0] * sizes[1] + source[1]) * sizes[2] + source[2];
                        assert_eq!(digits.at(position), number, "{sizes:?} {perm:?}");
                        assert_eq!(digits.position(number), position);
                    }
                    let (sizes, perm) = digits.transposition();
                    assert_eq!(DigitPermutation::transposed(&sizes, &perm), digits);
                    for other in [
                        DigitPermutation::identity(24),
                        DigitPermutation::transposed(&[4, 6], &[1, 0]),
                    ] {
                        if let Some(both) = digits.then(&other) {
                            assert!((0..24).all(|p| both.at(p) == other.at(digits.at(p))));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn neighbours_are_merged() {
        let digits = DigitPermutation::transposed(&[1, 3, 1, 4, 1, 5], &[4, 3, 2, 5, 1, 0]);
        assert_eq!(digits.transposition(), (vec![3, 20], vec![1, 0]));
    }
}
