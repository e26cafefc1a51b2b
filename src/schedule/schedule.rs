use std::fmt;

use super::{Block, Candidate, ScheduleError, Target, candidates};
use crate::nest::{CopyNest, Count, Operand, width};

/// How a nest becomes invocations.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Schedule {
    /// What one invocation does.
    pub strategy: Strategy,
    /// Why this strategy, for the kernel's reader.
    pub reason: &'static str,
    /// Invocations of a workgroup, all in x.
    pub workgroup_size: u32,
    /// Workgroups in x, y and z.
    pub workgroups: [u32; 3],
    /// Invocations that have work.
    pub invocations: u64,
}

impl Schedule {
    /// The nest that the kernel walks.
    #[must_use]
    pub fn nest(&self) -> &CopyNest {
        match &self.strategy {
            Strategy::Copy(block) | Strategy::Rows(block) | Strategy::Transpose(block) => {
                &block.nest
            }
            Strategy::Empty(nest) | Strategy::Gather(nest) => nest,
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { strategy, reason, invocations, .. } = self;
        write!(f, "{}: {reason}; {}", strategy.name(), Count(*invocations, "invocation"))?;
        let unit = width(self.nest().dst_bits);
        match strategy {
            Strategy::Empty(_) => Ok(()),
            Strategy::Copy(block) | Strategy::Rows(block) => {
                write!(f, " of {} of {unit}", Count(block.rows, "unit"))
            }
            Strategy::Transpose(block) => {
                write!(f, " of {} by {} units of {unit}", block.rows, block.width)
            }
            Strategy::Gather(nest) => {
                write!(f, " of {} of {unit}", Count((32 / nest.dst_bits).max(1).into(), "unit"))
            }
        }
    }
}

/// The kinds of kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// No cell, no dispatch.
    Empty(CopyNest),
    /// Both images are one contiguous run: an invocation copies a part of it.
    Copy(Block),
    /// The destination's innermost axis runs through the source with one stride: an invocation copies a part of a row.
    Rows(Block),
    /// The innermost axes differ: an invocation turns a rectangle of both.
    Transpose(Block),
    /// Any nest: an invocation computes a word of the destination, cell by cell.
    Gather(CopyNest),
}

impl Strategy {
    /// The name in headers and protos.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Empty(_) => "empty",
            Self::Copy(_) => "copy",
            Self::Rows(_) => "rows",
            Self::Transpose(_) => "transpose",
            Self::Gather(_) => "gather",
        }
    }
}

/// Chooses what an invocation does: the first of the [`candidates`] that the target takes.
///
/// # Errors
///
/// Where an image is larger than a binding of the target, or passes 32-bit indices; where the target dispatches nothing.
pub fn schedule(nest: CopyNest, target: &Target) -> Result<Schedule, ScheduleError> {
    let mut all = candidates(nest, target.kind);
    let least = all.remove(0);
    // What is past a limit may be within it in larger blocks.
    least.schedule(target).or_else(|error| {
        all.into_iter().find_map(|candidate| candidate.schedule(target).ok()).ok_or(error)
    })
}

impl Candidate {
    /// The invocations and workgroups of this candidate.
    ///
    /// # Errors
    ///
    /// As those of [`schedule`].
    pub fn schedule(self, target: &Target) -> Result<Schedule, ScheduleError> {
        target.check()?;
        let Self { strategy, reason, .. } = self;
        let mut schedule =
            Schedule { strategy, reason, workgroup_size: 1, workgroups: [0; 3], invocations: 0 };
        schedule.invocations = match &schedule.strategy {
            Strategy::Empty(_) => return Ok(schedule),
            Strategy::Copy(block) | Strategy::Rows(block) | Strategy::Transpose(block) => {
                block.count()
            }
            Strategy::Gather(nest) => {
                nest.dst_elements.div_ceil((32 / nest.dst_bits).max(1).into())
            }
        };
        check_limits(schedule.nest(), target)?;
        schedule.workgroup_size = target.max_compute_invocations_per_workgroup.min(256);
        let groups = schedule.invocations.div_ceil(schedule.workgroup_size.into());
        schedule.workgroups = workgroups(groups, target)?;
        // The last workgroups may have no work; their invocations are numbered all the same.
        let [x, y, z] = schedule.workgroups.map(u64::from);
        let (given, limit) = (x * y * z * u64::from(schedule.workgroup_size), u32::MAX.into());
        if given > limit {
            return Err(ScheduleError::Index { operand: Operand::Destination, given, limit });
        }
        Ok(schedule)
    }
}

fn check_limits(nest: &CopyNest, target: &Target) -> Result<(), ScheduleError> {
    let limit = target.max_storage_buffer_binding_size / 4 * 4;
    for (operand, given) in
        [(Operand::Source(0), nest.src_bytes), (Operand::Destination, nest.dst_bytes)]
    {
        if given > limit {
            return Err(ScheduleError::Binding {
                operand,
                given,
                limit,
                target: target.name.clone(),
            });
        }
    }
    let limit = u64::from(u32::MAX) - 64;
    for (operand, given) in [
        (Operand::Source(0), nest.src_elements),
        (Operand::Destination, nest.cells().max(nest.dst_elements + nest.dst_base.unsigned_abs())),
    ] {
        if given > limit {
            return Err(ScheduleError::Index { operand, given, limit });
        }
    }
    if let Some(given) = nest.src_last.filter(|&last| last >= nest.src_elements) {
        return Err(ScheduleError::Unproved { given, limit: nest.src_elements });
    }
    check_index_range(nest)
}

/// No number of a kernel leaves 32 bits: the sum of what a form adds, before it takes anything away, and what it takes.
fn check_index_range(nest: &CopyNest) -> Result<(), ScheduleError> {
    let limit = u64::from(u32::MAX);
    let forms = nest
        .digits
        .iter()
        .map(|digit| &digit.of)
        .chain(nest.guards.iter().map(|guard| &guard.of))
        .chain([&nest.src]);
    let lasts = nest.lasts();
    for form in forms {
        let (mut added, mut taken) = (0_u64, 0_u64);
        for (weight, last) in form
            .terms()
            .iter()
            .map(|&(value, weight)| (weight, lasts.of(value).max(0).unsigned_abs()))
            .chain([(form.offset(), 1)])
        {
            let sum = if weight > 0 { &mut added } else { &mut taken };
            *sum = sum.saturating_add(weight.unsigned_abs().saturating_mul(last.max(1)));
        }
        let given = added.max(taken);
        if given > limit {
            return Err(ScheduleError::Index { operand: Operand::Source(0), given, limit });
        }
    }
    Ok(())
}

/// Spreads workgroups over x, y and z.
fn workgroups(count: u64, target: &Target) -> Result<[u32; 3], ScheduleError> {
    let limit = u64::from(target.max_compute_workgroups_per_dimension);
    let y = count.div_ceil(limit).max(1);
    let z = y.div_ceil(limit);
    let refused = || ScheduleError::Dispatch {
        given: count,
        limit: target.max_compute_workgroups_per_dimension,
        target: target.name.clone(),
    };
    let y = y.div_ceil(z);
    let x = count.div_ceil(y * z);
    let narrow = |n: u64| u32::try_from(n).ok().filter(|&n| u64::from(n) <= limit);
    match (narrow(x), narrow(y), narrow(z)) {
        (Some(x), Some(y), Some(z)) => Ok([x, y, z]),
        _ => Err(refused()),
    }
}
