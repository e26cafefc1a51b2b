//! The steps that fill a share, in order.

use std::rc::Rc;

use smallvec::SmallVec;

use super::{
    bits::Bits,
    box_copy::{BoxCopy, TileBuffer},
    fill::Fill,
    interleave::SourceSpan,
    pieces::DestinationSlices,
    plan::TilePlan,
    repeat::Pattern,
    simd::SourceStart,
    stream::Stream,
    task::Task,
    weave::Weave,
};

/// One step of a share. It writes at an address of the share and reads at a byte of a source.
pub(super) enum CopyStep {
    /// Copies a box by a plan.
    Copy { plan: Rc<TilePlan>, source: usize, from: isize, to: isize },
    /// Moves repeating boxes by a pattern.
    Pattern { pattern: Pattern, source: usize, to: isize },
    /// Fills a box of the given extents and strides with one value.
    Fill { value: u128, axes: SmallVec<[(usize, isize); 8]>, to: isize },
    /// Copies the bytes that several boxes read into a staging buffer, and from there as from one
    /// source.
    Staged { plan: Rc<TilePlan>, reach: SourceSpan, places: Vec<(usize, isize)>, to: isize },
    /// Weaves rows from the bytes that several boxes read.
    Weave { weave: Box<Weave>, places: Vec<(usize, isize)>, to: isize },
}

impl CopyStep {
    /// Returns about how many bytes the step occupies.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Copy { plan, .. } => plan.bytes(),
                Self::Pattern { pattern, .. } => pattern.bytes(),
                Self::Fill { .. } => 0,
                Self::Staged { plan, places, .. } => plan.bytes() + size_of_val(&places[..]),
                Self::Weave { weave, places, .. } => weave.bytes() + size_of_val(&places[..]),
            }
    }
}

/// Runs the steps of a share.
pub(super) struct StepRunner<'a, 'b> {
    pub(super) task: &'a Task<'a>,
    pub(super) destination: DestinationSlices<'b>,
    /// The stream, if non-temporal stores are used, and true if all slices have the same alignment
    /// to cache lines.
    pub(super) stream: Option<(&'a Stream, bool)>,
    room: TileBuffer,
    /// The buffer for bytes that several boxes read.
    staging: Vec<u8>,
}

impl<'a, 'b> StepRunner<'a, 'b> {
    pub(super) fn new(
        task: &'a Task<'a>,
        destination: DestinationSlices<'b>,
        stream: Option<(&'a Stream, bool)>,
    ) -> Self {
        Self { task, destination, stream, room: TileBuffer::default(), staging: Vec::new() }
    }

    /// Runs one step.
    pub(super) fn run(&mut self, step: &CopyStep) {
        let task = self.task;
        match *step {
            CopyStep::Copy { ref plan, source, from, to } => {
                self.copy(plan, (task.sources[source], from), to);
            }
            CopyStep::Pattern { ref pattern, source, to } => {
                pattern.run(task.sources[source], 0, &mut self.destination, to);
            }
            CopyStep::Fill { value, ref axes, to } => {
                let fill = Fill { bits: task.nest.dst_bits(), scale: task.scale(), value };
                fill.write(axes, to, &mut self.destination);
            }
            CopyStep::Staged { ref plan, reach, ref places, to } => {
                let mut staging = std::mem::take(&mut self.staging);
                let places = places.iter().map(|&(source, from)| (task.sources[source], from));
                reach.bring(places, &mut staging);
                self.copy(plan, (&staging, reach.from()), to);
                self.staging = staging;
            }
            CopyStep::Weave { ref weave, ref places, to } => {
                let places: SmallVec<[SourceStart; 8]> =
                    places.iter().map(|&(source, from)| (task.sources[source], from)).collect();
                let stream = self.stream.map(|(stream, _)| stream);
                weave.run(&places, &mut self.destination, to, stream);
            }
        }
    }

    /// Copies a box from an image.
    fn copy(&mut self, plan: &TilePlan, (source, from): (&[u8], isize), to: isize) {
        let nest = self.task.nest;
        let (src, dst) = (nest.src_bits(), nest.dst_bits());
        let destination = &mut self.destination;
        if src == dst && dst >= 8 {
            let stream = self.stream.filter(|_| plan.streams);
            let stream = stream.map(|(stream, _)| (stream, &mut self.room));
            BoxCopy { plan, source, destination, stream }.run(from, to);
        } else {
            let bits = Bits { src, dst, sign_extend: nest.sign_extend() };
            let stream = self.stream.map(|(stream, _)| stream);
            bits.copy(plan, (source, from), (destination, to), stream);
        }
    }
}
