//! Queries and changes of layouts, like XLA's `LayoutUtil`.
//!
//! A shape without a layout is treated as if it had the default one. Negative dimension numbers
//! count from the end.

use super::{permutation_util, shape_util};
use crate::shape::{Layout, Shape, ShapeError, dimension_number};

pub(super) use super::layout_field::without_fields;
pub use super::layout_field::{LayoutField, equal};

/// Returns the layout {0, 1, …}, in which dimension 0 is the most minor.
#[must_use]
pub fn make_ascending_layout(rank: usize) -> Layout {
    Layout::new(0..rank)
}

/// Returns the default layout {…, 1, 0}, in which dimension 0 is the most major.
#[must_use]
pub fn make_descending_layout(rank: usize) -> Layout {
    Layout::default_for_rank(rank)
}

/// Returns true if every array in the shape has an explicit layout, like XLA's `HasLayout`.
#[must_use]
pub fn has_layout(shape: &Shape) -> bool {
    shape.layout().is_some()
        || shape.element_type().bits().is_none() && shape.tuple_shapes().iter().all(has_layout)
}

/// Returns the logical dimension that is number `place` in memory, counted from the most major one,
/// like XLA's `Major`.
///
/// # Errors
///
/// Returns an error if `place` is out of range.
pub fn major(layout: &Layout, place: i64) -> Result<usize, ShapeError> {
    let rank = layout.minor_to_major.len();
    Ok(layout.minor_to_major[rank - 1 - dimension_number(place, rank)?])
}

/// Returns the logical dimension that is number `place` in memory, counted from the most minor one,
/// like XLA's `Minor`.
///
/// # Errors
///
/// Returns an error if `place` is out of range.
pub fn minor(layout: &Layout, place: i64) -> Result<usize, ShapeError> {
    let rank = layout.minor_to_major.len();
    Ok(layout.minor_to_major[dimension_number(place, rank)?])
}

/// Returns the logical dimensions from the most major to the most minor.
#[must_use]
pub fn major_to_minor(layout: &Layout) -> Vec<usize> {
    layout.minor_to_major.iter().rev().copied().collect()
}

/// Returns the physical dimension of each logical one, like XLA's `MakeLogicalToPhysical`. Physical
/// dimension 0 is the most major.
///
/// ```
/// use stridec::{shape::Layout, xla::layout_util::make_logical_to_physical};
/// assert_eq!(make_logical_to_physical(&Layout::new([3, 0, 2, 1])), [2, 0, 1, 3]);
/// ```
#[must_use]
pub fn make_logical_to_physical(layout: &Layout) -> Vec<usize> {
    permutation_util::inverse(&major_to_minor(layout))
}

/// Makes a dimension the most major one, like XLA's `MoveDimToMajor`.
///
/// ```
/// use stridec::{shape::Layout, xla::layout_util::move_dim_to_major};
/// assert_eq!(move_dim_to_major(&Layout::new([2, 1, 0]), -2)?, Layout::new([2, 0, 1]));
/// # Ok::<(), stridec::shape::ShapeError>(())
/// ```
///
/// # Errors
///
/// Returns an error if there is no such dimension.
pub fn move_dim_to_major(layout: &Layout, dimension: i64) -> Result<Layout, ShapeError> {
    let dimension = dimension_number(dimension, layout.minor_to_major.len())?;
    let mut moved = layout.clone();
    moved.minor_to_major.retain(|&mut other| other != dimension);
    moved.minor_to_major.push(dimension);
    Ok(moved)
}

/// Makes a dimension the most minor one, like XLA's `MoveDimToMinor`.
///
/// # Errors
///
/// Returns an error if there is no such dimension.
pub fn move_dim_to_minor(layout: &Layout, dimension: i64) -> Result<Layout, ShapeError> {
    let dimension = dimension_number(dimension, layout.minor_to_major.len())?;
    let mut moved = layout.clone();
    moved.minor_to_major.retain(|&mut other| other != dimension);
    moved.minor_to_major.insert(0, dimension);
    Ok(moved)
}

/// Deletes a dimension together with its padding and its splits, like XLA's `DeleteDimension`.
///
/// # Errors
///
/// Returns an error if there is no such dimension.
pub fn delete_dimension(layout: &Layout, dimension: i64) -> Result<Layout, ShapeError> {
    let dimension = dimension_number(dimension, layout.minor_to_major.len())?;
    Ok(without_dimension(layout, dimension))
}

/// Deletes a dimension that is known to exist. See [`delete_dimension`].
pub(super) fn without_dimension(layout: &Layout, dimension: usize) -> Layout {
    let physical = physical_number(layout, dimension);
    let mut layout = layout.clone();
    layout.minor_to_major.retain(|&mut other| other != dimension);
    for other in &mut layout.minor_to_major {
        *other -= usize::from(*other > dimension);
    }
    if dimension < layout.padded_dimensions.len() {
        layout.padded_dimensions.remove(dimension);
    }
    if let Some(physical) = physical {
        layout.split_configs.retain(|config| config.dimension != physical);
        for config in &mut layout.split_configs {
            config.dimension -= u64::from(config.dimension > physical);
        }
    }
    layout
}

