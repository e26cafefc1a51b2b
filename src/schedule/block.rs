//! [`Block`]: the part of a copy that one invocation of a kernel moves, such as 4 rows by 4
//! columns. It consists of *units*: elements, or the smaller or larger pieces that each iteration
//! of the nest copies.
//!
//! A block decides how well a kernel uses memory: in the source and in the destination, it should
//! have contiguous runs that fill an access, and it must fit in registers. A block also determines,
//! at compile time, which loaded value fills each part of a stored word, so that a kernel needs no
//! arithmetic to find it.

use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use super::{CostModel, load::Load, numbering::BlockOrder, seam::RowAlignment};
use crate::nest::{Affine, Bounds, CopyNest, Guard, Interleaved, SOURCE_DISTANCE, Value, tile};

/// The units that one invocation moves: a few steps along some axes of the nest, in all
/// combinations.
///
/// Usually a block has several steps along the axes along which the destination is contiguous, and
/// along the axes along which the source is contiguous. In the destination, a block consists of
/// [`width`](Self::width) runs of [`rows`](Self::rows) contiguous units each. For example, a copy
/// from colour planes to pixels, `u8[3,240,320]` to `{0,2,1}`:
///
/// ```text
/// a0: 76800 steps, source +1, destination +3        a block takes 16: three runs of 16 bytes in the source
/// a1: 3 steps, source +76800, destination +1        and all 3: one run of 48 bytes in the destination
/// ```
///
/// Blocks do not always fit the nest exactly:
///
/// - If they do not divide an axis, the last block along it stores only the units before the end of
///   the axis.
/// - If rows of the destination start inside words, the blocks of a row start at its first whole
///   word. Other invocations write the words between the blocks of two rows, a
///   [`Seam`](super::Seam).
/// - If rows start inside accesses of 16 bytes, blocks can start at the first whole access of a row
///   in the same way, so that their stores have 16 bytes. Such a block covers several rows, for
///   example 16 rows of bytes or 4 rows of words, because all blocks then start at the same
///   distance from a 16-byte boundary.
///
/// Only [`candidates`](super::candidates) creates blocks, and they cannot be changed, because the
/// proof of a kernel relies on them:
///
/// ```compile_fail,E0616
/// use stridec::{Operation, Target, internals::block_of_candidate, schedule::candidates};
/// # let operation = Operation::relayout("f32[8,8]".parse()?, "f32[8,8]{0,1}".parse()?)?;
/// let candidate = candidates(operation.nest().clone(), &Target::webgpu()).remove(0);
/// let mut block = block_of_candidate(&candidate).unwrap().clone();
/// block.store = 1024;
/// # Ok::<(), stridec::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Block {
    /// The nest that is divided into blocks.
    pub(super) nest: Arc<CopyNest>,
    /// The nest in which each loop is split in two: one loop counts blocks, and the other the steps
    /// inside a block.
    pub(super) tiled: Box<CopyNest>,
    /// The steps of a block along each axis of the nest, outermost first.
    pub(super) axes: SmallVec<[BlockAxis; 8]>,
    /// The number of innermost axes that a run of the destination covers.
    pub(super) run_axes: usize,
    pub(super) row_alignment: RowAlignment,
    /// The least number of steps along the outermost axis of a run whose bytes are a multiple of an
    /// access. If rows start inside accesses, blocks start after a multiple of this number of
    /// steps.
    pub(super) steps_per_access: u64,
    /// True if a block stores one access in each of several rows, and the last block along these
    /// rows lacks some of the stores. A row that starts late inside an access contains one whole
    /// access less than the other rows, so the last block stores nothing in it.
    pub(super) cuts_rows: bool,
    /// The number of units in a store.
    pub(super) store: u64,
    pub(super) load: Load,
    pub(super) order: BlockOrder,
    /// The number of blocks that an invocation moves in sequence.
    pub(super) rounds: u64,
    /// If the block reads several sources in turn, the index of the source for each step along the
    /// axis [`Interleaved::axis`]. Otherwise empty.
    sources: SmallVec<[usize; 4]>,
}

