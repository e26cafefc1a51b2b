//! [`Paint`]: the text and the colour of each cell of a grid.

use super::{mosaic::Mosaic, tiles::TiledDimension};

/// The choice of the text and the colour in the cells of a grid.
#[derive(Clone, Copy)]
pub(super) enum Paint<'a> {
    /// Each cell shows its offset in memory.
    Places,
    /// Each cell shows the source of its element.
    Sources(&'a Mosaic<'a>),
}

impl Paint<'_> {
    /// Returns words that describe this choice in the caption of a grid.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Places => "each cell with its offset",
            Self::Sources(_) => "each cell with its source and the index there",
        }
    }

    /// Returns the indices along a dimension at which the source changes. Returns none if cells
    /// show offsets.
    pub(super) fn cuts(self, dimension: &TiledDimension) -> Vec<u64> {
        match self {
            Self::Places => vec![],
            Self::Sources(mosaic) => mosaic.cuts(dimension.minor()),
        }
    }
}
