//! XLA's own notation.

use super::{
    Tensor, TensorForm, chain,
    cursor::{Cursor, Result},
    tensor::broken_rule,
};
use crate::shape::{Notation, ParseError, Shape};

/// Parses a shape in XLA's notation, or an array with explicit strides.
pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Tensor> {
    let start = cursor.position();
    let notation: Notation =
        cursor.rest().parse().map_err(|error: ParseError| error.shifted(start))?;
    Tensor::try_from(notation)
        .map_err(|error| broken_rule(start..start + cursor.rest().len(), error.kind(), error))
}

pub(super) fn write(array: &Tensor) -> std::result::Result<String, String> {
    Ok(shape(array)?.to_string())
}

/// Returns an XLA shape with the same offsets as the array. The shape has an explicit layout, and
/// it does not use TensorFlow 1.x's padding.
///
/// # Errors
///
/// Returns the reason, in words, if no XLA layout describes the array.
pub(super) fn shape(array: &Tensor) -> std::result::Result<Shape, String> {
    if let TensorForm::Shape(shape) = array.form()
        && shape.layout().is_none_or(|layout| !layout.has_padding())
    {
        return Ok(shape.clone().with_default_layouts());
    }
    let tensor = array.descriptor();
    let layout = chain::layout(tensor)?;
    Shape::new(tensor.element_type(), tensor.sizes().iter().copied(), layout)
        .map_err(|error| error.to_string())
}
