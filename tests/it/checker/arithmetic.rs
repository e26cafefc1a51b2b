//! The operators of WGSL on words. Sums, differences and products of `u32` wrap around. For any
//! other operator, a result that differs from the mathematical result is a fault.

use naga::{BinaryOperator, MathFunction, UnaryOperator};

use super::value::{Fault, Kind, Scalar};

pub(crate) fn unary(op: UnaryOperator, of: Scalar) -> Result<Scalar, Fault> {
    match op {
        UnaryOperator::LogicalNot => Ok(Scalar::bool(!of.truth())),
        UnaryOperator::BitwiseNot => Ok(Scalar::uint(!of.natural("a complement")?)),
        UnaryOperator::Negate => panic!("no kernel negates: {of:?}"),
    }
}

/// Applies an operator to two scalars. If `wraps` is true, the scalars are numbers of a lookup, and
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
        (Kind::Uint, Op::Add | Op::Subtract | Op::Multiply) => exact(op, left, right),
        (
            Kind::Uint,
            Op::Equal | Op::NotEqual | Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual,
        ) => compare(op, left, right),
        (Kind::Uint, _) => {
            let name = format!("{op:?}");
            let (a, b) = (left.natural(&name)?, right.natural(&name)?);
            let result = match op {
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
    if left.is_wrapped() || right.is_wrapped() {
        return Err(format!("{op:?} of a number that leaves u32"));
    }
    let bits = wrapped(op, left.bits, right.bits);
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

/// Bits that are shifted out are dropped, because kernels take elements out of words in this way.
fn shift(op: BinaryOperator, left: Scalar, right: Scalar) -> Result<Scalar, Fault> {
    let by = right.natural("a shift")?;
    if by >= 32 {
        return Err(format!("a shift by {by} bits"));
    }
    let bits = match (left.kind, op) {
        (Kind::Sint, BinaryOperator::ShiftRight) => (left.bits.cast_signed() >> by).cast_unsigned(),
        (Kind::Uint, _) if left.is_wrapped() => left.natural("a shift")?,
        (_, BinaryOperator::ShiftLeft) => left.bits << by,
        _ => left.bits >> by,
    };
    Ok(Scalar::of(left.kind, bits))
}

/// Returns the mathematical result, and the bits to which `u32` wraps it.
fn exact(op: BinaryOperator, left: Scalar, right: Scalar) -> Result<Scalar, Fault> {
    let bits = wrapped(op, left.bits, right.bits);
    let number = match op {
        BinaryOperator::Add => left.number.checked_add(right.number),
        BinaryOperator::Subtract => left.number.checked_sub(right.number),
        _ => left.number.checked_mul(right.number),
    };
    let number = number.ok_or_else(|| format!("{op:?} leaves 128 bits"))?;
    Ok(Scalar { kind: Kind::Uint, bits, number })
}

fn wrapped(op: BinaryOperator, left: u32, right: u32) -> u32 {
    match op {
        BinaryOperator::Add => left.wrapping_add(right),
        BinaryOperator::Subtract => left.wrapping_sub(right),
        _ => left.wrapping_mul(right),
    }
}

/// A guard has to exclude a negative number. It does so only if the wrapped number is at least the
/// extent.
fn compare(op: BinaryOperator, left: Scalar, right: Scalar) -> Result<Scalar, Fault> {
    use BinaryOperator as Op;
    let (a, b) = (left.bits, right.natural("a comparison with")?);
    let by_extent = matches!(op, Op::GreaterEqual | Op::Less) && a >= b;
    if left.number > u32::MAX.into() || left.number < -i128::from(u32::MAX) {
        return Err(format!("{op:?} of {}, which leaves u32", left.number));
    }
    if left.is_wrapped() && !(by_extent || matches!(op, Op::NotEqual | Op::Equal)) {
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

/// Converts a scalar to another type. Only integers that an `f32` represents exactly become floats,
/// because devices may round others differently.
pub(crate) fn convert(of: Scalar, kind: Kind) -> Result<Scalar, Fault> {
    match (of.kind, kind) {
        (Kind::Bool, Kind::Uint) => Ok(Scalar::uint(of.bits)),
        (Kind::Uint | Kind::Sint, Kind::Float) => {
            let number = match of.kind {
                Kind::Uint => i64::from(of.bits),
                _ => i64::from(of.bits.cast_signed()),
            };
            if number.unsigned_abs() > 1 << 24 {
                return Err(format!("{number} becomes an f32, which may not have it"));
            }
            #[expect(clippy::cast_precision_loss, reason = "exact: it was compared")]
            let float = number as f32;
            Ok(Scalar::of(Kind::Float, float.to_bits()))
        }
        _ => panic!("no kernel converts {of:?} to {kind:?}"),
    }
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
        (MathFunction::FirstLeadingBit, &[of]) => {
            Ok(Scalar::uint(of.checked_ilog2().unwrap_or(u32::MAX)))
        }
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

/// A number may leave the range of `u32` and return to it. While it is outside, it must not be
/// divided or compared.
#[test]
fn numbers_may_leave_and_come_back() {
    use BinaryOperator as Op;
    let uint = |op, left, right| binary(op, left, right, false);
    let [large, two] = [3 << 30, 2].map(Scalar::uint);
    let twice = uint(Op::Multiply, large, two).unwrap();
    assert!(twice.is_wrapped());
    assert_eq!(uint(Op::Subtract, twice, large), Ok(large));
    for op in [Op::Divide, Op::Modulo, Op::Less, Op::GreaterEqual, Op::And] {
        assert!(uint(op, twice, two).is_err(), "{op:?}");
    }
    let below = uint(Op::Subtract, two, large).unwrap();
    assert_eq!(uint(Op::GreaterEqual, below, two), Ok(Scalar::bool(true)));
    assert!(uint(Op::Divide, below, two).is_err());
    assert_eq!(uint(Op::Add, below, large), Ok(two));
}
