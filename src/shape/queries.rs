//! Functions that compare and measure shapes by types, extents and layouts only, without computing
//! offsets of elements. `xla::shape_util` re-exports the public ones under XLA's names.

use super::{Dimension, ElementType, Layout, Shape};

/// Returns the number of elements, like XLA's `ElementsIn`. A bounded dimension counts with its
/// bound. A shape that is not an array has 0 elements.
///
/// Returns `None` if an extent is unknown or if the product exceeds 2^64-1.
#[must_use]
pub fn elements_in(shape: &Shape) -> Option<u64> {
    if shape.element_type().bits().is_none() || is_zero_element_array(shape) {
        return Some(0);
    }
    shape
        .dimensions()
        .iter()
        .try_fold(1_u64, |product, extent| product.checked_mul(extent.bound()?))
}

/// Returns the extent of each dimension, or the bound if the dimension is bounded. Returns `None`
/// if an extent is unknown.
#[must_use]
pub fn bounds(shape: &Shape) -> Option<Vec<u64>> {
    shape.dimensions().iter().map(|extent| extent.bound()).collect()
}

/// Returns true if any extent of the array is 0.
#[must_use]
pub fn is_zero_element_array(shape: &Shape) -> bool {
    shape.dimensions().contains(&Dimension::Fixed(0))
        || shape.dimensions().contains(&Dimension::AtMost(0))
}

/// Returns the size of an element in bits if elements are packed as tightly as XLA packs them, like
/// XLA's `StorageBitWidth`. A `pred` takes 8 bits. Returns `None` for a type without elements.
#[must_use]
pub fn packed_bits(element_type: ElementType) -> Option<u32> {
    match element_type {
        ElementType::Pred => Some(8),
        _ => element_type.bits(),
    }
}

/// Returns true if two shapes have the same types and extents, like XLA's `Compatible`. Layouts are
/// ignored. A bound is considered equal to a fixed extent of the same size.
#[must_use]
pub fn compatible(a: &Shape, b: &Shape) -> bool {
    a.element_type() == b.element_type()
        && same_dimensions(a, b)
        && a.tuple_shapes().len() == b.tuple_shapes().len()
        && a.tuple_shapes().iter().zip(b.tuple_shapes()).all(|(a, b)| compatible(a, b))
}

/// Returns true if two arrays have the same extents, like XLA's `SameDimensions`. A bound is
/// considered equal to a fixed extent of the same size.
#[must_use]
pub fn same_dimensions(a: &Shape, b: &Shape) -> bool {
    a.dimensions().iter().map(|n| n.bound()).eq(b.dimensions().iter().map(|n| n.bound()))
}

/// Returns true if two shapes are equal, like XLA's `Equal`. A missing layout is considered equal
/// to the default layout.
///
/// ```
/// use stridec::xla::shape_util::equal;
/// assert!(equal(&"f32[2,3]".parse()?, &"f32[2,3]{1,0}".parse()?));
/// assert!(!equal(&"f32[<=2,3]".parse()?, &"f32[2,3]".parse()?));
/// # Ok::<(), stridec::shape::ParseError>(())
/// ```
#[must_use]
pub fn equal(a: &Shape, b: &Shape) -> bool {
    equal_by(a, b, &|a, b| a == b)
}

/// Returns true if two shapes are equal, using `same_layout` to compare their layouts.
pub(crate) fn equal_by(
    a: &Shape,
    b: &Shape,
    same_layout: &impl Fn(&Layout, &Layout) -> bool,
) -> bool {
    a.element_type() == b.element_type()
        && a.dimensions() == b.dimensions()
        && same_layout(&a.layout_or_default(), &b.layout_or_default())
        && a.tuple_shapes().len() == b.tuple_shapes().len()
        && a.tuple_shapes().iter().zip(b.tuple_shapes()).all(|(a, b)| equal_by(a, b, same_layout))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements() {
        for (text, elements) in [
            ("f32[]", Some(1)),
            ("f32[3,5]", Some(15)),
            ("f32[3,0,5]", Some(0)),
            ("f32[<=3,5]", Some(15)),
            ("f32[?,5]", None),
            ("f32[4611686018427387904,0,4611686018427387904]", Some(0)),
            ("token[]", Some(0)),
        ] {
            assert_eq!(elements_in(&text.parse().unwrap()), elements, "{text}");
        }
    }
}
