//! [`Lookup`]: an integer that is computed at run time from the contents of sources, and that
//! decides which elements are read.
//!
//! Copies have no arithmetic on elements. Indices are the exception: JAX adds to them, compares
//! them and clamps them before it gathers, and all of this is done here so that the gather remains
//! one kernel.

use std::fmt;

use smallvec::SmallVec;

use super::{Affine, Operand};

/// The maximum number of steps, each a [`Number`], in the computation of a lookup.
pub(crate) const MAX_NUMBERS: usize = 64;

/// An integer in `0..=last` that is computed at run time from the contents of sources: the start of
/// a dynamic slice, an index of a gather, or a predicate.
///
/// For example, JAX's `x[i]` on an array of 8 rows counts a negative `i` from the end, and clamps
/// the result:
///
/// ```text
/// l0: n3 clamped to 0..=7
///     n0: the s32 at 0 of source 1
///     n1: n0 < 0
///     n2: n0 + 8
///     n3: n2 if n1, else n0
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lookup {
    /// The steps of the computation. Each may use the results of earlier ones. The result of the
    /// last step becomes the value of the lookup after `out_of_range` is applied to it.
    pub(crate) numbers: Vec<Number>,
    /// The greatest value that the lookup can have.
    pub(crate) last: u64,
    /// The treatment of results outside `0..=last`.
    pub(crate) out_of_range: OutOfRange,
}

/// The treatment of results of a computation that are outside `0..=last`, the range of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum OutOfRange {
    /// Negative values become 0, and values greater than `last` become `last`.
    Clamp,
    /// All values outside become `last`, which is not a valid index. A guard of the nest compares
    /// the lookup with `last`, and so finds out if the index is out of range.
    Last,
}

/// One step of the computation of a lookup: an integer or a predicate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Number {
    /// The type of the result. A number that does not fit wraps around, as in XLA.
    pub(crate) integer: Integer,
    /// The expression that gives the result.
    pub(crate) of: LookupExpr,
}

/// The type of a [`Number`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Integer {
    /// The width in bits: 2, 4, 8, 16, 32 or 64, or 1 for a predicate, which occupies one byte in
    /// memory. Integers of 2 and 4 bits share bytes.
    pub(crate) bits: u32,
    /// True if the type is signed.
    pub(crate) is_signed: bool,
}

/// The expression of a [`Number`]. Operands are earlier numbers, by their index in
/// [`Lookup::numbers`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LookupExpr {
    /// An integer that is loaded from a source.
    Load {
        /// The index of the source in the nest's list of sources. No case reads this source.
        source: usize,
        /// The offset in the source, in integers of the loaded type.
        at: Affine,
    },
    /// An affine expression of the loop counters, such as the index along a dimension. It is never
    /// negative.
    Index(Affine),
    /// A constant.
    Constant(i128),
    /// An earlier number, converted to the type of this one. A predicate is true if the earlier
    /// number is not 0.
    Convert(usize),
    /// A choice between two numbers: if the first operand, a predicate, is true, the second
    /// operand, otherwise the third.
    Select(usize, usize, usize),
    /// An operation on two numbers of one type.
    Binary(Operator, usize, usize),
}

/// An operation on two integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operator {
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// The sum.
    Add,
    /// The difference.
    Subtract,
    /// The product.
    Multiply,
    /// The quotient, truncated toward zero; -1 if the divisor is 0.
    Divide,
    /// The remainder, with the sign of the dividend; the dividend itself if the divisor is 0.
    Remainder,
    /// The smaller of the two.
    Minimum,
    /// The larger of the two.
    Maximum,
    /// True if both are equal.
    Equal,
    /// True if they differ.
    NotEqual,
    /// True if the first is greater than or equal to the second.
    GreaterEqual,
    /// True if the first is greater than the second.
    Greater,
    /// True if the first is less than or equal to the second.
    LessEqual,
    /// True if the first is less than the second.
    Less,
}

