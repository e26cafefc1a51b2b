//! What can be asked of a shape, and made of one: XLA's `ShapeUtil`, as far as it needs no addresses.
//!
//! What changes the dimensions of an array keeps its layout in step: an element keeps its neighbours in memory wherever
//! they still exist. Dimension numbers may be negative: they count from the end. Byte sizes and strides are in
//! [`stride::size_util`](crate::stride::size_util), bitcasts in [`nest`](crate::nest).

use super::{
    Dimension, ElementType, FieldPath, Layout, PaddingValue, Shape, ShapeError, dimension_number,
    dimension_numbers,
    layout_util::{self, LayoutField},
    permutation,
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
/// use stridec::shape::shape_util::true_rank;
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

/// The array without its dimensions of one element: `DropDegenerateDimensions`.
///
/// # Errors
///
/// Never for a plain layout; where a layout no longer fits, its error.
pub fn drop_degenerate_dimensions(shape: &Shape) -> Result<Shape, ShapeError> {
    let kept = |dimension: usize| shape.dimensions()[dimension].bound() != Some(1);
    delete_where(shape, |dimension| !kept(dimension))
}

/// The array without these dimensions, the order of the others in memory kept: `DeleteDimensions`.
///
/// ```
/// use stridec::shape::shape_util::delete_dimensions;
/// let shape = "f32[5,3,2,7,9]{2,0,1,4,3}".parse()?;
/// assert_eq!(delete_dimensions(&shape, &[1, 2, -2]).unwrap().to_string(), "f32[5,9]{0,1}");
/// # Ok::<(), stridec::shape::ParseError>(())
/// ```
///
/// # Errors
///
/// Where a number names no dimension, or two name one.
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

/// The array with new dimensions before dimension `at`, -1 standing for after the last: `InsertDimensionsAtIndex`.
///
/// In memory they lie just outside the dimension that they precede, in order; those after the last are most minor.
///
/// ```
/// use stridec::shape::shape_util::insert_dimensions_at_index;
/// let shape = "f32[10,20,30]{0,2,1}".parse()?;
/// let inserted = insert_dimensions_at_index(&shape, 1, &[40, 50]).unwrap();
/// assert_eq!(inserted.to_string(), "f32[10,40,50,20,30]{0,4,3,2,1}");
/// # Ok::<(), stridec::shape::ParseError>(())
/// ```
///
/// # Errors
///
/// Where there is no such place, or the array would be too large.
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

/// The array with one more dimension, the first and the most major: `PrependMajorDimension`.
///
/// # Errors
///
/// Where the array would be too large.
pub fn prepend_major_dimension(bound: u64, shape: &Shape) -> Result<Shape, ShapeError> {
    let prepended = insert_dimensions_at_index(shape, 0, &[bound])?;
    move_dim_to_major(&prepended, 0)
}

/// The array with one more dimension, the last and the most minor: `AppendMinorDimension`.
///
/// # Errors
///
/// Where the array would be too large.
pub fn append_minor_dimension(bound: u64, shape: &Shape) -> Result<Shape, ShapeError> {
    insert_dimensions_at_index(shape, -1, &[bound])
}

/// The array with one dimension moved to the most major place in memory: `MoveDimToMajor`.
///
/// # Errors
///
/// Where there is no such dimension.
pub fn move_dim_to_major(shape: &Shape, dimension: i64) -> Result<Shape, ShapeError> {
    let layout = layout_util::move_dim_to_major(&layout_util::layout_of(shape), dimension)?;
    Shape::array(shape.element_type(), shape.dimensions().iter().copied(), layout)
}

/// The array with its dimensions in another order and its memory as it was: `PermuteDimensions`.
///
/// Dimension `i` of the result is dimension `permutation[i]`, and the transpose between the two is a bitcast. XLA's
/// `ReorderLogicalDimensions` is the same.
///
/// ```
/// use stridec::shape::shape_util::permute_dimensions;
/// let shape = "f32[10,100,1000]{2,1,0}".parse()?;
/// let permuted = permute_dimensions(&[1, 2, 0], &shape).unwrap();
/// assert_eq!(permuted.to_string(), "f32[100,1000,10]{1,0,2}");
/// # Ok::<(), stridec::shape::ParseError>(())
/// ```
///
/// # Errors
///
/// Where the permutation does not name each dimension once.
pub fn permute_dimensions(permutation: &[i64], shape: &Shape) -> Result<Shape, ShapeError> {
    let order = permutation::checked(permutation, shape.rank())?;
    let new_number = permutation::inverse(&order);
    let mut layout = layout_util::layout_of(shape).into_owned();
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

/// The array with its dimensions in another order and its layout as it was: `PermuteDimensionsIgnoringLayout`.
///
/// # Errors
///
/// Where the permutation does not name each dimension once, or the layout's padding does not fit the new extents.
pub fn permute_dimensions_ignoring_layout(
    permutation: &[i64],
    shape: &Shape,
) -> Result<Shape, ShapeError> {
    let dimensions = permutation::permute(shape.dimensions(), permutation)?;
    Shape::array(shape.element_type(), dimensions, shape.layout().cloned())
}

/// The array over the same memory whose dimensions lie in order: `MakeShapeWithDescendingLayoutAndSamePhysicalLayout`.
///
/// ```
/// use stridec::shape::shape_util::make_shape_with_descending_layout_and_same_physical_layout;
/// let shape = "f32[128,24,4,48,48]{2,4,3,1,0}".parse()?;
/// let descending = make_shape_with_descending_layout_and_same_physical_layout(&shape).unwrap();
/// assert_eq!(descending.to_string(), "f32[128,24,48,48,4]{4,3,2,1,0}");
/// # Ok::<(), stridec::shape::ParseError>(())
/// ```
///
/// # Errors
///
/// Where the shape is no array.
pub fn make_shape_with_descending_layout_and_same_physical_layout(
    shape: &Shape,
) -> Result<Shape, ShapeError> {
    let order = signed(&layout_util::major_to_minor(&layout_util::layout_of(shape)));
    permute_dimensions(&order, shape)
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
    let order = layout_util::major_to_minor(&layout_util::layout_of(shape));
    let first =
        order.into_iter().find(|&d| d == dimension || shape.dimensions()[d].bound() != Some(1));
    Ok(first == Some(dimension))
}

/// Whether the last dimension is the most minor in memory: `LastDimIsMinorMost`.
#[must_use]
pub fn last_dim_is_minor_most(shape: &Shape) -> bool {
    let minor = layout_util::layout_of(shape).minor_to_major.first().copied();
    minor.is_some_and(|minor| minor + 1 == shape.rank())
}

/// The same extents and layout with another type: `ChangeElementType`.
///
/// `E(n)` stays where the new type is one that XLA packs and `n` bits hold it; it goes otherwise.
///
/// # Errors
///
/// Where the type or the shape has no elements.
pub fn change_element_type(shape: &Shape, element_type: ElementType) -> Result<Shape, ShapeError> {
    let mut layout = shape.layout().cloned();
    if let Some(layout) = &mut layout {
        let fits = packed_bits(element_type)
            .is_some_and(|bits| bits < 8 && u64::from(bits) <= layout.element_size_in_bits);
        if !fits {
            layout.element_size_in_bits = 0;
        }
    }
    Shape::array(element_type, shape.dimensions().iter().copied(), layout)
}

/// Bits that an element takes where XLA packs as tightly as it does: `StorageBitWidth`. A `pred` is a byte.
#[must_use]
pub fn packed_bits(element_type: ElementType) -> Option<u32> {
    match element_type {
        ElementType::Pred => Some(8),
        _ => element_type.bits(),
    }
}

/// The shape that the host sees: no tiles, `E`, `S`, `P`, `L` or `M`: `DeviceShapeToHostShape`.
///
/// # Errors
///
/// Never for valid shapes.
pub fn device_shape_to_host_shape(shape: &Shape) -> Result<Shape, ShapeError> {
    use LayoutField::{
        ElementSize, IndexTypes, MemorySpace, PhysicalShape, Prefix, TailPadding, Tiles,
    };
    let fields = [Tiles, ElementSize, MemorySpace, IndexTypes, PhysicalShape, TailPadding, Prefix];
    map_arrays(shape, &|array| {
        let layout = array.layout().map(|layout| layout_util::without_fields(layout, &fields));
        Shape::array(array.element_type(), array.dimensions().iter().copied(), layout)
    })
}

/// Whether two shapes have the same types and extents, layouts and bounds aside: `Compatible`.
#[must_use]
pub fn compatible(a: &Shape, b: &Shape) -> bool {
    a.element_type() == b.element_type()
        && same_dimensions(a, b)
        && a.tuple_shapes().len() == b.tuple_shapes().len()
        && a.tuple_shapes().iter().zip(b.tuple_shapes()).all(|(a, b)| compatible(a, b))
}

/// Whether two arrays have the same extents, a bound and an exact extent being the same: `SameDimensions`.
#[must_use]
pub fn same_dimensions(a: &Shape, b: &Shape) -> bool {
    a.dimensions().iter().map(|n| n.bound()).eq(b.dimensions().iter().map(|n| n.bound()))
}

/// Whether two shapes are equal, a missing layout being the default one: `Equal`.
///
/// ```
/// use stridec::shape::shape_util::equal;
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
        && layout_util::equal(&layout_util::layout_of(a), &layout_util::layout_of(b), ignoring)
        && a.tuple_shapes().len() == b.tuple_shapes().len()
        && a.tuple_shapes()
            .iter()
            .zip(b.tuple_shapes())
            .all(|(a, b)| equal_ignoring(a, b, ignoring))
}

/// A padded layout's value, where its cells must be filled.
#[must_use]
pub fn padding_value(shape: &Shape) -> Option<PaddingValue> {
    shape.layout().filter(|_| layout_util::is_padded(shape)).and_then(|layout| layout.padding_value)
}

/// The shape with every array changed.
fn map_arrays(
    shape: &Shape,
    change: &impl Fn(&Shape) -> Result<Shape, ShapeError>,
) -> Result<Shape, ShapeError> {
    match shape.element_type() {
        ElementType::Token | ElementType::Opaque => Ok(shape.clone()),
        ElementType::Tuple => {
            let parts: Result<Vec<_>, _> =
                shape.tuple_shapes().iter().map(|part| map_arrays(part, change)).collect();
            Shape::tuple(parts?)
        }
        ElementType::Buffer => match shape.tuple_shapes() {
            [array] => Shape::buffer(map_arrays(array, change)?),
            _ => Ok(shape.clone()),
        },
        _ => change(shape),
    }
}

/// `shape` with the layouts of `source`, whose ranks and tuples are the same.
pub(super) fn with_layouts(shape: &Shape, source: &Shape) -> Result<Shape, ShapeError> {
    let is_array = |shape: &Shape| shape.element_type().bits().is_some();
    let (given, rank) = match (is_array(source), is_array(shape)) {
        (true, true) if source.rank() == shape.rank() => {
            let dimensions = shape.dimensions().iter().copied();
            return Shape::array(shape.element_type(), dimensions, source.layout().cloned());
        }
        (true, true) => (source.rank(), shape.rank()),
        _ => (source.tuple_shapes().len(), shape.tuple_shapes().len()),
    };
    if given != rank || is_array(source) != is_array(shape) {
        let (field, accepted) = (FieldPath::new("layout"), "the same rank and tuples are accepted");
        return Err(ShapeError::Count { field, given, rank, accepted });
    }
    let mut sources = source.tuple_shapes().iter();
    match shape.element_type() {
        ElementType::Tuple => {
            let parts = shape.tuple_shapes().iter().zip(&mut sources);
            Shape::tuple(
                parts
                    .map(|(part, source)| with_layouts(part, source))
                    .collect::<Result<Vec<_>, _>>()?,
            )
        }
        _ => Ok(shape.clone()),
    }
}

/// Dimension numbers as the utilities take them.
pub(crate) fn signed(dimensions: &[usize]) -> Vec<i64> {
    dimensions.iter().filter_map(|&dimension| i64::try_from(dimension).ok()).collect()
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
    fn dimensions_come_and_go_with_their_layout() {
        for (given, at, bounds, expected) in [
            ("f32[]", 0, &[10][..], "f32[10]{0}"),
            ("f32[10,20,30]{2,1,0}", 3, &[40], "f32[10,20,30,40]{3,2,1,0}"),
            ("f32[10,20,30]{0,2,1}", 1, &[40], "f32[10,40,20,30]{0,3,2,1}"),
            ("f32[10,20]{0,1:PAD(11,22,one)}", 1, &[7], "f32[10,7,20]{0,2,1:PAD(11,7,22,one)}"),
            ("f32[10,20]", -1, &[7], "f32[10,20,7]"),
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

    #[test]
    fn types_change_and_their_packing_with_them() {
        let packed = shape("s4[64,128]{1,0:E(4)}");
        let changed = |kind| change_element_type(&packed, kind).unwrap().to_string();
        assert_eq!(changed(ElementType::Pred), "pred[64,128]{1,0}");
        assert_eq!(changed(ElementType::U8), "u8[64,128]{1,0}");
        assert_eq!(changed(ElementType::U4), "u4[64,128]{1,0:E(4)}");
        let device = shape("(s4[8]{0:T(4)L(2)E(4)S(3)M(8)}, token[])");
        assert_eq!(device_shape_to_host_shape(&device), Ok(shape("(s4[8]{0}, token[])")));
    }

    #[test]
    fn layouts_are_copied_between_shapes_of_one_structure() {
        let copied = |source: &str, destination: &str| {
            layout_util::copy_layout_between_shapes(&shape(source), &shape(destination))
        };
        assert_eq!(copied("f32[9,42,7]{2,0,1}", "f32[2,3,5]"), Ok(shape("f32[2,3,5]{2,0,1}")));
        assert!(copied("f32[9,42,7]{2,0,1}", "f32[2,3]").is_err());
        assert_eq!(
            copied("(f32[9,4]{0,1}, token[])", "(s8[2,3], token[])"),
            Ok(shape("(s8[2,3]{0,1}, token[])"))
        );
        assert!(copied("(f32[2])", "f32[2]").is_err());
    }
}
