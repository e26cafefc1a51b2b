//! Converts between the bits of a float and its value, for every floating-point type of XLA.
//!
//! This is needed for padding values such as −∞, for constants in HLO text, and to convert
//! elements.

use super::ElementType;

/// The binary format of a floating-point type.
///
/// A float consists of a sign bit, then `exponent_bits` bits of exponent, then `mantissa_bits` bits
/// of mantissa, from the most significant bit down. The exponent is stored with `bias` added, so
/// the number 1 is stored as the exponent `bias` and the mantissa 0.
#[derive(Clone, Copy)]
pub(crate) struct FloatFormat {
    pub(crate) exponent_bits: u32,
    pub(crate) mantissa_bits: u32,
    pub(crate) bias: u32,
    greatest: Greatest,
}

/// The meaning of the two bit patterns, one for each sign, in which all bits of exponent and
/// mantissa are ones.
#[derive(Clone, Copy)]
enum Greatest {
    /// A NaN, as in IEEE 754. If the exponent is all ones, a mantissa of 0 means infinity, and any
    /// other mantissa means NaN.
    IeeeNan,
    /// A NaN, and the only NaN of its sign. The type has no infinity. Applies to `f8e4m3fn`.
    Nan,
    /// A finite value. The type has neither NaN nor infinity.
    Finite,
    /// A finite value. NaN has the bit pattern that would be −0, as in the `fnuz` types.
    FiniteZeroNan,
}

impl FloatFormat {
    /// Returns the format of `element_type`. Returns `None` if the type is not a float, and for
    /// `f8e8m0fnu`, which consists of an exponent only.
    pub(crate) const fn of(element_type: ElementType) -> Option<Self> {
        use ElementType as E;
        use Greatest::{Finite, FiniteZeroNan, IeeeNan, Nan};
        let (exponent_bits, mantissa_bits, bias, greatest) = match element_type {
            E::F64 => (11, 52, 1023, IeeeNan),
            E::F32 => (8, 23, 127, IeeeNan),
            E::F16 => (5, 10, 15, IeeeNan),
            E::Bf16 => (8, 7, 127, IeeeNan),
            E::F8e5m2 => (5, 2, 15, IeeeNan),
            E::F8e4m3 => (4, 3, 7, IeeeNan),
            E::F8e3m4 => (3, 4, 3, IeeeNan),
            E::F8e4m3fn => (4, 3, 7, Nan),
            E::F8e4m3b11fnuz => (4, 3, 11, FiniteZeroNan),
            E::F8e4m3fnuz => (4, 3, 8, FiniteZeroNan),
            E::F8e5m2fnuz => (5, 2, 16, FiniteZeroNan),
            E::F4e2m1fn => (2, 1, 1, Finite),
            E::F6e2m3fn => (2, 3, 1, Finite),
            E::F6e3m2fn => (3, 2, 3, Finite),
            _ => return None,
        };
        Some(Self { exponent_bits, mantissa_bits, bias, greatest })
    }

    pub(super) fn one(&self) -> u128 {
        u128::from(self.bias) << self.mantissa_bits
    }

    /// Returns the bits of +∞, or of the greatest finite value if the type has no infinity.
    pub(crate) const fn highest(&self) -> u128 {
        let all = ones(self.exponent_bits + self.mantissa_bits);
        match self.greatest {
            Greatest::IeeeNan => all - ones(self.mantissa_bits),
            Greatest::Nan => all - 1,
            Greatest::Finite | Greatest::FiniteZeroNan => all,
        }
    }

    /// Returns the bits of −∞, or of the least finite value if the type has no infinity.
    pub(super) fn lowest(&self) -> u128 {
        self.highest() | 1 << (self.exponent_bits + self.mantissa_bits)
    }
}

/// Returns a number whose lowest `bits` bits are ones.
pub(super) const fn ones(bits: u32) -> u128 {
    (1 << bits) - 1
}

