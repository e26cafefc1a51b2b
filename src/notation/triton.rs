//! Triton's `LinearLayout`, which maps offsets in memory to indices, in the form that Triton
//! prints. Swizzles are not supported.
//!
//! ```text
//!  - offset=1 -> (0, 1)
//!    offset=2 -> (0, 2)
//!    offset=4 -> (1, 0)
//! where out dims are: [dim0 (size 2), dim1 (size 4)]
//! ```
//!
//! An element type may precede the text, as in `bf16 - offset=1 -> …`; the default is f32. The
//! index is the sum of vectors, one for each bit of the offset that is set. The layout is accepted
//! if every vector has exactly one nonzero bit and no two vectors are equal, because each bit of an
//! index then has a stride of its own.

use std::ops::Range;

use super::{
    Tensor,
    cursor::{Cursor, Result},
    pitched::Pitched,
    prefix::{element_type, written},
};
use crate::{
    shape::{ElementType, MAX_RANK, ParseError},
    stride::{Digit, StrideDescriptor},
};

/// Returns true if `letter` may occur in a name.
fn in_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Tensor> {
    cursor.skip_blanks();
    let (element_type, bits) = match cursor.peek() {
        Some(letter) if letter.is_ascii_alphabetic() => element_type(cursor)?,
        _ => (ElementType::F32, 0),
    };
    cursor.skip_blanks();
    let start = cursor.position();
    let bases = bases(cursor)?;
    let sizes = out_dims(cursor)?;
    let place = start..cursor.position();
    cursor.end()?;
    // The offset that each bit of each dimension contributes, or `None` while it is unknown.
    let mut digits: Vec<Vec<Option<i64>>> =
        sizes.iter().map(|size| vec![None; size.trailing_zeros() as usize]).collect();
    for (bit, (basis, place)) in bases.into_iter().enumerate() {
        if basis.len() != sizes.len() {
            let reason = format!(
                "expected {} numbers, one for each out dim, got {}",
                sizes.len(),
                basis.len()
            );
            return Err(ParseError::new(place, reason));
        }
        let moved: Vec<(usize, u64)> =
            basis.into_iter().enumerate().filter(|&(_, number)| number != 0).collect();
        let &[(dimension, number)] = &moved[..] else {
            let reason = "a vector without a bit repeats elements, and one in several dimensions is a swizzle: expected a bit of one dimension";
            return Err(ParseError::unsupported(place, reason));
        };
        if !number.is_power_of_two() {
            let reason = "a vector of several bits is a swizzle: offsets xor, and do not add; expected a power of two";
            return Err(ParseError::unsupported(place, reason));
        }
        let slot = digits[dimension].get_mut(number.trailing_zeros() as usize);
        let Some(slot @ None) = slot else {
            let reason = "expected each bit of an index once, below the size of its out dim";
            return Err(ParseError::unsupported(place, reason));
        };
        *slot = Some(1 << bit);
    }
    let digits: Option<Vec<Vec<Digit>>> = digits
        .into_iter()
        .map(|bits| {
            bits.into_iter().map(|stride| Some(Digit { extent: 2, stride: stride? })).collect()
        })
        .collect();
    let digits = digits.ok_or_else(|| {
        let reason = "expected a vector for each bit of the out dims: some indices have no offset";
        ParseError::unsupported(place.clone(), reason)
    })?;
    let tensor = StrideDescriptor::of_digits(element_type, bits, &sizes, &digits, 0)
        .map_err(|error| super::tensor::broken_rule(place.clone(), error.kind(), error))?;
    Tensor::of_digits(tensor, place)
}

