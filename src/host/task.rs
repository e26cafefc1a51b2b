//! Fills one share of a destination: its boxes are filled, copied by plans, or moved as patterns that repeat.

use smallvec::SmallVec;

use super::{
    bits::Bits,
    box_copy::{BoxCopy, Room},
    boxes::{Repeated, Resolved, WalkBox, resolve},
    fill::Fill,
    pieces::Pieces,
    plan::{Plan, Start, Streams},
    plane::PlanAxis,
    repeat::{Pattern, Repeat},
    share::Share,
    simd::Simd,
    stream::Stream,
};
use crate::nest::{Case, CopyNest, Take, Taken, Value};

/// Plans that a share keeps for boxes of the same extents.
const KEPT: usize = 16;

/// Fills shares of a nest's destination.
pub(super) struct Task<'a> {
    pub(super) nest: &'a CopyNest,
    pub(super) sources: &'a [&'a [u8]],
    /// The shuffles of bytes to use, for cells of whole bytes.
    pub(super) simd: Option<Simd>,
    /// What is streamed.
    pub(super) streams: Streams,
}

/// Extents of a box.
type Extents = SmallVec<[usize; 8]>;

/// A plan, with the case, the start and the extents of the boxes that it is for.
type Kept = ((usize, Start), Extents, Plan);

/// Steps of the axes on both sides.
type Strides = [(isize, isize)];

impl Task<'_> {
    /// Fills a share of the destination of whole images.
    pub(super) fn run(&self, share: Share, stream: Option<&Stream>) {
        let Share { boxes, mut pieces, first, axis } = share;
        let pitch = axis.checked_sub(1).and_then(|outer| self.nest.axes().nth(outer));
        let dst = self.nest.axes().enumerate().map(|(number, of)| match pitch {
            Some(pitch) if number < axis => {
                ((of.dst_stride / pitch.dst_stride) as usize).cast_signed() << pieces.shift
            }
            _ => self.offset(of.dst_stride.cast_signed()),
        });
        let dst: SmallVec<[isize; 8]> = dst.collect();
        // Those of a case that reads nothing, or of no case, move the destination alone.
        let cases = self.nest.cases().iter().map(|case| self.strides(Some(case), &dst));
        let strides: SmallVec<[_; 2]> = cases.chain([self.strides(None, &dst)]).collect();
        let mut plans: Vec<Kept> = Vec::new();
        let mut room = Room::default();
        let even = stream.is_some() && pieces.are_even();
        for walk_box in boxes {
            resolve(self.nest, walk_box, self.is_whole_bytes(), &mut |found| {
                let place = |walk_box: &WalkBox| {
                    let ranges = walk_box.ranges.iter().zip(&dst);
                    let steps = ranges.map(|(&(low, _), stride)| low as isize * stride);
                    steps.sum::<isize>() - self.offset(first.cast_signed())
                };
                match found {
                    Resolved::Box(walk_box, Taken::Unit { source, unit }, case) => {
                        let to = place(walk_box);
                        let start = match even {
                            false => Start::Uneven,
                            true if pieces.begins_line(to) => Start::Line,
                            true => Start::Inside,
                        };
                        let extents = walk_box.extents().collect();
                        let plan = self.plan(&mut plans, (case, start), extents, &strides[case]);
                        let stream = stream.filter(|_| plan.streams);
                        let stream = stream.map(|stream| (stream, &mut room));
                        let from = (self.sources[source], self.offset(unit.cast_signed()));
                        self.copy(plan, from, &mut pieces, to, stream);
                    }
                    Resolved::Box(walk_box, Taken::Bits(bits), case) => {
                        let extents: Extents = walk_box.extents().collect();
                        self.fill(bits, &extents, &strides[case], &mut pieces, place(walk_box));
                    }
                    Resolved::Repeated(of, case) => {
                        let pattern = self.pattern(of, &strides[case]);
                        let source = match self.nest.cases()[case].take {
                            Take::Read { source, .. } => self.sources[source],
                            Take::Bits(_) => &[],
                        };
                        pattern.run(source, 0, &mut pieces, place(&of.first));
                    }
                }
            });
        }
    }

    /// The steps of the axes on both sides, in the source where a case reads.
    fn strides(&self, case: Option<&Case>, dst: &[isize]) -> SmallVec<[(isize, isize); 8]> {
        let src = |axis: usize| match case.map(|case| &case.take) {
            Some(Take::Read { at, .. }) => self.offset(at.weight(Value::Axis(axis))),
            _ => 0,
        };
        dst.iter().enumerate().map(|(axis, &dst)| (src(axis), dst)).collect()
    }

    /// The pattern of boxes that repeat.
    fn pattern(&self, of: &Repeated, strides: &Strides) -> Pattern {
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

    /// The plan for a box of a case.
    fn plan<'k>(
        &self,
        kept: &'k mut Vec<Kept>,
        of: (usize, Start),
        extents: Extents,
        strides: &Strides,
    ) -> &'k Plan {
        let same = |kept: &Kept| kept.0 == of && kept.1 == extents;
        let found = kept.iter().position(same).unwrap_or_else(|| {
            if kept.len() == KEPT {
                kept.clear();
            }
            let axes = extents.iter().zip(strides);
            let axes = axes.map(|(&extent, &(src, dst))| PlanAxis { extent, src, dst });
            let streams = Streams { start: of.1, ..self.streams };
            let plan = Plan::new(axes, self.scale(), self.simd, streams);
            kept.push((of, extents, plan));
            kept.len() - 1
        });
        &kept[found].2
    }

    fn copy(
        &self,
        plan: &Plan,
        (source, from): (&[u8], isize),
        destination: &mut Pieces,
        to: isize,
        stream: Option<(&Stream, &mut Room)>,
    ) {
        let (src_bits, dst_bits) = (self.nest.src_bits(), self.nest.dst_bits());
        if src_bits == dst_bits && dst_bits >= 8 {
            BoxCopy { plan, source, destination, stream }.run(from, to);
        } else {
            let sign_extend = self.nest.sign_extend();
            let bits = Bits { src: src_bits, dst: dst_bits, sign_extend };
            bits.copy(plan, source, from, destination, to);
        }
    }

    fn fill(
        &self,
        value: u128,
        extents: &[usize],
        strides: &Strides,
        destination: &mut Pieces,
        to: isize,
    ) {
        let axes = extents.iter().zip(strides);
        let axes: SmallVec<[(usize, isize); 8]> =
            axes.map(|(&extent, &(_, stride))| (extent, stride)).collect();
        Fill { bits: self.nest.dst_bits(), scale: self.scale(), value }.write(
            &axes,
            to,
            destination,
        );
    }

    /// Whether a unit has the same whole number of bytes on both sides.
    fn is_whole_bytes(&self) -> bool {
        let (src_bits, dst_bits) = (self.nest.src_bits(), self.nest.dst_bits());
        src_bits == dst_bits && dst_bits.is_multiple_of(8)
    }

    /// What a unit moves an address by: its bytes, where both sides have the same whole number, else 1.
    fn scale(&self) -> usize {
        if self.is_whole_bytes() { self.nest.dst_bits() as usize / 8 } else { 1 }
    }

    /// An offset, from units. Images fit the address space.
    fn offset(&self, units: i64) -> isize {
        units as isize * self.scale().cast_signed()
    }
}
