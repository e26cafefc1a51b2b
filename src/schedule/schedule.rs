use std::fmt;

use smallvec::SmallVec;

use super::{AdapterKind, Block, ScheduleError, Target};
use crate::nest::{CopyNest, Count, Value, width};

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
    /// The innermost axis is contiguous on both sides: an invocation copies a part of a row.
    Rows(Block),
    /// The innermost axes differ: an invocation turns a rectangle of both.
    Transpose(Block),
    /// Everything else: an invocation computes a word of the destination, cell by cell.
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

/// Chooses what an invocation does.
///
/// # Errors
///
/// Where an image is larger than a binding of the target, or passes 32-bit indices; where the target dispatches nothing.
pub fn schedule(nest: CopyNest, target: &Target) -> Result<Schedule, ScheduleError> {
    target.check()?;
    if nest.dst_elements == 0 {
        return Ok(Schedule {
            strategy: Strategy::Empty(nest),
            reason: "the destination has no cells",
            workgroup_size: 1,
            workgroups: [0; 3],
            invocations: 0,
        });
    }
    check_limits(&nest, target)?;
    let (strategy, reason) = choose(nest, target);
    let invocations = match &strategy {
        Strategy::Empty(_) => 0,
        Strategy::Copy(block) | Strategy::Rows(block) | Strategy::Transpose(block) => block.count(),
        Strategy::Gather(nest) => (nest.dst_elements * u64::from(nest.dst_bits))
            .div_ceil(u64::from(nest.dst_bits.max(32))),
    };
    let workgroup_size = target.max_compute_invocations_per_workgroup.min(256);
    let workgroups = workgroups(invocations.div_ceil(workgroup_size.into()), target)?;
    Ok(Schedule { strategy, reason, workgroup_size, workgroups, invocations })
}

fn check_limits(nest: &CopyNest, target: &Target) -> Result<(), ScheduleError> {
    let limit = target.max_storage_buffer_binding_size / 4 * 4;
    for (side, given) in [("source", nest.src_bytes), ("destination", nest.dst_bytes)] {
        if given > limit {
            return Err(ScheduleError::Binding { side, given, limit, target: target.name.clone() });
        }
    }
    let limit = u64::from(u32::MAX) - 64;
    for (side, given) in [
        ("source", nest.src_elements),
        ("destination", nest.cells().max(nest.dst_elements + nest.dst_base.unsigned_abs())),
    ] {
        if given > limit {
            return Err(ScheduleError::Index { side, given, limit });
        }
    }
    if let Some(given) = nest.src_last.filter(|&last| last >= nest.src_elements) {
        return Err(ScheduleError::Unproved { given, limit: nest.src_elements });
    }
    check_index_range(nest)
}

/// No intermediate value of a kernel leaves 32 bits: the sum of what a form adds, before it takes anything away.
fn check_index_range(nest: &CopyNest) -> Result<(), ScheduleError> {
    let limit = u64::from(u32::MAX);
    let forms = nest
        .digits
        .iter()
        .map(|digit| &digit.of)
        .chain(nest.guards.iter().map(|guard| &guard.of))
        .chain([&nest.src]);
    for form in forms {
        let added: i128 = form
            .terms()
            .iter()
            .map(|&(value, weight)| i128::from(weight.max(0)) * i128::from(nest.last(value).max(0)))
            .sum::<i128>()
            + i128::from(form.offset().max(0));
        if added > i128::from(limit) {
            let given = u64::try_from(added).unwrap_or(u64::MAX);
            return Err(ScheduleError::Index { side: "source", given, limit });
        }
    }
    Ok(())
}

fn choose(nest: CopyNest, target: &Target) -> (Strategy, &'static str) {
    if nest.src_bits != nest.dst_bits {
        return (Strategy::Gather(nest), "the element size changes");
    }
    if !nest.is_exact() {
        return (Strategy::Gather(nest), "the destination's strides leave a head or a tail");
    }
    let inner = nest.extents.len() - 1;
    if nest.src.weight(Value::Axis(inner)) == 1 {
        if let Some(block) = row(&nest, target) {
            if inner == 0 && nest.guards.is_empty() && nest.digits.is_empty() {
                return (Strategy::Copy(block), "both sides are one contiguous run");
            }
            return (Strategy::Rows(block), "the innermost axis is contiguous on both sides");
        }
        return (Strategy::Gather(nest), "rows are no whole number of words");
    }
    let src_axis = (0..inner).rev().find(|&axis| nest.src.weight(Value::Axis(axis)) == 1);
    if let Some(block) = src_axis.and_then(|axis| rectangle(&nest, axis, target)) {
        return (Strategy::Transpose(block), "the innermost axes of the two sides differ");
    }
    if nest.dst_bits >= 32
        && let Some(block) = strided_row(&nest)
    {
        return (Strategy::Rows(block), "the source walks the innermost axis with a stride");
    }
    (Strategy::Gather(nest), "no axis gives runs of whole words on both sides")
}

/// The longest run that divides the rows: 64 bytes on a CPU, 16 on a GPU, where neighbours share transactions.
fn row(nest: &CopyNest, target: &Target) -> Option<Block> {
    let bytes = match target.kind {
        AdapterKind::Gpu => 16,
        AdapterKind::Cpu => 64,
    };
    let word = (32 / nest.dst_bits).max(1);
    (0..=5)
        .rev()
        .map(|log| u64::from(word) << log)
        .filter(|rows| rows * u64::from(nest.dst_bits) <= bytes * 8 || *rows == u64::from(word))
        .find_map(|rows| Block::run(nest, rows))
        .filter(|block| block.nest.dst_bits >= 32 || block.nest.src_bits >= 8)
}

/// A run that fills one store of 16 bytes, loaded unit by unit.
fn strided_row(nest: &CopyNest) -> Option<Block> {
    [4, 2]
        .into_iter()
        .filter(|rows| rows * nest.dst_bits <= 128)
        .find_map(|rows| Block::run(nest, rows.into()))
        .filter(|block| block.store > 1)
}

/// The largest rectangle that divides the axes.
fn rectangle(nest: &CopyNest, src_axis: usize, target: &Target) -> Option<Block> {
    let bits = nest.dst_bits;
    if bits < 8 {
        return None;
    }
    let word = u64::from((32 / bits).max(1));
    // 64 units of 4 bytes at most: a driver compiles what is unrolled.
    let sides: SmallVec<[u64; 4]> = match (bits, target.kind) {
        (8, _) => [8, 4].into_iter().collect(),
        (16, _) => [8, 4, 2].into_iter().collect(),
        (128, _) => [2, 1].into_iter().collect(),
        _ => [4, 2, 1].into_iter().collect(),
    };
    let mut best: Option<Block> = None;
    for &rows in &sides {
        for &width in &sides {
            if rows % word != 0 || width % word != 0 {
                continue;
            }
            let Some(block) = Block::rectangle(nest, src_axis, rows, width) else { continue };
            if !block.is_word_aligned() || block.store * u64::from(bits) < 32 {
                continue;
            }
            if best.as_ref().is_none_or(|best| weight(&block) > weight(best)) {
                best = Some(block);
            }
        }
    }
    best.filter(|block| bits < 32 || block.rows * block.width > 1)
}

/// Units for each access: what a rectangle gains.
fn weight(block: &Block) -> u64 {
    let units = block.rows * block.width;
    let accesses = units / block.load + units / block.store;
    units * 1000 / accesses + units
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
