//! [`NestError`]: the reasons why an operation between two tensors cannot become a nest.

use super::Operand;
use crate::{
    error_kind::ErrorKind,
    shape::{Count, ElementType, FieldPath, ShapeError},
    stride::StrideError,
};

/// An error that occurs when an operation between two tensors is lowered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NestError {
    /// A shape that cannot be lowered.
    #[error(transparent)]
    Lower(#[from] StrideError),
    /// A shape or a permutation that is invalid.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The element types differ, and one of them is complex. Other types are converted.
    #[error(
        "expected elements of type {source_type}, as in the source, got {destination_type} in the destination: complex numbers are not converted; copy their parts as a dimension of 2 real numbers"
    )]
    ElementTypes {
        /// The source's type.
        source_type: ElementType,
        /// The destination's type.
        destination_type: ElementType,
    },
    /// The rank of a tensor differs from the rank of the operation.
    #[error(
        "expected {}, as many as the operation has, got {given} in the {operand}",
        Count(*expected as u64, "dimension")
    )]
    Ranks {
        /// The tensor.
        operand: Operand,
        /// The rank of the tensor.
        given: usize,
        /// The expected rank.
        expected: usize,
    },
    /// The destination's extents differ from the extents that the operation produces.
    #[error(
        "expected an extent of {expected}, which the operation gives, got {given} in dimension {dimension} of the destination"
    )]
    Extents {
        /// The dimension.
        dimension: usize,
        /// The destination's extent.
        given: u64,
        /// The expected extent.
        expected: u64,
    },
    /// The destination has the extents that the operation produces, in another order.
    #[error(
        "expected an extent of {expected}, which the operation gives, got {given} in dimension {dimension} of the destination: both layouts list the same dimensions in one order, and the braces say how they lie in memory{}",
        meant.as_ref().map(|meant| format!("; did you mean {meant}?")).unwrap_or_default()
    )]
    Permuted {
        /// The first dimension whose extents differ.
        dimension: usize,
        /// The destination's extent.
        given: u64,
        /// The expected extent.
        expected: u64,
        /// The layout with the operation's dimensions whose memory is the destination's. It is
        /// `None` if there is more than one, or if the destination is not a dense array.
        meant: Option<String>,
    },
    /// The source is smaller than the one that the window was made for.
    #[error(
        "expected an extent of at least {expected}, which the operation reads, got {given} in dimension {dimension} of the source"
    )]
    SourceExtent {
        /// The dimension.
        dimension: usize,
        /// The source's extent.
        given: u64,
        /// The minimum extent that the window requires.
        expected: u64,
    },
    /// A list of start indices whose length differs from the rank of the operation.
    #[error("expected {expected} start indices, one for each dimension, got {given}")]
    StartIndices {
        /// The number of start indices.
        given: usize,
        /// The rank of the operation.
        expected: usize,
    },
    /// An update that would pass the end of the destination. XLA moves such an update back into the
    /// destination, because its start indices are known only at run time; here they are constants,
    /// and moving them would hide a mistake.
    #[error(
        "expected a start index of at most {limit} in dimension {dimension}, so that the update ends inside the destination, got {given}"
    )]
    StartIndex {
        /// The dimension.
        dimension: usize,
        /// The start index.
        given: u64,
        /// The greatest start index.
        limit: u64,
    },
    /// An update that is larger than the destination.
    #[error(
        "expected an extent of at most {limit}, as the destination has, got {given} in dimension {dimension} of the source"
    )]
    UpdateExtent {
        /// The dimension.
        dimension: usize,
        /// The source's extent.
        given: u64,
        /// The destination's extent.
        limit: u64,
    },
    /// A destination with stride 0, in which several elements have the same place.
    #[error(
        "expected a stride of at least 1 in dimension {dimension} of the destination, got 0, which puts several elements in one place"
    )]
    ZeroStride {
        /// The dimension.
        dimension: usize,
    },
    /// A destination with a negative stride.
    #[error(
        "a negative stride is not supported in the destination; expected at least 1 in dimension {dimension}, got {stride}"
    )]
    NegativeStride {
        /// The dimension.
        dimension: usize,
        /// The stride, in elements.
        stride: i64,
    },
    /// Destination elements that share a place.
    #[error(
        "expected a place of its own for each element of the destination, got strides of {outer} and {inner}, which put two elements in one place"
    )]
    Overlap {
        /// The larger stride, in elements.
        outer: i64,
        /// The smaller stride, in elements.
        inner: i64,
    },
    /// Destination strides that interleave without nesting.
    #[error(
        "strides of {outer} and {inner} interleave in the destination, which is not supported; expected the greater stride to be more than {reach}, the offset of the last element that the smaller strides reach"
    )]
    Interleaved {
        /// The larger stride, in elements.
        outer: i64,
        /// The smaller stride, in elements.
        inner: i64,
        /// The offset of the last element that the smaller strides reach.
        reach: u64,
    },
    /// A metadata prefix that is not a whole number of elements, in an operation that changes the
    /// element size.
    #[error(
        "M({bytes}) is not supported; expected a whole number of elements of {bits} bits, or elements of one size on both sides"
    )]
    Prefix {
        /// The prefix, in bytes.
        bytes: u64,
        /// The element width of the tensor, in bits.
        bits: u32,
    },
    /// An offset, or another affine expression of the loops, that may exceed 2^60 at some step of
    /// the loops, which also visit padding and gaps. Sums of a few such numbers could overflow 63
    /// bits.
    #[error(
        "expected positions of at most {limit}, got tiles, strides and steps of the {operand} that lead past that over the padding of both sides"
    )]
    Reach {
        /// The tensor.
        operand: Operand,
        /// The greatest supported position.
        limit: u64,
    },
    /// A table for elements that have too many values.
    #[error(
        "expected a source of elements of at most {limit} bits, each value of which has an entry in the table, got {element_type}"
    )]
    TableType {
        /// The source's type.
        element_type: ElementType,
        /// The width of the widest elements that have a table, in bits.
        limit: u32,
    },
    /// A table for elements whose width in memory no lookup can load.
    #[error(
        "a table for elements of {bits} bits each in memory is not supported; expected 2, 4, 8, 16, 32 or 64 bits: copy the source to such a layout first"
    )]
    TableBits {
        /// The width of the elements in memory, in bits.
        bits: u32,
    },
    /// A table for the indices of a dimension that the source does not have.
    #[error("expected a dimension below {rank}, the source's rank, got {given}")]
    TableDimension {
        /// The dimension.
        given: usize,
        /// The rank of the source.
        rank: usize,
    },
    /// A table whose size differs from the one that the source and the destination need.
    #[error("expected a table {shape} of {expected} bytes, got {given} bytes")]
    TableSize {
        /// The shape that the table must have.
        shape: String,
        /// The size of the table, in bytes.
        given: usize,
        /// The size that it must have, in bytes.
        expected: u64,
    },
    /// Sources whose elements have different widths in memory.
    #[error(
        "elements of {given} bits in the {operand} beside those of {expected} bits in other sources are not supported in one kernel"
    )]
    Widths {
        /// The source.
        operand: Operand,
        /// The element width of the source, in bits.
        given: u32,
        /// The element width of the other sources, in bits.
        expected: u32,
    },
    /// Too many cases, quotients or lookups in a nest.
    #[error("expected at most {limit} {what} in one kernel")]
    Bound {
        /// The kind of item that is limited: `cases`, `quotients` or `lookups`, for example.
        what: &'static str,
        /// The maximum number of these items.
        limit: usize,
    },
    /// A tensor with more elements than a nest can count.
    #[error("expected an image of at most {limit} elements, got {given} in the {operand}")]
    TooLarge {
        /// The tensor.
        operand: Operand,
        /// The number of elements that fit the tensor's memory.
        given: u64,
        /// The maximum number of elements.
        limit: u64,
    },
    /// A nest that was read from a file and is invalid, or that cannot be proved to stay inside its
    /// buffers.
    #[error("expected {what}; compile the operation again")]
    Unproved {
        /// The property that could not be proved.
        what: &'static str,
    },
}

