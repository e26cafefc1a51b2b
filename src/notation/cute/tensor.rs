//! Converts between CuTe layouts and tensors. The element type precedes the layout, as in
//! `f16 ((2,4),8):…`, and is f32 by default. The extents of the array are also required if the
//! layout has more coordinates than the array has elements:
//! `f32[5,300] (5,(128,3)):(128,(1,1024))`.

use super::{CuteLayout, Mode, text::layout};
use crate::{
    notation::{
        Tensor,
        cursor::{Cursor, Result},
        prefix::{self, element_type, extents, written},
        tensor::broken_rule,
    },
    shape::{ElementType, ParseError},
    stride::{Digit, StrideDescriptor},
};

/// Parses a layout. A swizzle before the layout is accepted if it does not change any offset.
pub(in crate::notation) fn read(cursor: &mut Cursor<'_>) -> Result<Tensor> {
    cursor.skip_blanks();
    let has_type = cursor.peek().is_some_and(|letter| letter.is_ascii_alphabetic())
        && !cursor.rest().starts_with("Sw<");
    let (element_type, element_bits, sizes) = if has_type {
        let (element_type, bits) = element_type(cursor)?;
        let sizes = if cursor.peek() == Some('[') { Some(extents(cursor)?) } else { None };
        let bits = if bits == 0 { prefix::bits(cursor)? } else { bits };
        (element_type, bits, sizes)
    } else {
        (ElementType::F32, 0, None)
    };
    let swizzle = swizzle(cursor)?;
    cursor.skip_blanks();
    let start = cursor.position();
    let layout = layout(cursor)?;
    let place = start..cursor.position();
    cursor.end()?;
    let mut low = 0_u64;
    let mut digits = Vec::new();
    for mode in layout.modes() {
        let leaves = mode.leaves().into_iter().filter(|&(extent, _)| extent > 1);
        let leaves: Vec<Digit> = leaves.map(|(extent, stride)| Digit { extent, stride }).collect();
        // The pointer is at coordinate 0. With negative strides, this is not the lowest address.
        let below = leaves.iter().filter(|digit| digit.stride < 0);
        low += below.map(|digit| (digit.extent - 1) * digit.stride.unsigned_abs()).sum::<u64>();
        digits.push(leaves);
    }
    let mut offset = low;
    if let Some((unchanged, before)) = swizzle {
        offset += before;
        if layout.cosize().saturating_add(offset) > unchanged {
            let reason = "a swizzle that moves elements: no strides and no tiles say it";
            return Err(ParseError::unsupported(place, reason));
        }
    }
    let sizes = sizes.unwrap_or_else(|| layout.modes().iter().map(Mode::size).collect());
    let tensor = StrideDescriptor::of_digits(element_type, element_bits, &sizes, &digits, offset)
        .map_err(|error| broken_rule(place.clone(), error.kind(), error))?;
    Tensor::of_digits(tensor, place)
}

/// Parses `Sw<B,M,S> o offset o`. Returns two numbers: the limit below which the swizzle does not
/// change offsets, and `offset`. Returns `None` if the text does not begin with a swizzle.
fn swizzle(cursor: &mut Cursor<'_>) -> Result<Option<(u64, u64)>> {
    if !cursor.eat("Sw<") {
        return Ok(None);
    }
    let (bits, place) = cursor.natural(0)?;
    cursor.expect(",")?;
    let (base, _) = cursor.natural(0)?;
    cursor.expect(",")?;
    let (shift, _) = cursor.number()?;
    cursor.expect(">")?;
    cursor.expect("o")?;
    cursor.eat("_");
    let (offset, _) = cursor.natural(0)?;
    cursor.expect("o")?;
    let lowest = base.saturating_add(shift.max(0).unsigned_abs());
    if bits > 62 || lowest > 62 || shift.unsigned_abs() > 62 || offset >> 62 != 0 {
        return Err(ParseError::new(place, "expected a swizzle of offsets below 2^62"));
    }
    Ok(Some((if bits == 0 { u64::MAX } else { 1 << lowest }, offset)))
}

/// Writes each dimension of the array as a mode. The parts of the mode are the digits of the
/// dimension.
pub(in crate::notation) fn write(array: &Tensor) -> std::result::Result<String, String> {
    let tensor = array.descriptor();
    if tensor.rank() == 0 || tensor.elements() == 0 {
        return Err("a layout has modes of at least one coordinate".to_owned());
    }
    let digits = tensor.digits().ok_or("the offset is no sum over the digits of an index")?;
    let below = digits.iter().flatten().filter(|digit| digit.stride < 0);
    let low = below.map(|digit| (digit.extent - 1) * digit.stride.unsigned_abs()).sum::<u64>();
    if tensor.base_offset() != low {
        let offset = tensor.base_offset();
        return Err(format!("index 0 lies at offset {offset}, and a layout starts at the pointer"));
    }
    let mode = |digits: Vec<Digit>| {
        Mode::of_leaves(digits.into_iter().map(|digit| (digit.extent, digit.stride)).collect())
    };
    let mut modes: Vec<Mode> = digits.into_iter().map(mode).collect();
    let sizes: Vec<u64> = modes.iter().map(Mode::size).collect();
    let mode = match modes[..] {
        [Mode::Leaf { .. }] => modes.remove(0),
        _ => Mode::Tuple(modes),
    };
    let layout = CuteLayout::new(mode).map_err(|error| error.to_string())?;
    let (element_type, bits) = (tensor.element_type(), tensor.element_bits());
    let prefix = written(element_type, bits, tensor.sizes());
    Ok(if sizes != tensor.sizes() {
        format!("{prefix} {layout}")
    } else if element_type == ElementType::F32 && bits == 32 {
        layout.to_string()
    } else {
        let extents = prefix.find('[').zip(prefix.find(']'));
        let (open, close) = extents.unwrap_or((prefix.len(), prefix.len()));
        format!("{}{} {layout}", &prefix[..open], prefix.get(close + 1..).unwrap_or(""))
    })
}
