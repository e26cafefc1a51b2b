//! Lists the boxes of a nest that read a source, with their strides. Code that copies in the other
//! direction, from the destination of the nest back to its source, uses them; for example,
//! resharding unpacks messages in this way.

use smallvec::SmallVec;

use super::boxes::{Bound, Resolved, WalkBox, resolve};
use crate::nest::{CaseValue, CopyNest, PositionValue, Value};

/// A box of positions that all read the source, at constant strides.
pub(crate) struct ReadBox {
    /// The first position of the box, as a number of the walk.
    pub(crate) position: u64,
    /// The source unit that the first position reads, as an offset in units.
    pub(crate) unit: u64,
    /// The loops over the box, outermost first: the number of steps, the destination stride and the
    /// source stride. Strides are in units.
    pub(crate) steps: SmallVec<[(u64, i64, i64); 8]>,
}

/// Calls `each` for disjoint boxes that together cover every position at which the nest reads a
/// source. Positions that are filled with constants are left out. The nest must not have lookups
/// that read the sources.
pub(crate) fn each_read_box(nest: &CopyNest, mut each: impl FnMut(&ReadBox)) {
    let of = Bound { nest, images: &[] };
    resolve(of, WalkBox::whole(nest), false, &mut |found| {
        let Resolved::Box(walk_box, PositionValue::Unit { unit, .. }, case) = found else { return };
        let CaseValue::Read { at, .. } = &nest.cases()[case].take else { return };
        let (mut position, mut steps) = (0, SmallVec::new());
        for (number, (axis, extent)) in nest.axes().zip(walk_box.extents()).enumerate() {
            position += axis.dst_stride * walk_box.ranges[number].0.unsigned_abs();
            steps.push((
                extent as u64,
                axis.dst_stride.cast_signed(),
                at.weight(Value::Axis(number)),
            ));
        }
        each(&ReadBox { position, unit, steps });
    });
}
