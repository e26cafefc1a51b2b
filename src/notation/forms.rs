//! Describes a tensor's memory in the terms of other systems, or explains why a system cannot
//! describe it.

use std::fmt::Display;

use serde_json::{Map, Value, json};

use super::{
    DlPack, Kind, NumpyArray, PjrtMemoryLayout, Tensor, TensorForm, dml::BufferTensorDesc,
    memory_formats,
};
use crate::stride::{PaddingReport, StrideDescriptor, StrideError};

/// Describes the tensor in the terms of other systems, such as DirectML or numpy. Each key is the
/// name of a system.
///
/// The value is an object if the system describes an array by fields, and otherwise the text that
/// `stridec convert` prints. If the system cannot describe the tensor, the value is
/// `{"unsupported": reason}`.
#[must_use]
pub fn forms(tensor: &Tensor) -> Map<String, Value> {
    let descriptor = tensor.descriptor();
    let mut forms = Map::new();
    forms.insert("dml".into(), dml(tensor));
    forms.insert("pjrt".into(), or_why(pjrt(tensor)));
    forms.insert("numpy".into(), or_why(NumpyArray::try_from(descriptor).map(numpy)));
    forms.insert("dlpack".into(), or_why(DlPack::try_from(descriptor).map(dlpack)));
    for kind in Kind::ALL {
        let text = tensor.write(kind).map(Value::from).map_err(|error| error.reason().to_owned());
        forms.entry(kind.name()).or_insert_with(|| or_why(text));
    }
    forms.insert("torch_memory_formats".into(), json!(memory_formats(descriptor)));
    forms
}

/// Returns the description, or `{"unsupported": reason}` if there is an error.
fn or_why(form: Result<Value, impl Display>) -> Value {
    form.unwrap_or_else(|why| json!({ "unsupported": why.to_string() }))
}

/// Returns the fields of `DML_BUFFER_TENSOR_DESC`.
fn dml(tensor: &Tensor) -> Value {
    let desc = match tensor.form() {
        TensorForm::Buffer(desc) => Ok(desc.clone()),
        _ => BufferTensorDesc::try_from(tensor.descriptor()),
    };
    or_why(desc.map(|desc| {
        json!({
            "data_type": desc.data_type().name(),
            "sizes": desc.sizes(),
            "strides": desc.explicit_strides().as_slice(),
            "total_tensor_size_in_bytes": desc.total_tensor_size_in_bytes(),
        })
    }))
}

/// Returns the fields of `PJRT_Buffer_MemoryLayout`.
fn pjrt(tensor: &Tensor) -> Result<Value, StrideError> {
    let layout = match tensor.form() {
        TensorForm::Shape(shape) => PjrtMemoryLayout::try_from(shape)?,
        _ => PjrtMemoryLayout::try_from(tensor.descriptor())?,
    };
    Ok(match layout {
        PjrtMemoryLayout::Tiled { minor_to_major, tile_dims, tile_dim_sizes } => json!({
            "minor_to_major": minor_to_major,
            "tile_dims": tile_dims,
            "tile_dim_sizes": tile_dim_sizes,
        }),
        PjrtMemoryLayout::Strides { byte_strides } => json!({ "byte_strides": byte_strides }),
    })
}

fn numpy(array: NumpyArray) -> Value {
    let NumpyArray { dtype, shape, strides, offset, .. } = array;
    json!({ "dtype": dtype, "shape": shape, "strides": strides, "offset": offset })
}

fn dlpack(tensor: DlPack) -> Value {
    let DlPack { shape, strides, code, bits, lanes, byte_offset, is_subbyte_type_padded, .. } =
        tensor;
    json!({
        "code": code,
        "bits": bits,
        "lanes": lanes,
        "shape": shape,
        "strides": strides,
        "byte_offset": byte_offset,
        "is_subbyte_type_padded": is_subbyte_type_padded,
    })
}

/// Returns the padding of a tensor: its bytes, its percentage of the memory, and the part that each
/// dimension causes. The field `costliest` is the dimension that causes most of the padding, or
/// null if there is no padding.
pub(super) fn padding(descriptor: &StrideDescriptor) -> Value {
    let report = PaddingReport::of(descriptor);
    let dimensions: Vec<Value> = report
        .dimensions
        .iter()
        .map(|paid| json!({ "extent": paid.extent, "padded": paid.padded, "bytes": paid.bytes }))
        .collect();
    json!({
        "bytes": report.padding_bytes,
        "percent": report.percent(),
        "dimensions": dimensions,
        "costliest": report.costliest,
    })
}
