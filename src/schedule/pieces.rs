//! [`Pieces`]: rows of the destination that several cases share, each a part of them.

use std::sync::Arc;

use smallvec::SmallVec;

use super::AdapterKind;
use crate::nest::{Affine, Case, CopyNest, Guard, Take, Value, greatest_sum};

/// Bits of an access.
const ACCESS_BITS: u64 = 128;

/// The most loops of a kernel: over the accesses of one piece that read one source.
const MAX_LOOPS: usize = 12;

/// How a kernel of several cases goes through the rows of the destination: the steps of its innermost axis.
///
/// The cases cut a row into [parts](Self::parts); in a part the innermost axis decides nothing, and each source is read
/// unit after unit. An invocation takes accesses of 16 bytes of one row, [`lanes`](Self::lanes) apart, so that those of
/// neighbours lie together. An access that two pieces share, a *meeting*, is for an invocation of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Pieces {
    pub(crate) nest: Arc<CopyNest>,
    /// Units of an access.
    pub(crate) units: u64,
    /// Accesses of a row.
    pub(crate) accesses: u64,
    /// Invocations that take turns, and accesses between those of one.
    pub(crate) lanes: u64,
    /// The most accesses of an invocation.
    pub(crate) length: u64,
    /// The parts of a row, in order.
    pub(crate) parts: Vec<Piece>,
}

/// A part of every row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Piece {
    /// Its first unit, and the first past it.
    pub(crate) first: u64,
    pub(crate) end: u64,
    /// What it takes: the first of these that holds, by guards that are the same for a whole row. The last has none.
    pub(crate) ways: SmallVec<[Case; 1]>,
}

impl Piece {
    /// The accesses that lie in the piece alone: the first, and the first past them.
    pub(crate) fn alone(&self, units: u64) -> Option<(u64, u64)> {
        let (first, end) = (self.first.div_ceil(units), self.end / units);
        (first < end).then_some((first, end))
    }

    /// The sources that it reads, each once; `None` for what reads none.
    pub(crate) fn sources(&self) -> SmallVec<[Option<usize>; 2]> {
        let mut sources: SmallVec<[Option<usize>; 2]> =
            self.ways.iter().map(|way| source(&way.take)).collect();
        sources.sort_unstable();
        sources.dedup();
        sources
    }
}

/// The source that is read.
pub(crate) fn source(take: &Take) -> Option<usize> {
    match take {
        Take::Read { source, .. } => Some(*source),
        Take::Bits(_) => None,
    }
}

impl Pieces {
    /// The pieces of a nest; `None` where rows are no whole accesses, or a case does not read along them.
    pub(super) fn new(nest: &Arc<CopyNest>, kind: AdapterKind) -> Option<Self> {
        let bits = u64::from(nest.dst_bits());
        let inner = nest.extents().len() - 1;
        let (row, axis) = (nest.extents()[inner], Value::Axis(inner));
        let reading = |case: &Case| source(&case.take).map(|number| nest.sources()[number]);
        let is_whole = |bytes: u64| bytes.is_multiple_of(ACCESS_BITS / 8);
        let fits = nest.src_bits() == nest.dst_bits()
            && nest.is_exact()
            && nest.quotients().is_empty()
            && nest.lookups().is_empty()
            && (row * bits).is_multiple_of(ACCESS_BITS)
            && nest.cases().iter().filter_map(reading).all(|source| is_whole(source.bytes()));
        if !fits {
            return None;
        }
        let cuts = cuts(nest, axis, row)?;
        let parts: Option<Vec<Piece>> =
            cuts.windows(2).map(|cut| piece(nest, axis, cut[0], cut[1])).collect();
        let parts = parts?;
        if parts.iter().map(|piece| piece.sources().len()).sum::<usize>() > MAX_LOOPS {
            return None;
        }
        let units = ACCESS_BITS / bits;
        let accesses = row / units;
        let (lanes, length) = match kind {
            AdapterKind::Gpu => (32, 4),
            AdapterKind::Cpu => (8, 32),
        };
        let lanes = accesses.min(lanes);
        let length = accesses.div_ceil(lanes).min(length);
        // What the kernel adds up on the way, beside the forms.
        let most = greatest_sum(nest).checked_add(row + lanes * length * units)?;
        if most > u64::from(u32::MAX) {
            return None;
        }
        let nest = Arc::clone(nest);
        Some(Self { nest, units, accesses, lanes, length, parts })
    }

