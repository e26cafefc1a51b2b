//! [`Accesses`]: an estimate of the memory traffic of neighbouring invocations, for the cost model.
//!
//! Invocations that run together share the cache lines of 128 bytes and the sectors of 32 bytes
//! that they touch. For example, 32 invocations that load 4 bytes each touch one line if the bytes
//! are contiguous, and 32 lines if they are 128 bytes apart.

use smallvec::SmallVec;

use crate::nest::gcd;

/// The size of a cache line of a GPU, in bytes.
const LINE_BYTES: u64 = 128;
/// The size of a sector, the least that a GPU transfers, in bytes.
pub(super) const SECTOR_BYTES: u64 = 32;

/// Evenly spaced addresses: their number, and the distance from each to the next, in bytes.
pub(super) type Progression = (u64, u64);

/// The accesses of one invocation to the source or to the destination, and their distances from the
/// accesses of neighbouring invocations.
pub(super) struct Accesses {
    /// The number of accesses.
    pub(super) count: u64,
    /// The size of an access, in bytes.
    pub(super) bytes: u64,
    /// The number of items that the invocation reads or writes. An item is one unit, such as an
    /// element, or one whole access.
    pub(super) moved: u64,
    /// The size of an item, in bytes.
    pub(super) unit: u64,
    /// The addresses of the items of one invocation, as nested loops over evenly spaced addresses.
    /// A sector may hold several items.
    pub(super) inside: SmallVec<[Progression; 4]>,
    /// The distances between the accesses of different invocations. The index of an invocation is
    /// split into counters of nested loops, such as `index % 8` and `index / 8`, the innermost
    /// first. Each entry has the number of values of one counter, and the distance in bytes between
    /// invocations that differ by 1 in it.
    pub(super) outside: SmallVec<[Progression; 8]>,
    /// The number of neighbouring invocations that can share a sector: for loads, the ones that use
    /// the same cache, and for stores, the ones that store at the same time.
    pub(super) together: u64,
    /// The alignment of the first item, in bytes. The distances in `inside` and `outside` may
    /// reduce the alignment of other items.
    pub(super) align: u64,
}

impl Accesses {
    /// Returns the number of cache lines that `lanes` neighbouring invocations touch together, with
    /// one access each.
    pub(super) fn lines(&self, lanes: u64) -> u64 {
        lines(first_lanes(&self.outside, lanes))
    }

    /// Returns the memory traffic for each item, in hundredths of a byte. A sector is transferred
    /// as a whole, so its unused bytes count too.
    pub(super) fn fetched(&self) -> u64 {
        let shared = first_lanes(&self.outside, self.together);
        let mut steps: SmallVec<[Progression; 12]> = shared.collect();
        let cut = self.outside.iter().zip(&steps).filter(|(whole, part)| whole.0 > part.0);
        let mut align =
            cut.fold(self.align, |align, (_, part)| gcd(align, part.0.saturating_mul(part.1)));
        steps.extend(self.inside.iter().copied());
        steps.retain(|step| step.0 > 1);
        steps.sort_unstable_by_key(|step| step.1);
        // Extend a range of memory by the loops over addresses, the ones with the shortest
        // distances first. Stop before the range would contain a sector without an item, because
        // such a sector is not transferred. `span` is the length of the range, and `used` the
        // number of its bytes that belong to items.
        let (mut used, mut span) = (self.unit, self.unit);
        let mut apart = &steps[..];
        while let [(extent, distance), rest @ ..] = apart
            && *distance <= span.max(SECTOR_BYTES)
        {
            span = span.max(extent.saturating_mul(*distance));
            used = used.saturating_mul(*extent).min(span);
            apart = rest;
        }
        align = apart.iter().fold(align, |align, step| gcd(align, step.1));
        // A range that starts inside a sector touches a part of one more sector.
        let fetched = span.max(align) + SECTOR_BYTES - align;
        (100 * self.unit).saturating_mul(fetched) / used
    }
}

/// Returns the number of cache lines that contain the addresses of nested loops.
pub(super) fn lines(steps: impl Iterator<Item = Progression>) -> u64 {
    steps
        .map(|(extent, distance)| (extent * distance.min(LINE_BYTES)).div_ceil(LINE_BYTES).max(1))
        .product()
}

/// Returns the loops of `outside` for the first `lanes` invocations only: each has the number of
/// values that its counter takes there.
pub(super) fn first_lanes(
    digits: &[Progression],
    mut lanes: u64,
) -> impl Iterator<Item = Progression> {
    digits.iter().map(move |&(extent, distance)| {
        let extent = extent.min(lanes);
        lanes = (lanes / extent).max(1);
        (extent, distance)
    })
}

