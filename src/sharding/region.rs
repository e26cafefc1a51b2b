//! [`Region`]: the indices of an array that a shard holds or a message moves, as ranges in each
//! dimension.

use std::{fmt, sync::Arc};

use super::{TileBox, ranges::Ranges};

/// The maximum number of dimensions of a box that a [`Region`] stores inline, to avoid an
/// allocation.
const INLINE: usize = 4;

/// A part of an array. It contains all indices whose coordinate in each dimension lies in one of
/// the ranges of that dimension.
///
/// A region is a box if every dimension has a single range. In a cyclic sharding, or in one that
/// lists parts, a dimension may have several ranges.
///
/// ```
/// use stridec::sharding::Sharding;
/// let cyclic: Sharding = "{devices=[2,2]<=[4] blocks=[2,3]}".parse()?;
/// let part = cyclic.place(&"f32[7,7]".parse()?, None)?.region(0).unwrap();
/// assert_eq!(part.to_string(), "[0,2)∪[4,6)×[0,3)∪[6,7)");
/// assert_eq!(part.dimensions().next().unwrap(), [(0, 2), (4, 6)]);
/// assert_eq!((part.sizes().collect::<Vec<_>>(), part.as_box()), (vec![4, 4], None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Region(RegionForm);

/// The representation of a region. Equal regions have equal representations. Boxes are stored
/// inline because plans create and copy a region for each transfer, and nearly all of these regions
/// are boxes with few dimensions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum RegionForm {
    /// One range for each of the first `rank` dimensions. All other entries are `(0, 0)`.
    Box { rank: u8, ranges: [(u64, u64); INLINE] },
    /// One set of ranges for each dimension. Used if there are more dimensions, or several ranges
    /// in one of them.
    Lists(Arc<[Ranges]>),
}

impl From<&TileBox> for Region {
    fn from(tile: &TileBox) -> Self {
        Self::new(tile.ranges().iter().map(|&(start, limit)| Ranges::one(start, limit)))
    }
}

