//! [`Conversion`]: a change of element type, and the value that each element has after it.
//!
//! A value is rounded once, to the nearest value of the new type with ties to even, and subnormal
//! numbers are not flushed to zero. These are the rules of XLA's `convert`, without the exceptions
//! of its CPU backend; `docs/conversions.md` has all of them. [`Conversion::apply`] defines the
//! result: kernels and the code of the host must give the same bits, on every device.

use std::fmt;

use crate::shape::ElementType;

/// A conversion of elements from one type to another, as in `f32` to `bf16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Conversion {
    from: ElementType,
    to: ElementType,
}

/// The kind of an element type, which decides how its elements are converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NumberKind {
    /// `pred`: false is zero, and every other bit pattern is true.
    Pred,
    /// Integers of 1 to 64 bits.
    Integer {
        /// True if the highest bit is a sign.
        is_signed: bool,
    },
    /// Floats of 4 to 64 bits.
    Float,
}

impl NumberKind {
    /// Returns the kind of a type, or `None` for complex numbers and for types without elements.
    pub(crate) fn of(element_type: ElementType) -> Option<Self> {
        use ElementType as E;
        Some(match element_type {
            E::Pred => Self::Pred,
            E::C64 | E::C128 | E::Tuple | E::Opaque | E::Token | E::Buffer => return None,
            _ if element_type.is_signed_integer() => Self::Integer { is_signed: true },
            _ if element_type.is_unsigned_integer() => Self::Integer { is_signed: false },
            _ => Self::Float,
        })
    }
}

/// The exact value of an element.
#[derive(Clone, Copy)]
enum ElementNumber {
    Integer(i128),
    Float(f64),
}

impl Conversion {
    /// Returns the conversion between two types. Returns `None` if the types are equal, because
    /// elements are then copied as they are, and if one of them is complex or has no elements.
    #[must_use]
    pub fn new(from: ElementType, to: ElementType) -> Option<Self> {
        let is_number = |of| NumberKind::of(of).is_some();
        (from != to && is_number(from) && is_number(to)).then_some(Self { from, to })
    }

    /// Returns the type before the conversion.
    #[must_use]
    pub fn from(self) -> ElementType {
        self.from
    }

    /// Returns the type after the conversion.
    #[must_use]
    pub fn to(self) -> ElementType {
        self.to
    }

    /// Returns the kinds of the two types.
    pub(crate) fn kinds(self) -> [NumberKind; 2] {
        [self.from, self.to].map(|of| NumberKind::of(of).unwrap_or(NumberKind::Pred))
    }