impl NestError {
    /// Returns the kind of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Lower(error) => error.kind(),
            Self::NegativeStride { .. }
            | Self::Interleaved { .. }
            | Self::Prefix { .. }
            | Self::Reach { .. }
            | Self::Widths { .. }
            | Self::Bound { .. }
            | Self::ElementTypes { .. }
            | Self::TableType { .. }
            | Self::TableBits { .. }
            | Self::TooLarge { .. } => ErrorKind::Unsupported,
            Self::Shape(_)
            | Self::Ranks { .. }
            | Self::Extents { .. }
            | Self::Permuted { .. }
            | Self::SourceExtent { .. }
            | Self::StartIndices { .. }
            | Self::StartIndex { .. }
            | Self::UpdateExtent { .. }
            | Self::ZeroStride { .. }
            | Self::Overlap { .. }
            | Self::TableDimension { .. }
            | Self::TableSize { .. }
            | Self::Unproved { .. } => ErrorKind::Invalid,
        }
    }

    /// Returns the tensor that the error is about.
    pub(crate) fn operand(&self) -> Operand {
        match self {
            Self::Ranks { operand, .. }
            | Self::Reach { operand, .. }
            | Self::Widths { operand, .. }
            | Self::TooLarge { operand, .. } => *operand,
            Self::Lower(_)
            | Self::Shape(_)
            | Self::SourceExtent { .. }
            | Self::TableType { .. }
            | Self::TableBits { .. }
            | Self::TableDimension { .. }
            | Self::TableSize { .. }
            | Self::UpdateExtent { .. } => Operand::Source(0),
            Self::ElementTypes { .. }
            | Self::Extents { .. }
            | Self::Permuted { .. }
            | Self::StartIndices { .. }
            | Self::StartIndex { .. }
            | Self::ZeroStride { .. }
            | Self::NegativeStride { .. }
            | Self::Overlap { .. }
            | Self::Interleaved { .. }
            | Self::Bound { .. }
            | Self::Unproved { .. }
            | Self::Prefix { .. } => Operand::Destination,
        }
    }

    /// Returns the field of the tensor that the error is about: its name in an `xla.Shape`, or the
    /// list of strides. Returns `None` if the error is about the whole tensor.
    #[must_use]
    pub fn field(&self) -> Option<FieldPath> {
        Some(match self {
            Self::ElementTypes { .. } | Self::TableType { .. } => FieldPath::new("element_type"),
            Self::TableSize { .. } => FieldPath::new("table"),
            Self::TableDimension { .. } => FieldPath::new("table_dimension"),
            Self::Ranks { .. } => FieldPath::new("dimensions"),
            Self::Extents { dimension, .. }
            | Self::Permuted { dimension, .. }
            | Self::SourceExtent { dimension, .. }
            | Self::UpdateExtent { dimension, .. } => {
                FieldPath::new("dimensions").index(*dimension)
            }
            Self::StartIndices { .. } => FieldPath::new("start_indices"),
            Self::StartIndex { dimension, .. } => FieldPath::new("start_indices").index(*dimension),
            Self::ZeroStride { dimension } | Self::NegativeStride { dimension, .. } => {
                FieldPath::new("strides").index(*dimension)
            }
            Self::Overlap { .. } | Self::Interleaved { .. } => FieldPath::new("strides"),
            Self::Prefix { .. } => FieldPath::of("layout.dynamic_shape_metadata_prefix_bytes"),
            Self::Lower(error) => return error.field(),
            Self::Shape(error) => return error.field().cloned(),
            Self::Reach { .. }
            | Self::Widths { .. }
            | Self::Bound { .. }
            | Self::Unproved { .. }
            | Self::TableBits { .. }
            | Self::TooLarge { .. } => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: Operand = Operand::Source(0);

    #[test]
    fn each_error_names_its_side_and_its_field() {
        let prefix = NestError::Prefix { bytes: 3, bits: 32 };
        let strides = NestError::Interleaved { outer: 3, inner: 2, reach: 4 };
        for (error, operand, field) in [
            (
                NestError::ElementTypes {
                    source_type: ElementType::S8,
                    destination_type: ElementType::U8,
                },
                Operand::Destination,
                Some("element_type"),
            ),
            (
                NestError::Ranks { operand: SOURCE, given: 1, expected: 2 },
                SOURCE,
                Some("dimensions"),
            ),
            (
                NestError::Extents { dimension: 1, given: 3, expected: 4 },
                Operand::Destination,
                Some("dimensions[1]"),
            ),
            (
                NestError::Permuted { dimension: 1, given: 3, expected: 4, meant: None },
                Operand::Destination,
                Some("dimensions[1]"),
            ),
            (
                NestError::SourceExtent { dimension: 1, given: 3, expected: 4 },
                SOURCE,
                Some("dimensions[1]"),
            ),
            (NestError::ZeroStride { dimension: 2 }, Operand::Destination, Some("strides[2]")),
            (
                NestError::NegativeStride { dimension: 2, stride: -1 },
                Operand::Destination,
                Some("strides[2]"),
            ),
            (NestError::Overlap { outer: 1, inner: 1 }, Operand::Destination, Some("strides")),
            (strides, Operand::Destination, Some("strides")),
            (prefix, Operand::Destination, Some("layout.dynamic_shape_metadata_prefix_bytes")),
            (NestError::TooLarge { operand: SOURCE, given: 2, limit: 1 }, SOURCE, None),
            (NestError::Reach { operand: SOURCE, limit: 1 }, SOURCE, None),
            (
                NestError::Lower(StrideError::TooLarge { what: "dimensions" }),
                SOURCE,
                Some("dimensions"),
            ),
        ] {
            assert_eq!(
                (error.operand(), error.field().map(|field| field.to_string()).as_deref()),
                (operand, field),
                "{error}"
            );
        }
    }

    #[test]
    fn a_stride_that_walks_back_is_unsupported_and_one_of_0_invalid() {
        let negative = NestError::NegativeStride { dimension: 0, stride: -3 };
        assert_eq!(negative.kind(), ErrorKind::Unsupported);
        assert_eq!(NestError::ZeroStride { dimension: 0 }.kind(), ErrorKind::Invalid);
    }
}
