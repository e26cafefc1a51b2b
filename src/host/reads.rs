//! [`reads`]: a nest as boxes of positions, for those who walk it the other way.

use smallvec::SmallVec;

use super::boxes::{Bound, Resolved, WalkBox, resolve};
use crate::nest::{CaseValue, CopyNest, PositionValue, Value};

/// A box of positions that read units at steps of their own.
pub(crate) struct Reads {
    /// The first position.
    pub(crate) position: u64,
    /// The unit of the source that it reads.
    pub(crate) unit: u64,
    /// For each axis, outermost first: how many steps, and how far each leads in the destination and in the source.
    pub(crate) steps: SmallVec<[(u64, i64, i64); 8]>,
}

/// Calls `each` for boxes that cover the positions of a nest without lookups that read, each once.
pub(crate) fn reads(nest: &CopyNest, mut each: impl FnMut(&Reads)) {
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
        each(&Reads { position, unit, steps });
    });
}
