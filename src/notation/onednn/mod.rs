//! oneDNN's layouts, in two forms: a format tag after the type and the extents of the array, as in
//! `f32[2,17,8,8] nChw16c`, or sizes with strides, as in `dims 2x3x1 strides 5x1x7`.
//!
//! ```text
//! tag = letters { size letter }       nChw16c   OIhw4i16o4i   acdb   aBcd16b
//! ```
//!
//! The letters give the order of the dimensions, from major to minor. The letters `a` to `l` mean
//! dimensions 0 to 11. Other letters mean the dimensions of activations, weights and recurrent
//! networks. A capital letter means that the dimension has blocks, which are listed at the end of
//! the tag; the extent of such a dimension is rounded up to whole blocks. If a dimension has two
//! blocks, the last one is the least significant. Two elements of 4 bits share a byte.
//!
//! Every tag of this form is parsed. Only the tags in [`tags`] are written, because oneDNN accepts
//! no others.

mod tags;

use std::ops::Range;

use super::{
    Tensor,
    cursor::{Cursor, Result},
    pitched::Pitched,
    prefix::{Prefix, element_type, written},
    stacked::Stacked,
    tensor::broken_rule,
};
use crate::{
    shape::{Count, ElementType, ParseError},
    stride::StrideDescriptor,
};

/// The letters for dimensions 0 to 11.
const LETTERS: &str = "abcdefghijkl";

/// The sets of letters for activations, weights and recurrent networks, each in the order of the
/// logical dimensions.
const DOMAINS: [&str; 20] = [
    "x", "nc", "ncw", "nchw", "ncdhw", "oi", "oiw", "oihw", "oidhw", "goi", "goiw", "goihw",
    "goidhw", "tn", "tnc", "ldnc", "ldigo", "ldgo", "ldio", "ldoi",
];

/// The tags in `dnnl_types.h` whose meaning differs from their letters, each paired with the tag in
/// the letters `a` to `l` that has this meaning.
const ALIASES: [(&str, &str); 6] = [
    ("OhwI24o", "Acdb24a"),
    ("OhwI32o", "Acdb32a"),
    ("gOhwI24o", "aBdec24b"),
    ("gOhwI32o", "aBdec32b"),
    ("gIOhw2i8o16i2o", "aBCde2c8b16c2b"),
    ("gIOdhw2i8o16i2o", "aBCdef2c8b16c2b"),
];

pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Tensor> {
    let mut ahead = cursor.clone();
    if ahead.eat("dims") {
        return of_strides(ahead, ElementType::F32);
    }
    if let Ok((element_type, 0)) = element_type(&mut ahead)
        && ahead.eat("dims")
    {
        return of_strides(ahead, element_type);
    }
    let prefix = packed(Prefix::read(cursor)?, cursor)?;
    let tag = Tag::read(cursor, prefix.sizes.len())?;
    cursor.end()?;
    tag.stacked().array(&prefix, tag.place)
}

/// Returns the size of an element in oneDNN's memory, in bits. Two elements of 4 bits share a byte.
/// Other types occupy their width, rounded up to whole bytes. Returns `None` for a type without
/// elements.
fn memory_bits(element_type: ElementType) -> Option<u32> {
    match element_type.bits() {
        Some(4) => Some(4),
        _ => element_type.storage_bits(),
    }
}

/// Sets the element size of `prefix` to the size that oneDNN uses. Returns an error if the prefix
/// specifies a different size.
fn packed(prefix: Prefix, cursor: &Cursor<'_>) -> Result<Prefix> {
    let bits = u64::from(memory_bits(prefix.element_type).unwrap_or(0));
    if ![0, bits].contains(&prefix.element_bits) {
        let start = cursor.position();
        let element_type = prefix.element_type;
        let reason = format!("expected elements of {bits} bits, as oneDNN stores {element_type}");
        return Err(ParseError::new(start..start, reason));
    }
    Ok(Prefix { element_bits: bits, ..prefix })
}

/// A parsed tag: the order of the dimensions, and the blocks inside them, both from major to minor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) outer: Vec<usize>,
    pub(super) blocks: Vec<(u64, usize)>,
    place: Range<usize>,
}

