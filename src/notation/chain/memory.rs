//! [`Memory`]: what a chain of tiles has to make, and the ways to say the same padding.

use super::super::{keys::Item, pitched::Pitched};
use crate::stride::StrideDescriptor;

/// A digit in memory, or a unit: a place of extent 1 that a tile pads.
#[derive(Clone, Debug)]
pub(super) struct ChainDigit {
    /// The dimension; `None` for a unit before all dimensions.
    pub(super) dimension: Option<usize>,
    /// How significant the digit is; 0 is the least.
    pub(super) level: usize,
    pub(super) extent: u64,
    /// The places that it takes in memory, at least its extent.
    pub(super) padded: u64,
}

/// Digits in memory, major to minor, and the pitches that are no multiples of those inside them.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    pub(super) parts: Vec<ChainDigit>,
    /// A part, and the elements from one value of it to the next; the greatest part first.
    pub(super) pitches: Vec<(usize, u64)>,
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
        Ok(Self { parts, pitches })
    }

    /// Whether the digits are whole dimensions in row-major order.
    pub(super) fn is_ordered(&self) -> bool {
        self.parts.is_sorted_by_key(|part| part.dimension)
    }

    /// The other ways to have the same padding: units in the place of padded digits, units that are dimensions of one
    /// element, or units that are the least significant digits of dimensions.
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

    /// The digits as the planner of keys takes them, for tiles that start with this order of dimensions.
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
