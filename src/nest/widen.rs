//! The fourth pass, [`widen`]: runs that both sides share become wider units.

use super::{Bounds, CopyNest, LastRead, Take, Value, coalesce::remove, refine::split_off};

/// The widest unit of a kernel: 16 bytes.
const MAX_BITS: u32 = 128;

/// Makes an inner run that both sides share a wider unit, of up to 16 bytes.
///
/// Doubles the unit as long as the innermost axis has an even extent and moves the source by one unit, and the pair of
/// units falls out of everything else: bases, strides, quotients, guards and the length of the destination's image. Bytes
/// copied stay the same; positions, offsets and fixed bits count wider units.
#[must_use]
pub fn widen(mut nest: CopyNest) -> CopyNest {
    while let Some(wider) = doubled(&nest) {
        nest = wider;
    }
    nest
}

/// The nest with units of twice the bits, where it has one.
fn doubled(nest: &CopyNest) -> Option<CopyNest> {
    let inner = nest.extents.len().checked_sub(1)?;
    let fits = nest.src_bits == nest.dst_bits
        && nest.dst_bits * 2 <= MAX_BITS
        && nest.extents[inner] > 0
        && nest.src().weight(Value::Axis(inner)) == 1
        && nest.dst_base % 2 == 0
        && nest.dst_units.is_multiple_of(2);
    if !fits {
        return None;
    }
    let mut wider = split_off(nest, inner, 2)?;
    let bounds = Bounds::of_guarded(&wider);
    *wider.src_mut() = wider.src().divide(2, |value| bounds.of_value(value))?;
    remove(&mut wider, inner + 1);
    for case in &mut wider.cases {
        if let Take::Bits(bits) = &mut case.take {
            *bits |= *bits << nest.dst_bits;
        }
    }
    (wider.src_bits, wider.dst_bits) = (nest.src_bits * 2, nest.dst_bits * 2);
    wider.dst_base /= 2;
    wider.dst_units /= 2;
    wider.src_units /= 2;
    // Both units of a pair are read, so that the last pair ends at the last unit or before.
    wider.last_read = match nest.last_read {
        LastRead::Unit(last) => {
            last.div_ceil(2).checked_sub(1).map_or(LastRead::Nothing, LastRead::Unit)
        }
        unchanged => unchanged,
    };
    Some(wider)
}
