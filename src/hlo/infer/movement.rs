//! Infers the shapes of opcodes that only move elements, and whose attributes determine to which
//! index each element moves. Examples are transpose and pad. Opcodes with indices as operands, such
//! as gather, are in `indexed`.

use super::{
    Inputs, Result,
    checks::{
        ArrayShape, at_most, bounds_of_either, dimension, distinct, in_range, is_complex, mismatch,
        one_each,
    },
};
use crate::{
    hlo::{InstructionError, PaddingDimension, SliceDimension},
    shape::{Dimension, ElementType, FieldPath, Shape, ShapeError, queries},
    stride::size,
};

/// Returns the path of the attribute `dimensions`, for errors.
fn dimensions_field() -> FieldPath {
    FieldPath::new("dimensions")
}

/// Infers the shape of an iota, which is the declared shape. It must be an array of numbers.
pub(super) fn iota(dimension: usize, inputs: &Inputs<'_>) -> Result<Shape> {
    inputs.expect(0)?;
    let array = inputs.declared_array()?;
    if array.element_type == ElementType::Pred {
        return Err(mismatch("an array of numbers", array.shape));
    }
    self::dimension(|| dimensions_field().index(0), dimension, array.rank())?;
    array.with_type(array.element_type)
}

/// Infers the shape of a bitcast, which is the declared shape. The result and the operand must take
/// the same number of bytes, including padding.
pub(super) fn bitcast(inputs: &Inputs<'_>) -> Result<Shape> {
    inputs.expect(1)?;
    let (from, to) = (inputs.array(0)?, inputs.declared_array()?);
    // Skip this check if strides cannot describe one of the layouts, because the sizes are not
    // known then. The compiler reports such a layout later, if it needs this instruction at all.
    if let (Ok(expected), Ok(given)) = (size::array_size(from.shape), size::array_size(to.shape))
        && expected != given
    {
        return Err(mismatch(format!("a shape of {expected} bytes"), to.shape));
    }
    Ok(to.shape.clone())
}

/// Infers the shape of a bitcast-convert. If the elements of the result are narrower, a minor-most
/// dimension over the parts of an element is added: `f32[2,3]` becomes `u8[2,3,4]`. If they are
/// wider, this dimension is removed.
pub(super) fn bitcast_convert(inputs: &Inputs<'_>) -> Result<Shape> {
    inputs.expect(1)?;
    let (from, to) = (inputs.array(0)?, inputs.declared_array()?);
    if is_complex(from.element_type) != is_complex(to.element_type) {
        let expected = "an array whose elements are complex exactly if the result's are";
        return Err(inputs.operand_error(0, expected));
    }
    let bits = |array: &ArrayShape<'_>| queries::packed_bits(array.element_type).unwrap_or(0);
    let (old, new) = (bits(&from), bits(&to));
    if old == new {
        return from.with_type(to.element_type);
    }
    let (wide, narrow) = (old.max(new), old.min(new));
    if wide % narrow != 0 {
        let expected = format!("an array whose elements' width divides {old} bits or is divided");
        return Err(mismatch(expected, to.shape));
    }
    let factor = u64::from(wide / narrow);
    if old > new {
        let extents = from.extents.iter().copied().chain([factor]);
        return Ok(Shape::new(to.element_type, extents, None)?);
    }
    match from.extents.split_last() {
        Some((&last, rest)) if last == factor => {
            Ok(Shape::new(to.element_type, rest.iter().copied(), None)?)
        }
        _ => {
            Err(inputs
                .operand_error(0, format!("an array whose last dimension has {factor} elements")))
        }
    }
}

/// Infers the shape of a reshape, which has the declared extents and the element type of the
/// operand. The number of elements must not change.
pub(super) fn reshape(inputs: &Inputs<'_>) -> Result<Shape> {
    inputs.expect(1)?;
    let (from, to) = (inputs.array(0)?, inputs.declared_array()?);
    let elements = queries::elements_in(from.shape);
    if elements != queries::elements_in(to.shape) {
        let elements = elements.unwrap_or(u64::MAX);
        let expected = format!("an array of {elements} elements of {}", from.element_type);
        return Err(mismatch(expected, to.shape));
    }
    to.with_type(from.element_type)
}

/// Infers the shape of a transpose, which is the operand's shape with permuted dimensions.
pub(super) fn transpose(dimensions: &[usize], inputs: &Inputs<'_>) -> Result<Shape> {
    inputs.expect(1)?;
    let array = inputs.array(0)?;
    one_each(dimensions_field, dimensions.len(), array.rank())?;
    distinct(dimensions_field, dimensions, array.rank())?;
    array.with_dimensions(dimensions.iter().map(|&dimension| array.dimensions()[dimension]))
}

