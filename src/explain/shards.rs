//! [`Map`]: the whole array as one side of a reshard has it, cut into tiles, in as many planes as it takes.

use crate::{
    reshard::ReshardPlan,
    sharding::{Holders, Placement},
};

/// The most strips along one side of a plane; each has several pieces where there are more.
const MAX_STRIPS: usize = 64;
/// The same, where there are several planes.
const MAX_STRIPS_OF_SEVERAL: usize = 21;
/// The most planes that are drawn.
const MAX_PLANES: usize = 8;

/// The dimensions that are drawn: down and across, and those before them, which make planes.
///
/// They are the last two that a side of the plan cuts; where fewer are cut, others stand in for them.
pub(super) struct View {
    /// Extents of the array.
    pub(super) sizes: Vec<u64>,
    /// The dimension that runs down, in arrays of two dimensions and more.
    pub(super) down: Option<usize>,
    /// The dimension that runs across, in arrays of one dimension and more.
    pub(super) across: Option<usize>,
    /// The other dimensions that a side cuts, major to minor.
    outer: Vec<usize>,
}

/// Pieces of tiles that lie beside each other along one dimension, and are drawn as one.
#[derive(Clone, Copy)]
pub(super) struct Strip {
    /// The tile of the first piece.
    tile: u64,
    /// Indices from `start` up to `limit`.
    pub(super) start: u64,
    pub(super) limit: u64,
}

/// The array as one side has it.
pub(super) struct Map<'a> {
    placement: &'a Placement,
    view: &'a View,
    /// What runs down, and what runs across.
    pub(super) strips: [Vec<Strip>; 2],
    /// What is drawn of the other dimensions: a piece of each that is cut, in the order of `View::outer`.
    pub(super) planes: Vec<Vec<Strip>>,
    /// How many planes are not drawn.
    pub(super) hidden: u64,
}

impl View {
    /// What is drawn of both sides of a plan; `None` where the array has no elements.
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
        // One dimension that is cut runs down where another can run across, so that rows look like rows.
        let (down, across) = match (outer.pop(), across) {
            (Some(down), _) => (Some(down), across),
            (None, Some(cut)) if cut + 1 < sizes.len() => (Some(cut), Some(sizes.len() - 1)),
            (None, Some(cut)) => (cut.checked_sub(1), Some(cut)),
            (None, None) => (None, None),
        };
        Some(Self { sizes, down, across, outer })
    }

    /// The most strips along one side of a plane, in a drawing.
    pub(super) fn most_strips(&self) -> usize {
        if self.outer.is_empty() { MAX_STRIPS } else { MAX_STRIPS_OF_SEVERAL }
    }

    /// Whether a strip of a drawing has several pieces of a side.
    pub(super) fn is_coarse(&self, side: &Placement) -> bool {
        [self.down, self.across].into_iter().flatten().any(|dimension| {
            let pieces = side.cuts()[dimension].covering((0, self.sizes[dimension])).1;
            pieces > self.most_strips() as u64
        })
    }
}

impl<'a> Map<'a> {
    pub(super) fn new(placement: &'a Placement, view: &'a View, most: [usize; 2]) -> Self {
        let strips = |dimension: Option<usize>, most: usize| match dimension {
            Some(dimension) => strips(placement, dimension, view.sizes[dimension], most),
            None => vec![Strip { tile: 0, start: 0, limit: 1 }],
        };
        let pieces =
            |dimension: usize| placement.cuts()[dimension].covering((0, view.sizes[dimension])).1;
        // Only what is drawn need be right: the count may be past 2^64 where blocks are dealt out along many dimensions.
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

    /// The devices that have the first piece of a cell.
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

    /// `d0 [0,4), d2 [8,16)`, what a plane has of the dimensions that run neither down nor across; empty where none is cut.
    pub(super) fn plane_name(&self, plane: &[Strip]) -> String {
        let parts = self.view.outer.iter().zip(plane);
        let parts =
            parts.map(|(outer, strip)| format!("d{outer} [{},{})", strip.start, strip.limit));
        parts.collect::<Vec<_>>().join(", ")
    }

    /// The indices of a cell: `[0,4)×[8,16)`, in the dimensions that are drawn.
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

/// The pieces of a dimension that have elements, in at most so many strips.
fn strips(placement: &Placement, dimension: usize, size: u64, most: usize) -> Vec<Strip> {
    let cuts = &placement.cuts()[dimension];
    let pieces = cuts.covering((0, size)).1;
    let count = pieces.min(most as u64);
    // Devices and ranges, and so pieces, are far below 2^58: the products fit.
    let first = |strip: u64| strip * pieces / count;
    (0..count)
        .map(|strip| {
            let (tile, (start, _)) = cuts.piece(first(strip));
            Strip { tile, start, limit: cuts.piece(first(strip + 1) - 1).1.1 }
        })
        .collect()
}

/// The devices of a tile that a cell shows, at most `most`: all of them, or some at equal distances.
pub(super) fn shown(holders: Holders<'_>, most: usize) -> Vec<u64> {
    let count = holders.len().min(most as u64);
    let at = |number: u64| {
        let at = u128::from(number) * u128::from(holders.len()) / u128::from(count.max(1));
        u64::try_from(at).unwrap_or(u64::MAX)
    };
    (0..count).map(|number| holders.get(at(number))).collect()
}

/// `0`, `0, 4`, `0, 4, 8 and 61 more`.
pub(super) fn listed(holders: Holders<'_>) -> String {
    let first: Vec<String> =
        (0..holders.len().min(4)).map(|at| holders.get(at).to_string()).collect();
    let more = holders.len() - first.len() as u64;
    let first = first.join(", ");
    if more == 0 { first } else { format!("{first} and {more} more") }
}
