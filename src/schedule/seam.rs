//! [`Seam`]: the words that neighbouring rows share, if rows of the destination start inside words
//! or wider accesses.
//!
//! Kernels store whole words. With rows of 7 bytes, for example, word 1 has the last 3 bytes of row
//! 0 and the first byte of row 1. Two invocations must not write one word, because the later store
//! would undo the earlier one. So blocks write only words that belong to a single row. Additional
//! invocations write the words between these blocks, the seam.

use super::{Block, block::BlockAxis, load::accesses};
use crate::nest::{Affine, Value, gcd};

/// The point in a row of the destination at which the first block of the row starts. A *block* is
/// the part of a copy that one invocation moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowAlignment {
    /// At the start of the row, because rows are a whole number of accesses.
    Aligned,
    /// At the first aligned access of the row. Its distance from the start of the row, in steps, is
    /// known at compile time, because it is equal in all blocks.
    Fixed,
    /// At the first aligned access of the row. The kernel computes the distance from the start of
    /// the row.
    Computed,
}

/// The accesses between the blocks of one row and the blocks of the next. Additional invocations
/// write these accesses, because no block does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seam {
    /// The number of rows in the destination. A seam follows the blocks of each row.
    pub rows: u64,
    /// The number of steps in a row.
    pub extent: u64,
    /// The number of steps between two points at which a block can start. The bytes of these steps
    /// are a multiple of an access.
    pub step: u64,
    /// The number of accesses in `step` steps.
    pub words: u64,
    /// The number of accesses that the blocks of a row write, or `None` if they write every access
    /// that is entirely inside the row.
    pub covered: Option<u64>,
    /// The number of accesses in the destination.
    pub end: u64,
}

impl Seam {
    /// Returns the first access that the blocks of a row may write, counted from the start of the
    /// destination. After the last row, this is the end of the destination.
    #[must_use]
    pub fn first(&self, row: u64) -> u64 {
        if row == self.rows {
            self.end
        } else {
            (row * self.extent).div_ceil(self.step) * self.words
        }
    }

    /// Returns the access after the last block of a row, which is the first of its seam.
    #[must_use]
    pub fn after_blocks(&self, row: u64) -> u64 {
        match self.covered {
            Some(covered) => self.first(row) + covered,
            None => (row + 1) * self.extent / self.step * self.words,
        }
    }

    /// Returns the number of rows whose seam is not empty.
    pub(super) fn busy(&self) -> u64 {
        match self.covered {
            Some(_) => self.rows,
            None => self.rows - self.rows / (self.step / gcd(self.extent, self.step)),
        }
    }

    /// Returns the number of accesses in the longest seam.
    #[must_use]
    pub fn longest(&self) -> u64 {
        let longest = |row| self.first(row + 1) - self.after_blocks(row);
        (0..self.rows.min(self.step)).chain([self.rows - 1]).map(longest).max().unwrap_or(0)
    }
}

