//! [`RowSegments`]: a division of rows into segments, parts that come from one source each, as in a
//! concatenation of columns.
//!
//! A gather would find the source of each word anew. Here the rows are cut into segments at compile
//! time, and a kernel copies each segment in a loop of its own. Lengths count *units*, the
//! elements, or parts of elements, that the nest copies at a time. Four concatenated columns of f32
//! are copied at 4.8 instead of 1.0 GB/s on a CPU (`benches/NOTES.md`).

use std::sync::Arc;

use smallvec::SmallVec;

use super::AdapterKind;
use crate::nest::{ACCESS_BYTES, Affine, Case, CaseValue, CopyNest, GreatestSums, Guard, Value};

/// The maximum number of loops in a kernel, which has one loop for each source of each segment.
const MAX_LOOPS: usize = 12;

/// A division of a destination's rows into segments, and of each segment among invocations. A row
/// is all steps of the innermost axis.
///
/// The conditions of the nest cut each row into [segments](Self::segments). For example, a row of
/// 20 units that concatenates 12 and 8 has the segments 0 to 11 and 12 to 19. Inside a segment, no
/// guard depends on the innermost axis, and each source is read contiguously.
///
/// A row is divided among groups of [`lanes`](Self::lanes) invocations. An invocation copies its
/// part in a loop. One iteration, called a *turn*, copies [`width`](Self::width) contiguous
/// accesses of 16 bytes; the accesses after these belong to the next invocation of the group. An
/// access that two segments share, called a *meeting*, is copied by an invocation of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RowSegments {
    pub(crate) nest: Arc<CopyNest>,
    /// The number of units in an access of 16 bytes.
    pub(crate) units: u64,
    /// The number of accesses in a row.
    pub(crate) accesses: u64,
    /// The number of invocations in a group. Together they copy a row or a part of it.
    pub(crate) lanes: u64,
    /// The number of contiguous accesses that an invocation copies in one turn. The width is up to
    /// 4 on a CPU, because consecutive unaligned accesses share loads: a single access takes two
    /// loads, but two consecutive accesses take three.
    pub(crate) width: u64,
    /// The number of turns, or loop iterations, in which a group copies its part of a row, if the
    /// part is in one segment. A part in several segments may take more turns.
    pub(crate) turns: u64,
    /// The segments of a row, in order.
    pub(crate) segments: Vec<RowSegment>,
}

/// A part of every row in which no guard changes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RowSegment {
    /// The first unit of the segment, counted from the start of the row.
    pub(crate) first: u64,
    /// The unit after the last one of the segment.
    pub(crate) end: u64,
    /// The cases that can apply in the segment, in order. The first whose guards all hold decides.
    /// Guards do not depend on the innermost axis, and the last case has none.
    pub(crate) cases: SmallVec<[Case; 1]>,
}

impl RowSegment {
    /// Returns the half-open range of accesses, of `units` units each, that are entirely inside the
    /// segment. Returns `None` if there are none.
    pub(crate) fn alone(&self, units: u64) -> Option<(u64, u64)> {
        let (first, end) = (self.first.div_ceil(units), self.end / units);
        (first < end).then_some((first, end))
    }

    /// Returns the sources that the segment reads, without duplicates. `None` in the list means
    /// that a case fills the segment with constant bits.
    pub(crate) fn sources(&self) -> SmallVec<[Option<usize>; 2]> {
        let mut sources: SmallVec<[Option<usize>; 2]> =
            self.cases.iter().map(|case| source(&case.take)).collect();
        sources.sort_unstable();
        sources.dedup();
        sources
    }
}

/// Returns the source that a case reads, or `None` if the case has constant bits.
pub(crate) fn source(take: &CaseValue) -> Option<usize> {
    match take {
        CaseValue::Read { source, .. } => Some(*source),
        CaseValue::Bits(_) => None,
    }
}

