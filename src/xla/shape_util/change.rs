//! Functions of XLA's `ShapeUtil` that change element types and layouts.

use super::packed_bits;
use crate::{
    shape::{ElementType, FieldPath, Shape, ShapeError},
    xla::layout_util::{self, LayoutField},
};

/// Changes the element type and preserves the extents and the layout, like XLA's
/// `ChangeElementType`.
///
/// `E(n)` is preserved if the new type has fewer than 8 bits and fits into `n` bits. Otherwise, it
/// is removed.
///
/// # Errors
///
/// Returns an error if the new type or the shape has no elements.
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

/// Converts the shape of a device array to the shape of the array on the host, like XLA's
/// `DeviceShapeToHostShape`. The tiles and the attributes `E`, `S`, `P`, `L`, `M`, `#` and `*` are
/// removed.
///
/// # Errors
///
/// Never returns an error for a valid shape.
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

/// Applies `change` to every array in the shape.
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

/// Returns `shape` with the layouts of `source`, which must have the same ranks and tuple
/// structure.
pub(in crate::xla) fn with_layouts(shape: &Shape, source: &Shape) -> Result<Shape, ShapeError> {
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
        let (field, accepted) = (FieldPath::new("layout"), "as many as the other shape has");
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

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Shape {
        text.parse().unwrap()
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
