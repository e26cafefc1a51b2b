//! Fills one *share* of a destination, the part that one thread fills at a time. [`Task`] decides
//! how each box of the share is filled: with a value, by a plan, or as a pattern together with
//! other boxes.
//!
//! A *position* is a combination of steps of the nest's loops. It fills one place of the
//! destination with a *unit*, often one element. A *case* of the nest is a condition on positions,
//! with the source or constant from which their units come. A *box* is a range of positions that
//! read at constant strides from one source, or take one constant. Boxes may repeat in *periods*,
//! equal parts of the loops. A *plan* copies a box tile by tile. A *pattern* assembles a *block*,
//! some bytes of the destination, in registers, in the same way at every step of the loops around
//! the block.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use smallvec::{SmallVec, smallvec};

use super::{
    bit_pattern::BitPattern,
    bits::{Bits, CYCLES_OF_BYTES},
    boxes::{FoundBox, NestWithImages, Periods, Repeated, Resolved, Together, WalkBox, resolve},
    converted::ConvertedCopy,
    expanded::ExpandedCopy,
    fill::run_of,
    kept::{COPY_BYTES, Record},
    pattern::{BlockPart, BlockValue, MOST_BLOCK_BYTES, Pattern, scale_of},
    plan::{LineAlignment, Mover, Streams, TilePlan},
    plane::{PlanAxis, merged},
    repeat::Series,
    rows::RowCopy,
    share::Share,
    simd::Simd,
    staged::StagedCopy,
    step::{CopyStep, FillValue, PatternPlace, REPEATED_BYTES, StepRunner},
    stream::{LINE, Stream},
};
use crate::nest::{Case, CaseValue, CopyNest, PositionValue, Value, gcd};

/// The greatest number of plans of each kind that a copy caches. A full list is cleared instead of
/// growing, because each request is compared with every cached plan.
const CACHED_PLANS: usize = 64;

/// A copy, with the data that all of its shares need. The threads that fill the shares use the same
/// task at the same time.
pub(super) struct Task<'a> {
    pub(super) nest: &'a CopyNest,
    /// The contents of each source of the nest. Empty if the copy is only described and not run.
    pub(super) sources: &'a [&'a [u8]],
    /// True if the destination is so small that it is a single share, whatever the number of
    /// threads.
    pub(super) is_small: bool,
    /// The instruction set for shuffles of bytes; `None` if the processor has none, or if units are
    /// not whole bytes.
    pub(super) simd: Option<Simd>,
    /// The kinds of boxes that are *streamed*, which means written with non-temporal stores.
    pub(super) streams: Streams,
    /// True if the shares may use non-temporal stores.
    pub(super) is_streamed: bool,
    /// The plans that the shares have made so far. The thread that runs the copy remembers them.
    pub(super) plans: Arc<Plans>,
}

/// A cache of the plans of a copy, for all of its shares and for later runs of the same nest, which
/// may have another number of threads or a destination of another alignment. Most shares have the
/// same boxes, and making a plan takes longer than filling a small share. The cache also has the
/// steps of the last run, for runs with as many threads and a destination of the same alignment.
#[derive(Default)]
pub(super) struct Plans {
    kinds: Mutex<CachedPlans>,
}

/// A share of a large copy.
#[derive(Clone, Copy)]
pub(super) struct ShareNumber {
    /// The number of threads, and the offset of the destination from a cache-line boundary. The
    /// steps of all shares depend on both.
    pub(super) of: (usize, usize),
    pub(super) number: usize,
}

/// The steps of the shares of a large copy, by the number of the share.
#[derive(Default)]
struct CachedSteps {
    /// See [`ShareNumber::of`].
    of: (usize, usize),
    shares: Vec<Option<Arc<Vec<CopyStep>>>>,
    /// The memory for the steps without their plans, in bytes.
    bytes: usize,
    /// True if the steps take too much memory. None are kept then.
    is_full: bool,
}

impl CachedSteps {
    fn drop_all(&mut self) {
        *self = Self { of: self.of, is_full: true, ..Self::default() };
    }
}

/// Returns the address of a plan.
fn address<P>(plan: &Arc<P>) -> usize {
    Arc::as_ptr(plan).addr()
}

/// The plans of each kind, at most [`CACHED_PLANS`] in each list, and the steps that use them.
#[derive(Default)]
struct CachedPlans {
    /// True if plans or steps were added since the plans were remembered.
    are_new: bool,
    steps: CachedSteps,
    tiles: Vec<CachedPlan>,
    patterns: Vec<CachedBlock<Pattern>>,
    expanded: Vec<CachedBlock<ExpandedCopy>>,
    /// The copies through a buffer, each with the axes of its box. A copy is `None` if a buffer is
    /// no gain for these axes, so that this result is not computed again.
    staged: Vec<CachedStaged>,
    packed: Vec<CachedPacked>,
    converted: Vec<CachedConverted>,
}

impl Plans {
    /// Returns the cached plan that `found` accepts. If there is none, caches and returns a new
    /// plan from `plan`.
    ///
    /// The cache stays locked while `plan` runs. Other threads wait, because they often need the
    /// same plan.
    fn get<P, T: Clone>(
        &self,
        list: impl FnOnce(&mut CachedPlans) -> &mut Vec<P>,
        found: impl Fn(&P) -> Option<T>,
        plan: impl FnOnce() -> (P, T),
    ) -> T {
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let list = list(&mut kinds);
        if let Some(found) = list.iter().find_map(found) {
            return found;
        }
        if list.len() == CACHED_PLANS {
            list.clear();
        }
        let (cached, plan) = plan();
        list.push(cached);
        kinds.are_new = true;
        plan
    }

    /// Returns the steps of a share, if an earlier run with as many threads and a destination at
    /// the same place of a cache line left them here.
    pub(super) fn steps(&self, share: ShareNumber) -> Option<Arc<Vec<CopyStep>>> {
        let kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let steps = Some(&kinds.steps).filter(|steps| steps.of == share.of)?;
        steps.shares.get(share.number).cloned().flatten()
    }

    /// Returns true if the steps of a share are to be kept.
    pub(super) fn wants_steps(&self, share: ShareNumber) -> bool {
        let kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        kinds.steps.of != share.of || !kinds.steps.is_full
    }

    /// Keeps the steps of a share, unless those of all shares take more than [`STEPS_BYTES`].
    pub(super) fn keep_steps(&self, share: ShareNumber, record: Record) {
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        if kinds.steps.of != share.of {
            kinds.steps = CachedSteps { of: share.of, ..CachedSteps::default() };
        }
        let steps = &mut kinds.steps;
        let Some(new) = record.into_steps() else { return steps.drop_all() };
        steps.shares.resize(steps.shares.len().max(share.number + 1), None);
        if steps.is_full || steps.shares[share.number].is_some() {
            return;
        }
        steps.bytes += new.iter().map(CopyStep::bytes).sum::<usize>();
        steps.shares[share.number] = Some(Arc::new(new));
        let is_full = steps.bytes > STEPS_BYTES;
        kinds.are_new = true;
        if is_full {
            kinds.steps.drop_all();
        }
    }

