//! The errors of shapes.

use super::{ElementType, FieldPath, PaddingValue};
use crate::error_kind::ErrorKind;

/// The error of a shape that is invalid or cannot be read.
///
/// Every message names the field, the value and the accepted values. [`ShapeError::field`] returns
/// the field alone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// A token, opaque value, tuple or buffer in place of an array.
    #[error("{field}: expected a type with elements, got {element_type}")]
    NoElements {
        /// The field that gives the type.
        field: FieldPath,
        /// The given kind.
        element_type: ElementType,
    },
    /// Too many dimensions, tiles, shapes or bytes of input.
    #[error("{field}: expected at most {limit} {what}, got {given}")]
    TooMany {
        /// The field.
        field: FieldPath,
        /// The name of the things.
        what: &'static str,
        /// Their number, or the first number above the limit.
        given: usize,
        /// The maximum accepted number.
        limit: usize,
    },
    /// A list that needs one entry per dimension and has another number of them.
    #[error("{field}: expected {rank} entries, {accepted}, got {given}")]
    Count {
        /// The list.
        field: FieldPath,
        /// The number of its entries.
        given: usize,
        /// The number of dimensions.
        rank: usize,
        /// The accepted numbers of entries, in words.
        accepted: &'static str,
    },
    /// A number outside the range of its field.
    #[error("{field}: expected {}, got {given}", span(*least, *greatest))]
    Range {
        /// The field.
        field: FieldPath,
        /// The number.
        given: i128,
        /// The minimum accepted number.
        least: i64,
        /// The greatest accepted number; below `least` if none is.
        greatest: i64,
    },
    /// A dimension number that its list names twice.
    #[error("{field}: expected each dimension once, got {given} twice")]
    Duplicate {
        /// The second entry that names it.
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
    /// Padding for an unknown extent.
    #[error(
        "{field}: padding needs an extent; expected `n` or `<=n` in dimension {dimension}, got `?`"
    )]
    PaddedUnbounded {
        /// The physical extent's field.
        field: FieldPath,
        /// The logical dimension.
        dimension: usize,
    },
    /// A split index that does not exceed the one before it.
    #[error("{field}: expected an index greater than {previous}, the one before it, got {given}")]
    NotAscending {
        /// The index's field.
        field: FieldPath,
        /// The index.
        given: u64,
        /// The one before it.
        previous: u64,
    },
    /// An array of 2^63 bytes or more, which XLA's validator refuses.
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
    /// A dense level whose flags allow repeated or unordered coordinates.
    #[error("{field}: expected true, as a dense level is unique and ordered, got false")]
    DenseLevel {
        /// The flag.
        field: FieldPath,
    },
    /// A type of sparse indices or positions, different from the unsigned integers.
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
        /// The field of the parts.
        field: FieldPath,
        /// The content, in words.
        given: String,
    },
    /// A number that its enum lacks.
    #[error("{field}: expected a number of {accepted}, got {given}")]
    UnknownEnum {
        /// The field.
        field: FieldPath,
        /// The number.
        given: i32,
        /// The enum and its numbers.
        accepted: &'static str,
    },
    /// A static extent of -2^63, which means `?`.
    #[error(
        "{field}: {given} stands for an unknown extent; expected is_dynamic_dimension[{dimension}] to be true then, got \
         false"
    )]
    StaticUnbounded {
        /// The extent.
        field: FieldPath,
        /// The given number.
        given: i64,
        /// The dimension.
        dimension: usize,
    },
    /// A path to a part that the tuple lacks.
    #[error("#{}: {}", joined(path), parts(*element_type, *count))]
    NoSuchPart {
        /// The path up to the missing part.
        path: Vec<usize>,
        /// The kind of the shape that lacks it.
        element_type: ElementType,
        /// The number of parts of that shape.
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
        /// The accepted values, in words.
        accepted: &'static str,
    },
    /// Bytes that are no serialized message.
    #[error("{field}: {reason}; expected a serialized {message}")]
    Decode {
        /// The path of the field that cannot be decoded; `bytes` for the outermost message.
        field: String,
        /// The reason that the decoder gives.
        reason: String,
        /// The message's name.
        message: String,
    },
    /// A message that `proto/` lacks, and so has no descriptor.
    #[error("{message}: expected xla.Shape or a message of package stridec")]
    UnknownMessage {
        /// The message's name.
        message: String,
    },
    /// A text that is no message.
    #[error(
        "line {line}, column {column}: {reason}; expected the {format} of the message {message}"
    )]
    Text {
        /// `textproto` or `JSON`.
        format: &'static str,
        /// The line, from 1.
        line: usize,
        /// The column, from 1, in bytes.
        column: usize,
        /// The reason that the parser gives.
        reason: String,
        /// The message's name.
        message: String,
    },
}

/// The variants about one field.
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
    /// Returns the kind of the failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Invalid
    }

    /// Returns the field that the error is about, or `None` if it is about no single field.
    #[must_use]
    pub fn field(&self) -> Option<&FieldPath> {
        match self {
            about!(field) => Some(field),
            _ => None,
        }
    }

    /// Returns the error for the message that holds this one at `outer`: its path begins with
    /// `outer`.
    pub(crate) fn below(mut self, outer: &FieldPath) -> Self {
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
