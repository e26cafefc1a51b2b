//! `TensorRT`'s formats, in two forms: by name, as in `f16[2,17,3,5] kCHW2`, or as the verbose log
//! prints them, as in `[1,144,128,128] Int8(589824,16384:4,128,1)`.
//!
//! A log contains the type and the strides of the dimensions, but not the extents, which the user
//! writes before it, with or without an XLA type. `:4` after a stride means that 4 neighbouring
//! elements of that dimension form a vector, which is innermost. All strides then count vectors.

use super::{
    Tensor,
    cursor::{Cursor, Result},
    named::{self, TENSORRT},
    prefix::{Prefix, extents},
    tensor::broken_rule,
};
use crate::{
    shape::{ElementType, ParseError},
    stride::{Digit, StrideDescriptor},
};

/// The names of types in a log, each paired with the element type.
const TYPES: [(&str, ElementType); 12] = [
    ("Float", ElementType::F32),
    ("Half", ElementType::F16),
    ("BFloat16", ElementType::Bf16),
    ("Int8", ElementType::S8),
    ("Int32", ElementType::S32),
    ("Int64", ElementType::S64),
    ("Bool", ElementType::Pred),
    ("UInt8", ElementType::U8),
    ("FP8", ElementType::F8e4m3fn),
    ("Int4", ElementType::S4),
    ("FP4", ElementType::F4e2m1fn),
    ("E8M0", ElementType::F8e8m0fnu),
];

pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Tensor> {
    let mut ahead = cursor.clone();
    let (word, place) = ahead.word(|letter| letter.is_ascii_alphanumeric());
    if ahead.sees("(") && TYPES.iter().any(|known| known.0 == word) {
        let reason = "expected the extents, which a log does not say, before it: \
                      [1,144,128,128] Int8(589824,16384:4,128,1)";
        return Err(ParseError::new(place, reason));
    }
    let mut ahead = cursor.clone();
    let prefix = if ahead.sees("[") {
        let sizes = extents(&mut ahead)?;
        (None, sizes)
    } else {
        let Prefix { element_type, sizes, .. } = Prefix::read(&mut ahead)?;
        (Some(element_type), sizes)
    };
    let (word, place) = ahead.word(|letter| letter.is_ascii_alphanumeric());
    match TYPES.iter().find(|known| known.0 == word) {
        Some(&(_, element_type)) if ahead.sees("(") => {
            if prefix.0.is_some_and(|given| given != element_type) {
                return Err(ahead.wrong(place, "the type that stands before the extents"));
            }
            *cursor = ahead;
            of_log(cursor, element_type, &prefix.1)
        }
        _ => named::read(cursor, TENSORRT),
    }
}

/// Parses the strides in a log, such as `(589824,16384:4,128,1)`, for an array of the given type
/// and extents.
fn of_log(cursor: &mut Cursor<'_>, element_type: ElementType, sizes: &[u64]) -> Result<Tensor> {
    let start = cursor.position();
    cursor.expect("(")?;
    let mut vector = None;
    let mut number = 0;
    let strides = cursor.limited_list(")", crate::shape::MAX_RANK, "strides", |cursor| {
        let (stride, _) = cursor.natural(0)?;
        if cursor.eat(":") {
            let (size, place) = cursor.natural(1)?;
            if vector.replace((number, size)).is_some() {
                return Err(cursor.wrong(place, "vectors along one dimension"));
            }
        }
        number += 1;
        Ok(stride)
    })?;
    let place = start..cursor.position();
    cursor.end()?;
    if strides.len() != sizes.len() {
        let given = strides.len();
        let reason =
            format!("expected {} strides, one for each dimension, got {given}", sizes.len());
        return Err(ParseError::new(place, reason));
    }
    let unit = vector.map_or(1, |(_, size)| size);
    let digits: Option<Vec<Vec<Digit>>> = sizes
        .iter()
        .zip(&strides)
        .enumerate()
        .map(|(dimension, (&extent, &stride))| {
            let stride = i64::try_from(stride.checked_mul(unit)?).ok()?;
            Some(match vector {
                Some((of, size)) if of == dimension => {
                    let extent = extent.div_ceil(size);
                    vec![Digit { extent: size, stride: 1 }, Digit { extent, stride }]
                }
                _ => vec![Digit { extent, stride }],
            })
        })
        .collect();
    let digits =
        digits.ok_or_else(|| ParseError::new(place.clone(), "expected offsets below 2^63"))?;
    let bits = match element_type.bits() {
        Some(4) => 4,
        _ => 0,
    };
    let tensor = StrideDescriptor::of_digits(element_type, bits, sizes, &digits, 0)
        .map_err(|error| broken_rule(place.clone(), error.kind(), error))?;
    Tensor::of_descriptor(&tensor, place)
}

pub(super) fn write(array: &Tensor) -> std::result::Result<String, String> {
    named::write(array, TENSORRT)
}
