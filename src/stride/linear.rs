//! [`StrideDescriptor::strides`], which returns a stride for each dimension that has one.
//!
//! A tiled dimension usually has no single stride. An exception is a dimension that one tile
//! covers: users expect to see its stride, and other systems accept only strides.

use std::convert::Infallible;

use smallvec::{SmallVec, smallvec};

use super::{Coordinate, Coordinates, StrideDescriptor, Undo};

impl StrideDescriptor {
    /// Returns the stride of each logical dimension, in elements, or `None` for a dimension in
    /// which the offset is not linear.
    ///
    /// A tiled dimension has a stride if one tile covers all of it, or if the distance from one
    /// tile to the next continues the stride inside the tile:
    ///
    /// ```
    /// use stridec::{shape::Shape, stride::StrideDescriptor};
    /// let strides = |text: &str| -> Result<Vec<Option<i64>>, Box<dyn std::error::Error>> {
    ///     Ok(StrideDescriptor::try_from(&text.parse::<Shape>()?)?.strides().collect())
    /// };
    /// assert_eq!(strides("f32[1024,3]{1,0:T(8,128)}")?, [Some(128), Some(1)]);
    /// assert_eq!(strides("f32[1024,300]{1,0:T(8,128)}")?, [None, None]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// If a tile joins dimensions with `*`, the result may be `None` even though a stride exists.
    ///
    /// If every dimension has a stride, the offset of an element is
    /// [`base_offset`](Self::base_offset) `+ Σ stride · index`.
    pub fn strides(&self) -> impl Iterator<Item = Option<i64>> + '_ {
        self.terms().map(|terms| match terms?[..] {
            [] => Some(0),
            [(1, stride)] => Some(stride),
            _ => None,
        })
    }

    /// Returns the stride of each dimension in bytes. Returns `None` if a dimension has no single
    /// stride or if an element is not a whole number of bytes.
    #[must_use]
    pub fn byte_strides(&self) -> Option<Vec<i64>> {
        let bytes = i64::from(self.element_bits() / 8);
        let whole = self.element_bits().is_multiple_of(8);
        self.strides().map(|stride| stride.filter(|_| whole)?.checked_mul(bytes)).collect()
    }

    /// Returns the terms that the index along each dimension adds to the offset: a pair `(by,
    /// weight)` is the term `weight · ⌊index / by⌋`. For example, the terms of a dimension in tiles
    /// of 8 are a multiple of `⌊index / 1⌋` and a multiple of `⌊index / 8⌋`. An item is `None` if
    /// no such terms are found. No two pairs have the same `by`, and no term is always 0.
    pub(super) fn terms(&self) -> impl Iterator<Item = Option<SmallVec<[(u64, i64); 2]>>> + '_ {
        let last = |size: &u64| (0, size.saturating_sub(1));
        let mut shares: Coordinates<OffsetShare> = self
            .intervals(self.sizes().iter().map(last).collect())
            .into_iter()
            .map(|(_, last)| OffsetShare { last, terms: Some(smallvec![]) })
            .collect();
        for axis in &self.axes {
            shares[axis.coordinate].terms = Some(smallvec![(1, axis.stride)]);
        }
        let Ok(()) = self.undo(&mut OffsetShares, &mut shares);
        shares.into_iter().map(|share| share.terms)
    }
}

/// The terms that a coordinate adds to the offset.
struct OffsetShare {
    /// The greatest value that the coordinate can have.
    last: u64,
    /// The terms as pairs: `(by, weight)` is `weight · ⌊coordinate / by⌋`. `None` if the offset
    /// cannot be written with such terms.
    ///
    /// No two pairs have the same `by`, and no term is always 0. The sum is therefore linear only
    /// if every `by` is 1.
    terms: Option<SmallVec<[(u64, i64); 2]>>,
}

