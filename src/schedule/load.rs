//! How a block reads the source: the width of its loads, and whether words are put together from two.

use super::{Block, CostModel, seam::Start};

/// How a block reads the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Load {
    /// Units of an access.
    pub(super) units: u64,
    /// Accesses of a block.
    pub(super) count: u64,
    /// Whether runs start anywhere in a word: then words are put together from two.
    pub(super) is_shifted: bool,
}

impl Block {
    /// Chooses the width of a load: that of least work by the model's costs of an access and of a word. Where it has none,
    /// as a GPU's, an access costs as much as eight words.
    pub(super) fn choose_load(&mut self, model: &CostModel) {
        let [access, word_cost] = match [model.access, model.word].map(u64::from) {
            [0, 0] => [8, 1],
            costs => costs,
        };
        let offsets = self.offsets();
        let bits = self.nest.src_bits();
        let base = self.src();
        let word = u64::from(32 / bits).max(1);
        let image = self.nest.src_units();
        let first = self.sides.len() - self.run_axes.max(1);
        let moved = if self.start == Start::Computed { self.sides[first].src_stride } else { 0 };
        let fits = |&units: &u64| {
            let by = units.cast_signed();
            (units <= word || image.is_multiple_of(units))
                && moved % by == 0
                && base.terms().iter().all(|term| term.1 % by == 0)
        };
        let load = |units: u64| {
            // Accesses are powers of two; a shift rounds down, below 0 too.
            let place = |offset: &i64| (base.offset() + offset) >> units.trailing_zeros();
            let mut last = None;
            let count =
                offsets.iter().map(place).filter(|&place| last.replace(place) != Some(place));
            Load { units, count: count.count() as u64, is_shifted: false }
        };
        let words = |units: u64| (units * u64::from(bits)).div_ceil(32);
        let least = accesses(bits).map(u64::from).filter(fits).map(load);
        self.load = least
            .min_by_key(|load| load.count * (access + words(load.units) * word_cost))
            .unwrap_or_else(|| {
                let runs = runs(&offsets, word);
                let loads =
                    |run: &(i64, i64)| if run.0 == run.1 { 1 } else { run_words(run, word) + 1 };
                let count = runs.iter().map(loads).sum();
                Load { units: word, count, is_shifted: true }
            });
    }
}

/// Runs of neighbours among sorted offsets, those less than `gap` units apart among them: the first and the last.
#[doc(hidden)]
#[must_use]
pub fn runs(offsets: &[i64], gap: u64) -> Vec<(i64, i64)> {
    let mut runs: Vec<(i64, i64)> = Vec::new();
    for &offset in offsets {
        match runs.last_mut() {
            Some(run) if offset - run.1 <= gap.cast_signed() => run.1 = offset,
            _ => runs.push((offset, offset)),
        }
    }
    runs
}

/// Words of a run, from its first unit on.
#[doc(hidden)]
#[must_use]
pub fn run_words(&(first, last): &(i64, i64), word: u64) -> u64 {
    ((last - first).unsigned_abs() + 1).div_ceil(word)
}

/// Units of accesses of 16, 8 and 4 bytes; none of less than a unit.
pub(super) fn accesses(bits: u32) -> impl Iterator<Item = u32> {
    [128, 64, 32].into_iter().filter(move |&access| access >= bits).map(move |access| access / bits)
}
