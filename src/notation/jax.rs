//! The `repr` of JAX's `Layout`, as current and earlier versions of JAX print it. The type and the
//! extents of the array come first, in XLA's notation or in JAX's: `f32[2,3]` or `float32[2,3]`.
//!
//! `major_to_minor` is the reverse of XLA's `minor_to_major`, and tiles are the same as XLA's. The
//! element size is determined as in JAX's `jax/_src/layout.py`. If there are no tiles
//! (`tiling=None`), `sub_byte_element_size_in_bits` is ignored, and an element has the size of its
//! type in whole bytes. If the list of tiles is empty (`tiling=()`), integers smaller than a byte
//! are packed, although XLA prints this layout in the same way.

use super::{
    Tensor,
    cursor::{Cursor, Result},
    literal::{NamedValues, Value, ValueKind, value},
    prefix::{Prefix, extents, written},
    tensor::broken_rule,
    types::from_numpy_dtype,
    xla,
};
use crate::shape::{Count, ElementType, Layout, ParseError, Shape, Tile, TileDimension};

/// The number that represents `*` among the extents of a tile.
const COMBINE: i64 = i64::MIN;

/// The names of two fields of `Layout`, in current and in earlier versions of JAX.
const TILING: [&str; 2] = ["tiling", "_tiling"];
const BITS: [&str; 2] = ["sub_byte_element_size_in_bits", "_sub_byte_element_size_in_bits"];

/// Parses `f32[2,3] Layout(major_to_minor=(1, 0), …)`, or a `Format(layout=…, sharding=…)` with
/// such a layout.
pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Tensor> {
    let prefix = prefix(cursor)?;
    let outer = value(cursor)?;
    cursor.end()?;
    let layout = inner(cursor, &outer)?;
    let ValueKind::Call("Layout" | "DeviceLocalLayout", fields) = &layout.kind else {
        return Err(not_a_layout(cursor, layout));
    };
    let names = [&["major_to_minor"], &TILING[..], &BITS[..]].concat();
    fields.only(&names, 3)?;
    let order = fields.require(&["major_to_minor"], 0)?;
    let major_to_minor = order.naturals(cursor)?;
    let rank = prefix.sizes.len();
    if major_to_minor.len() != rank {
        let given = major_to_minor.len();
        let reason = format!(
            "expected {}, as many as the array has, got {given}",
            Count(rank as u64, "dimension")
        );
        return Err(ParseError::new(order.place.clone(), reason));
    }
    let minor_to_major: Vec<usize> = major_to_minor
        .iter()
        .rev()
        .map(|&dimension| usize::try_from(dimension).unwrap_or(usize::MAX))
        .collect();
    let mut layout = Layout::new(minor_to_major);
    if let Some(tiling) = fields.get(&TILING, 1).filter(|tiling| !tiling.is_none()) {
        for given in tiling.list(cursor, "a list of tiles, or None")? {
            layout.tiles.push(tile(cursor, given)?);
        }
        layout.element_size_in_bits = element_bits(cursor, fields, prefix.element_type)?;
    }
    let shape = Shape::new(prefix.element_type, prefix.sizes, layout)
        .map_err(|error| broken_rule(fields.place.clone(), error.kind(), error))?;
    Tensor::of_shape(shape, fields.place.clone())
}

