//! Why a shape is invalid.

use super::{ElementType, FieldPath, PaddingValue};
use crate::error_kind::ErrorKind;

/// Why a shape is invalid, or cannot be read.
///
/// Every message names the field, the value and what is accepted; [`ShapeError::field`] gives the field alone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// A token, opaque value, tuple or buffer where an array is needed.
    #[error("{field}: expected a type with elements, got {element_type}")]
    NoElements {
        /// The field that gives the type.
        field: FieldPath,
        /// The kind that was given.
        element_type: ElementType,
    },
    /// More of something than stridec accepts: dimensions, tiles, nested or counted shapes, bytes of input.
    #[error("{field}: expected at most {limit} {what}, got {given}")]
    TooMany {
        /// The field.
        field: FieldPath,
        /// What there are too many of.
        what: &'static str,
        /// How many there are, or the first count above the limit.
        given: usize,
        /// The greatest accepted.
        limit: usize,
    },
    /// A list that needs one entry per dimension, with another count.
    #[error("{field}: expected {rank} entries, {accepted}, got {given}")]
    Count {
        /// The list.
        field: FieldPath,
        /// Its entries.
        given: usize,
        /// Dimensions of the array.
        rank: usize,
        /// Whether the list may also be empty, in words.
        accepted: &'static str,
    },
    /// A number outside what its field accepts.
    #[error("{field}: expected {}, got {given}", span(*least, *greatest))]
    Range {
        /// The field.
        field: FieldPath,
        /// The number.
        given: i128,
        /// The least accepted.
        least: i64,
        /// The greatest accepted; below `least` where nothing is.
        greatest: i64,
    },
    /// A dimension number that its list names twice.
    #[error("{field}: expected each dimension once, got {given} twice")]
    Duplicate {
        /// The second of the two.
        field: FieldPath,
        /// The dimension number.
        given: u64,
    },
    /// A physical extent below the logical one.
    #[error(
        "{field}: expected at least {extent}, the extent of dimension {dimension}, got {given}"
    )]
    BelowExtent {
        /// The physical extent's field.
        field: FieldPath,
        /// The physical extent.
        given: u64,
        /// The logical dimension.
        dimension: usize,
        /// Its extent.
        extent: u64,
    },
    /// Padding for an extent that is not known.
    #[error(
        "{field}: padding needs an extent; expected `n` or `<=n` in dimension {dimension}, got `?`"
    )]
    PaddedUnbounded {
        /// The physical extent's field.
        field: FieldPath,
        /// The logical dimension.
        dimension: usize,
    },
    /// A split index that does not come after the one before it.
    #[error("{field}: expected an index greater than {previous}, the one before it, got {given}")]
    NotAscending {
        /// The index's field.
        field: FieldPath,
        /// The index.
        given: u64,
        /// The one before it.
        previous: u64,
    },
    /// An array whose bytes cannot be counted in an int64, as XLA's validator demands.
    #[error("{field}: expected an array of fewer than 2^63 bytes, got more")]
    Size {
        /// The extents.
        field: FieldPath,
    },
    /// A tile without extents.
    #[error("{field}: expected a tile of at least one extent, got none")]
    EmptyTile {
        /// The tile.
        field: FieldPath,
    },
    /// A tile that ends in `*`.
    #[error(
        "{field}: expected a size of at least 1, got `*`, which folds a dimension into the next more minor one: the last \
         has none"
    )]
    TrailingCombine {
        /// The last extent.
        field: FieldPath,
    },
    /// A dense level whose coordinates are said to repeat or to come unordered.
    #[error("{field}: expected true, as a dense level is unique and ordered, got false")]
    DenseLevel {
        /// The flag.
        field: FieldPath,
    },
    /// A type for sparse indices or positions that is no unsigned integer.
    #[error("{field}: expected an unsigned integer, u1 to u64, got {element_type}")]
    IndexType {
        /// The field.
        field: FieldPath,
        /// The type.
        element_type: ElementType,
    },
    /// A field that shapes of this kind do not have.
    #[error("{field}: a shape of type {element_type} has no such field; leave it out")]
    Misplaced {
        /// The field.
        field: FieldPath,
        /// The kind of the shape.
        element_type: ElementType,
    },
    /// A buffer that does not hold exactly one array.
    #[error("{field}: expected one array in a buffer, got {given}")]
    BufferContent {
        /// The parts.
        field: FieldPath,
        /// What it holds, in words.
        given: String,
    },
    /// A number that the enum does not have.
    #[error("{field}: expected a number of {accepted}, got {given}")]
    UnknownEnum {
        /// The field.
        field: FieldPath,
        /// The number.
        given: i32,
        /// The enum, and the numbers that it has.
        accepted: &'static str,
    },
    /// A static extent of the minimum of int64, which stands for `?`.
    #[error(
        "{field}: {given} stands for an unknown extent; expected is_dynamic_dimension[{dimension}] to be true then, got \
         false"
    )]
    StaticUnbounded {
        /// The extent.
        field: FieldPath,
        /// The number that was given.
        given: i64,
        /// The dimension.
        dimension: usize,
    },
    /// A path that names no part of a tuple.
    #[error("#{}: {}", joined(path), parts(*element_type, *count))]
    NoSuchPart {
        /// The path up to the part that is missing.
        path: Vec<usize>,
        /// The kind of the shape that was to have it.
        element_type: ElementType,
        /// How many parts it has.
        count: usize,
    },
    /// A padding value that the element type lacks.
    #[error("{field}: {element_type} has no {value} value; {accepted}")]
    NoSuchValue {
        /// The field.
        field: FieldPath,
        /// The element type.
        element_type: ElementType,
        /// The padding value.
        value: PaddingValue,
        /// What the type accepts, in words.
        accepted: &'static str,
    },
    /// Bytes that are no serialized message.
    #[error("{field}: {reason}; expected a serialized {message}")]
    Decode {
        /// The fields down to where decoding failed, `bytes` where that is the outermost message.
        field: String,
        /// What is wrong there.
        reason: String,
        /// The message's name.
        message: String,
    },
    /// A message without a descriptor: none of `proto/`.
    #[error("{message}: expected xla.Shape or a message of package stridec")]
    UnknownMessage {
        /// The message's name.
        message: String,
    },
    /// Text that is no message.
    #[error(
        "line {line}, column {column}: {reason}; expected the {format} of the message {message}"
    )]
    Text {
        /// `textproto` or `JSON`.
        format: &'static str,
        /// From 1.
        line: usize,
        /// From 1, in bytes.
        column: usize,
        /// What is wrong there.
        reason: String,
        /// The message's name.
        message: String,
    },
}

