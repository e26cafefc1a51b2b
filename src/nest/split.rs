//! Cuts a copy into parts that fit a limit of bytes: [`split`] and [`slabs`].

use std::cmp::Ordering;

use smallvec::SmallVec;

use super::{
    CopyNest, Part,
    part::{part, slab},
};

/// The fewest bytes that parts are cut to: a unit of 16 on each side fits with room to spare.
const MIN_BYTES: u64 = 64;

/// Cuts a copy into parts whose images have at most `max_bytes` each, or 64 where that is more: the runs of the parts,
/// in order, are the destination, whole and without overlap.
///
/// `accept` has the last word on each part: what it refuses is cut further, and what it makes of the others comes with
/// them. A part of one position that it refuses ends the copy with its error.
///
/// A run follows the walk: some outer axes stand still, one covers a range, those inside it run in full. In a transpose
/// every run reads from all over the source; there a part's rows are short pieces of all the source's rows, so that the
/// source is read about once in all. Most parts have one form and, where nothing else tells them apart, equal nests.
///
/// 60 GiB of `u8` transposed, 245,760 by 262,144, in parts of 64 MiB:
///
/// ```
/// use stridec::{Operation, nest::split};
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

/// Cuts a copy into slabs whose runs of the destination have at most `max_bytes` each, or 64 where that is more.
///
/// Each slab reads the whole source; with it comes the number of bits of the destination before its run.
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
        // Half of the bytes, so that the rows it reads, with what lies between them, mostly fit.
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

/// WalkRange of the walk from `first`: `steps` steps along `axis`, the axes inside it in full.
#[derive(Clone, Copy, Debug)]
struct WalkRange {
    first: u64,
    axis: usize,
    steps: u64,
}

/// What is left of a walk.
#[derive(Debug)]
struct Remaining<'a> {
    nest: &'a CopyNest,
    /// The next positions last.
    left: Vec<WalkRange>,
}

impl<'a> Remaining<'a> {
    fn new(nest: &'a CopyNest) -> Self {
        let whole =
            WalkRange { first: 0, axis: 0, steps: nest.extents.first().copied().unwrap_or(0) };
        Self { nest, left: if nest.dst_units == 0 { vec![] } else { vec![whole] } }
    }

    /// Takes the next positions off, cut down to at most `most` units of the destination.
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

    /// The positions without the pieces of `steps` steps that lie before the destination, however many they are.
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

    /// About `steps` steps along an axis, such that blocks divide them.
    fn even(&self, axis: usize, steps: u64) -> u64 {
        even(steps.max(1), self.inner(axis) * u64::from(self.nest.dst_bits))
    }

    /// WalkRange of one step along an axis.
    fn inner(&self, axis: usize) -> u64 {
        self.nest.extents[axis + 1..].iter().product()
    }

    /// WalkRange of a positions.
    fn positions(&self, positions: WalkRange) -> u64 {
        positions.steps * self.inner(positions.axis)
    }

    /// Units of the destination that lie in a positions.
    fn units(&self, positions: WalkRange) -> u64 {
        let base = self.nest.dst_base.unsigned_abs();
        let end = positions.first + self.positions(positions);
        end.min(base + self.nest.dst_units).saturating_sub(positions.first.max(base))
    }

    /// First position and count of each axis.
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

    /// Puts a positions back in two: about `steps` steps, and the rest; one of a single step in steps of the next axis.
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

/// At most `steps` steps of `bits` bits each: a multiple of 16 of them and of 256 bytes in all where that can be, so
/// that blocks divide them; else a power of two.
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
