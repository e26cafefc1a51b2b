//! [`Region`]: the part of an array that one device has, or that goes from one device to another.

use std::fmt;

use smallvec::SmallVec;

use super::{TileBox, ranges::Ranges};

/// A part of an array: the indices whose coordinate in each dimension lies in one of the dimension's ranges.
///
/// Where every dimension has one range it is a box. The blocks of a cyclic sharding have several.
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
pub struct Region {
    dimensions: SmallVec<[Ranges; 4]>,
}

impl From<&TileBox> for Region {
    fn from(tile: &TileBox) -> Self {
        Self::new(tile.ranges().iter().map(|&(start, limit)| Ranges::one(start, limit)))
    }
}

impl Region {
    pub(crate) fn new(dimensions: impl IntoIterator<Item = Ranges>) -> Self {
        Self { dimensions: dimensions.into_iter().collect() }
    }

    /// The ranges of each dimension, `[start, limit)`: they ascend, and there is an index between two of them that is in none.
    pub fn dimensions(&self) -> impl ExactSizeIterator<Item = &[(u64, u64)]> + '_ {
        self.dimensions.iter().map(Ranges::list)
    }

    /// How many coordinates each dimension has.
    pub fn sizes(&self) -> impl Iterator<Item = u64> + '_ {
        self.dimensions.iter().map(Ranges::len)
    }

    /// How many indices there are.
    #[must_use]
    pub fn elements(&self) -> u64 {
        self.sizes().product()
    }

    /// Whether there is no index.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sizes().any(|size| size == 0)
    }

    /// The same as a box; `None` where a dimension has several ranges.
    #[must_use]
    pub fn as_box(&self) -> Option<TileBox> {
        let mut ranges: SmallVec<[(u64, u64); 4]> = SmallVec::new();
        for dimension in &self.dimensions {
            let Ranges::One([range]) = dimension else { return None };
            ranges.push(*range);
        }
        TileBox::new(ranges)
    }

    /// The indices that both parts have; `None` where there are none.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Option<Self> {
        let both = self.dimensions.iter().zip(&other.dimensions);
        let both = Self::new(both.map(|(own, other)| own.intersection(other)));
        (!both.is_empty()).then_some(both)
    }

    pub(crate) fn ranges(&self, dimension: usize) -> &Ranges {
        &self.dimensions[dimension]
    }

    /// The same with fewer coordinates in one dimension: from the `first` on, up to and without the one at `end`.
    pub(crate) fn with(&self, dimension: usize, first: u64, end: u64) -> Self {
        let mut part = self.clone();
        part.dimensions[dimension] = self.dimensions[dimension].part(first, end);
        part
    }

    /// Where the part lies in a shard that has all of it, and that holds the indices of `shard` without gaps.
    pub(crate) fn within(&self, shard: &Self) -> Self {
        let both = self.dimensions.iter().zip(&shard.dimensions);
        Self::new(both.map(|(own, shard)| own.within(shard)))
    }

    /// The same with dimension `order[d]` in place of dimension `d`.
    pub(crate) fn permuted(&self, order: &[usize]) -> Self {
        Self::new(order.iter().map(|&dimension| self.dimensions[dimension].clone()))
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.dimensions.is_empty() {
            return f.write_str("[]");
        }
        for (number, dimension) in self.dimensions.iter().enumerate() {
            if number > 0 {
                f.write_str("×")?;
            }
            dimension.fmt(f)?;
        }
        Ok(())
    }
}
