//! [`OverlapGrid`]: the tiles of a placement that have elements of a region. The tiles of a
//! placement form a grid, so the overlapping ones form a smaller grid and are found without
//! visiting any other tile.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use crate::sharding::{Placement, Ranges, Region, coordinates};

/// The tiles of a placement that share elements with a region. These tiles form a smaller grid. In
/// this file, the *index* of a tile is its row-major index in the smaller grid, and its *number* is
/// its row-major index in the whole grid of the placement.
pub(super) struct OverlapGrid<'a> {
    placement: &'a Placement,
    dimensions: SmallVec<[Overlaps; 4]>,
}

/// The tiles along one dimension that share coordinates with the region, in order.
enum Overlaps {
    /// Every tile and the region are a single range in this dimension. The tiles `first..end`
    /// overlap `[start, limit)`.
    Side { first: u64, end: u64, start: u64, limit: u64 },
    /// A tile or the region consists of several ranges.
    Listed { tiles: Vec<(u64, Overlap)>, len: u64 },
}

/// The coordinates that a tile and the region share in one dimension.
struct Overlap {
    ranges: Ranges,
    /// The number of coordinates that the region shares with earlier tiles.
    before: u64,
}

impl Overlaps {
    fn new(placement: &Placement, dimension: usize, ranges: &Ranges) -> Self {
        let cuts = &placement.cuts()[dimension];
        if let (Ranges::One([(start, limit)]), true) = (ranges, cuts.pieces_are_tiles()) {
            let (first, end) = cuts.covering((*start, *limit));
            return Self::Side { first, end, start: *start, limit: *limit };
        }
        let mut tiles: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
        for &(start, limit) in ranges.list() {
            let (first, end) = cuts.covering((start, limit));
            for (tile, (from, to)) in (first..end).map(|piece| cuts.piece(piece)) {
                tiles.entry(tile).or_default().push((from.max(start), to.min(limit)));
            }
        }
        let mut before = 0;
        let tiles = tiles.into_iter().map(|(tile, shared)| {
            let overlap = Overlap { ranges: Ranges::new(shared), before };
            before += overlap.ranges.len();
            (tile, overlap)
        });
        Self::Listed { tiles: tiles.collect(), len: ranges.len() }
    }

    /// Returns the number of overlapping tiles along this dimension.
    fn tiles(&self) -> u64 {
        match self {
            Self::Side { first, end, .. } => end - first,
            Self::Listed { tiles, .. } => tiles.len() as u64,
        }
    }

    /// Returns the number of the tile at an index.
    #[expect(clippy::cast_possible_truncation)] // an index is below the length of the list
    fn tile(&self, index: u64) -> u64 {
        match self {
            Self::Side { first, .. } => first + index,
            Self::Listed { tiles, .. } => tiles[index as usize].0,
        }
    }

    /// Returns the index of the tile with a given number, or `None` if the tile and the region
    /// share no coordinate.
    fn index_of(&self, tile: u64) -> Option<u64> {
        match self {
            Self::Side { first, end, .. } => (*first..*end).contains(&tile).then(|| tile - first),
            Self::Listed { tiles, .. } => {
                let index = tiles.binary_search_by_key(&tile, |(tile, _)| *tile).ok()?;
                Some(index as u64)
            }
        }
    }

    /// Returns the number of coordinates that the region shares with all tiles together.
    fn len(&self) -> u64 {
        match self {
            Self::Side { start, limit, .. } => limit - start,
            Self::Listed { len, .. } => *len,
        }
    }

    /// Returns the coordinates that the region shares with the tile at an index.
    #[expect(clippy::cast_possible_truncation)] // an index is below the length of the list
    fn overlap(&self, placement: &Placement, dimension: usize, index: u64) -> Overlap {
        match self {
            Self::Side { first, start, limit, .. } => {
                let (_, (from, to)) = placement.cuts()[dimension].piece(first + index);
                let from = from.max(*start);
                Overlap { ranges: Ranges::one(from, to.min(*limit)), before: from - start }
            }
            Self::Listed { tiles, .. } => {
                let (_, Overlap { ranges, before }) = &tiles[index as usize];
                Overlap { ranges: ranges.clone(), before: *before }
            }
        }
    }
}

