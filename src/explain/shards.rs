//! [`TileMap`]: the array before or after a reshard, drawn as one or more planes that show the part
//! of each device.

use crate::{
    reshard::ReshardPlan,
    sharding::{Holders, Placement},
};

/// The maximum number of strips along one side of a plane, if there is only one plane. If a
/// dimension has more pieces, each strip covers several of them.
const MAX_STRIPS: usize = 64;
/// The maximum number of strips along one side of each plane, if there are several planes.
const MAX_STRIPS_OF_SEVERAL: usize = 21;
/// The maximum number of planes that are drawn.
const MAX_PLANES: usize = 8;

/// The dimensions to draw: one down the plane, one across it, and the outer dimensions, whose
/// pieces become separate planes.
///
/// The dimensions down and across are the last two that either sharding cuts. If fewer than two are
/// cut, other dimensions take their place.
pub(super) struct View {
    /// The extents of the array.
    pub(super) sizes: Vec<u64>,
    /// The dimension drawn downwards, if the array has at least two dimensions.
    pub(super) down: Option<usize>,
    /// The dimension drawn across, if the array has at least one dimension.
    pub(super) across: Option<usize>,
    /// All other dimensions that either sharding cuts, major to minor.
    outer: Vec<usize>,
}

/// A row or a column of the drawing. It is one piece into which a sharding cuts a dimension, or
/// several adjacent pieces.
#[derive(Clone, Copy)]
pub(super) struct Strip {
    /// The tile that contains the first piece of the strip, as an index along the dimension.
    tile: u64,
    /// The first index of the strip. `limit` is the index just past the last one.
    pub(super) start: u64,
    pub(super) limit: u64,
}

/// The array with the tiles of one of the two placements.
pub(super) struct TileMap<'a> {
    placement: &'a Placement,
    view: &'a View,
    /// The rows and the columns that are drawn.
    pub(super) strips: [Vec<Strip>; 2],
    /// The planes to draw. Each is given by a piece of every outer dimension, in the order of
    /// `View::outer`.
    pub(super) planes: Vec<Vec<Strip>>,
    /// The number of planes that are not drawn.
    pub(super) hidden: u64,
}

impl View {
    /// Chooses the dimensions to draw for a plan. The choice is the same before and after the
    /// reshard, so that the two pictures can be compared. Returns `None` if the array has no
    /// elements.
    pub(super) fn new(plan: &ReshardPlan) -> Option<Self> {
        let dimensions = plan.shape().dimensions().iter();
        let sizes: Vec<u64> = dimensions.map(|size| size.bound().unwrap_or(0)).collect();
        if sizes.contains(&0) {
            return None;
        }
        let pieces = |side: &Placement, dimension: usize| {
            side.cuts()[dimension].covering((0, sizes[dimension])).1
        };
        let is_cut = |dimension: &usize| {
            pieces(plan.from(), *dimension).max(pieces(plan.to(), *dimension)) > 1
        };
        let mut outer: Vec<usize> = (0..sizes.len()).filter(is_cut).collect();
        let across = outer.pop().or(sizes.len().checked_sub(1));
        // If only one dimension is cut, draw it downwards and another one across, so that an array
        // cut into rows looks like rows.
        let (down, across) = match (outer.pop(), across) {
            (Some(down), _) => (Some(down), across),
            (None, Some(cut)) if cut + 1 < sizes.len() => (Some(cut), Some(sizes.len() - 1)),
            (None, Some(cut)) => (cut.checked_sub(1), Some(cut)),
            (None, None) => (None, None),
        };
        Some(Self { sizes, down, across, outer })
    }

    /// Returns the maximum number of strips along one side of a plane.
    pub(super) fn most_strips(&self) -> usize {
        if self.outer.is_empty() { MAX_STRIPS } else { MAX_STRIPS_OF_SEVERAL }
    }

    /// Returns true if a placement has so many pieces that a strip must cover several of them.
    pub(super) fn is_coarse(&self, side: &Placement) -> bool {
        [self.down, self.across].into_iter().flatten().any(|dimension| {
            let pieces = side.cuts()[dimension].covering((0, self.sizes[dimension])).1;
            pieces > self.most_strips() as u64
        })
    }
}

