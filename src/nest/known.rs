//! [`know_lookups`]: replaces lookups whose values are known before the nest runs.

use super::{Affine, CopyNest, Value, numbers::signed};

/// Replaces every lookup that is the same at all positions, such as the start of a dynamic slice,
/// by its value. `images` has the bytes of each source of the nest. The value of every position is
/// unchanged for these bytes.
///
/// A copy that runs in parts then reads only a part of the source, as if the start were constant.
#[must_use]
pub fn know_lookups(mut nest: CopyNest, images: &[&[u8]]) -> CopyNest {
    for number in 0..nest.lookups.len() {
        let lookup = &nest.lookups[number];
        if lookup.is_constant() {
            // No case that applies uses a lookup that would load from outside of its source, so its
            // value does not matter.
            let is_used = lookup.loads_inside(images, Affine::offset);
            let value = if is_used { lookup.value(images, Affine::offset) } else { 0 };
            let value = Affine::constant(signed(value));
            nest.map(|form| {
                form.substitute(Value::Lookup(number), &value);
            });
        }
    }
    drop_unused_lookups(&mut nest);
    nest
}

/// Drops the lookups that no expression contains, and renumbers the others.
pub(super) fn drop_unused_lookups(nest: &mut CopyNest) {
    for number in (0..nest.lookups.len()).rev() {
        if nest.forms().any(|form| form.weight(Value::Lookup(number)) != 0) {
            continue;
        }
        nest.fix_lookup(number, 0);
    }
}
