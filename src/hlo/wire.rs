//! Splits a serialized message into its fields, without decoding their contents. The decoder of
//! modules uses this to decode one instruction at a time, because the decoded form of a whole
//! module at once would take several times the memory of the message.

use crate::shape::ShapeError;

/// One field of a serialized message.
pub(super) struct WireField<'a> {
    pub(super) number: u64,
    pub(super) value: WireValue<'a>,
    /// The bytes of the whole field, including the tag with its number and wire type.
    pub(super) raw: &'a [u8],
}

/// The value of a field, as far as it can be decoded without knowing the declared type of the
/// field.
pub(super) enum WireValue<'a> {
    /// An integer of variable length.
    Varint(u64),
    /// A value of 4 or 8 bytes, which are only in [`WireField::raw`].
    Fixed,
    /// A message, a string, bytes, or a packed list of numbers.
    Bytes(&'a [u8]),
}

impl<'a> WireField<'a> {
    /// Returns the bytes of a field that contains a message. If the field has another wire type,
    /// returns an error that calls it `name`.
    pub(super) fn message(&self, name: &'static str) -> Result<&'a [u8], ShapeError> {
        match self.value {
            WireValue::Bytes(bytes) => Ok(bytes),
            _ => Err(malformed(name, "a value of another wire type")),
        }
    }

    /// Returns the text of a field that contains a string. Returns an error if the field has
    /// another wire type, or if the bytes are not valid UTF-8.
    pub(super) fn text(&self, name: &'static str) -> Result<&'a str, ShapeError> {
        std::str::from_utf8(self.message(name)?)
            .map_err(|_| malformed(name, "text that is no UTF-8"))
    }

    /// Returns the number in a field of type int64. Returns an error if the field has another wire
    /// type.
    #[allow(clippy::cast_possible_wrap)] // negative numbers are encoded in two's complement
    pub(super) fn number(&self, name: &'static str) -> Result<i64, ShapeError> {
        match self.value {
            WireValue::Varint(number) => Ok(number as i64),
            _ => Err(malformed(name, "a value of another wire type")),
        }
    }
}

/// Returns the error for bytes that do not encode a module. `field` is the name of the malformed
/// field.
pub(super) fn malformed(field: &str, reason: &str) -> ShapeError {
    ShapeError::Decode {
        field: field.to_owned(),
        reason: reason.to_owned(),
        message: "xla.HloModuleProto".to_owned(),
    }
}

/// An iterator over the fields of a message.
pub(super) struct WireFields<'a> {
    rest: &'a [u8],
}

impl<'a> WireFields<'a> {
    pub(super) fn of(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    /// Splits off the next field. Returns `None` at the end of the message. Malformed bytes give
    /// one error and end the iteration, because the start of the next field is not known.
    fn read(&mut self) -> Option<Result<WireField<'a>, ShapeError>> {
        if self.rest.is_empty() {
            return None;
        }
        let start = std::mem::take(&mut self.rest);
        Some(match field(start) {
            Some((number, value, rest)) => {
                self.rest = rest;
                Ok(WireField { number, value, raw: &start[..start.len() - rest.len()] })
            }
            None => Err(malformed("bytes", "truncated, or no field")),
        })
    }
}

impl<'a> Iterator for WireFields<'a> {
    type Item = Result<WireField<'a>, ShapeError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read()
    }
}

/// Splits off the first field of a message. Returns its number, its value and the rest of the
/// message, or `None` if the bytes are malformed.
fn field(bytes: &[u8]) -> Option<(u64, WireValue<'_>, &[u8])> {
    let (tag, rest) = varint(bytes)?;
    let (value, rest) = match tag & 7 {
        0 => {
            let (number, rest) = varint(rest)?;
            (WireValue::Varint(number), rest)
        }
        1 => (WireValue::Fixed, rest.get(8..)?),
        2 => {
            let (length, rest) = varint(rest)?;
            let (value, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
            (WireValue::Bytes(value), rest)
        }
        5 => (WireValue::Fixed, rest.get(4..)?),
        _ => return None,
    };
    // Fields are numbered from 1, so a tag with the number 0 is malformed.
    (tag >> 3 > 0).then_some((tag >> 3, value, rest))
}

/// Decodes an integer of variable length: seven bits in each byte, lowest first, and a high bit
/// that is set in every byte except the last. Returns the integer and the remaining bytes, or
/// `None` if the integer is truncated or exceeds 64 bits.
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0;
    for (i, &byte) in bytes.iter().enumerate().take(10) {
        // Ten bytes contain 70 bits, so only the lowest bit of the tenth byte may be set.
        if i == 9 && byte > 1 {
            return None;
        }
        number |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            return Some((number, &bytes[i + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_up_to_ten_bytes() {
        assert_eq!(varint(&[0x96, 1, 7]), Some((150, &[7][..])));
        let mut greatest = [0xff; 10];
        greatest[9] = 1;
        assert_eq!(varint(&greatest), Some((u64::MAX, &[][..])));
        greatest[9] = 2;
        assert_eq!(varint(&greatest), None);
        assert_eq!(varint(&[0x80]), None);
        assert_eq!(varint(&[]), None);
    }

    #[test]
    fn fields_of_every_wire_type() {
        let bytes = [8, 1, 0x12, 2, 3, 4, 0x1d, 0, 0, 0, 0, 0x21, 0, 0, 0, 0, 0, 0, 0, 0];
        let fields: Vec<_> = WireFields::of(&bytes).map(|field| field.ok().unwrap()).collect();
        let numbers: Vec<u64> = fields.iter().map(|field| field.number).collect();
        assert_eq!(numbers, [1, 2, 3, 4]);
        assert_eq!(fields[0].number("a"), Ok(1));
        assert_eq!(fields[1].message("b"), Ok(&[3, 4][..]));
        assert_eq!(fields[1].raw, [0x12, 2, 3, 4]);
        assert!(fields[1].number("b").is_err() && fields[0].message("a").is_err());
    }

    #[test]
    fn what_is_no_field_ends_the_message() {
        for bytes in [&[0x12, 2, 3][..], &[0x0b], &[0], &[0x80], &[0x1d, 0], &[2, 0]] {
            let mut fields = WireFields::of(bytes);
            assert!(fields.next().unwrap().is_err(), "{bytes:?}");
            assert!(fields.next().is_none());
        }
    }
}
