//! Rows that are put together from several boxes, strip by strip.
//!
//! Where cases divide short rows, as a stack along the innermost axis does, each box writes some bytes of every cache line.
//! What [`weave`](super::weave) does not take, as boxes that are not all alike, is moved here. The walk is cut into strips that stay in the cache until all boxes have written to them. Boxes that lie one after the
//! other along an axis and walk their sources alike become one: what they read of a strip is brought side by side, and
//! moved as from one source, for which there are permutations in registers.
//!
//! ```text
//! pixels of three planes r, g and b, a strip of 1000 pixels:
//! r0 … r999, g0 … g999, b0 … b999 side by side   →   r0 g0 b0 r1 g1 b1 …
//! ```

use smallvec::SmallVec;

use super::{boxes::WalkBox, stream::LINE};
use crate::nest::{Affine, CopyNest, Value};

/// Bytes of a row that is short, at the most, where cases divide it.
const SHORT_ROW: u64 = 1 << 9;

/// Bytes of a strip.
const STRIP: u64 = 1 << 16;

/// Bytes between what two boxes have side by side, at the least: a load of a register may reach as far.
const GAP: usize = 2 * LINE;

/// Bytes brought side by side for each that is moved, at the most.
const MOST_BYTES: usize = 2;

/// Whether guards of a nest divide rows that are short.
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

/// Calls `each` for the strips of a box, in order: steps of one axis, whole along those inside of it.
pub(super) fn each_strip(nest: &CopyNest, walk_box: WalkBox, each: &mut impl FnMut(WalkBox)) {
    let bytes = u64::from(nest.dst_bits() / 8);
    let strides: SmallVec<[u64; 8]> = nest.axes().map(|axis| axis.dst_stride * bytes).collect();
    let axis = strides.iter().position(|&stride| stride < STRIP).unwrap_or(0);
    let steps = strides.get(axis).map_or(1, |stride| (STRIP / stride).max(1)).cast_signed();
    cut(walk_box, 0, axis, steps, each);
}

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

/// A box that reads: a source, the unit that its first position takes, and the case.
#[derive(Clone)]
pub(super) struct Reading {
    pub(super) walk_box: WalkBox,
    pub(super) source: usize,
    pub(super) unit: u64,
    pub(super) case: usize,
}

/// How many boxes from the first on are one after the other along an axis, alike in extents and strides; and the axis.
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

/// What a box reads of an image, as bytes from where its first position reads.
#[derive(Clone, Copy)]
pub(super) struct Reach {
    /// The first byte; 0 or below.
    low: isize,
    length: usize,
    /// Bytes that are moved.
    moved: usize,
}

impl Reach {
    /// That of axes of `(extent, stride)`, with strides in bytes, and units of `unit` bytes.
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

    /// Bytes from what one box reads to what the next one does, when they are brought side by side. `None` where too much
    /// lies between what is read for that.
    pub(super) fn pitch(self) -> Option<usize> {
        (self.length <= self.moved * MOST_BYTES).then_some(self.spread())
    }

    fn spread(self) -> usize {
        self.length.next_multiple_of(LINE) + GAP
    }

    /// The same for so many boxes so far apart that an offset says which of them it lies in; see
    /// [`Weave`](super::weave::Weave). `None` where addresses are not enough.
    pub(super) fn apart(self, boxes: usize) -> Option<isize> {
        let pitch = isize::try_from(self.spread()).ok()?.checked_mul(2)?;
        pitch.checked_mul(isize::try_from(boxes).ok()?).and(Some(pitch))
    }

    /// Where the first position of the first box is then read.
    pub(super) fn from(self) -> isize {
        -self.low
    }

    /// Brings what boxes read from these places on side by side.
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