impl Operator {
    /// Applies the operator to `a` and `b`. The caller then wraps the result around to the type of
    /// the number.
    pub(crate) fn of(self, a: i128, b: i128) -> i128 {
        match self {
            Self::And => a & b,
            Self::Or => a | b,
            Self::Add => a.wrapping_add(b),
            Self::Subtract => a.wrapping_sub(b),
            Self::Multiply => a.wrapping_mul(b),
            Self::Divide => a.checked_div(b).unwrap_or(-1),
            Self::Remainder => a.checked_rem(b).unwrap_or(a),
            Self::Minimum => a.min(b),
            Self::Maximum => a.max(b),
            Self::Equal => (a == b).into(),
            Self::NotEqual => (a != b).into(),
            Self::GreaterEqual => (a >= b).into(),
            Self::Greater => (a > b).into(),
            Self::LessEqual => (a <= b).into(),
            Self::Less => (a < b).into(),
        }
    }

    /// Returns the symbol of the operator, or the name of the function if there is no symbol, for
    /// printed nests and for WGSL with integers of up to 32 bits.
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Self::And => "&",
            Self::Or => "|",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
            Self::Minimum => "min",
            Self::Maximum => "max",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::GreaterEqual => ">=",
            Self::Greater => ">",
            Self::LessEqual => "<=",
            Self::Less => "<",
        }
    }
}

impl Integer {
    /// The type of predicates.
    pub(crate) const PRED: Self = Self { bits: 1, is_signed: false };

    /// Returns the width of an integer of this type in memory, in bits. A predicate takes 8 bits.
    pub(crate) fn bits_in_memory(self) -> u32 {
        if self == Self::PRED { 8 } else { self.bits }
    }

    /// Wraps an integer around to this type. For a predicate, any integer except 0 becomes 1.
    pub(crate) fn wrap(self, number: i128) -> i128 {
        let unused = 128 - self.bits;
        match self.is_signed {
            true => number << unused >> unused,
            false if self.bits == 1 => (number != 0).into(),
            false => (number.cast_unsigned() << unused >> unused).cast_signed(),
        }
    }

    /// Loads an integer from `image`, the bytes of a source. `at` is its offset, in integers of
    /// this type. If `image` is empty, the contents are unknown and every integer counts as 0.
    fn load(self, image: &[u8], at: i64) -> i128 {
        if image.is_empty() {
            return 0;
        }
        let (word, shift) = self.word(image, at).expect("a lookup reads its source");
        let word = word.iter().rev().fold(0, |number, &byte| number << 8 | i128::from(byte));
        self.wrap(word >> shift)
    }

    /// Returns the bytes with the integer at the offset `at`, and the number of the bit at which
    /// the integer starts, or `None` if the offset is not inside the source.
    fn word(self, image: &[u8], at: i64) -> Option<(&[u8], u128)> {
        let bits = u128::from(self.bits_in_memory());
        let first = u128::try_from(at).ok()? * bits;
        let [start, end] =
            [first, first + bits.max(8)].map(|bit| usize::try_from(bit / 8).unwrap_or(usize::MAX));
        Some((image.get(start..end)?, first % 8))
    }
}

impl Lookup {
    /// Returns all affine expressions in the computation: the offsets of loads, and indices.
    pub(crate) fn forms(&self) -> impl Iterator<Item = &Affine> {
        self.numbers.iter().filter_map(|number| match &number.of {
            LookupExpr::Load { at: form, .. } | LookupExpr::Index(form) => Some(form),
            _ => None,
        })
    }

    pub(super) fn forms_mut(&mut self) -> impl Iterator<Item = &mut Affine> {
        self.numbers.iter_mut().filter_map(|number| match &mut number.of {
            LookupExpr::Load { at: form, .. } | LookupExpr::Index(form) => Some(form),
            _ => None,
        })
    }