#[cfg(test)]
impl Accesses {
    /// Returns accesses for tests: one access of `bytes` bytes, whose sectors are shared by all
    /// invocations.
    pub(super) fn of(bytes: u64, inside: &[Progression], outside: &[Progression]) -> Self {
        let (inside, outside) = (inside.into(), outside.into());
        Self {
            count: 1,
            bytes,
            moved: 1,
            unit: bytes,
            inside,
            outside,
            together: u64::MAX,
            align: SECTOR_BYTES,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Returns every address of nested loops.
    fn places(steps: &[Progression]) -> Vec<u64> {
        steps.iter().fold(vec![0], |places, &(extent, distance)| {
            places.iter().flat_map(|place| (0..extent).map(move |n| place + n * distance)).collect()
        })
    }

    /// Returns the number of aligned chunks of `size` bytes that accesses of `bytes` bytes touch at
    /// these addresses.
    fn touched(places: &[u64], bytes: u64, size: u64) -> u64 {
        let pieces = |place: &u64| place / size..(place + bytes).div_ceil(size);
        places.iter().flat_map(pieces).collect::<HashSet<_>>().len() as u64
    }

    #[test]
    fn lines_are_those_of_the_first_lanes() {
        for (bytes, outside) in [
            (16, &[(64, 16)][..]),
            (16, &[(8, 16), (4, 4096), (16, 128)]),
            (4, &[(256, 4)]),
            (4, &[(256, 64)]),
            (4, &[(256, 4096)]),
            (8, &[(4, 8), (2, 256), (64, 1024)]),
            (4, &[(2, 4), (1000, 384)]),
            (4, &[(3, 0), (64, 4)]),
        ] {
            for lanes in [8, 32] {
                let first: Vec<Progression> = first_lanes(outside, lanes).collect();
                let expected = touched(&places(&first), bytes, LINE_BYTES);
                assert_eq!(Accesses::of(bytes, &[], outside).lines(lanes), expected, "{outside:?}");
            }
        }
    }

    #[test]
    fn fetched_bytes_are_those_of_the_sectors() {
        for (bytes, inside, outside) in [
            (4, &[][..], &[(1024, 4)][..]),
            (16, &[][..], &[(8, 16), (64, 4096)]),
            (16, &[(4, 4096)], &[(8, 16), (64, 1 << 20)]),
            (4, &[][..], &[(1024, 12)]),
            (4, &[][..], &[(1024, 64)]),
            (4, &[(4, 16)], &[(256, 64)]),
            (4, &[(3, 4)], &[(256, 1024)]),
            (4, &[][..], &[(2, 8), (256, 1024)]),
            (8, &[(2, 8), (2, 16)], &[(512, 32)]),
            (1, &[(4, 1), (8, 256)], &[(64, 4)]),
            (4, &[(1, 6)], &[(1024, 8)]),
        ] {
            let steps: Vec<Progression> = outside.iter().chain(inside).copied().collect();
            let places = places(&steps);
            let sectors = touched(&places, bytes, SECTOR_BYTES) * SECTOR_BYTES;
            let given = Accesses::of(bytes, inside, outside).fetched();
            let expected = 100 * sectors / places.len() as u64;
            assert_eq!(given, expected, "{bytes} {inside:?} {outside:?}");
        }
    }

    /// A row that starts inside a sector counts as the mean number of sectors over all possible
    /// starts.
    #[test]
    fn runs_that_begin_inside_sectors_touch_one_more() {
        for (bytes, outside, align) in [
            (4, &[(2039, 4), (2053, 8156)][..], 4),
            (8, &[(1001, 8), (7, 8008)], 8),
            (4, &[(32, 4), (2048, 4098 * 4)], 8),
            (16, &[(8, 16), (9, 144)], 16),
            (4, &[(2, 4), (64, 1028)], 4),
        ] {
            let given = Accesses { together: 32, ..Accesses::of(bytes, &[], outside) }.fetched();
            let first: Vec<Progression> = first_lanes(outside, 32).take(1).collect();
            let places = places(&first);
            let starts = (0..SECTOR_BYTES).step_by(usize::try_from(align).unwrap());
            let count = starts.clone().count() as u64 * places.len() as u64;
            let sectors: u64 = starts
                .map(|start| {
                    let places: Vec<u64> = places.iter().map(|place| start + place).collect();
                    touched(&places, bytes, SECTOR_BYTES)
                })
                .sum();
            assert_eq!(given, 100 * sectors * SECTOR_BYTES / count, "{bytes} {outside:?}");
        }
    }
}