impl OffsetShare {
    /// Returns the terms of a coordinate that does not affect the offset: none. `last` is the
    /// greatest value of the coordinate.
    fn none(last: u64) -> Self {
        Self { last, terms: Some(smallvec![]) }
    }

    /// Adds the term `times · weight · ⌊coordinate / by⌋`.
    fn add(&mut self, by: u64, weight: i64, times: u64) {
        let Some(terms) = &mut self.terms else { return };
        if by > 1 && by > self.last {
            return;
        }
        let sum = i64::try_from(times).ok().and_then(|times| weight.checked_mul(times));
        let at = terms.iter().position(|term| term.0 == by);
        match (sum.and_then(|sum| sum.checked_add(at.map_or(0, |at| terms[at].1))), at) {
            (None, _) => self.terms = None,
            (Some(0), Some(at)) => drop(terms.remove(at)),
            (Some(sum), Some(at)) => terms[at].1 = sum,
            (Some(sum), None) => terms.push((by, sum)),
        }
    }
}

/// Runs the steps of a descriptor backwards to compute the terms of each dimension of the array.
/// The axes of memory have one term each, their stride, and each step combines the terms of its
/// results into the terms of its operand.
struct OffsetShares;

impl Undo for OffsetShares {
    type Value = OffsetShare;
    type Error = Infallible;

    fn join(
        &mut self,
        whole: Coordinate<'_, OffsetShare>,
        by: u64,
        quotient: OffsetShare,
        remainder: OffsetShare,
    ) -> Result<OffsetShare, Infallible> {
        let last = whole.value.last;
        // In these two cases, either the remainder or the quotient is always 0, and the other one
        // equals the coordinate.
        if by == 1 {
            return Ok(quotient);
        }
        if last < by {
            return Ok(remainder);
        }
        let mut share = OffsetShare::none(last);
        match (quotient.terms, remainder.terms) {
            (Some(quotients), Some(remainders))
                if remainders.iter().all(|term| by.is_multiple_of(term.0)) =>
            {
                for (divisor, weight) in quotients {
                    share.add(divisor * by, weight, 1);
                }
                // ⌊(n mod by) / divisor⌋ is ⌊n / divisor⌋ - ⌊n / by⌋ · by / divisor.
                for (divisor, weight) in remainders {
                    share.add(divisor, weight, 1);
                    share.add(by, weight.wrapping_neg(), by / divisor);
                }
            }
            _ => share.terms = None,
        }
        Ok(share)
    }