impl Block {
    /// Chooses the width of stores. If rows start inside an access, also aligns blocks, to at most
    /// `align` bytes. Returns `None` if blocks cannot be aligned.
    pub(super) fn place_stores(&mut self, align: u64) -> Option<()> {
        let bits = self.nest.dst_bits();
        let image = self.nest.dst_units();
        let BlockAxis { covered: extent, dst_stride: unit, .. } =
            self.axes[self.outermost_of_run()];
        let row = unit * extent;
        let run = self.rows();
        let fits = |units: &u64| [run, row, image].iter().all(|n| n.is_multiple_of(*units));
        let (word, aligned) = (u64::from((32 / bits).max(1)), align * 8 / u64::from(bits));
        let store = accesses(bits).map(u64::from).find(fits).or((bits >= 32).then_some(1));
        if let Some(store) = store.filter(|_| aligned <= word || row.is_multiple_of(aligned)) {
            self.store = store;
            return Some(());
        }
        // Rows start inside words or sectors. The blocks of a row start at its first whole word or
        // sector.
        if self.run_axes == 0 || !run.is_multiple_of(word) || aligned > word && image == row {
            return None;
        }
        // If a guard varies inside a block, the kernel moves single units. This is possible only if
        // stores are a fixed number of words apart, and here the distance varies.
        if self.varying_guards().next().is_some() {
            return None;
        }
        let halves = std::iter::successors(Some(aligned.max(word)), |units| Some(units / 2));
        let wider = |units: &u64| aligned <= word || *units > word;
        let mut wholes = halves.take_while(|&units| units >= word && wider(&units));
        let start = wholes.find(|units| self.align_rows(units / gcd(*units, unit)).is_some())?;
        // A store may have several words. The last one may extend past the end of the destination.
        let fits = |units: &u64| start.is_multiple_of(*units) && run.is_multiple_of(*units);
        self.store = accesses(bits).map(u64::from).find(fits).unwrap_or(word);
        // If a block has one store of several words in each of several rows, the last block has it
        // only in some of these rows, because a row that starts late inside an access contains one
        // whole access less than the others.
        let outermost = self.outermost_of_run();
        let block_axis = &mut self.axes[outermost];
        self.cuts_rows = self.row_alignment == RowAlignment::Fixed
            && self.store > word
            && self.store == run
            && self.steps_per_access == block_axis.steps
            && block_axis.src_stride >= 0;
        if self.cuts_rows {
            block_axis.covered = extent / self.steps_per_access * self.steps_per_access;
        }
        Some(())
    }

    /// Makes the blocks of every row start at multiples of `whole` steps. Returns `None` and changes
    /// nothing if this is not possible.
    fn align_rows(&mut self, whole: u64) -> Option<()> {
        let outermost = self.outermost_of_run();
        let BlockAxis { steps, number, inside, dst_stride: unit, .. } = self.axes[outermost];
        let extent = self.nest.extents()[outermost];
        let rows = self.nest.dst_units() / (unit * extent);
        let covered = match rows {
            1 => extent / whole * whole,
            _ => (extent / whole).saturating_sub(1) * whole,
        };
        if covered < steps || steps == extent {
            return None;
        }
        let moves = |form: &Affine| {
            [Some(number), inside]
                .into_iter()
                .flatten()
                .any(|axis| form.weight(Value::Axis(axis)) != 0)
        };
        let quotients = self.tiled.quotients().iter().map(|quotient| &quotient.of);
        if quotients.chain(self.tiled.reading_guards().iter().map(|guard| &guard.of)).any(moves) {
            return None;
        }
        let is_whole = |block_axis: &BlockAxis| {
            (block_axis.dst_stride / unit * block_axis.steps).is_multiple_of(whole)
        };
        let mut others = self.axes[..outermost].iter().filter(|block_axis| block_axis.count() > 1);
        self.row_alignment = match rows {
            1 => RowAlignment::Aligned,
            _ if others.all(is_whole) => RowAlignment::Fixed,
            _ if self.width() == 1 => RowAlignment::Computed,
            _ => return None,
        };
        (self.steps_per_access, self.axes[outermost].covered) = (whole, covered);
        Some(())
    }

    /// Returns the seam that blocks leave to other invocations. Returns `None` if blocks write all
    /// units.
    #[must_use]
    pub fn seam(&self) -> Option<Seam> {
        let outermost = self.outermost_of_run();
        let BlockAxis { covered, dst_stride: unit, .. } = self.axes[outermost];
        let extent = self.nest.extents()[outermost];
        let words = |units: u64| units / self.store;
        (covered < extent || self.cuts_rows).then(|| Seam {
            rows: self.nest.dst_units() / (extent * unit),
            extent,
            step: self.steps_per_access,
            words: words(self.steps_per_access * unit),
            covered: (!self.cuts_rows).then(|| words(covered * unit)),
            end: self.nest.dst_units().div_ceil(self.store),
        })
    }
}