impl<'a> TileMap<'a> {
    pub(super) fn new(placement: &'a Placement, view: &'a View, most: [usize; 2]) -> Self {
        let strips = |dimension: Option<usize>, most: usize| match dimension {
            Some(dimension) => strips(placement, dimension, view.sizes[dimension], most),
            None => vec![Strip { tile: 0, start: 0, limit: 1 }],
        };
        let pieces =
            |dimension: usize| placement.cuts()[dimension].covering((0, view.sizes[dimension])).1;
        // The count may exceed 2^64 in a cyclic sharding of many dimensions. A saturated count is
        // good enough, because only a few planes are drawn.
        let count = view
            .outer
            .iter()
            .fold(1_u64, |count, &dimension| count.saturating_mul(pieces(dimension)));
        let drawn = count.min(MAX_PLANES as u64);
        let planes = (0..drawn).map(|plane| {
            let mut rest = plane;
            let mut plane = vec![];
            for &dimension in view.outer.iter().rev() {
                let (tile, (start, limit)) =
                    placement.cuts()[dimension].piece(rest % pieces(dimension));
                plane.push(Strip { tile, start, limit });
                rest /= pieces(dimension);
            }
            plane.reverse();
            plane
        });
        Self {
            placement,
            view,
            strips: [strips(view.down, most[0]), strips(view.across, most[1])],
            planes: planes.collect(),
            hidden: count - drawn,
        }
    }

    /// Returns the devices that hold a cell. If the cell contains several pieces, these are the
    /// devices of the first piece.
    pub(super) fn holders(&self, plane: &[Strip], row: Strip, column: Strip) -> Holders<'a> {
        let tile = |dimension: usize| {
            let outer = self.view.outer.iter().position(|&outer| outer == dimension);
            match outer {
                Some(at) => plane[at].tile,
                None if self.view.down == Some(dimension) => row.tile,
                None if self.view.across == Some(dimension) => column.tile,
                None => 0,
            }
        };
        let cuts = self.placement.cuts().iter().enumerate();
        let number =
            cuts.fold(0, |number, (dimension, cuts)| number * cuts.tiles() + tile(dimension));
        self.placement.holders(number)
    }

    /// Returns words for the position of a plane: its piece of each outer dimension, such as `d0
    /// [0,4), d2 [8,16)`. Returns an empty text if there are no outer dimensions.
    pub(super) fn plane_name(&self, plane: &[Strip]) -> String {
        let parts = self.view.outer.iter().zip(plane);
        let parts =
            parts.map(|(outer, strip)| format!("d{outer} [{},{})", strip.start, strip.limit));
        parts.collect::<Vec<_>>().join(", ")
    }

    /// Returns the ranges of indices of a cell, such as `[0,4)×[8,16)`.
    pub(super) fn cell_name(&self, plane: &[Strip], row: Strip, column: Strip) -> String {
        let ranges = self.view.sizes.iter().enumerate().map(|(dimension, &size)| {
            let outer = self.view.outer.iter().position(|&outer| outer == dimension);
            let strip = match outer {
                Some(at) => plane[at],
                None if self.view.down == Some(dimension) => row,
                None if self.view.across == Some(dimension) => column,
                None => Strip { tile: 0, start: 0, limit: size },
            };
            format!("[{},{})", strip.start, strip.limit)
        });
        let name = ranges.collect::<Vec<_>>().join("×");
        if name.is_empty() { "[]".to_owned() } else { name }
    }
}

/// Divides the nonempty pieces of a dimension into at most `most` strips.
fn strips(placement: &Placement, dimension: usize, size: u64, most: usize) -> Vec<Strip> {
    let cuts = &placement.cuts()[dimension];
    let pieces = cuts.covering((0, size)).1;
    let count = pieces.min(most as u64);
    // The products fit, because the number of devices and ranges, and so of pieces, is far below
    // 2^58.
    let first = |strip: u64| strip * pieces / count;
    (0..count)
        .map(|strip| {
            let (tile, (start, _)) = cuts.piece(first(strip));
            Strip { tile, start, limit: cuts.piece(first(strip + 1) - 1).1.1 }
        })
        .collect()
}

/// Returns at most `most` of the devices that hold a tile. If there are more, takes devices at
/// equal distances in the list of holders.
pub(super) fn shown(holders: Holders<'_>, most: usize) -> Vec<u64> {
    let count = holders.len().min(most as u64);
    let at = |number: u64| {
        let at = u128::from(number) * u128::from(holders.len()) / u128::from(count.max(1));
        u64::try_from(at).unwrap_or(u64::MAX)
    };
    (0..count).map(|number| holders.get(at(number))).collect()
}

/// Formats the list of a tile's devices, such as `0`, `0, 4`, or `0, 4, 8, 12 and 61 more`.
pub(super) fn listed(holders: Holders<'_>) -> String {
    let first: Vec<String> =
        (0..holders.len().min(4)).map(|at| holders.get(at).to_string()).collect();
    let more = holders.len() - first.len() as u64;
    let first = first.join(", ");
    if more == 0 { first } else { format!("{first} and {more} more") }
}