impl RowSegments {
    /// Divides the rows of a nest into segments. Returns `None` if rows are not whole accesses, if
    /// a case does not read contiguously along rows, or if the kernel would be too large.
    pub(super) fn new(nest: &Arc<CopyNest>, kind: AdapterKind) -> Option<Self> {
        let bits = u64::from(nest.dst_bits());
        let inner = nest.extents().len() - 1;
        let (row, axis) = (nest.extents()[inner], Value::Axis(inner));
        let reading = |case: &Case| source(&case.take).map(|number| nest.sources()[number]);
        let is_whole = |bytes: u64| bytes.is_multiple_of(ACCESS_BYTES);
        let fits = nest.keeps_units()
            && nest.is_exact()
            && nest.quotients().is_empty()
            && nest.lookups().is_empty()
            && (row * bits).is_multiple_of(ACCESS_BYTES * 8)
            && nest.cases().iter().filter_map(reading).all(|source| is_whole(source.bytes()));
        if !fits {
            return None;
        }
        let cuts = cuts(nest, axis, row)?;
        let segments: Option<Vec<RowSegment>> =
            cuts.windows(2).map(|cut| segment(nest, axis, cut[0], cut[1])).collect();
        let segments = segments?;
        if segments.iter().map(|segment| segment.sources().len()).sum::<usize>() > MAX_LOOPS {
            return None;
        }
        let units = ACCESS_BYTES * 8 / bits;
        let accesses = row / units;
        let (lanes, width, turns) = match kind {
            AdapterKind::Gpu => (32, 1, 4),
            AdapterKind::Cpu => (8, 4, 32),
        };
        let width = accesses.min(width);
        let lanes = (accesses / width).min(lanes);
        let turns = accesses.div_ceil(lanes * width).min(turns);
        // The kernel computes with 32-bit integers. It adds at most the units of a row and of all
        // accesses of a group to an expression, so this sum must fit in 32 bits.
        let most = GreatestSums::of(nest).any.checked_add(row + lanes * width * turns * units)?;
        if most > u64::from(u32::MAX) {
            return None;
        }
        let nest = Arc::clone(nest);
        Some(Self { nest, units, accesses, lanes, width, turns, segments })
    }

    /// Returns the number of rows in the destination.
    pub(crate) fn rows(&self) -> u64 {
        self.nest.dst_units() / (self.accesses * self.units)
    }

    /// Returns the number of accesses that a group of invocations copies in all its turns together.
    pub(crate) fn group(&self) -> u64 {
        self.lanes * self.width * self.turns
    }

    /// Returns the number of groups of accesses in a row.
    pub(crate) fn groups(&self) -> u64 {
        self.accesses.div_ceil(self.group())
    }

    /// Returns the number of invocations that copy rows, without the ones for meetings.
    pub(crate) fn runs(&self) -> u64 {
        self.rows() * self.groups() * self.lanes
    }

    /// Returns the meetings of a row, the accesses that two segments share, as indices from the
    /// start of the row.
    pub(crate) fn meetings(&self) -> SmallVec<[u64; 4]> {
        let ends = self.segments.iter().map(|segment| segment.end);
        let mut meetings: SmallVec<[u64; 4]> = ends
            .filter(|end| !end.is_multiple_of(self.units))
            .map(|end| end / self.units)
            .collect();
        meetings.dedup();
        meetings
    }

    /// Returns the number of invocations, including those for meetings, and the number of them that
    /// have work.
    pub(crate) fn invocations(&self) -> (u64, u64) {
        // A group copies its part of one segment after the other. The number of its invocations
        // that have work is therefore determined by the longest part.
        let busy = |segments: SmallVec<[u64; 8]>| {
            segments.iter().max().unwrap_or(&0).div_ceil(self.width).min(self.lanes)
        };
        let busy = self.shares().map(busy);
        let met = self.rows() * self.meetings().len() as u64;
        (self.runs() + met, self.rows() * busy.sum::<u64>() + met)
    }

