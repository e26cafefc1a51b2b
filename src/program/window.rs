//! Windows: boxes of an array that another value replaces, as in pad, dynamic-update-slice and
//! scatter.

use super::pull::{Halt, Pull};
use crate::{
    hlo::PaddingDimension,
    nest::{Index, NestError, WalkRegion},
};

/// The range of a window along one dimension. It begins at `start` and covers `extent` indices of
/// the array. Only every `every`-th of these indices belongs to the window, beginning with `start`;
/// the others are interior padding of a `pad`.
pub(super) struct WindowRange {
    pub(super) start: Index,
    /// The number of starts for which the window is inside the array. If `start` is not less than
    /// this number, the window is ignored, as XLA requires of a scatter. `None` if the window is
    /// never outside.
    pub(super) starts: Option<u64>,
    pub(super) extent: u64,
    pub(super) every: u64,
}

/// Returns the window that the operand of a pad occupies in the result of the pad. `extents` are
/// the extents of the operand.
pub(super) fn padded(extents: &[u64], dimensions: &[PaddingDimension]) -> Vec<WindowRange> {
    let window = |(&extent, of): (&u64, &PaddingDimension)| {
        let gaps = extent.saturating_sub(1).saturating_mul(of.interior_padding);
        let every = of.interior_padding.saturating_add(1);
        let start = Index::constant_signed(of.edge_padding_low);
        WindowRange { start, starts: None, extent: extent.saturating_add(gaps), every }
    };
    extents.iter().zip(dimensions).map(window).collect()
}

/// The iterations inside a window, with the index inside the window, and the iterations outside.
/// Each of the two is `None` if it is empty.
type WindowSplit = (Option<(WalkRegion, Vec<Index>)>, Option<WalkRegion>);

impl Pull<'_, '_> {
    /// Splits `region` into the iterations whose `index` is inside a window, and the rest. The rest
    /// may overlap the iterations inside, so the caller must add the cases for the inside first.
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
            // Each guard has a meaning only if the guards before it hold. So the first guard tests
            // the start, the next one the place in the window, and the last one the interior
            // padding.
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
        // If a single guard separates the inside from the outside, the rest is exactly the region
        // in which this guard fails. If there are several guards, the rest is the whole region,
        // which is correct because the cases of the inside have priority. Without guards there is
        // no rest.
        let outside = match outside.len() {
            0 => None,
            1 if is_there => outside.pop(),
            _ => Some(region.clone()),
        };
        Ok((is_there.then_some((inside, source)), outside))
    }
}
