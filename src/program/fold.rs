//! Computation on constants: the elements of an instruction whose operands are known when compiling.

use super::literal::{element, elements, extents, storage_bits};
use crate::{
    hlo::{Binary, ComparisonDirection, Instruction, Literal, Opcode, Unary},
    shape::ElementType,
};

/// The most elements of a constant that is computed.
pub(super) const MAX_ELEMENTS: u64 = 1 << 20;

/// The value of an instruction whose operands are these constants; `None` where it is not computed here.
pub(super) fn fold(instruction: &Instruction, operands: &[Literal]) -> Option<Literal> {
    let shape = instruction.shape();
    let (to, sizes) = (shape.element_type(), extents(shape)?);
    let count = elements(&sizes);
    if count > MAX_ELEMENTS {
        return None;
    }
    let mut bytes = Vec::new();
    for place in 0..count {
        let operand = |number: usize| -> Option<Number> {
            let literal = operands.get(number)?;
            // Clamp takes scalars beside arrays, and select a scalar predicate.
            let place = if literal.shape().rank() == 0 { 0 } else { place };
            Number::read(literal.shape().element_type(), element(literal, place))
        };
        let bits = match instruction.opcode() {
            Opcode::Iota { dimension } => {
                let inner: u64 = sizes[dimension + 1..].iter().product();
                Number::Integer((place / inner % sizes[*dimension]).into()).write(to)?
            }
            Opcode::Convert => operand(0)?.write(to)?,
            Opcode::Compare { direction, total_order: false } => {
                u128::from(operand(0)?.compare(operand(1)?, *direction)?)
            }
            // Whichever is chosen is kept bit by bit.
            Opcode::Select => {
                let chosen = if operand(0)?.is_zero() { 2 } else { 1 };
                element(operands.get(chosen)?, place)
            }
            Opcode::Clamp => operand(1)?.most(operand(0)?)?.least(operand(2)?)?.write(to)?,
            Opcode::Unary(unary) => operand(0)?.unary(to, *unary)?.write(to)?,
            Opcode::Binary(binary) => operand(0)?.binary(operand(1)?, *binary)?.write(to)?,
            _ => return None,
        };
        let width = usize::try_from(storage_bits(to) / 8).ok()?;
        bytes.extend_from_slice(&bits.to_le_bytes()[..width]);
    }
    Literal::new(shape, bytes).ok()
}

/// The value of one element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    /// An integer, or 0 or 1 of a `pred`.
    Integer(i128),
    /// A float of at most 64 bits.
    Float(f64),
}

impl Number {
    /// The value of the bits of an element; `None` of a type that is not computed with.
    pub(super) fn read(from: ElementType, bits: u128) -> Option<Self> {
        use ElementType::{Bf16, F16, F32, F64, Pred};
        let low = u64::try_from(bits & u128::from(u64::MAX)).ok()?;
        let word = u32::try_from(low & u64::from(u32::MAX)).ok()?;
        Some(match from {
            F64 => Self::Float(f64::from_bits(low)),
            F32 => Self::Float(f32::from_bits(word).into()),
            Bf16 => Self::Float(f32::from_bits(word << 16).into()),
            F16 => Self::Float(half(word)),
            Pred => Self::Integer(i128::from(low != 0)),
            _ if super::literal::is_integer(from) => {
                let unused = 128 - from.bits()?;
                let high = bits << unused;
                let is_signed = from.is_signed_integer();
                Self::Integer(if is_signed {
                    high.cast_signed() >> unused
                } else {
                    (high >> unused).cast_signed()
                })
            }
            _ => return None,
        })
    }

    /// The bits of the value as another type: integers wrap around, floats are rounded to the nearest, and to integers
    /// they are cut and clamped.
    pub(super) fn write(self, to: ElementType) -> Option<u128> {
        use ElementType::{Bf16, F16, F32, F64, Pred};
        if to == Pred {
            return Some(u128::from(!self.is_zero()));
        }
        if super::literal::is_integer(to) {
            let bits = to.bits()?;
            let mask = u128::MAX >> (128 - bits);
            let integer = match self {
                Self::Integer(integer) => integer,
                Self::Float(float) => {
                    let (least, most) = if to.is_signed_integer() {
                        (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1)
                    } else {
                        (0, (1_i128 << bits) - 1)
                    };
                    #[expect(clippy::cast_possible_truncation, reason = "clamped, as in XLA")]
                    let integer = float as i128;
                    integer.clamp(least, most)
                }
            };
            return Some(integer.cast_unsigned() & mask);
        }
        #[expect(clippy::cast_precision_loss, reason = "rounded once, to the nearest")]
        let (single, double) = match self {
            Self::Integer(integer) => (integer as f32, integer as f64),
            #[expect(clippy::cast_possible_truncation, reason = "rounded to the nearest")]
            Self::Float(float) => (float as f32, float),
        };
        Some(match to {
            F64 => double.to_bits().into(),
            F32 => single.to_bits().into(),
            Bf16 => narrowed(double, 8, 7).into(),
            F16 => narrowed(double, 5, 10).into(),
            _ => return None,
        })
    }

    fn is_zero(self) -> bool {
        match self {
            Self::Integer(integer) => integer == 0,
            Self::Float(float) => float == 0.0,
        }
    }

