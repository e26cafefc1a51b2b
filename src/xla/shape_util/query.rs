//! Functions of XLA's `ShapeUtil` that answer questions about dimensions, and that compare shapes.

use crate::{
    shape::{Shape, ShapeError, dimension_number, queries::equal_by},
    xla::layout_util::{self, LayoutField},
};

pub use crate::shape::queries::{
    bounds, compatible, elements_in, equal, is_zero_element_array, packed_bits, same_dimensions,
};

/// Returns the number of dimensions that do not have exactly one element, like XLA's
/// `TrueNumDimensions`.
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

/// Returns true if any dimension has exactly one element, like XLA's `HasDegenerateDimensions`.
#[must_use]
pub fn has_degenerate_dimensions(shape: &Shape) -> bool {
    true_rank(shape) < shape.rank()
}

/// Returns true if all dimensions that are more major than `dimension` have one element, like XLA's
/// `IsEffectivelyMostMajorDimension`.
///
/// # Errors
///
/// Returns an error if there is no such dimension.
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

/// Returns true if the last dimension is the most minor one in memory, like XLA's
/// `LastDimIsMinorMost`.
#[must_use]
pub fn last_dim_is_minor_most(shape: &Shape) -> bool {
    let minor = shape.layout_or_default().minor_to_major.first().copied();
    minor.is_some_and(|minor| minor + 1 == shape.rank())
}

/// Returns true if two shapes are [`equal`] apart from the layout fields in `ignoring`.
#[must_use]
pub fn equal_ignoring(a: &Shape, b: &Shape, ignoring: &[LayoutField]) -> bool {
    equal_by(a, b, &|a, b| layout_util::equal(a, b, ignoring))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Shape {
        text.parse().unwrap()
    }

    #[test]
    fn dimensions_of_one_are_as_major_as_the_next() {
        assert_eq!(true_rank(&shape("f32[1,2,1]")), 1);
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