/// The variants that are about one field.
macro_rules! about {
    ($field:ident) => {
        Self::NoElements { $field, .. }
            | Self::TooMany { $field, .. }
            | Self::Count { $field, .. }
            | Self::Range { $field, .. }
            | Self::Duplicate { $field, .. }
            | Self::BelowExtent { $field, .. }
            | Self::PaddedUnbounded { $field, .. }
            | Self::NotAscending { $field, .. }
            | Self::Size { $field }
            | Self::EmptyTile { $field }
            | Self::TrailingCombine { $field }
            | Self::DenseLevel { $field }
            | Self::IndexType { $field, .. }
            | Self::Misplaced { $field, .. }
            | Self::BufferContent { $field, .. }
            | Self::UnknownEnum { $field, .. }
            | Self::StaticUnbounded { $field, .. }
            | Self::NoSuchValue { $field, .. }
    };
}

impl ShapeError {
    /// What kind of failure it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Invalid
    }

    /// The field that the error is about; `None` where it is about no single one.
    #[must_use]
    pub fn field(&self) -> Option<&FieldPath> {
        match self {
            about!(field) => Some(field),
            _ => None,
        }
    }

    /// The same error, its field seen from the message that holds this one at `outer`.
    #[must_use]
    pub fn below(mut self, outer: &FieldPath) -> Self {
        if let about!(field) = &mut self {
            *field = std::mem::take(field).below(outer);
        }
        self
    }
}

fn joined(path: &[usize]) -> String {
    path.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

fn span(least: i64, greatest: i64) -> String {
    match (least, greatest) {
        (least, i64::MAX) => format!("{least} to 2^63-1"),
        _ if greatest < least => "nothing there".to_string(),
        _ => format!("{least} to {greatest}"),
    }
}

fn parts(element_type: ElementType, count: usize) -> String {
    match count {
        0 => format!("expected a tuple or a buffer, got {element_type}, which has no parts"),
        _ => format!("expected a number below {count}, the parts of the {element_type} there"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_say_what_is_in_them() {
        assert_eq!(span(0, 3), "0 to 3");
        assert_eq!(span(3, 3), "3 to 3");
        assert_eq!(span(0, -1), "nothing there");
        assert_eq!(span(1, i64::MAX), "1 to 2^63-1");
        let parts = |count| parts(ElementType::Tuple, count);
        assert_eq!(parts(0), "expected a tuple or a buffer, got tuple, which has no parts");
        assert_eq!(parts(3), "expected a number below 3, the parts of the tuple there");
    }
}