    /// Returns true if every value of the last number's type is in `0..=last`.
    pub(crate) fn is_always_in_range(&self) -> bool {
        self.numbers.last().is_some_and(|number| {
            let Integer { bits, is_signed } = number.integer;
            !is_signed && bits < 64 && (1 << bits) - 1 <= self.last
        })
    }

    /// Returns true if the lookup has the same value in all iterations of the loops.
    pub(crate) fn is_constant(&self) -> bool {
        self.forms().all(|form| form.as_constant().is_some())
    }

    /// Returns the sources from which this lookup loads, each with the width of the loaded
    /// integers, in bits.
    pub(crate) fn loads(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        self.numbers.iter().filter_map(|number| match number.of {
            LookupExpr::Load { source, .. } => Some((source, number.integer.bits_in_memory())),
            _ => None,
        })
    }

    /// Returns true if every load lies inside its source. A load outside of it belongs to cases
    /// whose guards do not hold.
    pub(super) fn loads_inside(&self, images: &[&[u8]], of_form: impl Fn(&Affine) -> i64) -> bool {
        self.numbers.iter().all(|number| match &number.of {
            LookupExpr::Load { source, at } => {
                let image = images[*source];
                image.is_empty() || number.integer.word(image, of_form(at)).is_some()
            }
            _ => true,
        })
    }

    /// Returns the only integer that the lookup loads, called its *code*, if the value depends on
    /// nothing else and the code has at most 8 bits. The result has the type of the integer, the
    /// source, and the offset in the source.
    pub(super) fn code(&self) -> Option<(Integer, usize, &Affine)> {
        let mut loads = self.numbers.iter().filter_map(|number| match &number.of {
            LookupExpr::Load { source, at } => Some((number.integer, *source, at)),
            _ => None,
        });
        let code = loads.next().filter(|_| loads.next().is_none())?;
        let is_alone = !self.numbers.iter().any(|it| matches!(it.of, LookupExpr::Index(_)));
        (is_alone && code.0.bits_in_memory() <= 8).then_some(code)
    }

    /// Returns the value of the lookup for each [`code`](Self::code). The nest has `sources`
    /// sources.
    pub(super) fn of_codes(&self, sources: usize) -> [u64; 256] {
        std::array::from_fn(|code| {
            let image = [code.to_le_bytes()[0]];
            self.value(&vec![&image[..]; sources], |_| 0)
        })
    }

    /// Returns the value of the lookup. `images` holds the bytes of each source of the nest, and
    /// `of_form` evaluates an expression. If a source has no bytes there, its integers count as 0.
    ///
    /// # Panics
    ///
    /// Panics if the lookup loads past the end of a source that has bytes.
    pub(crate) fn value(&self, images: &[&[u8]], of_form: impl Fn(&Affine) -> i64) -> u64 {
        let mut values: SmallVec<[i128; 8]> = SmallVec::new();
        for Number { integer, of } in &self.numbers {
            values.push(integer.wrap(match of {
                LookupExpr::Load { source, at } => integer.load(images[*source], of_form(at)),
                LookupExpr::Index(form) => of_form(form).into(),
                LookupExpr::Constant(number) => *number,
                LookupExpr::Convert(number) => values[*number],
                LookupExpr::Select(holds, a, b) => {
                    values[if values[*holds] == 0 { *b } else { *a }]
                }
                LookupExpr::Binary(operator, a, b) => operator.of(values[*a], values[*b]),
            }));
        }
        let value = values.last().copied().unwrap_or(0);
        match (u64::try_from(value), self.out_of_range) {
            (Ok(value), _) => value.min(self.last),
            (Err(_), OutOfRange::Clamp) => 0,
            (Err(_), OutOfRange::Last) => self.last,
        }
    }
}

