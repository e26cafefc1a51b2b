//! Infers the shapes of opcodes that compute each element of the result from the corresponding
//! elements of the operands, such as `add` and `convert`.

use super::{
    Inputs, Result,
    checks::{is_complex, is_integer},
    is_float,
};
use crate::{
    hlo::{Binary, Unary},
    shape::{ElementType, Shape, queries},
};

/// Infers the shape of a convert, which changes the element type. As in XLA, complex numbers can
/// only be converted to complex numbers.
pub(super) fn convert(inputs: &Inputs<'_>) -> Result<Shape> {
    inputs.expect(1)?;
    let (from, to) = (inputs.array(0)?, inputs.declared_array()?);
    if is_complex(from.element_type) && !is_complex(to.element_type) {
        let expected = "an array of numbers that are not complex, as the result";
        return Err(inputs.operand_error(0, expected));
    }
    from.with_type(to.element_type)
}

/// Infers the shape of a compare. It is an array of `pred` with the dimensions of the operands.
pub(super) fn compare(inputs: &Inputs<'_>) -> Result<Shape> {
    inputs.expect(2)?;
    let first = inputs.array(0)?;
    inputs.same(1, &first, ElementType::Pred)
}

/// Infers the shape of a select. Its predicate has the extents of the other operands, or is a
/// scalar that applies to all elements.
pub(super) fn select(inputs: &Inputs<'_>) -> Result<Shape> {
    inputs.expect(3)?;
    let (predicate, on_true) = (inputs.array(0)?, inputs.array(1)?);
    let fits = predicate.rank() == 0 || queries::same_dimensions(predicate.shape, on_true.shape);
    if predicate.element_type != ElementType::Pred || !fits {
        let expected = on_true.with_type(ElementType::Pred)?;
        return Err(inputs.operand_error(0, expected.to_string()));
    }
    inputs.same(2, &on_true, on_true.element_type)
}

/// Infers the shape of a clamp. Each bound has the shape of the clamped array, or is a scalar that
/// applies to all elements.
pub(super) fn clamp(inputs: &Inputs<'_>) -> Result<Shape> {
    inputs.expect(3)?;
    let value = inputs.array(1)?;
    for bound in [0, 2] {
        let array = inputs.array_like(bound, &value)?;
        if array.rank() > 0 {
            inputs.same(bound, &value, value.element_type)?;
        }
    }
    value.with_type(value.element_type)
}

/// Infers the shape of an operation on one operand. The result has the type of the operand, except
/// that `is-finite` returns `pred`, and the absolute value of a complex number is real.
pub(super) fn unary(unary: Unary, inputs: &Inputs<'_>) -> Result<Shape> {
    inputs.expect(1)?;
    let array = inputs.array(0)?;
    let kind = array.element_type;
    if unary == Unary::Not && kind != ElementType::Pred && !is_integer(kind) {
        return Err(inputs.operand_error(0, "an array of integers or of pred"));
    }
    if is_of_floats(unary) && !is_float(kind) && !(unary == Unary::Sqrt && is_complex(kind)) {
        return Err(inputs.operand_error(0, "an array of floats"));
    }
    if matches!(unary, Unary::PopulationCount | Unary::CountLeadingZeros) && !is_integer(kind) {
        return Err(inputs.operand_error(0, "an array of integers"));
    }
    array.with_type(match (unary, kind) {
        (Unary::IsFinite, _) => ElementType::Pred,
        (Unary::Abs, ElementType::C64) => ElementType::F32,
        (Unary::Abs, ElementType::C128) => ElementType::F64,
        _ => kind,
    })
}

/// Returns true if XLA accepts the operation for floats only.
fn is_of_floats(unary: Unary) -> bool {
    matches!(
        unary,
        Unary::Floor
            | Unary::Ceil
            | Unary::RoundNearestAfz
            | Unary::RoundNearestEven
            | Unary::IsFinite
            | Unary::Sqrt
    )
}

/// Infers the shape of an operation on two operands, which must have the same types and extents.
pub(super) fn binary(binary: Binary, inputs: &Inputs<'_>) -> Result<Shape> {
    inputs.expect(2)?;
    let first = inputs.array(0)?;
    let of_bits = first.element_type == ElementType::Pred || is_integer(first.element_type);
    if matches!(binary, Binary::And | Binary::Or | Binary::Xor) && !of_bits {
        return Err(inputs.operand_error(0, "an array of integers or of pred"));
    }
    inputs.same(1, &first, first.element_type)
}

/// Infers the shape of a `complex`, which combines an array of real parts and an array of imaginary
/// parts to an array of complex numbers.
pub(super) fn complex(inputs: &Inputs<'_>) -> Result<Shape> {
    inputs.expect(2)?;
    let real = inputs.array(0)?;
    let element_type = match real.element_type {
        ElementType::F32 => ElementType::C64,
        ElementType::F64 => ElementType::C128,
        _ => return Err(inputs.operand_error(0, "an array of f32 or f64")),
    };
    inputs.same(1, &real, element_type)
}

/// Infers the shape of a `real` or an `imag`. As in XLA, the operand may also be an array of
/// floats, and the element type then stays the same.
pub(super) fn part(inputs: &Inputs<'_>) -> Result<Shape> {
    inputs.expect(1)?;
    let number = inputs.array(0)?;
    number.with_type(match number.element_type {
        ElementType::C64 => ElementType::F32,
        ElementType::C128 => ElementType::F64,
        ElementType::Pred => return Err(inputs.operand_error(0, "an array of floats")),
        integer if is_integer(integer) => {
            return Err(inputs.operand_error(0, "an array of floats"));
        }
        float => float,
    })
}
