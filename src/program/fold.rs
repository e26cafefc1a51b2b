//! Constant folding: computes the value of an instruction whose operands are known at compile time.

use super::{
    literal::{element, elements, extents, is_integer, storage_bits},
    numbers::operator,
};
use crate::{
    hlo::{Binary, ComparisonDirection, Instruction, Literal, Opcode, Unary},
    shape::ElementType,
};

/// The maximum number of elements of a constant that is computed at compile time. More elements
/// would make compilation slower and the compiled program larger; a lower limit would refuse
/// modules that compute large constants.
pub(super) const MAX_ELEMENTS: u64 = 1 << 20;

/// Returns the value of an instruction with these constant operands, or `None` if the instruction
/// cannot be folded.
pub(super) fn fold(instruction: &Instruction, operands: &[Literal]) -> Option<Literal> {
    let shape = instruction.shape();
    let (to, sizes) = (shape.element_type(), extents(shape)?);
    let count = elements(&sizes);
    if count > MAX_ELEMENTS {
        return None;
    }
    let mut bytes = Vec::new();
    for place in 0..count {
        let operand = |number: usize| -> Option<Scalar> {
            let literal = operands.get(number)?;
            // The bounds of clamp and the predicate of select may be scalars beside arrays.
            let place = if literal.shape().rank() == 0 { 0 } else { place };
            Scalar::read(literal.shape().element_type(), element(literal, place))
        };
        let bits = match instruction.opcode() {
            Opcode::Iota { dimension } => {
                let inner: u64 = sizes[dimension + 1..].iter().product();
                Scalar::Integer((place / inner % sizes[*dimension]).into()).write(to)?
            }
            Opcode::Convert => operand(0)?.write(to)?,
            Opcode::Compare { direction, total_order: false } => {
                u128::from(operand(0)?.compare(operand(1)?, *direction)?)
            }
            // Select copies the bits of the chosen element unchanged.
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
pub(super) enum Scalar {
    /// An integer. A `pred` is 0 or 1.
    Integer(i128),
    /// A float of at most 64 bits.
    Float(f64),
    /// A complex number: its real part and its imaginary part.
    Complex(f64, f64),
}

impl Scalar {
    /// Converts the bits of an element to a value. Returns `None` if constants of this type are not
    /// folded.
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

    /// Converts the value to the bits of another type. Integers wrap around. Floats are rounded to
    /// the nearest float, or truncated and clamped if the type is an integer. A real number becomes
    /// the real part of a complex number. A complex number converts only to complex types.
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
            return Some(u128::from(!self.is_zero()));
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
            // XLA converts integers to floats narrower than 32 bits through f32. It converts f64 to
            // bf16 in the same way.
            (_, Self::Integer(_)) | (Bf16, _) => small(to, single.into())?,
            _ => small(to, double)?,
        })
    }

    fn is_zero(self) -> bool {
        match self {
            Self::Integer(integer) => integer == 0,
            Self::Float(float) => float == 0.0,
            Self::Complex(real, imaginary) => real == 0.0 && imaginary == 0.0,
        }
    }

    fn compare(self, other: Self, direction: ComparisonDirection) -> Option<bool> {
        use ComparisonDirection::{Eq, Ge, Gt, Le, Lt, Ne};
        let order = match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => Some(a.cmp(&b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(&b),
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

    fn least(self, other: Self) -> Option<Self> {
        self.binary(other, Binary::Minimum)
    }

    fn most(self, other: Self) -> Option<Self> {
        self.binary(other, Binary::Maximum)
    }

    /// Applies an operation to an integer of this type. Returns `None` for floats.
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

    /// Applies an operation to two integers. Returns `None` for floats, because their results
    /// depend on their width.
    pub(super) fn binary(self, other: Self, binary: Binary) -> Option<Self> {
        let (Self::Integer(a), Self::Integer(b)) = (self, other) else { return None };
        Some(Self::Integer(operator(binary).of(a, b)))
    }
}

/// Converts a value to the bits of a float of at most 16 bits. In types without NaN, NaN becomes
/// negative zero.
fn small(to: ElementType, value: f64) -> Option<u128> {
    use ElementType::{F4e2m1fn, F6e2m3fn, F6e3m2fn};
    match to {
        F4e2m1fn | F6e2m3fn | F6e3m2fn if value.is_nan() => Some(1 << (to.bits()? - 1)),
        _ => to.float_bits(value),
    }
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
