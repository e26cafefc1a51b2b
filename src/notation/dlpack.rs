//! DLPack's `DLTensor` as JSON: `{"code": 2, "bits": 32, "lanes": 1, "shape": [2, 3], "strides": [3, 1], "byte_offset": 0}`.
//!
//! Strides count elements, the offset counts bytes. Elements of several lanes have one more, minor dimension. Those below a
//! byte are packed, unless `is_subbyte_type_padded` is true.

use super::{
    Array,
    cursor::{Cursor, Result},
    literal::{Fields, Value, ValueKind, value},
    numpy::packed,
};
use crate::{shape::ParseError, stride::interchange::DlPack};

const NAMES: [&str; 7] =
    ["code", "bits", "lanes", "shape", "strides", "byte_offset", "is_subbyte_type_padded"];

pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Array> {
    let map = value(cursor)?;
    cursor.end()?;
    let ValueKind::Map(fields) = &map.kind else {
        return Err(map.wrong(cursor, "a map of the fields of DLTensor"));
    };
    fields.only(&NAMES, 0)?;
    let place = map.place.clone();
    let require = |name| fields.require(&[name], usize::MAX);
    let field = |name: &str| fields.get(&[name], usize::MAX).filter(|value| !value.is_none());
    let (code, bits) = (require("code")?, require("bits")?);
    let known =
        u8::try_from(code.natural(cursor)?).ok().zip(u8::try_from(bits.natural(cursor)?).ok());
    let element_type = known.and_then(|(code, bits)| DlPack::element_type(code, bits));
    let element_type = element_type.ok_or_else(|| {
        let reason = "expected a code and bits of a type that XLA has, such as 2 and 32 for f32";
        ParseError::unsupported(code.place.clone(), reason)
    })?;
    let mut sizes = require("shape")?.naturals(cursor)?;
    let mut strides = match field("strides") {
        Some(strides) => strides.numbers(cursor)?,
        None => packed(&sizes, 1)
            .ok_or_else(|| ParseError::new(place.clone(), "expected at most 2^63-1 elements"))?,
    };
    let lanes = field("lanes").map_or(Ok(1), |lanes| lanes.natural(cursor))?;
    if lanes != 1 {
        let times = |stride: &i64| stride.checked_mul(i64::try_from(lanes).ok()?);
        strides = strides
            .iter()
            .map(times)
            .collect::<Option<_>>()
            .ok_or_else(|| ParseError::new(place.clone(), "expected offsets below 2^63"))?;
        sizes.push(lanes);
        strides.push(1);
    }
    let is_padded = is_true(cursor, fields, "is_subbyte_type_padded")?;
    let own = element_type.bits().unwrap_or(8).max(1);
    let bits = if own < 8 && element_type.name() != "pred" && !is_padded { own } else { 0 };
    let storage = if bits == 0 { element_type.storage_bits().unwrap_or(8) } else { bits };
    let offset = offset(cursor, field("byte_offset"), storage)?;
    Array::strided(element_type, bits.into(), &sizes, &strides, offset, place)
}

/// Elements of `bits` in an offset of bytes.
fn offset(cursor: &Cursor<'_>, given: Option<&Value<'_>>, bits: u32) -> Result<u64> {
    let Some(given) = given else { return Ok(0) };
    let bytes = u128::from(given.natural(cursor)?);
    let (elements, rest) = (bytes * 8 / u128::from(bits), bytes * 8 % u128::from(bits));
    u64::try_from(elements)
        .ok()
        .filter(|_| rest == 0)
        .ok_or_else(|| given.wrong(cursor, "a whole number of elements, in bytes"))
}

fn is_true(cursor: &Cursor<'_>, fields: &Fields<'_>, name: &str) -> Result<bool> {
    match fields.get(&[name], usize::MAX).map(|value| (&value.kind, value)) {
        None | Some((ValueKind::Name("false" | "False"), _)) => Ok(false),
        Some((ValueKind::Name("true" | "True"), _)) => Ok(true),
        Some((_, value)) => Err(value.wrong(cursor, "true or false")),
    }
}

pub(super) fn write(array: &Array) -> std::result::Result<String, String> {
    let DlPack { shape, strides, code, bits, lanes, byte_offset, is_subbyte_type_padded, .. } =
        DlPack::try_from(array.descriptor()).map_err(|error| error.to_string())?;
    let padded = if is_subbyte_type_padded { ", \"is_subbyte_type_padded\": true" } else { "" };
    Ok(format!(
        "{{\"code\": {code}, \"bits\": {bits}, \"lanes\": {lanes}, \"shape\": {shape:?}, \"strides\": {strides:?}, \"byte_offset\": {byte_offset}{padded}}}"
    ))
}
