//! [`Ranges`]: the indices of one dimension that a device holds, such as `[0,2)∪[4,6)`.

use std::{fmt, sync::Arc};

/// A set of indices in one dimension, stored as ascending ranges with gaps between them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Ranges {
    /// A single range, which may be empty.
    One([(u64, u64); 1]),
    /// At least two nonempty ranges, and the total number of indices in them. The list is
    /// reference-counted so that many transfers of a plan can share it.
    Several { list: Arc<[(u64, u64)]>, len: u64 },
}

impl Ranges {
    pub(crate) fn one(start: u64, limit: u64) -> Self {
        Self::One([(start, limit)])
    }

    /// Creates a set from ascending, nonempty ranges. Adjacent ranges are merged. Without any
    /// ranges, the set is empty.
    pub(crate) fn new(ranges: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut list: Vec<(u64, u64)> = Vec::new();
        for range in ranges {
            match list.last_mut() {
                Some(last) if last.1 == range.0 => last.1 = range.1,
                _ => list.push(range),
            }
        }
        match list[..] {
            [] => Self::one(0, 0),
            [(start, limit)] => Self::one(start, limit),
            _ => {
                let len = list.iter().map(|(start, limit)| limit - start).sum();
                Self::Several { list: list.into(), len }
            }
        }
    }

    pub(crate) fn list(&self) -> &[(u64, u64)] {
        match self {
            Self::One(list) => list,
            Self::Several { list, .. } => list,
        }
    }

    /// Returns the number of indices in the set.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::One([(start, limit)]) => limit - start,
            Self::Several { len, .. } => *len,
        }
    }

    /// Returns the indices that are in both sets.
    pub(super) fn intersection(&self, other: &Self) -> Self {
        if let (Self::One([a]), Self::One([b])) = (self, other) {
            let start = a.0.max(b.0);
            return Self::one(start, a.1.min(b.1).max(start));
        }
        let (mut own, mut others) = (self.list(), other.list());
        let mut both = Vec::new();
        while let ([a, own_rest @ ..], [b, others_rest @ ..]) = (own, others) {
            let (start, limit) = (a.0.max(b.0), a.1.min(b.1));
            if start < limit {
                both.push((start, limit));
            }
            if a.1 <= b.1 {
                own = own_rest;
            } else {
                others = others_rest;
            }
        }
        Self::new(both)
    }

    /// Returns the indices at the positions `first..end` of this set. Positions are counted from 0
    /// in ascending order of the indices.
    pub(super) fn part(&self, first: u64, end: u64) -> Self {
        if let Self::One([(start, _)]) = self {
            return Self::one(start + first, start + end);
        }
        let mut before = 0;
        Self::new(self.list().iter().filter_map(|&(start, limit)| {
            let from = first.max(before);
            let to = end.min(before + (limit - start));
            let part = (from < to).then(|| (start + (from - before), start + (to - before)));
            before += limit - start;
            part
        }))
    }

    /// Replaces each index by its position in `outer`, which must contain this set. Positions are
    /// counted from 0 in ascending order. If `outer` is the set of indices that a shard holds, the
    /// positions are the coordinates in the shard, because a shard has no gaps.
    pub(super) fn within(&self, outer: &Self) -> Self {
        if let (Self::One([(start, limit)]), Self::One([(first, _)])) = (self, outer) {
            return Self::one(start - first, limit - first);
        }
        let mut outer = outer.list();
        let mut before = 0;
        Self::new(self.list().iter().map(|&(start, limit)| {
            while let [around, rest @ ..] = outer
                && around.1 <= start
            {
                before += around.1 - around.0;
                outer = rest;
            }
            let first = before + (start - outer.first().map_or(start, |around| around.0));
            (first, first + (limit - start))
        }))
    }
}

/// Prints the ranges, such as `[0,36)` or `[0,36)∪[72,108)`. To keep long lists readable, only the
/// first two ranges and the last one are printed, and the others are counted.
impl fmt::Display for Ranges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.list() {
            [(start, limit)] => write!(f, "[{start},{limit})"),
            [a, b, middle @ .., last] => {
                write!(f, "[{},{})∪[{},{})", a.0, a.1, b.0, b.1)?;
                if let [only] = middle {
                    write!(f, "∪[{},{})", only.0, only.1)?;
                } else if !middle.is_empty() {
                    write!(f, "∪…{} more…", middle.len())?;
                }
                write!(f, "∪[{},{})", last.0, last.1)
            }
            list => {
                let texts: Vec<_> = list.iter().map(|of| format!("[{},{})", of.0, of.1)).collect();
                f.write_str(&texts.join("∪"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the indices of the bits that are set in `bits`.
    fn of_bits(bits: u64) -> Ranges {
        let is_in = |at: u64| bits >> at & 1 == 1;
        Ranges::new((0..8).filter(|&at| is_in(at)).map(|at| (at, at + 1)))
    }

    fn indices(ranges: &Ranges) -> Vec<u64> {
        ranges.list().iter().flat_map(|&(start, limit)| start..limit).collect()
    }

    /// Compares the operations on every pair of subsets of eight indices with a computation on the
    /// indices one by one.
    #[test]
    fn ranges_are_sets_of_indices() {
        for one in 0..256_u64 {
            let ranges = of_bits(one);
            let all = indices(&ranges);
            assert_eq!(ranges.len(), all.len() as u64);
            assert!(ranges.list().windows(2).all(|pair| pair[0].1 < pair[1].0));
            for first in 0..all.len() {
                for end in first + 1..=all.len() {
                    let part = ranges.part(first as u64, end as u64);
                    assert_eq!(indices(&part), all[first..end]);
                }
            }
            for other in 0..256 {
                let both = ranges.intersection(&of_bits(other));
                let expected: Vec<u64> =
                    all.iter().copied().filter(|at| other >> at & 1 == 1).collect();
                assert_eq!(indices(&both), expected);
                if !expected.is_empty() {
                    let places = expected.iter().map(|at| all.binary_search(at).unwrap() as u64);
                    assert_eq!(indices(&both.within(&ranges)), places.collect::<Vec<_>>());
                }
            }
        }
    }

    #[test]
    fn many_ranges_are_printed_in_short() {
        for (bits, text) in [
            (0b1, "[0,1)"),
            (0b101, "[0,1)∪[2,3)"),
            (0b10101, "[0,1)∪[2,3)∪[4,5)"),
            (0b101_0101, "[0,1)∪[2,3)∪[4,5)∪[6,7)"),
        ] {
            assert_eq!(of_bits(bits).to_string(), text);
        }
        let many = Ranges::new((0..9).map(|at| (2 * at, 2 * at + 1)));
        assert_eq!(many.to_string(), "[0,1)∪[2,3)∪…6 more…∪[16,17)");
    }
}
