//! Short sequences of numbers: extents, indices, offsets.

use pyo3::{conversion::FromPyObjectOwned, prelude::*, types::PyString};
use stridec::shape::MAX_RANK;

use crate::errors::invalid;

/// A type of whole numbers.
pub(crate) trait Number<'py>: FromPyObjectOwned<'py> {
    /// The numbers that it has, for messages.
    const RANGE: &'static str;
}

impl Number<'_> for u64 {
    const RANGE: &'static str = "a whole number from 0 to 2^64-1";
}

impl Number<'_> for usize {
    const RANGE: &'static str = u64::RANGE;
}

impl Number<'_> for i64 {
    const RANGE: &'static str = "a whole number from -2^63 to 2^63-1";
}

/// Returns a whole number.
pub(crate) fn number<'py, T: Number<'py>>(
    given: &Bound<'py, PyAny>,
    argument: &str,
) -> PyResult<T> {
    given.extract::<T>().map_err(|_| invalid(argument, T::RANGE, shown(given)))
}

/// Returns the number of columns of a drawing.
pub(crate) fn columns(given: &Bound<'_, PyAny>) -> PyResult<usize> {
    number(given, "columns")
}

/// Returns a number of devices, or `None` for None.
pub(crate) fn devices(given: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    if given.is_none() { Ok(None) } else { number(given, "devices").map(Some) }
}

/// Returns the numbers of a sequence, which may have one for each possible dimension. A longer
/// sequence is refused before it is read to its end, so that it takes no memory.
pub(crate) fn numbers<'py, T: Number<'py>>(
    given: &Bound<'py, PyAny>,
    argument: &str,
) -> PyResult<Vec<T>> {
    let expected = format!("a sequence of at most {MAX_RANK} whole numbers");
    let refused = || invalid(argument, &expected, shown(given));
    let mut numbers = Vec::new();
    for number in given.try_iter().map_err(|_| refused())? {
        if numbers.len() == MAX_RANK {
            return Err(refused());
        }
        let place = numbers.len();
        numbers.push(self::number(&number?, &format!("{argument}[{place}]"))?);
    }
    Ok(numbers)
}

/// The maximum length of an argument in a message, in characters.
const MOST_SHOWN: usize = 80;

/// Returns an argument as text for a message: its `repr` if that is short, the start of a long
/// string, and otherwise its type.
pub(crate) fn shown(given: &Bound<'_, PyAny>) -> String {
    match given.repr() {
        Ok(text) if text.len().is_ok_and(|length| length <= MOST_SHOWN) => text.to_string(),
        Ok(text) if given.is_instance_of::<PyString>() => {
            text.to_string_lossy().chars().take(MOST_SHOWN).chain(['…']).collect()
        }
        _ => given.get_type().name().map_or_else(|_| "an object".into(), |name| name.to_string()),
    }
}

/// Returns a number with its noun, in the singular or the plural.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
