//! ggml's tensors: `ne=[3,4,1,1] nb=[4,12,48,48] type=f16`.
//!
//! `ne` are the extents of four dimensions, and `nb` their strides in bytes, both with the most
//! minor dimension first. The tensor in the example is `f16[1,1,4,3]`. Without `nb`, the tensor is
//! contiguous. The type is given by `type=` or by a word before `ne`, and is otherwise f32.

use super::{
    Tensor,
    cursor::{Cursor, Result},
    literal::{ValueKind, assignments},
    strides::{from_byte_strides, packed_strides, plain_strides},
    tensor::broken_rule,
};
use crate::shape::{ElementType, ParseError};

const NAMES: [&str; 3] = ["ne", "nb", "type"];

/// The number of dimensions of every tensor, `GGML_MAX_DIMS`.
const RANK: usize = 4;

pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Tensor> {
    let mut ahead = cursor.clone();
    let in_brackets = ahead.eat("(");
    let (word, place) = ahead.word(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    let mut first = None;
    if in_brackets || !NAMES.contains(&word) {
        first = Some(element_type(cursor, word, place)?);
        if in_brackets {
            ahead.expect(")")?;
        }
        *cursor = ahead;
    }
    let start = cursor.position();
    let fields = assignments(cursor)?;
    fields.only(&NAMES, 0)?;
    let place = start..cursor.position();
    let given = match fields.get(&["type"], usize::MAX).map(|value| (&value.kind, value)) {
        Some((ValueKind::Name(name) | ValueKind::Text(name), value)) => {
            Some(element_type(cursor, name, value.place.clone())?)
        }
        Some((_, value)) => return Err(value.wrong(cursor, "the name of a type")),
        None => first,
    };
    let extents = fields.require(&["ne"], usize::MAX)?;
    let mut sizes = extents.naturals(cursor)?;
    if sizes.len() > RANK {
        return Err(extents.wrong(cursor, "at most four extents"));
    }
    sizes.resize(RANK, 1);
    sizes.reverse();
    let element_type = given.unwrap_or(ElementType::F32);
    let bytes = i64::from(element_type.storage_bits().unwrap_or(8) / 8);
    let strides = match fields.get(&["nb"], usize::MAX) {
        Some(value) => {
            let mut strides = value.numbers(cursor)?;
            if strides.len() != extents.naturals(cursor)?.len() {
                return Err(value.wrong(cursor, "as many strides as extents"));
            }
            if given.is_none() && strides.first().is_some_and(|&first| first != bytes) {
                let expected = "4 bytes, an f32, as the first stride; type= names other types";
                return Err(value.wrong(cursor, expected));
            }
            let last = strides.last().copied().unwrap_or(bytes);
            strides.resize(RANK, last);
            strides.reverse();
            strides
        }
        None => packed_strides(&sizes, bytes)
            .ok_or_else(|| ParseError::new(place.clone(), "expected at most 2^63-1 bytes"))?,
    };
    let tensor = from_byte_strides(element_type, &sizes, &strides, Some(0))
        .map_err(|error| broken_rule(place.clone(), error.kind(), error))?;
    Tensor::of_descriptor(&tensor, place)
}

/// Returns the element type for a type name of ggml, such as `f16`, `i32` or `GGML_TYPE_F16`.
fn element_type(
    cursor: &Cursor<'_>,
    name: &str,
    place: std::ops::Range<usize>,
) -> Result<ElementType> {
    let lower = name.to_ascii_lowercase();
    let short = lower.strip_prefix("ggml_type_").unwrap_or(&lower);
    let found = match short {
        "f32" => ElementType::F32,
        "f16" => ElementType::F16,
        "bf16" => ElementType::Bf16,
        "f64" => ElementType::F64,
        "i8" => ElementType::S8,
        "i16" => ElementType::S16,
        "i32" => ElementType::S32,
        "i64" => ElementType::S64,
        _ if short.starts_with(['q', 'i', 't', 'm']) && short.contains(['_', 'x']) => {
            let reason = "a quantized type: its blocks hold scales, and moving single elements would \
                          take arithmetic; give the bytes of whole blocks a dimension, in i8";
            return Err(ParseError::unsupported(place, reason));
        }
        _ => return Err(cursor.wrong(place, "ne=[…], or a type before it: f32, f16, bf16, i32")),
    };
    Ok(found)
}

pub(super) fn write(array: &Tensor) -> std::result::Result<String, String> {
    let tensor = array.descriptor();
    let element_type = tensor.element_type();
    let name = match element_type {
        ElementType::F32 | ElementType::F16 | ElementType::Bf16 | ElementType::F64 => {
            element_type.name().to_owned()
        }
        ElementType::S8 | ElementType::S16 | ElementType::S32 | ElementType::S64 => {
            element_type.name().replace('s', "i")
        }
        _ => return Err(format!("expected a type that ggml has, got {element_type}")),
    };
    if tensor.rank() != RANK {
        return Err(format!(
            "expected four dimensions, as every tensor has, got {}",
            tensor.rank()
        ));
    }
    if tensor.base_offset() != 0 || Some(tensor.element_bits()) != element_type.storage_bits() {
        return Err("expected elements of the type's own size from the start".to_owned());
    }
    let bytes = i64::from(tensor.element_bits() / 8);
    let strides = plain_strides(tensor).map_err(|error| error.to_string())?;
    let reversed = |numbers: Vec<String>| {
        format!("[{}]", numbers.into_iter().rev().collect::<Vec<_>>().join(","))
    };
    let sizes = reversed(tensor.sizes().iter().map(ToString::to_string).collect());
    let strides = strides
        .into_iter()
        .map(|stride| stride.checked_mul(bytes).filter(|&stride| stride > 0))
        .collect::<Option<Vec<i64>>>()
        .ok_or("expected strides from 1 on")?;
    let strides = reversed(strides.iter().map(ToString::to_string).collect());
    Ok(format!("ne={sizes} nb={strides} type={name}"))
}
