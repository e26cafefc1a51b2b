//! The bits of XLA's padding values, such as `lowest`, in each element type.

use super::{
    ElementType, FieldPath, PaddingValue, ShapeError,
    float::{FloatFormat, ones},
};

impl ElementType {
    /// Returns the bits of an element that has the padding value `value`. Bit 0 is the lowest bit
    /// of the first byte.
    ///
    /// `Lowest` and `Highest` are −∞ and +∞ if the type has infinities, and otherwise its smallest
    /// and largest finite values. `Unknown` is 0, to make the output reproducible. A complex number
    /// has its real part in the low half and its imaginary part in the high half.
    ///
    /// ```
    /// use stridec::shape::{ElementType, PaddingValue};
    /// assert_eq!(ElementType::Bf16.padding_bits(PaddingValue::Lowest), Ok(0xff80)); // −∞
    /// assert_eq!(ElementType::S8.padding_bits(PaddingValue::Lowest), Ok(0x80)); // -128
    /// assert_eq!(ElementType::F8e4m3fn.padding_bits(PaddingValue::Highest), Ok(0x7e)); // 448
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the type has no elements, if `value` is `Invalid`, or if the type cannot
    /// represent the value: `f8e8m0fnu` has no zero, `s1` has no one, and complex numbers have no
    /// lowest or highest value.
    pub fn padding_bits(self, value: PaddingValue) -> Result<u128, ShapeError> {
        use PaddingValue::{Highest, Invalid, Lowest, One, Unknown, Zero};
        let lacks = |accepted| {
            let field = FieldPath::new("layout").field("padding_value");
            Err(ShapeError::NoSuchValue { field, element_type: self, value, accepted })
        };
        let Some(bits) = self.bits() else {
            return lacks("it has no elements, and so no padding");
        };
        Ok(match (self, value) {
            (_, Invalid) => return lacks("expected zero, one, lowest, highest or unknown"),
            (Self::F8e8m0fnu, Zero) => {
                return lacks("expected one (2^0), lowest (2^-127), highest (2^127) or unknown");
            }
            (Self::F8e8m0fnu, One) => 0x7f,
            (Self::F8e8m0fnu, Highest) => 0xfe,
            (_, Zero | Unknown) | (Self::F8e8m0fnu, Lowest) => 0,
            (Self::C64, One) => return Self::F32.padding_bits(One),
            (Self::C128, One) => return Self::F64.padding_bits(One),
            (Self::C64 | Self::C128, _) => {
                return lacks("complex numbers have no order: expected zero, one or unknown");
            }
            (Self::S1, One) => {
                return lacks("it holds 0 and -1: expected zero, lowest, highest or unknown");
            }
            _ => match (FloatFormat::of(self), value) {
                (Some(float), One) => float.one(),
                (Some(float), Lowest) => float.lowest(),
                (Some(float), _) => float.highest(),
                (None, One) => 1,
                (None, Lowest) if self.is_signed_integer() => 1 << (bits - 1),
                (None, Lowest) => 0,
                (None, _) if self.is_signed_integer() => ones(bits - 1),
                (None, _) => ones(bits),
            },
        })
    }
}

