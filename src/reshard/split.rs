//! Cuts regions into smaller regions at given elements, because several senders may share a region
//! and a message holds a limited number of elements.

use crate::sharding::Region;

/// Returns the row-major index of the element at which to cut `region`. The index is at most
/// `slack` away from `at`, and is chosen so that the two parts consist of few boxes. In three
/// dimensions, for example, the cut is at the end of a plane if one is near enough, else at the end
/// of a row, else at `at`.
pub(super) fn near_row_end(region: &Region, at: u64, slack: u64) -> u64 {
    let mut rows = region.elements();
    for size in region.sizes() {
        rows /= size;
        let (below, rest) = (at / rows * rows, at % rows);
        if rest <= slack {
            return below;
        }
        if rows - rest <= slack {
            return below + rows;
        }
    }
    at
}

/// Splits the elements of `region` with row-major indices `start..limit` into smaller regions, and
/// calls `found` with each in order. `region` must not be empty. There are at most two regions for
/// each dimension, plus one for the middle.
pub(super) fn each_part(region: &Region, start: u64, limit: u64, found: &mut impl FnMut(Region)) {
    if start >= limit {
        return;
    }
    let mut rows = region.elements();
    if (start, limit) == (0, rows) {
        found(region.clone());
        return;
    }
    for (dimension, size) in region.sizes().enumerate() {
        rows /= size;
        if size == 1 {
            continue;
        }
        let row = |number: u64| region.with(dimension, number, number + 1);
        let (head, tail) = (start.div_ceil(rows), limit / rows);
        if head > tail {
            // Both ends lie in the same row.
            each_part(&row(tail), start - tail * rows, limit - tail * rows, found);
            return;
        }
        if !start.is_multiple_of(rows) {
            each_part(&row(head - 1), start % rows, rows, found);
        }
        if head < tail {
            found(region.with(dimension, head, tail));
        }
        if !limit.is_multiple_of(rows) {
            each_part(&row(tail), 0, limit % rows, found);
        }
        return;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sharding::{Ranges, TileBox};

    /// Splits a region at every `start..limit`, and compares the result with a list of the
    /// elements.
    #[test]
    fn runs_are_the_elements_in_order() {
        let lists: [&[(u64, u64)]; 4] = [&[(2, 4)], &[(0, 1)], &[(5, 7), (9, 10)], &[(1, 5)]];
        let region = Region::new(lists.map(|list| Ranges::new(list.iter().copied())));
        let elements = |part: &Region| {
            let indices = |dimension: usize| -> Vec<u64> {
                part.ranges(dimension).list().iter().flat_map(|&(from, to)| from..to).collect()
            };
            let mut elements = vec![vec![]];
            for dimension in 0..4 {
                let with = |before: &Vec<u64>| {
                    let before = before.clone();
                    indices(dimension).into_iter().map(move |at| [&before[..], &[at]].concat())
                };
                elements = elements.iter().flat_map(with).collect::<Vec<_>>();
            }
            elements
        };
        let all = elements(&region);
        assert_eq!(all.len(), 24);
        for start in 0..24_usize {
            for limit in start..=24 {
                let (mut found, mut parts) = (Vec::new(), 0);
                each_part(&region, start as u64, limit as u64, &mut |part| {
                    found.extend(elements(&part));
                    parts += 1;
                });
                assert_eq!(found, all[start..limit]);
                assert!(parts <= 5, "{parts}");
            }
        }
    }

    #[test]
    fn cuts_move_to_rows_that_are_near() {
        let region = Region::from(&TileBox::new([(0, 10), (0, 100)]).unwrap());
        let cuts = [(498, 2), (503, 2), (505, 5), (0, 0), (999, 1)]
            .map(|(at, slack)| near_row_end(&region, at, slack));
        assert_eq!(cuts, [500, 503, 500, 0, 1000]);
    }
}
