//! WGSL's operators on words. An operator whose result is not the mathematical one is a fault.

use naga::{BinaryOperator, MathFunction, UnaryOperator};

use super::value::{Fault, Kind, Scalar};

pub(crate) fn unary(op: UnaryOperator, of: Scalar) -> Result<Scalar, Fault> {
    match op {
        UnaryOperator::LogicalNot => Ok(Scalar::bool(!of.truth())),
        UnaryOperator::BitwiseNot => Ok(Scalar::uint(!of.natural("a complement")?)),
        UnaryOperator::Negate => panic!("no kernel negates: {of:?}"),
    }
}

/// Applies an operator to two scalars. If `wraps` is true, the numbers are those of a program, and
/// `i32` wraps around.
pub(crate) fn binary(
    op: BinaryOperator,
    left: Scalar,
    right: Scalar,
    wraps: bool,
) -> Result<Scalar, Fault> {
    use BinaryOperator as Op;
    match (left.kind, op) {
        (Kind::Sint, Op::Add | Op::Subtract | Op::Multiply) => wrapping(op, left, right),
        (Kind::Uint, Op::Add | Op::Subtract | Op::Multiply) if wraps => wrapping(op, left, right),
        (Kind::Sint, _) if !matches!(op, Op::ShiftLeft | Op::ShiftRight) => signed(op, left, right),
        (Kind::Bool, Op::Equal) => Ok(Scalar::bool(left.truth() == right.truth())),
        (Kind::Bool, Op::NotEqual) => Ok(Scalar::bool(left.truth() != right.truth())),
        (Kind::Bool, Op::LogicalAnd | Op::And) => Ok(Scalar::bool(left.truth() & right.truth())),
        (Kind::Bool, Op::LogicalOr | Op::InclusiveOr) => {
            Ok(Scalar::bool(left.truth() | right.truth()))
        }
        (Kind::Uint | Kind::Sint, Op::ShiftLeft | Op::ShiftRight) => shift(op, left, right),
        (Kind::Uint, Op::Subtract) => subtract(left, right),
        (
            Kind::Uint,
            Op::Equal | Op::NotEqual | Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual,
        ) => compare(op, left, right),
        (Kind::Uint, _) => {
            let name = format!("{op:?}");
            let (a, b) = (left.natural(&name)?, right.natural(&name)?);
            let result = match op {
                Op::Add => a.checked_add(b),
                Op::Multiply => a.checked_mul(b),
                Op::Divide => a.checked_div(b),
                Op::Modulo => a.checked_rem(b),
                Op::And => Some(a & b),
                Op::InclusiveOr => Some(a | b),
                Op::ExclusiveOr => Some(a ^ b),
                _ => panic!("no kernel has {op:?} of u32"),
            };
            result.map(Scalar::uint).ok_or_else(|| format!("{op:?} of {a} and {b} leaves u32"))
        }
        _ => panic!("no kernel has {op:?} of {left:?} and {right:?}"),
    }
}

fn wrapping(op: BinaryOperator, left: Scalar, right: Scalar) -> Result<Scalar, Fault> {
    assert_eq!(left.kind, right.kind);
    if left.below_zero || right.below_zero {
        return Err(format!("{op:?} of a number that dropped below 0"));
    }
    let bits = match op {
        BinaryOperator::Add => left.bits.wrapping_add(right.bits),
        BinaryOperator::Subtract => left.bits.wrapping_sub(right.bits),
        _ => left.bits.wrapping_mul(right.bits),
    };
    Ok(Scalar::of(left.kind, bits))
}

fn signed(op: BinaryOperator, left: Scalar, right: Scalar) -> Result<Scalar, Fault> {
    use BinaryOperator as Op;
    assert_eq!(right.kind, Kind::Sint);
    let (a, b) = (left.bits.cast_signed(), right.bits.cast_signed());
    let number = |number: i32| Ok(Scalar::of(Kind::Sint, number.cast_unsigned()));
    match op {
        Op::Modulo => match a.checked_rem(b) {
            Some(rest) => number(rest),
            None => Err(format!("the rest of {a} by {b}")),
        },
        Op::And => number(a & b),
        Op::InclusiveOr => number(a | b),
        Op::Equal => Ok(Scalar::bool(a == b)),
        Op::NotEqual => Ok(Scalar::bool(a != b)),
        Op::Less => Ok(Scalar::bool(a < b)),
        Op::LessEqual => Ok(Scalar::bool(a <= b)),
        Op::Greater => Ok(Scalar::bool(a > b)),
        Op::GreaterEqual => Ok(Scalar::bool(a >= b)),
        _ => panic!("no kernel has {op:?} of i32"),
    }
}

