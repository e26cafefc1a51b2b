//! The fourth pass, [`widen`]: makes each iteration of a nest copy several contiguous elements, so
//! that kernels move up to 16 bytes at a time. The data that an iteration copies is called a
//! *unit*.

use super::{
    Affine, Bounds, CaseValue, CopyNest, LastRead, Value, coalesce::remove, numbers::ACCESS_BYTES,
    refine::split_off,
};

/// Widens the unit that each iteration copies to at most 16 bytes, if units along the innermost
/// axis are contiguous in the source and in the destination.
///
/// The unit is doubled repeatedly. A unit can be doubled if the innermost axis has an even number
/// of steps, each of which reads the next unit of every source, and if 2 divides everything else:
/// bases, strides, quotients, guards and the length of the destination. Offsets and fixed bits then
/// count in wider units. The copied bytes are unchanged. If a single step of the innermost axis is
/// left, the axis is dropped, and the steps of the next axis may be joined too.
#[must_use]
pub fn widen(mut nest: CopyNest) -> CopyNest {
    while let Some(wider) = doubled(&nest) {
        nest = wider;
        let inner = nest.extents.len() - 1;
        if nest.extents[inner] == 1 && inner > 0 {
            remove(&mut nest, inner);
        }
    }
    nest
}

/// Returns the nest with units of twice the width, or `None` if they cannot be doubled.
fn doubled(nest: &CopyNest) -> Option<CopyNest> {
    let inner = nest.extents.len().checked_sub(1)?;
    let stores_next = nest.scattered.as_ref().is_none_or(|scattered| {
        scattered.number.is_none() && scattered.at.weight(Value::Axis(inner)) == 1
    });
    let fits = nest.keeps_units()
        && stores_next
        && u64::from(nest.dst_bits) * 2 <= ACCESS_BYTES * 8
        && nest.extents[inner] > 0
        && reads(nest).next().is_some()
        && reads(nest).all(|(_, at)| at.weight(Value::Axis(inner)) == 1)
        && nest.dst_base % 2 == 0
        && nest.dst_units.is_multiple_of(2);
    if !fits {
        return None;
    }
    let mut wider = split_off(nest, inner, 2)?;
    let bounds = Bounds::of_guarded(&wider);
    for case in &mut wider.cases {
        match &mut case.take {
            CaseValue::Read { at, .. } => *at = at.divide(2, |value| bounds.of_value(value))?,
            CaseValue::Bits(bits) => *bits |= *bits << nest.dst_bits,
        }
    }
    if let Some(scattered) = &mut wider.scattered {
        scattered.at = scattered.at.divide(2, |value| bounds.of_value(value))?;
    }
    remove(&mut wider, inner + 1);
    (wider.src_bits, wider.dst_bits) = (nest.src_bits * 2, nest.dst_bits * 2);
    wider.dst_base /= 2;
    wider.dst_units /= 2;
    for (number, _) in reads(nest) {
        // Each wider unit consists of two units that the nest already reads, so the last wider unit
        // ends with the last unit.
        wider.sources[number].last_read = match nest.sources[number].last_read {
            LastRead::Unit(last) => {
                last.div_ceil(2).checked_sub(1).map_or(LastRead::Nothing, LastRead::Unit)
            }
            unchanged => unchanged,
        };
        wider.sources[number].units = nest.sources[number].units / 2;
    }
    Some(wider)
}

/// Returns the source of each case that reads, and the offset in it.
fn reads(nest: &CopyNest) -> impl Iterator<Item = (usize, &Affine)> {
    nest.cases.iter().filter_map(|case| match &case.take {
        CaseValue::Read { source, at } => Some((*source, at)),
        CaseValue::Bits(_) => None,
    })
}
