//! Contains the checks that several opcodes share, such as the number of operands and equal element
//! types.

use super::{Inputs, Result, Signature, structure::unknown_computation};
use crate::{
    hlo::InstructionError,
    shape::{Dimension, ElementType, FieldPath, Shape, ShapeError, queries},
};

/// The shape of an operand or result that was checked to be an array without unknown extents.
pub(super) struct ArrayShape<'a> {
    pub(super) shape: &'a Shape,
    pub(super) element_type: ElementType,
    /// The extent of each dimension, or its bound if it is bounded.
    pub(super) extents: Vec<u64>,
}

impl ArrayShape<'_> {
    pub(super) fn rank(&self) -> usize {
        self.extents.len()
    }

    /// Returns the dimensions. In contrast to `extents`, they tell bounds from fixed extents.
    pub(super) fn dimensions(&self) -> &[Dimension] {
        self.shape.dimensions()
    }

    /// Returns the shape of an array with this element type and the given fixed extents.
    pub(super) fn with_extents(&self, extents: impl IntoIterator<Item = u64>) -> Result<Shape> {
        self.with_dimensions(extents.into_iter().map(Dimension::Fixed))
    }

    /// Returns the shape of an array with this element type and the given dimensions, which may be
    /// bounded.
    pub(super) fn with_dimensions(
        &self,
        dimensions: impl IntoIterator<Item = Dimension>,
    ) -> Result<Shape> {
        Ok(Shape::array(self.element_type, dimensions, None)?)
    }

    /// Returns the shape of an array with these dimensions and the given element type.
    pub(super) fn with_type(&self, element_type: ElementType) -> Result<Shape> {
        Ok(Shape::array(element_type, self.dimensions().iter().copied(), None)?)
    }
}

impl<'a> Inputs<'a> {
    /// Returns an error unless the instruction has exactly `count` operands.
    pub(super) fn expect(&self, count: usize) -> Result<()> {
        if self.operands.len() == count {
            return Ok(());
        }
        let expected = count.to_string();
        Err(InstructionError::OperandCount { expected, given: self.operands.len() })
    }

    /// Returns the shape of an operand, or an error if it is not an array or has unknown extents.
    ///
    /// Extents are bounded only if the shape is inferred for a text that declares none. The builder
    /// replaces an instruction with such extents by [`Opcode::Other`](crate::hlo::Opcode::Other)
    /// before its shape is inferred.
    pub(super) fn array(&self, operand: usize) -> Result<ArrayShape<'a>> {
        let shape = self.operands[operand];
        let of_known_extents = if shape.is_array() { " without unknown extents" } else { "" };
        let expected = || format!("an array{of_known_extents}");
        array(shape).ok_or_else(|| self.operand_error(operand, expected()))
    }

    /// Returns the shape of an operand, or an error if it is not an array with the element type of
    /// `other`.
    pub(super) fn array_like(
        &self,
        operand: usize,
        other: &ArrayShape<'_>,
    ) -> Result<ArrayShape<'a>> {
        let array = self.array(operand)?;
        if array.element_type == other.element_type {
            return Ok(array);
        }
        Err(self.operand_error(operand, format!("an array of {}", other.element_type)))
    }

    /// Checks that an operand has the element type and the extents of `other`. Returns the shape of
    /// an array of `element_type` with the same extents. An extent of the result is bounded if it
    /// is bounded in either of the two.
    pub(super) fn same(
        &self,
        operand: usize,
        other: &ArrayShape<'_>,
        element_type: ElementType,
    ) -> Result<Shape> {
        let shape = self.operands[operand];
        if queries::compatible(shape, other.shape) {
            return Ok(Shape::array(element_type, bounds_of_either(other.shape, shape), None)?);
        }
        Err(self.operand_error(operand, other.shape.without_layout().to_string()))
    }

    /// Returns the error for an operand that does not have the expected shape.
    pub(super) fn operand_error(
        &self,
        operand: usize,
        expected: impl Into<String>,
    ) -> InstructionError {
        let given = self.operands[operand].clone().into();
        InstructionError::Operand { operand, expected: expected.into(), given }
    }

    /// Returns the signature of the called computation with the index `computation`, or an error if
    /// there is no such computation.
    pub(super) fn callee(&self, computation: usize) -> Result<Signature<'a>> {
        self.callees.signature(computation).ok_or_else(|| unknown_computation(0, computation))
    }

    /// Returns the declared shape, or an error if it is missing or not an array.
    pub(super) fn declared_array(&self) -> Result<ArrayShape<'a>> {
        let shape = self.declared()?;
        array(shape).ok_or_else(|| mismatch("an array", shape))
    }
}

