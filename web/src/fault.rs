//! An error in the reader's text, and its position.

use std::{fmt::Display, ops::Range};

use serde_json::{Value, json};
#[cfg(feature = "package")]
use stridec::program::ProgramError;
use stridec::{Error, ErrorKind, hlo::HloError, shape::ParseError};

/// A field of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    /// No field, or several fields.
    None,
    From,
    To,
    Offsets,
    Sizes,
    Strides,
    Module,
    Target,
    Table,
    #[cfg(feature = "package")]
    Index,
    #[cfg(feature = "package")]
    As,
}

impl Field {
    /// Returns the name that the page has for the field.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::From => "from",
            Self::To => "to",
            Self::Offsets => "offsets",
            Self::Sizes => "sizes",
            Self::Strides => "strides",
            Self::Module => "module",
            Self::Target => "target",
            Self::Table => "table",
            #[cfg(feature = "package")]
            Self::Index => "index",
            #[cfg(feature = "package")]
            Self::As => "as",
        }
    }

    /// Returns the field of the page for the path in an operation's error.
    fn of_path(path: &str) -> Self {
        for (start, field) in [
            ("source", Self::From),
            ("destination", Self::To),
            ("window_offsets", Self::Offsets),
            ("window_sizes", Self::Sizes),
            ("window_strides", Self::Strides),
            ("table", Self::Table),
            ("target", Self::Target),
        ] {
            if path.starts_with(start) {
                return field;
            }
        }
        Self::None
    }
}

/// An error in the form that the page shows.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    field: Field,
    kind: ErrorKind,
    message: String,
    /// The position in the field's text, or `None` if it is not known. It is counted in UTF-16
    /// units, as in scripts.
    place: Option<Range<usize>>,
}

impl Fault {
    pub(crate) fn new(field: Field, message: impl Display) -> Self {
        Self { field, kind: ErrorKind::Invalid, message: message.to_string(), place: None }
    }

    /// Returns the fault for a question that is valid, but whose answer the page cannot use.
    #[cfg(feature = "package")]
    pub(crate) fn unsupported(field: Field, message: impl Display) -> Self {
        Self { kind: ErrorKind::Unsupported, ..Self::new(field, message) }
    }

    /// Returns the fault for an error, with the error's kind.
    pub(crate) fn error(field: Field, error: &Error) -> Self {
        Self { kind: error.kind(), ..Self::new(field, error) }
    }

    /// Adds the position of the error. `bytes` is the position in `text`, in bytes.
    pub(crate) fn at(mut self, text: &str, bytes: Range<usize>) -> Self {
        let units = |end: usize| {
            let end = (0..=end.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
            text[..end.unwrap_or(0)].encode_utf16().count()
        };
        self.place = Some(units(bytes.start)..units(bytes.end));
        self
    }

    /// Returns the fault for a notation that does not parse.
    pub(crate) fn notation(field: Field, text: &str, error: &ParseError) -> Self {
        let place = error.offset()..error.offset() + error.len();
        Self { kind: error.kind(), ..Self::new(field, error.reason()) }.at(text, place)
    }

    /// Returns the fault for an operation that is refused.
    pub(crate) fn operation(error: &Error) -> Self {
        let path = error.field().map(|field| field.to_string()).unwrap_or_default();
        Self::error(Field::of_path(&path), error)
    }

    /// Returns the fault for a module that does not compile: a fault of the target if the error is
    /// about it, and otherwise of the module.
    #[cfg(feature = "package")]
    pub(crate) fn program(error: ProgramError) -> Self {
        let about = match &error {
            ProgramError::Kernel { error, .. } => error.field(),
            _ => None,
        };
        let field = match about.map(|field| Field::of_path(&field.to_string())) {
            Some(Field::Target) => Field::Target,
            _ => Field::Module,
        };
        Self::error(field, &error.into())
    }

    /// Returns the fault for a module that is refused. `text` is the text of the module.
    pub(crate) fn hlo(text: &str, error: &HloError) -> Self {
        let fault = Self { kind: error.kind(), ..Self::new(Field::Module, error) };
        let (line, column) = match error {
            HloError::Text { line, column, .. } | HloError::NotSupported { line, column, .. } => {
                (*line, Some(*column))
            }
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

    /// Returns the fault as JSON.
    pub(crate) fn json(&self) -> Value {
        let place = self.place.as_ref().map(|place| [place.start, place.end]);
        let code = match self.kind {
            ErrorKind::Invalid => "INVALID",
            ErrorKind::Unsupported => "UNSUPPORTED",
            _ => "FAILED",
        };
        json!({ "code": code, "field": self.field.name(), "message": self.message, "place": place })
    }
}
