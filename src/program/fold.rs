//! Constant folding: computes the value of an instruction at compile time if all its operands are
//! known.
//!
//! Modules that only move data still compute a few constants, such as the bounds of an index. The
//! computed values must have exactly the bits that XLA computes, so every rule here was compared
//! with XLA.

use super::{
    literal::{element, elements, extents, is_integer, storage_bits},
    numbers::operator,
};
use crate::{
    hlo::{Binary, ComparisonDirection, Instruction, Literal, Opcode, Unary},
    shape::ElementType,
};

/// The maximum number of elements of a value that is computed at compile time. With a higher limit,
/// compilation may take longer and the compiled program may be larger. With a lower limit, more
/// modules are refused.
pub(super) const MAX_ELEMENTS: u64 = 1 << 20;

/// Computes the value of an instruction from the values of its operands. Returns `None` if the
/// instruction is not folded or has more than [`MAX_ELEMENTS`] elements.
pub(super) fn fold(instruction: &Instruction, operands: &[Literal]) -> Option<Literal> {
    let shape = instruction.shape();
    let (to, sizes) = (shape.element_type(), extents(shape)?);
    let count = elements(&sizes);
    if count > MAX_ELEMENTS {
        return None;
    }
    let mut bytes = Vec::new();
    for place in 0..count {
        let operand = |number: usize| {
            let literal = operands.get(number)?;
            // The bounds of clamp and the predicate of select may be scalars although the other
            // operands are arrays.
            let place = if literal.shape().rank() == 0 { 0 } else { place };
            Some((literal.shape().element_type(), element(literal, place)))
        };
        let bits = match instruction.opcode() {
            Opcode::Iota { dimension } => {
                let inner: u64 = sizes[dimension + 1..].iter().product();
                Scalar::Integer((place / inner % sizes[*dimension]).into()).write(to)?
            }
            _ => element_bits(instruction, operand)?,
        };
        let width = usize::try_from(storage_bits(to) / 8).ok()?;
        bytes.extend_from_slice(&bits.to_le_bytes()[..width]);
    }
    Literal::new(shape, bytes).ok()
}

/// Computes the bits of one element of an instruction that works element by element, such as `add`.
///
/// `operand(n)` returns the type and the bits of the corresponding element of operand `n`. The
/// result is `None` if the instruction is not folded.
pub(super) fn element_bits(
    instruction: &Instruction,
    operand: impl Fn(usize) -> Option<(ElementType, u128)>,
) -> Option<u128> {
    let to = instruction.shape().element_type();
    let scalar = |number: usize| operand(number).and_then(|(of, bits)| Scalar::read(of, bits));
    Some(match instruction.opcode() {
        Opcode::Convert => scalar(0)?.write(to)?,
        Opcode::Compare { direction, total_order: true } => {
            let total = |number| operand(number).and_then(|(of, bits)| Scalar::total(of, bits));
            u128::from(total(0)?.compare(total(1)?, *direction)?)
        }
        Opcode::Compare { direction, .. } => {
            u128::from(scalar(0)?.compare(scalar(1)?, *direction)?)
        }
        // Select copies the bits of the chosen element unchanged.
        Opcode::Select => operand(if scalar(0)? == Scalar::Integer(0) { 2 } else { 1 })?.1,
        Opcode::Clamp => {
            let least = scalar(1)?.binary(scalar(0)?, to, Binary::Maximum)?;
            least.binary(scalar(2)?, to, Binary::Minimum)?.write(to)?
        }
        Opcode::Unary(unary) => scalar(0)?.unary(operand(0)?.0, *unary)?.write(to)?,
        Opcode::Binary(binary) => scalar(0)?.binary(scalar(1)?, to, *binary)?.write(to)?,
        _ => return None,
    })
}

/// The value of one element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scalar {
    /// An integer. A `pred` is 0 or 1.
    Integer(i128),
    /// A float of at most 64 bits.
    Float(f64),
    /// A complex number: its real part and its imaginary part.
    Complex(f64, f64),
}

impl Scalar {
    /// Returns the value that the bits of an element encode, or `None` if elements of this type are
    /// not folded.
    pub(super) fn read(from: ElementType, bits: u128) -> Option<Self> {
        use ElementType::{C64, C128, F32, F64, Pred};
        #[expect(clippy::cast_possible_truncation, reason = "the low bits are meant")]
        let (double, single) = (
            |bits: u128| f64::from_bits(bits as u64),
            |bits: u128| f64::from(f32::from_bits(bits as u32)),
        );
        Some(match from {
            F64 => Self::Float(double(bits)),
            F32 => Self::Float(single(bits)),
            C128 => Self::Complex(double(bits), double(bits >> 64)),
            C64 => Self::Complex(single(bits), single(bits >> 32)),
            Pred => Self::Integer(i128::from(bits != 0)),
            _ if is_integer(from) => {
                let unused = 128 - from.bits()?;
                let high = bits << unused;
                let is_signed = from.is_signed_integer();
                Self::Integer(if is_signed {
                    high.cast_signed() >> unused
                } else {
                    (high >> unused).cast_signed()
                })
            }
            _ => Self::Float(from.float_value(bits)?),
        })
    }

