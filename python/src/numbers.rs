//! Short sequences of numbers: extents, indices, offsets.

use pyo3::{conversion::FromPyObjectOwned, prelude::*};
use stridec::shape::MAX_RANK;

use crate::errors::invalid;

/// Returns the numbers of a sequence, which may have one for each possible dimension. A longer
/// sequence is refused before it is read to its end, so that it takes no memory.
pub(crate) fn numbers<'py, T: FromPyObjectOwned<'py>>(
    given: &Bound<'py, PyAny>,
    argument: &str,
) -> PyResult<Vec<T>> {
    let expected = format!("at most {MAX_RANK} whole numbers in range");
    let refused = || invalid(argument, &expected, shown(given));
    let mut numbers = Vec::new();
    for number in given.try_iter().map_err(|_| refused())? {
        if numbers.len() == MAX_RANK {
            return Err(refused());
        }
        let number = number?.extract::<T>().map_err(|_| refused())?;
        numbers.push(number);
    }
    Ok(numbers)
}

/// Returns an argument as text for a message: its `repr` if that is short, and otherwise its type.
pub(crate) fn shown(given: &Bound<'_, PyAny>) -> String {
    match given.repr() {
        Ok(text) if text.len().is_ok_and(|length| length <= 80) => text.to_string(),
        _ => given.get_type().name().map_or_else(|_| "an object".into(), |name| name.to_string()),
    }
}
