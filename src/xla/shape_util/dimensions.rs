//! Insertion, deletion and permutation of dimensions, together with their layout.

use crate::{
    shape::{
        self, Dimension, Layout, Shape, ShapeError, dimension_number, dimension_numbers, signed,
    },
    xla::{layout_util, permutation_util},
};

/// Deletes all dimensions of one element, like XLA's `DropDegenerateDimensions`.
///
/// # Errors
///
/// Returns an error if fields of the layout do not fit the remaining dimensions.
pub fn drop_degenerate_dimensions(shape: &Shape) -> Result<Shape, ShapeError> {
    let kept = |dimension: usize| shape.dimensions()[dimension].bound() != Some(1);
    delete_where(shape, |dimension| !kept(dimension))
}

/// Deletes dimensions and preserves the order of the others in memory, like XLA's
/// `DeleteDimensions`.
///
/// ```
/// use stridec::xla::shape_util::delete_dimensions;
/// let shape = "f32[5,3,2,7,9]{2,0,1,4,3}".parse()?;
/// assert_eq!(delete_dimensions(&shape, &[1, 2, -2]).unwrap().to_string(), "f32[5,9]{0,1}");
/// # Ok::<(), stridec::shape::ParseError>(())
/// ```
///
/// # Errors
///
/// Returns an error if a number does not name a dimension or if two numbers name the same one.
pub fn delete_dimensions(shape: &Shape, dimensions: &[i64]) -> Result<Shape, ShapeError> {
    let deleted = dimension_numbers(dimensions, shape.rank())?;
    delete_where(shape, |dimension| deleted.contains(&dimension))
}

fn delete_where(shape: &Shape, deleted: impl Fn(usize) -> bool) -> Result<Shape, ShapeError> {
    let kept = (0..shape.rank()).filter(|&d| !deleted(d)).map(|d| shape.dimensions()[d]);
    let layout = shape.layout().map(|layout| {
        let deleted = (0..shape.rank()).rev().filter(|&dimension| deleted(dimension));
        deleted.fold(layout.clone(), |layout, d| layout_util::without_dimension(&layout, d))
    });
    Shape::array(shape.element_type(), kept, layout)
}

/// Inserts dimensions before dimension `at`, or after the last one if `at` is -1, like XLA's
/// `InsertDimensionsAtIndex`.
///
/// In memory, the new dimensions are placed in order, directly outside the dimension that they
/// precede. If they are inserted after the last dimension, they are the most minor ones.
///
/// ```
/// use stridec::xla::shape_util::insert_dimensions_at_index;
/// let shape = "f32[10,20,30]{0,2,1}".parse()?;
/// let inserted = insert_dimensions_at_index(&shape, 1, &[40, 50]).unwrap();
/// assert_eq!(inserted.to_string(), "f32[10,40,50,20,30]{0,4,3,2,1}");
/// # Ok::<(), stridec::shape::ParseError>(())
/// ```
///
/// # Errors
///
/// Returns an error if `at` is out of range or if the array would be too large.
pub fn insert_dimensions_at_index(
    shape: &Shape,
    at: i64,
    bounds: &[u64],
) -> Result<Shape, ShapeError> {
    let at = dimension_number(at, shape.rank() + 1)?;
    let mut dimensions = shape.dimensions().to_vec();
    let mut layout = shape.layout().cloned();
    for &bound in bounds.iter().rev() {
        if let Some(layout) = &mut layout {
            insert_dimension(layout, at, bound);
        }
        dimensions.insert(at, Dimension::Fixed(bound));
    }
    Shape::array(shape.element_type(), dimensions, layout)
}

fn insert_dimension(layout: &mut Layout, at: usize, bound: u64) {
    for dimension in &mut layout.minor_to_major {
        *dimension += usize::from(*dimension >= at);
    }
    let inside = layout.minor_to_major.iter().position(|&dimension| dimension == at + 1);
    let place = inside.map_or(0, |inside| inside + 1);
    let physical = (layout.minor_to_major.len() - place) as u64;
    layout.minor_to_major.insert(place, at);
    if !layout.padded_dimensions.is_empty() {
        layout.padded_dimensions.insert(at, bound);
    }
    for config in &mut layout.split_configs {
        config.dimension += u64::from(config.dimension >= physical);
    }
}

/// Adds a first dimension, which becomes the most major one, like XLA's `PrependMajorDimension`.
///
/// # Errors
///
/// Returns an error if the array would be too large.
pub fn prepend_major_dimension(bound: u64, shape: &Shape) -> Result<Shape, ShapeError> {
    let prepended = insert_dimensions_at_index(shape, 0, &[bound])?;
    move_dim_to_major(&prepended, 0)
}

/// Adds a last dimension, which becomes the most minor one, like XLA's `AppendMinorDimension`.
///
/// # Errors
///
/// Returns an error if the array would be too large.
pub fn append_minor_dimension(bound: u64, shape: &Shape) -> Result<Shape, ShapeError> {
    insert_dimensions_at_index(shape, -1, &[bound])
}

/// Makes a dimension the most major one in memory, like XLA's `MoveDimToMajor`.
///
/// # Errors
///
/// Returns an error if there is no such dimension.
pub fn move_dim_to_major(shape: &Shape, dimension: i64) -> Result<Shape, ShapeError> {
    let layout = layout_util::move_dim_to_major(&shape.layout_or_default(), dimension)?;
    Shape::array(shape.element_type(), shape.dimensions().iter().copied(), layout)
}

