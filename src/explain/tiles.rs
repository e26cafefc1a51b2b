//! Finds the boxes that tiles form, and the places of cells outside the array. Both are computed
//! from the compiler's own descriptor, so that pictures agree with kernels.

use std::convert::Infallible;

use crate::stride::{Coordinate, Coordinates, Forward, StrideDescriptor, Undo};

/// A dimension that tiles can cut: a logical dimension, or several that a `*` in a tile joins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TiledDimension {
    /// The index of the descriptor's coordinate for this dimension.
    pub(super) coordinate: usize,
    /// The logical dimensions that this dimension consists of, major to minor.
    pub(super) of: Vec<usize>,
}

impl TiledDimension {
    /// Sets the position along this dimension to `value` in the logical index `index`. If `value`
    /// is past the extent, the most major of the joined dimensions exceeds its extent, so that the
    /// index lies in padding.
    pub(super) fn set(&self, descriptor: &StrideDescriptor, index: &mut [u64], value: u64) {
        let mut rest = value;
        for &dimension in self.of[1..].iter().rev() {
            let size = descriptor.sizes()[dimension].max(1);
            index[dimension] = rest % size;
            rest /= size;
        }
        index[self.of[0]] = rest;
    }

    /// Returns the most minor logical dimension that this dimension consists of.
    pub(super) fn minor(&self) -> usize {
        self.of[self.of.len() - 1]
    }

    /// Returns the name of the dimension, such as `d0`, or `(d0*3+d1)` if a tile joins two.
    pub(super) fn name(&self, descriptor: &StrideDescriptor) -> String {
        descriptor.coordinate_name(self.coordinate)
    }
}

/// The dimensions that tiles can cut, and the boxes into which tiles cut them, level by level.
pub(super) struct BoxLevels {
    /// The dimensions that tiles can cut. Dimensions that a tile joins are listed as one.
    pub(super) dimensions: Vec<TiledDimension>,
    /// The extents of the boxes along each coordinate, for each level, from coarse to fine.
    ///
    /// For example, the levels of a matrix with `T(8,128)(2,1)` are `[[8, 128, …], [2, 1, …]]`. A
    /// dimension that no tile cuts has extent 1, as if each index were a box.
    pub(super) levels: Vec<Vec<u64>>,
}

impl BoxLevels {
    /// Derives the boxes from the splits of a descriptor. Each level cuts the boxes of the previous
    /// level.
    pub(super) fn of(descriptor: &StrideDescriptor) -> Self {
        let mut levels = vec![];
        let mut parts = (0..descriptor.rank())
            .map(|dimension| CoordinateRole::Whole(vec![dimension]))
            .collect();
        let mut cuts = LevelFinder { coordinates: descriptor.extents().len(), levels: &mut levels };
        let Ok(()) = descriptor.forward(&mut cuts, &mut parts);
        let mut dimensions: Vec<TiledDimension> = vec![];
        for (coordinate, part) in parts.into_iter().enumerate() {
            let CoordinateRole::Whole(of) = part else { continue };
            // A fold takes the position of its most minor dimension.
            let at = dimensions.iter().position(|dimension| of.ends_with(&dimension.of));
            let joined = TiledDimension { coordinate, of };
            match at {
                Some(at) => dimensions[at] = joined.clone(),
                None => dimensions.push(joined.clone()),
            }
            dimensions.retain(|other| {
                *other == joined || !other.of.iter().any(|dimension| joined.of.contains(dimension))
            });
        }
        Self { dimensions, levels }
    }

    /// Returns the weight of the line to draw before `index` along a coordinate: 2 at the start of
    /// a box of the first level, 1 at the start of a box of a deeper level, and 0 elsewhere.
    pub(super) fn line(&self, coordinate: usize, index: u64) -> u8 {
        let mut within = index;
        for (level, extents) in self.levels.iter().enumerate() {
            within %= extents[coordinate];
            if within == 0 {
                return if level == 0 { 2 } else { 1 };
            }
        }
        0
    }

    /// Returns the extents of the boxes along a coordinate, coarse to fine.
    pub(super) fn periods(&self, coordinate: usize) -> Vec<u64> {
        self.levels.iter().map(|extents| extents[coordinate]).collect()
    }

