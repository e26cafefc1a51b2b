//! DirectML's `DML_BUFFER_TENSOR_DESC` in JSON: `{"data_type": "FLOAT32", "sizes": [2, 3],
//! "strides": [3, 1], "total_tensor_size_in_bytes": 24}`. DirectML's own names of the fields, such
//! as `DataType`, are read too.

use super::{BufferTensorDesc, TensorDataType};
use crate::{
    notation::{
        Tensor, TensorForm,
        cursor::{Cursor, Result},
        literal::{Value, ValueKind, value},
        tensor::broken_rule,
    },
    shape::ParseError,
};

/// The names of the fields, each followed by DirectML's own. `DimensionCount` follows from the
/// sizes.
const NAMES: [[&str; 2]; 7] = [
    ["data_type", "DataType"],
    ["sizes", "Sizes"],
    ["strides", "Strides"],
    ["total_tensor_size_in_bytes", "TotalTensorSizeInBytes"],
    ["flags", "Flags"],
    ["guaranteed_base_offset_alignment", "GuaranteedBaseOffsetAlignment"],
    ["dimension_count", "DimensionCount"],
];

pub(in crate::notation) fn read(cursor: &mut Cursor<'_>) -> Result<Tensor> {
    let map = value(cursor)?;
    cursor.end()?;
    let ValueKind::Map(fields) = &map.kind else {
        return Err(map.wrong(cursor, "a map of the fields of DML_BUFFER_TENSOR_DESC"));
    };
    let [
        type_names,
        sizes_names,
        strides_names,
        total_names,
        flags_names,
        alignment_names,
        count_names,
    ] = NAMES;
    fields.only(NAMES.as_flattened(), 0)?;
    for names in &NAMES {
        if let (Some(_), Some(again)) =
            (fields.get(&names[..1], usize::MAX), fields.get(&names[1..], usize::MAX))
        {
            let reason = format!("expected {} or {}, not both", names[0], names[1]);
            return Err(ParseError::new(again.place.clone(), reason));
        }
    }
    let field = |names: [&str; 2]| fields.get(&names, usize::MAX).filter(|value| !value.is_none());
    let given = fields.require(&type_names, usize::MAX)?;
    let data_type = match given.kind {
        ValueKind::Text(name) => {
            TensorDataType::from_name(name.trim_start_matches("DML_TENSOR_DATA_TYPE_"))
        }
        _ => None,
    };
    let data_type = data_type
        .ok_or_else(|| given.wrong(cursor, "a data type of DirectML, such as \"FLOAT32\""))?;
    let sizes = numbers(cursor, fields.require(&sizes_names, usize::MAX)?)?;
    if let Some(count) = field(count_names)
        && count.natural(cursor)? != sizes.len() as u64
    {
        return Err(count.wrong(cursor, &format!("{}, the number of sizes", sizes.len())));
    }
    let strides = field(strides_names).map(|strides| numbers(cursor, strides)).transpose()?;
    let desc = BufferTensorDesc::new(data_type, &sizes, strides.as_deref());
    let mut desc = desc.map_err(|error| broken_rule(map.place.clone(), error.kind(), error))?;
    if let Some(total) = field(total_names) {
        desc = desc
            .with_total_tensor_size_in_bytes(total.natural(cursor)?)
            .map_err(|error| broken_rule(total.place.clone(), error.kind(), error))?;
    }
    if let Some(flags) = field(flags_names) {
        desc = desc
            .with_flags(uint32(cursor, flags)?)
            .map_err(|error| broken_rule(flags.place.clone(), error.kind(), error))?;
    }
    if let Some(bytes) = field(alignment_names) {
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

#[cfg(test)]
mod tests {
    use crate::notation::{Kind, read};

    #[test]
    fn the_names_of_the_fields_are_those_of_directml_too() {
        let own = "dml:{\"DataType\": \"DML_TENSOR_DATA_TYPE_FLOAT32\", \"Flags\": 0, \
            \"DimensionCount\": 2, \"Sizes\": [2, 3], \"Strides\": [5, 1], \
            \"TotalTensorSizeInBytes\": 32, \"GuaranteedBaseOffsetAlignment\": 0}";
        let other = "dml:{\"data_type\": \"FLOAT32\", \"sizes\": [2, 3], \"strides\": [5, 1], \
            \"total_tensor_size_in_bytes\": 32}";
        let [own, other] = [own, other].map(|text| read(text).unwrap().write(Kind::Dml).unwrap());
        assert_eq!(own, other);
        let wrong = "dml:{\"DataType\": \"FLOAT32\", \"DimensionCount\": 3, \"Sizes\": [2, 3]}";
        let error = read(wrong).unwrap_err().to_string();
        assert!(error.contains("expected 2, the number of sizes"), "{error}");
        let both = "dml:{\"data_type\": \"FLOAT32\", \"sizes\": [2, 3], \"Sizes\": [4, 5]}";
        let error = read(both).unwrap_err().to_string();
        assert!(error.contains("expected sizes or Sizes, not both"), "{error}");
    }
}
