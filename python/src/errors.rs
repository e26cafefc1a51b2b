//! The exceptions of the package, and the conversion of the library's errors to them.

use std::fmt::Display;

use pyo3::{
    create_exception,
    exceptions::{PyNotImplementedError, PyRuntimeError, PyValueError},
    prelude::*,
};
use stridec::{Error, ErrorKind};

create_exception!(
    stridec,
    InvalidInput,
    PyValueError,
    "What was given is wrong. `field` is the path of the part that is, `value` what was given there; either may be None."
);
create_exception!(
    stridec,
    Unsupported,
    PyNotImplementedError,
    "What was given is valid, but more than stridec or the target does. It has `field` and `value` as InvalidInput has."
);
create_exception!(
    stridec,
    DeviceError,
    PyRuntimeError,
    "There is no device, or a run on one failed. It has `field` and `value` as InvalidInput has."
);

/// Returns the exception for an error of the library.
pub(crate) fn raised(error: impl Into<Error>) -> PyErr {
    let error = error.into();
    exception(error.kind(), error.to_string(), field(&error), None)
}

/// Returns the exception for an error of the library. Its field is `argument` if the error names no
/// field.
pub(crate) fn about(argument: &str, error: impl Into<Error>) -> PyErr {
    let error = error.into();
    let field = field(&error).or_else(|| Some(argument.to_owned()));
    exception(error.kind(), error.to_string(), field, None)
}

/// Returns the exception for an error of the library in an argument, whose name comes first in the
/// message. The exception has the field of the error, if it names one.
pub(crate) fn at(argument: &str, error: impl Into<Error>) -> PyErr {
    let error = error.into();
    let message = error.to_string();
    if names(&message, argument) {
        return about(argument, error);
    }
    let field = field(&error).or_else(|| Some(argument.to_owned()));
    exception(error.kind(), format!("{argument}: {message}"), field, None)
}

/// Returns true if a message is about a field, or a part of it: if the whole name comes first.
pub(crate) fn names(message: &str, field: &str) -> bool {
    message.strip_prefix(field).is_some_and(|rest| rest.starts_with(['.', '[', ':', ' ']))
}

/// Returns the exception for an error of the library in an argument. The error's own field is part
/// of the message alone.
pub(crate) fn inside(argument: &str, error: impl Into<Error>) -> PyErr {
    let error = error.into();
    let message = format!("{argument}: {error}");
    exception(error.kind(), message, Some(argument.to_owned()), None)
}

/// Returns the exception for an error of the library whose field starts with one of the library's
/// own names. The name is replaced in the field and in the message.
pub(crate) fn renamed(error: impl Into<Error>, from: &str, to: &str) -> PyErr {
    let error = error.into();
    match error.to_string().strip_prefix(from) {
        None => raised(error),
        Some(rest) => {
            let message = format!("{to}{rest}");
            let field = message.split(": ").next().map(str::to_owned);
            exception(error.kind(), message, field, None)
        }
    }
}

/// Returns the exception for an invalid argument.
pub(crate) fn invalid(field: &str, expected: &str, given: impl Display) -> PyErr {
    expected_of(ErrorKind::Invalid, field, expected, given.to_string())
}

/// Returns the exception for an argument that is valid but not supported.
pub(crate) fn unsupported(field: &str, expected: &str, given: impl Display) -> PyErr {
    expected_of(ErrorKind::Unsupported, field, expected, given.to_string())
}

fn expected_of(kind: ErrorKind, field: &str, expected: &str, given: String) -> PyErr {
    let message = format!("{field}: expected {expected}, got {given}");
    exception(kind, message, Some(field.to_owned()), Some(given))
}

/// Returns the exception with all its attributes. If no value is given, it is the one that the
/// message quotes.
fn exception(
    kind: ErrorKind,
    message: String,
    field: Option<String>,
    value: Option<String>,
) -> PyErr {
    let value = value.or_else(|| quoted(&message).map(str::to_owned));
    let raised = match kind {
        ErrorKind::Invalid => InvalidInput::new_err(message),
        ErrorKind::Unsupported => Unsupported::new_err(message),
        _ => DeviceError::new_err(message),
    };
    Python::attach(|py| {
        let instance = raised.value(py);
        let set = instance.setattr("field", field).and_then(|()| instance.setattr("value", value));
        match set {
            Ok(()) => raised,
            Err(error) => error,
        }
    })
}

/// Returns an exception of the package with more text at the end of its message.
pub(crate) fn with_advice(raised: PyErr, advice: &str) -> PyErr {
    Python::attach(|py| {
        let message = format!("{}{advice}", raised.value(py));
        match raised.value(py).setattr("args", (message,)) {
            Ok(()) => raised,
            Err(error) => error,
        }
    })
}

/// Returns the path of the field that an error names.
fn field(error: &Error) -> Option<String> {
    error.field().map(|field| field.to_string()).filter(|field| !field.is_empty())
}

/// Returns the part of a message that quotes the given value, or `None` if the message quotes none.
/// The value comes after `got`, and ends before a position or advice.
fn quoted(message: &str) -> Option<&str> {
    const ENDS: [&str; 6] = ["; ", ", which", " (at byte ", " in the ", " in dimension ", " twice"];
    let (_, given) = message.rsplit_once(", got ")?;
    let end = ENDS.iter().filter_map(|end| given.find(end)).min().unwrap_or(given.len());
    Some(given[..end].trim_matches('`'))
}
