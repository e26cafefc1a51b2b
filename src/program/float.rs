//! Floats of at most 16 bits, as XLA converts them.

use crate::shape::ElementType;

/// A type of floats: a sign, an exponent and a fraction, from the highest bit down.
#[derive(Clone, Copy)]
pub(super) struct Float {
    exponent: u32,
    fraction: u32,
    bias: i32,
    beyond: Beyond,
}

/// What a type has beside finite numbers.
#[derive(Clone, Copy, PartialEq)]
enum Beyond {
    /// Infinities, and what is not a number, where all bits of the exponent are set.
    Infinity,
    /// What is not a number, where all bits but the sign are set. Larger numbers become that.
    AllOnes,
    /// What is not a number, in the place of a negative zero. Larger numbers become that.
    NegativeZero,
    /// Nothing: larger numbers become the greatest, and what is not a number a negative zero.
    Nothing,
    /// What is not a number, where all bits are set; there is no sign and no zero, and both become that.
    Scale,
}

impl Float {
    /// The format of a type; `None` of one that is no float, or one of more than 16 bits.
    pub(super) fn of(element_type: ElementType) -> Option<Self> {
        use Beyond::{AllOnes, Infinity, NegativeZero, Nothing, Scale};
        use ElementType as T;
        let (exponent, fraction, bias, beyond) = match element_type {
            T::Bf16 => (8, 7, 127, Infinity),
            T::F16 => (5, 10, 15, Infinity),
            T::F8e5m2 => (5, 2, 15, Infinity),
            T::F8e4m3 => (4, 3, 7, Infinity),
            T::F8e3m4 => (3, 4, 3, Infinity),
            T::F8e4m3fn => (4, 3, 7, AllOnes),
            T::F8e4m3b11fnuz => (4, 3, 11, NegativeZero),
            T::F8e4m3fnuz => (4, 3, 8, NegativeZero),
            T::F8e5m2fnuz => (5, 2, 16, NegativeZero),
            T::F8e8m0fnu => (8, 0, 127, Scale),
            T::F6e2m3fn => (2, 3, 1, Nothing),
            T::F6e3m2fn => (3, 2, 3, Nothing),
            T::F4e2m1fn => (2, 1, 1, Nothing),
            _ => return None,
        };
        Some(Self { exponent, fraction, bias, beyond })
    }

    /// The bit of the sign.
    fn sign(self) -> u32 {
        1 << (self.exponent + self.fraction)
    }

    /// The bits of the greatest finite number.
    fn greatest(self) -> u32 {
        match self.beyond {
            Beyond::Infinity => self.infinity() - 1,
            Beyond::AllOnes | Beyond::Scale => self.sign() - 2,
            Beyond::NegativeZero | Beyond::Nothing => self.sign() - 1,
        }
    }

    /// All bits of the exponent.
    fn infinity(self) -> u32 {
        self.sign() - (1 << self.fraction)
    }

    /// The value of these bits.
    pub(super) fn read(self, bits: u32) -> f64 {
        let magnitude = bits & (self.sign() - 1);
        let is_negative = bits & self.sign() != 0;
        let is_none = match self.beyond {
            Beyond::NegativeZero => is_negative && magnitude == 0,
            _ => magnitude > self.greatest(),
        };
        let value = if self.beyond == Beyond::Infinity && magnitude == self.infinity() {
            f64::INFINITY
        } else if is_none {
            f64::NAN
        } else if self.beyond == Beyond::Scale && magnitude == 0 {
            self.unit(0) / 2.0
        } else {
            let fraction = magnitude & ((1 << self.fraction) - 1);
            let exponent = magnitude >> self.fraction;
            let first = if exponent == 0 { 0 } else { 1 << self.fraction };
            f64::from(first + fraction) * self.unit(exponent)
        };
        if is_negative { -value } else { value }
    }

    /// What the last bit of the fraction stands for, beside these bits of the exponent.
    fn unit(self, exponent: u32) -> f64 {
        let exponent = exponent.max(1).cast_signed() - self.bias;
        2_f64.powi(exponent - self.fraction.cast_signed())
    }

