//! Expressions of an affine map, as sums over parts of dimensions.
//!
//! ```text
//! sum     = product (("+" | "-") product)*
//! product = factor (("*" | "floordiv" | "mod" | "ceildiv") factor)*
//! factor  = number | "-" factor | "d0" | "(" sum ")"
//! ```

use crate::{
    notation::cursor::{Cursor, Result},
    shape::ParseError,
};

/// Parentheses inside one another.
const MAX_NESTED: usize = 32;

/// Terms of a sum.
const MAX_TERMS: usize = 256;

/// `weight · (⌊dimension / by⌋ mod modulus)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Term {
    pub(super) dimension: usize,
    pub(super) by: u64,
    /// `None` where the quotient stays whole.
    pub(super) modulus: Option<u64>,
    pub(super) weight: i64,
}

/// A sum of terms and a constant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) terms: Vec<Term>,
    pub(super) constant: i64,
}

/// Reads a sum over the first `rank` dimensions.
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
            _ => None,
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
    let term = Term { dimension: dimension.0, by: 1, modulus: None, weight: 1 };
    Ok(Sum { terms: vec![term], constant: 0 })
}

/// `d0`, and where it stands.
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

/// The one term of weight 1 that a sum is.
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
    let term = single(&sum)?;
    let modulus = match term.modulus {
        None => None,
        Some(modulus) if modulus.is_multiple_of(by) => Some(modulus / by),
        // The quotient is 0.
        Some(modulus) if modulus <= by => return Some(Sum::default()),
        Some(_) => return None,
    };
    let term = Term { by: term.by.checked_mul(by)?, modulus, ..term };
    Some(Sum { terms: vec![term], constant: 0 })
}

fn remainder(sum: Sum, by: u64) -> Option<Sum> {
    if sum.terms.is_empty() {
        return Some(Sum { constant: sum.constant.rem_euclid(i64::try_from(by).ok()?), ..sum });
    }
    let term = single(&sum)?;
    let modulus = match term.modulus {
        None => by,
        Some(modulus) if modulus.is_multiple_of(by) => by,
        Some(modulus) if modulus <= by => modulus,
        Some(_) => return None,
    };
    Some(Sum { terms: vec![Term { modulus: Some(modulus), ..term }], constant: 0 })
}
