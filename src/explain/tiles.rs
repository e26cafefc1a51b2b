//! Finds the boxes to draw around the elements of each tile, and the location of padding in memory.
//! Both are computed from the [`StrideDescriptor`] that kernels are compiled from, so that pictures
//! agree with kernels.
//!
//! Pictures show an array as a grid of cells: one cell for each element, and one for each padding
//! element that partial tiles add.

use std::convert::Infallible;

use crate::stride::{Coordinate, Coordinates, Forward, Step, StrideDescriptor, Undo};

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
    /// True for each level whose boxes are contiguous in memory. They are not if a later tile
    /// interleaves them, or if tiles inside them are padded.
    pub(super) contiguous: Vec<bool>,
    /// The boxes that a later tile interleaves.
    pub(super) interleaved: Vec<BoxTurns>,
    /// The number of parts of a tile along the dimensions that it has and the array does not. Only
    /// the first part holds elements.
    pub(super) parts: u64,
    /// True if the boxes of the first level are the array with its padding, and no tile.
    pub(super) is_padding: bool,
}

/// Boxes that take turns in memory, because a later tile cuts the row of boxes.
///
/// `bf16[288]{0:T(512)(128)(2,1)}` has boxes of 128 elements, and pairs of them take turns: element
/// 128 comes right after element 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BoxTurns {
    /// The dimension along which the boxes follow each other, as the number of its coordinate.
    pub(super) coordinate: usize,
    /// The number of boxes that take turns.
    pub(super) count: u64,
    /// The distance between these boxes along the dimension, in elements.
    pub(super) period: u64,
    /// The distance between these boxes in memory, in elements.
    pub(super) stride: i64,
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
        let contiguous = (0..levels.len())
            .map(|level| {
                let inner = descriptor.axes().iter().rev().filter(|axis| axis.extent > 1);
                let inner = inner.take_while(|axis| parts[axis.coordinate].boxes() > level);
                product(inner.map(|axis| axis.extent)) == product(levels[level].iter().copied())
            })
            .collect::<Vec<_>>();
        let interleaved =
            descriptor.axes().iter().filter_map(|axis| match &parts[axis.coordinate] {
                &CoordinateRole::Other { boxes, row: Some(row), is_cut: true }
                    if axis.extent > 1 && contiguous.get(boxes) == Some(&false) =>
                {
                    let Row { coordinate, period } = row;
                    let (count, stride) = (axis.extent, axis.stride);
                    Some(BoxTurns { coordinate, count, period, stride })
                }
                _ => None,
            });
        let interleaved = interleaved.collect();
        let units = descriptor.axes().iter();
        let units = units.filter(|axis| matches!(parts[axis.coordinate], CoordinateRole::Unit));
        let unit_parts = product(units.map(|axis| axis.extent));
        let is_padding = is_padded_first(descriptor);
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
        Self { dimensions, levels, contiguous, interleaved, parts: unit_parts, is_padding }
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

    /// Returns the dimensions that a tile or the padding before it cuts.
    pub(super) fn cut(&self) -> Vec<&TiledDimension> {
        self.cut_from(0)
    }

    /// Returns the dimensions that boxes of level `first`, or of one inside it, cut.
    pub(super) fn cut_from(&self, first: usize) -> Vec<&TiledDimension> {
        let is_cut = |dimension: &&TiledDimension| {
            self.levels[first..].iter().any(|extents| extents[dimension.coordinate] > 1)
        };
        self.dimensions.iter().filter(is_cut).collect()
    }

    /// Returns the entry for the array's dimension `logical`, or `None` if a tile joins it with
    /// others.
    pub(super) fn dimension(&self, logical: usize) -> Option<&TiledDimension> {
        self.dimensions.iter().find(|dimension| dimension.of == [logical])
    }
}

/// Returns true if the first step pads a dimension, before tiles are applied. The quotient of such
/// a split is always 0, and has no axis.
fn is_padded_first(descriptor: &StrideDescriptor) -> bool {
    let quotient = descriptor.rank();
    let is_used = |step: &Step| match *step {
        Step::Split { of, .. } => of == quotient,
        Step::Fold { major, minor } => major == quotient || minor == quotient,
        Step::Unit => false,
    };
    matches!(descriptor.steps().first(), Some(Step::Split { .. }))
        && descriptor.axes().iter().all(|axis| axis.coordinate != quotient && axis.extent > 0)
        && !descriptor.steps().iter().any(is_used)
}

/// The role of a coordinate of the descriptor. Splits of a dimension, or of a remainder, form
/// boxes; splits of other coordinates do not.
enum CoordinateRole {
    /// A dimension of the array, or several that are joined, listed major to minor.
    Whole(Vec<usize>),
    /// The remainder of a split, which is the index inside a box. The fields are the coordinate
    /// before any split, and the number of splits so far.
    Remainder(usize, usize),
    /// A dimension that a tile has and the array does not, or a part of it.
    Unit,
    /// The number of a box, a part of that number, or several coordinates that are joined.
    Other {
        /// The number of levels of boxes that this coordinate is inside.
        boxes: usize,
        /// The row of boxes that this numbers, or `None` for joined coordinates.
        row: Option<Row>,
        /// True if a later tile cut the row, and this is the number within one of its parts.
        is_cut: bool,
    },
}

