//! [`Schedule`]: the chosen kind of kernel for a nest, with the number of its invocations and
//! workgroups. A *unit* is the data that one iteration of the nest copies, such as an element.

use std::fmt;

use super::{
    Block, Candidate, RowSegments, RunTimeExtents, ScheduleError, Target, WholeRows, WordRuns,
    candidates,
    candidates::{Body, item_candidates},
};
use crate::{
    nest::{ACCESS_BYTES, CopyNest, GreatestSums, LastRead, Operand},
    shape::{Count, width},
};

/// The maximum number of values of y that `workgroups` tries after the smallest one, which may
/// dispatch too many workgroups. More are not useful: the smallest y always fits if the dispatch
/// may have a few thousand additional workgroups.
const MOST_TRIALS: u64 = 1 << 13;

/// The division of a nest among the invocations of a kernel.
///
/// Only [`schedule`] and [`Candidate::schedule`] create schedules, and schedules cannot be changed.
/// The proof of the kernel relies on this.
///
/// ```compile_fail,E0451
/// use stridec::{Operation, Target, schedule::Schedule};
/// # let operation = Operation::relayout("f32[8,8]".parse()?, "f32[8,8]{0,1}".parse()?)?;
/// let schedule = operation.schedule(&Target::webgpu())?;
/// let forged = Schedule { invocations: 1 << 20, ..schedule };
/// # Ok::<(), stridec::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Schedule {
    strategy: Strategy,
    body: Body,
    reason: &'static str,
    workgroup_size: u32,
    workgroups: [u32; 3],
    invocations: u64,
    /// The loops around the nest, if some of their extents are known only at run time.
    extents: Option<RunTimeExtents>,
}

impl Schedule {
    /// Returns the kind of kernel.
    #[must_use]
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// Returns the nest that the kernel copies.
    #[must_use]
    pub fn nest(&self) -> &CopyNest {
        self.body.nest()
    }

    /// Returns the block that an invocation moves; `None` if the schedule has no blocks.
    pub(crate) fn block(&self) -> Option<&Block> {
        self.body.block()
    }

    /// Returns the segments of rows, if several cases fill the rows and each segment has a loop.
    /// Otherwise returns `None`.
    pub(crate) fn segments(&self) -> Option<&RowSegments> {
        self.body.segments()
    }

    /// Returns the whole rows, if each row is filled by one case with the same lookups. Otherwise
    /// returns `None`.
    pub(crate) fn rows(&self) -> Option<&WholeRows> {
        self.body.rows()
    }

    /// Returns the cost for each word that the kernel writes, in hundredths of an operation.
    pub(super) fn cost(&self, target: &Target) -> u64 {
        if self.strategy == Strategy::Empty { 0 } else { self.body.cost(target, 1) }
    }

    /// Returns the reason for this strategy, for readers of the kernel.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        self.reason
    }

    /// Returns the number of invocations in a workgroup, all along x.
    #[must_use]
    pub fn workgroup_size(&self) -> u32 {
        self.workgroup_size
    }

    /// Returns the number of workgroups along x, y and z. With extents at run time, these are the
    /// workgroups for the maximum extents.
    #[must_use]
    pub fn workgroups(&self) -> [u32; 3] {
        self.workgroups
    }

    /// Returns the number of invocations. It includes a few that do nothing, because they are past
    /// the end of an axis. With extents at run time, these are the invocations for one item.
    #[must_use]
    pub fn invocations(&self) -> u64 {
        self.invocations
    }

    /// Returns the loops around the nest, if some of their extents are known only at run time. The
    /// nest then copies a single item.
    #[must_use]
    pub fn extents(&self) -> Option<&RunTimeExtents> {
        // The WebAssembly module compiles no such kernels, and leaves out their code.
        if cfg!(stridec_plain_host) { None } else { self.extents.as_ref() }
    }
}

