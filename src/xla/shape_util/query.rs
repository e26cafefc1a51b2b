//! Queries of shapes.

use crate::{
    shape::{Dimension, ElementType, Shape, ShapeError, dimension_number},
    xla::layout_util::{self, LayoutField},
};

/// Number of elements, a bounded dimension counted at its bound; 0 for shapes that have none: `ElementsIn`.
///
/// `None` where an extent is not known, or the product passes 2^64-1.
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

/// The extents, a bounded dimension at its bound; `None` where one is not known.
#[must_use]
pub fn bounds(shape: &Shape) -> Option<Vec<u64>> {
    shape.dimensions().iter().map(|extent| extent.bound()).collect()
}

/// Whether an array has no elements: an extent is 0.
#[must_use]
pub fn is_zero_element_array(shape: &Shape) -> bool {
    shape.dimensions().contains(&Dimension::Fixed(0))
        || shape.dimensions().contains(&Dimension::AtMost(0))
}

/// Number of dimensions of more than one element: `TrueNumDimensions`.
///
/// ```
/// use stridec::xla::shape_util::true_rank;
/// assert_eq!(true_rank(&"f32[1,8,1,128]".parse()?), 2);
/// # Ok::<(), stridec::shape::ParseError>(())
/// ```
#[must_use]
pub fn true_rank(shape: &Shape) -> usize {
    shape.dimensions().iter().filter(|extent| extent.bound() != Some(1)).count()
}

/// Whether any dimension has one element: `HasDegenerateDimensions`.
#[must_use]
pub fn has_degenerate_dimensions(shape: &Shape) -> bool {
    true_rank(shape) < shape.rank()
}

/// Whether only dimensions of one element lie outside a dimension: `IsEffectivelyMostMajorDimension`.
///
/// # Errors
///
/// Where there is no such dimension.
pub fn is_effectively_most_major_dimension(
    shape: &Shape,
    dimension: i64,
) -> Result<bool, ShapeError> {
    let dimension = dimension_number(dimension, shape.rank())?;
    let order = layout_util::major_to_minor(&shape.layout_or_default());
    let first =
        order.into_iter().find(|&d| d == dimension || shape.dimensions()[d].bound() != Some(1));
    Ok(first == Some(dimension))
}

/// Whether the last dimension is the most minor in memory: `LastDimIsMinorMost`.
#[must_use]
pub fn last_dim_is_minor_most(shape: &Shape) -> bool {
    let minor = shape.layout_or_default().minor_to_major.first().copied();
    minor.is_some_and(|minor| minor + 1 == shape.rank())
}

/// The bits of an element in XLA's tightest packing: `StorageBitWidth`. A `pred` is a byte.
#[must_use]
pub fn packed_bits(element_type: ElementType) -> Option<u32> {
    match element_type {
        ElementType::Pred => Some(8),
        _ => element_type.bits(),
    }
}

/// Whether two shapes have the same types and extents; layouts are ignored, and a bound equals an exact extent:
/// `Compatible`.
#[must_use]
pub fn compatible(a: &Shape, b: &Shape) -> bool {
    a.element_type() == b.element_type()
        && same_dimensions(a, b)
        && a.tuple_shapes().len() == b.tuple_shapes().len()
        && a.tuple_shapes().iter().zip(b.tuple_shapes()).all(|(a, b)| compatible(a, b))
}

/// Whether two arrays have the same extents; a bound equals an exact extent: `SameDimensions`.
#[must_use]
pub fn same_dimensions(a: &Shape, b: &Shape) -> bool {
    a.dimensions().iter().map(|n| n.bound()).eq(b.dimensions().iter().map(|n| n.bound()))
}

/// Whether two shapes are equal, a missing layout being the default one: `Equal`.
///
/// ```
/// use stridec::xla::shape_util::equal;
/// assert!(equal(&"f32[2,3]".parse()?, &"f32[2,3]{1,0}".parse()?));
/// assert!(!equal(&"f32[<=2,3]".parse()?, &"f32[2,3]".parse()?));
/// # Ok::<(), stridec::shape::ParseError>(())
/// ```
#[must_use]
pub fn equal(a: &Shape, b: &Shape) -> bool {
    equal_ignoring(a, b, &[])
}

/// As [`equal`], with fields of the layout left out.
#[must_use]
pub fn equal_ignoring(a: &Shape, b: &Shape, ignoring: &[LayoutField]) -> bool {
    a.element_type() == b.element_type()
        && a.dimensions() == b.dimensions()
        && layout_util::equal(&a.layout_or_default(), &b.layout_or_default(), ignoring)
        && a.tuple_shapes().len() == b.tuple_shapes().len()
        && a.tuple_shapes()
            .iter()
            .zip(b.tuple_shapes())
            .all(|(a, b)| equal_ignoring(a, b, ignoring))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Shape {
        text.parse().unwrap()
    }

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
            assert_eq!(elements_in(&shape(text)), elements, "{text}");
        }
        assert_eq!(true_rank(&shape("f32[1,2,1]")), 1);
    }

    #[test]
    fn dimensions_of_one_are_as_major_as_the_next() {
        for (text, most_major) in [
            ("f32[2,3]{1,0}", vec![0]),
            ("f32[1,3]{1,0}", vec![0, 1]),
            ("f32[1,1,5,2]{3,2,0,1}", vec![0, 1, 2]),
            ("f32[?,3]{1,0}", vec![0]),
        ] {
            let is = |&d: &i64| is_effectively_most_major_dimension(&shape(text), d) == Ok(true);
            assert_eq!((0..4).filter(is).collect::<Vec<_>>(), most_major, "{text}");
        }
    }
}
