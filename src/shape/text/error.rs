//! [`ParseError`](super::ParseError): the reason why a text is not a shape, and the position of the
//! error.

use std::ops::Range;

use crate::{error_kind::ErrorKind, shape::ShapeError, text::TextError};

/// An error in a text notation, with its position.
///
/// The error prints as one line. To mark the wrong bytes in the text, use [`offset`](Self::offset)
/// and [`len`](Self::len).
///
/// ```
/// use stridec::shape::Shape;
/// let error = "f32[2,3]{1,1}".parse::<Shape>().unwrap_err();
/// assert_eq!((error.offset(), error.len()), (11, 1));
/// assert_eq!(
///     error.reason(),
///     "layout.minor_to_major[1]: expected each dimension once, got 1 twice"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason} (at byte {offset})")]
pub struct ParseError {
    offset: usize,
    len: usize,
    reason: String,
    kind: ErrorKind,
    #[source]
    invalid: Option<Box<ShapeError>>,
}

impl TextError for ParseError {
    fn in_text(_: &str, range: Range<usize>, reason: String) -> Self {
        Self::new(range, reason)
    }

    fn quoted(rest: &str) -> String {
        rest.chars().next().map_or_else(String::new, |letter| format!("{letter:?}"))
    }
}

impl ParseError {
    pub(crate) fn new(place: Range<usize>, reason: impl Into<String>) -> Self {
        Self {
            offset: place.start,
            len: place.len(),
            reason: reason.into(),
            kind: ErrorKind::Invalid,
            invalid: None,
        }
    }

    /// Creates the error for a text that is well formed but not supported.
    pub(crate) fn unsupported(place: Range<usize>, reason: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Unsupported, ..Self::new(place, reason) }
    }

    pub(crate) fn invalid(place: Range<usize>, error: ShapeError) -> Self {
        let reason = error.to_string();
        Self { invalid: Some(Box::new(error)), ..Self::new(place, reason) }
    }

    /// Moves the position of the error by `by` bytes, for a text that begins at byte `by` of a
    /// longer text.
    #[must_use]
    pub(crate) fn shifted(self, by: usize) -> Self {
        Self { offset: self.offset + by, ..self }
    }

    /// Returns the offset of the first wrong byte, or the length of the text if the text ends too
    /// early.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Returns the number of wrong bytes, or 0 if something is missing.
    #[must_use]
    #[allow(clippy::len_without_is_empty)] // the length of a range, not of a collection
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the message without the position.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Returns the kind of failure: the text is either invalid, or valid but not supported.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the error of the shape if the text is well formed and only the shape breaks a rule,
    /// and otherwise `None`.
    pub(crate) fn invalid_shape(&self) -> Option<&ShapeError> {
        self.invalid.as_deref()
    }
}