impl FloatFormat {
    /// Returns the bits of the greatest finite value.
    fn greatest_number(&self) -> u128 {
        match self.greatest {
            Greatest::IeeeNan => self.highest() - 1,
            _ => self.highest(),
        }
    }

    pub(crate) const fn sign_bit(&self) -> u128 {
        1 << (self.exponent_bits + self.mantissa_bits)
    }

    /// Returns true if the type has infinities.
    pub(crate) const fn has_infinity(&self) -> bool {
        matches!(self.greatest, Greatest::IeeeNan)
    }

    /// Returns true if the bit pattern of −0 is the only NaN, so that there is no −0.
    pub(crate) const fn is_negative_zero_nan(&self) -> bool {
        matches!(self.greatest, Greatest::FiniteZeroNan)
    }

    /// Returns the bits of a quiet NaN without a payload, with sign bit 0. Returns `None` if the
    /// type has no NaN, or if its only NaN has the bits of −0.
    pub(crate) const fn nan(&self) -> Option<u128> {
        match self.greatest {
            Greatest::IeeeNan => Some(self.highest() | 1 << (self.mantissa_bits - 1)),
            Greatest::Nan => Some(self.sign_bit() - 1),
            Greatest::Finite | Greatest::FiniteZeroNan => None,
        }
    }

    /// Returns the bits to which a positive number is converted if it is too large for the type:
    /// infinity, else NaN, else the greatest finite value, depending on what the type has.
    pub(crate) const fn too_large(&self) -> u128 {
        match self.greatest {
            Greatest::Nan => self.sign_bit() - 1,
            Greatest::FiniteZeroNan => self.sign_bit(),
            Greatest::IeeeNan | Greatest::Finite => self.highest(),
        }
    }

    /// Describes the format in a few words.
    pub(crate) fn described(&self) -> String {
        format!(
            "a sign, {} bits of exponent with bias {}, {} of mantissa",
            self.exponent_bits, self.bias, self.mantissa_bits
        )
    }

    /// Returns the bits of the value that is nearest to `number`, which must be at least 0. A tie
    /// is rounded to the even bits. If the number is too large, the result is greater than
    /// [`greatest_number`](Self::greatest_number).
    fn nearest(&self, number: f64) -> u128 {
        let bits = number.to_bits();
        let (exponent, fraction) = (int(bits >> 52), bits & ((1 << 52) - 1));
        // `number` is `digits · 2^scale`.
        let (digits, scale) = match exponent {
            0 => (fraction, -1074),
            _ => (fraction | 1 << 52, exponent - 1075),
        };
        if digits == 0 {
            return 0;
        }
        let magnitude = scale + int(u64::from(digits.ilog2()));
        let least = 1 - int(u64::from(self.bias));
        let mantissa_bits = int(u64::from(self.mantissa_bits));
        let binade = magnitude.max(least);
        // A step of the mantissa near `number` is equal to 2^shift steps of `digits`.
        let shift = binade - mantissa_bits - scale;
        let steps = match u32::try_from(shift) {
            Err(_) => u128::from(digits) << shift.unsigned_abs(),
            Ok(0) => u128::from(digits),
            Ok(shift @ 1..=63) => {
                let (whole, rest) = (digits >> shift, digits & ((1 << shift) - 1));
                let half = 1 << (shift - 1);
                u128::from(whole + u64::from(rest > half || rest == half && whole & 1 == 1))
            }
            Ok(_) => 0,
        };
        // The leading one of a normal number is not stored, but `steps` includes it. In the sum, it
        // carries into the exponent.
        let exponent = u128::try_from(binade - least).unwrap_or(0);
        (exponent << self.mantissa_bits) + steps
    }

    /// Returns the bits of `number` in an `fnuz` type, whose only NaN has the bit pattern of −0.
    fn fnuz_bits(&self, number: f64, sign: u128) -> u128 {
        match self.nearest(number.abs()) {
            _ if !number.is_finite() => self.too_large(),
            0 => 0,
            pattern if pattern > self.greatest_number() => self.too_large(),
            pattern => sign | pattern,
        }
    }
}