/// Returns an array's shape with its extents. Returns `None` if the shape is not an array or has
/// unknown extents.
fn array(shape: &Shape) -> Option<ArrayShape<'_>> {
    let extents = shape.is_array().then(|| queries::bounds(shape)).flatten()?;
    Some(ArrayShape { shape, element_type: shape.element_type(), extents })
}

/// Merges the dimensions of two arrays whose extents or bounds are equal. A dimension of the result
/// is bounded if it is bounded in either array.
pub(super) fn bounds_of_either(one: &Shape, other: &Shape) -> impl Iterator<Item = Dimension> {
    let pairs = one.dimensions().iter().zip(other.dimensions());
    pairs.map(|(&one, &other)| if matches!(other, Dimension::Fixed(_)) { one } else { other })
}

/// Returns the error for a declared shape `given` that differs from the inferred one, which
/// `expected` describes.
pub(super) fn mismatch(expected: impl Into<String>, given: &Shape) -> InstructionError {
    InstructionError::Result { expected: expected.into(), given: given.clone().into() }
}

/// Checks that a number is at most `greatest`. `field` is the path of the number, for the error.
pub(super) fn at_most(field: impl FnOnce() -> FieldPath, given: u64, greatest: u64) -> Result<()> {
    in_range(field, given, 0, greatest)
}

/// Checks that a number is between `least` and `greatest`, both included. `field` is the path of
/// the number, for the error.
pub(super) fn in_range(
    field: impl FnOnce() -> FieldPath,
    given: u64,
    least: u64,
    greatest: u64,
) -> Result<()> {
    if (least..=greatest).contains(&given) {
        return Ok(());
    }
    let bound = |n| i64::try_from(n).unwrap_or(i64::MAX);
    let (least, greatest) = (bound(least), bound(greatest));
    Err(ShapeError::Range { field: field(), given: given.into(), least, greatest }.into())
}

/// Checks that a number is a dimension of an array of the given rank. `field` is the path of the
/// number, for the error.
pub(super) fn dimension(
    field: impl FnOnce() -> FieldPath,
    given: usize,
    rank: usize,
) -> Result<()> {
    if given < rank {
        return Ok(());
    }
    let greatest = i64::try_from(rank).unwrap_or(i64::MAX) - 1;
    let given = given as i128;
    Err(ShapeError::Range { field: field(), given, least: 0, greatest }.into())
}

/// Checks that a list of `given` entries has one for each dimension of an array of the given rank.
/// `field` is the path of the list, for the error.
pub(super) fn one_each(field: impl FnOnce() -> FieldPath, given: usize, rank: usize) -> Result<()> {
    if given == rank {
        return Ok(());
    }
    let accepted = "one for each dimension";
    Err(ShapeError::Count { field: field(), given, rank, accepted }.into())
}

/// Checks that dimensions are distinct and less than the rank. `field` is the path of their list,
/// for the error.
pub(super) fn distinct(
    field: impl Fn() -> FieldPath,
    dimensions: &[usize],
    rank: usize,
) -> Result<()> {
    let mut seen = vec![false; rank];
    for (i, &given) in dimensions.iter().enumerate() {
        dimension(|| field().index(i), given, rank)?;
        if std::mem::replace(&mut seen[given], true) {
            let given = given as u64;
            return Err(ShapeError::Duplicate { field: field().index(i), given }.into());
        }
    }
    Ok(())
}

/// Checks that dimensions are in ascending order, distinct, and less than the rank. `field` is the
/// path of their list, for the error.
pub(super) fn ascending(
    field: impl Fn() -> FieldPath,
    dimensions: &[usize],
    rank: usize,
) -> Result<()> {
    distinct(&field, dimensions, rank)?;
    let descent = dimensions.windows(2).position(|pair| pair[0] > pair[1]);
    descent.map_or(Ok(()), |i| {
        let (previous, given) = (dimensions[i] as u64, dimensions[i + 1] as u64);
        let field = field().index(i + 1);
        Err(ShapeError::NotAscending { field, given, previous }.into())
    })
}

/// Returns true if the type is a signed or unsigned integer.
pub(super) fn is_integer(element_type: ElementType) -> bool {
    element_type.is_signed_integer() || element_type.is_unsigned_integer()
}

/// Returns true if the type is complex.
pub(super) fn is_complex(element_type: ElementType) -> bool {
    matches!(element_type, ElementType::C64 | ElementType::C128)
}