impl ElementType {
    /// Returns the bits of an element that has the padding number `number`. The number is the value
    /// of an integer or a predicate, or the bits of an element of another type.
    ///
    /// ```
    /// use stridec::shape::ElementType;
    /// assert_eq!(ElementType::S8.padding_number_bits(-3), Ok(0xfd));
    /// assert_eq!(ElementType::F16.padding_number_bits(0x3c00), Ok(0x3c00)); // 1
    /// assert!(ElementType::U8.padding_number_bits(-3).is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the type has no elements or cannot represent the number.
    pub fn padding_number_bits(self, number: i64) -> Result<u128, ShapeError> {
        let field = || FieldPath::new("layout").field("padding_number");
        let Some(bits) = self.bits() else {
            return Err(ShapeError::NoElements { field: field(), element_type: self });
        };
        let bits = if self == Self::Pred { 1 } else { bits };
        let (least, most) = if self.is_signed_integer() {
            (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits))
        } else {
            (0, i64::try_from(ones(bits.min(63))).unwrap_or(i64::MAX))
        };
        if !(least..=most).contains(&number) {
            let element_type = self;
            return Err(ShapeError::PaddingNumber {
                field: field(),
                element_type,
                given: number,
                least,
                most,
            });
        }
        // If the number is negative, its sign bit is repeated up to the width of the type.
        Ok(u128::from(number.cast_unsigned()) & (u128::MAX >> (128 - bits)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use PaddingValue::{Highest, Invalid, Lowest, One, Unknown, Zero};

    #[test]
    fn numbers_have_the_range_of_the_type() {
        for (element_type, number, expected) in [
            (ElementType::S8, -128, Some(0x80)),
            (ElementType::S8, 128, None),
            (ElementType::S4, -3, Some(0xd)),
            (ElementType::S4, 8, None),
            (ElementType::S64, i64::MIN, Some(1 << 63)),
            (ElementType::U8, 128, Some(128)),
            (ElementType::U8, 256, None),
            (ElementType::U64, i64::MAX, Some(u128::from(i64::MAX.unsigned_abs()))),
            (ElementType::Pred, 1, Some(1)),
            (ElementType::Pred, 2, None),
            (ElementType::F32, 0x3f80_0000, Some(0x3f80_0000)),
            (ElementType::Bf16, 0x1_0000, None),
            (ElementType::C128, 7, Some(7)),
            (ElementType::Token, 0, None),
        ] {
            assert_eq!(element_type.padding_number_bits(number).ok(), expected, "{element_type}");
        }
    }

    /// The bit patterns of zero, one, and the lowest and highest value of each type, from the
    /// published specification of the type.
    const TABLE: [(&str, [Option<u128>; 4]); 28] = {
        const fn all(zero: u128, one: u128, lowest: u128, highest: u128) -> [Option<u128>; 4] {
            [Some(zero), Some(one), Some(lowest), Some(highest)]
        }
        [
            ("pred", all(0, 1, 0, 1)),
            ("s1", [Some(0), None, Some(1), Some(0)]),
            ("s2", all(0, 1, 2, 1)),
            ("s4", all(0, 1, 8, 7)),
            ("s8", all(0, 1, 0x80, 0x7f)),
            ("s16", all(0, 1, 0x8000, 0x7fff)),
            ("s32", all(0, 1, 0x8000_0000, 0x7fff_ffff)),
            ("s64", all(0, 1, 1 << 63, (1 << 63) - 1)),
            ("u1", all(0, 1, 0, 1)),
            ("u2", all(0, 1, 0, 3)),
            ("u4", all(0, 1, 0, 15)),
            ("u8", all(0, 1, 0, 0xff)),
            ("u64", all(0, 1, 0, 0xffff_ffff_ffff_ffff)),
            ("f64", all(0, 0x3ff0 << 48, 0xfff0 << 48, 0x7ff0 << 48)),
            ("f32", all(0, 0x3f80_0000, 0xff80_0000, 0x7f80_0000)),
            ("f16", all(0, 0x3c00, 0xfc00, 0x7c00)),
            ("bf16", all(0, 0x3f80, 0xff80, 0x7f80)),
            ("f8e5m2", all(0, 0x3c, 0xfc, 0x7c)),
            ("f8e4m3", all(0, 0x38, 0xf8, 0x78)),
            ("f8e3m4", all(0, 0x30, 0xf0, 0x70)),
            ("f8e4m3fn", all(0, 0x38, 0xfe, 0x7e)),
            ("f8e4m3b11fnuz", all(0, 0x58, 0xff, 0x7f)),
            ("f8e4m3fnuz", all(0, 0x40, 0xff, 0x7f)),
            ("f8e5m2fnuz", all(0, 0x40, 0xff, 0x7f)),
            ("f8e8m0fnu", [None, Some(0x7f), Some(0), Some(0xfe)]),
            ("f4e2m1fn", all(0, 0x2, 0xf, 0x7)),
            ("f6e2m3fn", all(0, 0x08, 0x3f, 0x1f)),
            ("f6e3m2fn", all(0, 0x0c, 0x3f, 0x1f)),
        ]
    };

    #[test]
    fn every_type_gives_its_published_bits() {
        for (name, expected) in TABLE {
            let kind = ElementType::from_name(name).unwrap();
            for (value, bits) in [Zero, One, Lowest, Highest].into_iter().zip(expected) {
                assert_eq!(kind.padding_bits(value).ok(), bits, "{name} {value}");
            }
        }
    }

    /// Decodes a bit pattern of a small float, using only the name of its type: `f8e4m3b11fnuz` has
    /// 4 exponent bits, 3 mantissa bits and a bias of 11. `fn` means that all values are finite or
    /// NaN, `uz` that the pattern of −0 is NaN, and `u` that the type is unsigned.
    fn decode(name: &str, pattern: u32) -> f64 {
        if name == "f8e8m0fnu" {
            return if pattern == 0xff { f64::NAN } else { (f64::from(pattern) - 127.0).exp2() };
        }
        let digit = |after: char| {
            let (_, rest) = name.split_once(after).unwrap();
            rest.chars().next().unwrap().to_digit(10).unwrap()
        };
        let (exponent_bits, mantissa_bits) = (digit('e'), digit('m'));
        let fnuz = name.ends_with("fnuz");
        let bias = match (name.contains("b11"), fnuz) {
            (true, _) => 11,
            (_, true) => 1 << (exponent_bits - 1),
            _ => (1 << (exponent_bits - 1)) - 1,
        };
        let sign = pattern >> (exponent_bits + mantissa_bits);
        let exponent = pattern >> mantissa_bits & ((1 << exponent_bits) - 1);
        let mantissa = pattern & ((1 << mantissa_bits) - 1);
        let top = exponent == (1 << exponent_bits) - 1;
        let full = mantissa == (1 << mantissa_bits) - 1;
        let magnitude = if fnuz {
            if sign == 1 && exponent == 0 && mantissa == 0 {
                return f64::NAN;
            }
            None
        } else if name == "f8e4m3fn" {
            (top && full).then_some(f64::NAN)
        } else if name.ends_with("fn") || !top {
            None
        } else {
            Some(if mantissa == 0 { f64::INFINITY } else { f64::NAN })
        };
        let fraction = f64::from(mantissa) / f64::from(1 << mantissa_bits);
        let (lead, exponent) = if exponent == 0 { (0.0, 1) } else { (1.0, exponent) };
        let scale = (f64::from(exponent) - f64::from(bias)).exp2();
        let magnitude = magnitude.unwrap_or((lead + fraction) * scale);
        if sign == 1 { -magnitude } else { magnitude }
    }

    #[test]
    fn small_floats_agree_with_a_scan_of_all_their_patterns() {
        for (name, _) in TABLE.into_iter().filter(|(name, _)| name.contains('m')) {
            let kind = ElementType::from_name(name).filter(|kind| kind.bits() <= Some(8));
            let Some((kind, bits)) = kind.and_then(|kind| kind.bits().map(|bits| (kind, bits)))
            else {
                continue;
            };
            let values: Vec<f64> = (0..1 << bits).map(|pattern| decode(name, pattern)).collect();
            let value_of =
                |value| kind.padding_bits(value).map(|b| values[usize::try_from(b).unwrap()]);
            let known = values.iter().copied().filter(|value| !value.is_nan());
            assert_eq!(value_of(Lowest), Ok(known.clone().fold(f64::INFINITY, f64::min)), "{name}");
            assert_eq!(value_of(Highest), Ok(known.fold(f64::NEG_INFINITY, f64::max)), "{name}");
            assert_eq!(value_of(One), Ok(1.0), "{name}");
            match value_of(Zero) {
                Ok(zero) => assert!(zero == 0.0 && zero.is_sign_positive(), "{name}"),
                Err(_) => assert!(!values.contains(&0.0), "{name}"),
            }
        }
    }

    #[test]
    fn wide_floats_agree_with_rust() {
        let f64s = [Zero, One, Lowest, Highest].map(|v| ElementType::F64.padding_bits(v).unwrap());
        let expected = [0.0, 1.0, f64::NEG_INFINITY, f64::INFINITY].map(|v| v.to_bits().into());
        assert_eq!(f64s, expected);
        let f32s = [Zero, One, Lowest, Highest].map(|v| ElementType::F32.padding_bits(v).unwrap());
        assert_eq!(f32s, [0.0, 1.0, f32::NEG_INFINITY, f32::INFINITY].map(|v| v.to_bits().into()));
    }

    #[test]
    fn complex_numbers_have_a_real_one_and_no_order() {
        assert_eq!(ElementType::C64.padding_bits(One), Ok(u128::from(1_f32.to_bits())));
        assert_eq!(ElementType::C128.padding_bits(One), Ok(u128::from(1_f64.to_bits())));
        for kind in [ElementType::C64, ElementType::C128] {
            assert_eq!(kind.padding_bits(Zero), Ok(0));
            for value in [Lowest, Highest] {
                let error = kind.padding_bits(value).unwrap_err().to_string();
                assert!(
                    error
                        .starts_with(&format!("layout.padding_value: {kind} has no {value} value"))
                );
            }
        }
    }

    #[test]
    fn unknown_is_zero_and_invalid_is_refused_for_every_type() {
        for kind in ElementType::ALL.into_iter().filter(|kind| kind.bits().is_some()) {
            assert_eq!(kind.padding_bits(Unknown), Ok(0), "{kind}");
            assert!(kind.padding_bits(Invalid).is_err(), "{kind}");
        }
        assert!(ElementType::Token.padding_bits(Zero).is_err());
    }
}