    /// Drops all steps, and keeps none of later runs with as many threads and a destination at the
    /// same place of a cache line.
    pub(super) fn drop_steps(&self) {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner).steps.drop_all();
    }

    /// Returns true if plans or steps were added since the last call.
    pub(super) fn take_new(&self) -> bool {
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut kinds.are_new)
    }

    /// Returns the approximate memory that the plans and the steps occupy, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let CachedPlans { steps, tiles, patterns, expanded, staged, packed, converted, .. } =
            &*kinds;
        let lists = size_of_val(&tiles[..])
            + size_of_val(&patterns[..])
            + size_of_val(&expanded[..])
            + size_of_val(&staged[..])
            + size_of_val(&packed[..])
            + size_of_val(&converted[..]);
        let tiles = tiles.iter().map(|of| (address(&of.plan), of.plan.bytes()));
        let patterns = patterns.iter().map(|of| (of.address(), of.bytes(Pattern::bytes)));
        let expanded = expanded.iter().map(|of| (of.address(), of.bytes(ExpandedCopy::bytes)));
        let staged = staged.iter().flat_map(|(_, plan)| plan);
        let staged = staged.map(|plan| (address(plan), plan.bytes()));
        let packed = packed.iter().filter_map(|of| match &of.copy {
            PackedCopy::Plan => None,
            PackedCopy::Staged(copy) => Some((address(copy), copy.bytes())),
            PackedCopy::Bits(copy) => Some((address(copy), copy.bytes())),
        });
        let converted = converted.iter().flat_map(|(_, plan)| plan);
        let converted = converted.map(|plan| (address(plan), plan.bytes()));
        // The steps can share plans with each other and with the lists, and can have others, which
        // a full list has dropped.
        let of_steps = steps.shares.iter().flatten().flat_map(|steps| steps.iter());
        let of_steps = of_steps.filter_map(CopyStep::plan);
        let plans = tiles.chain(patterns).chain(expanded).chain(staged).chain(packed);
        let mut counted = HashSet::new();
        let plans = plans.chain(converted).chain(of_steps);
        let once = plans.filter(|&(address, _)| address == 0 || counted.insert(address));
        lists + steps.bytes + once.map(|(_, bytes)| bytes).sum::<usize>()
    }

    /// Returns the pattern or the buffered copy that fills `block`, in units of `unit` bytes, at
    /// every step of `loops`. Takes it from the cache if possible, and otherwise calls `plan` to
    /// make it. Returns `None` if the parts of the block are better copied separately.
    fn of_block<P>(
        &self,
        list: impl FnOnce(&mut CachedPlans) -> &mut Vec<CachedBlock<P>>,
        (unit, block, loops): (usize, &BlockOf, &SmallVec<[PlanAxis; 8]>),
        plan: impl FnOnce() -> Option<P>,
    ) -> Option<Arc<P>> {
        let same = |of: &CachedBlock<P>| {
            let same = of.unit == unit && of.block == *block && of.loops == *loops;
            same.then(|| of.plan.clone())
        };
        self.get(list, same, || {
            let plan = plan().map(Arc::new);
            let (block, loops) = (block.clone(), loops.clone());
            (CachedBlock { unit, block, loops, plan: plan.clone() }, plan)
        })
    }
}

/// Returns true if a unit has the same size in the source and in the destination, and that size is
/// a whole number of bytes.
pub(super) fn has_whole_bytes(nest: &CopyNest) -> bool {
    nest.keeps_units() && nest.dst_bits().is_multiple_of(8)
}

/// The number of steps of a box along each axis, outermost first.
type Extents = SmallVec<[usize; 8]>;

/// A plan, with the axes of the boxes that it can copy and their alignment to cache lines.
struct CachedPlan {
    streams: Streams,
    axes: SmallVec<[PlanAxis; 8]>,
    plan: Arc<TilePlan>,
}

/// The source stride and the destination stride of each axis, both as distances of addresses.
type AxisStrides = SmallVec<[(isize, isize); 8]>;

impl Task<'_> {
    /// Fills a share of the destination, and adds each step to `record`. Writes nothing if `record`
    /// is only meant for printing.
    pub(super) fn run(&self, share: Share, stream: Option<&Stream>, record: &mut Record) {
        let Share { boxes, destination, first, axis } = share;
        let pitch = axis.checked_sub(1).and_then(|outer| self.nest.axes().nth(outer));
        let dst = self.nest.axes().enumerate().map(|(number, of)| match pitch {
            Some(pitch) if number < axis => {
                ((of.dst_stride / pitch.dst_stride) as usize).cast_signed() << destination.shift
            }
            _ => self.offset(of.dst_stride.cast_signed()),
        });
        let dst: SmallVec<[isize; 8]> = dst.collect();
        // The last entry is for positions to which no case applies. Like positions that take a
        // constant, they read nothing, so their source strides are 0.
        let cases = self.nest.cases().iter().map(|case| self.strides(Some(case), &dst));
        let strides: SmallVec<[_; 2]> = cases.chain([self.strides(None, &dst)]).collect();
        let stream = stream.map(|stream| (stream, destination.are_even()));
        let apart = pitch.map(|of| (destination.shift, self.offset(of.dst_stride.cast_signed())));
        let mut filling = Filling {
            runner: StepRunner::new(self, destination, stream),
            first: self.offset(first.cast_signed()),
            streams: Streams { pieces: apart, ..self.streams },
            dst,
            strides,
            block_axis: 0,
            slice_axis: axis,
            found: Vec::new(),
            record,
        };
        let of = NestWithImages { nest: self.nest, images: self.sources };
        let extents = self.nest.axes().map(|axis| axis.extent as usize);
        filling.block_axis = filling.block_axis_of(extents);
        // The units of a row are contiguous unless they lie in several slices.
        let periods = has_whole_bytes(self.nest);
        let unit = self.unit_stride().cast_signed();
        let together = Together {
            periods,
            rows: periods && filling.dst.last().is_some_and(|&dst| dst == unit),
        };
        for walk_box in boxes {
            resolve(of, walk_box, together, &mut |found| filling.find(&found));
        }
        filling.fill_found();
    }

    /// Returns the source and destination stride of each axis for the positions to which `case`
    /// applies. The source strides are 0 if these positions read nothing.
    fn strides(&self, case: Option<&Case>, dst: &[isize]) -> AxisStrides {
        let src = |axis: usize| match case.map(|case| &case.take) {
            Some(CaseValue::Read { at, .. }) => self.offset(at.weight(Value::Axis(axis))),
            _ => 0,
        };
        dst.iter().enumerate().map(|(axis, &dst)| (src(axis), dst)).collect()
    }

    /// Returns the plan for boxes with these axes, from the cache if it has one.
    fn plan(&self, streams: Streams, axes: &[PlanAxis]) -> Arc<TilePlan> {
        let narrower = self.nest.src_bits().min(self.nest.dst_bits()) as usize;
        let streams = Streams { per_byte: (8 / narrower).max(1), ..streams };
        let same = |of: &CachedPlan| {
            (of.streams == streams && of.axes[..] == *axes).then(|| of.plan.clone())
        };
        self.plans.get(
            |plans| &mut plans.tiles,
            same,
            || {
                let of = axes.iter().copied();
                let plan = Arc::new(TilePlan::new(of, self.unit_stride(), self.simd, streams));
                (CachedPlan { streams, axes: axes.into(), plan: plan.clone() }, plan)
            },
        )
    }

    /// Returns the amount by which an address grows from one contiguous unit to the next: the size
    /// of a unit in bytes, or 1 if [`has_whole_bytes`] is false.
    pub(super) fn unit_stride(&self) -> usize {
        if has_whole_bytes(self.nest) { self.nest.dst_bits() as usize / 8 } else { 1 }
    }

    /// Returns the step that writes one unit of a source to all places of a box, as for a broadcast
    /// scalar. Returns `None` if positions of the box read different units.
    fn broadcast(
        &self,
        axes: impl Iterator<Item = PlanAxis> + Clone,
        (source, from): (usize, isize),
        to: isize,
    ) -> Option<CopyStep> {
        let stays = axes.clone().all(|axis| axis.extent == 1 || axis.src == 0);
        (stays && has_whole_bytes(self.nest)).then(|| CopyStep::Fill {
            value: FillValue::Unit { source, from },
            axes: axes.map(|axis| (axis.extent, axis.dst)).collect(),
            to,
        })
    }

    /// Converts an offset that counts units to one that counts addresses.
    fn offset(&self, units: i64) -> isize {
        units as isize * self.unit_stride().cast_signed()
    }
}

