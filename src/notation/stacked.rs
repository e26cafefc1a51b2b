//! [`Stacked`]: memory that consists of blocks inside blocks, without gaps. Formats such as `NCHW`
//! and `aBcd16b` describe such memory.

use std::ops::Range;

use super::{Tensor, cursor::Result, prefix::Prefix, tensor::broken_rule};
use crate::{
    shape::{ElementType, ParseError},
    stride::{Digit, StrideDescriptor, StrideError},
};

/// The order of the blocks of all dimensions in memory.
///
/// Blocks cut a dimension into digits. For example, a dimension with blocks of 4 and 2 has three
/// digits: `index % 4` at level 0, `index / 4 % 2` at level 1, and `index / 8` at level 2. The
/// extent of a dimension is rounded up to whole blocks.
///
/// ```text
/// aBcd16b    blocks [[], [16], [], []]    order (1,0) (3,0) (2,0) (1,1) (0,0)
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stacked {
    /// The sizes of the blocks of each dimension, the least significant first.
    blocks: Vec<Vec<u64>>,
    /// The dimension and the level of each digit, from minor to major.
    order: Vec<(usize, usize)>,
}

impl Stacked {
    /// Creates the memory from the blocks of each dimension and the order of the digits, from minor
    /// to major. `order` must list every digit of every dimension once.
    pub(super) fn new<const N: usize>(blocks: Vec<Vec<u64>>, order: [(usize, usize); N]) -> Self {
        Self { blocks, order: order.into() }
    }

    /// Creates the memory from `outer`, the order of the dimensions, and `inner`, the blocks inside
    /// the dimensions as pairs of a size and a dimension. Both lists are from major to minor. So if
    /// a dimension has two blocks, the last one is the least significant.
    pub(super) fn nested(outer: &[usize], inner: &[(u64, usize)]) -> Self {
        let mut blocks = vec![Vec::new(); outer.len()];
        let mut order = Vec::with_capacity(outer.len() + inner.len());
        for &(size, of) in inner.iter().rev() {
            order.push((of, blocks[of].len()));
            blocks[of].push(size);
        }
        order.extend(outer.iter().rev().map(|&of| (of, blocks[of].len())));
        Self { blocks, order }
    }

    /// Adds `count` dimensions in row-major order around this memory, as batches.
    pub(super) fn batched(self, count: usize) -> Self {
        let mut blocks = vec![Vec::new(); count];
        blocks.extend(self.blocks);
        let mut order: Vec<(usize, usize)> =
            self.order.into_iter().map(|(of, level)| (of + count, level)).collect();
        order.extend((0..count).rev().map(|of| (of, 0)));
        Self { blocks, order }
    }

    /// Creates the memory from a list of parts, from major to minor. A part is a dimension with
    /// `None`, or a block of a dimension with the size of the block. A dimension may have at most
    /// one block.
    pub(super) fn of_parts(rank: usize, parts: &[(usize, Option<u64>)]) -> Self {
        let mut blocks = vec![Vec::new(); rank];
        for &(of, size) in parts {
            blocks[of].extend(size);
        }
        let level = |(of, size): &(usize, Option<u64>)| match size {
            Some(_) => (*of, 0),
            None => (*of, blocks[*of].len()),
        };
        let order = parts.iter().rev().map(level).collect();
        Self { blocks, order }
    }

    pub(super) fn rank(&self) -> usize {
        self.blocks.len()
    }

    /// Returns the descriptor of an array of extents `sizes` with these blocks.
    ///
    /// # Errors
    ///
    /// Returns an error if the memory exceeds 2^63-1 bytes.
    pub(super) fn descriptor(
        &self,
        element_type: ElementType,
        element_bits: u64,
        sizes: &[u64],
    ) -> std::result::Result<StrideDescriptor, StrideError> {
        let too_large = || StrideError::TooLarge { what: "dimensions" };
        let steps = |n: u64| i64::try_from(n.max(1)).map_err(|_| too_large());
        let rest = |of: usize| {
            let left = |size: u64, block: &u64| size.div_ceil((*block).max(1));
            self.blocks[of].iter().fold(sizes[of], left)
        };
        let mut strides: Vec<Vec<i64>> =
            self.blocks.iter().map(|blocks| vec![0; blocks.len() + 1]).collect();
        let extent = |of: usize, level: usize| {
            self.blocks[of].get(level).copied().unwrap_or_else(|| rest(of))
        };
        let mut span = 1_i64;
        for &(of, level) in &self.order {
            strides[of][level] = span;
            span = span.checked_mul(steps(extent(of, level))?).ok_or_else(too_large)?;
        }
        let digits: Vec<Vec<Digit>> = strides
            .iter()
            .enumerate()
            .map(|(of, strides)| {
                let digit = |(level, &stride)| Digit { extent: extent(of, level), stride };
                strides.iter().enumerate().map(digit).collect()
            })
            .collect();
        let elements = if sizes.contains(&0) { 0 } else { span.unsigned_abs() };
        StrideDescriptor::of_digits(element_type, element_bits, sizes, &digits, 0)?
            .with_physical_elements(elements)
    }

    /// Creates the array that `prefix` and these blocks describe. `place` is the position of the
    /// text, for errors.
    pub(super) fn array(&self, prefix: &Prefix, place: Range<usize>) -> Result<Tensor> {
        let Prefix { element_type, element_bits, sizes } = prefix;
        let tensor = self
            .descriptor(*element_type, *element_bits, sizes)
            .map_err(|error| broken_rule(place.clone(), error.kind(), error))?;
        Tensor::of_descriptor(&tensor, place)
    }

    /// Returns true if `tensor` has these blocks: an array of its type and extents with these
    /// blocks has the same offsets and the same memory size.
    pub(super) fn describes(&self, tensor: &StrideDescriptor) -> bool {
        let bits = tensor.element_bits().into();
        self.blocks.len() == tensor.rank()
            && self
                .descriptor(tensor.element_type(), bits, tensor.sizes())
                .is_ok_and(|other| is_same_memory(&other, tensor))
    }
}

/// Returns true if two arrays of the same extents have the same offsets and the same memory size.
pub(super) fn is_same_memory(one: &StrideDescriptor, other: &StrideDescriptor) -> bool {
    (one.digits().is_some() && one.digits() == other.digits() || one.elements() == 0)
        && one.base_offset() == other.base_offset()
        && one.prefix_bytes() == other.prefix_bytes()
        && one.physical_elements() == other.physical_elements()
}

/// Returns the error for an array of extents `sizes`, for which the format `name` is undefined.
pub(super) fn no_such_format(place: Range<usize>, sizes: &[u64], name: &str) -> ParseError {
    ParseError::new(place, format!("an array of dimensions {sizes:?} has no {name}"))
}
