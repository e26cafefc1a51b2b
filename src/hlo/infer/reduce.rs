//! The reduce opcode, which combines all elements along some of the dimensions.

use super::{Inputs, Result, checks::distinct};
use crate::{
    hlo::InstructionError,
    shape::{FieldPath, Shape},
};

/// Infers the shape of a reduce: the dimensions that are not reduced, with the element type that
/// the combining computation returns.
pub(super) fn reduce(
    dimensions: &[usize],
    computation: usize,
    inputs: &Inputs<'_>,
) -> Result<Shape> {
    inputs.expect(2)?;
    let (array, start) = (inputs.array(0)?, inputs.array(1)?);
    if start.rank() != 0 {
        return Err(inputs.operand_error(1, "a scalar"));
    }
    distinct(|| FieldPath::new("dimensions"), dimensions, array.rank())?;
    let callee = inputs.callee(computation)?;
    let shapes: Vec<&Shape> = callee.parameter_shapes().chain([callee.root_shape()]).collect();
    if shapes.len() != 3 || shapes.iter().any(|shape| !shape.is_array() || shape.rank() != 0) {
        return Err(InstructionError::Callee {
            expected: "a computation of two scalars that gives a scalar".to_owned(),
            given: callee.name().to_owned(),
        });
    }
    let kept = (0..array.rank()).filter(|dimension| !dimensions.contains(dimension));
    let extents = kept.map(|dimension| array.extents[dimension]);
    Ok(Shape::new(callee.root_shape().element_type(), extents.collect::<Vec<_>>(), None)?)
}
