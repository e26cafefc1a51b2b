//! Reads constants of every element type: their extents, and the bits of their elements.

use crate::{
    hlo::Literal,
    nest::Index,
    shape::{ElementType, Shape, queries},
};

/// Returns the extents of an array, or `None` if a dimension has no fixed extent.
pub(super) fn extents(shape: &Shape) -> Option<Vec<u64>> {
    use crate::shape::Dimension::Fixed;
    let fixed = |dimension: &_| match *dimension {
        Fixed(extent) => Some(extent),
        _ => None,
    };
    shape.dimensions().iter().map(fixed).collect()
}

/// Returns the number of elements of an array with these extents. It is 1 for a scalar.
pub(super) fn elements(extents: &[u64]) -> u64 {
    if extents.contains(&0) { 0 } else { extents.iter().product() }
}

/// Returns the size of an element in memory, in bits, if elements are not packed. It is at least 8.
pub(super) fn storage_bits(element_type: ElementType) -> u32 {
    element_type.storage_bits().unwrap_or(8)
}

/// Returns the size of an element in memory, in bits, if elements are packed as tightly as
/// possible. A `pred` takes 8 bits even then.
pub(super) fn packed_bits(element_type: ElementType) -> u32 {
    queries::packed_bits(element_type).unwrap_or(8)
}

/// Returns the number of parts of `unit` bits in an element. If an element is smaller than a byte,
/// parts of less than 8 bits cover only the element, not the unused bits of its byte.
pub(super) fn parts(element_type: ElementType, unit: u32) -> u32 {
    if unit < 8 { packed_bits(element_type) / unit } else { storage_bits(element_type) / unit }
}

/// Returns the bits of the element with number `place`. Elements are numbered in row-major order.
pub(super) fn element(literal: &Literal, place: u64) -> u128 {
    let bytes = usize::try_from(storage_bits(literal.shape().element_type()) / 8).unwrap_or(1);
    let first = usize::try_from(place).unwrap_or(usize::MAX) * bytes;
    let bytes = &literal.bytes()[first..first + bytes];
    bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u128::from(byte))
}

/// Returns the bits that all elements have if they are equal. Returns `None` if elements differ, or
/// if there are no elements.
pub(super) fn uniform(literal: &Literal) -> Option<u128> {
    let bytes = usize::try_from(storage_bits(literal.shape().element_type()) / 8).unwrap_or(1);
    let mut chunks = literal.bytes().chunks_exact(bytes);
    let first = chunks.next()?;
    chunks.all(|chunk| chunk == first).then(|| element(literal, 0))
}

/// Returns the bits of the element at `index` if all elements are equal, or if the index is known
/// at compile time. Returns `None` otherwise.
pub(super) fn constant_at(literal: &Literal, index: &[Index]) -> Option<u128> {
    let sizes = extents(literal.shape()).unwrap_or_default();
    let place = index
        .iter()
        .zip(&sizes)
        .try_fold(0, |place, (index, size)| index.as_constant().map(|index| place * size + index));
    uniform(literal).or_else(|| place.map(|place| element(literal, place)))
}

/// Returns true if the type is a signed or unsigned integer. `pred` does not count as an integer.
pub(super) fn is_integer(element_type: ElementType) -> bool {
    use ElementType::{U1, U2, U4, U8, U16, U32, U64};
    element_type.is_signed_integer() || matches!(element_type, U1 | U2 | U4 | U8 | U16 | U32 | U64)
}

/// Returns an extent as a signed number, for use in an affine expression.
pub(super) fn signed(extent: u64) -> i64 {
    i64::try_from(extent).unwrap_or(i64::MAX)
}
