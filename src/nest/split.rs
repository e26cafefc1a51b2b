//! [`split`] and [`slabs`]: cut a copy into parts of a limited size.
//!
//! A part fills a contiguous range of the destination, so the results of all parts together, one
//! after the other, are the destination. The two functions differ in the sources that a part reads:
//! in `split`, rows of the sources that are packed into smaller buffers; in `slabs`, the whole
//! sources.

use std::cmp::Ordering;

use smallvec::SmallVec;

use super::{
    CopyNest, Part,
    part::{TooWide, part, slab},
};

/// The smallest limit on the size of a part, in bytes. With this limit, a part has room for at
/// least 16 bytes of the source and of the destination, which is the most that one iteration
/// copies.
const MIN_BYTES: u64 = 64;

/// The share of `max_bytes` below which a part with lookups is not cut further. Each part of a
/// gather may read the whole operand, so parts that write much less than they read would upload the
/// operand too often.
const MIN_SHARE: u64 = 256;

/// Cuts a copy into parts that write at most `max_bytes` bytes each, and read at most as many from
/// each of their buffers, for devices that cannot hold the whole copy. A limit below 64 bytes
/// counts as 64. The parts cover the whole destination in order and without overlap.
///
/// `accept` is called with each part. If it returns an error, the part is cut further; otherwise,
/// the part is returned together with the result. If `accept` rejects a part of one position, the
/// iterator returns its error and ends. It also ends if lookups may select any element of a source
/// that is larger than `max_bytes`. Lookups whose values are known are better replaced first, by
/// [`know_lookups`](super::known::know_lookups).
///
/// In a part, outer axes have one step, one axis covers a range of steps, and inner axes are
/// complete. In a transpose, every such range reads a few bytes of each row of the source. Only the
/// pieces of the source's rows that a part reads are packed for it, so that all parts together read
/// the source about once. Most parts differ only in offsets, and many have equal nests.
///
/// The following example cuts a transpose of 60 GiB, 245,760 by 262,144 bytes, into parts of 64
/// MiB. A part reads a piece of 128 bytes from each of the 245,760 rows:
///
/// ```
/// use stridec::{Operation, internals::split};
/// let (from, to) = ("u8[245760,262144]".parse()?, "u8[245760,262144]{0,1}".parse()?);
/// let operation = Operation::relayout(from, to)?;
/// let mut parts = split(operation.nest(), 64 << 20, |_| Ok::<_, ()>(()));
/// let (part, ()) = parts.next().unwrap().unwrap();
/// assert_eq!(part.nest.dst_bytes(), 245_760 * 128);
/// let rows = &part.sources[0][0];
/// assert_eq!((rows.count(), rows.bits), (245_760, 128 * 8));
/// # Ok::<(), stridec::Error>(())
/// ```
///
/// # Panics
///
/// Panics if the nest visits the windows of a scatter.
pub fn split<T, E, F: FnMut(&CopyNest) -> Result<T, E>>(
    nest: &CopyNest,
    max_bytes: u64,
    accept: F,
) -> Split<'_, F> {
    assert!(nest.scattered.is_none(), "the parts of a scatter are no ranges of its destination");
    Split { remaining: Remaining::new(nest), max_bytes: max_bytes.max(MIN_BYTES), accept }
}

/// Cuts a copy into slabs: ranges of at most `max_bytes` bytes of the destination, in order. A
/// limit below 64 bytes counts as 64.
///
/// Each item has a slab, which is a copy that reads the whole source, and the offset of the slab's
/// range in the destination, in bits.
pub fn slabs(nest: &CopyNest, max_bytes: u64) -> impl Iterator<Item = (CopyNest, u64)> + '_ {
    slab_ranges(nest, max_bytes).map(|ranges| slab(nest, &ranges))
}

/// Returns the ranges of steps that [`slabs`] gives to [`slab`], one for each axis. The ranges of a
/// nest also cut every other nest with the same axes and the same destination.
pub(crate) fn slab_ranges(
    nest: &CopyNest,
    max_bytes: u64,
) -> impl Iterator<Item = SlabRanges> + '_ {
    let mut remaining = Remaining::new(nest);
    let most = max_bytes.max(MIN_BYTES) * 8 / u64::from(nest.dst_bits);
    std::iter::from_fn(move || {
        let positions = remaining.next(most)?;
        Some(remaining.ranges(positions))
    })
}

/// The first step and the number of steps along each axis, outermost first.
pub(crate) type SlabRanges = SmallVec<[(u64, u64); 8]>;

/// An iterator over the parts of a copy, in the order of the destination. [`split`] creates it.
#[derive(Debug)]
pub struct Split<'a, F> {
    remaining: Remaining<'a>,
    max_bytes: u64,
    accept: F,
}

/// The reason why [`split`] cannot cut a copy into parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitError<E> {
    /// Even a part of one position was rejected.
    Rejected(E),
    /// Lookups may select any element of this source, and it is too large for a part.
    TooWide {
        /// The index of the source.
        source: usize,
    },
}

impl<T, E, F: FnMut(&CopyNest) -> Result<T, E>> Iterator for Split<'_, F> {
    type Item = Result<(Part, T), SplitError<E>>;

    fn next(&mut self) -> Option<Self::Item> {
        let nest = self.remaining.nest;
        // The range of the destination takes at most half of `max_bytes`. The packed rows of the
        // source, with the padding between them, then usually fit in `max_bytes` too.
        let most = self.max_bytes * 4 / u64::from(nest.dst_bits);
        let least = if nest.lookups.is_empty() { 0 } else { most * 2 / MIN_SHARE };
        while let Some(positions) = self.remaining.next(most) {
            let error = match part(nest, &self.remaining.ranges(positions), self.max_bytes) {
                Ok(part) => match (self.accept)(&part.nest) {
                    Ok(accepted) => return Some(Ok((part, accepted))),
                    Err(error) => SplitError::Rejected(error),
                },
                Err(TooWide { source }) => SplitError::TooWide { source },
            };
            let left = self.remaining.positions(positions);
            if left == 1 || left < least && matches!(error, SplitError::TooWide { .. }) {
                self.remaining.left.clear();
                return Some(Err(error));
            }
            self.remaining.cut(positions, positions.steps / 2);
        }
        None
    }
}