    /// Rows of the destination.
    pub(crate) fn rows(&self) -> u64 {
        self.nest.dst_units() / (self.accesses * self.units)
    }

    /// Groups of invocations that share a row.
    pub(crate) fn groups(&self) -> u64 {
        self.accesses.div_ceil(self.lanes * self.length)
    }

    /// Invocations that go through rows.
    pub(crate) fn runs(&self) -> u64 {
        self.rows() * self.groups() * self.lanes
    }

    /// The accesses of a row in which pieces meet.
    pub(crate) fn meetings(&self) -> SmallVec<[u64; 4]> {
        let ends = self.parts.iter().map(|piece| piece.end);
        let mut meetings: SmallVec<[u64; 4]> = ends
            .filter(|end| !end.is_multiple_of(self.units))
            .map(|end| end / self.units)
            .collect();
        meetings.dedup();
        meetings
    }

    /// Invocations, and those that have work.
    pub(crate) fn invocations(&self) -> (u64, u64) {
        let meetings = self.meetings();
        let group = self.lanes * self.length;
        // The first accesses of the lanes that have none but meetings, and those past the end of the row.
        let mut idle: SmallVec<[u64; 4]> = SmallVec::new();
        for &meeting in &meetings {
            let first = meeting / group * group + meeting % self.lanes;
            let all = (0..self.length).map(|n| first + n * self.lanes);
            let is_idle = all.filter(|&at| at < self.accesses).all(|at| meetings.contains(&at));
            if is_idle && !idle.contains(&first) {
                idle.push(first);
            }
        }
        let rest = self.accesses - (self.groups() - 1) * group;
        let idle = idle.len() as u64 + self.lanes.saturating_sub(rest);
        let met = self.rows() * meetings.len() as u64;
        (self.runs() + met, self.runs() + met - self.rows() * idle)
    }

    /// The most loop iterations of an invocation: over its accesses, or over the units of words where pieces meet.
    pub(crate) fn trips(&self) -> u32 {
        let bits = self.nest.dst_bits();
        let of_meeting = if bits < 8 && !self.meetings().is_empty() { 4 * 32 / bits } else { 0 };
        u32::try_from(self.length).unwrap_or(u32::MAX).max(of_meeting)
    }

    /// Whether every access of a source is one of its own accesses.
    pub(crate) fn are_aligned(&self, piece: &Piece) -> bool {
        let by = self.units.cast_signed();
        let inner = Value::Axis(self.nest.extents().len() - 1);
        piece.ways.iter().all(|way| match &way.take {
            Take::Bits(_) => true,
            Take::Read { at, .. } => {
                let outer = at.terms().iter().filter(|term| term.0 != inner);
                at.offset() % by == 0 && outer.clone().all(|term| term.1 % by == 0)
            }
        })
    }
}

/// Where the guards of all cases cut a row, its ends among them.
fn cuts(nest: &CopyNest, axis: Value, row: u64) -> Option<SmallVec<[u64; 8]>> {
    let mut cuts: SmallVec<[u64; 8]> = [0, row].into_iter().collect();
    for Case { when, take } in nest.cases() {
        if matches!(take, Take::Read { at, .. } if at.weight(axis) != 1) {
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

/// What the units from `first` to `end` of a row take: no guard changes among them.
fn piece(nest: &CopyNest, axis: Value, first: u64, end: u64) -> Option<Piece> {
    let mut ways: SmallVec<[Case; 1]> = SmallVec::new();
    let zero = Case { when: Vec::new(), take: Take::Bits(0) };
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
            ways.push(Case { when: outer, take: take.clone() });
            if is_last {
                break;
            }
        }
    }
    Some(Piece { first, end, ways })
}
