//! What the steps of a descriptor mean on the page: boxes, and cells past the array.

use std::convert::Infallible;

use crate::stride::{Coordinate, Coordinates, Forward, StrideDescriptor, Undo};

/// The boxes that tiles cut an array into, coarse to fine: `levels[n][d]` is the extent along dimension `d`.
///
/// `T(8,128)(2,1)` of a matrix is `[[8, 128], [2, 1]]`. A dimension that a tile leaves whole has extent 1: each of
/// its indices is a box of its own.
pub(super) struct Boxes {
    pub(super) levels: Vec<Vec<u64>>,
}

impl Boxes {
    /// Reads the boxes from the splits: each level cuts the remainders of the level above.
    pub(super) fn of(descriptor: &StrideDescriptor) -> Self {
        let rank = descriptor.rank();
        let mut boxes = Self { levels: vec![] };
        let mut made = (0..rank).map(|dimension| Some((dimension, 0))).collect();
        let Ok(()) = descriptor.forward(&mut Cuts { rank, boxes: &mut boxes }, &mut made);
        boxes
    }

    /// How strong the line before `index` of dimension `d` is: 2 at a box of the first level, 1 deeper, else 0.
    pub(super) fn line(&self, dimension: usize, index: u64) -> u8 {
        let mut within = index;
        for (level, extents) in self.levels.iter().enumerate() {
            within %= extents[dimension];
            if within == 0 {
                return if level == 0 { 2 } else { 1 };
            }
        }
        0
    }

    /// The extents along dimension `d`, coarse to fine.
    pub(super) fn periods(&self, dimension: usize) -> Vec<u64> {
        self.levels.iter().map(|extents| extents[dimension]).collect()
    }
}

/// Finds the boxes: what stands for a coordinate is the dimension that it is a remainder of, and its level.
struct Cuts<'a> {
    rank: usize,
    boxes: &'a mut Boxes,
}

impl Forward for Cuts<'_> {
    type Value = Option<(usize, usize)>;
    type Error = Infallible;

    fn split(
        &mut self,
        of: Coordinate<'_, Self::Value>,
        by: u64,
    ) -> Result<[Self::Value; 2], Infallible> {
        let Some((dimension, level)) = *of.value else { return Ok([None, None]) };
        let levels = &mut self.boxes.levels;
        if levels.len() <= level {
            levels.push(vec![1; self.rank]);
        }
        levels[level][dimension] = by;
        Ok([None, Some((dimension, level + 1))])
    }

    fn fold(
        &mut self,
        _: Coordinate<'_, Self::Value>,
        _: Coordinate<'_, Self::Value>,
    ) -> Result<Self::Value, Infallible> {
        Ok(None)
    }

    fn unit(&mut self) -> Self::Value {
        None
    }
}

/// Extent of dimension `d` with its padding: that of its memory axis, or whole tiles.
pub(super) fn padded(descriptor: &StrideDescriptor, dimension: usize) -> u64 {
    let mut extents: Coordinates<u64> = descriptor.extents().into();
    for axis in descriptor.axes() {
        extents[axis.coordinate] = axis.extent;
    }
    let Ok(()) = descriptor.undo(&mut WholeTiles, &mut extents);
    extents[dimension]
}

/// The extent of each coordinate in whole tiles; a dimension that is folded keeps its own.
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
        minor: Coordinate<'_, u64>,
        _: u64,
    ) -> Result<[u64; 2], Infallible> {
        Ok([major.extent, minor.extent])
    }
}

/// The place of the cell at `index`, an element or padding.
pub(super) fn place(descriptor: &StrideDescriptor, index: &[u64]) -> u64 {
    let values = descriptor.coordinates(index);
    let axes = descriptor.axes().iter();
    // A cell of padding past a lone element may come to lie outside what an i64 counts; it is never drawn.
    let strided = axes
        .map(|axis| axis.stride.wrapping_mul(i64::try_from(values[axis.coordinate]).unwrap_or(0)))
        .fold(0_i64, i64::wrapping_add);
    descriptor.base_offset().wrapping_add_signed(strided)
}

/// The product, or 2^64-1 where it is more: far more than is drawn.
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
        let boxes = |text| Boxes::of(&lower(text)).levels;
        assert_eq!(boxes("bf16[16,256]{1,0:T(8,128)(2,1)}"), [[8, 128], [2, 1]]);
        assert_eq!(boxes("f32[3,5]{1,0:T(2,2)}"), [[2, 2]]);
        assert_eq!(boxes("f32[4,300]{1,0:T(128)}"), [[1, 128]]);
        assert!(boxes("f32[4,300]{0,1}").is_empty());
    }

    /// Every cell of the padded array is drawn at a place that `index` says is that element, or padding.
    #[test]
    fn places_are_those_of_the_descriptor() {
        let shapes =
            ["f32[3,5]{1,0:T(2,2)}", "f32[2,3]{0,1:PAD(3,5,zero)}", "bf16[5,9]{1,0:T(4,4)(2,1)}"];
        for text in shapes {
            let descriptor = lower(text);
            let mut seen = 0;
            for row in 0..padded(&descriptor, 0) {
                for column in 0..padded(&descriptor, 1) {
                    let index = [row, column];
                    let found = descriptor.index(place(&descriptor, &index)).unwrap();
                    let expected = descriptor.offset(&index).is_ok().then(|| index.to_vec());
                    assert_eq!(found, expected, "{text} {index:?}");
                    seen += 1;
                }
            }
            assert_eq!(seen, descriptor.physical_elements(), "{text}");
        }
    }
}