    /// Returns the dimensions that a tile cuts.
    pub(super) fn cut(&self) -> Vec<&TiledDimension> {
        let is_cut = |dimension: &&TiledDimension| {
            self.levels.iter().any(|extents| extents[dimension.coordinate] > 1)
        };
        self.dimensions.iter().filter(is_cut).collect()
    }

    /// Returns the tiled dimension that consists of the logical dimension `logical` alone, or
    /// `None` if a tile joins it with others.
    pub(super) fn dimension(&self, logical: usize) -> Option<&TiledDimension> {
        self.dimensions.iter().find(|dimension| dimension.of == [logical])
    }
}

/// The kind of a descriptor's coordinate, which decides if a split of it forms boxes.
enum CoordinateRole {
    /// A whole dimension, given by the logical dimensions that it consists of.
    Whole(Vec<usize>),
    /// A remainder of a split: the coordinate of the whole dimension, and the number of splits so
    /// far.
    Remainder(usize, usize),
    /// A quotient, or a fold of quotients or remainders.
    Other,
}

/// Collects the extents of the boxes, step by step of a descriptor.
struct LevelFinder<'a> {
    coordinates: usize,
    levels: &'a mut Vec<Vec<u64>>,
}

impl Forward for LevelFinder<'_> {
    type Value = CoordinateRole;
    type Error = Infallible;

    fn split(
        &mut self,
        whole: Coordinate<'_, CoordinateRole>,
        by: u64,
    ) -> Result<[CoordinateRole; 2], Infallible> {
        let (coordinate, level) = match *whole.value {
            CoordinateRole::Whole(_) => (whole.number, 0),
            CoordinateRole::Remainder(coordinate, level) => (coordinate, level),
            CoordinateRole::Other => return Ok([CoordinateRole::Other, CoordinateRole::Other]),
        };
        if self.levels.len() <= level {
            self.levels.push(vec![1; self.coordinates]);
        }
        self.levels[level][coordinate] = by;
        Ok([CoordinateRole::Other, CoordinateRole::Remainder(coordinate, level + 1)])
    }

    fn fold(
        &mut self,
        major: Coordinate<'_, CoordinateRole>,
        minor: Coordinate<'_, CoordinateRole>,
    ) -> Result<CoordinateRole, Infallible> {
        Ok(match (major.value, minor.value) {
            (CoordinateRole::Whole(major), CoordinateRole::Whole(minor)) => {
                CoordinateRole::Whole(major.iter().chain(minor).copied().collect())
            }
            _ => CoordinateRole::Other,
        })
    }

    fn unit(&mut self) -> CoordinateRole {
        CoordinateRole::Other
    }
}

/// Returns the extent of a dimension with padding: the extent of its axis in memory, rounded up to
/// whole tiles.
pub(super) fn padded(descriptor: &StrideDescriptor, dimension: &TiledDimension) -> u64 {
    let mut extents: Coordinates<u64> = descriptor.extents().into();
    for axis in descriptor.axes() {
        extents[axis.coordinate] = axis.extent;
    }
    let Ok(()) = descriptor.undo(&mut WholeTiles, &mut extents);
    extents[dimension.minor()]
}

/// Computes the extent of each coordinate, rounded up to whole tiles. In a fold, the most minor
/// coordinate gets the extent of the whole fold.
struct WholeTiles;

impl Undo for WholeTiles {
    type Value = u64;
    type Error = Infallible;

    fn join(
        &mut self,
        _: Coordinate<'_, u64>,
        by: u64,
        quotients: u64,
        _: u64,
    ) -> Result<u64, Infallible> {
        Ok(quotients * by)
    }

    fn unfold(
        &mut self,
        major: Coordinate<'_, u64>,
        _: Coordinate<'_, u64>,
        fold: u64,
    ) -> Result<[u64; 2], Infallible> {
        Ok([major.extent, fold])
    }
}

/// Returns the place in memory of the cell at `index`. The index may lie outside the array, in
/// padding.
pub(super) fn place(descriptor: &StrideDescriptor, index: &[u64]) -> u64 {
    let values = descriptor.coordinates(index);
    let axes = descriptor.axes().iter();
    // The place of padding past a single element may overflow an `i64`, but is never drawn.
    let strided = axes
        .map(|axis| axis.stride.wrapping_mul(i64::try_from(values[axis.coordinate]).unwrap_or(0)))
        .fold(0_i64, i64::wrapping_add);
    descriptor.base_offset().wrapping_add_signed(strided)
}

