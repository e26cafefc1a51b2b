//! [`Cuts`]: the division of one dimension of an array into tiles. A tile is the part of an array
//! that lies on one device.
//!
//! Every query about a sharding is answered one dimension at a time. Most divisions are even and
//! are stored as three numbers, so that an array over a million devices needs no list.

use super::ranges::Ranges;

/// The division of one dimension into pieces: ranges of indices, each of which belongs to one tile.
/// Usually each tile is a single piece. In a cyclic sharding, and in a sharding that lists the part
/// of each device, a tile may consist of several pieces.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Cuts {
    /// XLA's division into tiles of extent `side`. The last nonempty tile may be partial, and any
    /// tiles after it are empty.
    Even { size: u64, tiles: u64, side: u64 },
    /// Tiles of different lengths, stored as the coordinate at which each tile ends, in ascending
    /// order. The last coordinate is the extent of the dimension.
    At(Vec<u64>),
    /// Pieces of different lengths: `limits` contains the coordinate at which each piece ends, and
    /// `tiles` the index of the tile to which it belongs. Tiles are numbered in the order of their
    /// first pieces.
    Listed { limits: Vec<u64>, tiles: Vec<u64> },
    /// The block-cyclic division: tile `t` consists of the pieces with the indices `t`,
    /// `t + tiles`, `t + 2·tiles`, and so on. A piece has `block` coordinates, but the last one may
    /// be shorter. There are at least two tiles, and more pieces than tiles.
    Dealt { size: u64, tiles: u64, block: u64 },
}

impl Cuts {
    pub(super) fn even(size: u64, tiles: u64) -> Self {
        Self::Even { size, tiles, side: size.div_ceil(tiles) }
    }

    /// Converts this division to a cyclic one with the same number of tiles. Each piece has `block`
    /// coordinates; `block` must not be 0.
    pub(super) fn dealt(&self, block: u64) -> Self {
        let (size, tiles) = (self.size(), self.tiles());
        let block = block.min(size);
        if tiles == 1 {
            Self::even(size, 1)
        } else if size == 0 || size.div_ceil(block) <= tiles {
            Self::Even { size, tiles, side: block }
        } else {
            Self::Dealt { size, tiles, block }
        }
    }

    /// Returns the number of pieces of a [`Dealt`](Self::Dealt) division, or `None` for any other
    /// division.
    pub(super) fn dealt_pieces(&self) -> Option<u64> {
        match self {
            Self::Dealt { size, block, .. } => Some(size.div_ceil(*block)),
            _ => None,
        }
    }

    pub(crate) fn pieces_are_tiles(&self) -> bool {
        matches!(self, Self::Even { .. } | Self::At(_))
    }

    pub(crate) fn tiles(&self) -> u64 {
        match self {
            Self::Even { tiles, .. } | Self::Dealt { tiles, .. } => *tiles,
            Self::At(limits) => limits.len() as u64,
            Self::Listed { tiles, .. } => tiles.iter().max().map_or(0, |last| last + 1),
        }
    }

    /// Returns the extent of the dimension.
    pub(super) fn size(&self) -> u64 {
        match self {
            Self::Even { size, .. } | Self::Dealt { size, .. } => *size,
            Self::At(limits) | Self::Listed { limits, .. } => limits.last().copied().unwrap_or(0),
        }
    }

    /// Returns the index of the tile to which `piece` belongs, and the coordinates `[start, limit)`
    /// of the piece.
    #[inline]
    #[expect(clippy::cast_possible_truncation)] // a tile is below the length of the list
    pub(crate) fn piece(&self, piece: u64) -> (u64, (u64, u64)) {
        let regular = |size: u64, side: u64| {
            let start = piece.saturating_mul(side).min(size);
            (start, start.saturating_add(side).min(size))
        };
        match self {
            Self::Even { size, side, .. } => (piece, regular(*size, *side)),
            Self::Dealt { size, tiles, block } => (piece % tiles, regular(*size, *block)),
            Self::At(limits) | Self::Listed { limits, .. } => {
                let at = piece as usize;
                let range = (if at == 0 { 0 } else { limits[at - 1] }, limits[at]);
                let tile = if let Self::Listed { tiles, .. } = self { tiles[at] } else { piece };
                (tile, range)
            }
        }
    }

