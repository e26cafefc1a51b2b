//! [`OverlapGrid`]: the tiles of a sharded array that overlap a region of it. All tiles of the
//! array form a grid, so the overlapping tiles form a smaller grid. It is computed one dimension at
//! a time, without visiting any tile that does not overlap.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use crate::sharding::{Placement, Ranges, Region, coordinates};

/// The tiles of a placement that overlap a region. In this file, the *index* of a tile is its
/// row-major index among these overlapping tiles, and the *number* of a tile is its row-major index
/// among all tiles of the placement.
pub(super) struct OverlapGrid<'a> {
    placement: &'a Placement,
    dimensions: SmallVec<[Overlaps; 4]>,
}

/// The tiles that overlap the region along one dimension, in ascending order.
enum Overlaps {
    /// The common case: in this dimension, the region and every tile are a single range. The region
    /// is `[start, limit)`, and the tiles `first..end` overlap it.
    Side { first: u64, end: u64, start: u64, limit: u64 },
    /// The general case: the region or a tile consists of several ranges. Each overlapping tile is
    /// listed with its overlap, and `len` is the number of coordinates in all overlaps.
    Listed { tiles: Vec<(u64, Overlap)>, len: u64 },
}

/// The coordinates in one dimension that are both in a tile and in the region.
struct Overlap {
    ranges: Ranges,
    /// The number of the region's coordinates in earlier tiles.
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

    /// Returns the number of the tile with index `index`.
    #[expect(clippy::cast_possible_truncation)] // an index is below the length of the list
    fn tile(&self, index: u64) -> u64 {
        match self {
            Self::Side { first, .. } => first + index,
            Self::Listed { tiles, .. } => tiles[index as usize].0,
        }
    }

    /// Returns the index of the tile with number `tile`, or `None` if the tile does not overlap the
    /// region in this dimension.
    fn index_of(&self, tile: u64) -> Option<u64> {
        match self {
            Self::Side { first, end, .. } => (*first..*end).contains(&tile).then(|| tile - first),
            Self::Listed { tiles, .. } => {
                let index = tiles.binary_search_by_key(&tile, |(tile, _)| *tile).ok()?;
                Some(index as u64)
            }
        }
    }

    /// Returns the number of the region's coordinates in this dimension.
    fn len(&self) -> u64 {
        match self {
            Self::Side { start, limit, .. } => limit - start,
            Self::Listed { len, .. } => *len,
        }
    }

    /// Returns the overlap of the region with the tile at `index`.
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

/// A cursor that visits the tiles of a grid in order. A step recomputes only the dimensions that
/// change, because plans visit many tiles.
pub(super) struct OverlapTiles<'a> {
    grid: &'a OverlapGrid<'a>,
    /// The index of the current tile in each dimension.
    indices: SmallVec<[u64; 4]>,
    /// The elements of the region that lie in the current tile.
    region: Region,
    /// The number of remaining tiles, including the current one.
    remaining: u64,
}

impl OverlapTiles<'_> {
    /// Returns the number of the current tile and the elements of the region that lie in it.
    /// Returns `None` after the last tile.
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
    /// Finds the tiles that overlap `region`, which must not be empty.
    pub(super) fn new(placement: &'a Placement, region: &Region) -> Self {
        let overlaps = |dimension| Overlaps::new(placement, dimension, &region.ranges(dimension));
        Self { placement, dimensions: (0..placement.cuts().len()).map(overlaps).collect() }
    }

    /// Returns the number of overlapping tiles.
    pub(super) fn len(&self) -> u64 {
        self.dimensions.iter().map(Overlaps::tiles).product()
    }

    /// Returns the number of elements in the region.
    pub(super) fn elements(&self) -> u64 {
        self.dimensions.iter().map(Overlaps::len).product()
    }

    /// Returns a cursor that visits the tiles from index `from` on.
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

    /// Returns the number of a tile from `indices`, its index along each dimension.
    fn tile(&self, indices: impl Iterator<Item = u64>) -> u64 {
        let dimensions = self.placement.cuts().iter().zip(&self.dimensions);
        dimensions
            .zip(indices)
            .fold(0, |tile, ((cuts, overlaps), index)| tile * cuts.tiles() + overlaps.tile(index))
    }

    fn coordinates(&self, index: u64) -> impl Iterator<Item = u64> + '_ {
        coordinates(index, self.dimensions.iter().map(Overlaps::tiles))
    }

    /// Returns the index of the tile with number `tile`, or `None` if the tile does not overlap the
    /// region.
    pub(super) fn index_of(&self, tile: u64) -> Option<u64> {
        let (mut rest, mut index, mut weight) = (tile, 0, 1);
        for (cuts, overlaps) in self.placement.cuts().iter().zip(&self.dimensions).rev() {
            index += overlaps.index_of(rest % cuts.tiles())? * weight;
            rest /= cuts.tiles();
            weight *= overlaps.tiles();
        }
        Some(index)
    }

    /// Returns the elements of the region that lie in the tile with index `index`.
    pub(super) fn overlap(&self, index: u64) -> Region {
        let dimensions = self.dimensions.iter().enumerate().zip(self.coordinates(index));
        Region::new(dimensions.map(|((dimension, overlaps), index)| {
            overlaps.overlap(self.placement, dimension, index).ranges
        }))
    }

    /// Returns the number of devices that hold the tile with index `index`.
    pub(super) fn holders(&self, index: u64) -> u64 {
        self.placement.holders(self.tile(self.coordinates(index))).len()
    }

    /// Returns the number of elements of the region that lie in tiles before `index`.
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
