//! The parts of a layout as texts, for the page's controls.

use serde_json::{Value, json};
use stridec::{
    Tensor,
    notation::TensorForm,
    shape::{Dimension, Format, Layout, Notation, Shape, StridedShape},
};

/// Returns the parts of a layout. Returns null if the text does not parse, or if the layout has
/// parts that the controls do not show.
pub(crate) fn fields(text: &str) -> Value {
    match text.parse::<Tensor>() {
        Ok(tensor) => fields_of(&tensor),
        // A layout that parses but cannot be lowered is shown too, so that the controls can correct
        // it.
        Err(_) => match text.parse() {
            Ok(Notation::Shape(shape)) if shape.is_array() => of_shape(&shape),
            Ok(Notation::Strided(shape)) => of_strided(&shape),
            _ => Value::Null,
        },
    }
}

/// Returns the parts of a layout, or null if it has parts that the controls do not show.
pub(crate) fn fields_of(tensor: &Tensor) -> Value {
    match tensor.form() {
        TensorForm::Shape(shape) if shape.is_array() => of_shape(shape),
        TensorForm::Strided(shape) => of_strided(shape),
        _ => Value::Null,
    }
}

fn of_shape(shape: &Shape) -> Value {
    let layout = shape.layout_or_default();
    let is_fixed = |dimension: &Dimension| matches!(dimension, Dimension::Fixed(_));
    if !is_plain(&layout) || !shape.dimensions().iter().all(is_fixed) {
        return Value::Null;
    }
    json!({
        "type": shape.element_type().name(),
        "dimensions": texts(shape.dimensions()),
        "order": texts(&layout.minor_to_major),
        "tiles": layout.tiles.iter().map(ToString::to_string).collect::<String>(),
        "padded": texts(&layout.padded_dimensions),
        "value": layout.padding_value.map(|value| value.to_string()).unwrap_or_default(),
        "bits": layout.element_size_in_bits,
    })
}

/// Returns true if the layout consists of order, tiles, padding and element size alone.
fn is_plain(layout: &Layout) -> bool {
    let mut rest = layout.clone();
    rest.tail_padding_alignment_in_elements = 1;
    rest.dynamic_shape_metadata_prefix_bytes = 0;
    rest.memory_space = 0;
    rest.split_configs.clear();
    rest.format = Format::Unspecified;
    rest.sparse = None;
    rest.padding_number = None;
    rest == *layout
}

fn of_strided(shape: &StridedShape) -> Value {
    json!({
        "type": shape.element_type().name(),
        "dimensions": texts(shape.sizes()),
        "strides": texts(shape.strides()),
        "offset": shape.offset().to_string(),
        "bits": shape.element_size_in_bits(),
    })
}

/// Returns numbers as texts, because the numbers of a script are exact only up to 53 bits.
fn texts<T: ToString>(numbers: impl IntoIterator<Item = T>) -> Vec<String> {
    numbers.into_iter().map(|number| number.to_string()).collect()
}
