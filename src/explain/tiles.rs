//! Finds the boxes to draw around the elements of each tile, and the location of padding in memory.
//! Both are computed from the [`StrideDescriptor`] that kernels are compiled from, so that pictures
//! agree with kernels.
//!
//! Pictures show an array as a grid of cells: one cell for each element, and one for each padding
//! element that partial tiles add.

use std::convert::Infallible;

use crate::stride::{Coordinate, Coordinates, Forward, StrideDescriptor, Undo};

/// A dimension as the tiles of a layout see it: a dimension of the array, or several that a `*` in
/// a tile joins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TiledDimension {
    /// The index of the dimension in the descriptor's list of coordinates.
    pub(super) coordinate: usize,
    /// The dimensions of the array that are joined, major to minor.
    pub(super) of: Vec<usize>,
}

impl TiledDimension {
    /// Sets the coordinate along this dimension to `value` in an index of the array. If `value` is
    /// past the end, so is the index along the most major of the joined dimensions, and it is
    /// padding.
    pub(super) fn set(&self, descriptor: &StrideDescriptor, index: &mut [u64], value: u64) {
        let mut rest = value;
        for &dimension in self.of[1..].iter().rev() {
            let size = descriptor.sizes()[dimension].max(1);
            index[dimension] = rest % size;
            rest /= size;
        }
        index[self.of[0]] = rest;
    }

    /// Returns the most minor of the joined dimensions.
    pub(super) fn minor(&self) -> usize {
        self.of[self.of.len() - 1]
    }

    /// Returns the name of the dimension, such as `d0`, or `(d0*3+d1)` if a tile joins two.
    pub(super) fn name(&self, descriptor: &StrideDescriptor) -> String {
        descriptor.coordinate_name(self.coordinate)
    }
}

/// The boxes into which the tiles of a layout cut an array, level by level: the boxes of the first
/// tile, then the smaller boxes of the next tile inside them.
pub(super) struct BoxLevels {
    /// The dimensions of the array. Dimensions that a tile joins are listed as one.
    pub(super) dimensions: Vec<TiledDimension>,
    /// The extents of the boxes of each level along each coordinate of the descriptor, from the
    /// largest boxes to the smallest.
    ///
    /// For example, the levels of a matrix with `T(8,128)(2,1)` are `[[8, 128, …], [2, 1, …]]`.
    /// Along a dimension that no tile cuts, boxes have extent 1.
    pub(super) levels: Vec<Vec<u64>>,
}

impl BoxLevels {
    /// Finds the boxes from the steps of a descriptor that split a coordinate.
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
            // Dimensions that are joined are listed at the position of the most minor one.
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

    /// Returns the weight of the line that is drawn before `index` along a coordinate: 2 at the
    /// start of a box of the first level, 1 at the start of a smaller box, and otherwise 0, which
    /// is no line.
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

    /// Returns the extents of the boxes along a coordinate, from the largest to the smallest.
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

    /// Returns the entry for the array's dimension `logical`, or `None` if a tile joins it with
    /// others.
    pub(super) fn dimension(&self, logical: usize) -> Option<&TiledDimension> {
        self.dimensions.iter().find(|dimension| dimension.of == [logical])
    }
}

/// The role of a coordinate of the descriptor. Splits of a dimension, or of a remainder, form
/// boxes; splits of other coordinates do not.
enum CoordinateRole {
    /// A dimension of the array, or several that are joined, listed major to minor.
    Whole(Vec<usize>),
    /// The remainder of a split, which is the index inside a box. It has the coordinate of the
    /// dimension that was split first, and the number of splits so far.
    Remainder(usize, usize),
    /// The quotient of a split, which is the number of a box, or several coordinates that are
    /// joined.
    Other,
}

/// Collects the extents of the boxes while it runs the steps of a descriptor.
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

/// Returns the extent of a dimension with its padding, rounded up to whole tiles.
pub(super) fn padded(descriptor: &StrideDescriptor, dimension: &TiledDimension) -> u64 {
    let mut extents: Coordinates<u64> = descriptor.extents().into();
    for axis in descriptor.axes() {
        extents[axis.coordinate] = axis.extent;
    }
    let Ok(()) = descriptor.undo(&mut WholeTiles, &mut extents);
    extents[dimension.minor()]
}

/// Computes the extent of each dimension with its padding, by running the steps of a descriptor
/// backwards. If dimensions are joined, the most minor one gets the extent of all.
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

/// Returns the offset in memory of the cell at `index`, in elements. The index may lie outside the
/// array, in padding.
pub(super) fn place(descriptor: &StrideDescriptor, index: &[u64]) -> u64 {
    let values = descriptor.coordinates(index);
    let axes = descriptor.axes().iter();
    // A very large stride along a dimension of extent 1 may overflow, but such a cell is never
    // drawn.
    let strided = axes
        .map(|axis| axis.stride.wrapping_mul(i64::try_from(values[axis.coordinate]).unwrap_or(0)))
        .fold(0_i64, i64::wrapping_add);
    descriptor.base_offset().wrapping_add_signed(strided)
}

/// Returns the product of `extents`, or 2^64-1 if it is larger.
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