/// Bits that are shifted out are dropped: this is how elements leave their words.
fn shift(op: BinaryOperator, left: Scalar, right: Scalar) -> Result<Scalar, Fault> {
    let by = right.natural("a shift")?;
    if by >= 32 {
        return Err(format!("a shift by {by} bits"));
    }
    let bits = match (left.kind, op) {
        (Kind::Sint, BinaryOperator::ShiftRight) => (left.bits.cast_signed() >> by).cast_unsigned(),
        (Kind::Uint, _) if left.below_zero => left.natural("a shift")?,
        (_, BinaryOperator::ShiftLeft) => left.bits << by,
        _ => left.bits >> by,
    };
    Ok(Scalar::of(left.kind, bits))
}

fn subtract(left: Scalar, right: Scalar) -> Result<Scalar, Fault> {
    let right = right.natural("taking away")?;
    let (bits, borrowed) = left.bits.overflowing_sub(right);
    if borrowed && left.below_zero {
        return Err("a number drops below -2^32".to_owned());
    }
    Ok(Scalar { kind: Kind::Uint, bits, below_zero: borrowed || left.below_zero })
}

/// A guard tells a negative number from every index only if it treats the number as one past the
/// extent.
fn compare(op: BinaryOperator, left: Scalar, right: Scalar) -> Result<Scalar, Fault> {
    use BinaryOperator as Op;
    let (a, b) = (left.bits, right.natural("a comparison with")?);
    let by_extent = matches!(op, Op::GreaterEqual | Op::Less) && a >= b;
    if left.below_zero && !(by_extent || matches!(op, Op::NotEqual | Op::Equal)) {
        return Err(format!("{op:?} takes a number below 0 for an index below {b}"));
    }
    Ok(Scalar::bool(match op {
        Op::Equal => a == b,
        Op::NotEqual => a != b,
        Op::Less => a < b,
        Op::LessEqual => a <= b,
        Op::Greater => a > b,
        Op::GreaterEqual => a >= b,
        _ => panic!("{op:?} compares nothing"),
    }))
}

pub(crate) fn math(fun: MathFunction, args: &[Scalar]) -> Result<Scalar, Fault> {
    if args[0].kind == Kind::Sint {
        let numbers: Vec<i32> = args.iter().map(|arg| arg.bits.cast_signed()).collect();
        let number = match (fun, &numbers[..]) {
            (MathFunction::Min, &[a, b]) => a.min(b),
            (MathFunction::Max, &[a, b]) => a.max(b),
            (MathFunction::Clamp, &[of, low, high]) => of.clamp(low, high),
            _ => panic!("no kernel calls {fun:?} of i32"),
        };
        return Ok(Scalar::of(Kind::Sint, number.cast_unsigned()));
    }
    let name = format!("{fun:?}");
    let numbers: Result<Vec<u32>, Fault> = args.iter().map(|arg| arg.natural(&name)).collect();
    match (fun, &numbers?[..]) {
        (MathFunction::Min, &[a, b]) => Ok(Scalar::uint(a.min(b))),
        (MathFunction::Max, &[a, b]) => Ok(Scalar::uint(a.max(b))),
        (MathFunction::InsertBits, &[into, bits, from, count]) => {
            if from + count > 32 {
                return Err(format!("{count} bits are inserted from bit {from} on"));
            }
            let mask = u32::MAX.checked_shr(32 - count).unwrap_or(0).checked_shl(from).unwrap_or(0);
            Ok(Scalar::uint(into & !mask | bits.checked_shl(from).unwrap_or(0) & mask))
        }
        _ => panic!("no kernel calls {fun:?}"),
    }
}
