//! [`DmlError`]: the reason why a tensor has no valid DirectML description.

use super::{MAX_DIMENSION_COUNT, TensorDataType};
use crate::{
    error_kind::ErrorKind,
    shape::{Count, ElementType, FieldPath},
    stride::StrideError,
};

/// The reason why a tensor is not a valid `DML_BUFFER_TENSOR_DESC`, or cannot be passed to DirectML
/// as one.
///
/// Each message names the field, the given value and the accepted values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DmlError {
    /// A number that is not a value of `DML_TENSOR_DATA_TYPE`.
    #[error("data_type: expected a number of DML_TENSOR_DATA_TYPE, 1 to 13, got {given}")]
    DataType {
        /// The number.
        given: i32,
    },
    /// Bits that are not flags of `DML_TENSOR_FLAGS`.
    #[error("flags: expected 0 or 1 (OWNED_BY_DML), got {given:#x}")]
    Flags {
        /// The flags.
        given: u32,
    },
    /// Too few or too many dimensions.
    #[error("sizes: expected {least} to {limit} dimensions, got {given}")]
    DimensionCount {
        /// The number of dimensions.
        given: usize,
        /// The minimum number of dimensions.
        least: usize,
        /// The maximum number of dimensions.
        limit: usize,
    },
    /// A dimension of size 0.
    #[error("sizes[{dimension}]: expected at least 1, got 0")]
    ZeroSize {
        /// The dimension.
        dimension: usize,
    },
    /// A size that does not fit the 32 bits of a `UINT`.
    #[error("sizes[{dimension}]: expected 1 to 4294967295, got {given}")]
    SizeTooLarge {
        /// The dimension.
        dimension: usize,
        /// The size, in elements.
        given: u64,
    },
    /// A tensor with more elements than a `UINT` can count.
    #[error(
        "sizes: expected at most 4294967295 elements, got {given} in dimensions 0 to {dimension}"
    )]
    ElementCount {
        /// The dimension at which the product of the sizes first exceeds the limit.
        dimension: usize,
        /// The product of the sizes up to and including this dimension.
        given: u64,
    },
    /// A number of strides that differs from the number of sizes.
    #[error("strides: expected {rank}, one for each size, or none, got {given}")]
    StrideCount {
        /// The number of strides.
        given: usize,
        /// The number of sizes.
        rank: usize,
    },
    /// A stride that does not fit an unsigned 32-bit number.
    #[error("strides[{dimension}]: expected 0 to 4294967295, got {given}")]
    Stride {
        /// The dimension.
        dimension: usize,
        /// The stride, in elements.
        given: i64,
    },
    /// A tensor whose size in bytes does not fit 64 bits.
    #[error("strides: expected at most 2^64-1 bytes, got a last element past that")]
    TooLarge,
    /// A total size that does not include the last element.
    #[error(
        "total_tensor_size_in_bytes: expected at least {least}, which sizes and strides imply, got {given}"
    )]
    TotalTensorSize {
        /// The total, in bytes.
        given: u64,
        /// The minimum total, in bytes: the result of `DMLCalcBufferTensorSize`.
        least: u64,
    },
    /// A total size that is not a multiple of 4.
    #[error("total_tensor_size_in_bytes: expected a multiple of 4, got {given}")]
    TotalTensorSizeMultiple {
        /// The total, in bytes.
        given: u64,
    },
    /// An alignment that is not a power of two.
    #[error("guaranteed_base_offset_alignment: expected 0 or a power of two, got {given}")]
    AlignmentNotPowerOfTwo {
        /// The alignment, in bytes.
        given: u32,
    },
    /// An alignment smaller than an element.
    #[error(
        "guaranteed_base_offset_alignment: expected 0, or at least {least}, the bytes of an element of {data_type}, got {given}"
    )]
    AlignmentBelowElement {
        /// The alignment, in bytes.
        given: u32,
        /// The element size, in bytes.
        least: u32,
        /// The element type.
        data_type: TensorDataType,
    },
    /// An element type that DirectML does not have.
    #[error(
        "element_type: DirectML has no {element_type}; expected f16 to f64, s4 to s64 or u4 to u64"
    )]
    NoDataType {
        /// The type.
        element_type: ElementType,
    },
    /// An element size that differs from DirectML's.
    #[error(
        "element_size_in_bits: expected {limit}, the bits of an element of {data_type}, got {given}"
    )]
    ElementSize {
        /// The element size in memory, in bits.
        given: u32,
        /// The type.
        data_type: TensorDataType,
        /// The element size in DirectML, in bits.
        limit: u32,
    },
    /// A tiled tensor, which sizes and strides cannot describe.
    #[error(
        "tiles: expected one stride for each dimension, got tiles that split dimension {dimension}"
    )]
    Tiled {
        /// The first dimension that has more than one stride.
        dimension: usize,
    },
    /// A tensor whose element at index 0 is not at the start of the buffer.
    #[error("offset: expected 0, as the binding gives the offset, got {given}")]
    Offset {
        /// The offset, in elements.
        given: u64,
    },
    /// A tensor with a metadata prefix.
    #[error("dynamic_shape_metadata_prefix_bytes: expected no bytes before the data, got {given}")]
    Prefix {
        /// The prefix, in bytes.
        given: u64,
    },
    /// A letter that does not name a dimension.
    #[error("layout letters {text:?}: expected letters among {accepted}, got {letter:?}")]
    UnknownLetter {
        /// The letters.
        text: String,
        /// The letter that is not accepted.
        letter: char,
        /// The accepted letters.
        accepted: String,
    },
    /// A letter that occurs twice.
    #[error(
        "layout letters {text:?}: expected a letter of its own for each dimension, got {letter:?} twice"
    )]
    RepeatedLetter {
        /// The letters.
        text: String,
        /// The repeated letter.
        letter: char,
    },
    /// A number of letters that differs from the number of dimensions.
    #[error(
        "layout letters {text:?}: expected {}, one for each dimension, got {given}",
        Count(*rank as u64, "letter")
    )]
    LetterCount {
        /// The letters.
        text: String,
        /// The number of letters.
        given: usize,
        /// The number of dimensions.
        rank: usize,
    },
    /// A tensor that cannot be lowered.
    #[error(transparent)]
    Lower(#[from] StrideError),
}