impl fmt::Display for Integer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.bits, self.is_signed) {
            (1, _) => f.write_str("pred"),
            (bits, true) => write!(f, "s{bits}"),
            (bits, false) => write!(f, "u{bits}"),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let integer = self.integer;
        match &self.of {
            LookupExpr::Load { source, at } => {
                write!(f, "the {integer} at {at} of {}", Operand::numbered(*source))
            }
            LookupExpr::Index(form) => write!(f, "{form} as {integer}"),
            LookupExpr::Constant(number) => write!(f, "{number}"),
            LookupExpr::Convert(number) => write!(f, "n{number} as {integer}"),
            LookupExpr::Select(holds, a, b) => write!(f, "n{a} if n{holds}, else n{b}"),
            LookupExpr::Binary(operator @ (Operator::Minimum | Operator::Maximum), a, b) => {
                write!(f, "{}(n{a}, n{b})", operator.symbol())
            }
            LookupExpr::Binary(operator, a, b) => write!(f, "n{a} {} n{b}", operator.symbol()),
        }
    }
}

/// Writes a lookup with one step on one line. A lookup with several steps has a line for each of
/// them.
impl fmt::Display for Lookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { numbers, last, out_of_range } = self;
        match &numbers[..] {
            [one] => write!(f, "{one}")?,
            _ => write!(f, "n{}", numbers.len() - 1)?,
        }
        match out_of_range {
            _ if self.is_always_in_range() => {}
            OutOfRange::Clamp => write!(f, ", clamped to 0..={last}")?,
            OutOfRange::Last => write!(f, ", {last} where it is not below that")?,
        }
        for (place, number) in numbers.iter().enumerate().filter(|_| numbers.len() > 1) {
            write!(f, "\n    n{place}: {number}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S32: Integer = Integer { bits: 32, is_signed: true };

    /// Checks the normalisation of an index into 8 rows, as JAX computes it.
    #[test]
    fn negative_indices_count_from_the_end() {
        let number = |integer, of| Number { integer, of };
        let lookup = Lookup {
            numbers: vec![
                number(S32, LookupExpr::Load { source: 0, at: Affine::constant(1) }),
                number(S32, LookupExpr::Constant(0)),
                number(Integer::PRED, LookupExpr::Binary(Operator::Less, 0, 1)),
                number(S32, LookupExpr::Constant(8)),
                number(S32, LookupExpr::Binary(Operator::Add, 0, 3)),
                number(S32, LookupExpr::Select(2, 4, 0)),
            ],
            last: 7,
            out_of_range: OutOfRange::Clamp,
        };
        for (given, expected) in
            [(3, 3), (-1, 7), (-8, 0), (-9, 0), (8, 7), (i32::MAX, 7), (i32::MIN, 0)]
        {
            let image = [[9; 4], i32::to_le_bytes(given)].concat();
            let form = |form: &Affine| form.as_constant().unwrap();
            assert_eq!(lookup.value(&[&image], form), expected, "{given}");
            let outside = Lookup { out_of_range: OutOfRange::Last, last: 8, ..lookup.clone() };
            let expected = if (-8..8).contains(&given) { expected } else { 8 };
            assert_eq!(outside.value(&[&image], form), expected, "{given}");
        }
    }

    #[test]
    fn numbers_wrap_around() {
        let u8 = Integer { bits: 8, is_signed: false };
        let s8 = Integer { bits: 8, is_signed: true };
        for (integer, number, expected) in [
            (u8, -1, 255),
            (u8, 256, 0),
            (s8, 128, -128),
            (s8, -129, 127),
            (Integer::PRED, 2, 1),
            (Integer { bits: 64, is_signed: false }, -1, i128::from(u64::MAX)),
        ] {
            assert_eq!(integer.wrap(number), expected, "{number} as {integer}");
        }
        assert_eq!(Operator::Remainder.of(-7, 3), -1);
        assert_eq!(Operator::Remainder.of(7, 0), 7);
        assert_eq!(Operator::Divide.of(-7, 2), -3);
        assert_eq!(Operator::Divide.of(7, 0), -1);
    }
}
