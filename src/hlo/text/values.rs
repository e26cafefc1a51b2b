//! Parses and prints the numbers in constants as XLA does, such as `-1.5`, `inf` and `nan(0x1)`. A
//! number is represented by its bits, in a `u128`, because that has room for every element type.

use std::fmt::{self, Display, Formatter};

use crate::shape::ElementType;

/// Parses a value of an element type that is not complex, and returns its bits. Returns `None` if
/// the text is not such a value, or if the value is out of range.
///
/// - An integer is decimal.
/// - A float is a decimal number, `inf` or `nan`. A NaN may have a payload, as in `nan(0x1)`, which
///   sets its lower bits.
/// - A `pred` is `true`, `false`, `0` or `1`.
pub(in crate::hlo) fn bits(element_type: ElementType, text: &str) -> Option<u128> {
    if element_type == ElementType::Pred {
        return match text {
            "true" | "1" => Some(1),
            "false" | "0" => Some(0),
            _ => None,
        };
    }
    if element_type.float_value(0).is_some() {
        return float(element_type, text);
    }
    let bits = element_type.bits()?;
    let number: i128 = text.parse().ok()?;
    let range = if element_type.is_signed_integer() {
        -(1 << (bits - 1))..1 << (bits - 1)
    } else {
        0..1 << bits
    };
    range.contains(&number).then(|| number.cast_unsigned() & ((1 << bits) - 1))
}

/// Parses a float and returns its bits.
fn float(element_type: ElementType, text: &str) -> Option<u128> {
    let (negative, magnitude) = match text.strip_prefix('-') {
        Some(magnitude) => (true, magnitude),
        None => (false, text),
    };
    let sign = |number: f64| if negative { -number } else { number };
    match magnitude {
        "nan" => element_type.float_bits(sign(f64::NAN)),
        "inf" => {
            let bits = element_type.float_bits(sign(f64::INFINITY))?;
            element_type.float_value(bits)?.is_infinite().then_some(bits)
        }
        _ if magnitude.starts_with("nan(0x") => {
            let payload = magnitude.strip_prefix("nan(0x")?.strip_suffix(')')?;
            element_type.nan_bits(negative, u64::from_str_radix(payload, 16).ok()?)
        }
        _ => {
            // Rust's parser also accepts `infinity` and `NaN`, but XLA does not.
            let is_decimal = magnitude.starts_with(|c: char| c.is_ascii_digit() || c == '.');
            let number = is_decimal.then(|| magnitude.parse::<f64>().ok()).flatten()?;
            let bits = element_type.float_bits(sign(number))?;
            let fits = number.is_finite() && element_type.float_value(bits)?.is_finite();
            fits.then_some(bits)
        }
    }
}

/// A number of any type that is not complex. It is printed in the form that [`bits`] parses.
pub(super) struct PrintedScalar {
    pub(super) element_type: ElementType,
    pub(super) bits: u128,
}

impl Display for PrintedScalar {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { element_type, bits } = *self;
        let Some(number) = element_type.float_value(bits) else {
            let width = element_type.bits().unwrap_or(1);
            let negative = element_type.is_signed_integer() && bits >> (width - 1) & 1 == 1;
            let number = bits.cast_signed() - if negative { 1 << width } else { 0 };
            return write!(f, "{number}");
        };
        if !number.is_nan() {
            return write!(f, "{number:?}");
        }
        let sign = if number.is_sign_negative() { "-" } else { "" };
        match element_type.nan_payload(bits) {
            Some(payload) => write!(f, "{sign}nan({payload:#x})"),
            None => write!(f, "{sign}nan"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_print_as_they_are_read() {
        for kind in ElementType::ALL {
            let Some(width @ ..=16) = kind.bits() else { continue };
            for bits in 0..1 << width {
                let text = PrintedScalar { element_type: kind, bits }.to_string();
                assert_eq!(super::bits(kind, &text), Some(bits), "{kind} {text}");
            }
        }
        for (kind, text, bits) in [
            (ElementType::F32, "nan(0x1)", 0x7f80_0001),
            (ElementType::F32, "-inf", 0xff80_0000),
            (ElementType::F64, "-nan", 0xfff8 << 48),
            (ElementType::F64, "-1e-320", 0x8000_0000_0000_07e8),
            (ElementType::U64, "18446744073709551615", u128::from(u64::MAX)),
            (ElementType::S64, "-9223372036854775808", 1 << 63),
        ] {
            assert_eq!(super::bits(kind, text), Some(bits), "{text}");
            let printed = PrintedScalar { element_type: kind, bits }.to_string();
            assert_eq!(super::bits(kind, &printed), Some(bits), "{printed}");
        }
    }

    #[test]
    fn values_outside_a_type_are_refused() {
        for (kind, text) in [
            (ElementType::S8, "128"),
            (ElementType::S8, "1.0"),
            (ElementType::U8, "-1"),
            (ElementType::U1, "2"),
            (ElementType::Pred, "2"),
            (ElementType::F16, "65520"),
            (ElementType::F16, "infinity"),
            (ElementType::F16, "nan(0x400)"),
            (ElementType::F8e4m3fn, "inf"),
            (ElementType::F4e2m1fn, "nan"),
            (ElementType::F32, ""),
            (ElementType::F32, "1e400"),
        ] {
            assert_eq!(bits(kind, text), None, "{kind} {text}");
        }
    }
}
