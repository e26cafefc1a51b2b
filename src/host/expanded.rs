//! Copies blocks through a buffer if their units come from distant places of a source.
//!
//! A *block* is some bytes of the destination that are put together in the same way again and
//! again. It can be a mixture of constants and *units*, which are elements for example, as in a
//! blocked format whose last block is partial. If its units are also transposed, each register
//! needs a load for every unit, and the cache lines of these loads evict each other. Therefore
//! several blocks are put together in two passes. The first pass copies the units to a buffer,
//! without the constants, and transposes them tile by tile. The second pass is a pattern, which
//! fills registers from a few loads of the buffer and inserts the constants.
//!
//! ```text
//! s8[1,32,56,112] abcd to Acdb4a: blocks of c0 0 0 0 c1 0 0 0 … for 32 channels
//! 483 of them: a transpose of 32 rows of 483 bytes to the buffer, and a pattern of 32 bytes to 128
//! ```

use std::fmt;

use smallvec::SmallVec;

use super::{
    machine::Machine,
    pattern::{BlockPart, BlockValue, Pattern},
    pieces::DestinationSlices,
    plane::PlanAxis,
    simd::{PatternLoop, PatternSource, Simd},
    staged::{StagedCopy, StagingBuffers, TileMover, balanced, each_tile, loops_around},
    stream::LINE,
};

/// The maximum size of the buffer, in bytes. The first-level cache holds the buffer together with
/// the lines of both sides.
const BUFFER: usize = 1 << 14;

/// The length at which a run of the destination is long enough, in bytes. Shorter runs leave more
/// partial lines of the destination, which later steps have to complete.
const RUN: usize = 4 * LINE;

/// A copy that puts blocks together through a buffer, in two passes.
#[derive(Clone, Debug)]
pub(super) struct ExpandedCopy {
    /// The loops around the largest set of blocks that the buffer can hold, outermost first.
    loops: SmallVec<[PatternLoop; 8]>,
    /// The first pass: the parts of the blocks that are copied to the buffer.
    parts: Vec<BufferPart>,
    /// The number of bytes of the buffer that are in use.
    size: usize,
    /// The second pass. Its source 0 is the buffer. Its other sources are the sources of the
    /// blocks. It reads these only at fixed places, such as a padding value, because everything
    /// else is in the buffer.
    pattern: Pattern,
}

/// A part of the blocks, with the code that copies it to the buffer.
#[derive(Clone, Debug)]
struct BufferPart {
    /// The index of the source, and the offset of the part in it, in bytes.
    source: usize,
    from: isize,
    /// The offset of the part in the buffer, in bytes.
    to: usize,
    mover: PartMover,
}

/// The code that copies a part of the blocks to the buffer.
#[derive(Clone, Debug)]
enum PartMover {
    Tile(TileMover),
    /// Through another buffer, because a pattern would load a cache line for each unit.
    Staged(Box<StagedCopy>),
}

impl PartMover {
    /// Returns the mover of a part with the given axes, outermost first, in units of `unit` bytes.
    fn new(machine: &'static Machine, axes: &[PlanAxis], (unit, simd): (usize, Simd)) -> Self {
        let tile = TileMover::new(machine, axes, (unit, Some(simd)));
        let staged = tile
            .gathers()
            .then(|| StagedCopy::of_bytes(machine, axes.iter().copied(), unit, Some(simd)));
        match staged.flatten() {
            Some(copy) => Self::Staged(Box::new(copy)),
            None => Self::Tile(tile),
        }
    }

    /// Returns the approximate memory that the mover occupies, in bytes.
    fn bytes(&self) -> usize {
        match self {
            Self::Tile(tile) => tile.bytes(),
            Self::Staged(copy) => copy.bytes(),
        }
    }
}

impl fmt::Display for PartMover {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Tile(tile) => write!(f, "{tile}"),
            Self::Staged(copy) => write!(f, "{copy}"),
        }
    }
}