/// Two source distances for each axis: from one step to the next, and from one period to the next.
type Distances = SmallVec<[(isize, isize); 8]>;

/// Returns common source distances for several cases, so that the same loops can advance through
/// all of their sources, and a scale for each case. The distances of a case are the common
/// distances times its scale.
///
/// `around` returns the distances of a case along an axis, and `cases` has the indices of the
/// cases. For example, if one case reads 3 bytes further at every step and another 1 byte, the
/// common distance is 1, and the scales are 3 and 1. The scale is 0 for a case that reads the same
/// unit at all steps, such as a padding value. Returns `None` if there are no cases, or no common
/// distances.
fn common_distances(
    axes: usize,
    cases: &[usize],
    around: impl Fn(usize, usize) -> (isize, isize),
) -> Option<(Distances, SmallVec<[isize; 8]>)> {
    let moves = |case: usize| (0..axes).any(|axis| around(case, axis) != (0, 0));
    let first = cases.iter().copied().find(|&case| moves(case)).or(cases.first().copied())?;
    let common = |a: isize, b: isize| gcd(a.unsigned_abs(), b.unsigned_abs()).cast_signed();
    let base = (0..axes).map(|axis| {
        let (step, period) = cases.iter().fold((0, 0), |(step, period), &case| {
            let of = around(case, axis);
            (common(step, of.0), common(period, of.1))
        });
        let sign = |of: isize, by: isize| if of < 0 { -by } else { by };
        (sign(around(first, axis).0, step), sign(around(first, axis).1, period))
    });
    let base: Distances = base.collect();
    let scale = |&case: &usize| {
        let pairs = || {
            base.iter().enumerate().flat_map(|(axis, base)| {
                let of = around(case, axis);
                [(base.0, of.0), (base.1, of.1)]
            })
        };
        let scale = pairs().find(|&(base, _)| base != 0).map_or(0, |(base, of)| of / base);
        pairs().all(|(base, of)| of == scale * base).then_some(scale)
    };
    let scales: Option<SmallVec<[isize; 8]>> = cases.iter().map(scale).collect();
    Some((base, scales?))
}

/// Returns true if the boxes of `group` fill the whole box `hull` that contains them. They must not
/// overlap.
fn fills(group: &[FoundBox], hull: &WalkBox) -> bool {
    let volume = |of: &WalkBox| of.extents().product::<usize>();
    group.iter().map(|of| volume(&of.walk_box)).sum::<usize>() == volume(hull)
}

/// Combines extents with strides to axes.
fn plan_axes(
    extents: impl Iterator<Item = usize> + Clone,
    strides: &[(isize, isize)],
) -> impl Iterator<Item = PlanAxis> + Clone {
    extents.zip(strides).map(|(extent, &(src, dst))| PlanAxis { extent, src, dst })
}

/// Returns the number of boxes at the start of `found` that have the same range as the first box
/// along every axis outside `outer`. These boxes may form one block.
fn boxes_of_block(outer: usize, found: &[FoundBox]) -> usize {
    let [first, rest @ ..] = found else { return 0 };
    let same = |of: &&FoundBox| of.walk_box.ranges[..outer] == first.walk_box.ranges[..outer];
    1 + rest.iter().take_while(same).count()
}

/// The state of a thread while it fills one share, a part of the destination.
struct Filling<'a, 'b, 'c> {
    runner: StepRunner<'a, 'b>,
    /// The distance of addresses from position 0 of the nest to the first position of the share.
    first: isize,
    /// The kinds of boxes that are streamed. The alignment in this field is a placeholder, because
    /// each box has its own.
    streams: Streams,
    /// The destination strides of the axes.
    dst: SmallVec<[isize; 8]>,
    /// The source and destination strides of the axes, for each case. The last entry is for
    /// positions without a case.
    strides: SmallVec<[AxisStrides; 2]>,
    /// The outermost axis that can be inside a block of a pattern. The bytes that all steps of this
    /// axis and of the axes inside it write are at most [`MOST_BLOCK_BYTES`], and lie in one slice
    /// of the destination.
    block_axis: usize,
    /// The number of outer axes along which a step leads to another slice of the destination.
    slice_axis: usize,
    /// The boxes that are still to be filled, collected so that neighbours can be filled as one
    /// block.
    found: Vec<FoundBox>,
    record: &'c mut Record,
}

/// The number of boxes that are collected before they are filled. A block is filled as a whole only
/// if all of its boxes are collected.
const FOUND_BOXES: usize = 1 << 10;

/// The smallest box that is copied through a buffer, in bytes. A smaller box needs no buffer,
/// because all of its lines stay in the first-level cache anyway.
const LEAST_STAGED: usize = 1 << 14;

/// The longest block that is put together through a buffer, in bytes. The rows of a longer block
/// are treated as separate blocks, because then more of each cache line is read at a time, unless
/// the block [evicts](Pattern::evicts) its own lines.
const MOST_EXPANDED: usize = 1 << 10;

