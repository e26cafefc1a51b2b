//! Parameters, constants, tuples, calls, and opcodes that return their operand.

use super::{
    Inputs, Result,
    checks::{dimension, mismatch},
};
use crate::{
    hlo::{InstructionError, Literal},
    shape::{ElementType, FieldPath, Shape, queries},
};

pub(super) fn parameter(inputs: &Inputs<'_>) -> Result<Shape> {
    inputs.expect(0)?;
    inputs.declared().cloned()
}

pub(super) fn constant(literal: &Literal, inputs: &Inputs<'_>) -> Result<Shape> {
    inputs.expect(0)?;
    Ok(literal.shape().clone())
}

/// Infers the shape of an opcode that returns its only operand.
pub(super) fn identity(inputs: &Inputs<'_>) -> Result<Shape> {
    inputs.expect(1)?;
    Ok(inputs.operands[0].clone())
}

pub(super) fn tuple(inputs: &Inputs<'_>) -> Result<Shape> {
    // Reuse the declared shape. A large tuple may be an operand of many instructions, and
    // rebuilding its shape for each of them would take too long.
    let Some(declared) = inputs.declared else {
        return Ok(Shape::tuple(inputs.operands.iter().copied().cloned())?);
    };
    let parts = declared.tuple_shapes();
    let fits = declared.element_type() == ElementType::Tuple
        && parts.len() == inputs.operands.len()
        && parts.iter().zip(inputs.operands).all(|(part, given)| queries::compatible(part, given));
    if fits {
        return Ok(declared.clone());
    }
    Err(mismatch("a tuple of the operands' shapes", declared))
}

pub(super) fn element(index: usize, inputs: &Inputs<'_>) -> Result<Shape> {
    inputs.expect(1)?;
    let tuple = inputs.operands[0];
    if tuple.element_type() != ElementType::Tuple {
        return Err(inputs.operand_error(0, "a tuple"));
    }
    let parts = tuple.tuple_shapes();
    dimension(|| FieldPath::new("tuple_index"), index, parts.len())?;
    Ok(parts[index].clone())
}

pub(super) fn call(computation: usize, inputs: &Inputs<'_>) -> Result<Shape> {
    let callee = inputs.callee(computation)?;
    inputs.expect(callee.parameters().len())?;
    for (number, (given, expected)) in
        inputs.operands.iter().zip(callee.parameter_shapes()).enumerate()
    {
        if !queries::compatible(expected, given) {
            let expected =
                format!("{}, as parameter {number} of the callee", expected.without_layout());
            return Err(inputs.operand_error(number, expected));
        }
    }
    Ok(callee.root_shape().clone())
}

pub(super) fn other(computations: &[usize], inputs: &Inputs<'_>) -> Result<Shape> {
    let known = inputs.computations.len();
    match computations.iter().enumerate().find(|(_, callee)| **callee >= known) {
        Some((i, &callee)) => Err(unknown_computation(i, callee)),
        None => inputs.declared().cloned(),
    }
}

/// Returns the error for a called computation that does not exist.
pub(super) fn unknown_computation(callee: usize, computation: usize) -> InstructionError {
    let field = FieldPath::new("called_computation_ids").index(callee);
    let accepted = "a computation before this one";
    InstructionError::Unknown { field, given: computation.to_string(), accepted }
}