    /// Returns the coordinates of a tile.
    #[expect(clippy::cast_possible_truncation)] // there are few tiles, as `few_ranges` checks
    pub(crate) fn ranges(&self, tile: u64) -> Ranges {
        if let Self::Dealt { size, tiles, block } = self {
            let pieces = tile..size.div_ceil(*block);
            return Ranges::new(pieces.step_by(*tiles as usize).map(|piece| self.piece(piece).1));
        }
        if let Self::Listed { limits, .. } = self {
            let pieces = (0..limits.len() as u64).map(|piece| self.piece(piece));
            return Ranges::new(pieces.filter(|(of, _)| *of == tile).map(|(_, range)| range));
        }
        let (_, (start, limit)) = self.piece(tile);
        Ranges::one(start, limit)
    }

    /// Returns the number of coordinates in the largest tile.
    pub(super) fn side(&self) -> u64 {
        match self {
            Self::Even { side, .. } => *side,
            // No tile is larger than tile 0. If the last block of tile 0 is also the last of the
            // dimension, it may be shorter than the other blocks.
            Self::Dealt { size, tiles, block } => {
                let turn = tiles * block;
                size / turn * block + (size % turn).min(*block)
            }
            Self::At(limits) => {
                let starts = std::iter::once(&0).chain(limits);
                limits.iter().zip(starts).map(|(limit, start)| limit - start).max().unwrap_or(0)
            }
            Self::Listed { .. } => {
                (0..self.tiles()).map(|tile| self.ranges(tile).len()).max().unwrap_or(0)
            }
        }
    }

    /// Returns the half-open range `(first, end)` of the indices of the pieces that overlap the
    /// coordinates `[start, limit)`. The coordinates must not be empty.
    pub(crate) fn covering(&self, (start, limit): (u64, u64)) -> (u64, u64) {
        match self {
            Self::Even { side, .. } | Self::Dealt { block: side, .. } => {
                (start / side, limit.div_ceil(*side))
            }
            Self::At(limits) | Self::Listed { limits, .. } => {
                let first = limits.partition_point(|&end| end <= start);
                let end = first + limits[first..].partition_point(|&end| end < limit) + 1;
                (first as u64, end as u64)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailing_tiles_are_partial_or_empty() {
        for (size, tiles, sides) in [
            (9, 8, &[2, 2, 2, 2, 1, 0, 0, 0][..]),
            (5, 4, &[2, 2, 1, 0]),
            (3, 8, &[1, 1, 1, 0, 0, 0, 0, 0]),
            (0, 3, &[0, 0, 0]),
        ] {
            let cuts = Cuts::even(size, tiles);
            let given: Vec<u64> = (0..tiles).map(|tile| cuts.ranges(tile).len()).collect();
            assert_eq!(given, sides);
        }
    }

    /// Compares the tiles with `ScaLAPACK`'s `numroc`, which assigns an index to tile
    /// `index / block % tiles`.
    #[test]
    fn blocks_are_dealt_out_in_turn() {
        for size in 0..14 {
            for tiles in 1..5 {
                for block in 1..16 {
                    let cuts = Cuts::even(size, tiles).dealt(block);
                    let mut widest = 0;
                    for tile in 0..tiles {
                        let ranges = cuts.ranges(tile);
                        let given = ranges.list().iter().flat_map(|&(start, limit)| start..limit);
                        let expected = (0..size).filter(|index| index / block % tiles == tile);
                        assert!(given.eq(expected), "{cuts:?}: {ranges:?}");
                        widest = widest.max(ranges.len());
                    }
                    assert_eq!((cuts.side(), cuts.size()), (widest, size), "{cuts:?}");
                }
            }
        }
    }

    /// Checks that `Cuts::covering` returns exactly the pieces that overlap the range.
    #[test]
    fn covering_pieces_share_an_element() {
        let lists = [vec![3, 4, 9], vec![9], vec![2, 5, 9]].map(Cuts::At);
        let even = (1..12).map(|tiles| Cuts::even(9, tiles));
        let dealt = (1..12).map(|block| Cuts::even(9, 2).dealt(block));
        for cuts in lists.into_iter().chain(even).chain(dealt) {
            let pieces = cuts.covering((0, 9)).1;
            for start in 0..9 {
                for limit in start + 1..=9 {
                    let shared = |piece: &u64| {
                        let (_, (from, to)) = cuts.piece(*piece);
                        from.max(start) < to.min(limit)
                    };
                    let expected: Vec<u64> = (0..pieces).filter(shared).collect();
                    let (first, end) = cuts.covering((start, limit));
                    assert_eq!((first..end).collect::<Vec<_>>(), expected, "{cuts:?}");
                }
            }
        }
    }
}
