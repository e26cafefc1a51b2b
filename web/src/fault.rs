//! A mistake in the reader's text, and its position.

use std::{fmt::Display, ops::Range};

use serde_json::{Value, json};
use stridec::{Error, hlo::HloError, shape::ParseError};

/// A field of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    /// No field, or several.
    None,
    From,
    To,
    Offsets,
    Sizes,
    Strides,
    Module,
}

impl Field {
    /// As the page calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::From => "from",
            Self::To => "to",
            Self::Offsets => "offsets",
            Self::Sizes => "sizes",
            Self::Strides => "strides",
            Self::Module => "module",
        }
    }

    /// The field that the path of an operation's error is about.
    fn of_path(path: &str) -> Self {
        for (start, field) in [
            ("source", Self::From),
            ("destination", Self::To),
            ("window_offsets", Self::Offsets),
            ("window_sizes", Self::Sizes),
            ("window_strides", Self::Strides),
        ] {
            if path.starts_with(start) {
                return field;
            }
        }
        Self::None
    }
}

/// An error, as the page shows it.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    field: Field,
    message: String,
    /// UTF-16 units of the field's text, as scripts count them.
    place: Option<Range<usize>>,
}

impl Fault {
    pub(crate) fn new(field: Field, message: impl Display) -> Self {
        Self { field, message: message.to_string(), place: None }
    }

    /// A mistake in some bytes of a field's text.
    pub(crate) fn at(mut self, text: &str, bytes: Range<usize>) -> Self {
        let units = |end: usize| {
            let end = (0..=end.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
            text[..end.unwrap_or(0)].encode_utf16().count()
        };
        self.place = Some(units(bytes.start)..units(bytes.end));
        self
    }

    /// A notation that does not parse.
    pub(crate) fn notation(field: Field, text: &str, error: &ParseError) -> Self {
        let place = error.offset()..error.offset() + error.len();
        Self::new(field, error.reason()).at(text, place)
    }

    /// An operation that is refused.
    pub(crate) fn operation(error: &Error) -> Self {
        let path = error.field().map(|field| field.to_string()).unwrap_or_default();
        Self::new(Field::of_path(&path), error)
    }

    /// A module of this text that is refused.
    pub(crate) fn hlo(text: &str, error: &HloError) -> Self {
        let fault = Self::new(Field::Module, error);
        let (line, column) = match error {
            HloError::Text { line, column, .. } => (*line, Some(*column)),
            HloError::Line { line, .. } => (*line, None),
            _ => return fault,
        };
        let start: usize =
            text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
        let length = text[start..].find('\n').unwrap_or(text.len() - start);
        let bytes = match column {
            Some(column) => {
                let at = start + column.saturating_sub(1);
                at..at + 1
            }
            None => start..start + length,
        };
        fault.at(text, bytes)
    }

    /// As the page takes it.
    pub(crate) fn json(&self) -> Value {
        let place = self.place.as_ref().map(|place| [place.start, place.end]);
        json!({ "field": self.field.name(), "message": self.message, "place": place })
    }
}