/// The least size of a row with all its repetitions, in bytes, for which the row is copied once and
/// then repeated if each of its units is in a cache line of its own. A pattern would load these
/// lines again for each repetition: `u8[128,17,33] strided<[33,0,4227]>`. Other rows are repeated
/// from [`REPEATED_BYTES`] on.
const LEAST_GATHERED: usize = 1 << 9;

/// The largest box that is copied run by run, in bytes. For a larger box, making a plan pays off,
/// because the plan chooses a better order.
const SMALL_BOX: usize = 1 << 15;

/// The approximate number of processor cycles for filling a short run, the padding of a row for
/// example.
const CYCLES_OF_FILLED_RUN: usize = 3;

/// The maximum memory for the steps of all shares of a large copy, without their plans, in bytes.
const STEPS_BYTES: usize = COPY_BYTES / 2;

/// The least number of repetitions of a block for which computing the tables of a pattern pays off.
const LEAST_REPEATS: usize = 4;

/// The axes of a box, with the copy of that box through a buffer.
type CachedStaged = (SmallVec<[PlanAxis; 8]>, Option<Arc<StagedCopy>>);

/// The way to copy a box of units that are not whole bytes of one size.
#[derive(Clone)]
enum PackedCopy {
    Plan,
    Staged(Arc<StagedCopy>),
    Bits(Arc<BitPattern>),
}

/// The axes of a box, and the bits of a byte in which it begins on both sides, with the way to copy
/// that box.
struct CachedPacked {
    axes: SmallVec<[PlanAxis; 8]>,
    first_bits: (usize, usize),
    copy: PackedCopy,
}

/// The axes of a box, with the copy of that box that converts units.
type CachedConverted = (SmallVec<[PlanAxis; 8]>, Option<Arc<ConvertedCopy>>);

/// The parts of a block, and the scale of each of its sources; see [`PatternPlace::scale`].
type BlockOf = (Vec<BlockPart>, SmallVec<[isize; 2]>);

/// A block and the loops around it, with the plan that fills them. The plan is `None` if the parts
/// of the block are better copied separately.
struct CachedBlock<P> {
    unit: usize,
    block: BlockOf,
    loops: SmallVec<[PlanAxis; 8]>,
    plan: Option<Arc<P>>,
}

impl<P> CachedBlock<P> {
    /// Returns the address of the plan, or 0 if there is none.
    fn address(&self) -> usize {
        self.plan.as_ref().map_or(0, address)
    }

    /// Returns the approximate memory of the description of the block and of its plan, in bytes.
    fn bytes(&self, of_plan: impl FnOnce(&P) -> usize) -> usize {
        size_of_val(&self.block.0[..]) + self.plan.as_deref().map_or(0, of_plan)
    }
}