    /// The bits of a value, rounded to the nearest, ties to even.
    pub(super) fn write(self, value: f64) -> u32 {
        let sign = if value.is_sign_negative() { self.sign() } else { 0 };
        if value.is_nan() || self.beyond == Beyond::Scale && value <= 0.0 {
            return match self.beyond {
                Beyond::Infinity => sign | self.infinity() | 1 << (self.fraction - 1),
                Beyond::AllOnes => sign | (self.sign() - 1),
                Beyond::NegativeZero | Beyond::Nothing => self.sign(),
                Beyond::Scale => self.sign() - 1,
            };
        }
        let magnitude = self.rounded(value.abs());
        match self.beyond {
            Beyond::NegativeZero if magnitude == 0 => 0,
            Beyond::NegativeZero if magnitude > self.greatest() => self.sign(),
            Beyond::Nothing => sign | magnitude.min(self.greatest()),
            _ => sign | magnitude.min(self.greatest() + 1),
        }
    }

    /// The bits of a number that is not negative, as if there were exponents without end: more than those of the greatest
    /// number where it lies beyond.
    fn rounded(self, magnitude: f64) -> u32 {
        let own = i32::try_from(magnitude.to_bits() >> 52).unwrap_or(0) - 1023;
        if own > self.bias + 1 {
            return u32::MAX;
        }
        // Of numbers below the least normal one the unit is that of the least.
        let exponent = (own + self.bias).max(1).cast_unsigned();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "small and not negative"
        )]
        let units = (magnitude / self.unit(exponent)).round_ties_even() as u32;
        ((exponent - 1) << self.fraction) + units
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::ElementType::{Bf16, F4e2m1fn, F8e4m3fn, F8e5m2, F8e5m2fnuz, F8e8m0fnu, F16};

    /// Every number is itself again, and what lies between two neighbours is rounded to the even one at half of the way.
    #[test]
    fn values_are_rounded_to_the_nearest() {
        for kind in ElementType::ALL {
            let Some(float) = Float::of(kind) else { continue };
            for bits in 0..=float.greatest() {
                let value = float.read(bits);
                assert_eq!(float.write(value), bits, "{kind} {value}");
                if bits > 0 && float.beyond != Beyond::Scale {
                    assert_eq!(float.write(-value), bits | float.sign(), "{kind} {value}");
                }
                if (1..float.greatest()).contains(&bits) {
                    let middle = f64::midpoint(value, float.read(bits + 1));
                    // Between powers of two, which have no fraction, half of the way goes to the greater one.
                    let is_scale = float.beyond == Beyond::Scale;
                    let even = if is_scale { bits + 1 } else { bits + (bits & 1) };
                    assert_eq!(float.write(middle), even, "{kind} {middle}");
                    assert_eq!(float.write(middle.next_up()), bits + 1, "{kind} {middle}");
                    assert_eq!(float.write(middle.next_down()), bits, "{kind} {middle}");
                }
            }
        }
    }

    #[test]
    fn what_lies_beyond_the_greatest_number() {
        for (kind, value, expected) in [
            (F16, 65_520.0, 0x7c00),
            (F16, 65_519.0, 0x7bff),
            (F16, -1e300, 0xfc00),
            (Bf16, f64::NAN, 0x7fc0),
            (F8e5m2, f64::NEG_INFINITY, 0xfc),
            (F8e4m3fn, 464.0, 0x7e),
            (F8e4m3fn, -465.0, 0xff),
            (F8e5m2fnuz, -0.0, 0),
            (F8e5m2fnuz, f64::INFINITY, 0x80),
            (F4e2m1fn, -100.0, 0xf),
            (F4e2m1fn, f64::NAN, 8),
            (F8e8m0fnu, 0.0, 0xff),
            (F8e8m0fnu, 1e-300, 0),
        ] {
            let float = Float::of(kind).unwrap();
            assert_eq!(float.write(value), expected, "{kind} {value}");
        }
    }
}
