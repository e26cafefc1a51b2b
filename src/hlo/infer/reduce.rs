//! Infers the shapes of the two opcodes that apply a computation to elements along a dimension:
//! reduce, whose computation combines two elements, and sort, whose computation compares two.

use super::{
    Inputs, Result,
    checks::{dimension, distinct},
};
use crate::{
    hlo::InstructionError,
    shape::{ElementType, FieldPath, Shape, queries},
};

/// Infers the shape of a reduce of one array. The result has all dimensions of the operand except
/// the reduced ones, and the element type that the computation returns.
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
    let shapes: Vec<&Shape> = callee.parameters.into_iter().chain([callee.result]).collect();
    if shapes.len() != 3 || shapes.iter().any(|shape| !shape.is_array() || shape.rank() != 0) {
        return Err(InstructionError::Callee {
            expected: "a computation of two scalars that gives a scalar".to_owned(),
            given: callee.name.to_owned(),
        });
    }
    reduced(array.shape, dimensions, callee.result.element_type())
}

/// Returns an array's shape without the reduced dimensions and with the given element type.
pub(in crate::hlo) fn reduced(
    array: &Shape,
    dimensions: &[usize],
    element_type: ElementType,
) -> Result<Shape> {
    let kept = array.dimensions().iter().enumerate().filter(|(i, _)| !dimensions.contains(i));
    Ok(Shape::array(element_type, kept.map(|(_, &extent)| extent), None)?)
}

/// Infers the shape of a sort. It is the operand's shape, or a tuple of all operands' shapes if
/// there are several. The computation takes two scalars for each operand, and returns a `pred`.
pub(super) fn sort(along: usize, computation: usize, inputs: &Inputs<'_>) -> Result<Shape> {
    if inputs.operands.is_empty() {
        let expected = "at least 1".to_owned();
        return Err(InstructionError::OperandCount { expected, given: 0 });
    }
    let first = inputs.array(0)?;
    dimension(|| FieldPath::new("dimensions").index(0), along, first.rank())?;
    let mut scalars = Vec::new();
    let mut parts = Vec::new();
    for operand in 0..inputs.operands.len() {
        let array = inputs.array(operand)?;
        if array.extents != first.extents {
            let expected = first.with_type(array.element_type)?;
            return Err(inputs.operand_error(operand, expected.to_string()));
        }
        scalars.extend(vec![array.with_extents([])?; 2]);
        parts.push(array.with_type(array.element_type)?);
    }
    scalars.push(Shape::new(ElementType::Pred, [], None)?);
    let callee = inputs.callee(computation)?;
    let shapes: Vec<&Shape> = callee.parameters.into_iter().chain([callee.result]).collect();
    let fits = shapes.len() == scalars.len()
        && shapes
            .iter()
            .zip(&scalars)
            .all(|(given, expected)| queries::compatible(given, expected));
    if !fits {
        return Err(InstructionError::Callee {
            expected: "a computation of two scalars of each operand that gives a pred".to_owned(),
            given: callee.name.to_owned(),
        });
    }
    if parts.len() == 1 { Ok(parts.remove(0)) } else { Ok(Shape::tuple(parts)?) }
}
