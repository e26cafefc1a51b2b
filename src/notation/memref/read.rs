//! The parser for `memref<2x3xf32, LAYOUT, SPACE>`. The layout is `strided<[3, 1], offset: 2>` or
//! `affine_map<(d0, d1) -> (…)>`.
//!
//! If an affine map has one result, that result is the offset. If it has several, they are an index
//! in a row-major array of memory, with one dimension for each result. The extent of such a
//! dimension is given by the range of the result.

use std::ops::Range;

use super::expression::{GreatestValues, Sum, dimension, sum};
use crate::{
    notation::{
        Tensor,
        cursor::{Cursor, Result},
        literal::{ValueKind, value},
        strides::packed_strides,
        tensor::broken_rule,
    },
    shape::{Count, ElementType, MAX_RANK, ParseError},
    stride::{StrideDescriptor, digits_of_terms},
};

pub(in crate::notation) fn read(cursor: &mut Cursor<'_>) -> Result<Tensor> {
    cursor.skip_blanks();
    let start = cursor.position();
    cursor.expect("memref")?;
    cursor.expect("<")?;
    let sizes = extents(cursor)?;
    let element_type = element_type(cursor)?;
    let mut array = None;
    let mut has_space = false;
    while !cursor.eat(">") {
        if !cursor.eat(",") {
            return Err(cursor.unexpected("`,` or `>`"));
        }
        cursor.skip_blanks();
        let place = cursor.position();
        if has_space || (array.is_some() && is_layout(cursor)) {
            return Err(cursor.unexpected("`>` behind the layout and the memory space"));
        }
        if cursor.eat("strided") {
            array = Some(strided(cursor, element_type, &sizes, place)?);
        } else if cursor.eat("affine_map") {
            array = Some(map(cursor, element_type, &sizes, place)?);
        } else {
            space(cursor)?;
            has_space = true;
        }
    }
    let whole = start..cursor.position();
    cursor.end()?;
    if let Some(array) = array {
        return Ok(array);
    }
    let strides = packed_strides(&sizes, 1)
        .ok_or_else(|| ParseError::new(whole.clone(), "expected at most 2^63-1 elements"))?;
    Tensor::strided(element_type, 0, &sizes, &strides, 0, whole)
}

fn is_layout(cursor: &Cursor<'_>) -> bool {
    cursor.rest().starts_with("strided") || cursor.rest().starts_with("affine_map")
}

/// Parses the extents, such as `2x3x`, and stops before the element type.
fn extents(cursor: &mut Cursor<'_>) -> Result<Vec<u64>> {
    let mut sizes = Vec::new();
    loop {
        cursor.skip_blanks();
        match cursor.peek() {
            Some('?') => {
                return Err(ParseError::unsupported(
                    cursor.place(),
                    "expected an extent: `?` is not known here",
                ));
            }
            Some('*') => {
                return Err(ParseError::unsupported(
                    cursor.place(),
                    "expected extents: an unranked memref has none",
                ));
            }
            Some(digit) if digit.is_ascii_digit() => {}
            _ => return Ok(sizes),
        }
        if sizes.len() == MAX_RANK {
            let reason = format!("expected at most {MAX_RANK} dimensions, got more");
            return Err(ParseError::new(cursor.place(), reason));
        }
        sizes.push(cursor.natural(0)?.0);
        cursor.expect("x")?;
    }
}

/// Parses a type such as `f32`, `i8` or `complex<f32>`. Signed integers such as `si8` are treated
/// as `i8`.
fn element_type(cursor: &mut Cursor<'_>) -> Result<ElementType> {
    let (name, mut place) = cursor.word(|letter| letter.is_ascii_alphanumeric());
    let mut name = name.to_owned();
    if name == "complex" && cursor.eat("<") {
        name = format!("complex<{}>", cursor.word(|letter| letter.is_ascii_alphanumeric()).0);
        cursor.expect(">")?;
        place.end = cursor.position();
    }
    let signless = name.strip_prefix("si").map_or(name.clone(), |bits| format!("i{bits}"));
    let known =
        ElementType::ALL.into_iter().find(|&kind| kind.mlir_name() == Some(signless.clone()));
    known.ok_or_else(|| {
        let expected = "an element type that XLA has, such as f32, i8 or complex<f32>";
        if name.is_empty() { cursor.unexpected(expected) } else { cursor.wrong(place, expected) }
    })
}

/// Parses a memory space: `3`, `3 : i32`, `#gpu.address_space<workgroup>` or `"local"`. The space
/// is ignored, because it does not affect offsets.
fn space(cursor: &mut Cursor<'_>) -> Result<()> {
    if cursor.eat("#") {
        cursor.word(|letter| letter.is_ascii_alphanumeric() || letter == '_' || letter == '.');
        if cursor.eat("<") {
            cursor.word(|letter| letter != '>');
            cursor.expect(">")?;
        }
        return Ok(());
    }
    let space = value(cursor)?;
    match space.kind {
        ValueKind::Number(_) => {
            if cursor.eat(":") {
                cursor.word(|letter| letter.is_ascii_alphanumeric());
            }
            Ok(())
        }
        ValueKind::Text(_) => Ok(()),
        _ => Err(space.wrong(cursor, "strided<…>, affine_map<…> or a memory space")),
    }
}

