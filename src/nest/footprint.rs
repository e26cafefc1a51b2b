//! [`footprint`]: the ranges of steps in which a nest writes its destination.

use smallvec::SmallVec;

use super::{Bounds, CopyNest, Gaps, Value, numbers::signed};

/// Returns a half-open range of steps for each axis, outermost first, such that all writes lie in
/// these ranges. Returns `None` if nothing is written.
///
/// A nest that fills the places between elements writes at every step. If these places keep their
/// bits, the guards of the cases narrow the ranges. A copy into a small window of a large
/// destination therefore visits only the window.
pub(crate) fn footprint(nest: &CopyNest) -> Option<SmallVec<[(i64, i64); 8]>> {
    if nest.extents.contains(&0) {
        return None;
    }
    if nest.gaps == Gaps::Fill {
        return Some(nest.extents.iter().map(|&extent| (0, signed(extent))).collect());
    }
    let mut hull: Option<SmallVec<[(i64, i64); 8]>> = None;
    for bounds in nest.cases.iter().filter_map(|case| Bounds::of_case(nest, case)) {
        let ranges = (0..nest.extents.len()).map(|axis| {
            let (low, high) = bounds.of_value(Value::Axis(axis));
            (low, high + 1)
        });
        hull = Some(match hull {
            None => ranges.collect(),
            Some(hull) => {
                let both = hull.iter().zip(ranges);
                both.map(|(a, b)| (a.0.min(b.0), a.1.max(b.1))).collect()
            }
        });
    }
    hull
}
