//! numpy's arrays: `shape=(2, 3) strides=(12, 4) dtype=float32`, and the dictionary of `__array_interface__`.
//!
//! Strides count bytes. Without an offset the first element in memory lies at the start of the buffer, wherever index 0
//! is; `offset=` says where index 0 is, in bytes, as for `numpy.ndarray`.

use super::{
    Array,
    array::at,
    cursor::{Cursor, Result},
    jax::tuple,
    literal::{Fields, Value, ValueKind, assignments, value},
};
use crate::{
    shape::{ElementType, ParseError, StridedShape},
    stride::interchange::{NumpyArray, from_byte_strides},
};

/// The fields that say where the elements are, and those of `__array_interface__` that say nothing more.
const NAMES: [&str; 8] =
    ["shape", "strides", "dtype", "typestr", "offset", "data", "version", "descr"];

pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Array> {
    cursor.skip_blanks();
    let start = cursor.position();
    let fields = if cursor.peek() == Some('{') {
        let map = value(cursor)?;
        cursor.end()?;
        let ValueKind::Map(fields) = map.kind else { return Err(map.wrong(cursor, "a map")) };
        fields
    } else {
        assignments(cursor)?
    };
    fields.only(&NAMES, 0)?;
    let whole = start..cursor.position();
    let given = fields.require(&["dtype", "typestr"], usize::MAX)?;
    let element_type = dtype(cursor, given)?;
    let sizes = fields.require(&["shape"], usize::MAX)?.naturals(cursor)?;
    let bytes = i64::from(element_type.storage_bits().unwrap_or(8) / 8);
    let strides = match given_field(&fields, "strides") {
        Some(strides) => strides.numbers(cursor)?,
        None => packed(&sizes, bytes)
            .ok_or_else(|| ParseError::new(whole.clone(), "expected at most 2^63-1 bytes"))?,
    };
    let offset = match given_field(&fields, "offset") {
        Some(offset) => Some(offset.natural(cursor)?),
        None => None,
    };
    let place = given_field(&fields, "strides").map_or(whole, |strides| strides.place.clone());
    let array = from_byte_strides(element_type, &sizes, &strides, offset)
        .map_err(|error| at(place.clone(), error.kind(), error))?;
    let strides = array.strides().flatten();
    let shape = StridedShape::new(element_type, sizes, strides, array.base_offset(), 0)
        .map_err(|error| at(place.clone(), error.kind(), error))?;
    Array::try_from(shape).map_err(|error| at(place, error.kind(), error))
}

/// A field that is there and not `None`.
fn given_field<'v, 'a>(fields: &'v Fields<'a>, name: &str) -> Option<&'v Value<'a>> {
    fields.get(&[name], usize::MAX).filter(|value| !value.is_none())
}

/// The strides of a row-major array, an extent of 0 counting as 1.
pub(super) fn packed(sizes: &[u64], step: i64) -> Option<Vec<i64>> {
    let mut span = step;
    let mut strides = Vec::with_capacity(sizes.len());
    for &size in sizes.iter().rev() {
        strides.push(span);
        span = span.checked_mul(i64::try_from(size.max(1)).ok()?)?;
    }
    strides.reverse();
    Some(strides)
}

/// `float32`, `np.float32`, `dtype('float32')`, or a typestr such as `'<f4'`.
fn dtype(cursor: &Cursor<'_>, given: &Value<'_>) -> Result<ElementType> {
    let name = match &given.kind {
        ValueKind::Name(name) => name.rsplit('.').next().unwrap_or(name),
        ValueKind::Text(name) => name,
        ValueKind::Call(_, fields) => return dtype(cursor, fields.require(&["dtype"], 0)?),
        _ => return Err(given.wrong(cursor, "a dtype, such as float32 or '<f4'")),
    };
    if name.starts_with('>') {
        let reason = "expected little-endian elements; array.astype(array.dtype.newbyteorder('<')) makes them";
        return Err(ParseError::unsupported(given.place.clone(), reason));
    }
    let code = name.trim_start_matches(['<', '|', '=']);
    let of_code = || {
        let (kind, bytes) = (code.chars().next()?, code.get(1..)?.parse::<u32>().ok()?);
        let bits = bytes.checked_mul(8)?;
        let name = match kind {
            'b' if bytes == 1 => "bool".to_owned(),
            'i' => format!("int{bits}"),
            'u' => format!("uint{bits}"),
            'f' => format!("float{bits}"),
            'c' => format!("complex{bits}"),
            _ => return None,
        };
        // `i1` is a byte, and no 1-bit integer.
        NumpyArray::element_type(&name).filter(|kind| kind.storage_bits() == Some(bits))
    };
    NumpyArray::element_type(name).or_else(of_code).ok_or_else(|| {
        let reason = "expected a dtype that XLA has, such as float32, bfloat16 or '<f4'";
        ParseError::unsupported(given.place.clone(), reason)
    })
}

pub(super) fn write(array: &Array) -> std::result::Result<String, String> {
    let descriptor = array.descriptor();
    let NumpyArray { dtype, shape, strides, offset, .. } =
        NumpyArray::try_from(descriptor).map_err(|error| error.to_string())?;
    // Where the first element in memory is not at the start of the buffer, the offset has to be said.
    let first = from_byte_strides(descriptor.element_type(), &shape, &strides, None);
    let is_first = first.is_ok_and(|first| first.base_offset() == descriptor.base_offset());
    let offset = if is_first { String::new() } else { format!(" offset={offset}") };
    let shape = tuple(shape.iter().map(ToString::to_string));
    let strides = tuple(strides.iter().map(ToString::to_string));
    Ok(format!("shape={shape} strides={strides} dtype={dtype}{offset}"))
}