/// The part of one axis of the nest that a block covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockAxis {
    /// The number of steps in a block.
    pub steps: u64,
    /// The number of steps of the axis that belong to blocks: all steps, except the steps in seams.
    pub covered: u64,
    /// The axis of the tiled nest that counts the blocks along this axis. In the tiled nest, an
    /// axis of 100 steps in blocks of 4 becomes two axes, of 25 and of 4 steps.
    pub number: usize,
    /// The axis of the tiled nest that counts the steps inside a block; `None` if a block has one
    /// step.
    pub inside: Option<usize>,
    /// The distance in the source from one step to the next, in units.
    pub src_stride: i64,
    /// The distance in the destination from one step to the next, in units.
    pub dst_stride: u64,
}

impl BlockAxis {
    /// Returns the number of blocks along the axis.
    pub(crate) fn count(&self) -> u64 {
        self.covered.div_ceil(self.steps)
    }

    /// Returns true if the last block along the axis has fewer steps.
    #[must_use]
    pub fn is_ragged(&self) -> bool {
        !self.covered.is_multiple_of(self.steps)
    }
}

/// Units of a block that are contiguous in the destination.
#[derive(Clone, Debug)]
pub struct Run {
    /// The first access of the run in the destination, counted from the first access of the block.
    pub place: u64,
    /// The steps along each axis of the nest from the start of the block to the run.
    pub steps: SmallVec<[u64; 8]>,
    /// The distance in the source from the first unit of the block to the first unit of the run.
    pub src: i64,
    /// True if the last block along the rows does not store this run, because its row has no whole
    /// access left there.
    pub is_cut: bool,
}

impl Block {
    /// Returns a block with the given number of steps along each axis of the nest, or `None` if a
    /// kernel cannot move such a block.
    ///
    /// In the destination, a run of the block covers the last `run_axes` axes: the outermost of
    /// these in part, the others in full. Blocks start on an `align`-byte boundary even if rows do
    /// not. The result is `None`, for example, if a quotient changes inside the block, or if rows
    /// of the destination start inside words at offsets that differ between blocks.
    pub(super) fn new(
        nest: &Arc<CopyNest>,
        steps: &[u64],
        run_axes: usize,
        order: BlockOrder,
        model: &CostModel,
        align: u64,
    ) -> Option<Self> {
        let mut tiled = Box::new(CopyNest::clone(nest));
        let mut axes: SmallVec<[BlockAxis; 8]> = nest
            .axes()
            .zip(steps)
            .map(|(axis, &steps)| BlockAxis {
                steps,
                covered: axis.extent,
                number: 0,
                inside: None,
                src_stride: axis.src_stride,
                dst_stride: axis.dst_stride,
            })
            .collect();
        let mut number = 0;
        for block_axis in &mut axes {
            block_axis.number = number;
            if block_axis.steps > 1 {
                tile(&mut tiled, number, block_axis.steps)?;
                block_axis.inside = Some(number + 1);
                number += 1;
            }
            number += 1;
        }
        let load = Load { units: 1, count: 0, is_shifted: false };
        let nest = Arc::clone(nest);
        let mut block = Self {
            nest,
            tiled,
            axes,
            run_axes,
            row_alignment: RowAlignment::Aligned,
            steps_per_access: 1,
            cuts_rows: false,
            store: 1,
            load,
            order,
            rounds: 1,
            sources: smallvec![],
        };
        block.place_stores(align)?;
        let is_backwards =
            |block_axis: &BlockAxis| block_axis.is_ragged() && block_axis.src_stride < 0;
        if block.axes.iter().any(is_backwards) || !block.can_vary() {
            return None;
        }
        block.choose_load(model);
        Some(block)
    }

    /// Converts a block of an [`Interleaved`] nest, which treats several sources as one, to a block
    /// of `nest`, the original nest. Returns `None` if the block does not read all sources, or if
    /// it leaves words to seams.
    pub(super) fn with_sources(
        mut self,
        nest: &Arc<CopyNest>,
        interleaved: &Interleaved,
    ) -> Option<Self> {
        let block_axis = self.axes[interleaved.axis];
        if block_axis.steps != nest.extents()[interleaved.axis] || self.seam().is_some() {
            return None;
        }
        self.tiled.without_axis(block_axis.inside?);
        self.nest = Arc::clone(nest);
        self.sources.clone_from(&interleaved.sources);
        Some(self)
    }

