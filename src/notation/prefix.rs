//! The prefix `TYPE[DIMENSIONS]`, such as `f16[2,17,3,5]`. It precedes a text in notations that
//! contain neither the element type nor the extents.

use super::cursor::{Cursor, Result};
use crate::shape::{ElementType, MAX_RANK, ParseError};

/// The type and the extents of an array.
#[derive(Clone, Debug)]
pub(super) struct Prefix {
    pub(super) element_type: ElementType,
    /// The element size in memory, in bits. 0 means the width of the type, rounded up to whole
    /// bytes.
    pub(super) element_bits: u64,
    pub(super) sizes: Vec<u64>,
}

impl Prefix {
    /// Parses a prefix such as `f32[2,3]`. An element size is an error, because the text after the
    /// prefix specifies the element size.
    pub(super) fn plain(cursor: &mut Cursor<'_>) -> Result<Self> {
        let prefix = Self::read(cursor)?;
        if prefix.element_bits != 0 {
            let start = cursor.position();
            let reason = "expected the bits of an element after this, where the notation says them";
            return Err(ParseError::new(start..start, reason));
        }
        Ok(prefix)
    }

    /// Parses a prefix such as `f32[2,3]`, or `s4[2,3]{:E(4)}` with an explicit element size.
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Self> {
        let (element_type, element_bits) = element_type(cursor)?;
        let sizes = extents(cursor)?;
        let element_bits = if element_bits == 0 { bits(cursor)? } else { element_bits };
        Ok(Self { element_type, element_bits, sizes })
    }
}

/// Parses XLA's name of an element type, and an element size in bits, which is 0 if the text has
/// none.
pub(super) fn element_type(cursor: &mut Cursor<'_>) -> Result<(ElementType, u64)> {
    let (name, place) = cursor.word(|letter| letter.is_ascii_alphanumeric());
    let known = ElementType::from_name(name).filter(|kind| kind.bits().is_some());
    let element_type = known.ok_or_else(|| {
        let expected = "an element type and extents, such as f32[2,3]";
        if name.is_empty() { cursor.unexpected(expected) } else { cursor.wrong(place, expected) }
    })?;
    Ok((element_type, bits(cursor)?))
}

/// Parses an element size such as `{:E(4)}`, in bits. Returns 0 if the text has none.
pub(super) fn bits(cursor: &mut Cursor<'_>) -> Result<u64> {
    if !cursor.rest().starts_with("{:E(") {
        return Ok(0);
    }
    cursor.expect("{:E(")?;
    let (bits, _) = cursor.natural(1)?;
    cursor.expect(")")?;
    cursor.expect("}")?;
    Ok(bits)
}

/// Parses extents in brackets, such as `[2,3]`.
pub(super) fn extents(cursor: &mut Cursor<'_>) -> Result<Vec<u64>> {
    cursor.expect("[")?;
    cursor.limited_list("]", MAX_RANK, "dimensions", |cursor| Ok(cursor.natural(0)?.0))
}

/// Formats a prefix, such as `f32[2,3]`. The element size is included if it is not the default.
pub(super) fn written(element_type: ElementType, element_bits: u32, sizes: &[u64]) -> String {
    let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
    let bits = match element_type.storage_bits() {
        Some(bits) if bits == element_bits => String::new(),
        _ => format!("{{:E({element_bits})}}"),
    };
    format!("{element_type}[{}]{bits}", sizes.join(","))
}
