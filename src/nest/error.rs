use super::Operand;
use crate::{
    shape::{ElementType, ShapeError},
    stride::StrideError,
};

/// Why an operation between two tensors cannot be lowered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NestError {
    /// A shape that cannot be lowered.
    #[error(transparent)]
    Lower(#[from] StrideError),
    /// A shape or a permutation that is invalid.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The element types differ: stridec moves bits and never converts values.
    #[error(
        "element_type: the source is {source_type}, the destination {destination_type}; both sides have one type"
    )]
    ElementTypes {
        /// The source's type.
        source_type: ElementType,
        /// The destination's type.
        destination_type: ElementType,
    },
    /// The ranks differ.
    #[error("dimensions: the {operand} has rank {given}, the operation {expected}")]
    Ranks {
        /// Which side.
        operand: Operand,
        /// Its rank.
        given: usize,
        /// The rank that fits.
        expected: usize,
    },
    /// The destination has other extents than the operation gives.
    #[error(
        "dimensions[{dimension}]: the destination has extent {given}, the operation gives {expected}"
    )]
    Extents {
        /// The dimension.
        dimension: usize,
        /// The destination's extent.
        given: u64,
        /// The extent that fits.
        expected: u64,
    },
    /// A destination whose elements all lie in one place along a dimension.
    #[error(
        "strides[{dimension}]: 0 puts several elements of the destination in one place; expected a stride of at least 1"
    )]
    ZeroStride {
        /// The dimension.
        dimension: usize,
    },
    /// A destination that runs backwards through memory along a dimension.
    #[error(
        "strides[{dimension}]: a negative stride is not supported in the destination; expected a stride of at least 1, got {stride}"
    )]
    NegativeStride {
        /// The dimension.
        dimension: usize,
        /// The stride, in elements.
        stride: i64,
    },
    /// Destination elements that share a place.
    #[error(
        "strides: {outer} and {inner} put two elements of the destination in one place; accepted is one place for each element"
    )]
    Overlap {
        /// The greater stride, in elements.
        outer: i64,
        /// The smaller stride, in elements.
        inner: i64,
    },
    /// Destination strides that interleave without nesting.
    #[error(
        "strides: {outer} and {inner} interleave in the destination; supported are strides of which each exceeds the reach of all smaller ones together ({reach} here)"
    )]
    Interleaved {
        /// The greater stride, in elements.
        outer: i64,
        /// The smaller stride, in elements.
        inner: i64,
        /// The farthest element that the smaller strides reach.
        reach: u64,
    },
    /// A metadata prefix that no whole number of elements fills, while the element size changes.
    #[error(
        "dynamic_shape_metadata_prefix_bytes: M({bytes}) is not a whole number of elements of {bits} bits; supported are those, or equal element sizes on both sides"
    )]
    Prefix {
        /// The prefix, in bytes.
        bytes: u64,
        /// Bits of an element on that side.
        bits: u32,
    },
    /// Positions, of padding and gaps too, that the nest does not count.
    #[error(
        "{operand}: its tiles, strides and steps, over the padding of both sides, pass position {limit}; supported are positions up to that"
    )]
    Reach {
        /// Which side.
        operand: Operand,
        /// The greatest position supported.
        limit: u64,
    },
    /// A tensor with more elements than the nest counts.
    #[error("{operand}: an image of {given} elements passes the limit of {limit}")]
    TooLarge {
        /// Which side.
        operand: Operand,
        /// Elements of the image.
        given: u64,
        /// The most accepted.
        limit: u64,
    },
}

impl NestError {
    /// Whether the operation is valid, but more than stridec lowers.
    #[must_use]
    pub fn is_unsupported(&self) -> bool {
        if let Self::Lower(error) = self {
            return error.is_unsupported();
        }
        matches!(
            self,
            Self::NegativeStride { .. }
                | Self::Interleaved { .. }
                | Self::Prefix { .. }
                | Self::Reach { .. }
                | Self::TooLarge { .. }
        )
    }

    /// The side that the error is about.
    #[must_use]
    pub fn operand(&self) -> Operand {
        match self {
            Self::Ranks { operand, .. }
            | Self::Reach { operand, .. }
            | Self::TooLarge { operand, .. } => *operand,
            Self::Lower(_) | Self::Shape(_) => Operand::Source(0),
            Self::ElementTypes { .. }
            | Self::Extents { .. }
            | Self::ZeroStride { .. }
            | Self::NegativeStride { .. }
            | Self::Overlap { .. }
            | Self::Interleaved { .. }
            | Self::Prefix { .. } => Operand::Destination,
        }
    }

    /// The field of that side; `None` where it is the whole of it.
    #[must_use]
    pub fn field(&self) -> Option<String> {
        Some(match self {
            Self::ElementTypes { .. } => "element_type".into(),
            Self::Ranks { .. } => "dimensions".into(),
            Self::Extents { dimension, .. } => format!("dimensions[{dimension}]"),
            Self::ZeroStride { dimension } | Self::NegativeStride { dimension, .. } => {
                format!("strides[{dimension}]")
            }
            Self::Overlap { .. } | Self::Interleaved { .. } => "strides".into(),
            Self::Prefix { .. } => "dynamic_shape_metadata_prefix_bytes".into(),
            Self::Lower(error) => return error.field(),
            Self::Shape(error) => return error.field().map(ToString::to_string),
            Self::Reach { .. } | Self::TooLarge { .. } => return None,
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
            (NestError::ZeroStride { dimension: 2 }, Operand::Destination, Some("strides[2]")),
            (
                NestError::NegativeStride { dimension: 2, stride: -1 },
                Operand::Destination,
                Some("strides[2]"),
            ),
            (NestError::Overlap { outer: 1, inner: 1 }, Operand::Destination, Some("strides")),
            (strides, Operand::Destination, Some("strides")),
            (prefix, Operand::Destination, Some("dynamic_shape_metadata_prefix_bytes")),
            (NestError::TooLarge { operand: SOURCE, given: 2, limit: 1 }, SOURCE, None),
            (NestError::Reach { operand: SOURCE, limit: 1 }, SOURCE, None),
            (
                NestError::Lower(StrideError::TooLarge { what: "dimensions" }),
                SOURCE,
                Some("dimensions"),
            ),
        ] {
            assert_eq!((error.operand(), error.field().as_deref()), (operand, field), "{error}");
        }
    }
}