    /// Converts an offset in the single source of an [`Interleaved`] nest to the index of the real
    /// source and the offset there. Both offsets count accesses of `access` units.
    pub(crate) fn source_of(&self, place: i64, access: i64) -> (usize, i64) {
        let distance = SOURCE_DISTANCE / access;
        let number = (place + distance / 2).div_euclid(distance);
        let source = usize::try_from(number).ok().and_then(|number| self.sources.get(number));
        (source.copied().unwrap_or(0), place - number * distance)
    }

    /// Returns true if a kernel can handle guards that hold for only some of the block's units, or
    /// if there are none. The kernel must find out for which blocks a guard fails, and copies these
    /// word by word, as in a gather. This requires that blocks divide every axis and that the
    /// destination is a whole number of words.
    fn can_vary(&self) -> bool {
        let can = |guard: &Guard| {
            let (low, high) = self.inside(&guard.of);
            low == 0 && high.unsigned_abs() < guard.extent
        };
        let mut varying = self.varying_guards().peekable();
        varying.peek().is_none()
            || self.axes.iter().all(|block_axis| !block_axis.is_ragged())
                && self
                    .nest
                    .dst_units()
                    .is_multiple_of(u64::from((32 / self.nest.dst_bits()).max(1)))
                && varying.all(can)
    }

    /// Returns the guards that may hold for only some of the block's units.
    pub fn varying_guards(&self) -> impl Iterator<Item = &Guard> {
        self.tiled.reading_guards().iter().filter(|guard| self.varies(guard))
    }

    /// Returns true if a guard may hold for only some of the block's units.
    pub(crate) fn varies(&self, guard: &Guard) -> bool {
        self.inside(&guard.of) != (0, 0)
    }

    /// Returns the guards that vary inside the block, and the bits that are written if one fails.
    /// The kernel loads every word, and selects either the word or these bits, without a branch.
    /// Returns `None` if this is not possible, or if no guard varies.
    ///
    /// It is possible if all guards have the same bits, if each guard holds for all units of a word
    /// or for none, and if no unit before the start of the source is loaded, even if its guards
    /// fail.
    pub(crate) fn word_guards(&self) -> Option<(SmallVec<[&Guard; 2]>, u128)> {
        let guards: SmallVec<[&Guard; 2]> = self.varying_guards().collect();
        if guards.is_empty() {
            return None;
        }
        let [refusal] = &self.tiled.refusals()?[..] else { return None };
        let bounds = self.bounds();
        let is_alike = |guard: &&Guard| {
            let steps = self.steps_of(&guard.of);
            let word = usize::try_from(32 / self.nest.dst_bits()).unwrap_or(1).max(1);
            bounds.of(&self.at_first(&guard.of)).0 >= 0
                && steps.chunks(word).all(|units| units.iter().all(|unit| *unit == units[0]))
        };
        let least = bounds.of(&self.src()).0 + self.inside(self.tiled.src()).0;
        let can = least >= 0 && guards.iter().all(is_alike);
        if can { Some((guards, refusal.bits?)) } else { None }
    }

    /// Returns true if a guard may hold for only some of the block's units, and guards cannot be
    /// applied to whole words. The kernel then copies a block unit by unit if a guard fails for any
    /// of its units.
    pub(crate) fn moves_unit_by_unit(&self) -> bool {
        self.varying_guards().next().is_some() && self.word_guards().is_none()
    }

    /// Returns true if a block may load units that it does not store: units past the end of an axis
    /// that blocks do not divide, or words that a guard excludes after they were loaded.
    pub(crate) fn reads_more(&self) -> bool {
        self.cuts_rows || self.axes.iter().any(BlockAxis::is_ragged) || self.word_guards().is_some()
    }

    /// Returns, for each unit of a run, the value of an expression minus its value at the first
    /// unit of the run.
    fn steps_of(&self, form: &Affine) -> Vec<i64> {
        self.along_run(|block_axis| {
            block_axis.inside.map_or(0, |inside| form.weight(Value::Axis(inside)))
        })
    }

