//! Where in a request an error stands.

use super::Tensor;
use crate::{error::Error, nest::Operand, proto::stridec as proto};

/// The fields of `xla.Layout` that errors of lowering name.
const LAYOUT_FIELDS: [&str; 7] = [
    "minor_to_major",
    "padded_dimensions",
    "tiles",
    "element_size_in_bits",
    "tail_padding_alignment_in_elements",
    "dynamic_shape_metadata_prefix_bytes",
    "split_configs",
];

/// The error of an operation, `relayout` or `slice`, with the path of what it is about.
pub(super) fn located(
    operation: &str,
    source: Option<&proto::Tensor>,
    destination: Option<&proto::Tensor>,
    error: Error,
) -> Error {
    let operand = match &error {
        Error::Window(window) => {
            return Error::Located {
                path: format!("{operation}.{}", window.field()),
                error: error.into(),
            };
        }
        Error::Nest(nest) => nest.operand(),
        // Lowering stops at the first side that fails.
        Error::Stride(_) if source.is_some_and(fails) => Operand::Source(0),
        Error::Stride(_) => Operand::Destination,
        _ => return error,
    };
    let tensor = match operand {
        Operand::Source(_) => source,
        Operand::Destination => destination,
    };
    let field = error.field();
    let path = match (tensor, field.as_deref()) {
        (None, _) | (_, None) => format!("{operation}.{operand}"),
        (Some(tensor), Some(field)) => format!("{operation}.{operand}.{}", field_of(tensor, field)),
    };
    Error::Located { path, error: error.into() }
}

/// Whether this side is what cannot be lowered.
fn fails(tensor: &proto::Tensor) -> bool {
    Tensor::try_from(tensor).and_then(|tensor| tensor.descriptor()).is_err()
}

/// The path of a field of a tensor, whichever way the tensor is given.
fn field_of(tensor: &proto::Tensor, field: &str) -> String {
    use proto::tensor::Kind;
    let sizes = field.replacen("dimensions", "sizes", 1);
    match tensor.kind {
        Some(Kind::Shape(_)) if LAYOUT_FIELDS.contains(&field) => format!("shape.layout.{field}"),
        Some(Kind::Shape(_)) => format!("shape.{field}"),
        Some(Kind::Strided(_)) => format!("strided.{sizes}"),
        Some(Kind::BufferTensorDesc(_)) if field == "element_type" => {
            "buffer_tensor_desc.data_type".to_owned()
        }
        Some(Kind::BufferTensorDesc(_)) => format!("buffer_tensor_desc.{sizes}"),
        None => field.to_owned(),
    }
}