impl Tag {
    pub(super) fn read(cursor: &mut Cursor<'_>, rank: usize) -> Result<Self> {
        let (text, place) = cursor.word(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        if ["any", "undef", "format_tag_any", "wino_fmt"].contains(&text)
            || text.starts_with("rnn_packed")
        {
            let reason =
                "expected a tag that gives a place to each element, such as nchw or nChw16c";
            return Err(ParseError::unsupported(place, reason));
        }
        let alias = ALIASES.iter().find(|alias| alias.0 == text && alias.1.len() > rank);
        let spelled = alias.map_or(text, |alias| alias.1);
        let letters: String = spelled.chars().take_while(char::is_ascii_alphabetic).collect();
        // The letters of the dimensions end before the size of the first block.
        let names = letters.to_ascii_lowercase();
        let domain = domain(&names).ok_or_else(|| {
            cursor.wrong(
                place.clone(),
                "a tag, such as acdb, nchw, nChw16c or OIhw4i16o4i, each letter once",
            )
        })?;
        if names.len() != rank {
            let letters = Count(rank as u64, "letter");
            let reason = format!("expected {letters}, one for each dimension, got {}", names.len());
            return Err(ParseError::new(place, reason));
        }
        let dimension = |letter: char| domain.find(letter.to_ascii_lowercase());
        let outer: Vec<usize> = names.chars().filter_map(dimension).collect();
        let mut rest = Cursor::starting_at(spelled, letters.len())?;
        let mut blocks = Vec::new();
        let inside =
            |_| cursor.wrong(place.clone(), "blocks behind the letters, each a size and a letter");
        while !rest.rest().is_empty() {
            let (size, _) = rest.natural(1).map_err(inside)?;
            let letter = rest.peek().filter(char::is_ascii_lowercase);
            let of = letter.and_then(dimension).ok_or_else(|| {
                cursor.wrong(place.clone(), "a letter of the tag, in lower case, behind each size")
            })?;
            rest.skip();
            blocks.push((size, of));
        }
        for (letter, &of) in letters.chars().zip(&outer) {
            let is_blocked = blocks.iter().any(|block| block.1 == of);
            if is_blocked != letter.is_ascii_uppercase() {
                let expected = "capitals for the dimensions that have blocks, and for no others";
                return Err(cursor.wrong(place, expected));
            }
        }
        Ok(Self { outer, blocks, place })
    }

    fn stacked(&self) -> Stacked {
        Stacked::nested(&self.outer, &self.blocks)
    }
}

/// Finds the known set of letters that `names` permutes, and returns it in the order of the logical
/// dimensions. Returns `None` if no set matches.
fn domain(names: &str) -> Option<&'static str> {
    let sorted = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    let given = sorted(names);
    let plain = LETTERS.get(..names.len()).filter(|letters| sorted(letters) == given);
    let named = DOMAINS.iter().find(|domain| sorted(domain) == given);
    plain.or(named.copied()).filter(|_| !names.is_empty())
}

/// Parses sizes and strides after the word `dims`, such as `2x3x1 strides 5x1x7`. The size of the
/// memory is the greatest product of a dimension's size and stride, as in oneDNN.
fn of_strides(mut cursor: Cursor<'_>, element_type: ElementType) -> Result<Tensor> {
    let start = cursor.position();
    let numbers = |cursor: &mut Cursor<'_>| {
        let mut numbers = vec![cursor.natural(0)?.0];
        while cursor.rest().starts_with('x') {
            cursor.skip();
            numbers.push(cursor.natural(0)?.0);
        }
        Ok(numbers)
    };
    let sizes = numbers(&mut cursor)?;
    cursor.expect("strides")?;
    let strides = numbers(&mut cursor)?;
    cursor.end()?;
    let place = start..cursor.position();
    let memory = sizes.iter().zip(&strides).map(|(&size, &stride)| size.saturating_mul(stride));
    let memory = memory.max().filter(|_| !sizes.contains(&0)).unwrap_or(0);
    let strides: Vec<i64> = strides.into_iter().filter_map(|n| i64::try_from(n).ok()).collect();
    let bits = memory_bits(element_type).unwrap_or(0).into();
    let tensor = StrideDescriptor::strided(element_type, bits, &sizes, &strides, 0)
        .and_then(|tensor| {
            let least = tensor.physical_elements();
            tensor.with_physical_elements(memory.max(least))
        })
        .map_err(|error| broken_rule(place.clone(), error.kind(), error))?;
    Tensor::of_descriptor(&tensor, place)
}