/// Returns the physical dimension of a logical one, or `None` for a sparse array of TensorFlow 1.x,
/// which has no physical dimensions.
fn physical_number(layout: &Layout, dimension: usize) -> Option<u64> {
    make_logical_to_physical(layout).get(dimension).map(|&physical| physical as u64)
}

/// Returns `destination` with the layouts of `source`, like XLA's `CopyLayoutBetweenShapes`.
/// Extents and types may differ.
///
/// # Errors
///
/// Returns an error if the ranks or the tuple structures differ, or if the padding or the splits do
/// not fit the extents of the destination.
pub fn copy_layout_between_shapes(
    source: &Shape,
    destination: &Shape,
) -> Result<Shape, ShapeError> {
    shape_util::with_layouts(destination, source)
}

/// Returns the maximum number of elements between two splits of a dimension, like XLA's
/// `MaxSplitSize`. Returns `None` if the extent is unknown.
///
/// ```
/// use stridec::xla::layout_util::max_split_size;
/// let split = "f32[150,200,100]{0,1,2:SC(0:30)(1:40,130)}".parse()?;
/// assert_eq!(max_split_size(&split, 1).unwrap(), Some(90)); // 0..40, 40..130, 130..200
/// // Physical dimension 0 is the most major.
/// assert_eq!(max_split_size(&split, 2).unwrap(), Some(70));
/// # Ok::<(), stridec::shape::ParseError>(())
/// ```
///
/// # Errors
///
/// Returns an error if there is no such dimension.
pub fn max_split_size(shape: &Shape, dimension: i64) -> Result<Option<u64>, ShapeError> {
    let dimension = dimension_number(dimension, shape.rank())?;
    let Some(extent) = shape.dimensions()[dimension].bound() else { return Ok(None) };
    let layout = shape.layout_or_default();
    let physical = physical_number(&layout, dimension);
    let splits = layout
        .split_configs
        .iter()
        .find(|config| Some(config.dimension) == physical)
        .map_or(&[][..], |config| &config.split_indices);
    let starts = std::iter::once(0).chain(splits.iter().copied());
    let ends = splits.iter().copied().chain([extent]);
    Ok(starts.zip(ends).map(|(start, end)| end - start).max())
}

/// Returns the maximum number of elements in one part of a split array, like XLA's
/// `MaxElementsInPerSplit`.
///
/// Returns `None` if an extent is unknown or if the product exceeds 2^64-1.
#[must_use]
pub fn max_elements_in_per_split(shape: &Shape) -> Option<u64> {
    (0..).take(shape.rank()).try_fold(1_u64, |product, dimension| {
        product.checked_mul(max_split_size(shape, dimension).ok()??)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(text: &str) -> Layout {
        text.parse().unwrap()
    }

    #[test]
    fn orders() {
        assert_eq!(make_ascending_layout(3), layout("{0,1,2}"));
        assert_eq!(make_descending_layout(3), layout("{2,1,0}"));
        let order = layout("{1,2,0}");
        assert_eq!((major(&order, 0), major(&order, -1)), (Ok(0), Ok(1)));
        assert_eq!((minor(&order, 0), minor(&order, 1)), (Ok(1), Ok(2)));
        assert_eq!(major_to_minor(&order), [0, 2, 1]);
        assert_eq!(make_logical_to_physical(&order), [0, 2, 1]);
        assert_eq!(move_dim_to_minor(&layout("{2,0,3,1}"), 3), Ok(layout("{3,2,0,1}")));
        assert!(move_dim_to_major(&order, 3).is_err());
    }

    #[test]
    fn deleting_a_dimension_renumbers_padding_and_splits() {
        assert_eq!(delete_dimension(&layout("{1,0}"), 0), Ok(layout("{0}")));
        let padded = layout("{0,2,1:PAD(3,5,7,one)}");
        assert_eq!(delete_dimension(&padded, -2), Ok(layout("{0,1:PAD(3,7,one)}")));
        let split = layout("{0,1,2:SC(0:3)(1:4)(2:5)}");
        assert_eq!(delete_dimension(&split, 1), Ok(layout("{0,1:SC(0:3)(1:5)}")));
    }

    #[test]
    fn a_shape_has_a_layout_where_each_array_does() {
        let has = |text: &str| has_layout(&text.parse().unwrap());
        assert!(has("(f32[2]{0}, (token[], s8[3,4]{0,1}))"));
        assert!(!has("(f32[2]{0}, (token[], s8[3,4]))"));
    }
}
