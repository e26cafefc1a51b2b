//! [`Pitched`]: the digits of all dimensions in the order of memory, with their places.

use crate::stride::StrideDescriptor;

/// A digit in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PitchedDigit {
    pub(super) dimension: usize,
    /// The significance of the digit; 0 is the least.
    pub(super) level: usize,
    /// True if the digit is the most significant one of its dimension.
    pub(super) is_top: bool,
    pub(super) extent: u64,
    /// The number of places in memory, at least the extent.
    pub(super) padded: u64,
}

/// The digits in memory; each stride is a multiple of the next smaller one.
#[derive(Clone, Debug)]
pub(super) struct Pitched {
    /// The digits, major to minor.
    pub(super) parts: Vec<PitchedDigit>,
    /// The smallest stride.
    pub(super) step: u64,
}

impl Pitched {
    /// Returns the digits of a tensor whose data starts with the element at index 0.
    ///
    /// # Errors
    ///
    /// Returns the reason why the digits do not nest.
    pub(super) fn of(tensor: &StrideDescriptor) -> Result<Self, String> {
        let (pitched, others) = Self::with_pitches(tensor)?;
        match others.first() {
            None => Ok(pitched),
            Some((_, pitch)) => {
                Err(format!("the stride {pitch} is no multiple of the next smaller one"))
            }
        }
    }

    /// Returns the digits even if a stride is not a multiple of the next smaller one, with the
    /// numbers and strides of such digits.
    pub(super) fn with_pitches(
        tensor: &StrideDescriptor,
    ) -> Result<(Self, Vec<(usize, u64)>), String> {
        if tensor.base_offset() != 0 {
            let offset = tensor.base_offset();
            return Err(format!(
                "index 0 lies at offset {offset}, and not at the start of the buffer"
            ));
        }
        let digits = tensor.digits().ok_or("the offset is no sum over the digits of an index")?;
        let mut strided = Vec::new();
        for (dimension, digits) in digits.iter().enumerate() {
            for (level, digit) in digits.iter().enumerate() {
                let Ok(stride) = u64::try_from(digit.stride) else {
                    return Err("a stride is negative".to_owned());
                };
                let (extent, padded) = (digit.extent, digit.extent);
                let is_top = level + 1 == digits.len();
                strided.push((stride, PitchedDigit { dimension, level, is_top, extent, padded }));
            }
        }
        strided.sort_by_key(|&(stride, _)| std::cmp::Reverse(stride));
        let mut pitches = Vec::new();
        let mut outer = tensor.physical_elements();
        for (number, (stride, part)) in strided.iter_mut().enumerate() {
            if *stride == 0 {
                return Err("a stride of 0 puts several elements in one place".to_owned());
            }
            let room = outer / *stride;
            if number == 0 {
                // The memory after the last element is padding of the digit only if it is a
                // multiple of the stride.
                if outer.is_multiple_of(*stride) {
                    part.padded = room.max(part.extent);
                }
            } else if room < part.extent {
                return Err(format!("strides {outer} and {stride} interleave, or share places"));
            } else if outer.is_multiple_of(*stride) {
                part.padded = room;
            } else {
                pitches.push((number - 1, outer));
            }
            outer = *stride;
        }
        let parts: Vec<PitchedDigit> = strided.into_iter().map(|(_, part)| part).collect();
        let step = if parts.is_empty() { 1 } else { outer };
        Ok((Self { parts, step }, pitches))
    }
}
