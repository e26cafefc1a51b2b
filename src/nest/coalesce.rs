//! The third pass, [`coalesce`]: axes that continue each other become one.

use super::{Affine, CopyNest, Value};

/// Merges axes that one longer axis can replace, and drops axes of one step, except the last axis.
/// The value of every position is unchanged.
///
/// An outer axis continues an inner one if it has `extent(inner)` times the weight of the inner one
/// in every form: source offsets, quotients and guards. In the destination this is always so,
/// because the walk visits every place.
///
/// `f32[2,3,4]` with source rows padded to 8 has strides 24, 8 and 1, and becomes (6: 8→4) (4:
/// 1→1).
#[must_use]
pub fn coalesce(mut nest: CopyNest) -> CopyNest {
    for axis in (0..nest.extents.len()).rev() {
        if nest.extents[axis] == 1 && nest.extents.len() > 1 {
            remove(&mut nest, axis);
        }
    }
    for outer in (0..nest.extents.len().saturating_sub(1)).rev() {
        if continues(&nest, outer) {
            nest.extents[outer + 1] *= nest.extents[outer];
            remove(&mut nest, outer);
        }
    }
    nest
}

/// Returns true if one step of `outer` is the same as all steps of the next axis, in every form.
fn continues(nest: &CopyNest, outer: usize) -> bool {
    let inner_extent = i128::from(nest.extents[outer + 1]);
    let in_form = |form: &Affine| {
        let weight = |axis| i128::from(form.weight(Value::Axis(axis)));
        weight(outer) == weight(outer + 1) * inner_extent
    };
    nest.forms().all(in_form)
}

/// Removes an axis that is always 0, or that was merged into the next one.
pub(super) fn remove(nest: &mut CopyNest, axis: usize) {
    nest.extents.remove(axis);
    nest.map(|form| {
        form.substitute(Value::Axis(axis), &Affine::default()).rename(|value| match value {
            Value::Axis(number) if number > axis => Value::Axis(number - 1),
            value => value,
        });
    });
}
