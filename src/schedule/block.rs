//! [`Block`]: the units that one invocation of a kernel moves.

use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use super::{CostModel, load::Load, numbering::BlockOrder, seam::RowAlignment};
use crate::nest::{Affine, Bounds, CopyNest, Guard, Interleaved, SOURCE_DISTANCE, Value, tile};

/// The units that one invocation moves: a box of the walk.
///
/// A block takes a few steps of some axes: those along which units are contiguous in the
/// destination, and those along which they are contiguous in the source. It has
/// [`width`](Self::width) runs of [`rows`](Self::rows) units in the destination. The position of
/// every unit in the loaded accesses is known at compile time. For image planes to pixels,
/// `u8[3,240,320]` to `{0,2,1}`:
///
/// ```text
/// a0: 76800 steps, source +1, destination +3        a block takes 16: three runs of 16 bytes in the source
/// a1: 3 steps, source +76800, destination +1        and all 3: one run of 48 bytes in the destination
/// ```
///
/// The extent of an axis need not be a multiple of the block's steps: the last block along it
/// stores only the units inside. If rows of the destination start inside words, the blocks of a row
/// start at its first whole word, and other invocations write the words between the blocks of two
/// rows, a [`Seam`](super::Seam). Rows that start inside accesses of 16 bytes are handled in the
/// same way: a block then takes enough rows to make all blocks equally aligned, 16 rows of bytes or
/// 4 of words.
///
/// Only [`candidates`](super::candidates) creates blocks, and nothing about them can be changed:
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
    pub(super) nest: Arc<CopyNest>,
    pub(super) tiled: Box<CopyNest>,
    pub(super) axes: SmallVec<[BlockAxis; 8]>,
    /// The number of innermost axes that the destination's run covers.
    pub(super) run_axes: usize,
    pub(super) row_alignment: RowAlignment,
    /// The steps of the run's outermost axis from one aligned access to the next.
    pub(super) steps_per_access: u64,
    /// True if the last block of a row has an access only in rows that start early enough.
    pub(super) cuts_rows: bool,
    pub(super) store: u64,
    pub(super) load: Load,
    pub(super) order: BlockOrder,
    pub(super) rounds: u64,
    /// The source of each step of the interleaved axis, if the block reads several; else empty.
    sources: SmallVec<[usize; 4]>,
}

/// The part of one axis of the nest that a block takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockAxis {
    /// The steps that a block takes.
    pub steps: u64,
    /// The steps that all blocks take together: the whole axis, except for the steps in seams.
    pub covered: u64,
    /// The axis of the tiled nest that numbers the blocks along this one.
    pub number: usize,
    /// The axis of the tiled nest that counts the steps inside a block; `None` if it takes only
    /// one.
    pub inside: Option<usize>,
    /// The units of the source from one step to the next.
    pub src_stride: i64,
    /// The units of the destination from one step to the next.
    pub dst_stride: u64,
}

impl BlockAxis {
    /// Returns the number of blocks along the axis.
    pub(crate) fn count(&self) -> u64 {
        self.covered.div_ceil(self.steps)
    }

    /// Returns true if the last block passes the end.
    #[must_use]
    pub fn is_ragged(&self) -> bool {
        !self.covered.is_multiple_of(self.steps)
    }
}

/// One run of a block in the destination.
#[derive(Clone, Debug)]
pub struct Run {
    /// The run's first access, relative to the block's.
    pub place: u64,
    /// The run's step along each axis of the nest.
    pub steps: SmallVec<[u64; 8]>,
    /// The offset of the run's first unit in the source, relative to the block's.
    pub src: i64,
    /// True if the last block of a row does not have this run.
    pub is_cut: bool,
}

impl Block {
    /// Returns a block with the given steps along each axis of the nest. Its run in the destination
    /// covers the last `run_axes` axes, all whole except the first.
    ///
    /// Returns `None` if no such block exists: a quotient changes inside it, or rows of the
    /// destination start inside words at offsets that differ between blocks. Blocks start on an
    /// `align`-byte boundary even if rows do not.
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

    /// Returns this block of an [`Interleaved`] nest as a block of `nest`, which has several sources.
    /// Returns `None` if the block does not read all of them, or leaves words to seams.
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

    /// Returns the source of a place in the block, and the place in that source. Places count
    /// accesses of `access` units.
    pub(crate) fn source_of(&self, place: i64, access: i64) -> (usize, i64) {
        let distance = SOURCE_DISTANCE / access;
        let number = (place + distance / 2).div_euclid(distance);
        let source = usize::try_from(number).ok().and_then(|number| self.sources.get(number));
        (source.copied().unwrap_or(0), place - number * distance)
    }

    /// Returns true if the kernel can detect blocks in which guards hold for some units only; it
    /// moves these word by word.
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

    /// Returns the guards that may hold for some of the block's units only.
    pub fn varying_guards(&self) -> impl Iterator<Item = &Guard> {
        self.tiled.reading_guards().iter().filter(|guard| self.varies(guard))
    }

    /// Returns true if a guard may hold for some of the block's units only.
    pub(crate) fn varies(&self, guard: &Guard) -> bool {
        self.inside(&guard.of) != (0, 0)
    }