/// Permutes the logical dimensions without changing memory, like XLA's `PermuteDimensions` and
/// `ReorderLogicalDimensions`.
///
/// Dimension `i` of the result is dimension `permutation[i]` of `shape`. The transpose from `shape`
/// to the result is a bitcast.
///
/// ```
/// use stridec::xla::shape_util::permute_dimensions;
/// let shape = "f32[10,100,1000]{2,1,0}".parse()?;
/// let permuted = permute_dimensions(&[1, 2, 0], &shape).unwrap();
/// assert_eq!(permuted.to_string(), "f32[100,1000,10]{1,0,2}");
/// # Ok::<(), stridec::shape::ParseError>(())
/// ```
///
/// # Errors
///
/// Returns an error if the permutation does not name each dimension once.
pub fn permute_dimensions(permutation: &[i64], shape: &Shape) -> Result<Shape, ShapeError> {
    let order = shape::permutation(permutation, shape.rank())?;
    let new_number = permutation_util::inverse(&order);
    let mut layout = shape.layout_or_default().into_owned();
    for dimension in &mut layout.minor_to_major {
        *dimension = new_number[*dimension];
    }
    if !layout.padded_dimensions.is_empty() {
        let padded = std::mem::take(&mut layout.padded_dimensions);
        layout.padded_dimensions = order.iter().map(|&dimension| padded[dimension]).collect();
    }
    let dimensions = order.iter().map(|&dimension| shape.dimensions()[dimension]);
    Shape::array(shape.element_type(), dimensions, layout)
}

/// Permutes the dimensions without changing the layout, like XLA's
/// `PermuteDimensionsIgnoringLayout`.
///
/// # Errors
///
/// Returns an error if the permutation does not name each dimension once, or if the padding in the
/// layout does not fit the new extents.
pub fn permute_dimensions_ignoring_layout(
    permutation: &[i64],
    shape: &Shape,
) -> Result<Shape, ShapeError> {
    let dimensions = permutation_util::permute(shape.dimensions(), permutation)?;
    Shape::array(shape.element_type(), dimensions, shape.layout().cloned())
}

/// Returns the shape of the same memory with its dimensions in memory order, like XLA's
/// `MakeShapeWithDescendingLayoutAndSamePhysicalLayout`.
///
/// ```
/// use stridec::xla::shape_util::make_shape_with_descending_layout_and_same_physical_layout;
/// let shape = "f32[128,24,4,48,48]{2,4,3,1,0}".parse()?;
/// let descending = make_shape_with_descending_layout_and_same_physical_layout(&shape).unwrap();
/// assert_eq!(descending.to_string(), "f32[128,24,48,48,4]{4,3,2,1,0}");
/// # Ok::<(), stridec::shape::ParseError>(())
/// ```
///
/// # Errors
///
/// Returns an error if the shape is not an array.
pub fn make_shape_with_descending_layout_and_same_physical_layout(
    shape: &Shape,
) -> Result<Shape, ShapeError> {
    let order = signed(&layout_util::major_to_minor(&shape.layout_or_default()));
    permute_dimensions(&order, shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Shape {
        text.parse().unwrap()
    }

    #[test]
    fn dimensions_come_and_go_with_their_layout() {
        for (given, at, bounds, expected) in [
            ("f32[]", 0, &[10][..], "f32[10]{0}"),
            ("f32[10,20,30]{2,1,0}", 3, &[40], "f32[10,20,30,40]{3,2,1,0}"),
            ("f32[10,20,30]{0,2,1}", 1, &[40], "f32[10,40,20,30]{0,3,2,1}"),
            ("f32[10,20]{0,1:PAD(11,22,one)}", 1, &[7], "f32[10,7,20]{0,2,1:PAD(11,7,22,one)}"),
            ("f32[10,20]", -1, &[7], "f32[10,20,7]"),
            ("f32[10,20]{1,0:SC(0:3)(1:4)}", 1, &[7], "f32[10,7,20]{2,1,0:SC(0:3)(2:4)}"),
        ] {
            let given = match shape(given) {
                scalar if scalar.rank() == 0 => {
                    Shape::new(scalar.element_type(), [], Layout::new([])).unwrap()
                }
                array => array,
            };
            let inserted = insert_dimensions_at_index(&given, at, bounds).unwrap();
            assert_eq!(inserted, shape(expected));
        }
        assert_eq!(
            prepend_major_dimension(40, &shape("f32[10,20,30]{0,2,1}")),
            Ok(shape("f32[40,10,20,30]{1,3,2,0}"))
        );
        assert_eq!(
            append_minor_dimension(40, &shape("f32[10,20,30]{0,2,1}")),
            Ok(shape("f32[10,20,30,40]{3,0,2,1}"))
        );
        assert_eq!(
            drop_degenerate_dimensions(&shape("f32[1,3,1,5]{2,3,0,1}")),
            Ok(shape("f32[3,5]{1,0}"))
        );
        assert!(delete_dimensions(&shape("f32[2,3]"), &[2]).is_err());
    }

    #[test]
    fn permuting_moves_padding_and_keeps_tiles() {
        let padded = shape("f32[2,3]{0,1:PAD(3,5,zero)}");
        assert_eq!(permute_dimensions(&[-1, 0], &padded), Ok(shape("f32[3,2]{1,0:PAD(5,3,zero)}")));
        let tiled = shape("f32[16,3,12,17]{1,2,0,3:T(8,128)}");
        assert_eq!(
            permute_dimensions(&[0, 2, 1, 3], &tiled),
            Ok(shape("f32[16,12,3,17]{2,1,0,3:T(8,128)}"))
        );
    }
}