/// Parses the type and the extents: `f32[2,3]`, or `float32[2,3]` as JAX prints them.
fn prefix(cursor: &mut Cursor<'_>) -> Result<Prefix> {
    let mut ahead = cursor.clone();
    let (name, _) = ahead.word(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    match from_numpy_dtype(name) {
        Some(element_type) => {
            let sizes = extents(&mut ahead)?;
            *cursor = ahead;
            Ok(Prefix { element_type, element_bits: 0, sizes })
        }
        None => Prefix::plain(cursor),
    }
}

/// Returns the layout in `outer`, which is the layout itself or a value that also contains a
/// sharding.
fn inner<'v, 'a>(cursor: &Cursor<'_>, outer: &'v Value<'a>) -> Result<&'v Value<'a>> {
    let ValueKind::Call(_, fields) = &outer.kind else {
        return Err(not_a_layout(cursor, outer));
    };
    match fields.get(&["layout", "device_local_layout"], usize::MAX) {
        Some(layout) => {
            fields.only(&["layout", "device_local_layout", "sharding"], 0)?;
            Ok(layout)
        }
        None => match &outer.kind {
            // `Format(Layout(…), …)`, whose layout is a positional argument.
            ValueKind::Call("Format", fields) => fields.require(&["layout"], 0),
            _ => Ok(outer),
        },
    }
}

fn not_a_layout(cursor: &Cursor<'_>, given: &Value<'_>) -> ParseError {
    let is_open = given.is_none()
        || matches!(given.kind, ValueKind::Name(name) if name.rsplit('.').next() == Some("AUTO"));
    if is_open {
        let reason =
            "expected Layout(major_to_minor=…): AUTO and None leave the layout to the compiler";
        return ParseError::unsupported(given.place.clone(), reason);
    }
    given.wrong(cursor, "Layout(major_to_minor=…)")
}

fn tile(cursor: &Cursor<'_>, given: &Value<'_>) -> Result<Tile> {
    let extents = given.list(cursor, "a tile, a list of numbers")?;
    let extent = |value: &Value<'_>| match value.number(cursor)? {
        COMBINE => Ok(TileDimension::Combine),
        _ => value.natural(cursor).map(TileDimension::Size),
    };
    Ok(Tile { dimensions: extents.iter().map(extent).collect::<Result<_>>()? })
}

/// Returns the element size that JAX passes to XLA, in bits. If no size is given, it is the width
/// of the type for integers smaller than a byte, and 0 for other types.
fn element_bits(
    cursor: &Cursor<'_>,
    fields: &NamedValues<'_>,
    element_type: ElementType,
) -> Result<u64> {
    let passed = fields.get(&BITS, 2).map_or(Ok(0), |bits| bits.natural(cursor))?;
    Ok(if passed == 0 { own_bits(element_type) } else { passed })
}

fn own_bits(element_type: ElementType) -> u64 {
    use ElementType::{S1, S2, S4, U1, U2, U4};
    match element_type {
        S1 | U1 => 1,
        S2 | U2 => 2,
        S4 | U4 => 4,
        _ => 0,
    }
}

/// Writes the layout in the form that JAX prints since version 0.7.1: `f32[2,3] Layout(…)`.
///
/// The alignment of the tail and the memory space are left out, because they do not affect offsets.
pub(super) fn write(array: &Tensor) -> std::result::Result<String, String> {
    let shape = xla::shape(array)?;
    let layout = shape.layout_or_default();
    let (element_type, bits) = (shape.element_type(), layout.element_size_in_bits);
    let storage = element_type.storage_bits().map_or(0, u64::from);
    let order = layout.minor_to_major.iter().rev().map(ToString::to_string);
    let tiles = layout.tiles.iter().map(|tile| {
        tuple(tile.dimensions.iter().map(|extent| match extent {
            TileDimension::Size(size) => size.to_string(),
            TileDimension::Combine => COMBINE.to_string(),
        }))
    });
    // With `tiling=()`, integers smaller than a byte would be packed. So if the layout has tiles,
    // whole bytes must be requested explicitly.
    let is_own = bits == 0 || bits == storage;
    let (tiling, bits) = match (layout.tiles.is_empty(), is_own) {
        (true, true) => ("None".to_owned(), 0),
        (false, true) if own_bits(element_type) != 0 => (tuple(tiles), storage),
        (_, true) => (tuple(tiles), 0),
        (_, false) => (tuple(tiles), bits),
    };
    let order = tuple(order);
    Ok(format!(
        "{} Layout(major_to_minor={order}, tiling={tiling}, sub_byte_element_size_in_bits={bits})",
        written(
            element_type,
            array.descriptor().element_type().storage_bits().unwrap_or(0),
            array.descriptor().sizes()
        ),
    ))
}

/// Formats a tuple as Python does: `()`, `(1,)`, `(1, 2)`.
pub(super) fn tuple(values: impl Iterator<Item = String>) -> String {
    let values: Vec<String> = values.collect();
    match &values[..] {
        [one] => format!("({one},)"),
        _ => format!("({})", values.join(", ")),
    }
}