impl Region {
    /// Creates a region from the ranges `[start, limit)` of each dimension. Returns `None` if the
    /// ranges of a dimension are not in ascending order, if two of them overlap, or if a start
    /// exceeds its limit. If a dimension has no ranges, the region is empty.
    ///
    /// ```
    /// use stridec::sharding::Region;
    /// let region = Region::from_ranges([vec![(0, 4), (8, 10)], vec![(0, 3)]]).unwrap();
    /// assert_eq!(region.to_string(), "[0,4)∪[8,10)×[0,3)");
    /// assert_eq!(Region::from_ranges([[(8, 10), (0, 4)]]), None);
    /// ```
    #[must_use]
    pub fn from_ranges(
        dimensions: impl IntoIterator<Item = impl IntoIterator<Item = (u64, u64)>>,
    ) -> Option<Self> {
        let dimension = |ranges: Vec<(u64, u64)>| {
            let is_ordered = ranges.iter().all(|(start, limit)| start <= limit)
                && ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0);
            is_ordered.then(|| match ranges[..] {
                [(start, limit)] => Ranges::one(start, limit),
                _ => Ranges::new(ranges.into_iter().filter(|(start, limit)| start < limit)),
            })
        };
        let dimensions: Option<Vec<Ranges>> =
            dimensions.into_iter().map(|ranges| dimension(ranges.into_iter().collect())).collect();
        Some(Self::new(dimensions?))
    }

    pub(crate) fn new(dimensions: impl IntoIterator<Item = Ranges>) -> Self {
        let mut dimensions = dimensions.into_iter();
        let (mut rank, mut ranges) = (0, [(0, 0); INLINE]);
        while let Some(next) = dimensions.next() {
            match next {
                Ranges::One([range]) if usize::from(rank) < INLINE => {
                    ranges[usize::from(rank)] = range;
                    rank += 1;
                }
                next => {
                    let before = ranges.into_iter().take(rank.into());
                    let before = before.map(|(start, limit)| Ranges::one(start, limit));
                    return Self(RegionForm::Lists(
                        before.chain([next]).chain(dimensions).collect(),
                    ));
                }
            }
        }
        Self(RegionForm::Box { rank, ranges })
    }

    fn rank(&self) -> usize {
        match &self.0 {
            RegionForm::Box { rank, .. } => usize::from(*rank),
            RegionForm::Lists(dimensions) => dimensions.len(),
        }
    }

    /// Returns the ranges `[start, limit)` of each dimension, in ascending order. Adjacent ranges
    /// are merged, so there is a gap of at least one index between any two ranges.
    #[must_use]
    pub fn dimensions(&self) -> impl ExactSizeIterator<Item = &[(u64, u64)]> + '_ {
        (0..self.rank()).map(|dimension| match &self.0 {
            RegionForm::Box { ranges, .. } => std::slice::from_ref(&ranges[dimension]),
            RegionForm::Lists(dimensions) => dimensions[dimension].list(),
        })
    }

    /// Returns the number of coordinates in each dimension.
    pub fn sizes(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.rank()).map(|dimension| match &self.0 {
            RegionForm::Box { ranges, .. } => ranges[dimension].1 - ranges[dimension].0,
            RegionForm::Lists(dimensions) => dimensions[dimension].len(),
        })
    }

    /// Returns the number of indices in the region.
    #[must_use]
    pub fn elements(&self) -> u64 {
        self.sizes().product()
    }

    /// Returns true if the region contains no index.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sizes().any(|size| size == 0)
    }

    /// Returns the region as a box, or `None` if a dimension has several ranges.
    #[must_use]
    pub fn as_box(&self) -> Option<TileBox> {
        if self.dimensions().any(|ranges| ranges.len() > 1) {
            return None;
        }
        TileBox::new(self.dimensions().map(|ranges| ranges[0]))
    }

    /// Returns the indices that are in both regions, or `None` if there are none.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Option<Self> {
        let both = self.each().zip(other.each());
        let both = Self::new(both.map(|(own, other)| own.intersection(&other)));
        (!both.is_empty()).then_some(both)
    }

    pub(crate) fn ranges(&self, dimension: usize) -> Ranges {
        match &self.0 {
            RegionForm::Box { ranges, .. } => Ranges::One([ranges[dimension]]),
            RegionForm::Lists(dimensions) => dimensions[dimension].clone(),
        }
    }

    fn each(&self) -> impl Iterator<Item = Ranges> + '_ {
        (0..self.rank()).map(|dimension| self.ranges(dimension))
    }

    /// Replaces the ranges of `dimension` by `to`.
    pub(crate) fn set(&mut self, dimension: usize, to: Ranges) {
        match (&mut self.0, to) {
            (RegionForm::Box { ranges, .. }, Ranges::One([range])) => ranges[dimension] = range,
            (_, to) => {
                let mut dimensions: Vec<Ranges> = self.each().collect();
                dimensions[dimension] = to;
                *self = Self::new(dimensions);
            }
        }
    }

    /// Returns the region restricted to some coordinates of `dimension`: the ones with the numbers
    /// `first..end`, counted from 0 in ascending order.
    pub(crate) fn with(&self, dimension: usize, first: u64, end: u64) -> Self {
        let mut part = self.clone();
        part.set(dimension, self.ranges(dimension).part(first, end));
        part
    }

    /// Translates the region to coordinates in the memory of `shard`, a region that contains it. A
    /// shard stores its elements without gaps between ranges, so the coordinates of each dimension
    /// are counted from 0.
    ///
    /// ```
    /// use stridec::sharding::Region;
    /// let shard = Region::from_ranges([[(0, 2), (6, 9)]]).unwrap();
    /// let part = Region::from_ranges([[(1, 2), (7, 8)]]).unwrap();
    /// assert_eq!(part.within(&shard).to_string(), "[1,2)∪[3,4)");
    /// ```
    #[must_use]
    pub fn within(&self, shard: &Self) -> Self {
        let both = self.each().zip(shard.each());
        Self::new(both.map(|(own, shard)| own.within(&shard)))
    }

    /// Returns the region with its dimensions reordered: dimension `d` of the result is dimension
    /// `order[d]` of `self`.
    pub(crate) fn permuted(&self, order: &[usize]) -> Self {
        Self::new(order.iter().map(|&dimension| self.ranges(dimension)))
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.rank() == 0 {
            return f.write_str("[]");
        }
        for (number, dimension) in self.each().enumerate() {
            if number > 0 {
                f.write_str("×")?;
            }
            dimension.fmt(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that regions with equal ranges compare equal, regardless of the way in which they
    /// were created.
    #[test]
    fn a_dimension_is_set_in_regions_of_every_rank() {
        let several = Ranges::new([(0, 1), (3, 5)]);
        for rank in 1..=INLINE + 2 {
            let boxed: Vec<Ranges> =
                (0..rank as u64).map(|at| Ranges::one(at, 2 * at + 1)).collect();
            for dimension in 0..rank {
                let mut region = Region::new(boxed.clone());
                for to in [several.clone(), Ranges::one(4, 9), boxed[dimension].clone()] {
                    let mut expected = boxed.clone();
                    expected[dimension] = to.clone();
                    region.set(dimension, to);
                    assert_eq!(region, Region::new(expected.clone()));
                    assert!(region.dimensions().eq(expected.iter().map(Ranges::list)));
                    assert_eq!(
                        region.elements(),
                        expected.iter().map(Ranges::len).product::<u64>()
                    );
                }
                assert_eq!(region.as_box().map(|tile| Region::from(&tile)), Some(region));
            }
        }
    }
}
