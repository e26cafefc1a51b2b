//! `describe --format json`: describes the lowered form of a shape as JSON.

use serde_json::{Value, json};
use stridec::{Tensor, notation::TensorForm, shape::Shape};

use super::describe_forms::{forms, padding};

/// Returns the lowered form of a tensor. Fields that do not apply are null.
pub(super) fn describe_json(tensor: &Tensor) -> Value {
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

/// Returns the lowered form of each array in a tuple. The field `path` is the position of the
/// array, such as `1,0`. If an array has no memory, the field `unsupported` gives the reason.
pub(super) fn leaves_json(tuple: &Shape, leaves: &[(String, &Shape)]) -> Value {
    let leaf = |(path, shape): &(String, &Shape)| {
        let mut value = match Tensor::try_from((*shape).clone()) {
            Ok(tensor) => describe_json(&tensor),
            Err(error) => json!({
                "shape": shape.to_string(),
                "element_type": shape.element_type().name(),
                "unsupported": error.to_string(),
            }),
        };
        value["path"] = json!(path);
        value
    };
    json!({
        "shape": tuple.to_string(),
        "element_type": "tuple",
        "leaves": leaves.iter().map(leaf).collect::<Vec<_>>(),
    })
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
