//! Fills one share of a destination: each box is filled, copied by a plan, or moved as a pattern
//! that repeats.

use std::rc::Rc;

use smallvec::SmallVec;

use super::{
    boxes::{Bound, Repeated, Resolved, WalkBox, resolve},
    interleave::{Reading, SourceSpan, alike, divides_rows, each_strip},
    kept::Record,
    plan::{LineAlignment, Streams, TilePlan},
    plane::PlanAxis,
    repeat::{Pattern, Repeat, Series},
    share::Share,
    simd::Simd,
    step::{CopyStep, StepRunner},
    stream::Stream,
    weave::Weave,
};
use crate::nest::{Case, CaseValue, CopyNest, PositionValue, Value};

/// The number of plans that a share caches. If a share needs more, it drops all of them and makes
/// them again; a search compares every cached plan.
const CACHED_PLANS: usize = 16;

/// Fills shares of the destination of a nest.
pub(super) struct Task<'a> {
    pub(super) nest: &'a CopyNest,
    pub(super) sources: &'a [&'a [u8]],
    /// The instruction set for shuffles of bytes; `None` if units are not whole bytes.
    pub(super) simd: Option<Simd>,
    /// The copies that use non-temporal stores.
    pub(super) streams: Streams,
}

/// The extents of a box.
type Extents = SmallVec<[usize; 8]>;

/// The boxes that a plan copies: a box of one case, or several boxes along `axis` whose sources are
/// `pitch` bytes apart in a staging buffer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PlanKey {
    Case(usize),
    Staged { case: usize, axis: usize, pitch: usize },
}

/// A plan with its key: the boxes that it copies, their alignment to cache lines, and their
/// extents.
struct CachedPlan {
    key: PlanKey,
    start: LineAlignment,
    extents: Extents,
    plan: Rc<TilePlan>,
}

/// The source and destination strides of each axis.
type AxisStrides = SmallVec<[(isize, isize); 8]>;

impl Task<'_> {
    /// Fills a share of the destination, and records the steps.
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
        // Strides of a case that does not read, and of positions without a case, move only in the
        // destination.
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
            plans: Vec::new(),
            record,
        };
        let of = Bound { nest: self.nest, images: self.sources };
        if self.is_whole_bytes() && divides_rows(self.nest) {
            for walk_box in boxes {
                if !filling.weave(&walk_box) {
                    each_strip(self.nest, walk_box, &mut |strip| filling.strip(strip));
                }
            }
        } else {
            for walk_box in boxes {
                let repeats = self.is_whole_bytes();
                resolve(of, walk_box, repeats, &mut |found| filling.fill(&found));
            }
        }
    }

    /// Returns the strides of the axes; those in the source are zero unless the case reads.
    fn strides(&self, case: Option<&Case>, dst: &[isize]) -> AxisStrides {
        let src = |axis: usize| match case.map(|case| &case.take) {
            Some(CaseValue::Read { at, .. }) => self.offset(at.weight(Value::Axis(axis))),
            _ => 0,
        };
        dst.iter().enumerate().map(|(axis, &dst)| (src(axis), dst)).collect()
    }

    /// Returns the pattern of boxes that repeat.
    fn pattern(&self, of: &Repeated, strides: &[(isize, isize)]) -> Pattern {
        let mut units = Vec::new();
        for (walk_box, from) in &of.boxes {
            let lows =
                walk_box.ranges.iter().zip(&of.first.ranges).map(|(of, first)| of.0 - first.0);
            let to = lows.zip(strides).map(|(steps, (_, dst))| steps as isize * dst).sum();
            let mut of_box = vec![(to, self.offset(from.cast_signed()))];
            for (extent, &(src, dst)) in walk_box.extents().zip(strides) {
                let steps = 0..extent.cast_signed();
                let step = |(to, from): (isize, isize)| {
                    steps.clone().map(move |step| (to + step * dst, from + step * src))
                };
                of_box = of_box.into_iter().flat_map(step).collect();
            }
            units.append(&mut of_box);
        }
        units.sort_unstable();
        let periods = of.first.extents().zip(strides).zip(&of.repeats);
        let repeats = periods.map(|((steps, (_, dst)), &(times, advance))| Repeat {
            times,
            src: self.offset(advance),
            dst: steps.cast_signed() * dst,
        });
        Pattern::new(self.simd, self.scale(), &units, repeats.collect())
    }

    /// Returns the plan for a box of one case, or for several staged boxes.
    fn plan<'k>(
        &self,
        cache: &'k mut Vec<CachedPlan>,
        (key, streams): (PlanKey, Streams),
        extents: Extents,
        strides: &[(isize, isize)],
    ) -> &'k Rc<TilePlan> {
        let start = streams.start;
        let same = |cached: &CachedPlan| {
            cached.key == key && cached.start == start && cached.extents == extents
        };
        let found = cache.iter().position(same).unwrap_or_else(|| {
            if cache.len() == CACHED_PLANS {
                cache.clear();
            }
            let axes = extents.iter().zip(strides);
            let axes = axes.map(|(&extent, &(src, dst))| PlanAxis { extent, src, dst });
            let plan = Rc::new(TilePlan::new(axes, self.scale(), self.simd, streams));
            cache.push(CachedPlan { key, start, extents, plan });
            cache.len() - 1
        });
        &cache[found].plan
    }

    /// Returns true if a unit has the same whole number of bytes on both sides.
    fn is_whole_bytes(&self) -> bool {
        let (src_bits, dst_bits) = (self.nest.src_bits(), self.nest.dst_bits());
        src_bits == dst_bits && dst_bits.is_multiple_of(8)
    }

    /// Returns the size of a unit in an address: its bytes if both sides have the same whole number
    /// of them, and 1 otherwise.
    pub(super) fn scale(&self) -> usize {
        if self.is_whole_bytes() { self.nest.dst_bits() as usize / 8 } else { 1 }
    }

    /// Converts an offset in units to one in addresses. Images fit the address space.
    fn offset(&self, units: i64) -> isize {
        units as isize * self.scale().cast_signed()
    }
}

