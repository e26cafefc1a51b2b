//! Weaves rows in registers from several sources that each contribute a few bytes in turn.
//!
//! The rows are planned as if the boxes were in one image, far apart, so that each load of the plan
//! lies in one box. Each load then reads the image of its own box instead.
//!
//! ```text
//! pixels of three planes r, g and b, registers of 16 bytes:
//! r0 g0 b0 r1 g1 b1 … r5  =  16 bytes of r, 16 bytes of g and 16 bytes of b, shuffled and joined
//! ```

use super::{
    box_copy::each_tile_before,
    pieces::DestinationSlices,
    plan::{Mover, TilePlan},
    shuffle::Shuffle,
    simd::SourceStart,
    stream::Stream,
};

/// A plan and a shuffle that weave rows.
pub(super) struct Weave {
    plan: TilePlan,
    shuffle: Shuffle,
}

impl Weave {
    /// Makes a weave from a plan for boxes `pitch` bytes apart, more than twice the bytes that a
    /// box reads and a register in addition. Returns `None` if the plan shuffles no rows, or if a
    /// step leaves its box.
    pub(super) fn new(plan: TilePlan, pitch: isize) -> Option<Self> {
        let Mover::Shuffle(shuffle) = &plan.mover else { return None };
        let inside = |step: &isize| step.abs() < pitch / 2;
        // A selection that repeats moves on inside every box, and never from box to box.
        let stays = inside(&plan.rows.axis.src)
            && plan.columns.src.iter().all(inside)
            && plan.loops.iter().all(|around| inside(&around.src));
        let shuffle = shuffle.for_sources(pitch);
        stays.then_some(Self { plan, shuffle })
    }

    /// Returns about how many bytes the weave occupies.
    pub(super) fn bytes(&self) -> usize {
        self.plan.bytes() + self.shuffle.bytes()
    }

    /// Writes the rows from byte `to`. Each box reads from its own place. Non-temporal stores are
    /// used if there is a stream and the lines of the rows allow it.
    pub(super) fn run(
        &self,
        places: &[SourceStart],
        destination: &mut DestinationSlices,
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