/// Infers the shape of a broadcast, which has the declared extents, except that dimension
/// `dimensions[k]` has the extent of the operand's dimension `k`. If the two differ, the comparison
/// with the declared shape fails later.
pub(super) fn broadcast(dimensions: &[usize], inputs: &Inputs<'_>) -> Result<Shape> {
    inputs.expect(1)?;
    let (from, to) = (inputs.array(0)?, inputs.declared_array()?);
    one_each(dimensions_field, dimensions.len(), from.rank())?;
    distinct(dimensions_field, dimensions, to.rank())?;
    let mut extents = to.extents.clone();
    for (&extent, &dimension) in from.extents.iter().zip(dimensions) {
        extents[dimension] = extent;
    }
    from.with_extents(extents)
}

/// Infers the shape of a reverse, which is the operand's shape.
pub(super) fn reverse(dimensions: &[usize], inputs: &Inputs<'_>) -> Result<Shape> {
    inputs.expect(1)?;
    let array = inputs.array(0)?;
    distinct(dimensions_field, dimensions, array.rank())?;
    array.with_type(array.element_type)
}

/// Infers the shape of a slice. Its extents are the numbers of selected indices.
pub(super) fn slice(dimensions: &[SliceDimension], inputs: &Inputs<'_>) -> Result<Shape> {
    inputs.expect(1)?;
    let array = inputs.array(0)?;
    let field = || FieldPath::new("slice_dimensions");
    one_each(field, dimensions.len(), array.rank())?;
    let mut extents = Vec::with_capacity(array.rank());
    for (i, (slice, &extent)) in dimensions.iter().zip(&array.extents).enumerate() {
        let field = |name| field().index(i).field(name);
        at_most(|| field("limit"), slice.limit, extent)?;
        at_most(|| field("start"), slice.start, slice.limit)?;
        in_range(|| field("stride"), slice.stride, 1, i64::MAX.unsigned_abs())?;
        extents.push((slice.limit - slice.start).div_ceil(slice.stride));
    }
    array.with_extents(extents)
}

/// Infers the shape of a pad. Negative padding removes elements, but no extent may become negative.
pub(super) fn pad(dimensions: &[PaddingDimension], inputs: &Inputs<'_>) -> Result<Shape> {
    inputs.expect(2)?;
    let array = inputs.array(0)?;
    let value = inputs.array_like(1, &array)?;
    if value.rank() != 0 {
        return Err(inputs.operand_error(1, format!("{}[]", array.element_type)));
    }
    let field = || FieldPath::new("padding_config").field("dimensions");
    one_each(field, dimensions.len(), array.rank())?;
    let mut extents = Vec::with_capacity(array.rank());
    for (i, (pad, &extent)) in dimensions.iter().zip(&array.extents).enumerate() {
        let between = i128::from(extent.saturating_sub(1)) * i128::from(pad.interior_padding);
        let edges = i128::from(pad.edge_padding_low) + i128::from(pad.edge_padding_high);
        let padded = (i128::from(extent) + edges).saturating_add(between);
        let Some(extent) = i64::try_from(padded).ok().and_then(|n| u64::try_from(n).ok()) else {
            let field = FieldPath::new("shape").field("dimensions").index(i);
            let (least, greatest) = (0, i64::MAX);
            return Err(ShapeError::Range { field, given: padded, least, greatest }.into());
        };
        extents.push(match array.dimensions()[i] {
            Dimension::Fixed(_) => Dimension::Fixed(extent),
            _ => Dimension::AtMost(extent),
        });
    }
    array.with_dimensions(extents)
}

/// Infers the shape of a concatenation. The extents along `dimension` are added, and all others
/// must be equal.
pub(super) fn concatenate(dimension: usize, inputs: &Inputs<'_>) -> Result<Shape> {
    if inputs.operands.is_empty() {
        let expected = "at least 1".to_owned();
        return Err(InstructionError::OperandCount { expected, given: 0 });
    }
    let first = inputs.array(0)?;
    self::dimension(|| dimensions_field().index(0), dimension, first.rank())?;
    let mut result = first.with_type(first.element_type)?;
    for operand in 1..inputs.operands.len() {
        let array = inputs.array_like(operand, &first)?;
        let mut expected = first.extents.clone();
        if let (Some(along), Some(&extent)) =
            (expected.get_mut(dimension), array.extents.get(dimension))
        {
            *along = extent;
        }
        if array.extents != expected {
            let shape = first.with_extents(expected)?;
            return Err(inputs
                .operand_error(operand, format!("{shape}, or other extents along {dimension}")));
        }
        let sum = result.dimensions()[dimension].bound().unwrap_or(0);
        let sum = sum.saturating_add(array.extents[dimension]);
        let mut dimensions: Vec<_> = bounds_of_either(&result, array.shape).collect();
        dimensions[dimension] = match dimensions[dimension] {
            Dimension::Fixed(_) => Dimension::Fixed(sum),
            _ => Dimension::AtMost(sum),
        };
        result = first.with_dimensions(dimensions)?;
    }
    Ok(result)
}
