//! [`Cuts`]: where one dimension of an array is cut into tiles.

/// The cuts of a dimension.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Cuts {
    /// XLA's: all tiles have `side`, the last with elements may be partial, and those after it are empty.
    Even { size: u64, tiles: u64, side: u64 },
    /// The limits of the tiles, ascending; the last is the size.
    At(Vec<u64>),
}

impl Cuts {
    pub(super) fn even(size: u64, tiles: u64) -> Self {
        Self::Even { size, tiles, side: size.div_ceil(tiles) }
    }

    pub(crate) fn tiles(&self) -> u64 {
        match self {
            Self::Even { tiles, .. } => *tiles,
            Self::At(limits) => limits.len() as u64,
        }
    }

    /// `[start, limit)` of a tile.
    #[expect(clippy::cast_possible_truncation)] // a tile of a list is below its length
    pub(crate) fn range(&self, tile: u64) -> (u64, u64) {
        match self {
            Self::Even { size, side, .. } => {
                let start = tile.saturating_mul(*side).min(*size);
                (start, start.saturating_add(*side).min(*size))
            }
            Self::At(limits) => {
                let tile = tile as usize;
                (if tile == 0 { 0 } else { limits[tile - 1] }, limits[tile])
            }
        }
    }

    /// The greatest extent of a tile.
    pub(super) fn side(&self) -> u64 {
        match self {
            Self::Even { side, .. } => *side,
            Self::At(limits) => {
                let starts = std::iter::once(&0).chain(limits);
                limits.iter().zip(starts).map(|(limit, start)| limit - start).max().unwrap_or(0)
            }
        }
    }

    /// The tiles that have an element of the range `[start, limit)`, which has one.
    pub(crate) fn covering(&self, (start, limit): (u64, u64)) -> (u64, u64) {
        match self {
            Self::Even { side, .. } => (start / side, limit.div_ceil(*side)),
            Self::At(limits) => {
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
            let given: Vec<u64> = (0..tiles)
                .map(|tile| {
                    let (start, limit) = cuts.range(tile);
                    limit - start
                })
                .collect();
            assert_eq!(given, sides);
        }
    }

    /// Tiles that cover a range are those that share an element with it.
    #[test]
    fn covering_tiles_share_an_element() {
        let lists = [vec![3, 4, 9], vec![9], vec![2, 5, 9]].map(Cuts::At);
        let even = (1..12).map(|tiles| Cuts::even(9, tiles));
        for cuts in lists.into_iter().chain(even) {
            for start in 0..9 {
                for limit in start + 1..=9 {
                    let shared = |tile: &u64| {
                        let (from, to) = cuts.range(*tile);
                        from.max(start) < to.min(limit)
                    };
                    let expected: Vec<u64> = (0..cuts.tiles()).filter(shared).collect();
                    let (first, end) = cuts.covering((start, limit));
                    assert_eq!((first..end).collect::<Vec<_>>(), expected, "{cuts:?}");
                }
            }
        }
    }
}