/// A cursor over the tiles of a grid, in order. A step updates only the dimensions that change, so
/// that visiting all tiles is fast.
pub(super) struct OverlapTiles<'a> {
    grid: &'a OverlapGrid<'a>,
    /// The index of the current tile in each dimension.
    indices: SmallVec<[u64; 4]>,
    /// The elements that the region shares with the current tile.
    region: Region,
    /// The number of remaining tiles, including the current one.
    remaining: u64,
}

impl OverlapTiles<'_> {
    /// Returns the number of the current tile and the elements that it shares with the region, or
    /// `None` after the last tile.
    pub(super) fn current(&self) -> Option<(u64, &Region)> {
        (self.remaining > 0).then(|| (self.grid.tile(self.indices.iter().copied()), &self.region))
    }

    /// Moves to the next tile.
    pub(super) fn advance(&mut self) {
        self.remaining -= 1;
        for (dimension, overlaps) in self.grid.dimensions.iter().enumerate().rev() {
            let next = self.indices[dimension] + 1;
            let index = if next < overlaps.tiles() { next } else { 0 };
            self.indices[dimension] = index;
            let shared = overlaps.overlap(self.grid.placement, dimension, index);
            self.region.set(dimension, shared.ranges);
            if index > 0 {
                break;
            }
        }
    }
}

impl<'a> OverlapGrid<'a> {
    /// Finds the tiles that share elements with a nonempty region.
    pub(super) fn new(placement: &'a Placement, region: &Region) -> Self {
        let overlaps = |dimension| Overlaps::new(placement, dimension, &region.ranges(dimension));
        Self { placement, dimensions: (0..placement.cuts().len()).map(overlaps).collect() }
    }

    /// Returns the number of tiles in the grid.
    pub(super) fn len(&self) -> u64 {
        self.dimensions.iter().map(Overlaps::tiles).product()
    }

    /// Returns the number of elements that the region shares with all tiles together.
    pub(super) fn elements(&self) -> u64 {
        self.dimensions.iter().map(Overlaps::len).product()
    }

    /// Returns a cursor that starts at the tile with index `from`.
    pub(super) fn tiles(&self, from: u64) -> OverlapTiles<'_> {
        let remaining = self.len().saturating_sub(from);
        let from = if remaining > 0 { from } else { 0 };
        OverlapTiles {
            grid: self,
            indices: self.coordinates(from).collect(),
            region: self.overlap(from),
            remaining,
        }
    }

    /// Returns the number of the tile with the given index in each dimension of the smaller grid.
    fn tile(&self, indices: impl Iterator<Item = u64>) -> u64 {
        let dimensions = self.placement.cuts().iter().zip(&self.dimensions);
        dimensions
            .zip(indices)
            .fold(0, |tile, ((cuts, overlaps), index)| tile * cuts.tiles() + overlaps.tile(index))
    }

    fn coordinates(&self, index: u64) -> impl Iterator<Item = u64> + '_ {
        coordinates(index, self.dimensions.iter().map(Overlaps::tiles))
    }

    /// Returns the index of a tile in the grid, or `None` if the tile and the region share no
    /// element.
    pub(super) fn index_of(&self, tile: u64) -> Option<u64> {
        let (mut rest, mut index, mut weight) = (tile, 0, 1);
        for (cuts, overlaps) in self.placement.cuts().iter().zip(&self.dimensions).rev() {
            index += overlaps.index_of(rest % cuts.tiles())? * weight;
            rest /= cuts.tiles();
            weight *= overlaps.tiles();
        }
        Some(index)
    }

    /// Returns the elements that the region shares with the tile at an index.
    pub(super) fn overlap(&self, index: u64) -> Region {
        let dimensions = self.dimensions.iter().enumerate().zip(self.coordinates(index));
        Region::new(dimensions.map(|((dimension, overlaps), index)| {
            overlaps.overlap(self.placement, dimension, index).ranges
        }))
    }

    /// Returns the number of devices that hold the tile at an index.
    pub(super) fn holders(&self, index: u64) -> u64 {
        self.placement.holders(self.tile(self.coordinates(index))).len()
    }

    /// Returns the number of elements that the region shares with all tiles before an index.
    pub(super) fn elements_before(&self, index: u64) -> u64 {
        let (mut rest, mut before, mut inner) = (index, 0, 1);
        for (dimension, overlaps) in self.dimensions.iter().enumerate().rev() {
            let overlap = overlaps.overlap(self.placement, dimension, rest % overlaps.tiles());
            rest /= overlaps.tiles();
            before = overlap.before * inner + overlap.ranges.len() * before;
            inner *= overlaps.len();
        }
        before
    }
}
