use smallvec::SmallVec;

use super::{CopyNest, Part, part::part};

/// The fewest bytes that parts are cut to: a unit of 16 on each side fits with room to spare.
const MIN_BYTES: u64 = 64;

/// Cuts a copy into parts whose images have at most `max_bytes` each, or 64 where that is more: the runs of the parts,
/// in order, are the destination, whole and without overlap.
///
/// `accept` has the last word on each part: what it refuses is cut further, and what it makes of the others comes with
/// them. A part of one cell that it refuses ends the copy with its error.
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
/// assert_eq!(part.nest.dst_bytes, 245_760 * 128);
/// assert_eq!((part.rows.count(), part.rows.bits), (245_760, 128 * 8));
/// # Ok::<(), stridec::Error>(())
/// ```
pub fn split<T, E, F: FnMut(&CopyNest) -> Result<T, E>>(
    nest: &CopyNest,
    max_bytes: u64,
    accept: F,
) -> Split<'_, F> {
    let whole = Region { first: 0, axis: 0, steps: nest.extents.first().copied().unwrap_or(0) };
    let regions = if nest.dst_elements == 0 { vec![] } else { vec![whole] };
    Split { nest, max_bytes: max_bytes.max(MIN_BYTES), accept, regions }
}

/// The parts of a copy, in the destination's order; see [`split`].
#[derive(Debug)]
pub struct Split<'a, F> {
    nest: &'a CopyNest,
    max_bytes: u64,
    accept: F,
    /// What is left of the walk, the next region last.
    regions: Vec<Region>,
}

/// Positions of the walk from `first`: `steps` steps along `axis`, the axes inside it in full.
#[derive(Clone, Copy, Debug)]
struct Region {
    first: u64,
    axis: usize,
    steps: u64,
}

impl<T, E, F: FnMut(&CopyNest) -> Result<T, E>> Iterator for Split<'_, F> {
    type Item = Result<(Part, T), E>;

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(region) = self.regions.pop() {
            let units = self.units(region);
            // Half of the bytes, so that the rows it reads, with what lies between them, mostly fit.
            let most = self.max_bytes * 4 / u64::from(self.nest.dst_bits);
            if units == 0 {
                continue;
            }
            let steps = if units > most {
                (most / self.inner(region.axis)).min(region.steps)
            } else {
                match part(self.nest, &self.ranges(region), self.max_bytes) {
                    Some(part) => match (self.accept)(&part.nest) {
                        Ok(accepted) => return Some(Ok((part, accepted))),
                        Err(error) if region.steps * self.inner(region.axis) == 1 => {
                            self.regions.clear();
                            return Some(Err(error));
                        }
                        Err(_) => region.steps / 2,
                    },
                    None => region.steps / 2,
                }
            };
            self.cut(region, steps);
        }
        None
    }
}

impl<F> Split<'_, F> {
    /// Positions of one step along an axis.
    fn inner(&self, axis: usize) -> u64 {
        self.nest.extents[axis + 1..].iter().product()
    }

    /// Units of the destination that lie in a region.
    fn units(&self, region: Region) -> u64 {
        let base = self.nest.dst_base.unsigned_abs();
        let end = region.first + region.steps * self.inner(region.axis);
        end.min(base + self.nest.dst_elements).saturating_sub(region.first.max(base))
    }

    /// First position and count of each axis.
    fn ranges(&self, region: Region) -> SmallVec<[(u64, u64); 8]> {
        let mut inner = self.nest.cells();
        let mut rest = region.first;
        let range = |(axis, &extent): (usize, &u64)| {
            inner /= extent;
            let from = rest / inner;
            rest %= inner;
            match axis.cmp(&region.axis) {
                std::cmp::Ordering::Less => (from, 1),
                std::cmp::Ordering::Equal => (from, region.steps),
                std::cmp::Ordering::Greater => (from, extent),
            }
        };
        self.nest.extents.iter().enumerate().map(range).collect()
    }

    /// Puts a region back in two: about `steps` steps, and the rest; one of a single step in steps of the next axis.
    fn cut(&mut self, mut region: Region, steps: u64) {
        let last = self.nest.extents.len() - 1;
        if region.steps == 1 && region.axis < last {
            region.axis += 1;
            region.steps = self.nest.extents[region.axis];
            return self.regions.push(region);
        }
        let bits = self.inner(region.axis) * u64::from(self.nest.dst_bits);
        let steps = even(steps.max(1), bits);
        let rest = region.steps - steps;
        if rest > 0 {
            let first = region.first + steps * self.inner(region.axis);
            self.regions.push(Region { first, steps: rest, ..region });
        }
        self.regions.push(Region { steps, ..region });
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
