//! [`TileBox`]: a box of indices of an array.

use std::fmt;

use smallvec::SmallVec;

/// A box of indices: in each dimension, the coordinates from `start` up to but not including
/// `limit`.
#[derive(Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TileBox {
    /// The range `[start, limit)` of each dimension. No start is above its limit.
    ranges: SmallVec<[(u64, u64); 4]>,
}

impl Clone for TileBox {
    /// Clones with one copy. `SmallVec` clones element by element, and plans have a box for each
    /// transfer.
    fn clone(&self) -> Self {
        Self { ranges: SmallVec::from_slice(&self.ranges) }
    }
}

impl TileBox {
    /// Builds a box from the range `[start, limit)` of each dimension. Returns `None` if a start is
    /// above its limit.
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

    /// Returns the extents.
    pub fn sizes(&self) -> impl Iterator<Item = u64> + '_ {
        self.ranges.iter().map(|(start, limit)| limit - start)
    }

    /// Returns the number of indices in the box.
    #[must_use]
    pub fn elements(&self) -> u64 {
        self.sizes().product()
    }

    /// Returns true if the box has no index.
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
