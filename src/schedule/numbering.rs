//! How blocks are numbered: the patches of neighbouring blocks that consecutive invocations take.

use smallvec::SmallVec;

use super::{AdapterKind, Block, block::Side};

/// The blocks that consecutive invocations take: so many along the runs of the source, then so many along those of the
/// destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Patch {
    pub(super) src: u64,
    pub(super) dst: u64,
}

impl Patch {
    /// The patches to choose from; the first is that of a block before the choice.
    ///
    /// They move whole memory transactions on a GPU. On a CPU the invocations of a vector store to neighbouring places,
    /// or load from them.
    pub(super) fn all(kind: AdapterKind) -> &'static [Self] {
        match kind {
            AdapterKind::Gpu => &[Self { src: 8, dst: 4 }],
            AdapterKind::Cpu => &[Self { src: 1, dst: 16 }, Self { src: 16, dst: 16 }],
        }
    }
}

/// One digit of a block's number: `extent` values, each `step` positions along an axis of the tiled nest.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lane {
    /// The axis that the digit moves along.
    pub axis: usize,
    /// Number of values.
    pub extent: u64,
    /// Positions that one step of the digit moves.
    pub step: u64,
}

impl Block {
    /// How a block's number gives its position: digits, the fastest first.
    ///
    /// Consecutive invocations take a patch of neighbouring blocks, as the cost model has chosen it.
    #[doc(hidden)]
    #[must_use]
    pub fn lanes(&self) -> SmallVec<[Lane; 8]> {
        let mut by_source: SmallVec<[usize; 8]> =
            (0..self.sides.len()).filter(|&axis| self.sides[axis].src_stride != 0).collect();
        by_source.sort_by_key(|&axis| self.sides[axis].src_stride.unsigned_abs());
        let mut left: SmallVec<[u64; 8]> = self.sides.iter().map(Side::count).collect();
        let mut lanes: SmallVec<[Lane; 8]> = SmallVec::new();
        let mut patch = |axes: &mut dyn Iterator<Item = usize>, mut most: u64| {
            for axis in axes {
                if most == 1 {
                    return;
                }
                // The whole axis, where that is not much more than what a CPU takes.
                let whole = most >= 16 && left[axis] / 2 <= most;
                let divides = |n: &u64| left[axis].is_multiple_of(*n);
                let part =
                    if whole { left[axis] } else { (1..=most).rev().find(divides).unwrap_or(1) };
                let step = self.sides[axis].count() / left[axis];
                lanes.push(Lane { axis, extent: part, step });
                left[axis] /= part;
                most = (most / part).max(1);
                if left[axis] > 1 {
                    return;
                }
            }
        };
        let inner = (0..self.sides.len()).rev();
        patch(&mut by_source.iter().copied(), self.patch.src);
        patch(&mut inner.clone(), self.patch.dst);
        // Behind the patch, the next axis of either side: rows of the source are read on while they are near.
        let src = by_source.iter().copied().find(|&axis| left[axis] > 1);
        let dst = inner.clone().find(|&axis| left[axis] > 1);
        for axis in src.into_iter().chain(dst).chain(inner) {
            let step = self.sides[axis].count() / left[axis];
            lanes.push(Lane { axis, extent: left[axis], step });
            left[axis] = 1;
        }
        lanes.retain(|lane| lane.extent > 1);
        // Digits of one axis that follow each other are one.
        lanes.dedup_by(|next, lane| {
            let follows = next.axis == lane.axis && next.step == lane.step * lane.extent;
            if follows {
                lane.extent *= next.extent;
            }
            follows
        });
        for lane in &mut lanes {
            lane.axis = self.sides[lane.axis].number;
        }
        lanes
    }

    /// The same block, in another patch.
    pub(super) fn set_patch(&mut self, patch: Patch) {
        self.patch = patch;
    }
}