    /// Returns, for each unit of a run, the sum over the axes of `of` times the steps from the
    /// start of the run to the unit.
    fn along_run(&self, of: impl Fn(&BlockAxis) -> i64) -> Vec<i64> {
        self.axes[self.axes.len() - self.run_axes..].iter().fold(vec![0], |units, block_axis| {
            let weight = of(block_axis);
            let steps = |unit| (0..block_axis.steps.cast_signed()).map(move |n| unit + n * weight);
            units.into_iter().flat_map(steps).collect()
        })
    }

    /// Returns, for each unit that store number `access` of a run writes, the value of an
    /// expression minus its value at the first unit of the block.
    pub(crate) fn steps_in(&self, form: &Affine, run: &Run, access: u64) -> Vec<i64> {
        let outer = self.axes[..self.axes.len() - self.run_axes].iter().zip(&run.steps);
        let of_run: i64 = outer
            .filter_map(|(block_axis, at)| {
                Some(form.weight(Value::Axis(block_axis.inside?)) * at.cast_signed())
            })
            .sum();
        let first = usize::try_from(access * self.store).unwrap_or(0);
        let units = self.steps_of(form).into_iter().skip(first);
        units.take(usize::try_from(self.store).unwrap_or(1)).map(|unit| of_run + unit).collect()
    }

    /// Returns the least and the greatest value that an expression has inside a block, minus its
    /// value at the first unit of the block.
    pub(crate) fn inside(&self, form: &Affine) -> (i64, i64) {
        let parts = self.axes.iter().filter_map(|block_axis| {
            Some(
                form.weight(Value::Axis(block_axis.inside?)) * (block_axis.steps.cast_signed() - 1),
            )
        });
        parts.fold((0, 0), |(low, high), part| (low + part.min(0), high + part.max(0)))
    }

