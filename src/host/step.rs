//! Defines the steps that fill a share, and runs them in order. A *share* is the part of the
//! destination that one thread fills at a time. It consists of *boxes*, ranges of loop steps that
//! are filled in the same way. A step contains every decision about its boxes, so that it can be
//! printed, or run again later without planning.

use std::{fmt, sync::Arc};

use smallvec::SmallVec;

use super::{
    bit_pattern::BitPattern,
    bits::Bits,
    box_copy::{BoxCopy, TileBuffer},
    converted::{ConversionBuffers, ConvertedCopy},
    expanded::ExpandedCopy,
    fill::{Fill, each_start},
    pattern::Pattern,
    pieces::{Destination as _, DestinationSlices},
    plan::TilePlan,
    plane::PlanAxis,
    rows::RowCopy,
    simd::PatternSource,
    staged::{StagedCopy, StagingBuffers},
    stream::Stream,
    task::{Task, has_whole_bytes},
    tile::{byte_index, copy_run},
};

/// The place in a source from which a pattern, a block that is put together in the same way again
/// and again, starts to read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct PatternPlace {
    /// The index of the source, and the byte in it from which offsets are counted.
    pub(super) source: usize,
    pub(super) from: isize,
    /// The factor by which the source distances of the loops are multiplied: a loop that moves by
    /// `d` bytes moves this place by `scale * d`. It is 0 for a place that does not move, such as a
    /// padding value.
    pub(super) scale: isize,
}

/// One step of filling a share. In all variants, `source` is the index of a source, `from` a byte
/// of that source, and `to` an address of the share.
pub(super) enum CopyStep {
    /// Copies a box by a plan.
    Copy { plan: Arc<TilePlan>, source: usize, from: isize, to: isize },
    /// Copies a box of units of at most a byte by a bit pattern.
    Bits { copy: Arc<BitPattern>, source: usize, from: isize, to: isize },
    /// Copies a box through a buffer.
    Staged { copy: Arc<StagedCopy>, source: usize, from: isize, to: isize },
    /// Copies a box whose units change their element type.
    Converted { copy: Arc<ConvertedCopy>, source: usize, from: isize, to: isize },
    /// Copies runs of `bytes` bytes, one at every combination of steps of the axes, which are given
    /// outermost first.
    Runs { axes: SmallVec<[PlanAxis; 4]>, bytes: usize, source: usize, from: isize, to: isize },
    /// Copies a box whose rows are divided between several cases.
    Rows { copy: Arc<RowCopy>, to: isize },
    /// Writes a block of bytes and its repetitions. `places` has an entry for each source that the
    /// block reads.
    Pattern { pattern: Arc<Pattern>, places: SmallVec<[PatternPlace; 2]>, to: isize },
    /// Writes a block of bytes and its repetitions, as `Pattern` does, but through a buffer.
    Expanded { copy: Arc<ExpandedCopy>, places: SmallVec<[PatternPlace; 2]>, to: isize },
    /// Repeats `bytes` bytes that an earlier step wrote: copies them to the `count` places directly
    /// after them. This is done at every combination of steps of the axes, given as (extent,
    /// stride). Broadcasts use this step.
    Again { axes: SmallVec<[(usize, isize); 8]>, bytes: usize, count: usize, to: isize },
    /// Writes one value to all places of a box. The axes are given as (extent, stride).
    Fill { value: FillValue, axes: SmallVec<[(usize, isize); 8]>, to: isize },
}

/// The value of a [`CopyStep::Fill`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FillValue {
    /// Bits that are known when the copy is planned.
    Bits(u128),
    /// The unit that starts at byte `from` of a source, as in a broadcast of a scalar.
    Unit { source: usize, from: isize },
}