    fn compare(self, other: Self, direction: ComparisonDirection) -> Option<bool> {
        use ComparisonDirection::{Eq, Ge, Gt, Le, Lt, Ne};
        let order = match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => Some(a.cmp(&b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(&b),
            _ => return None,
        };
        // Of what is not a number every comparison fails but that it is another.
        Some(match direction {
            Eq => order.is_some_and(std::cmp::Ordering::is_eq),
            Ne => order.is_none_or(std::cmp::Ordering::is_ne),
            Ge => order.is_some_and(std::cmp::Ordering::is_ge),
            Gt => order.is_some_and(std::cmp::Ordering::is_gt),
            Le => order.is_some_and(std::cmp::Ordering::is_le),
            Lt => order.is_some_and(std::cmp::Ordering::is_lt),
        })
    }

    fn least(self, other: Self) -> Option<Self> {
        self.binary(other, Binary::Minimum)
    }

    fn most(self, other: Self) -> Option<Self> {
        self.binary(other, Binary::Maximum)
    }

    /// The operation on an integer of this type; `None` on floats.
    fn unary(self, of: ElementType, unary: Unary) -> Option<Self> {
        let Self::Integer(number) = self else { return None };
        Some(Self::Integer(match unary {
            Unary::Abs => number.abs(),
            Unary::Negate => -number,
            Unary::Not if of == ElementType::Pred => (number == 0).into(),
            Unary::Not => !number,
            Unary::Sign => number.signum(),
        }))
    }

    /// The operation on two integers; `None` on floats, whose results depend on their width.
    pub(super) fn binary(self, other: Self, binary: Binary) -> Option<Self> {
        let (Self::Integer(a), Self::Integer(b)) = (self, other) else { return None };
        Some(Self::Integer(match binary {
            Binary::And => a & b,
            Binary::Or => a | b,
            Binary::Add => a.wrapping_add(b),
            Binary::Subtract => a.wrapping_sub(b),
            Binary::Multiply => a.wrapping_mul(b),
            Binary::Divide => a.checked_div(b).unwrap_or(-1),
            // XLA's remainder by 0 is the dividend.
            Binary::Remainder => a.checked_rem(b).unwrap_or(a),
            Binary::Minimum => a.min(b),
            Binary::Maximum => a.max(b),
        }))
    }
}

/// The value of an f16.
fn half(bits: u32) -> f64 {
    let (sign, exponent, fraction) = (bits >> 15 & 1, bits >> 10 & 31, f64::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => fraction * 2_f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2_f64.powi(i32::try_from(exponent).unwrap_or(0) - 25),
    };
    if sign == 1 { -magnitude } else { magnitude }
}

/// A float of so many bits of exponent and fraction, rounded to the nearest, ties to even.
fn narrowed(value: f64, exponent_bits: u32, fraction_bits: u32) -> u16 {
    let sign = u64::from(value.is_sign_negative()) << (exponent_bits + fraction_bits);
    let top = ((1_u64 << exponent_bits) - 1) << fraction_bits;
    let magnitude = value.abs();
    let bias = (1_i32 << (exponent_bits - 1)) - 1;
    let bits = if value.is_nan() {
        top | 1 << (fraction_bits - 1)
    } else if magnitude == 0.0 {
        0
    } else {
        // Of numbers below the least normal one the unit is that of the least.
        let own = i32::try_from(magnitude.to_bits() >> 52).unwrap_or(0) - 1023;
        let exponent = own.max(1 - bias);
        let fraction = i32::try_from(fraction_bits).unwrap_or(0);
        let unit = 2_f64.powi(exponent - fraction);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "small and not negative"
        )]
        let units = (magnitude / unit).round_ties_even() as u64;
        let first = u64::try_from(exponent + bias - 1).unwrap_or(0) << fraction_bits;
        (first + units).min(top)
    };
    u16::try_from(sign | bits).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every f16 is itself again, and what lies between two neighbours is rounded to the even one at half of the way.
    #[test]
    fn halves_are_rounded_to_the_nearest() {
        for bits in 0..0x7c00_u32 {
            let value = half(bits);
            assert_eq!(u32::from(narrowed(value, 5, 10)), bits, "{value}");
            assert_eq!(u32::from(narrowed(-value, 5, 10)), bits | 0x8000, "{value}");
            if bits < 0x7bff {
                let middle = f64::midpoint(value, half(bits + 1));
                let even = bits + (bits & 1);
                assert_eq!(u32::from(narrowed(middle, 5, 10)), even, "{middle}");
            }
        }
        assert_eq!(narrowed(65_520.0, 5, 10), 0x7c00);
        assert_eq!(narrowed(65_519.0, 5, 10), 0x7bff);
        assert!(half(u32::from(narrowed(f64::NAN, 5, 10))).is_nan());
        assert_eq!(narrowed(1.0, 8, 7), 0x3f80);
    }

    #[test]
    fn numbers_become_those_of_other_types() {
        use ElementType::{F32, S4, S8, S64, U8};
        for (from, bits, to, expected) in [
            (S8, 0xff, S64, u128::from(u64::MAX)),
            (S4, 0x8, S8, 0xf8),
            (S64, 300, U8, 44),
            (F32, u128::from((-1.5_f32).to_bits()), S8, 0xff),
            (F32, u128::from(1e9_f32.to_bits()), U8, 255),
            (F32, u128::from(f32::NAN.to_bits()), U8, 0),
            (S64, 3, F32, u128::from(3_f32.to_bits())),
        ] {
            let given = Number::read(from, bits).and_then(|number| number.write(to));
            assert_eq!(given, Some(expected), "{from} {bits:#x} to {to}");
        }
    }
}
