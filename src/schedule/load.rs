//! Chooses how an invocation reads its part of the source: the width of its loads, and if loaded
//! values are shifted into place.
//!
//! A run of bytes that starts inside a word can be read byte by byte, with a load and a mask for
//! each byte, or in whole words that are then shifted. The cheaper way depends on the adapter, so
//! the cost model decides. Offsets and widths count *units*, the elements, or parts of elements,
//! that the nest copies at a time.

use super::{Block, CostModel, seam::RowAlignment};
use crate::nest::ACCESS_BYTES;

/// The loads with which a block reads its part of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Load {
    /// The number of units in one load.
    pub(super) units: u64,
    /// The number of loads of a block.
    pub(super) count: u64,
    /// True if contiguous runs of the source may start inside a load. Each value is then combined
    /// from two loads.
    pub(super) is_shifted: bool,
}

impl Load {
    /// Returns the number of operations that shift the value of one access into place. `bits` is
    /// the width of a unit.
    ///
    /// A word takes two shifts and an `or`. A value of several words is first shifted by whole
    /// words, which takes two `select`s for each of its words, and for one word more.
    pub(super) fn shifting(&self, bits: u32) -> u64 {
        let words = (self.units * u64::from(bits)).div_ceil(32);
        match (self.is_shifted, words, bits) {
            (false, ..) => 0,
            (true, 1, _) => 4,
            (true, _, 32..) => 10,
            (true, ..) => 10 + 4 * words,
        }
    }
}

impl Block {
    /// Chooses the loads with the lowest estimated cost in accesses, words and operations.
    ///
    /// Accesses are aligned to their width. If accesses have a cost in the model, values may also
    /// be read with wide accesses and shifted into place, because fewer accesses may be worth the
    /// shifts. If neither accesses nor words have a cost, an access counts like eight words.
    pub(super) fn choose_load(&mut self, model: &CostModel) {
        let [access, word_cost] = match [model.access, model.word].map(u64::from) {
            [0, 0] => [8, 1],
            // As in the cost model, an access takes an operation for its address and one for its
            // value.
            [access, word] => [access + 2000, word],
        };
        let offsets = self.offsets();
        let bits = self.nest.src_bits();
        let base = self.src();
        let word = u64::from(32 / bits).max(1);
        let image = self.nest.src_units();
        let first = self.axes.len() - self.run_axes.max(1);
        let moved = if self.row_alignment == RowAlignment::Computed {
            self.axes[first].src_stride
        } else {
            0
        };
        let may_pass = self.may_pass_ends();
        let is_bound = |units: u64| units <= word || may_pass || image.is_multiple_of(units);
        let fits = |&units: &u64| {
            let by = units.cast_signed();
            is_bound(units) && moved % by == 0 && base.terms().iter().all(|term| term.1 % by == 0)
        };
        let whole = |units: u64| {
            // This divides by the width of an access, a power of two. A shift, unlike a division,
            // rounds negative offsets down too.
            let place = |offset: &i64| (base.offset() + offset) >> units.trailing_zeros();
            let mut last = None;
            let count =
                offsets.iter().map(place).filter(|&place| last.replace(place) != Some(place));
            Load { units, count: count.count() as u64, is_shifted: false }
        };
        let shifted = |units: u64| {
            let runs = runs(&offsets, units);
            let count = runs.iter().map(|run| shifted_accesses(run, units)).sum();
            Load { units, count, is_shifted: true }
        };
        let wide = ACCESS_BYTES * 8 / u64::from(bits);
        let may_be_wide = model.access > 0 && bits <= 32 && is_bound(wide);
        let narrow = (!fits(&word)).then_some(word);
        let widths = accesses(bits).map(u64::from);
        let all = widths.filter(fits).map(whole);
        let all = all.chain(narrow.into_iter().chain(may_be_wide.then_some(wide)).map(shifted));
        let work = |load: &Load| {
            let words = (load.units * u64::from(bits)).div_ceil(32);
            load.count * (access + words * word_cost + 1000 * load.shifting(bits))
        };
        self.load = all.min_by_key(work).expect("words are loaded as they are, or shifted");
    }
}

/// Returns the number of accesses of `units` units that load a run, if the run may start inside an
/// access. Usually it is one more than the number of values of `units` units in the run, because
/// the first and the last access are used only in part. If the last value has only one unit, no
/// additional access is needed.
pub(crate) fn shifted_accesses(run: &(i64, i64), units: u64) -> u64 {
    let values = run_words(run, units);
    let is_single = (run.1 - run.0).unsigned_abs().is_multiple_of(units);
    if is_single { values } else { values + 1 }
}

/// Splits sorted offsets into runs at distances of more than `gap` units. Returns the first and the
/// last offset of each run.
pub(crate) fn runs(offsets: &[i64], gap: u64) -> Vec<(i64, i64)> {
    let mut runs: Vec<(i64, i64)> = Vec::new();
    for &offset in offsets {
        match runs.last_mut() {
            Some(run) if offset - run.1 <= gap.cast_signed() => run.1 = offset,
            _ => runs.push((offset, offset)),
        }
    }
    runs
}

/// Returns the number of accesses of `word` units that cover a run, if the first access starts with
/// the run.
pub(crate) fn run_words(&(first, last): &(i64, i64), word: u64) -> u64 {
    ((last - first).unsigned_abs() + 1).div_ceil(word)
}

/// Returns the possible widths of an access, 16, 8 and 4 bytes, in units of `bits` bits. Widths
/// below one unit are left out.
pub(super) fn accesses(bits: u32) -> impl Iterator<Item = u32> {
    [128, 64, 32].into_iter().filter(move |&access| access >= bits).map(move |access| access / bits)
}
