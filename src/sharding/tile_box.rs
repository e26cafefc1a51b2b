//! [`TileBox`]: a box of an array, given by a range of coordinates in each dimension.

use std::fmt;

use smallvec::SmallVec;

/// A box of indices. In each dimension, it contains the coordinates from `start` up to but not
/// including `limit`.
#[derive(Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TileBox {
    /// The range `[start, limit)` of each dimension. No start exceeds its limit.
    ranges: SmallVec<[(u64, u64); 4]>,
}

impl Clone for TileBox {
    /// Clones the box by copying all ranges at once. A derived `clone` would copy them one by one,
    /// which is slow, because a plan has a box for each transfer.
    fn clone(&self) -> Self {
        Self { ranges: SmallVec::from_slice(&self.ranges) }
    }
}

impl TileBox {
    /// Creates a box from the range `[start, limit)` of each dimension. Returns `None` if a start
    /// exceeds its limit.
    #[must_use]
    pub fn new(ranges: impl IntoIterator<Item = (u64, u64)>) -> Option<Self> {
        let ranges: SmallVec<[(u64, u64); 4]> = ranges.into_iter().collect();
        ranges.iter().all(|(start, limit)| start <= limit).then_some(Self { ranges })
    }

    /// Returns the range `[start, limit)` of each dimension.
    #[must_use]
    pub fn ranges(&self) -> &[(u64, u64)] {
        &self.ranges
    }

    /// Returns the extent of the box in each dimension.
    pub fn sizes(&self) -> impl Iterator<Item = u64> + '_ {
        self.ranges.iter().map(|(start, limit)| limit - start)
    }

    /// Returns the number of indices in the box.
    #[must_use]
    pub fn elements(&self) -> u64 {
        self.sizes().product()
    }

    /// Returns true if the box contains no index.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.iter().any(|(start, limit)| start == limit)
    }
}

impl fmt::Display for TileBox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ranges.is_empty() {
            return f.write_str("[]");
        }
        for (dimension, (start, limit)) in self.ranges.iter().enumerate() {
            if dimension > 0 {
                f.write_str("×")?;
            }
            write!(f, "[{start},{limit})")?;
        }
        Ok(())
    }
}
