//! What the steps of a descriptor mean on the page: boxes, and cells past the array.

use crate::stride::{Step, StrideDescriptor};

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
        let mut levels: Vec<Vec<u64>> = vec![];
        // Of each coordinate: the dimension that it is a digit of, and its level.
        let mut made: Vec<Option<(usize, usize)>> = (0..rank).map(|d| Some((d, 0))).collect();
        for step in descriptor.steps() {
            match *step {
                Step::Split { of, by } => {
                    let Some((dimension, level)) = made[of] else {
                        made.extend([None, None]);
                        continue;
                    };
                    if levels.len() <= level {
                        levels.push(vec![1; rank]);
                    }
                    levels[level][dimension] = by;
                    made.extend([None, Some((dimension, level + 1))]);
                }
                Step::Fold { .. } | Step::Unit => made.push(None),
            }
        }
        Self { levels }
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

/// Extent of dimension `d` with its padding: that of its memory axis, or whole tiles.
pub(super) fn padded(descriptor: &StrideDescriptor, dimension: usize) -> u64 {
    let extent = |coordinate: usize| {
        let axis = descriptor.axes().iter().find(|axis| axis.coordinate == coordinate);
        axis.map_or(descriptor.extents()[coordinate], |axis| axis.extent)
    };
    let mut made = descriptor.rank();
    for step in descriptor.steps() {
        match *step {
            Step::Split { of, by } if of == dimension => return extent(made) * by,
            Step::Fold { major, minor } if major == dimension || minor == dimension => break,
            Step::Split { .. } => made += 2,
            Step::Fold { .. } | Step::Unit => made += 1,
        }
    }
    extent(dimension)
}

/// The value of each coordinate at `index`, which may lie past the sizes, up to [`padded`].
pub(super) fn coordinates(descriptor: &StrideDescriptor, index: &[u64]) -> Vec<u64> {
    let mut values = index.to_vec();
    for step in descriptor.steps() {
        match *step {
            Step::Split { of, by } => {
                let value = values[of];
                values.extend([value / by, value % by]);
            }
            Step::Fold { major, minor } => {
                values.push(values[major] * descriptor.extents()[minor] + values[minor]);
            }
            Step::Unit => values.push(0),
        }
    }
    values
}

/// The place of the cell at `index`, an element or padding.
pub(super) fn place(descriptor: &StrideDescriptor, index: &[u64]) -> u64 {
    let values = coordinates(descriptor, index);
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