    /// Returns, for each group of accesses in a row, the number of its accesses that lie entirely
    /// in each segment. Accesses that two segments share are not counted.
    fn shares(&self) -> impl Iterator<Item = SmallVec<[u64; 8]>> {
        let group = self.group();
        (0..self.groups()).map(move |number| {
            let (start, end) = (number * group, (number + 1) * group);
            let alone = self.segments.iter().filter_map(|segment| segment.alone(self.units));
            alone.map(|(first, stop)| stop.min(end).saturating_sub(first.max(start))).collect()
        })
    }

    /// Returns the maximum number of loop iterations in one invocation, which copies either its
    /// part of a row or one meeting, unit by unit.
    pub(crate) fn trips(&self) -> u32 {
        let bits = self.nest.dst_bits();
        let of_meeting = if bits < 8 && !self.meetings().is_empty() { 4 * 32 / bits } else { 0 };
        let turns = |segments: SmallVec<[u64; 8]>| -> u64 {
            segments.iter().map(|accesses| accesses.div_ceil(self.lanes * self.width)).sum()
        };
        let most = self.shares().map(turns).max().unwrap_or(0);
        u32::try_from(most).unwrap_or(u32::MAX).max(of_meeting)
    }

    /// Returns true if the segment reads every source with aligned accesses only.
    pub(crate) fn are_aligned(&self, segment: &RowSegment) -> bool {
        let by = self.units.cast_signed();
        let inner = Value::Axis(self.nest.extents().len() - 1);
        segment.cases.iter().all(|case| match &case.take {
            CaseValue::Bits(_) => true,
            CaseValue::Read { at, .. } => {
                let outer = at.terms().iter().filter(|term| term.0 != inner);
                at.offset() % by == 0 && outer.clone().all(|term| term.1 % by == 0)
            }
        })
    }
}

/// Returns the offsets in a row at which a guard changes, in units, and both ends of the row, which
/// has `row` units. Returns `None` if a case does not read contiguously along rows, or if a guard
/// depends on the place in the row and also on other axes.
fn cuts(nest: &CopyNest, axis: Value, row: u64) -> Option<SmallVec<[u64; 8]>> {
    let mut cuts: SmallVec<[u64; 8]> = [0, row].into_iter().collect();
    for Case { when, take } in nest.cases() {
        if matches!(take, CaseValue::Read { at, .. } if at.weight(axis) != 1) {
            return None;
        }
        for Guard { of, extent } in when {
            match of.weight(axis) {
                0 => {}
                1 if of.terms().len() == 1 => {
                    let ends = [-of.offset(), extent.cast_signed() - of.offset()];
                    let inside = ends.into_iter().filter_map(|end| u64::try_from(end).ok());
                    cuts.extend(inside.filter(|&end| end < row));
                }
                _ => return None,
            }
        }
    }
    cuts.sort_unstable();
    cuts.dedup();
    Some(cuts)
}

/// Returns the segment from unit `first` to unit `end` of a row, inside which no guard changes. A
/// guard that depends on `axis` either holds or fails in the whole segment. A guard that holds is
/// removed from its case. If a guard fails, its case is left out.
fn segment(nest: &CopyNest, axis: Value, first: u64, end: u64) -> Option<RowSegment> {
    let mut cases: SmallVec<[Case; 1]> = SmallVec::new();
    let zero = Case { when: Vec::new(), take: CaseValue::Bits(0) };
    for Case { when, take } in nest.cases().iter().chain([&zero]) {
        let mut outer = Vec::new();
        let mut holds = true;
        for guard in when {
            if guard.of.weight(axis) == 0 {
                outer.push(guard.clone());
            } else {
                let of = guard.of.substituted(axis, &Affine::constant(first.cast_signed()));
                let of = u64::try_from(of.as_constant()?);
                holds &= of.is_ok_and(|of| of < guard.extent);
            }
        }
        if holds {
            let is_last = outer.is_empty();
            cases.push(Case { when: outer, take: take.clone() });
            if is_last {
                break;
            }
        }
    }
    Some(RowSegment { first, end, cases })
}
