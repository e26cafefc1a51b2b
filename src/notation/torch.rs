//! torch's tensors, in three forms:
//! `size=(2, 3) stride=(3, 1) storage_offset=0 dtype=torch.float32`, or `f32[2, 3][3, 1]cpu` as in
//! fx graphs, or one of the calls that inductor generates.
//!
//! Strides and offsets are in elements. A `memory_format` may be given instead of the strides.

use super::{
    Tensor,
    cursor::{Cursor, Result},
    jax::tuple,
    literal::{NamedValues, Value, ValueKind, assignments, value},
    prefix::extents,
    strides::{expect_element_bits, packed_strides, plain_strides},
    types::{from_torch_abbreviation, from_torch_dtype, torch_dtype},
};
use crate::{
    shape::{ElementType, ParseError},
    stride::StrideDescriptor,
};

/// The channels-last memory formats: the name, the rank, and the dimension numbers, the most minor
/// first.
const MEMORY_FORMATS: [(&str, usize, &[usize]); 2] =
    [("channels_last", 4, &[1, 3, 2, 0]), ("channels_last_3d", 5, &[1, 4, 3, 2, 0])];

const NAMES: [&str; 7] =
    ["size", "stride", "storage_offset", "offset", "dtype", "memory_format", "device"];

pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Tensor> {
    let mut ahead = cursor.clone();
    let (name, _) = ahead.word(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    if !name.is_empty() && ahead.peek() == Some('[') {
        return of_graph(cursor);
    }
    if name.is_empty() || ahead.eat("=") {
        let fields = assignments(cursor)?;
        return of_fields(cursor, &fields, None);
    }
    let call = value(cursor)?;
    cursor.end()?;
    let ValueKind::Call(name, fields) = &call.kind else {
        return Err(call.wrong(cursor, "size=(…) stride=(…), f32[…][…] or FixedLayout(…)"));
    };
    // The positions of the size, stride, offset and dtype among the positional arguments.
    let positions = match *name {
        "FixedLayout" | "FlexibleLayout" => [2, 3, 4, 1],
        "assert_size_stride" => [1, 2, usize::MAX, usize::MAX],
        "reinterpret_tensor" => [1, 2, 3, usize::MAX],
        name if name.starts_with("empty_strided_") => [0, 1, usize::MAX, 2],
        _ => {
            let expected = "FixedLayout(…), FlexibleLayout(…), empty_strided_…(…), \
                            assert_size_stride(…) or reinterpret_tensor(…)";
            return Err(call.wrong(cursor, expected));
        }
    };
    of_fields(cursor, fields, Some(positions))
}

/// Parses the form of fx graphs, such as `f32[2, 3][3, 1]cuda:0`. The device is optional. Without
/// strides, the array is contiguous.
fn of_graph(cursor: &mut Cursor<'_>) -> Result<Tensor> {
    let (name, place) = cursor.word(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    let element_type = from_torch_abbreviation(name).ok_or_else(|| {
        cursor.wrong(place, "an element type as fx prints it, such as f32, i64 or b8")
    })?;
    let start = cursor.position();
    let sizes = extents(cursor)?;
    let strides = if cursor.rest().starts_with('[') {
        let strides = extents(cursor)?;
        strides.into_iter().filter_map(|stride| i64::try_from(stride).ok()).collect()
    } else {
        let too_large = || cursor.wrong(start..cursor.position(), "at most 2^63-1 elements");
        packed_strides(&sizes, 1).ok_or_else(too_large)?
    };
    let whole = start..cursor.position();
    cursor.word(|letter| letter.is_ascii_alphanumeric() || letter == ':');
    cursor.end()?;
    Tensor::strided(element_type, 0, &sizes, &strides, 0, whole)
}

fn of_fields(
    cursor: &Cursor<'_>,
    fields: &NamedValues<'_>,
    positions: Option<[usize; 4]>,
) -> Result<Tensor> {
    fields.only(&NAMES, if positions.is_some() { 5 } else { 0 })?;
    let [size, stride, offset, dtype] = positions.unwrap_or([usize::MAX; 4]);
    let sizes = numbers(fields.require(&["size"], size)?).naturals(cursor)?;
    let format = fields.get(&["memory_format"], usize::MAX);
    let strides = match (fields.get(&["stride"], stride), format) {
        (Some(strides), None) => non_negative(cursor, numbers(strides))?,
        (None, Some(format)) => of_format(cursor, format, &sizes)?,
        (Some(_), Some(format)) => return Err(format.wrong(cursor, "a stride or a memory format")),
        (None, None) => numbers(fields.require(&["stride"], stride)?).numbers(cursor)?,
    };
    let offset = match fields.get(&["storage_offset", "offset"], offset) {
        Some(offset) => offset.natural(cursor)?,
        None => 0,
    };
    let element_type = match fields.get(&["dtype"], dtype) {
        Some(given) => of_name(given)
            .ok_or_else(|| given.wrong(cursor, "a dtype that XLA has, such as torch.float32"))?,
        None => ElementType::F32,
    };
    Tensor::strided(element_type, 0, &sizes, &strides, offset, fields.place.clone())
}

/// Returns the list inside a call such as `torch.Size([2, 3])`. Returns any other `value`
/// unchanged.
fn numbers<'v, 'a>(value: &'v Value<'a>) -> &'v Value<'a> {
    match &value.kind {
        ValueKind::Call("torch.Size" | "Size", fields) => fields.get(&[], 0).unwrap_or(value),
        _ => value,
    }
}

fn non_negative(cursor: &Cursor<'_>, strides: &Value<'_>) -> Result<Vec<i64>> {
    let numbers = strides.numbers(cursor)?;
    if numbers.iter().any(|&stride| stride < 0) {
        let reason = "expected strides from 0 on: torch has no others";
        return Err(ParseError::new(strides.place.clone(), reason));
    }
    Ok(numbers)
}

/// Returns the strides that a memory format implies for an array of extents `sizes`. In
/// `contiguous_format`, an extent of 0 counts as 1.
fn of_format(cursor: &Cursor<'_>, format: &Value<'_>, sizes: &[u64]) -> Result<Vec<i64>> {
    let too_large = || ParseError::new(format.place.clone(), "expected at most 2^63-1 elements");
    let ValueKind::Name(name) = format.kind else {
        return Err(format.wrong(cursor, "a memory format"));
    };
    let name = name.rsplit('.').next().unwrap_or(name);
    if name == "contiguous_format" {
        return packed_strides(sizes, 1).ok_or_else(too_large);
    }
    let known = MEMORY_FORMATS.iter().find(|known| known.0 == name);
    let (_, rank, order) = known.ok_or_else(|| {
        format.wrong(cursor, "contiguous_format, channels_last or channels_last_3d")
    })?;
    if sizes.len() != *rank {
        let reason = format!("expected {rank} dimensions for {name}, got {}", sizes.len());
        return Err(ParseError::new(format.place.clone(), reason));
    }
    let mut strides = vec![0; *rank];
    let mut span = 1_i64;
    for &dimension in *order {
        strides[dimension] = span;
        let size = i64::try_from(sizes[dimension]).map_err(|_| too_large())?;
        span = span.checked_mul(size).ok_or_else(too_large)?;
    }
    Ok(strides)
}

/// Returns the names of all memory formats that describe a tensor. There may be none if the tensor
/// is strided, and two if it has a single channel.
///
/// ```
/// use stridec::notation::{memory_formats, read};
/// let array = read("torch:f32[2, 1, 5, 7][35, 1, 7, 1]")?;
/// assert_eq!(memory_formats(array.descriptor()), ["contiguous_format", "channels_last"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn memory_formats(tensor: &StrideDescriptor) -> Vec<&'static str> {
    let Ok(strides) = plain_strides(tensor) else { return Vec::new() };
    let follows = |order: &mut dyn Iterator<Item = usize>| {
        let mut span = Some(1);
        order.filter(|&d| tensor.sizes()[d] != 1).all(|d| {
            let follows = span == Some(strides[d]);
            let size = i64::try_from(tensor.sizes()[d]).ok();
            span = span.zip(size).and_then(|(span, size)| span.checked_mul(size));
            follows
        })
    };
    let mut formats = Vec::new();
    if tensor.elements() == 0 || follows(&mut (0..tensor.rank()).rev()) {
        formats.push("contiguous_format");
    }
    for (name, rank, order) in MEMORY_FORMATS {
        if tensor.rank() == rank && follows(&mut order.iter().copied()) {
            formats.push(name);
        }
    }
    formats
}

/// Returns the element type for a dtype such as `torch.float32`.
fn of_name(given: &Value<'_>) -> Option<ElementType> {
    let (ValueKind::Name(name) | ValueKind::Text(name)) = given.kind else { return None };
    from_torch_dtype(name)
}

pub(super) fn write(array: &Tensor) -> std::result::Result<String, String> {
    let descriptor = array.descriptor();
    let element_type = descriptor.element_type();
    let dtype = torch_dtype(element_type)
        .ok_or_else(|| format!("expected a type that torch has, got {element_type}"))?;
    let strides = plain_strides(descriptor).map_err(|error| error.to_string())?;
    let bits = element_type.storage_bits().unwrap_or(0);
    expect_element_bits(descriptor, bits).map_err(|error| error.to_string())?;
    if strides.iter().any(|&stride| stride < 0) {
        return Err("expected strides from 0 on, got a negative one".to_owned());
    }
    let sizes = tuple(descriptor.sizes().iter().map(ToString::to_string));
    let strides = tuple(strides.iter().map(ToString::to_string));
    let offset = descriptor.base_offset();
    Ok(format!("size={sizes} stride={strides} storage_offset={offset} dtype=torch.{dtype}"))
}
