//! Chooses the indices to draw along a dimension that has too many. Draws some at the start and
//! some at the end, with the number of hidden ones between them.

use std::collections::BTreeSet;

/// An entry along a dimension of which only some indices are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// An index that is drawn.
    At(u64),
    /// A number of hidden indices.
    Gap(u64),
}

/// Chooses at most `budget` entries to draw for the indices `0..extent`. If not all indices fit,
/// takes the first and the last one, then indices around `cuts` and around the end of the first box
/// of each tile, and finally more from the front while there is room. Gaps between these indices
/// are entries with the number of hidden indices.
///
/// `periods` contains the extents of the boxes that tiles form, coarse to fine. `cuts` contains the
/// indices at which the source of elements changes.
pub(super) fn choose(extent: u64, budget: usize, periods: &[u64], cuts: &[u64]) -> Vec<Item> {
    let budget = budget.max(3);
    if usize::try_from(extent).is_ok_and(|extent| extent <= budget) {
        return (0..extent).map(Item::At).collect();
    }
    let last = extent - 1;
    let mut candidates = vec![0, last];
    candidates.extend(cuts.iter().flat_map(|&cut| [cut.saturating_sub(1), cut]));
    candidates.push(1);
    for &period in periods.iter().filter(|&&period| period > 1 && period < extent) {
        candidates.extend([period - 1, period]);
    }
    candidates.extend([2, last - 1, 3]);
    candidates.extend(periods.iter().map(|period| period + 1));
    candidates.extend(4..4 + budget as u64);
    let mut chosen = BTreeSet::new();
    for candidate in candidates.into_iter().filter(|&candidate| candidate <= last) {
        chosen.insert(candidate);
        if items(&chosen, extent).len() > budget {
            chosen.remove(&candidate);
        }
    }
    items(&chosen, extent)
}

/// Converts indices to entries, with gaps between them. If only one index would be hidden, it is
/// shown instead of a gap, because it takes no more room.
fn items(chosen: &BTreeSet<u64>, extent: u64) -> Vec<Item> {
    let mut items = vec![];
    let mut next = 0;
    for &index in chosen.iter().chain([&extent]) {
        match index - next {
            0 => {}
            1 => items.push(Item::At(next)),
            hidden => items.push(Item::Gap(hidden)),
        }
        if index < extent {
            items.push(Item::At(index));
        }
        next = index + 1;
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_and_hidden_together_are_the_extent() {
        for extent in 0..300 {
            for budget in 3..20 {
                let items = choose(extent, budget, &[128, 8], &[extent / 3]);
                assert!(items.len() <= budget, "{extent} {budget}: {items:?}");
                let mut next = 0;
                for item in items {
                    match item {
                        Item::At(index) => {
                            assert_eq!(index, next);
                            next += 1;
                        }
                        Item::Gap(hidden) => next += hidden,
                    }
                }
                assert_eq!(next, extent);
            }
        }
    }

    #[test]
    fn the_end_of_a_tile_is_shown() {
        use Item::{At, Gap};
        let items = choose(256, 9, &[128], &[]);
        assert_eq!(
            items,
            [At(0), At(1), At(2), Gap(124), At(127), At(128), Gap(125), At(254), At(255)]
        );
    }
}