    fn unfold(
        &mut self,
        major: Coordinate<'_, OffsetShare>,
        minor: Coordinate<'_, OffsetShare>,
        fold: OffsetShare,
    ) -> Result<[OffsetShare; 2], Infallible> {
        let extent = minor.extent.max(1);
        let [mut major, mut minor] = [major, minor].map(|of| OffsetShare::none(of.value.last));
        let apart = |divisor: &u64| {
            divisor.is_multiple_of(extent) || extent.is_multiple_of(*divisor) || major.last == 0
        };
        let Some(terms) = fold.terms.filter(|terms| terms.iter().all(|(by, _)| apart(by))) else {
            return Ok([major, minor].map(|share| OffsetShare { terms: None, ..share }));
        };
        for (divisor, weight) in terms {
            if divisor.is_multiple_of(extent) {
                major.add(divisor / extent, weight, 1);
            } else {
                major.add(1, weight, extent / divisor);
                minor.add(divisor, weight, 1);
            }
        }
        Ok([major, minor])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{shape::Shape, xla::index_util::for_each_index_of};

    fn lower(text: &str) -> StrideDescriptor {
        StrideDescriptor::try_from(&text.parse::<Shape>().unwrap()).unwrap()
    }

    /// Returns the strides found by comparing the offsets of all pairs of neighbouring elements.
    fn tried(array: &StrideDescriptor) -> Vec<Option<i64>> {
        let offset = |index: &[u64]| i64::try_from(array.offset(index).unwrap()).unwrap();
        let mut strides: Vec<Option<Option<i64>>> = vec![None; array.rank()];
        for_each_index_of(array.sizes(), |index| {
            for dimension in 0..array.rank() {
                let mut next = index.to_vec();
                next[dimension] += 1;
                if next[dimension] < array.sizes()[dimension] {
                    let distance = offset(&next) - offset(index);
                    let stride = strides[dimension].get_or_insert(Some(distance));
                    *stride = stride.filter(|&stride| stride == distance);
                }
            }
        });
        strides.into_iter().map(|stride| stride.unwrap_or(Some(0))).collect()
    }

    /// Checks the strides of an array against its offsets. Returns the number of dimensions without
    /// and with a stride.
    fn strides_are_those_of_the_offsets(text: &str) -> [usize; 2] {
        let array = lower(text);
        let given: Vec<Option<i64>> = array.strides().collect();
        let expected = tried(&array);
        let mut counts = [0, 0];
        for (dimension, (&given, expected)) in given.iter().zip(expected).enumerate() {
            counts[usize::from(expected.is_some())] += 1;
            // A stride may be missed if a tile joins the remainders of a partial tile.
            let lost = given.is_none() && text.contains('*');
            // The stride of a dimension with one element has no effect.
            if !lost && array.sizes()[dimension] > 1 {
                assert_eq!(given, expected, "{text}: dimension {dimension}");
            }
        }
        counts
    }

    #[test]
    fn tiles_that_split_nothing() {
        for (text, expected) in [
            ("f32[1024,3]{1,0:T(8,128)}", &[128, 1][..]),
            ("f32[3,8,4]{2,1,0:T(8,128)}", &[1024, 128, 1]),
            ("bf16[100]{0:T(256)(128)(2,1)}", &[2]),
            ("f32[8,128]{1,0:T(8,128)}", &[128, 1]),
            ("f32[16,128]{1,0:T(8,128)}", &[128, 1]),
            ("f32[6]{0:T(2)(2)}", &[1]),
            ("f32[2,3,16]{2,1,0:T(*,3,1)}", &[48, 1, 3]),
        ] {
            let array = lower(text);
            let strides: Vec<Option<i64>> = array.strides().collect();
            assert_eq!(strides, expected.iter().copied().map(Some).collect::<Vec<_>>(), "{text}");
            strides_are_those_of_the_offsets(text);
        }
    }

    /// Checks small arrays of one to three dimensions with one to three nested tiles.
    #[test]
    fn any_tiling() {
        let mut state = 7_u64;
        let mut pick = |choices: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % choices
        };
        let mut counts = [0, 0];
        for _ in 0..if cfg!(miri) { 20 } else { 20_000 } {
            let rank = 1 + pick(3);
            let most = [20, 9, 5][usize::try_from(rank).unwrap() - 1];
            let sizes: Vec<String> = (0..rank).map(|_| (1 + pick(most)).to_string()).collect();
            let order = if pick(2) == 0 { vec!["2", "1", "0"] } else { vec!["0", "2", "1"] };
            let order: Vec<&str> =
                order.into_iter().filter(|d| d.parse::<u64>().unwrap() < rank).collect();
            let tiles: Vec<String> = (0..=pick(3))
                .map(|_| {
                    let extents = (0..=pick(3)).map(|_| match pick(8) {
                        0 => "*".to_owned(),
                        _ => (1 + pick(most)).to_string(),
                    });
                    extents.collect::<Vec<_>>().join(",")
                })
                .collect();
            let (sizes, order, tiles) = (sizes.join(","), order.join(","), tiles.join(")("));
            let text = format!("u8[{sizes}]{{{order}:T({tiles})}}");
            if text.parse::<Shape>().is_ok() {
                let [split, whole] = strides_are_those_of_the_offsets(&text);
                counts = [counts[0] + split, counts[1] + whole];
            }
        }
        assert!(cfg!(miri) || counts.iter().all(|&count| count > 5_000), "{counts:?}");
    }
}