    /// Returns the bits of an element after the conversion. Bits of `bits` above the width of the
    /// old type are ignored, and bits of the result above the width of the new type are zero. An
    /// `s4` that takes a byte is therefore written as in XLA, with four zero bits.
    #[must_use]
    pub fn apply(self, bits: u128) -> u128 {
        let number = self.number(bits);
        let to = self.to;
        match self.kinds()[1] {
            NumberKind::Pred => match number {
                ElementNumber::Integer(integer) => u128::from(integer != 0),
                ElementNumber::Float(float) => u128::from(float != 0.0),
            },
            NumberKind::Integer { is_signed } => {
                let width = to.bits().unwrap_or(64);
                let integer = match number {
                    ElementNumber::Integer(integer) => integer,
                    ElementNumber::Float(float) => {
                        let most = (1_i128 << (width - u32::from(is_signed))) - 1;
                        let least = if is_signed { -most - 1 } else { 0 };
                        #[expect(
                            clippy::cast_possible_truncation,
                            reason = "the fraction is cut off"
                        )]
                        let integer = float as i128; // 0 for NaN
                        integer.clamp(least, most)
                    }
                };
                let unused = 128 - width;
                integer.cast_unsigned() << unused >> unused
            }
            NumberKind::Float => match (number, to) {
                (ElementNumber::Integer(integer), ElementType::F64) => {
                    #[expect(clippy::cast_precision_loss, reason = "rounded to the nearest")]
                    let float = integer as f64;
                    float.to_bits().into()
                }
                (ElementNumber::Integer(integer), _) => {
                    to.nearest_float_bits(rounded_to_odd(integer))
                }
                (ElementNumber::Float(float), _) => to.nearest_float_bits(float),
            },
        }
    }

    /// Returns an element after the conversion, in the `dst` bits that it takes in the destination.
    /// If the layout gives the element more bits than its type takes in memory, signed integers are
    /// sign-extended into the additional bits, as in a copy to such a layout. Other types leave
    /// these bits zero.
    pub(crate) fn unit(self, bits: u128, dst: u32) -> u128 {
        let element = self.apply(bits);
        let own = self.to.storage_bits().unwrap_or(dst);
        let is_negative = self.to.is_signed_integer() && element >> (own - 1) & 1 == 1;
        let element = if is_negative && dst > own { element | u128::MAX << own } else { element };
        element & u128::MAX >> (128 - dst)
    }

    /// Returns the value of an element before the conversion.
    fn number(self, bits: u128) -> ElementNumber {
        let width = self.from.bits().unwrap_or(128);
        let unused = 128 - width;
        match self.kinds()[0] {
            NumberKind::Pred => ElementNumber::Integer((bits & 0xff != 0).into()),
            NumberKind::Integer { is_signed: true } => {
                ElementNumber::Integer((bits << unused).cast_signed() >> unused)
            }
            NumberKind::Integer { is_signed: false } => {
                ElementNumber::Integer((bits << unused >> unused).cast_signed())
            }
            NumberKind::Float => {
                let value = self.from.float_value(bits << unused >> unused);
                ElementNumber::Float(value.unwrap_or_default())
            }
        }
    }

    /// Combines this conversion with `next`, which follows it, into one conversion that gives the
    /// same elements. Returns `None` if there is none, because this conversion loses information on
    /// which the result depends, or because the two types at the ends are equal.
    pub(crate) fn then(self, next: Self) -> Option<Self> {
        use NumberKind::{Float, Integer, Pred};
        debug_assert_eq!(self.to, next.from, "conversions in a row");
        let ([from, middle], [_, to]) = (self.kinds(), next.kinds());
        let is_exact = match (from, middle) {
            // f8e8m0fnu has no zero, and s1 has -1 and 0.
            (Pred, _) => {
                !matches!(self.to, ElementType::F8e8m0fnu | ElementType::S1)
                    && (middle != Float || next.to != ElementType::S1)
            }
            (Integer { is_signed: a }, Integer { is_signed: b }) => {
                let is_kept = self.to.bits() > self.from.bits() && (a == b || b);
                // Integers wrap around, so a narrower integer is the low bits of the wider one.
                let takes_low_bits =
                    matches!(to, Integer { .. }) && self.to.bits() >= next.to.bits();
                is_kept || takes_low_bits
            }
            (Float, Float) => self.from.fits_in(self.to),
            (Integer { is_signed }, Float) => {
                let digits = self.from.bits().unwrap_or(64) - u32::from(is_signed);
                // The next conversion to an integer would not wrap around, but stop at its limits.
                self.to.holds_integers_of(digits) && !matches!(to, Integer { .. })
            }
            _ => false,
        };
        let joined = Self { from: self.from, to: next.to };
        (is_exact && joined.from != joined.to).then_some(joined)
    }
}

impl fmt::Display for Conversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.from, self.to)
    }
}

