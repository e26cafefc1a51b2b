//! TVM's layouts: `f32[2,17,8,8] NCHW4c`, after the type and the extents in logical order.
//!
//! ```text
//! layout = part { part }
//! part   = capital | size letter       NCHW   NHWC   NCHW4c   OIHW4i16o
//! ```
//!
//! The parts describe memory from major to minor. A capital is a dimension, and `4c` is a block of
//! 4 of dimension `C`. The logical order of the dimensions is `NCDHW` for activations and `GOIDHW`
//! for weights. If there are any other letters, it is the order of the capitals in the text.

use super::{
    Tensor,
    cursor::{Cursor, Result},
    onednn::{Tag, tag},
    prefix::{Prefix, written},
    stacked::{Stacked, no_such_format},
};

/// The letters of activations and of weights, each in logical order.
const LOGICAL: [&str; 2] = ["NCDHW", "GOIDHW"];

pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Tensor> {
    let prefix = Prefix::read(cursor)?;
    cursor.skip_blanks();
    let start = cursor.position();
    let mut parts: Vec<(char, Option<u64>)> = Vec::new();
    while let Some(letter) = cursor.peek().filter(|letter| !letter.is_ascii_whitespace()) {
        let from = cursor.position();
        if letter.is_ascii_uppercase() {
            cursor.skip();
            parts.push((letter, None));
        } else {
            let (size, _) = cursor.natural(1)?;
            let Some(block) = cursor.peek().filter(char::is_ascii_lowercase) else {
                return Err(cursor.unexpected("a letter in lower case after the size of a block"));
            };
            cursor.skip();
            parts.push((block.to_ascii_uppercase(), Some(size)));
        }
        let last = parts.len() - 1;
        let is_same = |part: &(char, Option<u64>)| {
            part.0 == parts[last].0 && part.1.is_some() == parts[last].1.is_some()
        };
        if parts[..last].iter().any(is_same) {
            return Err(cursor.wrong(from..cursor.position(), "each dimension and block once"));
        }
    }
    let place = start..cursor.position();
    cursor.end()?;
    let outer: String = parts.iter().filter(|part| part.1.is_none()).map(|part| part.0).collect();
    let is_known = |logical: &&&str| outer.chars().all(|letter| logical.contains(letter));
    let logical: String = match LOGICAL.iter().find(is_known) {
        Some(logical) => logical.chars().filter(|letter| outer.contains(*letter)).collect(),
        None => outer.clone(),
    };
    if logical.len() != prefix.sizes.len() {
        let name = cursor.text(place.clone()).to_owned();
        return Err(no_such_format(place, &prefix.sizes, &name));
    }
    let part = |&(letter, size): &(char, Option<u64>)| Some((logical.find(letter)?, size));
    let parts: Option<Vec<_>> = parts.iter().map(part).collect();
    let parts = parts
        .ok_or_else(|| cursor.wrong(place.clone(), "a capital for each dimension with a block"))?;
    Stacked::of_parts(logical.len(), &parts).array(&prefix, place)
}

/// Writes an array with the letters of activations: `NC`, `NCW`, `NCHW` or `NCDHW`, depending on
/// its rank.
pub(super) fn write(array: &Tensor) -> std::result::Result<String, String> {
    let tensor = array.descriptor();
    let letters = match tensor.rank() {
        2 => "NC",
        3 => "NCW",
        4 => "NCHW",
        5 => "NCDHW",
        rank => return Err(format!("expected 2 to 5 dimensions, got {rank}")),
    };
    let spelled = tag(tensor)?;
    let Tag { outer, blocks, .. } = Cursor::starting_at(&spelled, 0)
        .and_then(|mut cursor| Tag::read(&mut cursor, tensor.rank()))
        .map_err(|error| error.to_string())?;
    let letter = |of: usize| char::from(letters.as_bytes()[of]);
    let mut text: String = outer.into_iter().map(letter).collect();
    for (number, &(size, of)) in blocks.iter().enumerate() {
        if blocks[..number].iter().any(|block| block.1 == of) {
            return Err("a layout has at most one block of each dimension".to_owned());
        }
        text += &size.to_string();
        text.push(letter(of).to_ascii_lowercase());
    }
    let prefix = written(tensor.element_type(), tensor.element_bits(), tensor.sizes());
    Ok(format!("{prefix} {text}"))
}
