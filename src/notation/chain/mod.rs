//! The search for an XLA layout of any memory that XLA can describe: a chain of tiles that puts the
//! digits of the dimensions into memory order.
//!
//! The chain is the shortest one if each stride is a multiple of the next smaller one and at most
//! five dimensions have more than one element. Any other stride requires one more tile, which folds
//! everything inside the stride: `[12,4]` with strides 13 and 3 is `T(3,1,1)(*,*,*,13)`.

mod memory;
mod sorting;
#[cfg(test)]
mod tests;

use memory::{ChainDigit, Memory};
use sorting::Sorting;

use super::keys::{any_keys, keys};
use crate::{
    shape::{Layout, Tile},
    stride::StrideDescriptor,
};

/// The maximum number of dimensions with more than one element for which all orders are tried. More
/// dimensions are tried in four orders only, because the number of orders grows factorially.
const MOST_ORDERED: usize = 5;

/// The maximum number of steps in the search for the shortest chain. If they are not enough, a
/// longer chain is built by a fixed rule.
const BUDGET: u32 = 300_000;

/// Returns a layout with the same offsets as the tensor.
///
/// # Errors
///
/// Returns a reason, in words, if no layout is found.
pub(super) fn layout(tensor: &StrideDescriptor) -> Result<Layout, String> {
    let bits = match tensor.element_type().storage_bits() {
        Some(bits) if bits == tensor.element_bits() => 0,
        _ => tensor.element_bits().into(),
    };
    let mut row_major = Layout::default_for_rank(tensor.rank()).element_size(bits);
    row_major.dynamic_shape_metadata_prefix_bytes = tensor.prefix_bytes();
    if tensor.elements() == 0 {
        return Ok(row_major);
    }
    let memory = Memory::of(tensor)?;
    let best = memory.shortest(tensor.rank());
    let (order, tiles) = best.ok_or("it takes a chain of more than 64 tiles")?;
    let mut layout = row_major;
    let has_place = |dimension: &&usize| memory.tops[**dimension].is_some();
    if !tiles.is_empty() || !order.iter().filter(has_place).is_sorted() {
        layout.minor_to_major = order.into_iter().rev().collect();
    }
    layout.tiles = tiles;
    Ok(layout)
}

/// A candidate: an order of the dimensions, from major to minor, and the tiles for this order.
struct Found {
    /// The pair by which candidates are compared: true if the order is not row-major, then the
    /// total number of extents in the tiles. The smallest pair wins.
    cost: (bool, usize),
    order: Vec<usize>,
    tiles: Vec<Tile>,
}

impl Memory {
    /// Returns an order of the dimensions, from major to minor, and the shortest chain of tiles.
    /// Among chains of equal length, a row-major order is preferred, and then the smallest total
    /// number of extents. If the search finds no chain, the result is built by a fixed rule, or is
    /// `None` if that rule needs more tiles than a layout can have.
    fn shortest(&self, rank: usize) -> Option<(Vec<usize>, Vec<Tile>)> {
        let variants: Vec<(Self, Vec<Vec<usize>>)> = self
            .variants(rank)
            .into_iter()
            .map(|variant| {
                let orders = variant.orders(rank);
                (variant, orders)
            })
            .collect();
        let numbers =
            |tiles: &[Tile]| tiles.iter().map(|tile| tile.dimensions.len()).sum::<usize>();
        let mut budget = BUDGET;
        for bits in 0.. {
            let mut best: Option<Found> = None;
            let starts = variants
                .iter()
                .flat_map(|(variant, orders)| orders.iter().map(move |order| (variant, order)));
            for (variant, order) in starts {
                for keys in keys(&variant.items(order), bits, &mut budget) {
                    let tiles = variant.tiles(order, &keys, bits);
                    let cost = (!order.is_sorted(), numbers(&tiles));
                    if best.as_ref().is_none_or(|best| cost < best.cost) {
                        best = Some(Found { cost, order: order.clone(), tiles });
                    }
                }
            }
            if let Some(Found { order, tiles, .. }) = best {
                return Some((order, tiles));
            }
            if budget == 0 || bits > 8 {
                break;
            }
        }
        let order = self.orders(rank).into_iter().next()?;
        let (keys, bits) = any_keys(&self.items(&order))?;
        let tiles = self.tiles(&order, &keys, bits);
        (tiles.len() <= crate::shape::MAX_TILES).then_some((order, tiles))
    }

    /// Returns the orders of the dimensions to try, each from major to minor. Dimensions of one
    /// element are then inserted at the positions that their strides suggest.
    fn orders(&self, rank: usize) -> Vec<Vec<usize>> {
        let appears =
            |dimension: &usize| self.parts.iter().any(|part| part.dimension == Some(*dimension));
        let (several, single): (Vec<usize>, Vec<usize>) = (0..rank).partition(appears);
        let of = |dimension: usize| move |part: &ChainDigit| part.dimension == Some(dimension);
        let mut by_first = several.clone();
        by_first.sort_by_key(|&dimension| self.parts.iter().position(of(dimension)));
        let mut by_last = several.clone();
        by_last.sort_by_key(|&dimension| self.parts.iter().rposition(of(dimension)));
        let orders = if several.len() <= MOST_ORDERED {
            permutations(&several)
        } else {
            vec![several.clone(), by_first, by_last, several.into_iter().rev().collect()]
        };
        let with_single = |mut order: Vec<usize>| {
            for &dimension in &single {
                self.insert(&mut order, dimension);
            }
            order
        };
        orders.into_iter().map(with_single).collect()
    }

    /// Returns the tiles that sort the digits by their keys, followed by one tile for each pitch.
    /// `order` is the order of the dimensions before the first tile, and `bits` is the number of
    /// bits of a key.
    fn tiles(&self, order: &[usize], keys: &[u64], bits: u32) -> Vec<Tile> {
        let mut sorting = Sorting::new(self, order);
        let mut tiles: Vec<Tile> = (0..bits).map(|bit| sorting.tile(keys, bit)).collect();
        for &(outer, pitch) in self.pitches.iter().rev() {
            tiles.push(sorting.fold(outer, pitch));
        }
        tiles
    }
}

/// Returns all permutations of `of` in lexicographic order, starting with `of` itself.
fn permutations(of: &[usize]) -> Vec<Vec<usize>> {
    if of.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (at, &first) in of.iter().enumerate() {
        let rest = [&of[..at], &of[at + 1..]].concat();
        all.extend(permutations(&rest).into_iter().map(|rest| [&[first], &rest[..]].concat()));
    }
    all
}
