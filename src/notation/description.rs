//! A tensor in memory as JSON, as `stridec describe --format json` prints it.

use serde_json::{Value, json};

use super::{
    Tensor, TensorForm,
    forms::{forms, padding},
};

/// Returns the lowered form of a tensor as JSON: its axes, its strides, its padding, and the terms
/// of other systems, as [`forms`] returns them. Fields that do not apply are null.
///
/// ```
/// use stridec::{Tensor, notation::description};
/// let columns: Tensor = "f32[2,3]{0,1}".parse()?;
/// let value = description(&columns);
/// assert_eq!(value["strides"], serde_json::json!([1, 2]));
/// assert_eq!(value["physical_bytes"], 24);
/// # Ok::<(), stridec::Error>(())
/// ```
#[must_use]
pub fn description(tensor: &Tensor) -> Value {
    let descriptor = tensor.descriptor();
    let axes: Vec<Value> = descriptor
        .axes()
        .iter()
        .map(|axis| {
            json!({
                "coordinate": descriptor.coordinate_name(axis.coordinate),
                "extent": axis.extent,
                "stride": axis.stride,
            })
        })
        .collect();
    let mut value = json!({
        "shape": tensor.to_string(),
        "element_type": descriptor.element_type().name(),
        "dimensions": descriptor.sizes(),
        "minor_to_major": minor_to_major(tensor),
        "element_bits": descriptor.element_bits(),
        "axes": axes,
        "strides": descriptor.strides().collect::<Vec<_>>(),
        "offset": descriptor.base_offset(),
        "prefix_bytes": descriptor.prefix_bytes(),
        "elements": descriptor.elements(),
        "physical_dimensions": descriptor.physical_dimensions(),
        "physical_elements": descriptor.physical_elements(),
        "physical_bytes": descriptor.image_bytes(),
        "packed": descriptor.is_packed(),
    });
    value["padding"] = padding(descriptor);
    for (name, form) in forms(tensor) {
        value[name] = form;
    }
    value
}

/// Returns the dimensions of an XLA layout in order, the most minor one first. Returns `None` if
/// the tensor is not given by an XLA layout.
fn minor_to_major(tensor: &Tensor) -> Option<Vec<usize>> {
    match tensor.form() {
        TensorForm::Shape(shape) => Some(match shape.layout() {
            Some(layout) => layout.minor_to_major.to_vec(),
            None => (0..shape.rank()).rev().collect(),
        }),
        _ => None,
    }
}
