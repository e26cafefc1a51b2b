//! Expressions in an affine map. An expression is parsed as a sum of terms, such as `8 * (d0 mod
//! 16)`. The greatest value of each term is kept as well, because it determines the extents that
//! MLIR assigns to the results.
//!
//! ```text
//! sum     = product (("+" | "-") product)*
//! product = factor (("*" | "floordiv" | "mod" | "ceildiv") factor)*
//! factor  = number | "-" factor | "d0" | "(" sum ")"
//! ```

use smallvec::{SmallVec, smallvec};

use crate::{
    notation::cursor::{Cursor, Result},
    shape::ParseError,
    stride::{Digit, digits_of_terms},
};

/// The maximum nesting depth of parentheses.
const MAX_NESTED: usize = 32;

/// The maximum number of terms of a sum.
const MAX_TERMS: usize = 256;

/// A term of a sum: the index along one dimension, divided, reduced and multiplied as `weight ·
/// (⌊index / by⌋ mod modulus)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Term {
    pub(super) dimension: usize,
    by: u64,
    /// The modulus, or `None` if the term is a quotient without `mod`.
    modulus: Option<u64>,
    /// The greatest value that the last `mod` allows, and the product of all divisors after that
    /// `mod`. `None` if the term has no `mod`.
    bound: Option<(u64, u64)>,
    /// True if the last operation is a `mod`.
    is_remainder: bool,
    weight: i64,
}

impl Term {
    /// Returns the term, multiplied by `scale`, as a sum of quotients without `mod`. A pair `(by,
    /// weight)` means `weight · ⌊index / by⌋`. Returns `None` on overflow.
    pub(super) fn quotients(self, scale: i64) -> Option<SmallVec<[(u64, i64); 2]>> {
        let weight = self.weight.checked_mul(scale)?;
        let mut quotients = smallvec![(self.by, weight)];
        if let Some(modulus) = self.modulus {
            // ⌊d / by⌋ mod m is ⌊d / by⌋ - m · ⌊d / (by · m)⌋.
            let carry = i64::try_from(modulus).ok()?.checked_mul(weight)?.checked_neg()?;
            quotients.push((self.by.checked_mul(modulus)?, carry));
        }
        Some(quotients)
    }
}

/// A sum of terms plus a constant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) terms: Vec<Term>,
    pub(super) constant: i64,
}

/// The greatest value of a result of the map, computed in three ways that can differ. Each result
/// is an index along a dimension of memory, and the extent of that dimension is the greatest value
/// plus 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GreatestValues {
    /// The greatest value by MLIR's rule, which assumes that `d mod k` takes all values below `k`,
    /// even if `d` is always smaller.
    pub(super) by_rule: i64,
    /// The greatest value that the result actually takes.
    pub(super) taken: i64,
    /// The greatest value in rational arithmetic, in which quotients are not rounded.
    pub(super) unrounded: i64,
}

impl Sum {
    pub(super) fn has_negative_weight(&self) -> bool {
        self.terms.iter().any(|term| term.weight < 0)
    }

    /// Returns the dimension of the sum's only term, if that term has weight 1. Returns `None` for
    /// any other sum. The constant of the sum is ignored.
    pub(super) fn part_of(&self) -> Option<usize> {
        match self.terms[..] {
            [Term { dimension, weight: 1, .. }] => Some(dimension),
            _ => None,
        }
    }

    /// Returns the dimension of the sum's only term, if that term has weight 1 and its last
    /// operation is a `mod`. Returns `None` for any other sum. The constant of the sum is ignored.
    pub(super) fn remainder_of(&self) -> Option<usize> {
        self.part_of().filter(|_| self.terms[0].is_remainder)
    }

    /// Returns the greatest value of the sum over all indices of an array of extents `sizes`, or
    /// `None` on overflow.
    pub(super) fn greatest(&self, sizes: &[u64]) -> Option<GreatestValues> {
        let [mut by_rule, mut taken, mut unrounded] = [self.constant; 3];
        for &term in &self.terms {
            let whole = (sizes[term.dimension].max(1) - 1, term.by);
            let (last, by) = term.bound.unwrap_or(whole);
            let weight = term.weight.max(0).unsigned_abs();
            let rounded = i64::try_from((last / by).checked_mul(weight)?).ok()?;
            by_rule = by_rule.checked_add(rounded)?;
            let product = u128::from(last) * u128::from(weight);
            let by = u128::from(by);
            let alone = self.terms.len() == 1;
            let quotient = if alone { product / by } else { product.div_ceil(by) };
            unrounded = unrounded.checked_add(i64::try_from(quotient).ok()?)?;
        }
        for (dimension, &size) in sizes.iter().enumerate() {
            let mut quotients = Vec::new();
            for term in self.terms.iter().filter(|term| term.dimension == dimension) {
                quotients.extend(term.quotients(1)?);
            }
            // A sum that cannot be written with digits is rejected later.
            let digits = digits_of_terms(&quotients, size).unwrap_or_default();
            taken = taken.checked_add(greatest_of_digits(&digits, size.max(1) - 1)?)?;
        }
        Some(GreatestValues { by_rule, taken, unrounded })
    }
}

