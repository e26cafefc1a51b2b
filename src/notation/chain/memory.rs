//! [`Memory`]: the digits in memory that a chain of tiles has to produce. Padding can be expressed
//! in several ways, and each is tried.

use super::super::{keys::Item, pitched::Pitched};
use crate::stride::StrideDescriptor;

/// A digit in memory, or a *unit*: an axis of extent 1 that exists only to be padded by a tile.
#[derive(Clone, Debug)]
pub(super) struct ChainDigit {
    /// The dimension of the digit, or `None` for a unit that does not belong to a dimension.
    pub(super) dimension: Option<usize>,
    /// The significance of the digit in its dimension. 0 is the least significant digit.
    pub(super) level: usize,
    pub(super) extent: u64,
    /// The number of places that the digit occupies in memory, which is at least the extent.
    pub(super) padded: u64,
}

/// The digits in memory, from major to minor, and the *pitches*: strides that are not multiples of
/// the next smaller stride.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    pub(super) parts: Vec<ChainDigit>,
    /// The position of each digit that has a pitch, paired with the pitch in elements. The largest
    /// pitch comes first.
    pub(super) pitches: Vec<(usize, u64)>,
    /// The stride of the most significant digit of each dimension, or the stride of the dimension
    /// if it has one element. `None` if that stride is 0, negative or unknown.
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

    /// Inserts a dimension of one element into `order`, which lists dimensions from major to minor.
    /// The new dimension follows all dimensions with larger or equal strides. If its stride is not
    /// known, it becomes one of the outermost dimensions.
    pub(super) fn insert(&self, order: &mut Vec<usize>, dimension: usize) {
        let top = self.tops[dimension];
        let is_outside = |other: &&usize| match self.tops[**other] {
            None => true,
            stride => top.is_some() && stride >= top,
        };
        let at = order.iter().take_while(is_outside).count();
        order.insert(at, dimension);
    }

    /// Returns this memory and equivalent ones that express the padding in other ways: by units
    /// instead of padded digits, by units that are dimensions of one element, or by units that are
    /// the least significant digits of dimensions.
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

    /// Returns the digits as the items that [`keys`](crate::notation::keys) sorts. `order` is the
    /// order of the dimensions before the first tile, from major to minor.
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