pub(super) fn write(array: &Tensor) -> std::result::Result<String, String> {
    let tensor = array.descriptor();
    let (element_type, sizes) = (tensor.element_type(), tensor.sizes());
    let bits = memory_bits(element_type).unwrap_or(0);
    if tensor.element_bits() != bits {
        let given = tensor.element_bits();
        return Err(format!(
            "expected elements of {bits} bits, as oneDNN stores them, got {given}"
        ));
    }
    let spelled = tag(tensor);
    let tag = match &spelled {
        Ok(tag) if tags::is_known(tag) => Some(tag.as_str()),
        _ => tags::of_rank(tensor.rank()).find(|tag| has_tag(tensor, tag)),
    };
    if let Some(tag) = tag {
        let prefix = written(element_type, element_type.storage_bits().unwrap_or(0), sizes);
        return Ok(format!("{prefix} {tag}"));
    }
    let reason = match spelled {
        Ok(tag) => format!("dnnl_types.h has no tag {tag}"),
        Err(reason) => reason,
    };
    strides(tensor).ok_or(reason)
}

/// Writes a tensor in the form `TYPE dims SIZES strides STRIDES`. Returns `None` if a dimension has
/// more than one stride, or if oneDNN would compute a different size of the memory from these sizes
/// and strides.
fn strides(tensor: &StrideDescriptor) -> Option<String> {
    let strides: Vec<i64> = tensor.strides().collect::<Option<_>>()?;
    let ends = tensor
        .sizes()
        .iter()
        .zip(&strides)
        .map(|(&size, &stride)| u64::try_from(stride).ok()?.checked_mul(size));
    let ends = ends.collect::<Option<Vec<u64>>>()?;
    let memory = if tensor.elements() == 0 { 0 } else { ends.into_iter().max()? };
    let is_whole = memory == tensor.physical_elements() && tensor.base_offset() == 0;
    let by = |numbers: Vec<String>| numbers.join("x");
    (is_whole && tensor.rank() <= LETTERS.len()).then(|| {
        let sizes = by(tensor.sizes().iter().map(ToString::to_string).collect());
        let strides = by(strides.iter().map(ToString::to_string).collect());
        format!("{} dims {sizes} strides {strides}", tensor.element_type())
    })
}

/// Returns true if `tag`, in the letters `a` to `l`, describes the memory of the tensor.
fn has_tag(tensor: &StrideDescriptor, tag: &str) -> bool {
    Cursor::starting_at(tag, 0)
        .and_then(|mut cursor| Tag::read(&mut cursor, tensor.rank()))
        .is_ok_and(|tag| tag.stacked().describes(tensor))
}

/// Returns the tag of a tensor in the letters `a` to `l`, even if oneDNN does not define this tag.
/// Returns the reason, in words, if the memory does not consist of blocks.
pub(super) fn tag(tensor: &StrideDescriptor) -> std::result::Result<String, String> {
    let rank = tensor.rank();
    if rank == 0 || rank > LETTERS.len() {
        return Err(format!("expected 1 to 12 dimensions, got {rank}"));
    }
    let parts = if tensor.elements() == 0 { Vec::new() } else { blocked(tensor)? };
    let is_outer = |part: &&TagBlock| part.is_top && part.extent == part.padded;
    let outer = parts.iter().take_while(is_outer).count();
    let mut order: Vec<usize> = parts[..outer].iter().map(|part| part.dimension).collect();
    // A dimension that consists only of blocks has an outer extent of 1, so it can be at any
    // position.
    for dimension in 0..rank {
        if !order.contains(&dimension) {
            let at = order.iter().position(|&other| other > dimension).unwrap_or(order.len());
            order.insert(at, dimension);
        }
    }
    let letter = |dimension: usize| LETTERS.as_bytes()[dimension] as char;
    let is_blocked = |dimension| parts[outer..].iter().any(|part| part.dimension == dimension);
    let mut text: String = order
        .into_iter()
        .map(|dimension| {
            let letter = letter(dimension);
            if is_blocked(dimension) { letter.to_ascii_uppercase() } else { letter }
        })
        .collect();
    for part in &parts[outer..] {
        text += &part.padded.to_string();
        text.push(letter(part.dimension));
    }
    Ok(text)
}

/// A digit in memory: the outer part of a dimension, or a block of it. A dimension of extent 1 may
/// have additional blocks of extent 1, which only express padding.
struct TagBlock {
    dimension: usize,
    /// True if this is the most significant digit of its dimension.
    is_top: bool,
    extent: u64,
    /// The extent of the digit in memory, including padding.
    padded: u64,
}

