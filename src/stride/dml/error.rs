//! [`DmlError`]: why a tensor has no DirectML description.

use super::{MAX_DIMENSION_COUNT, TensorDataType};
use crate::{shape::ElementType, stride::StrideError};

/// Why a tensor is no valid `DML_BUFFER_TENSOR_DESC`, or cannot be bound as one.
///
/// Every message names the field, the value and what is accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DmlError {
    /// A number that `DML_TENSOR_DATA_TYPE` does not have.
    #[error("data_type: {given} is no DML_TENSOR_DATA_TYPE; 1 to 13 are accepted")]
    DataType {
        /// The number.
        given: i32,
    },
    /// Flags that `DML_TENSOR_FLAGS` does not have.
    #[error("flags: {given:#x} has unknown bits; 0 and 1 (OWNED_BY_DML) are accepted")]
    Flags {
        /// The flags.
        given: u32,
    },
    /// Too few or too many dimensions.
    #[error("sizes: {given} dimensions; {least} to {limit} are accepted")]
    DimensionCount {
        /// The number of dimensions.
        given: usize,
        /// The fewest accepted.
        least: usize,
        /// The most accepted.
        limit: usize,
    },
    /// A dimension without elements.
    #[error("sizes[{dimension}]: 0 is not accepted; a tensor has 1 or more in every dimension")]
    ZeroSize {
        /// The dimension.
        dimension: usize,
    },
    /// A size past the 32 bits of a `UINT`.
    #[error("sizes[{dimension}]: {given} does not fit; 1 to 4294967295 are accepted")]
    SizeTooLarge {
        /// The dimension.
        dimension: usize,
        /// The size, in elements.
        given: u64,
    },
    /// More elements than a `UINT` counts.
    #[error(
        "sizes: dimensions 0 to {dimension} hold {given} elements; at most 4294967295 are accepted"
    )]
    ElementCount {
        /// The dimension that takes the product past the limit.
        dimension: usize,
        /// The product up to it.
        given: u64,
    },
    /// Another number of strides than of sizes.
    #[error("strides: {given} for {rank} sizes; one for each, or none at all, is accepted")]
    StrideCount {
        /// The number of strides.
        given: usize,
        /// The number of sizes.
        rank: usize,
    },
    /// A stride that an unsigned 32-bit number cannot say.
    #[error("strides[{dimension}]: {given} does not fit; 0 to 4294967295 are accepted")]
    Stride {
        /// The dimension.
        dimension: usize,
        /// The stride, in elements.
        given: i64,
    },
    /// Sizes and strides whose last element lies past what 64 bits count.
    #[error("strides: the last element lies past 2^64-1 bytes; fewer are accepted")]
    TooLarge,
    /// A total that ends before the last element.
    #[error(
        "total_tensor_size_in_bytes: {given} is below what sizes and strides imply; {least} or more is accepted"
    )]
    TotalTensorSize {
        /// The total, in bytes.
        given: u64,
        /// The least accepted: `DMLCalcBufferTensorSize`.
        least: u64,
    },
    /// A total that is no whole number of 32-bit words.
    #[error("total_tensor_size_in_bytes: {given} is not accepted; a multiple of 4 is")]
    TotalTensorSizeMultiple {
        /// The total, in bytes.
        given: u64,
    },
    /// An alignment that is no power of two.
    #[error("guaranteed_base_offset_alignment: {given} is not accepted; 0 or a power of two is")]
    AlignmentNotPowerOfTwo {
        /// The alignment, in bytes.
        given: u32,
    },
    /// An alignment that an element straddles.
    #[error(
        "guaranteed_base_offset_alignment: {given} is below the {least} bytes of an element of {data_type}; expected 0, or at least {least}"
    )]
    AlignmentBelowElement {
        /// The alignment, in bytes.
        given: u32,
        /// Bytes of an element.
        least: u32,
        /// The type of the elements.
        data_type: TensorDataType,
    },
    /// A bound range smaller than the tensor.
    #[error(
        "binding size: {given} bytes are fewer than total_tensor_size_in_bytes; {least} or more are accepted"
    )]
    BindingSize {
        /// The range, in bytes.
        given: u64,
        /// The tensor's total, in bytes.
        least: u64,
    },
    /// A bound range that starts off the alignment.
    #[error("binding offset: {given} bytes are not accepted; a multiple of {alignment} is")]
    BindingOffset {
        /// The offset, in bytes.
        given: u64,
        /// The tensor's alignment, in bytes.
        alignment: u32,
    },
    /// An element type that DirectML lacks.
    #[error(
        "element_type: DirectML has no {element_type}; f16 to f64, s4 to s64 and u4 to u64 are accepted"
    )]
    NoDataType {
        /// The type.
        element_type: ElementType,
    },
    /// Elements that take more memory than DirectML gives them.
    #[error(
        "element_size_in_bits: an element of {data_type} takes {limit} bits; {given} are not accepted"
    )]
    ElementSize {
        /// Bits of an element in memory.
        given: u32,
        /// The type.
        data_type: TensorDataType,
        /// Bits that DirectML gives it.
        limit: u32,
    },
    /// A tiled tensor: no sizes and strides of its dimensions say where its elements lie.
    #[error(
        "tiles: expected one stride for each dimension, got tiles that split dimension {dimension}"
    )]
    Tiled {
        /// The first dimension that has no stride.
        dimension: usize,
    },
    /// A tensor whose first element does not lie where the buffer starts.
    #[error(
        "offset: element 0 lies {given} elements in; 0 is accepted, as the binding gives the offset"
    )]
    Offset {
        /// The offset, in elements.
        given: u64,
    },
    /// A metadata prefix.
    #[error(
        "dynamic_shape_metadata_prefix_bytes: {given} bytes lie before the data; 0 are accepted"
    )]
    Prefix {
        /// The prefix, in bytes.
        given: u64,
    },
    /// A letter that names no dimension.
    #[error("layout letters {text:?}: {letter:?} is not among {accepted}")]
    UnknownLetter {
        /// The letters.
        text: String,
        /// The one that is not accepted.
        letter: char,
        /// The letters that are.
        accepted: String,
    },
    /// A letter that occurs twice.
    #[error(
        "layout letters {text:?}: {letter:?} occurs twice; each dimension has a letter of its own"
    )]
    RepeatedLetter {
        /// The letters.
        text: String,
        /// The one that repeats.
        letter: char,
    },
    /// Another number of letters than of dimensions.
    #[error(
        "layout letters {text:?}: {given} letters for {rank} dimensions; one for each is accepted"
    )]
    LetterCount {
        /// The letters.
        text: String,
        /// How many they are.
        given: usize,
        /// The dimensions.
        rank: usize,
    },
    /// The tensor cannot be lowered in the first place.
    #[error(transparent)]
    Lower(#[from] StrideError),
}