/// Returns the maximum of `Σ stride · digit` over all numbers from 0 to `last`. `digits` describes
/// the digits of such a number, the least significant first. Negative strides count as 0. Returns
/// `None` on overflow.
fn greatest_of_digits(digits: &[Digit], last: u64) -> Option<i64> {
    // The maximum sum over the digits so far: `any` allows all values of these digits, and
    // `up_to_last` only numbers up to the same digits of `last`.
    let (mut any, mut up_to_last, mut rest) = (0_i64, 0_i64, last);
    for &Digit { extent, stride } in digits {
        let times = |value: u64| i64::try_from(value).ok()?.checked_mul(stride.max(0));
        let value = rest % extent;
        rest /= extent;
        let with_value = times(value)?.checked_add(up_to_last)?;
        up_to_last = match value.checked_sub(1) {
            Some(lower) => with_value.max(times(lower)?.checked_add(any)?),
            None => with_value,
        };
        any = times(extent - 1)?.checked_add(any)?;
    }
    Some(up_to_last)
}

/// Parses a sum whose terms are parts of the dimensions below `rank`.
pub(super) fn sum(cursor: &mut Cursor<'_>, rank: usize, depth: usize) -> Result<Sum> {
    if depth > MAX_NESTED {
        let reason =
            format!("expected at most {MAX_NESTED} parentheses inside one another, got more");
        return Err(ParseError::new(cursor.place(), reason));
    }
    let mut total = product(cursor, rank, depth)?;
    loop {
        cursor.skip_blanks();
        let place = cursor.place();
        let is_minus = cursor.rest().starts_with('-') && !cursor.rest().starts_with("->");
        if !is_minus && !cursor.rest().starts_with('+') {
            return Ok(total);
        }
        cursor.skip();
        let next = product(cursor, rank, depth)?;
        let next = if is_minus { scaled(next, -1) } else { Some(next) };
        let sum = next.and_then(|next| {
            total.constant = total.constant.checked_add(next.constant)?;
            total.terms.extend(next.terms);
            Some(())
        });
        if sum.is_none() || total.terms.len() > MAX_TERMS {
            let reason = format!("expected a sum of at most {MAX_TERMS} terms that an int64 holds");
            return Err(ParseError::new(place, reason));
        }
    }
}

fn product(cursor: &mut Cursor<'_>, rank: usize, depth: usize) -> Result<Sum> {
    let mut value = factor(cursor, rank, depth)?;
    loop {
        cursor.skip_blanks();
        let start = cursor.position();
        let mut ahead = cursor.clone();
        let operator =
            if ahead.eat("*") { "*" } else { ahead.word(|letter| letter.is_ascii_lowercase()).0 };
        if !["*", "floordiv", "mod", "ceildiv"].contains(&operator) {
            return Ok(value);
        }
        *cursor = ahead;
        let other = factor(cursor, rank, depth)?;
        let place = start..cursor.position();
        let (sum, number) = match (operator, other.terms.is_empty(), value.terms.is_empty()) {
            (_, true, _) => (value, other.constant),
            ("*", false, true) => (other, value.constant),
            _ => return Err(ParseError::new(place, "expected a number on one side")),
        };
        let result = match operator {
            "*" => scaled(sum, number),
            "floordiv" => {
                u64::try_from(number).ok().filter(|&by| by > 0).and_then(|by| quotient(sum, by))
            }
            "mod" => {
                u64::try_from(number).ok().filter(|&by| by > 0).and_then(|by| remainder(sum, by))
            }
            _ => u64::try_from(number).ok().filter(|&by| by > 0).and_then(|by| ceiling(sum, by)),
        };
        value = result.ok_or_else(|| {
            let reason = "expected a part of one dimension, such as d0 floordiv 8 or (d0 mod 8) floordiv 2, or a multiple of it";
            ParseError::unsupported(place, reason)
        })?;
    }
}