    /// Converts this value to the type `to`, and returns its bits.
    ///
    /// - To an integer type: integers wrap around. Floats are truncated and then clamped to the
    ///   range of the type.
    /// - To a float type: the value is rounded to the nearest.
    /// - To a complex type: a real number becomes the real part, and the imaginary part is 0.
    ///
    /// Returns `None` for a complex number if the type is not complex, and for types that are not
    /// folded.
    pub(super) fn write(self, to: ElementType) -> Option<u128> {
        use ElementType::{Bf16, C64, C128, F32, F64, Pred};
        if let C64 | C128 = to {
            let (real, imaginary) = match self {
                Self::Complex(real, imaginary) => (Self::Float(real), Self::Float(imaginary)),
                number => (number, Self::Float(0.0)),
            };
            let (part, bits) = if to == C64 { (F32, 32) } else { (F64, 64) };
            return Some(real.write(part)? | imaginary.write(part)? << bits);
        }
        if let Self::Complex(..) = self {
            return None;
        }
        if to == Pred {
            return Some(u128::from(self != Self::Integer(0) && self != Self::Float(0.0)));
        }
        if is_integer(to) {
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
                Self::Complex(..) => return None,
            };
            return Some(integer.cast_unsigned() & mask);
        }
        #[expect(clippy::cast_precision_loss, reason = "rounded once, to the nearest")]
        let (single, double) = match self {
            Self::Integer(integer) => (integer as f32, integer as f64),
            #[expect(clippy::cast_possible_truncation, reason = "rounded to the nearest")]
            Self::Float(float) => (float as f32, float),
            Self::Complex(..) => return None,
        };
        Some(match (to, self) {
            (F64, _) => double.to_bits().into(),
            (F32, _) => single.to_bits().into(),
            // XLA converts integers to floats narrower than 32 bits through f32. It also converts
            // f64 to bf16 through f32.
            (_, Self::Integer(_)) | (Bf16, _) => to.nearest_float_bits(single.into()),
            _ => to.nearest_float_bits(double),
        })
    }

    fn compare(self, other: Self, direction: ComparisonDirection) -> Option<bool> {
        use ComparisonDirection::{Eq, Ge, Gt, Le, Lt, Ne};
        let order = match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => Some(a.cmp(&b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(&b),
            // Complex numbers have no order.
            (Self::Complex(..), Self::Complex(..)) if matches!(direction, Eq | Ne) => {
                return Some((self == other) == (direction == Eq));
            }
            _ => return None,
        };
        // Every comparison with NaN is false, except `!=`.
        Some(match direction {
            Eq => order.is_some_and(std::cmp::Ordering::is_eq),
            Ne => order.is_none_or(std::cmp::Ordering::is_ne),
            Ge => order.is_some_and(std::cmp::Ordering::is_ge),
            Gt => order.is_some_and(std::cmp::Ordering::is_gt),
            Le => order.is_some_and(std::cmp::Ordering::is_le),
            Lt => order.is_some_and(std::cmp::Ordering::is_lt),
        })
    }

    /// Converts the bits of an element to an integer, so that the integers have the order that
    /// XLA's total order gives the elements. The bits of a float are taken as a sign and a
    /// magnitude, so that NaNs are outside the infinities. Returns `None` if elements of the type
    /// are not folded.
    fn total(of: ElementType, bits: u128) -> Option<Self> {
        match Self::read(of, bits)? {
            Self::Float(_) => {
                let sign = 1 << (of.bits()? - 1);
                let magnitude = (bits & (sign - 1)).cast_signed();
                Some(Self::Integer(if bits & sign == 0 { magnitude } else { -1 - magnitude }))
            }
            other => Some(other),
        }
    }

    /// Computes a unary operation on a number of the type `of`. Returns `None` if the operation is
    /// not folded. The result is not yet rounded to the type; [`write`](Self::write) does that.
    fn unary(self, of: ElementType, unary: Unary) -> Option<Self> {
        let number = match self {
            Self::Integer(number) => number,
            Self::Float(number) => return float_unary(number, unary),
            Self::Complex(..) => return None,
        };
        let bits = of.bits()?;
        let unsigned = number.cast_unsigned() & u128::MAX >> (128 - bits);
        Some(Self::Integer(match unary {
            Unary::Abs => number.abs(),
            Unary::Negate => -number,
            Unary::Not if of == ElementType::Pred => (number == 0).into(),
            Unary::Not => !number,
            Unary::Sign => number.signum(),
            Unary::PopulationCount => unsigned.count_ones().into(),
            Unary::CountLeadingZeros => (unsigned.leading_zeros() + bits - 128).into(),
            _ => return None,
        }))
    }

    /// Computes a binary operation on two numbers of the type `of`. Returns `None` if the operation
    /// is not folded. The result is not yet rounded to the type; [`write`](Self::write) does that.
    ///
    /// Floats are computed as `f64`, so the result for a narrower type is rounded twice. The second
    /// rounding does not change a sum, a difference, a product or a quotient, because `f64` has
    /// more than twice the digits of the narrower types.
    pub(super) fn binary(self, other: Self, of: ElementType, binary: Binary) -> Option<Self> {
        let (a, b) = match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => (a, b),
            (Self::Float(a), Self::Float(b)) => return float_binary(a, b, binary),
            _ => return None,
        };
        if let Some(operator) = operator(binary) {
            return Some(Self::Integer(operator.of(a, b)));
        }
        let bits = of.bits()?;
        let mask = u128::MAX >> (128 - bits);
        // The shift distance is unsigned, so a negative number is a distance that exceeds the
        // width.
        let places = u32::try_from(b).ok().filter(|&places| places < bits);
        Some(Self::Integer(match binary {
            Binary::Xor => a ^ b,
            Binary::Power => power(a, b, mask),
            Binary::ShiftLeft => places.map_or(0, |places| a << places),
            // The highest bit counts as the sign even if the type is unsigned.
            Binary::ShiftRightArithmetic => {
                let unused = 128 - bits;
                (a << unused >> unused) >> places.unwrap_or(127)
            }
            Binary::ShiftRightLogical => {
                places.map_or(0, |places| (a.cast_unsigned() & mask) >> places).cast_signed()
            }
            _ => return None,
        }))
    }
}

