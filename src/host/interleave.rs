//! Short rows that are assembled from several boxes, strip by strip.
//!
//! If cases divide short rows, as in a stack along the innermost axis, each box writes a few bytes
//! of every cache line. [`weave`](super::weave) handles boxes of equal form; the others are moved
//! here. The walk is cut into strips, each of which stays in the cache until all boxes have written
//! to it. Boxes that follow each other along an axis, with equal extents and strides, become one:
//! the bytes that they read for a strip are staged in one buffer, and moved from there with
//! permutations in registers.
//!
//! ```text
//! pixels of three planes r, g and b, a strip of 1000 pixels:
//! r0 … r999, g0 … g999, b0 … b999 in one buffer   →   r0 g0 b0 r1 g1 b1 …
//! ```

use smallvec::SmallVec;

use super::{boxes::WalkBox, stream::LINE};
use crate::nest::{Affine, CopyNest, Value};

/// The largest size of a short row, in bytes. Cases that divide longer rows are copied box by box.
const SHORT_ROW: u64 = 1 << 9;

/// The size of a strip, in bytes. A larger strip leaves the cache before all boxes have written to
/// it; a smaller one has more overhead.
const STRIP: u64 = 1 << 16;

/// The least distance between the bytes of two boxes in the buffer. A load of a whole register may
/// read this far past the end.
const GAP: usize = 2 * LINE;

/// The most bytes staged for each byte that is moved. With more, boxes are copied one by one.
const MOST_BYTES: usize = 2;

/// Returns true if guards of a nest divide short rows.
pub(super) fn divides_rows(nest: &CopyNest) -> bool {
    let bytes = u64::from(nest.dst_bits() / 8);
    let mut short = nest.axes().map(|axis| axis.extent * axis.dst_stride * bytes <= SHORT_ROW);
    let axes: SmallVec<[bool; 8]> = short.by_ref().collect();
    let divides = |form: &Affine| {
        form.terms().iter().any(|&(value, _)| match value {
            Value::Axis(axis) => axes[axis],
            Value::Quotient(_) | Value::Lookup(_) => false,
        })
    };
    nest.quotients().is_empty()
        && nest.lookups().is_empty()
        && nest.cases().iter().flat_map(|case| &case.when).any(|guard| divides(&guard.of))
}

/// Calls `each` for the strips of a box, in order. A strip has a few steps of one axis and spans
/// the axes inside it.
pub(super) fn each_strip(nest: &CopyNest, walk_box: WalkBox, each: &mut impl FnMut(WalkBox)) {
    let bytes = u64::from(nest.dst_bits() / 8);
    let strides: SmallVec<[u64; 8]> = nest.axes().map(|axis| axis.dst_stride * bytes).collect();
    let axis = strides.iter().position(|&stride| stride < STRIP).unwrap_or(0);
    let steps = strides.get(axis).map_or(1, |stride| (STRIP / stride).max(1)).cast_signed();
    cut(walk_box, 0, axis, steps, each);
}

/// Calls `each` for the parts of a box with one step along the axes before `last`, and with at most
/// `steps` along `last`.
fn cut(walk_box: WalkBox, axis: usize, last: usize, steps: i64, each: &mut impl FnMut(WalkBox)) {
    let Some(&(low, end)) = walk_box.ranges.get(axis).filter(|_| axis <= last) else {
        return each(walk_box);
    };
    let steps_here = if axis == last { steps } else { 1 };
    let mut at = low;
    while at < end {
        let mut part = walk_box.clone();
        part.ranges[axis] = (at, (at + steps_here).min(end));
        at += steps_here;
        cut(part, axis + 1, last, steps, each);
    }
}

/// A box that reads from a source.
#[derive(Clone)]
pub(super) struct Reading {
    pub(super) walk_box: WalkBox,
    /// The number of the source.
    pub(super) source: usize,
    /// The unit that the first position reads.
    pub(super) unit: u64,
    /// The number of the case.
    pub(super) case: usize,
}

/// Returns the number of leading boxes that follow each other along one axis with equal extents and
/// strides, and that axis.
pub(super) fn alike(
    boxes: &[Reading],
    same_strides: impl Fn(usize, usize) -> bool,
) -> (usize, usize) {
    let [first, second, ..] = boxes else { return (1, 0) };
    let ranges = first.walk_box.ranges.iter().zip(&second.walk_box.ranges);
    let mut differ = ranges.enumerate().filter(|(_, (a, b))| a != b);
    let (Some((axis, _)), None) = (differ.next(), differ.next()) else { return (1, 0) };
    let follows = |pair: &[Reading]| {
        let [(low, end), (next, next_end)] = [0, 1].map(|of| pair[of].walk_box.ranges[axis]);
        let mut ranges = pair[0].walk_box.ranges.iter().zip(&pair[1].walk_box.ranges).enumerate();
        next == end
            && next_end - next == end - low
            && ranges.all(|(number, (a, b))| number == axis || a == b)
            && same_strides(pair[0].case, pair[1].case)
    };
    (1 + boxes.windows(2).take_while(|pair| follows(pair)).count(), axis)
}

/// The bytes of an image that a box reads, relative to the first byte of its first position.
#[derive(Clone, Copy)]
pub(super) struct SourceSpan {
    /// The first byte, at most 0.
    low: isize,
    length: usize,
    /// The number of bytes that are moved.
    moved: usize,
}

impl SourceSpan {
    /// Returns the span of axes of `(extent, stride)`, with strides and the size of a unit in
    /// bytes.
    pub(super) fn of(axes: impl Iterator<Item = (usize, isize)>, unit: usize) -> Self {
        let (mut low, mut high, mut moved) = (0, unit.cast_signed(), unit);
        for (extent, stride) in axes {
            let reach = (extent.cast_signed() - 1) * stride;
            low += reach.min(0);
            high += reach.max(0);
            moved *= extent;
        }
        Self { low, length: (high - low).cast_unsigned(), moved }
    }

    /// Returns the distance between two boxes in the buffer, in bytes; `None` if the span has too
    /// many bytes that are not moved.
    pub(super) fn pitch(self) -> Option<usize> {
        (self.length <= self.moved * MOST_BYTES).then_some(self.spread())
    }

    /// Returns the size of a box in the buffer, in bytes.
    fn spread(self) -> usize {
        self.length.next_multiple_of(LINE) + GAP
    }

    /// Returns the distance of `boxes` boxes whose offsets tell which box they belong to; see
    /// [`Weave`](super::weave::Weave). `None` if addresses are too narrow for that.
    pub(super) fn apart(self, boxes: usize) -> Option<isize> {
        let pitch = isize::try_from(self.spread()).ok()?.checked_mul(2)?;
        pitch.checked_mul(isize::try_from(boxes).ok()?).and(Some(pitch))
    }

    /// Returns the offset in the buffer of the first position of the first box.
    pub(super) fn from(self) -> isize {
        -self.low
    }

    /// Copies the bytes that the boxes read into the buffer `side`. `places` has the source of each
    /// box and the offset of its first position.
    pub(super) fn bring<'a>(
        self,
        places: impl ExactSizeIterator<Item = (&'a [u8], isize)>,
        side: &mut Vec<u8>,
    ) {
        let room = places.len() * self.spread();
        if side.len() < room {
            side.resize(room, 0);
        }
        for ((source, from), to) in places.zip(side.chunks_exact_mut(self.spread())) {
            let from = (from + self.low).cast_unsigned();
            to[..self.length].copy_from_slice(&source[from..from + self.length]);
        }
    }
}