fn factor(cursor: &mut Cursor<'_>, rank: usize, depth: usize) -> Result<Sum> {
    if cursor.eat("(") {
        let inside = sum(cursor, rank, depth + 1)?;
        cursor.expect(")")?;
        return Ok(inside);
    }
    cursor.skip_blanks();
    if cursor.peek().is_some_and(|letter| letter == '-' || letter.is_ascii_digit()) {
        return Ok(Sum { terms: Vec::new(), constant: cursor.number()?.0 });
    }
    let dimension = dimension(cursor)?;
    if dimension.0 >= rank {
        let reason = format!("expected a dimension of the map, below d{rank}");
        return Err(ParseError::new(dimension.1, reason));
    }
    let dimension = dimension.0;
    let term =
        Term { dimension, by: 1, modulus: None, bound: None, is_remainder: false, weight: 1 };
    Ok(Sum { terms: vec![term], constant: 0 })
}

/// Parses a dimension, such as `d0`. Returns its number, and its position in the text.
pub(super) fn dimension(cursor: &mut Cursor<'_>) -> Result<(usize, std::ops::Range<usize>)> {
    let (name, place) = cursor.word(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    let number = name.strip_prefix('d').and_then(|number| number.parse::<usize>().ok());
    match number {
        Some(number) => Ok((number, place)),
        None if name.starts_with('s') => Err(ParseError::unsupported(
            place,
            "expected dimensions only: a symbol is not known here",
        )),
        None if name.is_empty() => Err(cursor.unexpected("a dimension, such as d0, or a number")),
        None => Err(cursor.wrong(place, "a dimension, such as d0, or a number")),
    }
}

fn scaled(sum: Sum, by: i64) -> Option<Sum> {
    let terms = sum.terms.into_iter();
    let terms = terms
        .map(|term| Some(Term { weight: term.weight.checked_mul(by)?, ..term }))
        .collect::<Option<Vec<_>>>()?;
    Some(Sum { terms, constant: sum.constant.checked_mul(by)? })
}

/// Returns the term of a sum that consists of exactly one term of weight 1. Returns `None` for any
/// other sum.
fn single(sum: &Sum) -> Option<Term> {
    match sum.terms[..] {
        [term] if term.weight == 1 && sum.constant == 0 => Some(term),
        _ => None,
    }
}

fn quotient(sum: Sum, by: u64) -> Option<Sum> {
    if sum.terms.is_empty() {
        return Some(Sum { constant: sum.constant.div_euclid(i64::try_from(by).ok()?), ..sum });
    }
    if by == 1 {
        return Some(sum);
    }
    let term = single(&sum)?;
    let modulus = match term.modulus {
        None => None,
        Some(modulus) if modulus.is_multiple_of(by) => Some(modulus / by),
        // The dividend is always less than `by`, so the quotient is 0.
        Some(modulus) if modulus <= by => Some(1),
        Some(_) => return None,
    };
    let bound = match term.bound {
        None => None,
        Some((last, after)) => Some((last, after.checked_mul(by)?)),
    };
    let by = term.by.checked_mul(by)?;
    let term = Term { by, modulus, bound, is_remainder: false, ..term };
    Some(Sum { terms: vec![term], constant: 0 })
}

fn remainder(sum: Sum, by: u64) -> Option<Sum> {
    if sum.terms.is_empty() {
        return Some(Sum { constant: sum.constant.rem_euclid(i64::try_from(by).ok()?), ..sum });
    }
    if by == 1 {
        return Some(Sum::default());
    }
    let term = single(&sum)?;
    let modulus = match term.modulus {
        None => by,
        Some(modulus) if modulus.is_multiple_of(by) => by,
        Some(modulus) if modulus <= by => modulus,
        Some(_) => return None,
    };
    let term =
        Term { modulus: Some(modulus), bound: Some((by - 1, 1)), is_remainder: true, ..term };
    Some(Sum { terms: vec![term], constant: 0 })
}

/// Divides a sum by `by` and rounds up. Returns `None` unless the sum is a constant or `by` is 1,
/// because the rounded-up quotient of a dimension is not a digit.
fn ceiling(sum: Sum, by: u64) -> Option<Sum> {
    if by == 1 {
        return Some(sum);
    }
    let by = i64::try_from(by).ok().filter(|_| sum.terms.is_empty())?;
    let constant = sum.constant.div_euclid(by) + i64::from(sum.constant.rem_euclid(by) > 0);
    Some(Sum { constant, ..sum })
}
