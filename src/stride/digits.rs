//! [`Digit`]: the parts into which tiles split the index along a dimension, each with a stride of
//! its own. They are called digits because they are the digits of the index in a mixed-radix
//! system, like hours, minutes and seconds.
//!
//! A dimension of 24 in tiles of 8 has two digits: `i % 8`, with 8 values, and `i / 8`, with 3.
//! Layouts of many other systems are lists of such extents and strides, so digits are used to
//! convert between them.

use smallvec::{SmallVec, smallvec};

use super::{Axis, Step, StrideDescriptor, StrideError};
use crate::shape::ElementType;

/// One part of the index along a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Digit {
    /// The number of values of the digit.
    pub(crate) extent: u64,
    /// The distance in memory if the digit grows by 1, in elements.
    pub(crate) stride: i64,
}

impl StrideDescriptor {
    /// Returns the digits of each dimension, the least significant first. Returns `None` if the
    /// offset of an element cannot be written as a sum over digits.
    ///
    /// The offset of an element is [`base_offset`](Self::base_offset) `+ Σ stride · digit`. The
    /// lists are as short as possible: no two neighbouring digits can be merged, and a dimension of
    /// extent 1 has no digits. The most significant digit of a dimension counts only the values
    /// that occur.
    ///
    /// If a tile joins dimensions with `*`, the result may be `None` although digits exist.
    pub(crate) fn digits(&self) -> Option<Vec<Vec<Digit>>> {
        self.terms().zip(self.sizes()).map(|(terms, &size)| digits_of(terms?, size)).collect()
    }

    /// Creates the descriptor of a tensor from its sizes and the digits of each dimension, the
    /// least significant first. The memory is the smallest one that contains all elements.
    ///
    /// An `element_size_in_bits` of 0 means the width of the element type, rounded up to whole
    /// bytes. `offset` is in elements.
    ///
    /// # Errors
    ///
    /// Returns an error if `digits` does not have one list for each dimension, if the digits of a
    /// dimension have fewer values than the dimension, if the memory exceeds 2^63-1 bytes, or if a
    /// negative stride reaches below the start of the memory.
    pub(crate) fn of_digits(
        element_type: ElementType,
        element_size_in_bits: u64,
        sizes: &[u64],
        digits: &[Vec<Digit>],
        offset: u64,
    ) -> Result<Self, StrideError> {
        if digits.len() != sizes.len() {
            let (given, rank) = (digits.len(), sizes.len());
            return Err(StrideError::Count { field: "digits", given, rank });
        }
        let mut extents: SmallVec<[u64; 12]> = sizes.into();
        let mut steps: SmallVec<[Step; 4]> = smallvec![];
        let mut axes: SmallVec<[Axis; 8]> = smallvec![];
        for (dimension, (&size, digits)) in sizes.iter().zip(digits).enumerate() {
            // The coordinate that is split for the next digit: the index divided by the extents of
            // all digits so far.
            let mut rest = dimension;
            let (last, lower) = match digits.split_last() {
                Some((last, lower)) => (last.stride, lower),
                None => (0, digits.as_slice()),
            };
            for &Digit { extent: by, stride } in lower {
                if by == 0 {
                    return Err(StrideError::DigitExtents { dimension, size });
                }
                let quotient = extents.len();
                steps.push(Step::Split { of: rest, by });
                extents.push(extents[rest].div_ceil(by));
                extents.push(by);
                axes.push(Axis { coordinate: quotient + 1, extent: by, stride });
                rest = quotient;
            }
            if digits.last().map_or(1, |last| last.extent) < extents[rest] {
                return Err(StrideError::DigitExtents { dimension, size });
            }
            axes.push(Axis { coordinate: rest, extent: extents[rest], stride: last });
        }
        // The memory is the same as for an array that has one dimension for each digit.
        let flat: Vec<u64> = axes.iter().map(|axis| axis.extent).collect();
        let strides: Vec<i64> = axes.iter().map(|axis| axis.stride).collect();
        let flat = Self::strided(element_type, element_size_in_bits, &flat, &strides, offset)?;
        axes.sort_by_key(|axis| std::cmp::Reverse(axis.stride.unsigned_abs()));
        Ok(Self { rank: sizes.len(), steps, extents, axes, ..flat })
    }
}

/// Returns the digits of a dimension of extent `size`. `terms` is the sum that the index along the
/// dimension adds to the offset: a pair `(by, weight)` is the term `weight · ⌊index / by⌋`, and
/// several pairs may have the same `by`. Returns `None` if the contribution cannot be written as a
/// sum over digits.
pub(crate) fn digits_of_terms(terms: &[(u64, i64)], size: u64) -> Option<Vec<Digit>> {
    let mut merged: SmallVec<[(u64, i64); 2]> = smallvec![];
    for &(by, weight) in terms.iter().filter(|&&(by, _)| by < size.max(2)) {
        match merged.iter_mut().find(|term| term.0 == by) {
            Some(term) => term.1 = term.1.checked_add(weight)?,
            None => merged.push((by, weight)),
        }
    }
    merged.retain(|term| term.1 != 0);
    digits_of(merged, size)
}

