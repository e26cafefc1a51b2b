//! [`Memory`]: the order in memory that a chain of tiles has to produce, and the different ways to
//! express its padding. The order is a list of *digits*, the parts such as `i / 8` and `i % 8` of
//! the index along a dimension.

use super::super::{keys::Item, pitched::Pitched};
use crate::stride::StrideDescriptor;

/// A digit in memory, or a *unit*, which is an axis of extent 1 that a tile can pad.
#[derive(Clone, Debug)]
pub(super) struct ChainDigit {
    /// The dimension of the digit, or `None` for a unit outside all dimensions.
    pub(super) dimension: Option<usize>,
    /// The significance of the digit in its dimension. 0 is the least significant digit.
    pub(super) level: usize,
    pub(super) extent: u64,
    /// The extent of the digit in memory, including padding.
    pub(super) padded: u64,
}

/// The digits of a tensor in memory order, from major to minor, and its *pitches*. A pitch is a
/// stride that is not a multiple of the next smaller stride, as of rows that are padded to an odd
/// length.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    pub(super) parts: Vec<ChainDigit>,
    /// The pitches in elements, each with the position of the digit that has it. The largest pitch
    /// is first.
    pub(super) pitches: Vec<(usize, u64)>,
    /// The stride of the most significant digit of each dimension, or the stride of the dimension
    /// itself if its extent is 1. `None` if that stride is 0, negative or unknown.
    pub(super) tops: Vec<Option<u64>>,
}

impl Memory {
    pub(super) fn of(tensor: &StrideDescriptor) -> Result<Self, String> {
        let (Pitched { parts, step }, pitches) = Pitched::with_pitches(tensor)?;
        let mut parts: Vec<ChainDigit> = parts
            .into_iter()
            .map(|part| ChainDigit {
                dimension: Some(part.dimension),
                level: part.level,
                extent: part.extent,
                padded: part.padded,
            })
            .collect();
        if step > 1 {
            parts.push(ChainDigit { dimension: None, level: 0, extent: 1, padded: step });
        }
        let mut tops: Vec<Option<u64>> = tensor
            .strides()
            .map(|stride| u64::try_from(stride?).ok().filter(|&stride| stride > 0))
            .collect();
        for (top, digits) in tops.iter_mut().zip(tensor.digits().into_iter().flatten()) {
            if let Some(digit) = digits.last() {
                *top = u64::try_from(digit.stride).ok();
            }
        }
        Ok(Self { parts, pitches, tops })
    }

    /// Inserts a dimension of one element into `order`, a list of dimensions from major to minor.
    /// The dimension is inserted after all dimensions with larger or equal strides. If its stride
    /// is unknown, it becomes one of the outermost dimensions.
    pub(super) fn insert(&self, order: &mut Vec<usize>, dimension: usize) {
        let top = self.tops[dimension];
        let is_outside = |other: &&usize| match self.tops[**other] {
            None => true,
            stride => top.is_some() && stride >= top,
        };
        let at = order.iter().take_while(is_outside).count();
        order.insert(at, dimension);
    }

    /// Returns this memory, and equivalent ones in which padding is expressed in other ways: a unit
    /// has the padding instead of a digit, or the unit is a dimension of extent 1 or the least
    /// significant digit of a dimension.
    pub(super) fn variants(&self, rank: usize) -> Vec<Self> {
        let mut variants = vec![self.clone()];
        for (at, part) in self.parts.iter().enumerate().skip(1) {
            let padding = part.padded / part.extent;
            if part.dimension.is_some() && padding > 1 && part.padded.is_multiple_of(part.extent) {
                let mut variant = self.clone();
                variant.parts[at].padded = part.extent;
                let unit = ChainDigit { dimension: None, level: 0, extent: 1, padded: padding };
                variant.parts.insert(at, unit);
                for (outer, _) in &mut variant.pitches {
                    *outer += usize::from(*outer >= at);
                }
                variants.push(variant);
            }
        }
        for number in 0..variants.len() {
            let units = variants[number].parts.iter();
            let Some(unit) = units.clone().position(|part| part.dimension.is_none()) else {
                continue;
            };
            for dimension in (0..rank).map(Some) {
                let mut variant = variants[number].clone();
                for part in &mut variant.parts {
                    part.level += usize::from(part.dimension == dimension);
                }
                variant.parts[unit].dimension = dimension;
                variants.push(variant);
            }
        }
        variants
    }

    /// Converts the digits to the items that [`keys`](crate::notation::keys) sorts. `order` lists
    /// the dimensions from major to minor, as they are before the first tile.
    pub(super) fn items(&self, order: &[usize]) -> Vec<Item> {
        let at = |dimension: Option<usize>, level: Option<usize>| {
            let (dimension, level) = (Some(dimension?), level?);
            self.parts.iter().position(|part| part.dimension == dimension && part.level == level)
        };
        let place = |part: &ChainDigit| match part.dimension {
            None => 0,
            Some(dimension) => 1 + order.iter().position(|&of| of == dimension).unwrap_or(0),
        };
        let mut starts: Vec<usize> = (0..self.parts.len()).collect();
        starts.sort_by_key(|&at| (place(&self.parts[at]), std::cmp::Reverse(self.parts[at].level)));
        self.parts
            .iter()
            .enumerate()
            .map(|(number, part)| Item {
                start: starts.iter().position(|&at| at == number).unwrap_or(0),
                upper: at(part.dimension, Some(part.level + 1)),
                lower: at(part.dimension, part.level.checked_sub(1)),
                is_padded: part.padded > part.extent,
                is_apart: self.pitches.iter().any(|&(outer, _)| outer + 1 == number),
            })
            .collect()
    }
}