/// Returns the block that an invocation of a schedule moves; `None` if the schedule has no blocks.
#[must_use]
pub fn block_of_schedule(schedule: &Schedule) -> Option<&Block> {
    schedule.block()
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { strategy, reason, invocations, .. } = self;
        write!(f, "{strategy}: {reason}; {}", Count(*invocations, "invocation"))?;
        let unit = width(self.nest().dst_bits());
        match (strategy, self.block()) {
            (Strategy::Empty, _) => Ok(()),
            (_, Some(block)) if block.rounds() > 1 => write!(f, " of {} times", block.rounds()),
            _ => f.write_str(" of"),
        }?;
        match (strategy, self.block()) {
            (Strategy::Empty, _) => Ok(()),
            (Strategy::Transpose, Some(block)) => {
                write!(f, " {} by {} units of {unit}", block.rows(), block.width())
            }
            (_, block) => {
                let of_segments = self
                    .segments()
                    .map(|segments| segments.turns * segments.width * segments.units);
                let of_rows = self.rows().map(WholeRows::most_units);
                let units = block.map(Block::rows).or(of_segments).or(of_rows);
                let units = units.unwrap_or_else(|| units_of_word(self.nest()));
                write!(f, " {} of {unit}", Count(units, "unit"))
            }
        }
    }
}

/// The kinds of kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// The destination has no elements. Nothing is dispatched.
    #[default]
    Empty,
    /// The whole copy is one contiguous run. An invocation copies a part of it.
    Copy,
    /// The source is read with one stride along the innermost axis of the destination. An
    /// invocation copies a part of a row. If a row has parts from several sources, the invocation
    /// copies a portion of each part in turn.
    Rows,
    /// The innermost axes of the two sides differ. An invocation transposes a rectangle of elements
    /// in registers.
    Transpose,
    /// An invocation computes one word of the destination, element by element. This kind of kernel
    /// works for any nest.
    Gather,
}

