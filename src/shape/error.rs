//! [`ShapeError`]: the reasons why a shape is invalid.

use super::{Count, ElementType, FieldPath, PaddingValue};
use crate::error_kind::ErrorKind;

/// The reason why a shape is invalid or cannot be decoded.
///
/// Each message names the field, the given value and the accepted values. To locate the value,
/// [`ShapeError::field`] returns the path of the field alone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// A token, an opaque value, a tuple or a buffer in a position that requires an array.
    #[error("{field}: expected a type with elements, got {element_type}")]
    NoElements {
        /// The field that specifies the type.
        field: FieldPath,
        /// The given type.
        element_type: ElementType,
    },
    /// Too many dimensions, tiles, shapes or bytes of input.
    #[error("{field}: expected at most {limit} {what}, got {given}")]
    TooMany {
        /// The path of the wrong field.
        field: FieldPath,
        /// A plural noun for the items, such as `tiles`.
        what: &'static str,
        /// The number of items, or `limit` plus 1 if counting stopped there.
        given: usize,
        /// The maximum number of items.
        limit: usize,
    },
    /// A list with the wrong number of entries, which must be one per dimension.
    #[error("{field}: expected {}, {accepted}, got {given}", Count(*rank as u64, "entry"))]
    Count {
        /// The list.
        field: FieldPath,
        /// The number of entries in the list.
        given: usize,
        /// The number of dimensions.
        rank: usize,
        /// The accepted numbers of entries, in words.
        accepted: &'static str,
    },
    /// A number outside the range of its field.
    #[error("{field}: expected {}, got {given}", span(*least, *greatest))]
    Range {
        /// The path of the wrong field.
        field: FieldPath,
        /// The number.
        given: i128,
        /// The minimum accepted number.
        least: i64,
        /// The maximum accepted number. It is below `least` if there are no accepted numbers.
        greatest: i64,
    },
    /// A dimension number that appears twice in a list.
    #[error("{field}: expected each dimension once, got {given} twice")]
    Duplicate {
        /// The second entry that has the number.
        field: FieldPath,
        /// The dimension number.
        given: u64,
    },
    /// A padded extent that is smaller than the extent of the dimension.
    #[error(
        "{field}: expected at least {extent}, the extent of dimension {dimension}, got {given}"
    )]
    BelowExtent {
        /// The path of the padded extent.
        field: FieldPath,
        /// The padded extent.
        given: u64,
        /// The logical dimension.
        dimension: usize,
        /// The extent of the logical dimension.
        extent: u64,
    },
    /// Padding of a dimension whose extent is unknown.
    #[error(
        "{field}: padding needs an extent; expected `n` or `<=n` in dimension {dimension}, got `?`"
    )]
    PaddedUnbounded {
        /// The path of the padded extent.
        field: FieldPath,
        /// The logical dimension.
        dimension: usize,
    },
    /// A split index that is not greater than the previous one.
    #[error("{field}: expected an index greater than {previous}, the one before it, got {given}")]
    NotAscending {
        /// The index's field.
        field: FieldPath,
        /// The index.
        given: u64,
        /// The previous index.
        previous: u64,
    },
    /// An array of 2^63 bytes or more, which XLA's validator rejects.
    #[error("{field}: expected an array of fewer than 2^63 bytes, got more")]
    Size {
        /// The extents.
        field: FieldPath,
    },
    /// A tile that has no extents.
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
        /// The path of the last extent of the tile.
        field: FieldPath,
    },
    /// A dense level whose flags allow repeated or unordered coordinates.
    #[error("{field}: expected true, as a dense level is unique and ordered, got false")]
    DenseLevel {
        /// The flag.
        field: FieldPath,
    },
    /// A type of sparse indices or pointers that is not an unsigned integer.
    #[error("{field}: expected an unsigned integer, u1 to u64, got {element_type}")]
    IndexType {
        /// The path of the wrong field.
        field: FieldPath,
        /// The type.
        element_type: ElementType,
    },
    /// A field that does not exist in shapes of this kind.
    #[error("{field}: a shape of type {element_type} has no such field; leave it out")]
    Misplaced {
        /// The path of the wrong field.
        field: FieldPath,
        /// The kind of the shape.
        element_type: ElementType,
    },
    /// A buffer that does not hold exactly one array.
    #[error("{field}: expected one array in a buffer, got {given}")]
    BufferContent {
        /// The field that holds the content.
        field: FieldPath,
        /// The content, in words.
        given: String,
    },
    /// A number that is not a value of its enum.
    #[error("{field}: expected a number of {accepted}, got {given}")]
    UnknownEnum {
        /// The path of the wrong field.
        field: FieldPath,
        /// The number.
        given: i32,
        /// The name of the enum and the range of its numbers.
        accepted: &'static str,
    },
    /// An extent of -2^63, which means `?`, in a dimension that is not dynamic.
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
    /// A path to a tuple part that does not exist.
    #[error("#{}: {}", joined(path), parts(*element_type, *count))]
    NoSuchPart {
        /// The path, up to the first number that is too large.
        path: Vec<usize>,
        /// The type of the shape that should contain the part.
        element_type: ElementType,
        /// The number of parts in that shape.
        count: usize,
    },
    /// A padding value that the element type cannot represent.
    #[error("{field}: {element_type} has no {value} value; {accepted}")]
    NoSuchValue {
        /// The path of the wrong field.
        field: FieldPath,
        /// The element type.
        element_type: ElementType,
        /// The padding value.
        value: PaddingValue,
        /// The accepted values, in words.
        accepted: &'static str,
    },
    /// A padding number that the element type cannot represent.
    #[error("{field}: expected {least} to {most}, the values of {element_type}, got {given}")]
    PaddingNumber {
        /// The path of the wrong field.
        field: FieldPath,
        /// The element type.
        element_type: ElementType,
        /// The given number.
        given: i64,
        /// The least value of the type.
        least: i64,
        /// The greatest value of the type that fits an int64.
        most: i64,
    },
    /// Bytes that are not a serialized message.
    #[error("{field}: {reason}; expected a serialized {message}")]
    Decode {
        /// The path of the field that cannot be decoded, or `bytes` if the error is not inside a
        /// field.
        field: String,
        /// The message of the decoder.
        reason: String,
        /// The name of the message type.
        message: String,
    },
    /// A message that is not defined in `proto/` and has no descriptor.
    #[error("{message}: expected xla.Shape or a message of package stridec")]
    UnknownMessage {
        /// The name of the message type.
        message: String,
    },
    /// A text that is not a message in the given format.
    #[error(
        "line {line}, column {column}: {reason}; expected the {format} of the message {message}"
    )]
    Text {
        /// `textproto` or `JSON`.
        format: &'static str,
        /// The line, counted from 1.
        line: usize,
        /// The column in bytes, counted from 1.
        column: usize,
        /// The message of the parser.
        reason: String,
        /// The name of the message type.
        message: String,
    },
}

/// A pattern that matches each variant with a `field`, and binds the field.
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
            | Self::PaddingNumber { $field, .. }
    };
}

impl ShapeError {
    /// Returns the kind of the failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Invalid
    }

    /// Returns the field that the error is about, or `None` if the error is not about a single
    /// field.
    #[must_use]
    pub fn field(&self) -> Option<&FieldPath> {
        match self {
            about!(field) => Some(field),
            _ => None,
        }
    }

    /// Prepends `outer` to the path of the field, for a message that is nested at `outer` in
    /// another message.
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
