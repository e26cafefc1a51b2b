//! [`Grid`]: the tiles of a placement that share an element with a box.

use smallvec::SmallVec;

use crate::sharding::{Placement, TileBox};

/// The tiles of a placement that share an element with a box: a range in each dimension, numbered row-major.
pub(super) struct Grid<'a> {
    placement: &'a Placement,
    /// `first..end` of each dimension.
    pub(super) ranges: SmallVec<[(u64, u64); 4]>,
}

impl<'a> Grid<'a> {
    /// The tiles that share an element with `region`, which has one.
    pub(super) fn new(placement: &'a Placement, region: &TileBox) -> Self {
        let dimensions = placement.cuts().iter().zip(region.ranges());
        Self { placement, ranges: dimensions.map(|(cuts, range)| cuts.covering(*range)).collect() }
    }

    /// How many tiles there are.
    pub(super) fn len(&self) -> u64 {
        self.ranges.iter().map(|(first, end)| end - first).product()
    }

    /// The tile at a place in the grid.
    pub(super) fn tile(&self, place: u64) -> u64 {
        let (mut rest, mut tile, mut weight) = (place, 0, 1);
        for (cuts, &(first, end)) in self.placement.cuts().iter().zip(&self.ranges).rev() {
            tile += (first + rest % (end - first)) * weight;
            rest /= end - first;
            weight *= cuts.tiles();
        }
        tile
    }

    /// The place in the grid of a tile; `None` where it shares no element.
    pub(super) fn place(&self, tile: u64) -> Option<u64> {
        let (mut rest, mut place, mut weight) = (tile, 0, 1);
        for (cuts, &(first, end)) in self.placement.cuts().iter().zip(&self.ranges).rev() {
            let index = rest % cuts.tiles();
            rest /= cuts.tiles();
            if index < first || index >= end {
                return None;
            }
            place += (index - first) * weight;
            weight *= end - first;
        }
        Some(place)
    }
}