/// Returns the digits in memory, from major to minor. Returns the reason, in words, if no tag can
/// express them: the digits of a dimension are not in order of significance, or a less significant
/// digit is padded and no dimension of extent 1 can express that padding.
fn blocked(tensor: &StrideDescriptor) -> std::result::Result<Vec<TagBlock>, String> {
    let Pitched { parts: pitched, step } = Pitched::of(tensor)?;
    // A dimension with one element, if there is one, can have a block that expresses padding inside
    // other dimensions.
    let unit = tensor.sizes().iter().position(|&size| size == 1);
    let no_unit = "a tag pads the most significant part of a dimension only";
    let mut parts: Vec<TagBlock> = Vec::new();
    // The level of the last digit of each dimension so far, because levels must descend from the
    // most significant one.
    let mut levels: Vec<Option<usize>> = vec![None; tensor.rank()];
    for part in pitched {
        let is_top = levels[part.dimension].is_none();
        let next = levels[part.dimension].replace(part.level);
        if next.map_or(!part.is_top, |above| above != part.level + 1) {
            let reason = "the parts of a dimension lie out of order: a tag puts the least significant innermost";
            return Err(reason.to_owned());
        }
        let mut padded = part.padded;
        if !is_top && padded > part.extent {
            let dimension = unit.filter(|_| padded.is_multiple_of(part.extent)).ok_or(no_unit)?;
            parts.push(TagBlock {
                dimension,
                is_top: true,
                extent: 1,
                padded: padded / part.extent,
            });
            padded = part.extent;
        }
        parts.push(TagBlock { dimension: part.dimension, is_top, extent: part.extent, padded });
    }
    if step > 1 {
        let dimension = unit.ok_or(no_unit)?;
        parts.push(TagBlock { dimension, is_top: true, extent: 1, padded: step });
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Shape;

    #[test]
    fn every_tag_of_the_header_is_read() {
        for rank in 1..=LETTERS.len() {
            for text in tags::of_rank(rank) {
                let read = Tag::read(&mut Cursor::starting_at(text, 0).unwrap(), rank);
                assert!(read.is_ok(), "{text}");
            }
        }
        assert!((1..=LETTERS.len()).map(|rank| tags::of_rank(rank).count()).sum::<usize>() > 800);
    }

    #[test]
    fn only_tags_of_the_header_are_written() {
        for (text, expected) in [
            ("bf16[100,300]{1,0:T(8,128)(2,1)}", "dnnl_types.h has no tag AB4a128b2a"),
            ("s8[64,256]{1,0:T(32,128)(4,1)}", "dnnl_types.h has no tag AB8a128b4a"),
            ("f32[2,3,5,7]{0,3,1,2}", "f32 dims 2x3x5x7 strides 1x14x42x2"),
            ("f32[2,3,5,7]{1,3,2,0}", "f32[2,3,5,7] acdb"),
            // `cabd` and `bacd` describe the same memory, but only `bacd` is in the header.
            ("f32[2,3,1,7]{3,0,1,2}", "f32[2,3,1,7] bacd"),
            ("u4[16,24]{1,0:E(4)}", "u4[16,24] ab"),
            ("u4[16,24]", "expected elements of 4 bits, as oneDNN stores them, got 8"),
        ] {
            let array = Tensor::try_from(text.parse::<Shape>().unwrap()).unwrap();
            let given = write(&array);
            assert_eq!(given.as_ref().unwrap_or_else(|reason| reason), expected, "{text}");
        }
    }

    #[test]
    fn tags_of_shapes() {
        for (text, expected) in [
            ("f32[2,3,5,7]{1,3,2,0}", "acdb"),
            ("bf16[100,300]{1,0:T(8,128)(2,1)}", "AB4a128b2a"),
            ("s8[64,256]{1,0:T(32,128)(4,1)}", "AB8a128b4a"),
            ("f32[100]{0:T(128)}", "A128a"),
            ("f32[1,3,5,4]{3,2,1,0:T(16,1,1)}", "aBcd16b"),
            ("f32[8,1]{1,0:T(2)}", "aB2b"),
            ("f32[0,3]{0,1}", "ab"),
        ] {
            let tensor = StrideDescriptor::try_from(&text.parse::<Shape>().unwrap()).unwrap();
            assert_eq!(tag(&tensor).as_deref(), Ok(expected), "{text}");
        }
        for (text, why) in [
            ("bf16[200]{0:T(256)(128)(2,1)}", "out of order"),
            ("f32[9,9]{1,0:T(3,3)(2)}", "pads the most significant"),
            ("f32[8]{0:T(1)(2)}", "pads the most significant"),
            ("f32[]", "1 to 12 dimensions"),
        ] {
            let tensor = StrideDescriptor::try_from(&text.parse::<Shape>().unwrap()).unwrap();
            let error = tag(&tensor).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
