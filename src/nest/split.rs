//! Cuts a copy into parts that fit a limit of bytes: [`split`] and [`slabs`].

use std::cmp::Ordering;

use smallvec::SmallVec;

use super::{
    CopyNest, Part,
    part::{part, slab},
};

/// The least size limit of a part, in bytes: a unit of 16 bytes on each side fits easily.
const MIN_BYTES: u64 = 64;

/// Cuts a copy into parts whose images have at most `max_bytes` bytes each, but at least 64. The
/// runs of the parts, in order, are the whole destination, without overlap.
///
/// `accept` decides on each part: a part that it refuses is cut further, and its result for the
/// others is returned with them. If it refuses a part of one position, the iterator ends with its
/// error.
///
/// A run follows the walk: outer axes are fixed, one axis covers a range, and inner axes run in
/// full. In a transpose every run reads from all over the source; the rows of a part are then short
/// pieces of all the source's rows, so that the source is read about once in total. Most parts have
/// one form, and many have equal nests.
///
/// A transpose of 60 GiB of `u8`, 245,760 by 262,144, in parts of 64 MiB:
///
/// ```
/// use stridec::{Operation, internals::split};
/// let (from, to) = ("u8[245760,262144]".parse()?, "u8[245760,262144]{0,1}".parse()?);
/// let operation = Operation::relayout(from, to)?;
/// let mut parts = split(operation.nest(), 64 << 20, |_| Ok::<_, ()>(()));
/// let (part, ()) = parts.next().unwrap().unwrap();
/// assert_eq!(part.nest.dst_bytes(), 245_760 * 128);
/// assert_eq!((part.rows.count(), part.rows.bits), (245_760, 128 * 8));
/// # Ok::<(), stridec::Error>(())
/// ```
pub fn split<T, E, F: FnMut(&CopyNest) -> Result<T, E>>(
    nest: &CopyNest,
    max_bytes: u64,
    accept: F,
) -> Split<'_, F> {
    Split { remaining: Remaining::new(nest), max_bytes: max_bytes.max(MIN_BYTES), accept }
}

/// Cuts a copy into slabs whose runs of the destination have at most `max_bytes` bytes each, but at
/// least 64.
///
/// Each slab reads the whole source. It is returned with the offset of its run in the destination,
/// in bits.
pub fn slabs(nest: &CopyNest, max_bytes: u64) -> impl Iterator<Item = (CopyNest, u64)> + '_ {
    let mut remaining = Remaining::new(nest);
    let most = max_bytes.max(MIN_BYTES) * 8 / u64::from(nest.dst_bits);
    std::iter::from_fn(move || {
        let positions = remaining.next(most)?;
        Some(slab(nest, &remaining.ranges(positions)))
    })
}

/// The parts of a copy, in the destination's order; see [`split`].
#[derive(Debug)]
pub struct Split<'a, F> {
    remaining: Remaining<'a>,
    max_bytes: u64,
    accept: F,
}

impl<T, E, F: FnMut(&CopyNest) -> Result<T, E>> Iterator for Split<'_, F> {
    type Item = Result<(Part, T), E>;

    fn next(&mut self) -> Option<Self::Item> {
        let nest = self.remaining.nest;
        // Half of the bytes, so that the rows of the source, including the bytes between them,
        // usually fit.
        let most = self.max_bytes * 4 / u64::from(nest.dst_bits);
        while let Some(positions) = self.remaining.next(most) {
            if let Some(part) = part(nest, &self.remaining.ranges(positions), self.max_bytes) {
                match (self.accept)(&part.nest) {
                    Ok(accepted) => return Some(Ok((part, accepted))),
                    Err(error) if self.remaining.positions(positions) == 1 => {
                        self.remaining.left.clear();
                        return Some(Err(error));
                    }
                    Err(_) => {}
                }
            }
            self.remaining.cut(positions, positions.steps / 2);
        }
        None
    }
}

/// A range of positions of the walk: from `first`, `steps` steps along `axis`, with the inner axes
/// in full.
#[derive(Clone, Copy, Debug)]
struct WalkRange {
    first: u64,
    axis: usize,
    steps: u64,
}

/// The part of a walk that is still to be cut.
#[derive(Debug)]
struct Remaining<'a> {
    nest: &'a CopyNest,
    /// The ranges; the next one is the last.
    left: Vec<WalkRange>,
}

impl<'a> Remaining<'a> {
    fn new(nest: &'a CopyNest) -> Self {
        let whole =
            WalkRange { first: 0, axis: 0, steps: nest.extents.first().copied().unwrap_or(0) };
        Self { nest, left: if nest.dst_units == 0 { vec![] } else { vec![whole] } }
    }

    /// Removes and returns the next range, cut to at most `most` units of the destination.
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

    /// Removes the pieces of `steps` steps before the start of the destination, without a loop over
    /// them.
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

    /// Returns about `steps` steps along an axis, such that blocks divide them.
    fn even(&self, axis: usize, steps: u64) -> u64 {
        even(steps.max(1), self.inner(axis) * u64::from(self.nest.dst_bits))
    }

    /// Returns the number of positions in one step along an axis.
    fn inner(&self, axis: usize) -> u64 {
        self.nest.extents[axis + 1..].iter().product()
    }

    /// Returns the number of positions in a range.
    fn positions(&self, positions: WalkRange) -> u64 {
        positions.steps * self.inner(positions.axis)
    }

    /// Returns the number of units of the destination in a range.
    fn units(&self, positions: WalkRange) -> u64 {
        let base = self.nest.dst_base.unsigned_abs();
        let end = positions.first + self.positions(positions);
        end.min(base + self.nest.dst_units).saturating_sub(positions.first.max(base))
    }

    /// Returns the first position and the count of each axis.
    fn ranges(&self, positions: WalkRange) -> SmallVec<[(u64, u64); 8]> {
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

    /// Cuts a range in two and puts both back: about `steps` steps, and the rest. A range of one
    /// step is cut along the next axis.
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

/// Returns at most `steps` steps of `bits` bits each: a multiple of 16 steps and of 256 bytes if
/// possible, so that blocks divide them; otherwise a power of two.
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