impl DmlError {
    /// Returns the kind of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NoDataType { .. }
            | Self::ElementSize { .. }
            | Self::Tiled { .. }
            | Self::Offset { .. }
            | Self::Prefix { .. } => ErrorKind::Unsupported,
            Self::Lower(error) => error.kind(),
            _ => ErrorKind::Invalid,
        }
    }

    pub(super) fn dimension_count(given: usize) -> Self {
        Self::DimensionCount { given, least: 1, limit: MAX_DIMENSION_COUNT }
    }

    /// Returns the field that the error is about, or `None` for an error about layout letters.
    #[must_use]
    pub fn field(&self) -> Option<FieldPath> {
        let (name, dimension) = match self {
            Self::ZeroSize { dimension } | Self::SizeTooLarge { dimension, .. } => {
                ("sizes", Some(*dimension))
            }
            Self::Stride { dimension, .. } => ("strides", Some(*dimension)),
            Self::DataType { .. } => ("data_type", None),
            Self::Flags { .. } => ("flags", None),
            Self::DimensionCount { .. } | Self::ElementCount { .. } => ("sizes", None),
            Self::StrideCount { .. } | Self::TooLarge => ("strides", None),
            Self::TotalTensorSize { .. } | Self::TotalTensorSizeMultiple { .. } => {
                ("total_tensor_size_in_bytes", None)
            }
            Self::AlignmentNotPowerOfTwo { .. } | Self::AlignmentBelowElement { .. } => {
                ("guaranteed_base_offset_alignment", None)
            }
            Self::NoDataType { .. } => ("element_type", None),
            Self::ElementSize { .. } => ("element_size_in_bits", None),
            Self::Tiled { .. } => ("tiles", None),
            Self::Offset { .. } => ("offset", None),
            Self::Prefix { .. } => ("dynamic_shape_metadata_prefix_bytes", None),
            Self::Lower(error) => return error.field(),
            Self::UnknownLetter { .. } | Self::RepeatedLetter { .. } | Self::LetterCount { .. } => {
                return None;
            }
        };
        let field = FieldPath::new(name);
        Some(match dimension {
            None => field,
            Some(dimension) => field.index(dimension),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_kinds_and_fields() {
        let valid = StrideError::NoElements { element_type: ElementType::Token };
        for (error, kind, field) in [
            (
                DmlError::NoDataType { element_type: ElementType::Pred },
                ErrorKind::Unsupported,
                Some("element_type"),
            ),
            (
                DmlError::ElementSize { given: 8, data_type: TensorDataType::Int4, limit: 4 },
                ErrorKind::Unsupported,
                Some("element_size_in_bits"),
            ),
            (DmlError::Tiled { dimension: 1 }, ErrorKind::Unsupported, Some("tiles")),
            (DmlError::Offset { given: 9 }, ErrorKind::Unsupported, Some("offset")),
            (
                DmlError::Prefix { given: 4 },
                ErrorKind::Unsupported,
                Some("dynamic_shape_metadata_prefix_bytes"),
            ),
            (DmlError::Lower(valid), ErrorKind::Unsupported, Some("element_type")),
            (
                DmlError::Lower(StrideError::TooLarge { what: "extents" }),
                ErrorKind::Invalid,
                Some("extents"),
            ),
            (DmlError::DataType { given: 99 }, ErrorKind::Invalid, Some("data_type")),
            (DmlError::Flags { given: 2 }, ErrorKind::Invalid, Some("flags")),
            (DmlError::dimension_count(9), ErrorKind::Invalid, Some("sizes")),
            (DmlError::ZeroSize { dimension: 2 }, ErrorKind::Invalid, Some("sizes[2]")),
            (DmlError::Stride { dimension: 1, given: -1 }, ErrorKind::Invalid, Some("strides[1]")),
            (DmlError::TooLarge, ErrorKind::Invalid, Some("strides")),
            (
                DmlError::TotalTensorSizeMultiple { given: 3 },
                ErrorKind::Invalid,
                Some("total_tensor_size_in_bytes"),
            ),
            (
                DmlError::AlignmentNotPowerOfTwo { given: 3 },
                ErrorKind::Invalid,
                Some("guaranteed_base_offset_alignment"),
            ),
            (
                DmlError::RepeatedLetter { text: "NN".to_owned(), letter: 'N' },
                ErrorKind::Invalid,
                None,
            ),
        ] {
            assert_eq!(error.kind(), kind, "{error}");
            assert!(field.is_none_or(|field| error.to_string().starts_with(field)), "{error}");
            assert_eq!(error.field().map(|field| field.to_string()).as_deref(), field, "{error}");
        }
    }
}
