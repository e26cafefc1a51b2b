//! [`StrideError`]: the reasons why the memory of a tensor cannot be described, or an index or
//! offset lies outside it.

use crate::{
    error_kind::ErrorKind,
    shape::{Count, ElementType, FieldPath, ShapeError},
};

/// The reason why a tensor cannot be lowered to a [`StrideDescriptor`](super::StrideDescriptor).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StrideError {
    /// A shape that is invalid in itself, independent of lowering.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A token, tuple, opaque value or buffer, which has no elements to copy.
    #[error(
        "element_type: expected an array, got {element_type}, which has no elements to move{}",
        match element_type {
            ElementType::Tuple => "; #0 after it names its first part",
            _ => "",
        }
    )]
    NoElements {
        /// The type that was given.
        element_type: ElementType,
    },
    /// A dimension of unknown extent, `?`.
    #[error(
        "dimensions[{dimension}]: ? is not supported; expected an extent, or a bound such as <=128"
    )]
    UnknownExtent {
        /// The dimension.
        dimension: usize,
    },
    /// A field that can be parsed and printed, but cannot be expressed by strides.
    #[error("{field}: {value} is not supported; {accepted}")]
    Unsupported {
        /// The field of the proto.
        field: &'static str,
        /// The value of the field, in XLA's notation.
        value: String,
        /// The accepted alternative.
        accepted: &'static str,
    },
    /// An element size, `E(n)`, that is too small for the type.
    #[error(
        "{field}: elements of {given} bits are not supported for {element_type}; expected at least {limit} bits"
    )]
    ElementSize {
        /// The field that specifies the size.
        field: &'static str,
        /// The given size, in bits.
        given: u64,
        /// The type.
        element_type: ElementType,
        /// The minimum size for a value of the type, in bits.
        limit: u32,
    },
    /// A tensor whose memory has more than 2^63-1 bytes or places.
    #[error("{what}: expected at most 2^63-1 bytes of memory, got extents whose product is more")]
    TooLarge {
        /// The path of the field that makes the memory exceed the limit.
        what: &'static str,
    },
    /// A list that does not have one entry for each dimension.
    #[error(
        "{field}: expected {}, one for each dimension, got {given}",
        Count(*rank as u64, "value")
    )]
    Count {
        /// The field.
        field: &'static str,
        /// The number of values in the list.
        given: usize,
        /// The rank of the tensor.
        rank: usize,
    },
    /// A dimension that is split into parts which together have fewer values than the dimension.
    #[error("digits[{dimension}]: expected digits that hold {size} values, got fewer")]
    DigitExtents {
        /// The dimension.
        dimension: usize,
        /// The extent of the dimension.
        size: u64,
    },
    /// A negative stride that reaches below the start of the memory.
    #[error(
        "strides: from offset {offset}, negative strides walk down to element {given}, before the first of memory; expected an offset of at least {least} element{}",
        if *least == 1 { "" } else { "s" }
    )]
    BelowStart {
        /// The offset of the element at index 0, in elements.
        offset: u64,
        /// The smallest offset of any element.
        given: i64,
        /// The smallest offset of the element at index 0 for which all elements are inside the
        /// memory.
        least: u64,
    },
    /// A byte count that is not a multiple of the element size.
    #[error("{field}: expected a multiple of {bytes}, the bytes of an element, got {given}")]
    PartialElement {
        /// The field.
        field: &'static str,
        /// The given number of bytes.
        given: i64,
        /// The element size, in bytes.
        bytes: i64,
    },
    /// A memory that is smaller than the tensor.
    #[error("physical_elements: expected at least {least}, which the tensor takes, got {given}")]
    PhysicalElements {
        /// The size of the memory, in elements.
        given: u64,
        /// The number of elements from the start of the memory to the last element of the tensor.
        least: u64,
    },
    /// An index outside the tensor.
    #[error("index: expected a number below {limit} in dimension {dimension}, got {given}")]
    Index {
        /// The dimension.
        dimension: usize,
        /// The given index.
        given: u64,
        /// The extent of the dimension.
        limit: u64,
    },
    /// A linear offset outside the tensor's memory.
    #[error("linear: expected an element below {limit}, the elements of memory, got {given}")]
    Linear {
        /// The given offset, in elements.
        given: u64,
        /// The size of the memory, in elements.
        limit: u64,
    },
    /// Strides that interleave in so many ways that only an exhaustive search would find the index
    /// of an element.
    #[error(
        "strides: {strides:?} interleave in too many ways to find the index of an element, which is not supported; expected strides that nest"
    )]
    Search {
        /// The strides, in elements.
        strides: Vec<i64>,
    },
}

impl StrideError {
    /// Returns the kind of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NoElements { .. }
            | Self::UnknownExtent { .. }
            | Self::Unsupported { .. }
            | Self::ElementSize { .. }
            | Self::Search { .. } => ErrorKind::Unsupported,
            _ => ErrorKind::Invalid,
        }
    }

    /// Returns the path of the field that the error is about, starting at the message of the
    /// tensor. Returns `None` for an error about an index or an offset.
    #[must_use]
    pub fn field(&self) -> Option<FieldPath> {
        Some(match self {
            Self::Shape(error) => return error.field().cloned(),
            Self::NoElements { .. } => FieldPath::new("element_type"),
            Self::UnknownExtent { dimension } => FieldPath::new("dimensions").index(*dimension),
            Self::Unsupported { field, .. }
            | Self::ElementSize { field, .. }
            | Self::Count { field, .. }
            | Self::PartialElement { field, .. } => FieldPath::of(field),
            Self::TooLarge { what } => FieldPath::of(what),
            Self::DigitExtents { dimension, .. } => FieldPath::new("digits").index(*dimension),
            Self::BelowStart { .. } | Self::Search { .. } => FieldPath::new("strides"),
            Self::PhysicalElements { .. } => FieldPath::new("physical_elements"),
            Self::Index { .. } | Self::Linear { .. } => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_kinds_and_fields() {
        let token = ElementType::Token;
        for (error, kind, field) in [
            (
                StrideError::NoElements { element_type: token },
                ErrorKind::Unsupported,
                Some("element_type"),
            ),
            (
                StrideError::UnknownExtent { dimension: 2 },
                ErrorKind::Unsupported,
                Some("dimensions[2]"),
            ),
            (StrideError::Search { strides: vec![2, 2] }, ErrorKind::Unsupported, Some("strides")),
            (StrideError::TooLarge { what: "dimensions" }, ErrorKind::Invalid, Some("dimensions")),
            (
                StrideError::PhysicalElements { given: 1, least: 2 },
                ErrorKind::Invalid,
                Some("physical_elements"),
            ),
            (StrideError::Linear { given: 2, limit: 2 }, ErrorKind::Invalid, None),
            (
                StrideError::ElementSize {
                    field: "element_size_in_bits",
                    given: 8,
                    element_type: ElementType::S16,
                    limit: 16,
                },
                ErrorKind::Unsupported,
                Some("element_size_in_bits"),
            ),
            (
                StrideError::PartialElement { field: "byte_strides[0]", given: 3, bytes: 4 },
                ErrorKind::Invalid,
                Some("byte_strides[0]"),
            ),
        ] {
            assert_eq!(error.kind(), kind, "{error}");
            assert!(field.is_none_or(|field| error.to_string().starts_with(field)), "{error}");
            assert_eq!(error.field().map(|field| field.to_string()).as_deref(), field, "{error}");
        }
    }
}