impl DmlError {
    /// Whether the tensor is valid, but none that DirectML can describe.
    #[must_use]
    pub fn is_unsupported(&self) -> bool {
        match self {
            Self::NoDataType { .. }
            | Self::ElementSize { .. }
            | Self::Tiled { .. }
            | Self::Offset { .. }
            | Self::Prefix { .. } => true,
            Self::Lower(error) => error.is_unsupported(),
            _ => false,
        }
    }

    pub(super) fn dimension_count(given: usize) -> Self {
        Self::DimensionCount { given, least: 1, limit: MAX_DIMENSION_COUNT }
    }

    /// The field of the description that the error is about; `None` where it is about a binding or letters.
    #[must_use]
    pub fn field(&self) -> Option<String> {
        Some(match self {
            Self::DataType { .. } => "data_type".into(),
            Self::Flags { .. } => "flags".into(),
            Self::DimensionCount { .. } | Self::ElementCount { .. } => "sizes".into(),
            Self::ZeroSize { dimension } | Self::SizeTooLarge { dimension, .. } => {
                format!("sizes[{dimension}]")
            }
            Self::Stride { dimension, .. } => format!("strides[{dimension}]"),
            Self::StrideCount { .. } | Self::TooLarge => "strides".into(),
            Self::TotalTensorSize { .. } | Self::TotalTensorSizeMultiple { .. } => {
                "total_tensor_size_in_bytes".into()
            }
            Self::AlignmentNotPowerOfTwo { .. } | Self::AlignmentBelowElement { .. } => {
                "guaranteed_base_offset_alignment".into()
            }
            Self::NoDataType { .. } => "element_type".into(),
            Self::ElementSize { .. } => "element_size_in_bits".into(),
            Self::Tiled { .. } => "tiles".into(),
            Self::Offset { .. } => "offset".into(),
            Self::Prefix { .. } => "dynamic_shape_metadata_prefix_bytes".into(),
            Self::Lower(error) => return error.field(),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_kinds_and_fields() {
        let valid = StrideError::NoElements { element_type: ElementType::Token };
        for (error, unsupported, field) in [
            (DmlError::NoDataType { element_type: ElementType::Pred }, true, Some("element_type")),
            (
                DmlError::ElementSize { given: 8, data_type: TensorDataType::Int4, limit: 4 },
                true,
                Some("element_size_in_bits"),
            ),
            (DmlError::Tiled { dimension: 1 }, true, Some("tiles")),
            (DmlError::Offset { given: 9 }, true, Some("offset")),
            (DmlError::Prefix { given: 4 }, true, Some("dynamic_shape_metadata_prefix_bytes")),
            (DmlError::Lower(valid), true, Some("element_type")),
            (DmlError::Lower(StrideError::TooLarge { what: "extents" }), false, Some("extents")),
            (DmlError::DataType { given: 99 }, false, Some("data_type")),
            (DmlError::Flags { given: 2 }, false, Some("flags")),
            (DmlError::dimension_count(9), false, Some("sizes")),
            (DmlError::ZeroSize { dimension: 2 }, false, Some("sizes[2]")),
            (DmlError::Stride { dimension: 1, given: -1 }, false, Some("strides[1]")),
            (DmlError::TooLarge, false, Some("strides")),
            (
                DmlError::TotalTensorSizeMultiple { given: 3 },
                false,
                Some("total_tensor_size_in_bytes"),
            ),
            (
                DmlError::AlignmentNotPowerOfTwo { given: 3 },
                false,
                Some("guaranteed_base_offset_alignment"),
            ),
            (DmlError::BindingSize { given: 1, least: 4 }, false, None),
        ] {
            assert_eq!(error.is_unsupported(), unsupported, "{error}");
            assert_eq!(error.field().as_deref(), field, "{error}");
        }
    }
}
