//! Parts of a box: a run of its elements, row-major, as boxes.

use crate::sharding::TileBox;

/// The place near `at` where a box is best cut: between rows of as few dimensions as possible, no further than `slack` from it.
pub(super) fn rounded(region: &TileBox, at: u64, slack: u64) -> u64 {
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

/// The boxes of the elements `start..limit` of a box that has elements, row-major; at most two for each dimension, and one.
pub(super) fn run(region: &TileBox, start: u64, limit: u64, found: &mut impl FnMut(TileBox)) {
    if start >= limit {
        return;
    }
    let mut rows = region.elements();
    if (start, limit) == (0, rows) {
        found(region.clone());
        return;
    }
    for dimension in 0..region.ranges().len() {
        let (first, end) = region.ranges()[dimension];
        rows /= end - first;
        if end - first == 1 {
            continue;
        }
        let row = |number: u64| region.with(dimension, (first + number, first + number + 1));
        let (head, tail) = (start.div_ceil(rows), limit / rows);
        if head > tail {
            // Within one row.
            run(&row(tail), start - tail * rows, limit - tail * rows, found);
            return;
        }
        if !start.is_multiple_of(rows) {
            run(&row(head - 1), start % rows, rows, found);
        }
        if head < tail {
            found(region.with(dimension, (first + head, first + tail)));
        }
        if !limit.is_multiple_of(rows) {
            run(&row(tail), 0, limit % rows, found);
        }
        return;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every run of a box, against its elements one by one.
    #[test]
    fn runs_are_the_elements_in_order() {
        let region = TileBox::new([(2, 4), (0, 1), (5, 8), (1, 5)]).unwrap();
        let all: Vec<[u64; 4]> = (2..4)
            .flat_map(|a| (5..8).flat_map(move |c| (1..5).map(move |d| [a, 0, c, d])))
            .collect();
        for start in 0..24_usize {
            for limit in start..=24 {
                let (mut elements, mut boxes) = (Vec::new(), 0);
                run(&region, start as u64, limit as u64, &mut |part| {
                    let [a, b, c, d] = part.ranges() else { panic!("four dimensions") };
                    for a in a.0..a.1 {
                        for b in b.0..b.1 {
                            for c in c.0..c.1 {
                                elements.extend((d.0..d.1).map(|d| [a, b, c, d]));
                            }
                        }
                    }
                    boxes += 1;
                });
                assert_eq!(elements, all[start..limit]);
                assert!(boxes <= 5, "{boxes}");
            }
        }
    }

    #[test]
    fn cuts_move_to_rows_that_are_near() {
        let region = TileBox::new([(0, 10), (0, 100)]).unwrap();
        let cuts = [(498, 2), (503, 2), (505, 5), (0, 0), (999, 1)]
            .map(|(at, slack)| rounded(&region, at, slack));
        assert_eq!(cuts, [500, 503, 500, 0, 1000]);
    }
}
