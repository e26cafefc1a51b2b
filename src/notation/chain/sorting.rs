//! [`Sorting`]: the places of memory while tiles are applied, and the tiles that sort them.

use super::memory::{ChainDigit, Memory};
use crate::shape::{Tile, TileDimension};

/// The places of memory while tiles are applied.
pub(super) struct Sorting<'a> {
    memory: &'a Memory,
    /// The digits that share a place, the most significant first; none in a place of extent 1.
    /// Major to minor.
    places: Vec<Vec<usize>>,
    /// True for a digit that a tile has padded.
    is_padded: Vec<bool>,
    /// The units that no tile has taken yet, major to minor.
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

    /// Returns the tile that takes the digits whose keys have this bit.
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

    /// Returns the current number of places of the digit.
    fn extent(&self, part: usize) -> u64 {
        let ChainDigit { extent, padded, .. } = self.memory.parts[part];
        if self.is_padded[part] { padded } else { extent }
    }

    /// Returns the tile that folds all places inside a digit, so that its values are `pitch` apart.
    pub(super) fn fold(&mut self, outer: usize, pitch: u64) -> Tile {
        let inside = 1 + self.places.iter().position(|place| place.contains(&outer)).unwrap_or(0);
        let folded = self.places.split_off(inside);
        let stars = vec![TileDimension::Combine; folded.len().saturating_sub(1)];
        // The quotient, which is 1, and the fold, whose digits do not matter any more.
        self.places.extend([Vec::new(), Vec::new()]);
        Tile::new(stars.into_iter().chain([TileDimension::Size(pitch)]))
    }
}