/// Returns the product of `extents`, limited to 2^64-1, because a drawing never needs a larger
/// number.
pub(super) fn product(extents: impl IntoIterator<Item = u64>) -> u64 {
    extents.into_iter().fold(1, u64::saturating_mul)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Shape;

    fn lower(text: &str) -> StrideDescriptor {
        StrideDescriptor::try_from(&text.parse::<Shape>().unwrap()).unwrap()
    }

    #[test]
    fn boxes_are_the_tiles() {
        let boxes = |text| {
            let boxes = BoxLevels::of(&lower(text));
            let along = |extents: &Vec<u64>| -> Vec<u64> {
                boxes.dimensions.iter().map(|dimension| extents[dimension.coordinate]).collect()
            };
            boxes.levels.iter().map(along).collect::<Vec<_>>()
        };
        assert_eq!(boxes("bf16[16,256]{1,0:T(8,128)(2,1)}"), [[8, 128], [2, 1]]);
        assert_eq!(boxes("f32[3,5]{1,0:T(2,2)}"), [[2, 2]]);
        assert_eq!(boxes("f32[4,300]{1,0:T(128)}"), [[1, 128]]);
        assert!(boxes("f32[4,300]{0,1}").is_empty());
        assert_eq!(boxes("f32[2,3,5]{2,1,0:T(*,4,8)}"), [[4, 8]]);
        assert_eq!(boxes("f32[2,3,4,5]{3,2,1,0:T(*,*,4,8)}"), [[4, 8]]);
        assert_eq!(boxes("f32[2,3]{1,0:T(*,4)}"), [[4]]);
    }

    /// Checks that dimensions joined by a `*` are listed as one, in the position of the minor-most
    /// dimension.
    #[test]
    fn joined_dimensions_are_one() {
        let of = |text| -> Vec<(Vec<usize>, u64)> {
            let descriptor = lower(text);
            let boxes = BoxLevels::of(&descriptor);
            let padded = |dimension: &TiledDimension| padded(&descriptor, dimension);
            boxes.dimensions.iter().map(|d| (d.of.clone(), padded(d))).collect()
        };
        assert_eq!(of("f32[2,3,5]{2,1,0:T(*,4,8)}"), [(vec![0, 1], 8), (vec![2], 8)]);
        assert_eq!(
            of("f32[7,2,3,5]{3,2,1,0:T(*,4,8)}"),
            [(vec![0], 7), (vec![1, 2], 8), (vec![3], 8)]
        );
        assert_eq!(of("f32[2,3,4,5]{3,2,1,0:T(*,*,5,8)}"), [(vec![0, 1, 2], 25), (vec![3], 8)]);
        assert_eq!(of("f32[2,3]{0,1:PAD(3,5,zero)}"), [(vec![0], 3), (vec![1], 5)]);
    }

    /// Checks the place of every cell of the padded array against `index`: the place holds the
    /// cell's element, or padding.
    #[test]
    fn places_are_those_of_the_descriptor() {
        let shapes = [
            "f32[3,5]{1,0:T(2,2)}",
            "f32[2,3]{0,1:PAD(3,5,zero)}",
            "bf16[5,9]{1,0:T(4,4)(2,1)}",
            "f32[2,3,5]{2,1,0:T(*,4,8)}",
            "f32[2,3,4,5]{3,2,1,0:T(*,*,5,8)}",
        ];
        for text in shapes {
            let descriptor = lower(text);
            let mut seen = 0;
            let dimensions = BoxLevels::of(&descriptor).dimensions;
            let [down, across] = &dimensions[..] else { panic!("{text}: {dimensions:?}") };
            for row in 0..padded(&descriptor, down) {
                for column in 0..padded(&descriptor, across) {
                    let mut index = vec![0; descriptor.rank()];
                    down.set(&descriptor, &mut index, row);
                    across.set(&descriptor, &mut index, column);
                    let found = descriptor.index(place(&descriptor, &index)).unwrap();
                    let expected = descriptor.offset(&index).is_ok().then(|| index.clone());
                    assert_eq!(found, expected, "{text} {index:?}");
                    seen += 1;
                }
            }
            assert_eq!(seen, descriptor.physical_elements(), "{text}");
        }
    }
}