impl Filling<'_, '_, '_> {
    /// Returns the outermost axis that can be inside a block of a pattern, if the axes have the
    /// given extents; see [`Self::block_axis`].
    fn block_axis_of(&self, extents: impl Iterator<Item = usize>) -> usize {
        let mut bytes = extents.zip(&self.dst).map(|(extent, &dst)| extent * dst.unsigned_abs());
        let first = bytes.position(|bytes| bytes <= MOST_BLOCK_BYTES);
        first.unwrap_or(self.dst.len()).max(self.slice_axis)
    }

    /// Returns the address of the first place of `walk_box`.
    fn first_address(&self, walk_box: &WalkBox) -> isize {
        let ranges = walk_box.ranges.iter().zip(&self.dst);
        let steps = ranges.map(|(&(low, _), stride)| low as isize * stride);
        steps.sum::<isize>() - self.first
    }

    /// Fills boxes that repeat in periods, without combining them with other boxes.
    fn fill_repeated(&mut self, of: &Repeated) {
        if of.small
            && let Some(step) = self.period(of)
        {
            return self.step(step);
        }
        let block_axis = self.block_axis_of(of.periods.first.extents());
        self.fill_groups(&of.boxes, block_axis, Some(&of.periods));
    }

    /// Collects a box, to be filled later together with its neighbours. If the list of collected
    /// boxes is full, fills them. Boxes that repeat in every period are collected only if the
    /// periods are the steps of outer axes. Others are filled immediately, after the boxes that were
    /// collected earlier. Rows that are divided between cases are filled immediately too.
    fn find(&mut self, found: &Resolved) {
        match *found {
            Resolved::Box(walk_box, value, case) => {
                self.found.push(FoundBox { walk_box: walk_box.clone(), value, case });
                if self.found.len() >= FOUND_BOXES {
                    self.fill_found();
                }
            }
            Resolved::Repeated(of) if self.is_along_outer_axes(of) => {
                if self.found.len() + of.boxes.len() > FOUND_BOXES {
                    self.fill_found();
                }
                for FoundBox { walk_box, value, case } in &of.boxes {
                    let mut all = walk_box.clone();
                    let repeats = all.ranges.iter_mut().zip(&of.periods.repeats);
                    repeats.for_each(|(range, &times)| range.1 += times.cast_signed() as i64 - 1);
                    self.found.push(FoundBox { walk_box: all, value: *value, case: *case });
                }
            }
            Resolved::Repeated(of) => {
                self.fill_found();
                self.fill_repeated(of);
            }
            Resolved::Rows(walk_box, cases) => {
                let axes = walk_box.extents().zip(self.dst.iter().copied()).collect();
                let task = self.runner.task;
                let copy =
                    RowCopy::new(task.unit_stride(), axes, cases.to_vec(), task.streams.short);
                let to = self.first_address(walk_box);
                self.step(CopyStep::Rows { copy: Arc::new(copy), to });
            }
        }
    }

    /// Returns true if the boxes of a period are collected like other boxes: if the periods are the
    /// steps of axes outside the blocks of patterns, and each source moves by the same distance at
    /// every step. A block can then have the boxes of several periods, for example those of the
    /// whole tiles and of the partial tiles of a small matrix.
    fn is_along_outer_axes(&self, Repeated { periods, boxes, .. }: &Repeated) -> bool {
        if self.runner.task.simd.is_none() || boxes.len() > FOUND_BOXES {
            return false;
        }
        let alike = |axis: usize| {
            let (low, end) = periods.first.ranges[axis];
            let moves = |case: usize| {
                let advance = periods.advances.get(case).map_or(0, |advances| advances[axis]);
                self.runner.task.offset(advance) == self.strides[case][axis].0
            };
            axis < self.block_axis && end - low == 1 && boxes.iter().all(|of| moves(of.case))
        };
        let repeats = periods.repeats.iter().enumerate();
        repeats.filter(|(_, times)| **times > 1).all(|(axis, _)| alike(axis))
    }

    /// Fills the collected boxes. Boxes that form a block of the destination are filled by one
    /// step.
    fn fill_found(&mut self) {
        let found = std::mem::take(&mut self.found);
        self.fill_groups(&found, self.block_axis, None);
    }

    /// Fills `boxes` group by group, in every period if `periods` is set. A group consists of the
    /// boxes that differ only along axis `outer` and the axes inside it. Single boxes that follow
    /// each other at equal distances are filled together.
    fn fill_groups(&mut self, boxes: &[FoundBox], outer: usize, periods: Option<&Periods>) {
        let mut rest = boxes;
        while let [first, ..] = rest {
            let mut count = boxes_of_block(outer, rest);
            if count > 1 {
                self.fill_group(&rest[..count], outer, periods);
            } else if periods.is_some() || !self.fill_without_plan(first) {
                let series = self.series(rest, periods);
                let alone = |&n: &usize| boxes_of_block(outer, &rest[n..]) == 1;
                count = 1 + (1..series.count).take_while(alone).count();
                self.fill_series(first, Series { count, ..series }, periods);
            }
            rest = &rest[count..];
        }
    }

    /// Returns the series of boxes at the start of `boxes`. If the nest has lookups, and `periods`
    /// is not set, it is a single box: series would be short, and each would need a plan of its
    /// own.
    fn series(&self, boxes: &[FoundBox], periods: Option<&Periods>) -> Series {
        let are_long = periods.is_some() || self.runner.task.nest.lookups().is_empty();
        Series::of(if are_long { boxes } else { &boxes[..1] })
    }

    /// Fills a box that consists of a few runs, or that repeats a part of itself. Returns false and
    /// fills nothing if the box needs a plan or takes no unit of a source.
    fn fill_without_plan(&mut self, of: &FoundBox) -> bool {
        let FoundBox { walk_box, value: PositionValue::Unit { source, unit }, case } = of else {
            return false;
        };
        if let Some(step) = self.runs(walk_box, (*source, *unit), *case) {
            self.step(step);
        } else if let Some((walk_box, step)) = self.again(walk_box, *case) {
            let part = FoundBox { walk_box, ..*of };
            self.fill_groups(&[part], self.block_axis, None);
            self.step(step);
        } else {
            return false;
        }
        true
    }

    /// Fills the boxes of `group`, which differ only along axis `outer` and the axes inside it. If
    /// they do not form one block, splits the group along an axis further inside and fills each
    /// part as a group of its own.
    fn fill_group(&mut self, group: &[FoundBox], outer: usize, periods: Option<&Periods>) {
        if let Some(step) = self.block(group, periods) {
            return self.step(step);
        }
        // The outermost axis along which `group` can be split into rows of boxes. There is one,
        // because boxes do not overlap.
        let divides = |&axis: &usize| boxes_of_block(axis, group) < group.len();
        let next = (outer + 1..=self.dst.len()).find(divides).unwrap_or(self.dst.len());
        self.fill_groups(group, next, periods);
    }

    /// Returns the step that fills the boxes of `group` as one block of the destination, and
    /// repeats the block in every period if `period` is set. Returns `None` if the boxes leave gaps
    /// between them, or if they are better filled separately.
    fn block(&mut self, group: &[FoundBox], period: Option<&Periods>) -> Option<CopyStep> {
        let [first, _, ..] = group else { return None };
        let mut hull = first.walk_box.clone();
        for FoundBox { walk_box, .. } in group {
            for (hull, &(low, end)) in hull.ranges.iter_mut().zip(&walk_box.ranges) {
                *hull = (hull.0.min(low), hull.1.max(end));
            }
        }
        if !fills(group, &hull) {
            return None;
        }
        self.repeated_block(group, &hull, period)
    }

    /// Returns one step that fills all boxes of a period, and repeats them in all periods. Returns
    /// `None` if the boxes are better filled separately.
    fn period(&mut self, of: &Repeated) -> Option<CopyStep> {
        if !fills(&of.boxes, &of.periods.first) {
            return None; // positions between the boxes keep their bytes
        }
        self.repeated_block(&of.boxes, &of.periods.first, Some(&of.periods))
    }

    /// Returns the step that fills the boxes of `group`, which together fill the box `hull`, and
    /// repeats them in every period if `period` is set. Returns `None` if the boxes are better
    /// filled separately.
    fn repeated_block(
        &mut self,
        group: &[FoundBox],
        hull: &WalkBox,
        period: Option<&Periods>,
    ) -> Option<CopyStep> {
        let task = self.runner.task;
        let (simd, unit) = (task.simd?, task.unit_stride());
        // The axes along which the boxes differ must be inside the block.
        let differ =
            |axis: usize| group.iter().any(|of| of.walk_box.ranges[axis] != hull.ranges[axis]);
        let mut inside: SmallVec<[bool; 8]> = (0..hull.ranges.len()).map(differ).collect();
        if inside[..self.slice_axis].contains(&true) {
            return None;
        }
        if let Some(first) = inside.iter().position(|inside| *inside) {
            let bytes = hull.extents().skip(first).product::<usize>() * unit;
            if bytes <= MOST_BLOCK_BYTES {
                inside[first..].fill(true);
            }
        }
        // The distance between two periods along an axis, in the source of a case.
        let advance = |case: usize, axis: usize| match period {
            Some(of) if of.repeats[axis] > 1 => task.offset(of.advances[case][axis]),
            _ => 0,
        };
        // The source distances of a case along an axis outside the block: from step to step, and
        // from period to period.
        let around = |case: usize, axis: usize| {
            let around = !inside[axis] && hull.extents().nth(axis) != Some(1);
            let step = if around { self.strides[case][axis].0 } else { 0 };
            (step, advance(case, axis))
        };
        let reads = group.iter().filter(|of| matches!(of.value, PositionValue::Unit { .. }));
        let mut cases: SmallVec<[usize; 8]> = reads.map(|of| of.case).collect();
        cases.sort_unstable();
        cases.dedup();
        let (base, scales) = common_distances(inside.len(), &cases, around)?;
        let scale = |case: usize| cases.iter().position(|&of| of == case).map(|of| scales[of]);
        let axes_of = |walk_box: &WalkBox, strides: &AxisStrides, wanted: bool| {
            let axes = plan_axes(walk_box.extents(), strides).zip(&inside);
            let axes = axes.filter(|(_, inside)| **inside == wanted).map(|(axis, _)| axis);
            axes.collect::<SmallVec<[PlanAxis; 8]>>()
        };
        let periods = period.iter().flat_map(|of| {
            let axes = of.repeats.iter().zip(of.first.extents()).zip(&self.dst).zip(&base);
            axes.map(|(((&extent, steps), &dst), &(_, src))| PlanAxis {
                extent,
                src,
                dst: steps.cast_signed() * dst,
            })
        });
        let steps: AxisStrides =
            base.iter().zip(&self.dst).map(|(&(src, _), &dst)| (src, dst)).collect();
        let loops = merged(periods.chain(axes_of(hull, &steps, false)));
        if loops.iter().map(|axis| axis.extent).product::<usize>() < LEAST_REPEATS {
            return None;
        }
        let to = self.first_address(hull);
        // Parts that read the same source with the same scale share a place in it, from which their
        // offsets are counted: the first unit that the first of these parts reads.
        let mut places: SmallVec<[PatternPlace; 2]> = SmallVec::new();
        let mut parts = Vec::with_capacity(group.len());
        for FoundBox { walk_box, value, case } in group {
            let take = match *value {
                PositionValue::Unit { source, unit } => {
                    let from = task.offset(unit.cast_signed());
                    let scale = scale(*case)?;
                    let same = |of: &PatternPlace| (of.source, of.scale) == (source, scale);
                    let number = places.iter().position(same).unwrap_or_else(|| {
                        places.push(PatternPlace { source, from, scale });
                        places.len() - 1
                    });
                    BlockValue::Unit { source: number, from: from - places[number].from }
                }
                PositionValue::Bits(bits) => BlockValue::Bits(bits),
                PositionValue::Kept => continue,
            };
            let axes = axes_of(walk_box, &self.strides[*case], true);
            parts.push(BlockPart { axes, to: self.first_address(walk_box) - to, take });
        }
        let scales = places.iter().map(|place| place.scale).collect();
        let block = (parts, scales);
        let rows = group.iter().map(|of| rows_inside(&of.walk_box, &inside)).sum();
        let copy = self.block_copy(group, (simd, unit), &block, &loops, rows)?;
        Some(match copy {
            BlockCopy::Pattern(pattern) => CopyStep::Pattern { pattern, places, to },
            BlockCopy::Expanded(copy) => CopyStep::Expanded { copy, places, to },
        })
    }

    /// Chooses the way to fill a block, which consists of the boxes of `group` and has `rows` rows.
    /// Returns `None` if the boxes are better filled separately.
    fn block_copy(
        &mut self,
        group: &[FoundBox],
        (simd, unit): (Simd, usize),
        block: &BlockOf,
        loops: &SmallVec<[PlanAxis; 8]>,
        rows: usize,
    ) -> Option<BlockCopy> {
        let pattern = self.pattern(simd, unit, block, loops);
        let is_long_gather = |of: &Pattern| of.cost().1 >= LINE && of.gathers();
        if let Some(pattern) = pattern.clone().filter(|of| !is_long_gather(of)) {
            let (cycles, bytes) = pattern.cost();
            if cycles > bytes / 4 {
                let separate = self.separately(group);
                let [of_boxes, of_pattern] =
                    [(separate.cycles, bytes), (cycles, separate.positions * unit)]
                        .map(|(cycles, bytes)| cycles as u64 * bytes as u64);
                if separate.transposed > 0 && of_boxes < of_pattern {
                    return None;
                }
            }
            return Some(BlockCopy::Pattern(pattern));
        }
        // A long block of many loads reads so many cache lines that they may evict each other
        // before the next block reads them again. Therefore a buffer is better if it transposes
        // units, or if so many lines are at equal places of pages that they evict each other.
        // Otherwise the pattern is used if it takes fewer operations than a copy of the boxes row
        // by row, with a load, a store and a branch for each row.
        let bytes = block.0.iter().map(|part| part.units() * unit).sum::<usize>();
        let by_rows = pattern.filter(|pattern| {
            let (cycles, length) = pattern.cost();
            cycles * bytes < 3 * rows * length
        });
        let steps = loops.iter().map(|axis| axis.extent).product::<usize>();
        let (is_short, is_large) = (bytes <= MOST_EXPANDED, bytes * steps >= LEAST_STAGED);
        if by_rows.is_none() && !(is_short && is_large) {
            return None;
        }
        let SeparateBoxes { transposed, positions, .. } = self.separately(group);
        // If boxes are transposed in registers, the pattern is only better than a buffer that does
        // not transpose.
        let beats_boxes = by_rows.is_some() && transposed == 0;
        let evicts = transposed == 0 && by_rows.as_ref().is_some_and(|of| of.evicts());
        let staged = is_large && (is_short || evicts) && 4 * transposed <= 3 * positions;
        // A pattern is better than the buffer if a loop goes from slice to slice of the
        // destination, because the pass that copies from the buffer starts again at each step.
        let leaves = |axis: &PlanAxis| !self.runner.destination.same_slice(0, axis.dst.abs());
        let staged = staged && !(beats_boxes && loops.iter().any(leaves));
        let expanded = if staged { self.expanded(simd, unit, block, loops) } else { None };
        match expanded {
            Some(copy) if by_rows.is_none() || evicts || copy.transposes() => {
                Some(BlockCopy::Expanded(copy))
            }
            None if !beats_boxes => None,
            _ => by_rows.map(BlockCopy::Pattern),
        }
    }

    /// Returns a copy that puts a block together through a buffer, from the cache if possible.
    /// Returns `None` if the buffer would gain nothing.
    fn expanded(
        &self,
        simd: Simd,
        unit: usize,
        block: &BlockOf,
        loops: &SmallVec<[PlanAxis; 8]>,
    ) -> Option<Arc<ExpandedCopy>> {
        let Task { plans, streams, .. } = self.runner.task;
        plans.of_block(
            |plans| &mut plans.expanded,
            (unit, block, loops),
            || ExpandedCopy::new(streams.machine, (simd, unit), &block.0, &block.1, loops),
        )
    }

    /// Returns the cost of filling the boxes of `group` separately, or in series.
    fn separately(&mut self, group: &[FoundBox]) -> SeparateBoxes {
        let task = self.runner.task;
        let unit = task.unit_stride();
        let mut of_all = SeparateBoxes::default();
        let mut rest = group;
        while let [first, ..] = rest {
            let series = self.series(rest, None);
            rest = &rest[series.count..];
            let axes = self.axes_of(first, series, None);
            let positions = axes.iter().map(|axis| axis.extent).product::<usize>();
            let (is_separate, cycles) = match first.value {
                PositionValue::Unit { .. } => {
                    let streams = self.streams(self.first_address(&first.walk_box));
                    match task.plan(streams, &axes).mover {
                        Mover::Transpose(_) | Mover::Strips(_) => (true, positions * unit / 4),
                        _ => (false, positions),
                    }
                }
                PositionValue::Bits(_) => {
                    let axes: SmallVec<[(usize, isize); 8]> =
                        axes.iter().map(|axis| (axis.extent, axis.dst)).collect();
                    let run = run_of(&axes, unit).1;
                    (run >= LINE, positions * unit / run * CYCLES_OF_FILLED_RUN)
                }
                PositionValue::Kept => (true, 0),
            };
            of_all.positions += positions;
            of_all.transposed += if is_separate { positions } else { 0 };
            of_all.cycles += cycles;
        }
        of_all
    }

    /// Returns the pattern that fills a block, from the cache if possible. Returns `None` if the
    /// parts of the block are better copied separately.
    fn pattern(
        &self,
        simd: Simd,
        unit: usize,
        block: &BlockOf,
        loops: &SmallVec<[PlanAxis; 8]>,
    ) -> Option<Arc<Pattern>> {
        self.runner.task.plans.of_block(
            |plans| &mut plans.patterns,
            (unit, block, loops),
            || Pattern::new(simd, unit, &block.0, &block.1, loops.iter().copied()),
        )
    }

    /// Fills the boxes of a series by one step. `first` is the first box of the series. If
    /// `periods` is set, the step also fills the boxes in every period.
    fn fill_series(&mut self, first: &FoundBox, series: Series, periods: Option<&Periods>) {
        let axes = self.axes_of(first, series, periods);
        let to = self.first_address(&first.walk_box);
        let step = match first.value {
            PositionValue::Unit { source, unit } => self.read(&axes, (source, unit), to),
            PositionValue::Bits(value) => {
                let axes = axes.iter().map(|axis| (axis.extent, axis.dst)).collect();
                CopyStep::Fill { value: FillValue::Bits(value), axes, to }
            }
            PositionValue::Kept => return,
        };
        self.step(step);
    }

    /// Returns the axes of the box that all boxes of a series are together. They are the axes of
    /// the first box, and one more if the series has several boxes. If `periods` is set, an axis
    /// that counts the periods comes before each axis of the box.
    fn axes_of(
        &self,
        FoundBox { walk_box, case, .. }: &FoundBox,
        series: Series,
        periods: Option<&Periods>,
    ) -> SmallVec<[PlanAxis; 8]> {
        let task = self.runner.task;
        let mut axes: SmallVec<[PlanAxis; 8]> = SmallVec::new();
        for (axis, (extent, &(src, dst))) in
            walk_box.extents().zip(&self.strides[*case]).enumerate()
        {
            if let Some(periods) = periods {
                let advance = periods.advances.get(*case).map_or(0, |advances| advances[axis]);
                let (low, end) = periods.first.ranges[axis];
                let (times, dst) = (periods.repeats[axis], (end - low) as isize * dst);
                axes.push(PlanAxis { extent: times, src: task.offset(advance), dst });
            }
            if series.count > 1 && axis == series.axis {
                let (src, dst) = (task.offset(series.units), series.steps as isize * dst);
                axes.push(PlanAxis { extent: series.count, src, dst });
            }
            axes.push(PlanAxis { extent, src, dst });
        }
        axes
    }

    /// Records a step, and runs it unless the copy is only planned.
    fn step(&mut self, step: CopyStep) {
        if self.record.runs {
            self.runner.run(&step);
        }
        self.record.add(step);
    }

    /// Returns the step that copies a small box run by run. Returns `None` if the box is large, or
    /// if it consists of several runs that are shorter than a cache line.
    fn runs(
        &self,
        walk_box: &WalkBox,
        (source, unit): (usize, u64),
        case: usize,
    ) -> Option<CopyStep> {
        let task = self.runner.task;
        has_whole_bytes(task.nest).then_some(())?;
        let (mut bytes, mut axes) = (task.unit_stride(), SmallVec::<[PlanAxis; 4]>::new());
        let extents: Extents = walk_box.extents().collect();
        for (&extent, &(src, dst)) in extents.iter().zip(&self.strides[case]).rev() {
            if extent == 1 {
                continue;
            }
            let run = bytes.cast_signed();
            if axes.is_empty() && (src, dst) == (run, run) {
                bytes *= extent;
            } else {
                axes.insert(0, PlanAxis { extent, src, dst });
            }
        }
        let times: usize = axes.iter().map(|axis| axis.extent).product();
        let small = (times == 1 || bytes >= LINE) && times * bytes <= SMALL_BOX;
        let (from, to) = (task.offset(unit.cast_signed()), self.first_address(walk_box));
        small.then_some(CopyStep::Runs { axes, bytes, source, from, to })
    }

    /// Splits the box of a broadcast into a part that is copied once, and a step that repeats this
    /// part in the destination. Returns `None` if nothing is repeated, if the rows and their
    /// repetitions together are short, or if the rows are long runs of the source.
    fn again(&self, walk_box: &WalkBox, case: usize) -> Option<(WalkBox, CopyStep)> {
        let task = self.runner.task;
        has_whole_bytes(task.nest).then_some(())?;
        // `bytes` is the length of the row so far. `run` is its length in the source if the row is
        // one run there. `distance` is the source stride of the innermost axis that moves, or 0 if
        // none of its axes moves in the source.
        let (mut bytes, mut run, mut distance) = (task.unit_stride(), Some(task.unit_stride()), 0);
        let axes: SmallVec<[PlanAxis; 8]> =
            plan_axes(walk_box.extents(), &self.strides[case]).collect();
        for (axis, &PlanAxis { extent, src, dst }) in axes.iter().enumerate().rev() {
            if extent == 1 {
                continue;
            }
            if dst != bytes.cast_signed() || axis < self.slice_axis {
                return None;
            }
            if src == 0 && distance != 0 {
                let mut first = walk_box.clone();
                first.ranges[axis].1 = first.ranges[axis].0 + 1;
                let outer = axes[..axis].iter().map(|axis| (axis.extent, axis.dst));
                let axes = outer.filter(|(extent, _)| *extent > 1).collect();
                let step = CopyStep::Again {
                    axes,
                    bytes,
                    count: extent - 1,
                    to: self.first_address(walk_box),
                };
                let least = if distance >= LINE { LEAST_GATHERED } else { REPEATED_BYTES };
                let pays = extent * bytes >= least && run.is_none_or(|run| run < LINE);
                return pays.then_some((first, step));
            }
            if distance == 0 {
                distance = src.unsigned_abs();
            }
            run = run.filter(|_| src == bytes.cast_signed()).map(|run| run * extent);
            bytes *= extent;
        }
        None
    }

    /// Returns the step that copies a box with the given axes from unit `unit` of a source to
    /// address `to`: a conversion, a fill with a unit that all positions share, or the step that
    /// [`Self::copy`] chooses.
    fn read(&mut self, axes: &[PlanAxis], (source, unit): (usize, u64), to: isize) -> CopyStep {
        let task = self.runner.task;
        let from = task.offset(unit.cast_signed());
        if task.nest.conversion().is_some()
            && let Some(copy) = self.converted(axes)
        {
            return CopyStep::Converted { copy, source, from, to };
        }
        if let Some(step) = task.broadcast(axes.iter().copied(), (source, from), to) {
            return step;
        }
        let plan = task.plan(self.streams(to), axes);
        self.copy(plan, axes, (source, from), to)
    }

    /// Returns the step that copies a box with the given axes. Uses a buffer or a pattern instead
    /// of `plan` if that is faster.
    fn copy(
        &mut self,
        plan: Arc<TilePlan>,
        axes: &[PlanAxis],
        (source, from): (usize, isize),
        to: isize,
    ) -> CopyStep {
        let task = self.runner.task;
        let mut pattern = None;
        if let Some(simd) = task.simd.filter(|&simd| plan.may_be_pattern(simd)) {
            let (block, loops) = BlockPart::of_box(&plan, axes, task.unit_stride());
            let scale = scale_of(&loops);
            let parts = (vec![block], smallvec![scale]);
            pattern = self.pattern(simd, plan.unit, &parts, &loops).map(|pattern| (pattern, scale));
        }
        // True if units are far apart in the source, so that a pattern would need many loads or
        // would lose lines from the cache, or so that a plan would copy them one by one. In a
        // buffer, they are close enough together to be transposed in registers.
        let gathers = match &pattern {
            Some((pattern, _)) => pattern.gathers(),
            None => task.simd.is_some() && plan.copies_single_units(),
        };
        if !has_whole_bytes(task.nest) {
            return match self.packed(&plan, axes, (from, to)) {
                PackedCopy::Plan => CopyStep::Copy { plan, source, from, to },
                PackedCopy::Staged(copy) => CopyStep::Staged { copy, source, from, to },
                PackedCopy::Bits(copy) => CopyStep::Bits { copy, source, from, to },
            };
        }
        if gathers
            && axes.iter().map(|axis| axis.extent).product::<usize>() * task.unit_stride()
                >= LEAST_STAGED
            && let Some(copy) = self.staged(axes)
        {
            return CopyStep::Staged { copy, source, from, to };
        }
        // Without a buffer, long rows are selected faster than by such a pattern.
        if let Some((pattern, scale)) = pattern
            && !(gathers && plan.selects_long_rows())
        {
            let places = smallvec![PatternPlace { source, from, scale }];
            return CopyStep::Pattern { pattern, places, to };
        }
        CopyStep::Copy { plan, source, from, to }
    }

    /// Returns the copy of a box through a buffer, from the cache if possible. Returns `None` if
    /// the box is better copied without a buffer.
    fn staged(&self, axes: &[PlanAxis]) -> Option<Arc<StagedCopy>> {
        let task = self.runner.task;
        let same = |(of, copy): &CachedStaged| (of[..] == *axes).then(|| copy.clone());
        task.plans.get(
            |plans| &mut plans.staged,
            same,
            || {
                let (of, machine) = (axes.iter().copied(), task.streams.machine);
                let copy = StagedCopy::of_bytes(machine, of, task.unit_stride(), task.simd);
                let copy = copy.map(Arc::new);
                ((axes.into(), copy.clone()), copy)
            },
        )
    }

    /// Chooses the way to copy a box of units that are not whole bytes of one size: the one that
    /// takes the fewest cycles for each unit. Takes it from the cache if possible. `plan` is the
    /// plan of the box, and `from` and `to` are its first units on both sides.
    fn packed(&self, plan: &TilePlan, axes: &[PlanAxis], (from, to): (isize, isize)) -> PackedCopy {
        let task = self.runner.task;
        let bits = Bits::of(task.nest);
        if !bits.is_packed() || bits.moves_runs(plan) {
            return PackedCopy::Plan;
        }
        let simd = Simd::best(task.streams.machine);
        let matrix = bits.cycles_of_matrix(plan, simd);
        let first_bits = bits.first_bits((from, to));
        let same = |of: &CachedPacked| {
            (of.first_bits == first_bits && of.axes[..] == *axes).then(|| of.copy.clone())
        };
        task.plans.get(
            |plans| &mut plans.packed,
            same,
            || {
                let of = || axes.iter().copied();
                let pattern = BitPattern::new(simd, bits, of(), (from, to), matrix);
                // A buffer takes at least this time.
                let few = |pattern: &BitPattern| pattern.cycles < CYCLES_OF_BYTES;
                let copy = match pattern {
                    Some(pattern) if few(&pattern) => PackedCopy::Bits(Arc::new(pattern)),
                    None if matrix <= CYCLES_OF_BYTES => PackedCopy::Plan,
                    pattern => {
                        let staged = StagedCopy::of_packed(task.streams.machine, of());
                        let buffer = staged.cycles_of_packed();
                        match pattern {
                            Some(pattern) if pattern.cycles < buffer => {
                                PackedCopy::Bits(Arc::new(pattern))
                            }
                            _ if buffer < matrix => PackedCopy::Staged(Arc::new(staged)),
                            _ => PackedCopy::Plan,
                        }
                    }
                };
                let axes = axes.into();
                (CachedPacked { axes, first_bits, copy: copy.clone() }, copy)
            },
        )
    }

    /// Returns the copy that converts the units of a box with these axes, from the cache if
    /// possible.
    fn converted(&self, axes: &[PlanAxis]) -> Option<Arc<ConvertedCopy>> {
        let task = self.runner.task;
        let same = |(of, copy): &CachedConverted| (of[..] == *axes).then(|| copy.clone());
        task.plans.get(
            |plans| &mut plans.converted,
            same,
            || {
                let of = axes.iter().copied();
                let copy = ConvertedCopy::new(task.streams.machine, task.nest, of).map(Arc::new);
                ((axes.into(), copy.clone()), copy)
            },
        )
    }

    /// Returns the kinds of boxes that are streamed, with the alignment of the box that is written
    /// from address `to`.
    fn streams(&mut self, to: isize) -> Streams {
        let nest = self.runner.task.nest;
        let bits = if has_whole_bytes(nest) { 8 } else { nest.dst_bits() as usize };
        let start = match self.runner.stream {
            Some((_, true)) if self.runner.destination.begins_line(to, bits) => LineAlignment::Line,
            Some((_, true)) => LineAlignment::Inside,
            _ => LineAlignment::Uneven,
        };
        Streams { start, ..self.streams }
    }
}

/// The cost of filling boxes separately, or in series.
#[derive(Default)]
struct SeparateBoxes {
    /// The number of positions of all boxes.
    positions: usize,
    /// The number of positions that are better filled without a pattern, because a plan transposes
    /// them in registers, or because they are long runs of a constant.
    transposed: usize,
    /// The approximate number of processor cycles.
    cycles: usize,
}

/// The way to fill a block: at once by a pattern, or through a buffer.
enum BlockCopy {
    Pattern(Arc<Pattern>),
    Expanded(Arc<ExpandedCopy>),
}

/// Returns the number of rows that a box has inside one block. `inside` is true for the axes of the
/// block.
fn rows_inside(walk_box: &WalkBox, inside: &[bool]) -> usize {
    let extents: Extents = walk_box.extents().collect();
    let outer = extents.iter().zip(inside).rev().skip(1);
    outer.filter(|(_, inside)| **inside).map(|(extent, _)| extent).product()
}
