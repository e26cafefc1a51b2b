//! DLPack's `DLTensor`, as data and as JSON: `{"code": 2, "bits": 32, "lanes": 1, "shape": [2, 3],
//! "strides": [3, 1], "byte_offset": 0}`.
//!
//! Strides are in elements, and the offset is in bytes. If an element has several lanes, the lanes
//! become an additional, most minor dimension. Elements smaller than a byte are packed, unless
//! `is_subbyte_type_padded` is true.

use super::{
    Tensor,
    cursor::{Cursor, Result},
    literal::{NamedValues, Value, ValueKind, value},
    strides::{byte_offset, packed_strides, plain_strides, refusal},
    types::dlpack_type,
};
use crate::{
    shape::{ElementType, ParseError},
    stride::{StrideDescriptor, StrideError},
};

/// The fields of DLPack 1.1's `DLTensor`, except the data pointer and the device.
///
/// ```
/// use stridec::{notation::DlPack, shape::Shape, stride::StrideDescriptor};
/// let tensor = StrideDescriptor::try_from(&"f32[2,3]{0,1}".parse::<Shape>()?)?;
/// let dlpack = DlPack::try_from(&tensor)?;
/// assert_eq!((dlpack.shape, dlpack.strides), (vec![2, 3], vec![1, 2]));
/// assert_eq!((dlpack.code, dlpack.bits, dlpack.lanes), (2, 32, 1)); // kDLFloat
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct DlPack {
    /// The extents.
    pub shape: Vec<i64>,
    /// The distance between neighbours along each dimension, in elements.
    pub strides: Vec<i64>,
    /// The `DLDataTypeCode`.
    pub code: u8,
    /// The size of a value, in bits.
    pub bits: u8,
    /// The number of values in an element, which is always 1.
    pub lanes: u16,
    /// The offset of the element at index 0 from the start of the buffer, in bytes.
    pub byte_offset: u64,
    /// True if each value smaller than a byte occupies a whole byte. DLPack's flag is
    /// `DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED`.
    pub is_subbyte_type_padded: bool,
}

impl TryFrom<&StrideDescriptor> for DlPack {
    type Error = StrideError;

    fn try_from(tensor: &StrideDescriptor) -> std::result::Result<Self, StrideError> {
        let strides = plain_strides(tensor)?;
        let element_type = tensor.element_type();
        let no_elements = StrideError::NoElements { element_type };
        let (code, bits) = dlpack_type(element_type).ok_or(no_elements)?;
        let padded = bits < 8 && tensor.element_bits() == 8;
        if tensor.element_bits() != u32::from(bits) && !padded {
            return Err(refusal(
                "element_size_in_bits",
                format!("E({})", tensor.element_bits()),
                "DLPack packs the type's own bits, or gives values below a byte a byte",
            ));
        }
        Ok(Self {
            shape: tensor.sizes().iter().filter_map(|&size| i64::try_from(size).ok()).collect(),
            strides,
            code,
            bits,
            lanes: 1,
            byte_offset: byte_offset(tensor, tensor.element_bits())?,
            is_subbyte_type_padded: padded,
        })
    }
}

impl DlPack {
    /// Returns the element type for the `DLDataTypeCode` `code` and a value of `bits` bits, or
    /// `None` if XLA has no such type.
    ///
    /// ```
    /// use stridec::{notation::DlPack, shape::ElementType};
    /// assert_eq!(DlPack::element_type(4, 16), Some(ElementType::Bf16));
    /// ```
    #[must_use]
    pub fn element_type(code: u8, bits: u8) -> Option<ElementType> {
        ElementType::ALL.into_iter().find(|&kind| dlpack_type(kind) == Some((code, bits)))
    }
}

const NAMES: [&str; 7] =
    ["code", "bits", "lanes", "shape", "strides", "byte_offset", "is_subbyte_type_padded"];

pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Tensor> {
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
        None => packed_strides(&sizes, 1)
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
    Tensor::strided(element_type, bits.into(), &sizes, &strides, offset, place)
}

/// Converts an offset from bytes to elements of `bits` bits. A missing offset means 0.
fn offset(cursor: &Cursor<'_>, given: Option<&Value<'_>>, bits: u32) -> Result<u64> {
    let Some(given) = given else { return Ok(0) };
    let bytes = u128::from(given.natural(cursor)?);
    let (elements, rest) = (bytes * 8 / u128::from(bits), bytes * 8 % u128::from(bits));
    u64::try_from(elements)
        .ok()
        .filter(|_| rest == 0)
        .ok_or_else(|| given.wrong(cursor, "a whole number of elements, in bytes"))
}

fn is_true(cursor: &Cursor<'_>, fields: &NamedValues<'_>, name: &str) -> Result<bool> {
    match fields.get(&[name], usize::MAX).map(|value| (&value.kind, value)) {
        None | Some((ValueKind::Name("false" | "False"), _)) => Ok(false),
        Some((ValueKind::Name("true" | "True"), _)) => Ok(true),
        Some((_, value)) => Err(value.wrong(cursor, "true or false")),
    }
}

pub(super) fn write(array: &Tensor) -> std::result::Result<String, String> {
    let DlPack { shape, strides, code, bits, lanes, byte_offset, is_subbyte_type_padded, .. } =
        DlPack::try_from(array.descriptor()).map_err(|error| error.to_string())?;
    let padded = if is_subbyte_type_padded { ", \"is_subbyte_type_padded\": true" } else { "" };
    Ok(format!(
        "{{\"code\": {code}, \"bits\": {bits}, \"lanes\": {lanes}, \"shape\": {shape:?}, \"strides\": {strides:?}, \"byte_offset\": {byte_offset}{padded}}}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Shape;

    fn dlpack(text: &str) -> std::result::Result<DlPack, StrideError> {
        DlPack::try_from(&StrideDescriptor::try_from(&text.parse::<Shape>().unwrap()).unwrap())
    }

    #[test]
    fn types_and_their_bits() {
        for (text, code, bits, padded) in [
            ("pred[2]", 6, 8, false),
            ("s4[2]", 0, 4, true),
            ("u4[2]{0:E(4)}", 1, 4, false),
            ("bf16[2]", 4, 16, false),
            ("c128[2]", 5, 128, false),
            ("f8e4m3fn[2]", 10, 8, false),
            ("f4e2m1fn[2]{0:E(4)}", 17, 4, false),
        ] {
            let given = dlpack(text).unwrap();
            let given = (given.code, given.bits, given.is_subbyte_type_padded);
            assert_eq!(given, (code, bits, padded), "{text}");
            let element_type = text.parse::<Shape>().unwrap().element_type();
            assert_eq!(DlPack::element_type(code, given.1), Some(element_type), "{text}");
        }
    }

    #[test]
    fn refusals_say_why() {
        for (text, why) in [
            (
                "s8[2]{0:E(16)}",
                "element_size_in_bits: E(16) is not supported; DLPack packs the type's own bits, or gives values below a byte a byte",
            ),
            (
                "f32[8,8]{1,0:T(4,4)}",
                "tiles: a tile that takes dimension 0 apart is not supported; expected one stride for each dimension",
            ),
            (
                "f32[8]{0:M(4)}",
                "dynamic_shape_metadata_prefix_bytes: M(4) is not supported; expected memory that starts with the data",
            ),
        ] {
            assert_eq!(dlpack(text).unwrap_err().to_string(), why);
        }
        let odd = StrideDescriptor::strided(ElementType::S4, 4, &[2], &[1], 1).unwrap();
        assert!(DlPack::try_from(&odd).is_err());
        let offset = StrideDescriptor::strided(ElementType::F32, 0, &[2], &[1], 3).unwrap();
        assert_eq!(DlPack::try_from(&offset).unwrap().byte_offset, 12);
    }
}