fn float_unary(number: f64, unary: Unary) -> Option<Scalar> {
    Some(Scalar::Float(match unary {
        Unary::Abs => number.abs(),
        Unary::Negate => -number,
        // The sign of a zero or of a NaN is that number itself.
        Unary::Sign if number == 0.0 || number.is_nan() => number,
        Unary::Sign => number.signum(),
        Unary::Floor => number.floor(),
        Unary::Ceil => number.ceil(),
        Unary::RoundNearestAfz => number.round(),
        Unary::RoundNearestEven => number.round_ties_even(),
        Unary::Sqrt => number.sqrt(),
        Unary::IsFinite => return Some(Scalar::Integer(number.is_finite().into())),
        _ => return None,
    }))
}

fn float_binary(a: f64, b: f64, binary: Binary) -> Option<Scalar> {
    Some(Scalar::Float(match binary {
        Binary::Add => a + b,
        Binary::Subtract => a - b,
        Binary::Multiply => a * b,
        Binary::Divide => a / b,
        Binary::Remainder => a % b,
        // As in IEEE 754's minimum and maximum, a NaN operand is the result, and -0 is less than 0.
        Binary::Minimum | Binary::Maximum if a.is_nan() => a,
        Binary::Minimum | Binary::Maximum if b.is_nan() => b,
        Binary::Minimum => {
            if a.total_cmp(&b).is_le() {
                a
            } else {
                b
            }
        }
        Binary::Maximum => {
            if a.total_cmp(&b).is_ge() {
                a
            } else {
                b
            }
        }
        _ => return None,
    }))
}

/// Returns `base` to the power of `exponent`, modulo the number of values of its type. `mask` has
/// the bits of the type. A negative exponent gives 1 for the base 1, and 0 for every other base,
/// even for -1, as in `HandlePower` of XLA's `hlo_evaluator_typed_visitor.h`.
fn power(base: i128, exponent: i128, mask: u128) -> i128 {
    if exponent < 0 {
        return i128::from(base == 1);
    }
    let (mut result, mut square, mut rest) = (1_u128, base.cast_unsigned() & mask, exponent);
    while rest > 0 {
        if rest & 1 == 1 {
            result = result.wrapping_mul(square) & mask;
        }
        square = square.wrapping_mul(square) & mask;
        rest >>= 1;
    }
    result.cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let given = Scalar::read(from, bits).and_then(|number| number.write(to));
            assert_eq!(given, Some(expected), "{from} {bits:#x} to {to}");
        }
    }
}
