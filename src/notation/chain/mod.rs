//! Searches for an XLA layout of a tensor: a sequence of tiles, called a chain, that brings the
//! parts of all indices into memory order. The parts are called *digits*: a dimension `i` with
//! blocks of 8 has the digits `i / 8` and `i % 8`. The search works for any memory that XLA can
//! describe.
//!
//! The chain is the shortest possible if each stride is a multiple of the next smaller one, and if
//! at most five dimensions have more than one element. Every stride that is not such a multiple
//! needs an additional tile, which combines all axes inside the stride. For example, `[12,4]` with
//! strides 13 and 3 is `T(3,1,1)(*,*,*,13)`.

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

/// If at most this number of dimensions have more than one element, all their orders are tried. For
/// more dimensions, only four orders are tried, because the number of orders grows factorially.
const MOST_ORDERED: usize = 5;

/// The maximum number of steps in the search for the shortest chain. If the search needs more
/// steps, a fixed rule builds a longer chain.
const BUDGET: u32 = 300_000;

/// Returns an XLA layout with the same offsets as the tensor.
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

/// A candidate for the result: an order of the dimensions, from major to minor, and the tiles for
/// this order.
struct Found {
    /// The cost of the candidate; the smallest is used. It consists of a flag that is true if the
    /// order is not row-major, and the total number of extents in all tiles.
    cost: (bool, usize),
    order: Vec<usize>,
    tiles: Vec<Tile>,
}

impl Memory {
    /// Returns an order of the dimensions, from major to minor, and the shortest chain of tiles for
    /// it. If several chains are equally short, those for a row-major order are preferred, and then
    /// those with the fewest extents in total. If the search finds no chain, a fixed rule builds
    /// one. Returns `None` if that chain has more tiles than a layout can have.
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

    /// Returns the orders of the dimensions to be tried, each from major to minor. In each order,
    /// dimensions of one element are inserted at the position that their stride suggests.
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

    /// Returns the tiles that sort the digits by `keys`, followed by one tile for each pitch, a
    /// stride that is not a multiple of the next smaller one. `order` lists the dimensions as they
    /// are before the first tile, and `bits` is the number of bits in a key.
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
