//! [`Paint`]: what the cells of a grid show.

use super::{mosaic::Mosaic, tiles::TiledDimension};

/// What the cells of elements show.
#[derive(Clone, Copy)]
pub(super) enum Paint<'a> {
    /// Their places in memory.
    Places,
    /// Where a program takes them from.
    Sources(&'a Mosaic<'a>),
}

impl Paint<'_> {
    /// What a caption says of the cells.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Places => "each cell with its offset",
            Self::Sources(_) => "each cell with its source and the index there",
        }
    }

    /// Indices along a dimension at which other sources begin.
    pub(super) fn cuts(self, dimension: &TiledDimension) -> Vec<u64> {
        match self {
            Self::Places => vec![],
            Self::Sources(mosaic) => mosaic.cuts(dimension.minor()),
        }
    }
}
