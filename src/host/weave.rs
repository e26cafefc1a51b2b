//! Rows that several sources make together, a few bytes of each in turns, woven in registers.
//!
//! A plan for boxes that lie side by side in one image, far apart, says how their rows are shuffled. Each of its loads lies
//! in one of the boxes, so that it can read that box's own image instead.
//!
//! ```text
//! pixels of three planes r, g and b, registers of 16 bytes:
//! r0 g0 b0 r1 g1 b1 … r5  =  16 bytes of r, 16 bytes of g and 16 bytes of b, shuffled and put together
//! ```

use super::{
    box_copy::each_tile_before,
    pieces::Pieces,
    plan::{Plan, Way},
    shuffle::Shuffle,
    simd::Place,
    stream::Stream,
};

/// How rows are woven.
pub(super) struct Weave {
    plan: Plan,
    shuffle: Shuffle,
}

impl Weave {
    /// From a plan for boxes `pitch` bytes apart, more than twice what a box reads and a register besides. `None` where it
    /// shuffles no rows, or none that all boxes have a part of.
    pub(super) fn new(plan: Plan, pitch: isize) -> Option<Self> {
        let Way::Shuffle(shuffle) = &plan.way else { return None };
        let inside = |step: &isize| step.abs() < pitch / 2;
        // A selection that repeats moves on in every box, and from none to the next.
        let stays = inside(&plan.rows.axis.src)
            && plan.columns.src.iter().all(inside)
            && plan.loops.iter().all(|around| inside(&around.src));
        let shuffle = shuffle.of_several(pitch);
        stays.then_some(Self { plan, shuffle })
    }

    /// About how many bytes it takes to remember.
    pub(super) fn bytes(&self) -> usize {
        self.plan.bytes() + self.shuffle.bytes()
    }

    /// Writes the rows from byte `to` on, where each box reads from its place on; past the caches where there is a stream
    /// and their lines allow it.
    pub(super) fn run(
        &self,
        places: &[Place],
        destination: &mut Pieces,
        to: isize,
        stream: Option<&Stream>,
    ) {
        let Self { plan, shuffle } = self;
        let to = to + plan.start.1;
        let stream = stream.filter(|_| plan.streams && plan.streams_rows(shuffle, destination, to));
        each_tile_before(plan, plan.start.0, to, &mut |tile, next| {
            shuffle.rows(places, destination, (&tile, next), stream);
        });
    }
}
