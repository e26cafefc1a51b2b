//! [`Sorting`]: applies tiles in sequence, and keeps track of the digits, the parts of indices, on
//! each axis of memory.

use super::memory::{ChainDigit, Memory};
use crate::shape::{Tile, TileDimension};

/// The axes of memory after the tiles that were applied so far.
pub(super) struct Sorting<'a> {
    memory: &'a Memory,
    /// The digits on each axis. The axes are listed from major to minor, and so are the digits on
    /// an axis. An axis of extent 1 has no digits.
    places: Vec<Vec<usize>>,
    /// True for each digit that a tile has padded.
    is_padded: Vec<bool>,
    /// The units, or axes of extent 1, that no tile has used yet, from major to minor.
    units: Vec<usize>,
}

impl<'a> Sorting<'a> {
    pub(super) fn new(memory: &'a Memory, order: &[usize]) -> Self {
        let of = |dimension: Option<usize>| {
            let mut parts: Vec<usize> = (0..memory.parts.len())
                .filter(|&part| memory.parts[part].dimension == dimension)
                .collect();
            parts.sort_by_key(|&part| std::cmp::Reverse(memory.parts[part].level));
            parts
        };
        let places = order.iter().map(|&dimension| of(Some(dimension))).collect();
        let mut units = of(None);
        units.sort_unstable();
        Self { memory, places, is_padded: vec![false; memory.parts.len()], units }
    }

    /// Returns the tile that sorts the digits by bit `bit` of their keys: first those whose bit is
    /// 0, then those whose bit is 1. Also brings the axes into this order.
    pub(super) fn tile(&mut self, keys: &[u64], bit: u32) -> Tile {
        let is_taken = |part: &usize| keys[*part] >> bit & 1 == 1;
        let (taken_units, units) = self.units.iter().copied().partition::<Vec<usize>, _>(is_taken);
        self.units = units;
        self.places.splice(0..0, taken_units.into_iter().map(|unit| vec![unit]));
        let first = self.places.iter().position(|place| place.iter().any(is_taken));
        let covered = self.places.split_off(first.unwrap_or(self.places.len()));
        let (mut sizes, mut inner) = (Vec::new(), Vec::new());
        for place in covered {
            let (outer, taken): (Vec<usize>, Vec<usize>) =
                place.into_iter().partition(|part| !is_taken(part));
            if let Some(&top) = taken.first() {
                self.is_padded[top] |= outer.is_empty();
            }
            sizes.push(taken.iter().map(|&part| self.extent(part)).product::<u64>());
            self.places.push(outer);
            inner.push(taken);
        }
        self.places.append(&mut inner);
        Tile::new(sizes)
    }

    /// Returns the current extent of a digit in memory. Padding is included only after a tile has
    /// added it.
    fn extent(&self, part: usize) -> u64 {
        let ChainDigit { extent, padded, .. } = self.memory.parts[part];
        if self.is_padded[part] { padded } else { extent }
    }

    /// Combines all axes inside the digit `outer` into one axis of extent `pitch`, so that
    /// neighbouring values of `outer` are `pitch` elements apart. Returns the tile for this.
    pub(super) fn fold(&mut self, outer: usize, pitch: u64) -> Tile {
        let inside = 1 + self.places.iter().position(|place| place.contains(&outer)).unwrap_or(0);
        let folded = self.places.split_off(inside);
        let stars = vec![TileDimension::Combine; folded.len().saturating_sub(1)];
        // Adds two axes without digits: the quotient, because its extent is 1, and the combined
        // axis, because its digits are not used after this point.
        self.places.extend([Vec::new(), Vec::new()]);
        Tile::new(stars.into_iter().chain([TileDimension::Size(pitch)]))
    }
}