/// Converts a number that fits an `i64`.
fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl ElementType {
    /// Returns the exact value of the float whose bits are `bits`, or `None` if the type is not a
    /// float.
    pub(crate) fn float_value(self, bits: u128) -> Option<f64> {
        if self == Self::F8e8m0fnu {
            let exponent = int(u64::try_from(bits).ok()?);
            return Some(if exponent == 0xff { f64::NAN } else { power(exponent - 127) });
        }
        let format = FloatFormat::of(self)?;
        if self == Self::F64 {
            return Some(f64::from_bits(u64::try_from(bits).ok()?));
        }
        let negative = bits & format.sign_bit() != 0;
        let pattern = bits & (format.sign_bit() - 1);
        let magnitude = if format.is_negative_zero_nan() && negative && pattern == 0 {
            f64::NAN
        } else if pattern <= format.greatest_number() {
            let fraction = u64::try_from(pattern & ones(format.mantissa_bits)).ok()?;
            let exponent = int(u64::try_from(pattern >> format.mantissa_bits).ok()?);
            let lead = u64::from(exponent > 0) << format.mantissa_bits;
            let digits = u32::try_from(fraction | lead).ok()?;
            let scale = int(format.bias.into()) + int(format.mantissa_bits.into());
            f64::from(digits) * power(exponent.max(1) - scale)
        } else if pattern == format.highest() {
            f64::INFINITY
        } else {
            f64::NAN
        };
        Some(if negative { -magnitude } else { magnitude })
    }

    /// Returns the bits of the float nearest to `number`, with ties to even. Returns `None` if the
    /// type is not a float, or if `number` is NaN and the type has no NaN.
    ///
    /// A number whose magnitude is too large becomes infinity, or NaN if the type has no infinity,
    /// or the greatest finite value if the type has neither.
    pub(crate) fn float_bits(self, number: f64) -> Option<u128> {
        if self == Self::F8e8m0fnu {
            return Some(exponent_bits(number));
        }
        let format = FloatFormat::of(self)?;
        if self == Self::F64 {
            return Some(number.to_bits().into());
        }
        let sign = if number.is_sign_negative() { format.sign_bit() } else { 0 };
        if format.is_negative_zero_nan() {
            return Some(format.fnuz_bits(number, sign));
        }
        if number.is_nan() {
            return format.nan().map(|nan| sign | nan);
        }
        let pattern = match format.nearest(number.abs()) {
            pattern if number.is_finite() && pattern <= format.greatest_number() => pattern,
            _ => format.too_large(),
        };
        Some(sign | pattern)
    }

    /// Returns the bits of the float nearest to `number`, like [`float_bits`](Self::float_bits),
    /// but accepts every number. A NaN becomes a NaN with the same sign and no payload, or negative
    /// zero if the type has no NaN. Returns 0 if the type is not a float.
    pub(crate) fn nearest_float_bits(self, number: f64) -> u128 {
        let number = if number.is_nan() { f64::NAN.copysign(number) } else { number };
        let sign = || self.bits().map_or(0, |bits| 1 << (bits - 1));
        self.float_bits(number).unwrap_or_else(|| if number.is_nan() { sign() } else { 0 })
    }

    /// Returns true only if every value of this type is also a value of the type `other`. Returns
    /// false if both are the same type, except `f8e8m0fnu`.
    pub(crate) fn fits_in(self, other: Self) -> bool {
        if self == Self::F8e8m0fnu || other == Self::F8e8m0fnu {
            // The least value of `f8e8m0fnu`, 2^-127, is not a normal number in a type with 8 bits
            // of exponent.
            return self == other || matches!(other, Self::F32 | Self::F64 | Self::Bf16);
        }
        let (Some(own), Some(other_format)) = (FloatFormat::of(self), FloatFormat::of(other))
        else {
            return false;
        };
        let exponents = |of: &FloatFormat| {
            let least = 1 - int(of.bias.into()) - int(of.mantissa_bits.into());
            let highest = u64::try_from(of.greatest_number() >> of.mantissa_bits).unwrap_or(0);
            (least, int(highest) - int(of.bias.into()))
        };
        let ((low, high), (other_low, other_high)) = (exponents(&own), exponents(&other_format));
        own.mantissa_bits <= other_format.mantissa_bits
            && other_low <= low
            && high < other_high
            && other_format.has_infinity()
    }

    /// Returns true only if the type can represent every integer of at most `digits` binary digits.
    pub(crate) fn holds_integers_of(self, digits: u32) -> bool {
        FloatFormat::of(self).is_some_and(|format| {
            digits <= format.mantissa_bits + 1 && digits < format.bias && format.has_infinity()
        })
    }

    /// Returns the bits of the NaN with the given sign and payload, or `None` if the type has no
    /// such NaN.
    pub(crate) fn nan_bits(self, negative: bool, payload: u64) -> Option<u128> {
        let format = FloatFormat::of(self)?;
        let fits = payload != 0 && u128::from(payload) <= ones(format.mantissa_bits);
        let sign = if negative { format.sign_bit() } else { 0 };
        (fits && format.has_infinity()).then(|| sign | format.highest() | u128::from(payload))
    }

    /// Returns the payload of the NaN `bits`, or `None` if it is the NaN that is written as plain
    /// `nan`.
    pub(crate) fn nan_payload(self, bits: u128) -> Option<u64> {
        let format = FloatFormat::of(self)?;
        let payload = bits & ones(format.mantissa_bits);
        let quiet = 1 << (format.mantissa_bits - 1);
        (format.has_infinity() && payload != quiet).then_some(u64::try_from(payload).ok()?)
    }
}

