//! Windows: boxes of an array that another value replaces, as in pad, dynamic-update-slice and
//! scatter.

use super::pull::{Halt, Pull};
use crate::{
    hlo::PaddingDimension,
    nest::{Index, NestError, WalkRegion},
};

/// The range of a window along one dimension. It begins at `start` and has `extent` places. Every
/// `every`-th of them belongs to the window, beginning with the first.
pub(super) struct WindowRange {
    pub(super) start: Index,
    /// The number of starts at which the window is inside the array. A window that starts at or
    /// after this number is ignored. `None` if the window is never outside.
    pub(super) starts: Option<u64>,
    pub(super) extent: u64,
    pub(super) every: u64,
}

/// Returns the window that the operand of a pad occupies in the result. `extents` are the extents
/// of the operand.
pub(super) fn padded(extents: &[u64], dimensions: &[PaddingDimension]) -> Vec<WindowRange> {
    let window = |(&extent, of): (&u64, &PaddingDimension)| {
        let gaps = extent.saturating_sub(1).saturating_mul(of.interior_padding);
        let every = of.interior_padding.saturating_add(1);
        let start = Index::constant_signed(of.edge_padding_low);
        WindowRange { start, starts: None, extent: extent.saturating_add(gaps), every }
    };
    extents.iter().zip(dimensions).map(window).collect()
}

/// The region inside a window together with the index inside the window, and the region outside.
/// Each is `None` if it is empty.
type WindowSplit = (Option<(WalkRegion, Vec<Index>)>, Option<WalkRegion>);

impl Pull<'_, '_> {
    /// Splits a region into the part whose index is inside a window, and the rest. The rest may
    /// overlap the part inside, so that the cases of the inside must be added first.
    pub(super) fn inside(
        &mut self,
        region: &WalkRegion,
        index: &[Index],
        windows: Vec<WindowRange>,
    ) -> Result<WindowSplit, Halt> {
        let mut inside = region.clone();
        let mut source = Vec::with_capacity(index.len());
        let mut outside = Vec::new();
        let mut is_there = true;
        for (own, WindowRange { start, starts, extent, every }) in index.iter().zip(windows) {
            // Each guard has a meaning only if the guards before it hold. The start is tested
            // first, then the place in the window, then the step.
            if let Some(end) = starts {
                let split = self.assembly.split_region(&inside, &start, 0, end)?;
                outside.extend(split.outside.map(|(region, _)| region));
                let Some((region, _)) = split.inside else {
                    is_there = false;
                    break;
                };
                inside = region;
            }
            let moved = own.plus(-1, &start).ok_or(NestError::PAST_LIMIT)?;
            let split = self.assembly.split_region(&inside, &moved, 0, extent)?;
            outside.extend(split.outside.map(|(region, _)| region));
            let Some((region, mut moved)) = split.inside else {
                is_there = false;
                break;
            };
            inside = region;
            if every > 1 {
                let [step, rest] = self.assembly.divide(&mut inside, &moved, every)?;
                let split = self.assembly.split_region(&inside, &rest, 0, 1)?;
                outside.extend(split.outside.map(|(region, _)| region));
                let Some((region, _)) = split.inside else {
                    is_there = false;
                    break;
                };
                (inside, moved) = (region, step);
            }
            source.push(moved);
        }
        // If a single guard separates the inside from the outside, the rest is exact. With several
        // guards, the rest is the whole region, which is correct because the inside has priority.
        // Without guards there is no rest.
        let outside = match outside.len() {
            0 => None,
            1 if is_there => outside.pop(),
            _ => Some(region.clone()),
        };
        Ok((is_there.then_some((inside, source)), outside))
    }
}