/// Parses lines such as `- offset=1 -> (0, 1)`, or the line `- offset is a size 1 dimension`.
/// Returns one vector for each bit of the offset, with its position in the text.
fn bases(cursor: &mut Cursor<'_>) -> Result<Vec<(Vec<u64>, Range<usize>)>> {
    cursor.expect("-")?;
    let (name, _) = cursor.word(in_name);
    let mut bases = Vec::new();
    if cursor.eat("is a size 1 dimension") {
        return Ok(bases);
    }
    loop {
        cursor.expect("=")?;
        let (number, place) = cursor.natural(1)?;
        if bases.len() > 61 || number != 1 << bases.len() {
            return Err(cursor.wrong(place, "the next power of two, below 2^62"));
        }
        cursor.expect("->")?;
        cursor.expect("(")?;
        cursor.skip_blanks();
        let start = cursor.position();
        let basis =
            cursor.limited_list(")", MAX_RANK, "numbers", |cursor| Ok(cursor.natural(0)?.0))?;
        bases.push((basis, start..cursor.position().saturating_sub(1)));
        let mut ahead = cursor.clone();
        let (next, place) = ahead.word(in_name);
        if next == "where" {
            return Ok(bases);
        }
        if next != name {
            let reason = "expected one input, the offset in memory, and then `where out dims are:`";
            return Err(match ahead.peek() {
                _ if next.is_empty() && cursor.rest().trim_ascii_start().starts_with('-') => {
                    cursor.skip_blanks();
                    ParseError::unsupported(cursor.place(), reason)
                }
                _ if next.is_empty() => cursor.unexpected("`where out dims are:`"),
                _ => ParseError::new(place, reason),
            });
        }
        *cursor = ahead;
    }
}

/// Parses `where out dims are: [dim0 (size 4), dim1 (size 8)]`, and returns the sizes.
fn out_dims(cursor: &mut Cursor<'_>) -> Result<Vec<u64>> {
    cursor.expect("where out dims are:")?;
    cursor.expect("[")?;
    cursor.limited_list("]", MAX_RANK, "out dims", |cursor| {
        let (name, _) = cursor.word(in_name);
        if name.is_empty() {
            return Err(cursor.unexpected("the name of an out dim"));
        }
        cursor.expect("(size")?;
        let (size, place) = cursor.natural(1)?;
        if !size.is_power_of_two() {
            return Err(cursor.wrong(place, "a power of two"));
        }
        cursor.expect(")")?;
        Ok(size)
    })
}

pub(super) fn write(array: &Tensor) -> std::result::Result<String, String> {
    let tensor = array.descriptor();
    let not_linear =
        "expected dimensions, tiles and pitches that are powers of two, and no padding";
    let Pitched { parts, step } = Pitched::of(tensor)?;
    let digits = tensor.digits().ok_or(not_linear)?;
    let is_whole = |&size: &u64| size.is_power_of_two();
    let is_dense = step == 1
        && tensor.physical_elements() == tensor.elements()
        && parts.iter().all(|part| part.padded == part.extent && part.extent.is_power_of_two());
    if !is_dense || tensor.rank() == 0 || !tensor.sizes().iter().all(is_whole) {
        return Err(not_linear.to_owned());
    }
    let mut bases = Vec::new();
    for part in parts.iter().rev() {
        let below: u64 =
            digits[part.dimension][..part.level].iter().map(|digit| digit.extent).product();
        for bit in 0..part.extent.trailing_zeros() {
            let numbers: Vec<String> = (0..tensor.rank())
                .map(|dimension| if dimension == part.dimension { below << bit } else { 0 })
                .map(|number| number.to_string())
                .collect();
            bases.push(format!("offset={} -> ({})", 1_u64 << bases.len(), numbers.join(", ")));
        }
    }
    let bases = if bases.is_empty() {
        "offset is a size 1 dimension".to_owned()
    } else {
        bases.join("\n   ")
    };
    let sizes = tensor.sizes().iter().enumerate();
    let sizes: Vec<String> = sizes.map(|(d, size)| format!("dim{d} (size {size})")).collect();
    let prefix = written(tensor.element_type(), tensor.element_bits(), &[]).replace("[]", "");
    let prefix = if prefix == "f32" { String::new() } else { format!("{prefix} ") };
    Ok(format!("{prefix}- {bases}\nwhere out dims are: [{}]", sizes.join(", ")))
}
