//! DirectML's `DML_BUFFER_TENSOR_DESC` in JSON: `{"data_type": "FLOAT32", "sizes": [2, 3],
//! "strides": [3, 1], "total_tensor_size_in_bytes": 24}`.

use super::{BufferTensorDesc, TensorDataType};
use crate::notation::{
    Tensor, TensorForm,
    cursor::{Cursor, Result},
    literal::{Value, ValueKind, value},
    tensor::broken_rule,
};

const NAMES: [&str; 6] = [
    "data_type",
    "sizes",
    "strides",
    "total_tensor_size_in_bytes",
    "flags",
    "guaranteed_base_offset_alignment",
];

pub(in crate::notation) fn read(cursor: &mut Cursor<'_>) -> Result<Tensor> {
    let map = value(cursor)?;
    cursor.end()?;
    let ValueKind::Map(fields) = &map.kind else {
        return Err(map.wrong(cursor, "a map of the fields of DML_BUFFER_TENSOR_DESC"));
    };
    fields.only(&NAMES, 0)?;
    let field = |name: &str| fields.get(&[name], usize::MAX).filter(|value| !value.is_none());
    let given = fields.require(&["data_type"], usize::MAX)?;
    let data_type = match given.kind {
        ValueKind::Text(name) => {
            TensorDataType::from_name(name.trim_start_matches("DML_TENSOR_DATA_TYPE_"))
        }
        _ => None,
    };
    let data_type = data_type
        .ok_or_else(|| given.wrong(cursor, "a data type of DirectML, such as \"FLOAT32\""))?;
    let sizes = numbers(cursor, fields.require(&["sizes"], usize::MAX)?)?;
    let strides = field("strides").map(|strides| numbers(cursor, strides)).transpose()?;
    let desc = BufferTensorDesc::new(data_type, &sizes, strides.as_deref());
    let mut desc = desc.map_err(|error| broken_rule(map.place.clone(), error.kind(), error))?;
    if let Some(total) = field("total_tensor_size_in_bytes") {
        desc = desc
            .with_total_tensor_size_in_bytes(total.natural(cursor)?)
            .map_err(|error| broken_rule(total.place.clone(), error.kind(), error))?;
    }
    if let Some(flags) = field("flags") {
        desc = desc
            .with_flags(uint32(cursor, flags)?)
            .map_err(|error| broken_rule(flags.place.clone(), error.kind(), error))?;
    }
    if let Some(bytes) = field("guaranteed_base_offset_alignment") {
        desc = desc
            .with_guaranteed_base_offset_alignment(uint32(cursor, bytes)?)
            .map_err(|error| broken_rule(bytes.place.clone(), error.kind(), error))?;
    }
    Tensor::try_from(desc).map_err(|error| broken_rule(map.place.clone(), error.kind(), error))
}

fn numbers(cursor: &Cursor<'_>, list: &Value<'_>) -> Result<Vec<u32>> {
    let values = list.list(cursor, "a list of numbers")?;
    values.iter().map(|value| uint32(cursor, value)).collect()
}

fn uint32(cursor: &Cursor<'_>, value: &Value<'_>) -> Result<u32> {
    u32::try_from(value.natural(cursor)?).map_err(|_| value.wrong(cursor, "a number below 2^32"))
}

pub(in crate::notation) fn write(array: &Tensor) -> std::result::Result<String, String> {
    let desc = match array.form() {
        TensorForm::Buffer(desc) => Ok(desc.clone()),
        _ => BufferTensorDesc::try_from(array.descriptor()),
    };
    let desc = desc.map_err(|error| error.to_string())?;
    let (name, sizes, strides) = (desc.data_type().name(), desc.sizes(), desc.explicit_strides());
    let total = desc.total_tensor_size_in_bytes();
    Ok(format!(
        "{{\"data_type\": \"{name}\", \"sizes\": {sizes:?}, \"strides\": {:?}, \"total_tensor_size_in_bytes\": {total}}}",
        &strides[..],
    ))
}