/// Boxes that follow each other along a dimension.
#[derive(Clone, Copy)]
struct Row {
    /// The coordinate of the dimension.
    coordinate: usize,
    /// The distance between neighbours, in elements.
    period: u64,
}

impl CoordinateRole {
    /// Returns the number of levels of boxes that the coordinate is inside.
    fn boxes(&self) -> usize {
        match *self {
            Self::Whole(_) | Self::Unit => 0,
            Self::Remainder(_, boxes) | Self::Other { boxes, .. } => boxes,
        }
    }
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
            CoordinateRole::Unit => return Ok([CoordinateRole::Unit, CoordinateRole::Unit]),
            CoordinateRole::Other { boxes, row, .. } => {
                let period = |row: Row| Row { period: row.period.saturating_mul(by), ..row };
                let quotient = CoordinateRole::Other { boxes, row: row.map(period), is_cut: false };
                return Ok([quotient, CoordinateRole::Other { boxes, row, is_cut: true }]);
            }
        };
        if self.levels.len() <= level {
            self.levels.push(vec![1; self.coordinates]);
        }
        self.levels[level][coordinate] = by;
        let row = Some(Row { coordinate, period: by });
        let quotient = CoordinateRole::Other { boxes: level, row, is_cut: false };
        Ok([quotient, CoordinateRole::Remainder(coordinate, level + 1)])
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
            (major, minor) => {
                let boxes = major.boxes().min(minor.boxes());
                CoordinateRole::Other { boxes, row: None, is_cut: false }
            }
        })
    }

    fn unit(&mut self) -> CoordinateRole {
        CoordinateRole::Unit
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

    /// Checks by brute force which boxes are contiguous, and where the boxes are that take turns.
    #[test]
    fn contiguous_boxes_are_one_run() {
        let shapes = [
            "bf16[288]{0:T(512)(128)(2,1)}",
            "bf16[96]{0:T(256)(128)(2,1)}",
            "bf16[700]{0:T(512)(128)(2,1)}",
            "s8[700]{0:T(512)(128)(4,1)}",
            "f32[16]{0:T(4)(2,2)}",
            "f32[50]{0:T(16)(4)(2,2)(2,1)}",
            "f32[10]{0:T(3)(2)}",
            "f32[10]{0:T(4)(8)}",
            "f32[96]{0:T(2,128)}",
            "f32[3]{0:T(2,2,2)}",
            "f32[5]{0:T(1)}",
            "bf16[5,9]{1,0:T(4,4)(2,1)}",
            "bf16[5,9]{0,1:T(4,4)(2,2,1)}",
            "f32[4,30]{1,0:T(8)(2,8)}",
            "f32[4,30]{1,0:T(8)(2,1)}",
            "f32[4,30]{1,0:T(8)(4,2,4)}",
            "f32[3,7]{0,1:T(2,2)PAD(3,8,zero)}",
        ];
        for text in shapes {
            let descriptor = lower(text);
            let boxes = BoxLevels::of(&descriptor);
            let extents: Vec<u64> =
                boxes.dimensions.iter().map(|dimension| padded(&descriptor, dimension)).collect();
            let cells: Vec<Vec<u64>> = match extents[..] {
                [one] => (0..one).map(|index| vec![index]).collect(),
                [rows, columns] => (0..rows)
                    .flat_map(|row| (0..columns).map(move |column| vec![row, column]))
                    .collect(),
                _ => panic!("{text}: {extents:?}"),
            };
            for level in 0..boxes.levels.len() {
                let mut found = std::collections::BTreeMap::<_, Vec<u64>>::new();
                for cell in &cells {
                    // The number of the box at each level, so that partial boxes count as own ones.
                    let mut name = vec![];
                    let mut rest = cell.clone();
                    for of in &boxes.levels[..=level] {
                        for (dimension, at) in rest.iter_mut().enumerate() {
                            name.push(*at / of[boxes.dimensions[dimension].coordinate]);
                            *at %= of[boxes.dimensions[dimension].coordinate];
                        }
                    }
                    found.entry(name).or_default().push(place(&descriptor, cell));
                }
                let size = product(boxes.levels[level].iter().copied());
                let whole: Vec<_> =
                    found.values_mut().filter(|of| of.len() as u64 == size).collect();
                let mut runs = whole.into_iter().map(|places| {
                    places.sort_unstable();
                    places[places.len() - 1] - places[0] == size - 1
                });
                let is_run = runs.all(|run| run);
                // Boxes with padding inside them are not called contiguous.
                let is_exact = !text.contains("T(3)(2)") && !text.contains("T(4)(8)");
                let said = boxes.contiguous[level];
                assert!(is_run == said || is_run && !is_exact, "{text}, level {level}");
            }
            for &BoxTurns { coordinate, count, period, stride } in &boxes.interleaved {
                let along = boxes.dimensions.iter().position(|of| of.coordinate == coordinate);
                let mut cell = vec![0; extents.len()];
                for turn in 0..count {
                    cell[along.unwrap()] = turn * period;
                    assert_eq!(place(&descriptor, &cell), turn * stride.unsigned_abs(), "{text}");
                }
            }
        }
    }
}