/// Returns the same digits as [`digits_of_terms`], but requires that no two terms have the same
/// `by`.
fn digits_of(mut terms: SmallVec<[(u64, i64); 2]>, size: u64) -> Option<Vec<Digit>> {
    if size < 2 {
        return Some(Vec::new());
    }
    terms.sort_unstable();
    if terms.first().is_none_or(|term| term.0 != 1) {
        terms.insert(0, (1, 0));
    }
    let mut stride = 0_i64;
    let mut digits = Vec::with_capacity(terms.len());
    for (number, &(by, weight)) in terms.iter().enumerate() {
        if let Some(&(lower, _)) = number.checked_sub(1).and_then(|lower| terms.get(lower)) {
            let ratio = i64::try_from(by / lower).ok().filter(|_| by.is_multiple_of(lower))?;
            stride = stride.checked_mul(ratio)?;
        }
        stride = stride.checked_add(weight)?;
        let extent = match terms.get(number + 1) {
            Some(next) => next.0 / by,
            None => size.div_ceil(by),
        };
        digits.push(Digit { extent, stride });
    }
    Some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{shape::Shape, xla::index_util::for_each_index_of};

    fn digits(text: &str) -> (StrideDescriptor, Option<Vec<Vec<Digit>>>) {
        let tensor = StrideDescriptor::try_from(&text.parse::<Shape>().unwrap()).unwrap();
        let digits = tensor.digits();
        (tensor, digits)
    }

    #[test]
    fn the_digits_of_tilings_and_back() {
        for (text, expected) in [
            ("f32[]", "[]"),
            ("f32[1,0]", "[[], []]"),
            ("u8[20]{0:T(6)(4)}", "[[6:1, 4:8]]"),
            ("bf16[16,256]{1,0:T(8,128)(2,1)}", "[[2:1, 4:256, 2:2048], [128:2, 2:1024]]"),
            ("f32[9,9]{1,0:T(3,3)(2)}", "[[3:4, 3:36], [3:1, 3:12]]"),
            ("bf16[200]{0:T(256)(128)(2,1)}", "[[128:2, 2:1]]"),
            ("f32[2,3,16]{2,1,0:T(*,3,1)}", "[[2:48], [3:1], [16:3]]"),
            ("f32[10,12]{1,0:T(4)(3,2)}", "[[10:12], [2:1, 2:6, 3:2]]"),
        ] {
            let (tensor, digits) = digits(text);
            let digits = digits.unwrap();
            let shown = |of: &Vec<Digit>| {
                let each = of.iter().map(|digit| format!("{}:{}", digit.extent, digit.stride));
                format!("[{}]", each.collect::<Vec<_>>().join(", "))
            };
            let all: Vec<String> = digits.iter().map(shown).collect();
            assert_eq!(format!("[{}]", all.join(", ")), expected, "{text}");
            let kind = tensor.element_type();
            let again = StrideDescriptor::of_digits(kind, 0, tensor.sizes(), &digits, 0).unwrap();
            assert!(again.physical_elements() <= tensor.physical_elements(), "{text}");
            for_each_index_of(tensor.sizes(), |index| {
                let offset = tensor.offset(index).unwrap();
                assert_eq!(again.offset(index), Ok(offset), "{text}: {index:?}");
                assert_eq!(again.index(offset).unwrap().as_deref(), Some(index), "{text}");
            });
        }
        assert_eq!(digits("bf16[2,3,1004]{2,1,0:T(2,*,128)}").1, None);
    }

    #[test]
    fn digits_hold_all_values_of_their_dimension() {
        let of = |sizes: &[u64], digits: &[Vec<Digit>]| {
            StrideDescriptor::of_digits(ElementType::F32, 0, sizes, digits, 0)
        };
        let digit = |extent, stride| Digit { extent, stride };
        assert!(of(&[5], &[vec![digit(2, 3), digit(3, 1)]]).is_ok());
        for wrong in [vec![], vec![digit(2, 3), digit(2, 1)], vec![digit(0, 1), digit(9, 1)]] {
            let error = of(&[5], &[wrong]).unwrap_err();
            assert_eq!(error, StrideError::DigitExtents { dimension: 0, size: 5 });
        }
        assert!(of(&[5], &[]).is_err());
        // 8 elements, the even ones first.
        let halves = of(&[8], &[vec![digit(2, 4), digit(4, 1)]]).unwrap();
        assert_eq!((halves.offset(&[6]), halves.offset(&[1])), (Ok(3), Ok(4)));
        assert!(of(&[4], &[vec![digit(4, -1)]]).is_err());
        assert!(of(&[4], &[vec![digit(4, i64::MAX)]]).is_err());
    }
}