    /// Returns the guards that vary inside the block and the bits of a refused unit, if the kernel
    /// can select whole words by these guards. Returns `None` if it cannot, or if no guard varies.
    ///
    /// It can if every guard refuses with the same bits, each guard holds for all units of a word
    /// or for none, and no unit is read before the start of the image, whether its guards hold or
    /// not.
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
        can.then_some((guards, refusal.bits))
    }

    /// Returns true if guards vary inside the block and words cannot be selected by them. The
    /// kernel then moves units one by one in blocks in which a guard fails.
    pub(crate) fn moves_unit_by_unit(&self) -> bool {
        self.varying_guards().next().is_some() && self.word_guards().is_none()
    }

    /// Returns true if blocks may read more than they move: the last one along an axis that blocks
    /// do not divide, or one in which a guard varies.
    pub(crate) fn reads_more(&self) -> bool {
        self.cuts_rows || self.axes.iter().any(BlockAxis::is_ragged) || self.word_guards().is_some()
    }

    /// Returns the part of a form that comes from the steps inside a run, for each unit of the run.
    fn steps_of(&self, form: &Affine) -> Vec<i64> {
        self.along_run(|block_axis| {
            block_axis.inside.map_or(0, |inside| form.weight(Value::Axis(inside)))
        })
    }

    /// Returns the sum of the steps of a run at each of its units; `of` gives the weight of an
    /// axis.
    fn along_run(&self, of: impl Fn(&BlockAxis) -> i64) -> Vec<i64> {
        self.axes[self.axes.len() - self.run_axes..].iter().fold(vec![0], |units, block_axis| {
            let weight = of(block_axis);
            let steps = |unit| (0..block_axis.steps.cast_signed()).map(move |n| unit + n * weight);
            units.into_iter().flat_map(steps).collect()
        })
    }

    /// Returns the part of a form that comes from the steps inside a block, for each unit that an
    /// access of a run stores.
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

    /// Returns the least and the greatest part of a form that comes from the steps inside a block.
    pub(crate) fn inside(&self, form: &Affine) -> (i64, i64) {
        let parts = self.axes.iter().filter_map(|block_axis| {
            Some(
                form.weight(Value::Axis(block_axis.inside?)) * (block_axis.steps.cast_signed() - 1),
            )
        });
        parts.fold((0, 0), |(low, high), part| (low + part.min(0), high + part.max(0)))
    }

    /// Returns the sorted offsets of the block's units in the source, relative to the first,
    /// without duplicates.
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

    /// Returns the runs of the destination, in order.
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

    /// Returns the offsets in the source of the units of a run, relative to its first.
    #[must_use]
    pub fn run_units(&self) -> Vec<i64> {
        self.along_run(|block_axis| block_axis.src_stride)
    }

    /// The nest that is divided into blocks.
    #[must_use]
    pub fn nest(&self) -> &CopyNest {
        &self.nest
    }

    /// The nest over the numbers of blocks and the steps inside them.
    #[must_use]
    pub fn tiled(&self) -> &CopyNest {
        &self.tiled
    }

    /// The part of each axis of the nest that a block takes.
    #[must_use]
    pub fn axes(&self) -> &[BlockAxis] {
        &self.axes
    }

    /// The outermost axis of the destination's run; the axes inside it are taken whole.
    #[must_use]
    pub fn outermost_of_run(&self) -> usize {
        self.axes.len() - self.run_axes.max(1)
    }

    /// The units of the destination from one step of the run's outermost axis to the next.
    pub(super) fn run_stride(&self) -> u64 {
        self.axes[self.outermost_of_run()].dst_stride
    }

    /// The units of a run of the destination.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.axes[self.axes.len() - self.run_axes..]
            .iter()
            .map(|block_axis| block_axis.steps)
            .product()
    }

    /// The number of runs in the destination.
    #[must_use]
    pub fn width(&self) -> u64 {
        self.axes[..self.axes.len() - self.run_axes]
            .iter()
            .map(|block_axis| block_axis.steps)
            .product()
    }

    /// The units of a load.
    #[must_use]
    pub fn load(&self) -> u64 {
        self.load.units
    }

    /// The units of a store.
    #[must_use]
    pub fn store(&self) -> u64 {
        self.store
    }

    /// The number of loads of a block.
    pub(crate) fn loads(&self) -> u64 {
        self.load.count
    }

    /// Returns true if words of the source become words of the destination unchanged.
    pub(crate) fn moves_words(&self) -> bool {
        let inner = self.axes[self.axes.len() - 1];
        let word = u64::from((32 / self.nest.dst_bits()).max(1));
        self.nest.src_bits() == self.nest.dst_bits()
            && inner.src_stride == 1
            && inner.steps.is_multiple_of(word)
    }

    /// True if runs of the source may start inside a word: each word is then combined from two.
    #[must_use]
    pub fn is_shifted(&self) -> bool {
        self.load.is_shifted
    }

    /// The alignment of the blocks of a row.
    #[must_use]
    pub fn row_alignment(&self) -> RowAlignment {
        self.row_alignment
    }

    /// The steps of the run's outermost axis from one aligned access to the next.
    #[must_use]
    pub fn steps_per_access(&self) -> u64 {
        self.steps_per_access
    }

    /// Returns true if the last accesses may pass the ends of the images: bindings are then whole
    /// accesses.
    pub(crate) fn may_pass_ends(&self) -> bool {
        self.row_alignment != RowAlignment::Aligned
            && self.store * u64::from(self.nest.dst_bits()) > 32
    }

    /// Returns the source's offset of a block's first unit.
    #[must_use]
    pub fn src(&self) -> Affine {
        self.at_first(self.tiled.src())
    }

    /// Returns an upper bound of the source's offset of a block's first unit.
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

    /// Returns the bounds of forms of the tiled nest over the first units of all blocks.
    fn bounds(&self) -> Bounds {
        let mut axes: SmallVec<[(i64, i64); 8]> = smallvec![(0, 0); self.tiled.extents().len()];
        for block_axis in &self.axes {
            axes[block_axis.number].1 = block_axis.count().cast_signed() - 1;
        }
        Bounds::of_box(&self.tiled, axes)
    }

    /// Returns a form of the tiled nest at the first unit of a block.
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

    /// The number of blocks.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.axes.iter().map(BlockAxis::count).product()
    }
}