/// Returns `integer` as an `f64` if it is exactly representable. Otherwise returns the one of the
/// two neighbouring `f64` numbers whose last mantissa bit is 1.
///
/// Rounding this number to a narrower type gives the same result as rounding the integer directly,
/// because an inexact result never lies halfway between two numbers of the narrower type.
fn rounded_to_odd(integer: i128) -> f64 {
    let magnitude = integer.unsigned_abs();
    let digits = u128::BITS - magnitude.leading_zeros();
    let past = digits.saturating_sub(f64::MANTISSA_DIGITS);
    let rest = magnitude & ((1 << past) - 1);
    let odd = (magnitude >> past | u128::from(rest != 0)) << past;
    #[expect(clippy::cast_precision_loss, reason = "exact: all digits but the first 53 are zero")]
    let float = odd as f64;
    if integer < 0 { -float } else { float }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ElementType as E;

    fn f32(value: f32) -> u128 {
        value.to_bits().into()
    }

    fn f64(value: f64) -> u128 {
        value.to_bits().into()
    }

    fn applied(from: E, to: E, bits: u128) -> u128 {
        Conversion::new(from, to).unwrap().apply(bits)
    }

    /// Checks the values in the table of `docs/conversions.md`.
    #[test]
    fn single_values() {
        for (from, to, bits, expected) in [
            (E::F32, E::U8, f32(-0.9), 0),
            (E::F32, E::U8, f32(255.9), 255),
            (E::F32, E::U8, f32(1e30), 255),
            (E::F32, E::S8, f32(-128.5), 0x80),
            (E::F32, E::S8, f32(f32::NAN), 0),
            (E::F64, E::S64, f64(9_223_372_036_854_775_807.0), (1 << 63) - 1),
            (E::S32, E::U8, 300, 44),
            (E::S32, E::U8, 0xffff_ffff, 255),
            (E::S32, E::S4, 8, 8),
            (E::S32, E::S4, 0xffff_fff7, 7),
            (E::S32, E::F32, 16_777_217, f32(16_777_216.0)),
            (E::S64, E::F32, (1 << 63) - 1, f32(9_223_372_036_854_775_808.0)),
            (E::U32, E::F16, 65520, 0x7c00),
            (E::S32, E::F8e4m3fn, 500, 0x7f),
            (E::F32, E::Bf16, f32(1.0 + 1.0 / 256.0), 0x3f80),
            (E::F32, E::F8e4m3fn, f32(1.0 / 512.0), 1),
            (E::F32, E::F8e4m3fn, f32(1.0 / 1024.0), 0),
            (E::F32, E::F8e4m3fn, f32(1.5 / 1024.0), 1),
            (E::F32, E::F64, 1, f64(f64::from(f32::from_bits(1)))),
            // Rounded once: f32 would be exactly in the middle.
            (E::S32, E::Bf16, 25_624_575, 0x4bc3),
            (E::F32, E::Pred, f32(-0.0), 0),
            (E::F32, E::Pred, 1, 1),
            (E::Pred, E::F16, 1, 0x3c00),
            (E::Pred, E::S8, 0x80, 1),
            // A NaN keeps its sign, and no other bit.
            (E::F32, E::F64, 0xff80_0001, 0xfff8 << 48),
            (E::F64, E::Bf16, 0x7ff0 << 48 | 1, 0x7fc0),
            (E::F16, E::F8e5m2, 0xfe00, 0xfe),
            (E::F32, E::F4e2m1fn, f32(f32::NAN), 8),
        ] {
            let given = applied(from, to, bits);
            assert_eq!(given, expected, "{from} {bits:#x} to {to}: {given:#x}");
        }
        assert_eq!(Conversion::new(E::F32, E::F32), None);
        assert_eq!(Conversion::new(E::C64, E::F32), None);
    }

    /// Checks all values of small types, with every type in the middle.
    #[test]
    fn two_conversions_are_joined_only_if_nothing_is_lost() {
        let types: Vec<E> = E::ALL.into_iter().filter(|&of| NumberKind::of(of).is_some()).collect();
        let mut joined = 0;
        for &from in types.iter().filter(|of| of.bits() <= Some(8)) {
            for &middle in &types {
                for &to in &types {
                    let (first, next) =
                        (Conversion::new(from, middle), Conversion::new(middle, to));
                    let (Some(first), Some(next)) = (first, next) else { continue };
                    let Some(both) = first.then(next) else { continue };
                    joined += 1;
                    for bits in 0..1 << from.bits().unwrap() {
                        let (one, two) = (both.apply(bits), next.apply(first.apply(bits)));
                        let float = |bits| to.float_value(bits).is_some_and(f64::is_nan);
                        let same = one == two || float(one) && float(two);
                        assert!(same, "{from} {bits:#x} to {middle} to {to}: {one:#x} {two:#x}");
                    }
                }
            }
        }
        assert!(joined > 3000, "{joined}");
    }
}