    /// Returns the distances in the source from the first unit of the block to each unit, in
    /// ascending order and without duplicates.
    #[must_use]
    pub fn offsets(&self) -> Vec<i64> {
        let units = self.run_units();
        let runs = self.runs();
        let mut all: Vec<i64> =
            runs.iter().flat_map(|run| units.iter().map(move |unit| run.src + unit)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Returns the runs of the block in the destination, in order of address.
    #[must_use]
    pub fn runs(&self) -> Vec<Run> {
        let outer = self.axes.len() - self.run_axes;
        let mut all = vec![(0, smallvec![0; self.axes.len()], 0)];
        for (axis, block_axis) in self.axes[..outer].iter().enumerate() {
            let longer = |(place, at, src): (u64, SmallVec<[u64; 8]>, i64)| {
                (0..block_axis.steps).map(move |step| {
                    let mut at = at.clone();
                    at[axis] = step;
                    (
                        place + step * block_axis.dst_stride,
                        at,
                        src + step.cast_signed() * block_axis.src_stride,
                    )
                })
            };
            if block_axis.steps > 1 {
                all = all.into_iter().flat_map(longer).collect();
            }
        }
        let first = self.axes[self.outermost_of_run()];
        let extent = self.nest.extents()[self.outermost_of_run()];
        let run = |(place, steps, src): (u64, SmallVec<[u64; 8]>, i64)| {
            let lead = match self.row_alignment {
                RowAlignment::Fixed => {
                    (self.steps_per_access - place / first.dst_stride % self.steps_per_access)
                        % self.steps_per_access
                }
                _ => 0,
            };
            Run {
                place: (place + lead * first.dst_stride) / self.store,
                steps,
                src: src + lead.cast_signed() * first.src_stride,
                is_cut: self.cuts_rows && lead > extent % self.steps_per_access,
            }
        };
        all.into_iter().map(run).collect()
    }

    /// Returns the distances in the source from the first unit of a run to each unit.
    #[must_use]
    pub fn run_units(&self) -> Vec<i64> {
        self.along_run(|block_axis| block_axis.src_stride)
    }

    /// Returns the nest that is divided into blocks.
    #[must_use]
    pub fn nest(&self) -> &CopyNest {
        &self.nest
    }

    /// Returns the nest in which each loop is split in two: one loop counts blocks, and the other
    /// the steps inside a block.
    #[must_use]
    pub fn tiled(&self) -> &CopyNest {
        &self.tiled
    }

    /// Returns the part of each axis of the nest that a block covers.
    #[must_use]
    pub fn axes(&self) -> &[BlockAxis] {
        &self.axes
    }

    /// Returns the outermost axis that a run of the destination covers. The run covers all axes
    /// inside this one in full.
    #[must_use]
    pub fn outermost_of_run(&self) -> usize {
        self.axes.len() - self.run_axes.max(1)
    }

    /// Returns the distance in the destination from one step of the axis
    /// [`outermost_of_run`](Self::outermost_of_run) to the next, in units.
    pub(super) fn run_stride(&self) -> u64 {
        self.axes[self.outermost_of_run()].dst_stride
    }

    /// Returns the number of contiguous units in a run of the destination.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.axes[self.axes.len() - self.run_axes..]
            .iter()
            .map(|block_axis| block_axis.steps)
            .product()
    }

    /// Returns the number of runs in the destination.
    #[must_use]
    pub fn width(&self) -> u64 {
        self.axes[..self.axes.len() - self.run_axes]
            .iter()
            .map(|block_axis| block_axis.steps)
            .product()
    }

    /// Returns the number of units in a load.
    #[must_use]
    pub fn load(&self) -> u64 {
        self.load.units
    }

    /// Returns the number of units in a store.
    #[must_use]
    pub fn store(&self) -> u64 {
        self.store
    }

    /// Returns the number of loads in a block.
    pub(crate) fn loads(&self) -> u64 {
        self.load.count
    }

    /// Returns true if the kernel stores whole words as they are loaded.
    pub(crate) fn moves_words(&self) -> bool {
        let inner = self.axes[self.axes.len() - 1];
        let word = u64::from((32 / self.nest.dst_bits()).max(1));
        self.nest.keeps_units() && inner.src_stride == 1 && inner.steps.is_multiple_of(word)
    }

    /// Returns true if runs of the source may start inside a word. Each value is then combined from
    /// two words.
    #[must_use]
    pub fn is_shifted(&self) -> bool {
        self.load.is_shifted
    }

    /// Returns the alignment of the blocks of a row of the destination.
    #[must_use]
    pub fn row_alignment(&self) -> RowAlignment {
        self.row_alignment
    }

    /// Returns the least number of steps along the outermost axis of a run whose bytes are a
    /// multiple of an access. If rows start inside accesses, blocks start after a multiple of this
    /// number of steps.
    #[must_use]
    pub fn steps_per_access(&self) -> u64 {
        self.steps_per_access
    }

    /// Returns true if the last accesses may extend past the end of the source or destination. The
    /// sizes of the bindings must then be multiples of an access.
    pub(crate) fn may_pass_ends(&self) -> bool {
        self.row_alignment != RowAlignment::Aligned
            && self.store * u64::from(self.nest.dst_bits()) > 32
    }

    /// Returns the offset in the source at which a block starts.
    #[must_use]
    pub fn src(&self) -> Affine {
        self.at_first(self.tiled.src())
    }

    /// Returns an upper bound on the offset in the source at which any block starts.
    pub(crate) fn last_src(&self) -> i64 {
        let run = self.axes[self.outermost_of_run()];
        let lead = match self.row_alignment {
            RowAlignment::Computed => {
                (self.steps_per_access.cast_signed() - 1) * run.src_stride.max(0)
            }
            _ => 0,
        };
        self.bounds().of(&self.src()).1 + lead
    }

    /// Returns the bounds of the tiled nest over the first units of all blocks.
    fn bounds(&self) -> Bounds {
        let mut axes: SmallVec<[(i64, i64); 8]> = smallvec![(0, 0); self.tiled.extents().len()];
        for block_axis in &self.axes {
            axes[block_axis.number].1 = block_axis.count().cast_signed() - 1;
        }
        Bounds::of_box(&self.tiled, axes)
    }

    /// Returns an expression that computes the value of `form` at the first unit of a block: `form`
    /// without its terms for steps inside blocks.
    pub(crate) fn at_first(&self, form: &Affine) -> Affine {
        let alone = self
            .axes
            .iter()
            .filter(|block_axis| block_axis.count() == 1)
            .map(|block_axis| block_axis.number);
        let zero = self.axes.iter().filter_map(|block_axis| block_axis.inside).chain(alone);
        let mut first = form.clone();
        for axis in zero {
            first.substitute(Value::Axis(axis), &Affine::default());
        }
        first
    }

    /// Returns the number of blocks.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.axes.iter().map(BlockAxis::count).product()
    }
}
