//! Infers the shapes of opcodes that compute no elements: parameters, constants, tuples, calls, and
//! opcodes that return their operand.

use super::{
    Inputs, Result,
    checks::{at_most, bounds_of_either, dimension, mismatch},
};
use crate::{
    hlo::{IdentityCall, InstructionError, Literal},
    shape::{ElementType, FieldPath, Shape, queries},
};

/// Infers the shape of a parameter, which is the declared shape.
pub(super) fn parameter(inputs: &Inputs<'_>) -> Result<Shape> {
    inputs.expect(0)?;
    inputs.declared().cloned()
}

/// Infers the shape of a constant, which is the shape of its value.
pub(super) fn constant(literal: &Literal, inputs: &Inputs<'_>) -> Result<Shape> {
    inputs.expect(0)?;
    Ok(literal.shape().clone())
}

/// Infers the shape of an opcode that returns its only operand unchanged.
pub(super) fn identity(inputs: &Inputs<'_>) -> Result<Shape> {
    inputs.expect(1)?;
    Ok(inputs.operands[0].clone())
}

/// Infers the shape of a custom call that returns its only operand. The call `Pin` wraps the shape
/// of the operand in a buffer, and `Unpin` unwraps it.
pub(super) fn identity_call(call: IdentityCall, inputs: &Inputs<'_>) -> Result<Shape> {
    inputs.expect(1)?;
    let operand = inputs.operands[0];
    match (call, operand.tuple_shapes()) {
        (IdentityCall::Pin, _) => Ok(Shape::buffer(operand.clone())?),
        (IdentityCall::Unpin, [content]) if operand.element_type() == ElementType::Buffer => {
            Ok(content.clone())
        }
        (IdentityCall::Unpin, _) => Err(inputs.operand_error(0, "a buffer")),
        _ => Ok(operand.clone()),
    }
}

/// Infers the shape of an add-dependency, which is the shape of operand 0. Operand 1 must be a
/// token.
pub(super) fn add_dependency(inputs: &Inputs<'_>) -> Result<Shape> {
    inputs.expect(2)?;
    if inputs.operands[1].element_type() != ElementType::Token {
        return Err(inputs.operand_error(1, "a token"));
    }
    Ok(inputs.operands[0].clone())
}

/// Infers the shape of a conditional, which is the shape that all its branches return. Each branch
/// takes one operand.
pub(super) fn conditional(computations: &[usize], inputs: &Inputs<'_>) -> Result<Shape> {
    let [chooser, operands @ ..] = inputs.operands else {
        let expected = "at least 2".to_owned();
        return Err(InstructionError::OperandCount { expected, given: 0 });
    };
    let count = computations.len();
    let is_scalar = chooser.is_array() && chooser.rank() == 0;
    let counts = match chooser.element_type() {
        ElementType::Pred if is_scalar => 2..=2,
        ElementType::S32 if is_scalar => 1..=usize::MAX,
        _ => return Err(inputs.operand_error(0, "pred[] or s32[]")),
    };
    if !counts.contains(&count) {
        return Err(InstructionError::Callee {
            expected: if counts == (2..=2) { "2 computations" } else { "computations" }.to_owned(),
            given: count.to_string(),
        });
    }
    if operands.len() != count {
        let expected = format!("{}, one more than computations", count + 1);
        return Err(InstructionError::OperandCount { expected, given: inputs.operands.len() });
    }
    let mut result = inputs.callee(computations[0])?.result.clone();
    for (number, (&computation, &operand)) in computations.iter().zip(operands).enumerate() {
        let callee = inputs.callee(computation)?;
        let takes = |parameter| queries::compatible(parameter, operand);
        let fits = matches!(callee.parameters[..], [parameter] if takes(parameter))
            && queries::compatible(callee.result, &result);
        if !fits {
            let [operand, result] = [operand, &result].map(Shape::without_layout);
            return Err(InstructionError::Callee {
                expected: format!("a computation ({operand}) -> {result} as branch {number}"),
                given: callee.name.to_owned(),
            });
        }
        result = bounded_as_either(&result, callee.result)?;
    }
    Ok(result)
}

/// Merges the shapes that two branches return, which have equal extents or bounds: returns `one`,
/// but if both are arrays, an extent that is bounded in either of them is bounded.
fn bounded_as_either(one: &Shape, other: &Shape) -> Result<Shape> {
    if !one.is_array() || one.dimensions() == other.dimensions() {
        return Ok(one.clone());
    }
    let dimensions = bounds_of_either(one, other);
    Ok(Shape::array(one.element_type(), dimensions, one.layout().cloned())?)
}