/// Returns 2 to the power of `exponent`, which must be from -1022 to 1023.
fn power(exponent: i64) -> f64 {
    f64::from_bits((exponent + 1023).unsigned_abs() << 52)
}

/// Returns the bits of the `f8e8m0fnu` nearest to `number`. The rounding is XLA's: a number halfway
/// between two powers of two is rounded up, and so is every number between the two smallest powers.
fn exponent_bits(number: f64) -> u128 {
    if number.is_nan() || number <= 0.0 {
        return 0xff;
    }
    let bits = number.to_bits();
    let (exponent, fraction) = (int(bits >> 52) - 1023 + 127, bits & ((1 << 52) - 1));
    if exponent <= 0 {
        return (number > power(-127)).into();
    }
    let exponent = exponent + i64::from(fraction >= 1 << 51);
    // A number that is too large becomes NaN, which is the exponent with all bits set.
    exponent.min(0xff).unsigned_abs().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats() -> impl Iterator<Item = ElementType> {
        ElementType::ALL.into_iter().filter(|kind| kind.float_value(0).is_some())
    }

    #[test]
    fn every_pattern_of_a_small_float_reads_back() {
        assert_eq!(floats().count(), 15);
        for kind in floats().filter(|kind| kind.bits() <= Some(16)) {
            for bits in 0..1 << kind.bits().unwrap() {
                let value = kind.float_value(bits).unwrap();
                let again = kind.float_bits(value);
                if value.is_nan() {
                    let nan = kind.float_value(again.unwrap()).unwrap();
                    assert!(nan.is_nan(), "{kind} {bits:#x}");
                } else {
                    assert_eq!(again, Some(bits), "{kind} {bits:#x} {value}");
                }
            }
        }
    }

    #[test]
    fn numbers_between_two_floats_go_to_the_nearest() {
        for kind in floats().filter(|kind| kind.bits() <= Some(16)) {
            let value = |bits: u128| kind.float_value(bits).unwrap();
            let is_scale = kind == ElementType::F8e8m0fnu;
            let count = if is_scale { 0xff } else { (1 << (kind.bits().unwrap() - 1)) - 1 };
            for bits in u128::from(is_scale)..count {
                let (low, high) = (value(bits), value(bits + 1));
                if !high.is_finite() {
                    break;
                }
                let middle = f64::midpoint(low, high);
                // `f8e8m0fnu` has no mantissa, so that a tie is rounded up to the greater power.
                let even = if bits % 2 == 0 && !is_scale { bits } else { bits + 1 };
                assert_eq!(kind.float_bits(middle), Some(even), "{kind} {middle}");
                assert_eq!(kind.float_bits(middle.next_up()), Some(bits + 1), "{kind} {middle}");
                assert_eq!(kind.float_bits(middle.next_down()), Some(bits), "{kind} {middle}");
            }
        }
    }

    #[test]
    fn wide_floats_agree_with_rust() {
        let samples = [0.0, -0.0, 1.5, 3.4e38, 3.5e38, 1e-45, 6e-46, 1e-40, f64::MAX, -7.25e-9];
        for number in samples {
            #[allow(clippy::cast_possible_truncation)] // rounds to nearest
            let expected = (number as f32).to_bits();
            assert_eq!(ElementType::F32.float_bits(number), Some(expected.into()), "{number}");
        }
        for bits in [1, 0x3f80_0000, 0x7f80_0000, 0xff7f_ffff, 0x0080_0000, 0x8000_0000_u32] {
            let expected = f64::from(f32::from_bits(bits));
            assert_eq!(ElementType::F32.float_value(bits.into()), Some(expected));
        }
    }

    #[test]
    fn numbers_beyond_the_greatest_and_the_least() {
        use ElementType as E;
        assert_eq!(E::F16.float_bits(65519.0), Some(0x7bff));
        assert_eq!(E::F16.float_bits(-65520.0), Some(0xfc00));
        assert_eq!(E::F8e4m3fn.float_bits(1e9), Some(0x7f));
        assert_eq!(E::F8e4m3fnuz.float_bits(-1e9), Some(0x80));
        assert_eq!(E::F8e4m3fnuz.float_bits(-0.0), Some(0));
        assert_eq!(E::F4e2m1fn.float_bits(f64::INFINITY), Some(7));
        assert_eq!(E::F4e2m1fn.float_bits(f64::NAN), None);
        assert_eq!(E::F8e8m0fnu.float_bits(1.0), Some(127));
        for (number, bits) in [(f64::MAX, 0xff), (0.0, 0xff), (1e-300, 0), (-1.0, 0xff)] {
            assert_eq!(E::F8e8m0fnu.float_bits(number), Some(bits), "{number}");
        }
        // A number just above the smallest power, 2^-127, is rounded up to 2^-126.
        assert_eq!(E::F8e8m0fnu.float_bits(power(-127)), Some(0));
        assert_eq!(E::F8e8m0fnu.float_bits(power(-127).next_up()), Some(1));
        assert_eq!(E::F8e5m2.float_bits(f64::NEG_INFINITY), Some(0xfc));
        assert_eq!(E::F8e4m3fn.float_bits(464.0), Some(0x7e));
        assert_eq!(E::F8e4m3fn.float_bits(-465.0), Some(0xff));
        assert_eq!(E::Bf16.float_bits(f64::NAN), Some(0x7fc0));
    }

    #[test]
    fn payloads_of_nans() {
        use ElementType as E;
        assert_eq!(E::F32.float_bits(f64::NAN), Some(0x7fc0_0000));
        assert_eq!(E::F32.nan_bits(true, 1), Some(0xff80_0001));
        assert_eq!(E::F32.nan_bits(false, 1 << 23), None);
        assert_eq!(E::F32.nan_payload(0xff80_0001), Some(1));
        assert_eq!(E::F32.nan_payload(0x7fc0_0000), None);
        assert_eq!(E::F8e4m3fn.nan_payload(0x7f), None);
    }
}