impl ExpandedCopy {
    /// Returns the copy of blocks that consist of `parts`, in units of `unit` bytes, and are
    /// repeated along `loops`. `scales` has a factor for each source, as in [`Pattern::new`].
    ///
    /// Returns `None` if every step reads the same bytes of the sources, or if the buffer does not
    /// help, because the second pass still needs many loads for each register.
    pub(super) fn new(
        machine: &'static Machine,
        (simd, unit): (Simd, usize),
        parts: &[BlockPart],
        scales: &[isize],
        loops: &[PlanAxis],
    ) -> Option<Self> {
        let moves = |take: BlockValue| match take {
            BlockValue::Unit { source, from } if scales[source] != 0 => Some((source, from)),
            _ => None,
        };
        let moving = || parts.iter().filter_map(|part| Some((part, moves(part.take)?)));
        let block = moving().map(|(part, _)| part.units() * unit).sum::<usize>();
        if block == 0 {
            return None;
        }
        let whole = parts.iter().map(|part| part.units() * unit).sum();
        let (steps, buffer) = steps_in_buffer(loops, (block, whole));
        let mut of_pattern: Vec<BlockPart> = parts.to_vec();
        let (mut to, mut copies) = (0, Vec::new());
        for part in &mut of_pattern {
            let Some((source, from)) = moves(part.take) else {
                if let BlockValue::Unit { source, .. } = &mut part.take {
                    *source += 1;
                }
                continue;
            };
            let length = part.units() * unit;
            // The buffer holds the units of a part without gaps, in the order that they have in the
            // block.
            let mut order: SmallVec<[usize; 8]> = (0..part.axes.len()).collect();
            order.sort_by_key(|&axis| part.axes[axis].dst.abs());
            let (mut axes, mut size) = (part.axes.clone(), unit.cast_signed());
            for axis in order {
                axes[axis].dst = size;
                part.axes[axis].src = size;
                size *= axes[axis].extent.cast_signed();
            }
            let of_loops = loops.iter().zip(&steps).zip(&buffer);
            let around = of_loops.map(|((axis, &extent), &dst)| {
                let src = axis.src * scales[source];
                PlanAxis { extent, src, dst }
            });
            let all: SmallVec<[PlanAxis; 8]> = around.chain(axes).collect();
            let mover = PartMover::new(machine, &all, (unit, simd));
            copies.push(BufferPart { source, from, to, mover });
            part.take = BlockValue::Unit { source: 0, from: to.cast_signed() };
            to += length;
        }
        // In the second pass, only the buffer moves, because the other sources are read at fixed
        // places.
        let of_buffer: SmallVec<[isize; 4]> =
            std::iter::once(1).chain(scales.iter().map(|_| 0)).collect();
        let inner = loops.iter().zip(&steps).zip(&buffer);
        let inner = inner.map(|((axis, &extent), &src)| PlanAxis { extent, src, ..*axis });
        let pattern = Pattern::new(simd, unit, &of_pattern, &of_buffer, inner)?;
        let size = block * steps.iter().product::<usize>();
        let loops = loops_around(loops, &steps);
        (!pattern.gathers()).then_some(Self { loops, parts: copies, size, pattern })
    }

    /// Returns true if the first pass transposes units in registers, and does not copy them row by
    /// row.
    pub(super) fn transposes(&self) -> bool {
        self.parts.iter().any(|part| match &part.mover {
            PartMover::Tile(tile) => tile.transposes(),
            PartMover::Staged(copy) => copy.transposes(),
        })
    }