/// A range of iterations: `steps` steps along `axis`, from position `first` on. Axes inside `axis`
/// are complete, so the positions are consecutive.
#[derive(Clone, Copy, Debug)]
struct WalkRange {
    first: u64,
    axis: usize,
    steps: u64,
}

/// The iterations that belong to no part yet.
#[derive(Debug)]
struct Remaining<'a> {
    nest: &'a CopyNest,
    /// The remaining ranges, in reverse order: the last one is the next to be cut.
    left: Vec<WalkRange>,
}

impl<'a> Remaining<'a> {
    fn new(nest: &'a CopyNest) -> Self {
        let whole =
            WalkRange { first: 0, axis: 0, steps: nest.extents.first().copied().unwrap_or(0) };
        Self { nest, left: if nest.dst_units == 0 { vec![] } else { vec![whole] } }
    }

    /// Removes and returns the next range, cut to at most `most` units of the destination. Returns
    /// `None` if no range is left. Ranges without units of the destination are skipped.
    fn next(&mut self, most: u64) -> Option<WalkRange> {
        loop {
            let positions = self.left.pop()?;
            match self.units(positions) {
                0 => {}
                units if units <= most => return Some(positions),
                _ => {
                    let steps = most / self.inner(positions.axis);
                    self.cut(self.without_start(positions, steps), steps);
                }
            }
        }
    }

    /// Drops the steps at the start of a range that lie entirely before the destination. Otherwise
    /// the iterator would have to skip them in pieces of about `steps` steps. The number of dropped
    /// steps is a whole number of such pieces.
    fn without_start(&self, positions: WalkRange, steps: u64) -> WalkRange {
        let inner = self.inner(positions.axis);
        let before = self.nest.dst_base.unsigned_abs().saturating_sub(positions.first) / inner;
        let before = before - before % self.even(positions.axis, steps);
        WalkRange {
            first: positions.first + before * inner,
            steps: positions.steps - before,
            ..positions
        }
    }

    /// Rounds a number of steps along `axis` down with [`even()`], to at least 1.
    fn even(&self, axis: usize, steps: u64) -> u64 {
        even(steps.max(1), self.inner(axis) * u64::from(self.nest.dst_bits))
    }

    /// Returns the number of positions in one step along `axis`.
    fn inner(&self, axis: usize) -> u64 {
        self.nest.extents[axis + 1..].iter().product()
    }

    /// Returns the number of positions in a range, including those outside the destination.
    fn positions(&self, positions: WalkRange) -> u64 {
        positions.steps * self.inner(positions.axis)
    }

    /// Returns the number of units of the destination in a range. Positions outside the destination
    /// do not count.
    fn units(&self, positions: WalkRange) -> u64 {
        let base = self.nest.dst_base.unsigned_abs();
        let end = positions.first + self.positions(positions);
        end.min(base + self.nest.dst_units).saturating_sub(positions.first.max(base))
    }

    /// Returns a range as a first step and a number of steps along each axis, outermost first.
    fn ranges(&self, positions: WalkRange) -> SlabRanges {
        let mut inner = self.nest.positions();
        let mut rest = positions.first;
        let range = |(axis, &extent): (usize, &u64)| {
            inner /= extent;
            let from = rest / inner;
            rest %= inner;
            match axis.cmp(&positions.axis) {
                Ordering::Less => (from, 1),
                Ordering::Equal => (from, positions.steps),
                Ordering::Greater => (from, extent),
            }
        };
        self.nest.extents.iter().enumerate().map(range).collect()
    }

    /// Cuts a range after about `steps` steps and puts both pieces back, so that the first piece is
    /// the next range. A range of one step along its axis instead becomes a range along the next
    /// inner axis, so that it can be cut further.
    fn cut(&mut self, mut positions: WalkRange, steps: u64) {
        if positions.steps == 1 && positions.axis + 1 < self.nest.extents.len() {
            positions.axis += 1;
            positions.steps = self.nest.extents[positions.axis];
            return self.left.push(positions);
        }
        let steps = self.even(positions.axis, steps);
        let rest = positions.steps - steps;
        if rest > 0 {
            let first = positions.first + steps * self.inner(positions.axis);
            self.left.push(WalkRange { first, steps: rest, ..positions });
        }
        self.left.push(WalkRange { steps, ..positions });
    }
}

/// Rounds the number of steps in a piece down, so that kernels can divide the piece into whole
/// blocks. A step has `bits` bits. The result is a multiple of 16 for which the piece is a multiple
/// of 256 bytes. If `steps` is too small for that, the result is a power of two.
fn even(steps: u64, bits: u64) -> u64 {
    let whole = (2048 >> bits.trailing_zeros().min(11)).max(16);
    if steps >= whole { steps - steps % whole } else { 1 << steps.ilog2() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_even() {
        assert_eq!(even(1000, 8), 768);
        assert_eq!(even(1000, 4096), 992);
        assert_eq!(even(1000, 12), 512);
        assert_eq!(even(100, 8), 64);
        assert_eq!(even(1, 8), 1);
    }
}
