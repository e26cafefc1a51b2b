//! [`Pitched`]: the memory of a tensor as nested loops, the outermost first. Each loop runs over a
//! *digit*, a part of the index along a dimension, such as `i / 8`. Notations for formats with
//! blocks use it to recognise the format of a tensor.

use crate::stride::StrideDescriptor;

/// One digit of the index along a dimension, and its extent in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PitchedDigit {
    pub(super) dimension: usize,
    /// The significance of the digit in its dimension. 0 is the least significant digit.
    pub(super) level: usize,
    /// True if this is the most significant digit of its dimension.
    pub(super) is_top: bool,
    pub(super) extent: u64,
    /// The extent of the digit in memory, including padding.
    pub(super) padded: u64,
}

/// The digits of all dimensions of a tensor in which each stride is a multiple of the next smaller
/// one.
#[derive(Clone, Debug)]
pub(super) struct Pitched {
    /// The digits, from major to minor.
    pub(super) parts: Vec<PitchedDigit>,
    /// The smallest stride, in elements, or 1 if the tensor has no digits.
    pub(super) step: u64,
}

impl Pitched {
    /// Returns the digits of a tensor in memory order.
    ///
    /// # Errors
    ///
    /// Returns a reason, in words, if a stride is not a multiple of the next smaller one, if it is
    /// 0 or negative, or if the element at index 0 is not at offset 0.
    pub(super) fn of(tensor: &StrideDescriptor) -> Result<Self, String> {
        let (pitched, others) = Self::with_pitches(tensor)?;
        match others.first() {
            None => Ok(pitched),
            Some((_, pitch)) => {
                Err(format!("the stride {pitch} is no multiple of the next smaller one"))
            }
        }
    }

    /// Returns the digits of a tensor like [`Self::of`], but also allows strides that are not
    /// multiples of the next smaller one, which are called *pitches*. Also returns each pitch, with
    /// the position of the digit that has it.
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
                // No stride tells the extent of the outermost digit. It is padded up to the end of
                // the memory, if the size of the memory is a multiple of its stride.
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