impl CopyStep {
    /// Returns the approximate memory that the step occupies without its plan, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let places = match self {
            Self::Pattern { places, .. } | Self::Expanded { places, .. } => {
                size_of_val(&places[..])
            }
            _ => 0,
        };
        size_of::<Self>() + places
    }

    /// Returns the address of the plan, which several steps can share, and the approximate memory
    /// that it occupies, in bytes. Returns `None` if the step has no plan.
    pub(super) fn plan(&self) -> Option<(usize, usize)> {
        Some(match self {
            Self::Copy { plan, .. } => (Arc::as_ptr(plan).addr(), plan.bytes()),
            Self::Bits { copy, .. } => (Arc::as_ptr(copy).addr(), copy.bytes()),
            Self::Staged { copy, .. } => (Arc::as_ptr(copy).addr(), copy.bytes()),
            Self::Converted { copy, .. } => (Arc::as_ptr(copy).addr(), copy.bytes()),
            Self::Pattern { pattern, .. } => (Arc::as_ptr(pattern).addr(), pattern.bytes()),
            Self::Expanded { copy, .. } => (Arc::as_ptr(copy).addr(), copy.bytes()),
            Self::Rows { copy, .. } => (Arc::as_ptr(copy).addr(), copy.bytes()),
            Self::Runs { .. } | Self::Again { .. } | Self::Fill { .. } => return None,
        })
    }
}

impl fmt::Display for CopyStep {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Copy { plan, .. } => write!(f, "{plan}"),
            Self::Bits { copy, .. } => write!(f, "{copy}"),
            Self::Staged { copy, .. } => write!(f, "{copy}"),
            Self::Converted { copy, .. } => write!(f, "{copy}"),
            Self::Runs { axes, bytes, .. } => {
                write!(f, "runs of {bytes} bytes")?;
                axes.iter().try_for_each(|axis| write!(f, ", {} times", axis.extent))
            }
            Self::Rows { copy, .. } => write!(f, "{copy}"),
            Self::Pattern { pattern, .. } => write!(f, "{pattern}"),
            Self::Expanded { copy, .. } => write!(f, "{copy}"),
            Self::Again { axes, bytes, count, .. } => {
                write!(f, "the same {bytes} bytes {count} times more")?;
                axes.iter().try_for_each(|(extent, _)| write!(f, ", {extent} times"))
            }
            Self::Fill { axes, .. } => {
                write!(f, "a value, along")?;
                axes.iter()
                    .filter(|(extent, _)| *extent > 1)
                    .try_for_each(|(extent, stride)| write!(f, " {extent} steps of {stride}"))
            }
        }
    }
}