    /// Writes every block. The first block is read from the place that each source gives, and
    /// written at address `to`. `buffers` provides the memory of the buffer.
    pub(super) fn run(
        &self,
        sources: &[PatternSource],
        destination: &mut DestinationSlices,
        to: isize,
        buffers: &mut StagingBuffers,
    ) {
        let StagingBuffers { source: room, destination: pieces } = buffers;
        room.resize(self.size + 2 * LINE, 0);
        each_tile(&self.loops, 0, to, &mut |moved, to| {
            for part in &self.parts {
                let PatternSource { image, at, scale } = sources[part.source];
                let moved = moved * scale;
                let to = (LINE + part.to).cast_signed();
                let mut buffer = DestinationSlices::whole(room);
                let (source, to) = ((image, at + part.from + moved), (&mut buffer, to));
                match &part.mover {
                    PartMover::Tile(tile) => tile.run(source, to),
                    PartMover::Staged(copy) => copy.run_bytes(source, to, pieces),
                }
            }
            let buffer = PatternSource { image: room, at: LINE.cast_signed(), scale: 1 };
            let others = sources.iter().copied();
            let sources: SmallVec<[PatternSource; 4]> =
                std::iter::once(buffer).chain(others).collect();
            self.pattern.run(&sources, destination, to, None);
        });
    }

    /// Returns the approximate memory that the copy occupies, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let parts = self.parts.iter().map(|part| size_of_val(part) + part.mover.bytes());
        size_of::<Self>() + self.pattern.bytes() + parts.sum::<usize>()
    }
}

/// Chooses the steps of each loop that the buffer holds at a time. Returns, for each loop, their
/// number and the distance between two steps in the buffer, in bytes.
///
/// A block takes `block` bytes in the buffer and `whole` bytes in the destination. The steps are
/// chosen so that they fill a run of at least [`RUN`] bytes of the destination if possible. The
/// remaining room is used for steps that are close together in the source. The buffer has the order
/// of the destination, so that the pattern needs few loads.
fn steps_in_buffer(
    loops: &[PlanAxis],
    (block, whole): (usize, usize),
) -> (SmallVec<[usize; 8]>, SmallVec<[isize; 8]>) {
    let mut steps: SmallVec<[usize; 8]> = SmallVec::from_elem(1, loops.len());
    let mut run = whole;
    while run < RUN
        && let Some(number) = loops.iter().position(|axis| axis.dst == run.cast_signed())
    {
        steps[number] = balanced(loops[number].extent, RUN.div_ceil(run));
        run *= steps[number];
        if steps[number] < loops[number].extent {
            break;
        }
    }
    let ordered = |key: fn(&PlanAxis) -> isize| {
        let moving = (0..loops.len()).filter(|&number| loops[number].src != 0);
        let mut order: SmallVec<[usize; 8]> = moving.collect();
        order.sort_by_key(|&number| key(&loops[number]).abs());
        order
    };
    for number in ordered(|axis| axis.src) {
        let others = block * steps.iter().product::<usize>() / steps[number];
        let fits = balanced(loops[number].extent, BUFFER / others.clamp(1, BUFFER));
        steps[number] = steps[number].max(fits);
    }
    let (mut distances, mut size) = (SmallVec::from_elem(0, loops.len()), block);
    for number in ordered(|axis| axis.dst) {
        distances[number] = size.cast_signed();
        size *= steps[number];
    }
    (steps, distances)
}

impl fmt::Display for ExpandedCopy {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "through a buffer of {} bytes: ", self.size)?;
        for part in &self.parts {
            write!(f, "{}; ", part.mover)?;
        }
        write!(f, "from it a {}", self.pattern)?;
        self.loops.iter().try_for_each(|PatternLoop { times, src, dst, .. }| {
            write!(f, ", {times} times (source {src:+}, destination {dst:+})")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps of several loops together fill a run of the destination, before the rest of the
    /// buffer is used for steps that are close together in the source.
    #[test]
    fn steps_fill_a_run_of_the_destination() {
        let axis = |extent, src, dst| PlanAxis { extent, src, dst };
        let block = 8;
        let loops = [axis(100_000, 1, 1 << 30), axis(1000, 9_000_000, 24), axis(3, 5_000_000, 8)];
        let (steps, distances) = steps_in_buffer(&loops, (block, block));
        assert_eq!(steps[2], 3);
        assert!(steps[1] * 24 >= RUN && steps[0] > 1, "{steps:?}");
        assert!(steps.iter().product::<usize>() * block <= BUFFER, "{steps:?}");
        assert_eq!(distances[1..], [24, 8]);
    }
}
