//! Lists the boxes of a nest, which are ranges of loop steps, that read its source, with their
//! strides.
//!
//! Resharding needs this list to unpack received messages, because it copies in the other
//! direction: from the destination of a nest back to the source.

use smallvec::SmallVec;

use super::boxes::{NestWithImages, Resolved, Together, WalkBox, resolve};
use crate::nest::{CaseValue, CopyNest, PositionValue, Value};

/// A box of positions that all read the source, at constant strides.
pub(crate) struct ReadBox {
    /// The first position of the box, as the number of an iteration of the whole nest.
    pub(crate) position: u64,
    /// The unit of the source that the first position reads, as an index from the start of the
    /// image.
    pub(crate) unit: u64,
    /// The loops over the box, outermost first, each as (number of steps, destination stride,
    /// source stride). Strides are in units.
    pub(crate) steps: SmallVec<[(u64, i64, i64); 8]>,
}

/// Calls `each` for disjoint boxes that together contain every position at which the nest reads its
/// source. Positions that take constants are left out.
///
/// The nest must have no lookups that read the sources, because the contents of the sources are not
/// given here.
pub(crate) fn each_read_box(nest: &CopyNest, mut each: impl FnMut(&ReadBox)) {
    let of = NestWithImages { nest, images: &[] };
    resolve(of, WalkBox::whole(nest), Together::NOTHING, &mut |found| {
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
