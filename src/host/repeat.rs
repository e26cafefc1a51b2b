//! Finds consecutive boxes, which are ranges of loop steps, at equal distances. They can be moved
//! as one box with one more axis.

use super::boxes::FoundBox;
use crate::nest::PositionValue;

/// A sequence of boxes of equal extents. From each box to the next, the distance is the same, both
/// along one axis and in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Series {
    /// The number of boxes, at least 1.
    pub(super) count: usize,
    /// The axis along which the boxes follow each other, and the distance from each box to the
    /// next: `steps` steps of this axis, and `units` units of the source.
    pub(super) axis: usize,
    pub(super) steps: i64,
    pub(super) units: i64,
}

impl Series {
    /// Returns the longest series at the start of `boxes`, which must not be empty. All boxes of a
    /// series read by the same case, or take the same constant. If the series is a single box, its
    /// steps have no meaning.
    pub(super) fn of(boxes: &[FoundBox]) -> Self {
        let next = |of: &[FoundBox]| {
            let [first, second, ..] = of else { return None };
            let (from, to) = (&first.walk_box, &second.walk_box);
            if first.case != second.case || !from.extents().eq(to.extents()) {
                return None;
            }
            let units = match (first.value, second.value) {
                (PositionValue::Unit { unit: a, .. }, PositionValue::Unit { unit: b, .. }) => {
                    b.cast_signed() - a.cast_signed()
                }
                (PositionValue::Bits(a), PositionValue::Bits(b)) if a == b => 0,
                _ => return None,
            };
            let lows = from.ranges.iter().zip(&to.ranges);
            let mut moved = lows.map(|(a, b)| b.0 - a.0).enumerate().filter(|&(_, by)| by != 0);
            let (axis, steps) = moved.next().filter(|&(_, steps)| steps > 0)?;
            moved.next().is_none().then_some((axis, steps, units))
        };
        let Some(step) = next(boxes) else {
            return Self { count: 1, axis: 0, steps: 0, units: 0 };
        };
        let further = (1..boxes.len()).take_while(|&n| next(&boxes[n..]) == Some(step)).count();
        let (axis, steps, units) = step;
        Self { count: further + 2, axis, steps, units }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::boxes::WalkBox, *};

    #[test]
    fn boxes_that_follow_each_other_by_equal_steps_are_a_series() {
        let of = |rows: (i64, i64), columns: (i64, i64), unit| {
            let walk_box = WalkBox { ranges: [rows, columns].into_iter().collect() };
            FoundBox { walk_box, value: PositionValue::Unit { source: 0, unit }, case: 0 }
        };
        let boxes = [
            of((0, 4), (0, 2), 10),
            of((0, 4), (2, 4), 266),
            of((0, 4), (4, 6), 522),
            of((0, 4), (6, 8), 524),    // elsewhere in the source
            of((4, 8), (8, 10), 780),   // along both axes
            of((4, 8), (10, 13), 1036), // wider
        ];
        let series: Vec<[usize; 2]> = (0..boxes.len())
            .map(|n| Series::of(&boxes[n..]))
            .map(|of| [of.count, of.axis])
            .collect();
        assert_eq!(series, [[3, 1], [2, 1], [2, 1], [1, 0], [1, 0], [1, 0]]);
        let first = Series::of(&boxes);
        assert_eq!((first.steps, first.units), (2, 256));
    }
}
