//! [`StrideError`]: why a tensor cannot be lowered.

use crate::shape::{ElementType, ShapeError};

/// Why a tensor cannot be lowered to a [`StrideDescriptor`](super::StrideDescriptor).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StrideError {
    /// The shape itself is invalid.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A token, tuple, opaque value or buffer: there are no elements to move.
    #[error("element_type: {element_type} has no elements to move; accepted are arrays")]
    NoElements {
        /// The kind that was given.
        element_type: ElementType,
    },
    /// A field that parses and round-trips but says nothing that a stride can.
    #[error("{field}: {value} is not supported; {accepted}")]
    Unsupported {
        /// The field of the proto.
        field: &'static str,
        /// Its value, in XLA's notation.
        value: String,
        /// What is accepted in its place.
        accepted: &'static str,
    },
    /// `E(n)` is too narrow for the type.
    #[error("element_size_in_bits: {given} does not hold {element_type}, which takes {limit} bits")]
    ElementSize {
        /// The bits that were given.
        given: u64,
        /// The type.
        element_type: ElementType,
        /// The least bits that hold it.
        limit: u32,
    },
    /// The memory of the tensor is larger than 2^63-1 bits.
    #[error("{what}: the product of extents passes the limit of 2^63-1 bits of memory")]
    TooLarge {
        /// The field that takes the product past the limit.
        what: &'static str,
    },
    /// A list has not one entry per dimension.
    #[error("{field}: {given} values for {rank} dimensions; accepted is one each")]
    Count {
        /// The field.
        field: &'static str,
        /// Its number of values.
        given: usize,
        /// The rank of the tensor.
        rank: usize,
    },
    /// A negative stride walks below the first element of memory.
    #[error(
        "strides: from offset {offset}, negative strides walk down to element {given}, before the first of memory; expected an offset of at least {least} element{}",
        if *least == 1 { "" } else { "s" }
    )]
    BelowStart {
        /// The offset of the element at index 0, in elements.
        offset: u64,
        /// The least element offset.
        given: i64,
        /// The least offset of the element at index 0 that keeps all elements in memory.
        least: u64,
    },
    /// A byte count that ends inside an element.
    #[error("{field}: {given} is no whole number of elements; multiples of {bytes} are accepted")]
    PartialElement {
        /// The field.
        field: &'static str,
        /// The bytes that were given.
        given: i64,
        /// Bytes of an element.
        bytes: i64,
    },
    /// A memory that does not hold the tensor.
    #[error("physical_elements: {given} do not hold the tensor; {least} or more are accepted")]
    PhysicalElements {
        /// Elements of the memory.
        given: u64,
        /// Elements that the tensor takes, from the start of memory to its last.
        least: u64,
    },
    /// An index outside the tensor.
    #[error("index: {given} in dimension {dimension} is outside 0..{limit}")]
    Index {
        /// The dimension.
        dimension: usize,
        /// The index that was given.
        given: u64,
        /// The extent.
        limit: u64,
    },
    /// A linear offset outside the tensor's memory.
    #[error("linear: element {given} is outside the {limit} elements of memory")]
    Linear {
        /// The offset that was given, in elements.
        given: u64,
        /// Elements of the memory.
        limit: u64,
    },
    /// The strides interleave so that finding an element's index would take an exhaustive search.
    #[error(
        "strides: {strides:?} interleave in too many ways to find the index of an element; accepted are strides that nest"
    )]
    Search {
        /// The strides, in elements.
        strides: Vec<i64>,
    },
}

impl StrideError {
    /// Whether the tensor is valid, but more than stridec lowers.
    #[must_use]
    pub fn is_unsupported(&self) -> bool {
        matches!(
            self,
            Self::NoElements { .. }
                | Self::Unsupported { .. }
                | Self::ElementSize { .. }
                | Self::Search { .. }
        )
    }

    /// The field that the error is about, below the tensor's own message; a layout's fields are named alone.
    #[must_use]
    pub fn field(&self) -> Option<String> {
        Some(match self {
            Self::Shape(error) => return error.field().map(ToString::to_string),
            Self::NoElements { .. } => "element_type".into(),
            Self::Unsupported { field, .. }
            | Self::Count { field, .. }
            | Self::PartialElement { field, .. } => (*field).into(),
            Self::ElementSize { .. } => "element_size_in_bits".into(),
            Self::TooLarge { what } => (*what).into(),
            Self::BelowStart { .. } | Self::Search { .. } => "strides".into(),
            Self::PhysicalElements { .. } => "physical_elements".into(),
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
        for (error, unsupported, field) in [
            (StrideError::NoElements { element_type: token }, true, Some("element_type")),
            (StrideError::Search { strides: vec![2, 2] }, true, Some("strides")),
            (StrideError::TooLarge { what: "dimensions" }, false, Some("dimensions")),
            (
                StrideError::PhysicalElements { given: 1, least: 2 },
                false,
                Some("physical_elements"),
            ),
            (StrideError::Linear { given: 2, limit: 2 }, false, None),
            (
                StrideError::ElementSize { given: 8, element_type: ElementType::S16, limit: 16 },
                true,
                Some("element_size_in_bits"),
            ),
            (
                StrideError::PartialElement { field: "byte_strides[0]", given: 3, bytes: 4 },
                false,
                Some("byte_strides[0]"),
            ),
        ] {
            assert_eq!(error.is_unsupported(), unsupported, "{error}");
            assert_eq!(error.field().as_deref(), field, "{error}");
        }
    }
}
