//! The third pass, [`coalesce`]: merges two adjacent loops if a step of the outer one only
//! continues the steps of the inner one. Kernels then have fewer divisions, and the innermost loop
//! is long.

use super::{Affine, CopyNest, Value};

/// Merges adjacent axes that one longer axis can replace, and drops axes of one step. At least one
/// axis remains. The value of every position is unchanged.
///
/// Two neighbouring loops can be merged if one step of the outer loop adds the same amount as all
/// steps of the inner loop together, in every source offset, quotient and guard. In the destination
/// this is always true, because the loops visit every place.
///
/// For example, a source `f32[2,3,4]` with rows padded to 8 has strides 24, 8 and 1. Its three axes
/// become two: one of 6 steps, with stride 8 in the source and 4 in a dense destination, and one of
/// 4 steps, with stride 1 in both.
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

/// Returns true if the axes `outer` and `outer + 1` can be merged: in every expression, one step of
/// `outer` adds as much as all steps of the next axis together.
fn continues(nest: &CopyNest, outer: usize) -> bool {
    let inner_extent = i128::from(nest.extents[outer + 1]);
    let in_form = |form: &Affine| {
        let weight = |axis| i128::from(form.weight(Value::Axis(axis)));
        weight(outer) == weight(outer + 1) * inner_extent
    };
    nest.forms().all(in_form)
}

/// Removes an axis from all expressions and renumbers the others. The axis must always be 0 or have
/// been merged into the next axis.
pub(super) fn remove(nest: &mut CopyNest, axis: usize) {
    nest.extents.remove(axis);
    nest.map(|form| {
        form.substitute(Value::Axis(axis), &Affine::default()).rename(|value| match value {
            Value::Axis(number) if number > axis => Value::Axis(number - 1),
            value => value,
        });
    });
}