/// Infers the shape of the start of an asynchronous call. It is a tuple of three or more elements:
/// the tuple of operands, the result, and elements that XLA uses to track the call, which are taken
/// from the declared shape.
pub(super) fn async_start(computation: usize, inputs: &Inputs<'_>) -> Result<Shape> {
    let operands = Shape::tuple(inputs.operands.iter().copied().cloned())?;
    let callee = inputs.callee(computation)?;
    // In XLA, an async-update can pass the operands that the start omits. So if the start has too
    // few operands, they cannot be checked here.
    let result = if inputs.operands.len() < callee.parameters.len() {
        callee.result.clone()
    } else {
        call(computation, inputs)?
    };
    started(vec![operands, result], inputs)
}

/// Infers the shape of an async-update, which is the shape of its first operand. If the update
/// passes further operands, that shape changes, and the declared shape is used without a check.
pub(super) fn async_update(inputs: &Inputs<'_>) -> Result<Shape> {
    match (inputs.operands, inputs.declared) {
        ([_], _) => identity(inputs),
        ([_, ..], Some(declared)) => Ok(declared.clone()),
        _ => inputs.expect(1).map(|()| unreachable!("there is not one operand")),
    }
}

/// Infers the shape of a copy-start, which is a tuple of the copy, the operand and an element that
/// XLA uses to track the copy.
pub(super) fn copy_start(inputs: &Inputs<'_>) -> Result<Shape> {
    inputs.expect(1)?;
    started(vec![inputs.operands[0].clone(); 2], inputs)
}

/// Returns the shape of a tuple that begins with the two elements `parts`. The other elements are
/// not checked, because XLA does not fix their types: they are taken from the declared shape. If
/// there is none, the only other element is a scalar `u32`.
fn started(mut parts: Vec<Shape>, inputs: &Inputs<'_>) -> Result<Shape> {
    match inputs.declared {
        Some(declared) => parts.extend(declared.tuple_shapes().iter().skip(2).cloned()),
        None => parts.push(Shape::new(ElementType::U32, [], None)?),
    }
    Ok(Shape::tuple(parts)?)
}

/// Infers the shape of a get-dimension-size, which is a scalar `s32`. The extent must fit in this
/// type.
pub(super) fn dimension_size(dimension: usize, inputs: &Inputs<'_>) -> Result<Shape> {
    inputs.expect(1)?;
    let array = inputs.array(0)?;
    let field = || FieldPath::new("dimensions").index(0);
    self::dimension(field, dimension, array.rank())?;
    at_most(field_of_size, array.extents[dimension], i32::MAX.unsigned_abs().into())?;
    Ok(Shape::new(ElementType::S32, [], None)?)
}

/// Returns the path of the operand of a get-dimension-size, for errors.
fn field_of_size() -> FieldPath {
    FieldPath::new("operand_ids").index(0)
}

/// Infers the shape of a tuple of the operands.
pub(super) fn tuple(inputs: &Inputs<'_>) -> Result<Shape> {
    // Reuse the declared shape instead of building an equal one. A large tuple may be the operand
    // of many instructions, and building its shape again for each of them would take too long.
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

/// Infers the shape of an instruction that returns element `index` of a tuple, its only operand.
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

/// Infers the shape of a call, which is the shape that the computation returns. The operands must
/// have the shapes of its parameters.
pub(super) fn call(computation: usize, inputs: &Inputs<'_>) -> Result<Shape> {
    let callee = inputs.callee(computation)?;
    inputs.expect(callee.parameters.len())?;
    for (number, (given, expected)) in inputs.operands.iter().zip(&callee.parameters).enumerate() {
        if !queries::compatible(expected, given) {
            let expected =
                format!("{}, as parameter {number} of the callee", expected.without_layout());
            return Err(inputs.operand_error(number, expected));
        }
    }
    Ok(callee.result.clone())
}

/// Infers the shape of an opcode that the compiler does not support, which is the declared shape.
/// Only the called computations are checked.
pub(super) fn other(computations: &[usize], inputs: &Inputs<'_>) -> Result<Shape> {
    let is_unknown = |callee: usize| inputs.callees.signature(callee).is_none();
    match computations.iter().enumerate().find(|(_, callee)| is_unknown(**callee)) {
        Some((i, &callee)) => Err(unknown_computation(i, callee)),
        None => inputs.declared().cloned(),
    }
}

/// Returns the error for a call of a computation that does not exist. `callee` is the position of
/// the invalid index in the instruction's list of called computations, and `computation` is that
/// index.
pub(super) fn unknown_computation(callee: usize, computation: usize) -> InstructionError {
    let field = FieldPath::new("called_computation_ids").index(callee);
    let accepted = "a computation before this one";
    InstructionError::Unknown { field, given: computation.to_string(), accepted }
}
