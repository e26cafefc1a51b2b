//! The error of parsing: a reason and a place in the text.

use std::ops::Range;

use crate::{error_kind::ErrorKind, shape::ShapeError, text::TextError};

/// An error in a notation, with its place.
///
/// It prints as one line. [`offset`](Self::offset) and [`len`](Self::len) are the place for a
/// caret.
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
    fn in_text(_: &str, place: Range<usize>, reason: String) -> Self {
        Self::new(place, reason)
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

    /// Makes the error of a well-formed text that stridec does not support.
    pub(crate) fn unsupported(place: Range<usize>, reason: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Unsupported, ..Self::new(place, reason) }
    }

    pub(crate) fn invalid(place: Range<usize>, error: ShapeError) -> Self {
        let reason = error.to_string();
        Self { invalid: Some(Box::new(error)), ..Self::new(place, reason) }
    }

    /// Returns the error for a text in which this one starts at byte `by`.
    #[must_use]
    pub(crate) fn shifted(self, by: usize) -> Self {
        Self { offset: self.offset + by, ..self }
    }

    /// The first offending byte of the notation; the length of the notation if it ends too early.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The number of offending bytes; 0 if something is missing.
    #[must_use]
    #[allow(clippy::len_without_is_empty)] // a length, of no collection
    pub fn len(&self) -> usize {
        self.len
    }

    /// The message, without the place.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The kind of failure: an invalid text, or a well-formed one that stridec does not support.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The rule that the shape breaks, if the notation itself is well formed.
    pub(crate) fn invalid_shape(&self) -> Option<&ShapeError> {
        self.invalid.as_deref()
    }
}