fn strided(
    cursor: &mut Cursor<'_>,
    element_type: ElementType,
    sizes: &[u64],
    start: usize,
) -> Result<Tensor> {
    cursor.expect("<")?;
    cursor.expect("[")?;
    let strides = cursor.limited_list("]", MAX_RANK, "strides", static_number)?;
    let mut offset = 0;
    if cursor.eat(",") {
        cursor.expect("offset")?;
        cursor.expect(":")?;
        offset = static_number(cursor)?;
    }
    cursor.expect(">")?;
    let place = start..cursor.position();
    let offset = u64::try_from(offset)
        .map_err(|_| ParseError::new(place.clone(), "expected an offset from 0 on"))?;
    Tensor::strided(element_type, 0, sizes, &strides, offset, place)
}

/// Parses a number. `?` is an error, because every number must be known here.
fn static_number(cursor: &mut Cursor<'_>) -> Result<i64> {
    cursor.skip_blanks();
    if cursor.peek() == Some('?') {
        return Err(ParseError::unsupported(
            cursor.place(),
            "expected a number: `?` is not known here",
        ));
    }
    Ok(cursor.number()?.0)
}

fn map(
    cursor: &mut Cursor<'_>,
    element_type: ElementType,
    sizes: &[u64],
    start: usize,
) -> Result<Tensor> {
    cursor.expect("<")?;
    cursor.expect("(")?;
    let mut rank = 0;
    cursor.limited_list(")", MAX_RANK, "dimensions", |cursor| {
        let (number, place) = dimension(cursor)?;
        if number != rank {
            return Err(ParseError::new(place, format!("expected d{rank}")));
        }
        rank += 1;
        Ok(())
    })?;
    if rank != sizes.len() {
        let reason = format!(
            "expected {}, as many as extents, got {rank}",
            Count(sizes.len() as u64, "dimension")
        );
        return Err(ParseError::new(start..cursor.position(), reason));
    }
    cursor.expect("->")?;
    cursor.expect("(")?;
    let results =
        cursor.limited_list(")", 2 * MAX_RANK, "results", |cursor| sum(cursor, rank, 0))?;
    cursor.expect(">")?;
    let place = start..cursor.position();
    let tensor = lowered(element_type, sizes, &results, &place)?;
    Tensor::of_digits(tensor, place)
}

/// Converts an array whose affine map has the given results to a descriptor.
fn lowered(
    element_type: ElementType,
    sizes: &[u64],
    results: &[Sum],
    place: &Range<usize>,
) -> Result<StrideDescriptor> {
    let too_large = || ParseError::new(place.clone(), "expected offsets that an int64 holds");
    let no_digits = || {
        let reason = "expected parts of dimensions that are digits: each divisor a multiple of the next smaller one";
        ParseError::unsupported(place.clone(), reason)
    };
    let is_empty = sizes.contains(&0);
    if results.len() > 1 && results.iter().any(Sum::has_negative_weight) {
        return Err(no_digits());
    }
    let mut terms: Vec<Vec<(u64, i64)>> = vec![Vec::new(); sizes.len()];
    let mut span = 1_i64;
    let mut offset = 0_i64;
    for (number, result) in results.iter().enumerate().rev() {
        let constant = result.constant.checked_mul(span).ok_or_else(too_large)?;
        offset = offset.checked_add(constant).ok_or_else(too_large)?;
        for term in &result.terms {
            terms[term.dimension].extend(term.quotients(span).ok_or_else(too_large)?);
        }
        let greatest = result.greatest(sizes).ok_or_else(too_large)?;
        let greatest = extent_less_1(results, number, greatest, place)?;
        let extent = greatest.checked_add(1).filter(|&extent| extent > 0).ok_or_else(too_large)?;
        if results.len() > 1 {
            span = span.checked_mul(extent).ok_or_else(too_large)?;
        }
    }
    let digits: Option<Vec<_>> =
        terms.into_iter().zip(sizes).map(|(terms, &size)| digits_of_terms(&terms, size)).collect();
    let offset = if is_empty { 0 } else { u64::try_from(offset).map_err(|_| too_large())? };
    let tensor =
        StrideDescriptor::of_digits(element_type, 0, sizes, &digits.ok_or_else(no_digits)?, offset)
            .map_err(|error| broken_rule(place.clone(), error.kind(), error))?;
    let memory = if results.len() > 1 && !is_empty { span.unsigned_abs() } else { 0 };
    let memory = memory.max(tensor.physical_elements());
    tensor
        .with_physical_elements(memory)
        .map_err(|error| broken_rule(place.clone(), error.kind(), error))
}

/// Returns the extent of the memory dimension for a result, minus 1, as MLIR determines it.
///
/// MLIR computes the bounds of results in rational arithmetic. If a quotient is rounded, or if a
/// dimension is shorter than a `mod` allows, the bound of a sum or of a multiple depends on the
/// other results. Such a result is rejected. The first result is always accepted, because its
/// extent does not affect offsets.
fn extent_less_1(
    results: &[Sum],
    number: usize,
    greatest: GreatestValues,
    place: &Range<usize>,
) -> Result<i64> {
    let GreatestValues { by_rule, taken, unrounded } = greatest;
    // If the remainder is listed after the quotients of the same dimension, MLIR's elimination of
    // variables preserves the extent of the `mod`.
    let has_remainder = |dimension: usize| {
        results[number..].iter().any(|result| result.remainder_of() == Some(dimension))
    };
    if results[number].part_of().is_some_and(has_remainder) {
        return Ok(by_rule);
    }
    let greatest = by_rule.max(unrounded);
    if number > 0 && taken != greatest {
        let reason = format!(
            "expected results whose extents are certain, got result {number} of extent {} to {}: make each part of a dimension a result of its own",
            taken.saturating_add(1),
            greatest.saturating_add(1)
        );
        return Err(ParseError::unsupported(place.clone(), reason));
    }
    Ok(taken)
}