/// A share while it is filled.
struct Filling<'a, 'b, 'c> {
    runner: StepRunner<'a, 'b>,
    /// The address of position 0 of the walk.
    first: isize,
    /// The copies that use non-temporal stores, for boxes of unknown alignment.
    streams: Streams,
    /// The destination strides of the axes.
    dst: SmallVec<[isize; 8]>,
    /// The strides on both sides, for each case and for positions without a case.
    strides: SmallVec<[AxisStrides; 2]>,
    plans: Vec<CachedPlan>,
    record: &'c mut Record,
}

impl Filling<'_, '_, '_> {
    /// Returns the address of the first position of a box.
    fn place(&self, walk_box: &WalkBox) -> isize {
        let ranges = walk_box.ranges.iter().zip(&self.dst);
        let steps = ranges.map(|(&(low, _), stride)| low as isize * stride);
        steps.sum::<isize>() - self.first
    }

    /// Fills the boxes that were found.
    fn fill(&mut self, found: &Resolved) {
        let task = self.runner.task;
        let step = match *found {
            Resolved::Box(walk_box, PositionValue::Unit { source, unit }, case) => {
                self.read(walk_box, source, unit, case)
            }
            Resolved::Box(walk_box, PositionValue::Bits(value), case) => {
                let strides = self.strides[case].iter().map(|&(_, stride)| stride);
                let axes = walk_box.extents().zip(strides).collect();
                CopyStep::Fill { value, axes, to: self.place(walk_box) }
            }
            Resolved::Repeated(of, case) if !of.small => return self.large(of, case),
            Resolved::Repeated(of, case) => {
                let CaseValue::Read { source, .. } = task.nest.cases()[case].take else { return };
                let pattern = task.pattern(of, &self.strides[case]);
                CopyStep::Pattern { pattern, source, to: self.place(&of.first) }
            }
        };
        self.step(step);
    }

    /// Copies each box of a period at all places of the period: each axis of the box gets an axis
    /// of repeats around it. Boxes that follow each other by equal steps become one more axis.
    fn large(&mut self, of: &Repeated, case: usize) {
        let task = self.runner.task;
        let CaseValue::Read { source, .. } = task.nest.cases()[case].take else { return };
        let mut rest = &of.boxes[..];
        while let [(walk_box, unit), ..] = rest {
            let to = self.place(walk_box);
            let streams = self.streams(to);
            let Series { count, axis: along, steps, units } = Series::of(rest);
            let mut axes: Vec<PlanAxis> = Vec::new();
            for (axis, (extent, &(src, dst))) in
                walk_box.extents().zip(&self.strides[case]).enumerate()
            {
                let (times, advance) = of.repeats[axis];
                let (low, end) = of.first.ranges[axis];
                let period = (end - low) as isize * dst;
                axes.push(PlanAxis { extent: times, src: task.offset(advance), dst: period });
                if axis == along {
                    let (src, dst) = (task.offset(units), steps as isize * dst);
                    axes.push(PlanAxis { extent: count, src, dst });
                }
                axes.push(PlanAxis { extent, src, dst });
            }
            let plan = Rc::new(TilePlan::new(axes, task.scale(), task.simd, streams));
            self.step(CopyStep::Copy { plan, source, from: task.offset(unit.cast_signed()), to });
            rest = &rest[count..];
        }
    }

    fn step(&mut self, step: CopyStep) {
        self.runner.run(&step);
        self.record.add(step);
    }

    /// Returns the step that copies a box.
    fn read(&mut self, walk_box: &WalkBox, source: usize, unit: u64, case: usize) -> CopyStep {
        let task = self.runner.task;
        let (to, extents) = (self.place(walk_box), walk_box.extents().collect());
        let of = (PlanKey::Case(case), self.streams(to));
        let plan = task.plan(&mut self.plans, of, extents, &self.strides[case]).clone();
        CopyStep::Copy { plan, source, from: task.offset(unit.cast_signed()), to }
    }

    /// Returns the use of non-temporal stores for a box that is written from address `to`.
    fn streams(&mut self, to: isize) -> Streams {
        let start = match self.runner.stream {
            Some((_, true)) if self.runner.destination.begins_line(to) => LineAlignment::Line,
            Some((_, true)) => LineAlignment::Inside,
            _ => LineAlignment::Uneven,
        };
        Streams { start, ..self.streams }
    }

    /// Fills a strip of the walk. Boxes with equal extents and strides are copied together, others
    /// one by one.
    fn strip(&mut self, strip: WalkBox) {
        let task = self.runner.task;
        let mut boxes: Vec<Reading> = Vec::new();
        let of = Bound { nest: task.nest, images: task.sources };
        resolve(of, strip, false, &mut |found| match found {
            Resolved::Box(walk_box, PositionValue::Unit { source, unit }, case) => {
                boxes.push(Reading { walk_box: walk_box.clone(), source, unit, case });
            }
            found => self.fill(&found),
        });
        let mut rest = &boxes[..];
        while !rest.is_empty() {
            let (count, axis) = alike(rest, |a, b| self.strides[a] == self.strides[b]);
            let (group, others) = rest.split_at(count);
            match self.staged(group, axis) {
                Some(step) => self.step(step),
                None => {
                    for Reading { walk_box, source, unit, case } in group {
                        let step = self.read(walk_box, *source, *unit, *case);
                        self.step(step);
                    }
                }
            }
            rest = others;
        }
    }

    /// Weaves the rows of a box of the walk, if it consists of boxes with equal extents and
    /// strides. Returns true if it did.
    fn weave(&mut self, walk_box: &WalkBox) -> bool {
        let task = self.runner.task;
        let (mut boxes, mut reads) = (Vec::new(), true);
        let of = Bound { nest: task.nest, images: task.sources };
        resolve(of, walk_box.clone(), false, &mut |found| match found {
            Resolved::Box(walk_box, PositionValue::Unit { source, unit }, case) => {
                boxes.push(Reading { walk_box: walk_box.clone(), source, unit, case });
            }
            _ => reads = false,
        });
        let (count, axis) = alike(&boxes, |a, b| self.strides[a] == self.strides[b]);
        if !reads || count < boxes.len().max(2) {
            return false;
        }
        let Some(pitch) = self.reach(&boxes[0]).apart(count) else { return false };
        let (extents, strides) = self.staged_axes(&boxes, axis, pitch);
        let axes = extents.iter().zip(strides);
        let axes = axes.map(|(&extent, (src, dst))| PlanAxis { extent, src, dst });
        let plan = TilePlan::new(axes, task.scale(), task.simd, self.streams);
        let Some(weave) = Weave::new(plan, pitch) else { return false };
        let places = boxes.iter().map(|of| (of.source, task.offset(of.unit.cast_signed())));
        let places = places.collect();
        let to = self.place(&boxes[0].walk_box);
        self.step(CopyStep::Weave { weave: Box::new(weave), places, to });
        true
    }

    /// Returns the step that copies boxes along an axis as one. Returns `None` if that is not
    /// faster.
    fn staged(&mut self, group: &[Reading], axis: usize) -> Option<CopyStep> {
        let task = self.runner.task;
        let [first, _, ..] = group else { return None };
        let reach = self.reach(first);
        let pitch = reach.pitch()?;
        let (extents, strides) = self.staged_axes(group, axis, pitch.cast_signed());
        let to = self.place(&first.walk_box);
        let of = (PlanKey::Staged { case: first.case, axis, pitch }, self.streams(to));
        let plan = task.plan(&mut self.plans, of, extents, &strides).clone();
        let place = |of: &Reading| (of.source, task.offset(of.unit.cast_signed()));
        Some(CopyStep::Staged { plan, reach, places: group.iter().map(place).collect(), to })
    }

    /// Returns the part of a source that a box reads.
    fn reach(&self, Reading { walk_box, case, .. }: &Reading) -> SourceSpan {
        let axes = walk_box.extents().zip(&self.strides[*case]).map(|(extent, of)| (extent, of.0));
        SourceSpan::of(axes, self.runner.task.scale())
    }

    /// Returns the extents and strides of boxes along `axis` as if their sources were `pitch` bytes
    /// apart. The number of the box becomes one more axis, directly outside `axis`.
    fn staged_axes(&self, group: &[Reading], axis: usize, pitch: isize) -> (Extents, AxisStrides) {
        let Reading { walk_box, case, .. } = &group[0];
        let mut strides = self.strides[*case].clone();
        let mut extents: Extents = walk_box.extents().collect();
        let step = extents[axis].cast_signed() * strides[axis].1;
        strides.insert(axis, (pitch, step));
        extents.insert(axis, group.len());
        (extents, strides)
    }
}