/// Runs the steps of one share.
pub(super) struct StepRunner<'a, 'b> {
    pub(super) task: &'a Task<'a>,
    pub(super) destination: DestinationSlices<'b>,
    /// The permission to use non-temporal stores, if the share is streamed. The flag is true if all
    /// slices start at the same offset from a cache-line boundary.
    pub(super) stream: Option<(&'a Stream, bool)>,
    room: TileBuffer,
    buffers: StagingBuffers,
    conversion: ConversionBuffers,
}

impl<'a, 'b> StepRunner<'a, 'b> {
    pub(super) fn new(
        task: &'a Task<'a>,
        destination: DestinationSlices<'b>,
        stream: Option<(&'a Stream, bool)>,
    ) -> Self {
        let (room, buffers) = (TileBuffer::default(), StagingBuffers::default());
        let conversion = ConversionBuffers::default();
        Self { task, destination, stream, room, buffers, conversion }
    }

    /// Runs one step.
    pub(super) fn run(&mut self, step: &CopyStep) {
        let task = self.task;
        match *step {
            CopyStep::Copy { ref plan, source, from, to } => {
                self.copy(plan, (task.sources[source], from), to);
            }
            CopyStep::Bits { ref copy, source, from, to } => {
                copy.run((task.sources[source], from), (&mut self.destination, to));
            }
            CopyStep::Staged { ref copy, source, from, to } => {
                let (source, to) = ((task.sources[source], from), (&mut self.destination, to));
                if has_whole_bytes(task.nest) {
                    copy.run_bytes(source, to, &mut self.buffers.source);
                } else {
                    copy.run_packed(Bits::of(task.nest), source, to, &mut self.buffers);
                }
            }
            CopyStep::Converted { ref copy, source, from, to } => {
                let (source, to) = ((task.sources[source], from), (&mut self.destination, to));
                let stream = self.stream.map(|(stream, _)| stream);
                copy.run(source, to, (&mut self.conversion, stream));
            }
            CopyStep::Rows { ref copy, to } => {
                let stream = self.stream.map(|(stream, _)| stream);
                copy.run(task.sources, &mut self.destination, to, stream);
            }
            CopyStep::Pattern { ref pattern, ref places, to } => {
                let stream = self.stream.map(|(stream, _)| stream);
                pattern.run(&sources_at(task, places), &mut self.destination, to, stream);
            }
            CopyStep::Expanded { ref copy, ref places, to } => {
                let places = sources_at(task, places);
                copy.run(&places, &mut self.destination, to, &mut self.buffers);
            }
            CopyStep::Runs { ref axes, bytes, source, from, to } => {
                let source = task.sources[source];
                each_run(axes, from, to, &mut |from, to| {
                    let from = &source[byte_index(from)..][..bytes];
                    copy_run(self.destination.bytes(to, bytes), from);
                });
            }
            CopyStep::Again { ref axes, bytes, count, to } => {
                let stream = self.stream.map(|(stream, _)| stream);
                each_start(axes, to, &mut |to| {
                    let (slice, place) = self.destination.place(to);
                    repeat(&mut slice[place..place + (count + 1) * bytes], bytes, stream);
                });
            }
            CopyStep::Fill { value, ref axes, to } => {
                let value = match value {
                    FillValue::Bits(value) => value,
                    FillValue::Unit { source, from } => {
                        let mut bytes = [0; 16];
                        let unit = &task.sources[source][byte_index(from)..][..task.unit_stride()];
                        bytes[..unit.len()].copy_from_slice(unit);
                        u128::from_le_bytes(bytes)
                    }
                };
                let fill =
                    Fill { bits: task.nest.dst_bits(), unit_stride: task.unit_stride(), value };
                fill.write(axes, to, &mut self.destination);
            }
        }
    }

    /// Copies a box by a plan. `source` is an image and the byte of the first position in it.
    fn copy(&mut self, plan: &TilePlan, (source, from): (&[u8], isize), to: isize) {
        let nest = self.task.nest;
        let (src, dst) = (nest.src_bits(), nest.dst_bits());
        let destination = &mut self.destination;
        if src == dst && dst >= 8 {
            let stream = self.stream.filter(|_| plan.streams);
            let stream = stream.map(|(stream, _)| (stream, &mut self.room));
            BoxCopy { plan, source, destination, stream }.run(from, to);
        } else {
            let stream = self.stream.map(|(stream, _)| stream);
            Bits::of(nest).copy(plan, (source, from), (destination, to), stream);
        }
    }
}

/// Returns the images that a pattern reads, each with its place.
fn sources_at<'a>(task: &Task<'a>, places: &[PatternPlace]) -> SmallVec<[PatternSource<'a>; 8]> {
    let source = |&PatternPlace { source, from, scale }: &PatternPlace| PatternSource {
        image: task.sources[source],
        at: from,
        scale,
    };
    places.iter().map(source).collect()
}

/// The number of bytes that are copied at a time to repeat a shorter row. If a row and its
/// repetitions are shorter than this, a pattern fills them instead. This many bytes fit the
/// first-level cache, and shorter copies would take longer to start than to run.
pub(super) const REPEATED_BYTES: usize = 1 << 13;

/// Fills `row` with repetitions of its first `bytes` bytes.
fn repeat(row: &mut [u8], bytes: usize, stream: Option<&Stream>) {
    let most = bytes.max(REPEATED_BYTES / bytes * bytes);
    let mut done = bytes;
    while done < row.len() {
        let count = done.min(most).min(row.len() - done);
        let (before, after) = row.split_at_mut(done);
        match stream.filter(|_| count >= REPEATED_BYTES / 2) {
            Some(stream) => stream.copy(&mut after[..count], &before[..count]),
            None => copy_run(&mut after[..count], &before[..count]),
        }
        done += count;
    }
}

/// Calls `each` with the source offset and the destination address at every combination of steps of
/// the axes. `from` and `to` belong to step 0 of every axis.
pub(super) fn each_run(
    axes: &[PlanAxis],
    from: isize,
    to: isize,
    each: &mut impl FnMut(isize, isize),
) {
    let [PlanAxis { extent, src, dst }, inner @ ..] = axes else { return each(from, to) };
    for step in 0..extent.cast_signed() {
        each_run(inner, from + step * src, to + step * dst, each);
    }
}
