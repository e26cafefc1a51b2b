//! Conversions between numpy's type strings and element types.

use stridec::{shape::ElementType, stride::StrideDescriptor};

/// Returns the type string of a tensor's elements. This is numpy's own type if there is one, and
/// otherwise the unsigned integer of the same width.
///
/// Elements smaller than a byte are written as the bytes that contain them.
pub(super) fn of(tensor: &StrideDescriptor) -> String {
    let bits = tensor.element_bits();
    match natural(tensor.element_type()) {
        Some(descr) if tensor.element_type().storage_bits() == Some(bits) => descr.into(),
        _ => match bits {
            ..=8 => "|u1".into(),
            16 | 32 | 64 => format!("<u{}", bits / 8),
            _ => format!("|V{}", bits / 8),
        },
    }
}

/// Returns true if a file of this type can hold the elements of a tensor, bit for bit.
///
/// Types that numpy lacks may also be stored as an opaque `V` of the same width, because
/// `ml_dtypes` saves them in this way. Small signed integers in bytes may be stored as `i1`.
pub(super) fn holds(tensor: &StrideDescriptor, descr: &str) -> bool {
    let (expected, descr) = (of(tensor), normal(descr));
    let bits = tensor.element_bits();
    if descr == expected {
        return true;
    }
    let natural = natural(tensor.element_type()).is_some() && bits >= 8;
    let opaque = format!("|V{}", bits / 8);
    let small = tensor.element_type().is_signed_integer() && bits == 8;
    !natural && bits >= 8 && (descr == opaque || small && descr == "|i1")
}

/// Returns the element type of a numpy type string.
pub(super) fn element_type(descr: &str) -> Result<ElementType, String> {
    let descr = normal(descr);
    let known = ElementType::ALL.into_iter().find(|&kind| natural(kind) == Some(&descr));
    known.ok_or_else(|| {
        let opaque = match descr.as_str() {
            "|V1" => ", which numpy writes for ml_dtypes' 8-bit floats and 4-bit integers; if it is one, name it, \
                     as in --from 'f8e4m3fn[2,3]'",
            "|V2" => ", which numpy writes for ml_dtypes' bfloat16; if it is, give --from 'bf16[2,3]' with the \
                     array's extents",
            _ => "; expected bool, int8 to int64, uint8 to uint64, float16 to float64, complex64 or complex128, or a \
                  type of the same width and --from",
        };
        format!("dtype '{}' names no element type{opaque}", descr.escape_debug())
    })
}

/// Returns an error if a type string has the other byte order than this processor.
pub(super) fn check_byte_order(descr: &str) -> Result<(), String> {
    let foreign = if cfg!(target_endian = "little") { '>' } else { '<' };
    match descr.strip_prefix(foreign) {
        Some(rest) if rest.ends_with(char::is_numeric) && !matches!(rest, "u1" | "i1" | "b1") => {
            Err(format!(
                "expected little-endian numbers, got the big-endian dtype '{}'; convert the array with \
                 a = a.astype(a.dtype.newbyteorder('<'))",
                descr.escape_debug()
            ))
        }
        _ => Ok(()),
    }
}

/// Returns the type string in the form in which numpy itself writes the byte order.
fn normal(descr: &str) -> String {
    match descr.strip_prefix(['<', '>', '=', '|']) {
        Some(rest @ ("u1" | "i1" | "b1")) => format!("|{rest}"),
        Some(rest) if rest.starts_with('V') => format!("|{rest}"),
        Some(rest) if !descr.starts_with('>') => format!("<{rest}"),
        _ => descr.into(),
    }
}

/// Returns the numpy type that is equal to an element type, or `None` if there is none.
fn natural(kind: ElementType) -> Option<&'static str> {
    Some(match kind {
        ElementType::Pred => "|b1",
        ElementType::S8 => "|i1",
        ElementType::S16 => "<i2",
        ElementType::S32 => "<i4",
        ElementType::S64 => "<i8",
        ElementType::U8 => "|u1",
        ElementType::U16 => "<u2",
        ElementType::U32 => "<u4",
        ElementType::U64 => "<u8",
        ElementType::F16 => "<f2",
        ElementType::F32 => "<f4",
        ElementType::F64 => "<f8",
        ElementType::C64 => "<c8",
        ElementType::C128 => "<c16",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(text: &str) -> StrideDescriptor {
        let shape: stridec::shape::Shape = text.parse().unwrap();
        StrideDescriptor::try_from(&shape).unwrap()
    }

    #[test]
    fn what_numpy_lacks_is_an_unsigned_integer() {
        for (shape, descr) in [
            ("f32[2]", "<f4"),
            ("pred[2]", "|b1"),
            ("pred[2]{0:E(1)}", "|u1"),
            ("bf16[2]", "<u2"),
            ("f8e4m3fn[2]", "|u1"),
            ("s4[2]", "|u1"),
            ("s4[2]{0:E(4)}", "|u1"),
            ("s8[2]{0:E(32)}", "<u4"),
            ("c128[2]", "<c16"),
            ("f64[2]{0:E(128)}", "|V16"),
        ] {
            assert_eq!(of(&tensor(shape)), descr, "{shape}");
            assert!(holds(&tensor(shape), descr), "{shape}");
        }
    }

    #[test]
    fn other_types_are_not_reinterpreted() {
        for (shape, yes, no) in [
            ("f32[2]", "=f4", "<i4"),
            ("f32[2]", "<f4", "|V4"),
            ("bf16[2]", "<V2", "<f2"),
            ("s4[2]", "|i1", "<i2"),
            ("u4[2]", "<u1", "|i1"),
            ("s4[2]{0:E(4)}", "|u1", "|i1"),
            ("pred[2]", "|b1", "|u1"),
        ] {
            assert!(holds(&tensor(shape), yes), "{shape} {yes}");
            assert!(!holds(&tensor(shape), no), "{shape} {no}");
        }
    }

    #[test]
    fn types_without_a_meaning_here_are_refused() {
        assert_eq!(element_type("<f4"), Ok(ElementType::F32));
        assert_eq!(element_type("|b1"), Ok(ElementType::Pred));
        for descr in ["<f16", "<U4", "|S3", "<M8[ns]", "|O", "|V2", ""] {
            assert!(element_type(descr).is_err(), "{descr}");
        }
        assert!(check_byte_order(">f4").unwrap_err().contains("newbyteorder"));
        assert_eq!(check_byte_order("<f4"), Ok(()));
        assert_eq!(check_byte_order("|u1"), Ok(()));
    }
}
