//! XLA's own notation.

use super::{
    Array, Form,
    array::broken_rule,
    chain,
    cursor::{Cursor, Result},
};
use crate::shape::{Notation, ParseError, Shape};

/// Reads a shape, or an array with explicit strides.
pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Array> {
    let start = cursor.position();
    let notation: Notation =
        cursor.rest().parse().map_err(|error: ParseError| error.shifted(start))?;
    Array::try_from(notation)
        .map_err(|error| broken_rule(start..start + cursor.rest().len(), error.kind(), error))
}

pub(super) fn write(array: &Array) -> std::result::Result<String, String> {
    Ok(shape(array)?.to_string())
}

/// Returns the XLA shape with the offsets of the array, with an explicit layout and without legacy
/// padding.
///
/// # Errors
///
/// Returns the reason why no XLA layout describes the array.
pub(super) fn shape(array: &Array) -> std::result::Result<Shape, String> {
    if let Form::Shape(shape) = array.form()
        && shape.layout().is_none_or(|layout| !layout.has_padding())
    {
        return Ok(shape.clone().with_default_layouts());
    }
    let tensor = array.descriptor();
    let layout = chain::layout(tensor)?;
    Shape::new(tensor.element_type(), tensor.sizes().iter().copied(), layout)
        .map_err(|error| error.to_string())
}