impl Strategy {
    /// Returns the name in headers of kernels and in protos.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Copy => "copy",
            Self::Rows => "rows",
            Self::Transpose => "transpose",
            Self::Gather => "gather",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Returns the number of units of the destination that an invocation of a gather computes: the
/// units of one word, or one wider unit.
fn units_of_word(nest: &CopyNest) -> u64 {
    (32 / nest.dst_bits()).max(1).into()
}

/// Chooses the cheapest of the [`candidates`] that is within the target's limits.
///
/// # Errors
///
/// Returns an error if the nest has too many sources, if a source or the destination is larger than
/// a binding of the target or needs more than 32-bit indices, if the kernel needs more workgroups
/// than the target dispatches, or if the target itself is invalid.
pub fn schedule(nest: CopyNest, target: &Target) -> Result<Schedule, ScheduleError> {
    schedule_with(nest, target, |_| ())
}

/// Chooses a candidate as [`schedule`] does, after it has passed the candidates to `inspect`, the
/// cheapest first.
pub(crate) fn schedule_with(
    nest: CopyNest,
    target: &Target,
    inspect: impl FnOnce(&[Candidate]),
) -> Result<Schedule, ScheduleError> {
    target.check()?;
    let mut all = candidates(nest, target);
    inspect(&all);
    let least = all.remove(0);
    // If the cheapest candidate exceeds a limit, another may not: larger blocks need fewer
    // workgroups.
    least.schedule(target).or_else(|error| {
        all.into_iter().find_map(|candidate| candidate.schedule(target).ok()).ok_or(error)
    })
}

/// Chooses the cheapest candidate for the copy of one item, which the kernel repeats for each step
/// of the loops in `extents`. Its accesses may not reach from one item into the next.
///
/// # Errors
///
/// Returns the errors of [`schedule`]. The limits must suffice for the maximum extents.
pub(crate) fn schedule_items(
    item: CopyNest,
    extents: &RunTimeExtents,
    target: &Target,
) -> Result<Schedule, ScheduleError> {
    target.check()?;
    let items = extents.most_items();
    let images = [(Operand::Source(0), item.src_bytes()), (Operand::Destination, item.dst_bytes())];
    for (operand, bytes) in images {
        let (given, limit) = (bytes.saturating_mul(items), target.max_storage_buffer_binding_size);
        if given > limit {
            let target = target.name.clone();
            return Err(ScheduleError::Binding { operand, given, limit, target });
        }
    }
    let sizes = images.map(|(_, bytes)| bytes);
    let mut refused = None;
    for candidate in item_candidates(item, items, target) {
        match candidate.schedule(target).and_then(|one| one.repeated(extents, target)) {
            Ok(schedule) => return Ok(schedule),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    // A gather is always a candidate. Its accesses are words or wider units, so it stays inside
    // the items of every operation, but perhaps not inside those of a nest from a file.
    Err(refused
        .unwrap_or(ScheduleError::Item { source_bytes: sizes[0], destination_bytes: sizes[1] }))
}

impl Schedule {
    /// Repeats the schedule for each step of the loops in `extents`.
    fn repeated(self, extents: &RunTimeExtents, target: &Target) -> Result<Self, ScheduleError> {
        let size = u64::from(self.workgroup_size);
        let invocations = self.invocations.saturating_mul(extents.most_items());
        let workgroups =
            workgroups(invocations.div_ceil(size), u64::from(u32::MAX) / size, target)?;
        Ok(Self { workgroups, extents: Some(extents.clone()), ..self })
    }
}

impl Candidate {
    /// Computes the invocations and workgroups of this candidate.
    ///
    /// # Errors
    ///
    /// Returns an error in the same cases as [`schedule`].
    pub fn schedule(self, target: &Target) -> Result<Schedule, ScheduleError> {
        target.check()?;
        let Self { strategy, body, reason, .. } = self;
        let mut schedule = Schedule {
            strategy,
            body,
            reason,
            workgroup_size: 1,
            workgroups: [0; 3],
            invocations: 0,
            extents: None,
        };
        if strategy == Strategy::Empty {
            return Ok(schedule);
        }
        let nest = schedule.nest();
        schedule.invocations = match &schedule.body {
            Body::Block(block) => block.invocations().0,
            Body::Segments(segments) => segments.invocations().0,
            Body::Rows(rows) => rows.invocations(),
            Body::Nest(_) if nest.scattered().is_some() => nest.positions(),
            Body::Nest(_) => WordRuns::of(nest).map_or(0, |runs| runs.count()),
        };
        let is_wide = schedule.block().is_some_and(Block::may_pass_ends);
        check_limits(
            schedule.nest(),
            schedule.block().map_or(schedule.nest(), Block::tiled),
            if is_wide { ACCESS_BYTES } else { 4 },
            schedule.block().is_some_and(|block| block.varying_guards().next().is_some()),
            target,
        )?;
        let size = schedule.block().map_or(256, Block::workgroup);
        schedule.workgroup_size = target.max_compute_invocations_per_workgroup.min(size);
        let groups = schedule.invocations.div_ceil(schedule.workgroup_size.into());
        // The last workgroups may have no work. The indices of their invocations must fit in 32
        // bits nevertheless.
        let rounds = schedule.block().map_or(1, Block::rounds);
        let size = u64::from(schedule.workgroup_size) * rounds;
        schedule.workgroups = workgroups(groups, u64::from(u32::MAX) / size, target)?;
        Ok(schedule)
    }
}

/// Checks that a kernel is within the target's limits. The sizes of its bindings are multiples of
/// `access` bytes. `varies` is true if a guard may hold for only some units of a block.
fn check_limits(
    nest: &CopyNest,
    tiled: &CopyNest,
    access: u64,
    varies: bool,
    target: &Target,
) -> Result<(), ScheduleError> {
    let (given, limit) = (nest.sources().len(), target.max_sources());
    if given > limit {
        return Err(ScheduleError::Sources { given, limit });
    }
    let limit = target.max_storage_buffer_binding_size / access * access;
    let sources = || nest.sources().iter().enumerate().map(|(n, of)| (Operand::Source(n), of));
    let images = sources().map(|(operand, source)| (operand, source.bytes()));
    for (operand, given) in images.chain([(Operand::Destination, nest.dst_bytes())]) {
        if given > limit {
            return Err(ScheduleError::Binding {
                operand,
                given,
                limit,
                target: target.name.clone(),
            });
        }
    }
    check_reads(nest)?;
    let walked = nest.positions().max(nest.dst_units() + nest.dst_base().unsigned_abs());
    if walked > MAX_UNITS {
        let (operand, given, limit) = (Operand::Destination, walked, MAX_UNITS);
        return Err(ScheduleError::Index { operand, given, limit });
    }
    // If a guard varies inside blocks, the kernel also computes the addresses of units that it does
    // not read.
    check_sums(tiled, varies)?;
    check_sums(nest, varies)
}

/// The maximum number of units that 32-bit indices can count. The last invocations may go past the
/// end by a few units, which must not overflow.
const MAX_UNITS: u64 = u32::MAX as u64 - 64;

/// Checks that 32-bit integers suffice to evaluate the nest at every position, and that it reads
/// only units inside the sources.
///
/// # Errors
///
/// Returns an error if a source has too many units, if a read is not proved to lie inside its
/// source, or if an intermediate result does not fit in 32 bits.
#[cfg(feature = "accessors")]
pub(crate) fn check_words(nest: &CopyNest) -> Result<(), ScheduleError> {
    check_reads(nest)?;
    check_sums(nest, false)
}

/// Checks that sources have few enough units, and that all reads are proved to be inside them.
fn check_reads(nest: &CopyNest) -> Result<(), ScheduleError> {
    for (number, source) in nest.sources().iter().enumerate() {
        let (operand, given, limit) = (Operand::Source(number), source.units(), MAX_UNITS);
        if given > limit {
            return Err(ScheduleError::Index { operand, given, limit });
        }
        if let LastRead::Unit(given) = source.last_read()
            && given >= source.units()
        {
            return Err(ScheduleError::Unproved { given, limit: source.units() });
        }
    }
    Ok(())
}

/// Checks that `u32` is wide enough to evaluate the expressions of a nest.
///
/// An integer that is divided or compared must fit, and so must the intermediate results of its
/// computation. The intermediate results of an address may wrap around, because the address itself
/// is inside the source. If `computes_all` is true, the kernel also computes addresses of units
/// that it does not read. Then no intermediate result may wrap around.
fn check_sums(nest: &CopyNest, computes_all: bool) -> Result<(), ScheduleError> {
    let sums = GreatestSums::of(nest);
    let (given, limit) = (if computes_all { sums.any } else { sums.tested }, u64::from(u32::MAX));
    if given > limit {
        return Err(ScheduleError::Number { given, limit });
    }
    Ok(())
}

/// Divides `count` workgroups among x, y and z. The product may exceed `count`, but not `most`.
///
/// The least z and y are tried first. Because x is rounded up, the product may be too large, and a
/// greater y may give a smaller product. The least y divides 16,777,215 workgroups into 65,282 by
/// 257, which is 259 too many, and a greater y divides them into 61,455 by 273 exactly.
fn workgroups(count: u64, most: u64, target: &Target) -> Result<[u32; 3], ScheduleError> {
    let limit = u64::from(target.max_compute_workgroups_per_dimension);
    let y = count.div_ceil(limit).max(1);
    let z = y.div_ceil(limit);
    let y = y.div_ceil(z);
    let narrow = |n: u64| u32::try_from(n).ok().filter(|&n| u64::from(n) <= limit);
    let divided = |y: u64| {
        let x = count.div_ceil(y * z);
        let [x, y, z] = [narrow(x)?, narrow(y)?, narrow(z)?];
        let whole = [x, y, z].map(u64::from).iter().product::<u64>();
        (whole <= most).then_some([x, y, z])
    };
    (y..=limit.min(y + MOST_TRIALS)).find_map(divided).ok_or_else(|| ScheduleError::Dispatch {
        given: count,
        limit: target.max_compute_workgroups_per_dimension,
        target: target.name.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a number of workgroups whose invocations just fit in 32 bits: the division among x, y
    /// and z must not add so many workgroups that they no longer fit.
    #[test]
    fn workgroups_are_not_rounded_up_past_32_bits() {
        let target = Target::webgpu();
        let most = u64::from(u32::MAX) / 256;
        for count in (most - 70_000..=most).step_by(97).chain([1, 255, 65_535, 65_536, most]) {
            let groups = workgroups(count, most, &target).unwrap();
            let whole = groups.map(u64::from).iter().product::<u64>();
            assert!((count..=most).contains(&whole), "{count}: {groups:?}");
            assert!(groups.iter().all(|&n| n <= target.max_compute_workgroups_per_dimension));
        }
        assert!(workgroups(most + 1, most, &target).is_err());
    }
}
