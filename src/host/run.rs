//! Defines the entry points of the host: [`run`], [`run_sources`] and [`plan`].
//!
//! They check the lengths of the buffers, and decide if the destination is large enough for several
//! threads and for non-temporal stores. Then they give each thread its shares of the destination.

use std::sync::Arc;

use rayon::prelude::*;

use super::{
    HostError,
    boxes::WalkBox,
    chosen, gathered,
    kept::{self, Record},
    looked_up,
    machine::Machine,
    pieces::DestinationSlices,
    plain,
    plan::Streams,
    share::{Share, contiguous, is_small, share_of_box, shares},
    simd::Simd,
    step::StepRunner,
    stream::{LINE, Stream, streaming},
    task::{ShareNumber, Task, has_whole_bytes},
    windows,
};
use crate::nest::{CopyNest, Gaps, Lookup, Operand};

/// Copies `source` to `destination`. Each buffer is the whole memory of its tensor, including
/// padding.
///
/// Every byte of the destination is written: gaps, prefix and tail become zero, so that the result
/// does not depend on the old contents. The exception is a nest with [`Gaps::Keep`], which writes
/// elements only and leaves every other bit as it is.
///
/// A large destination is divided among the threads of the current rayon pool. Besides the two
/// buffers, a thread uses about 1 MB for tiles, and up to 27 MB for the boxes of a long period if
/// the tiles of the two sides do not divide each other. Until it ends, it also keeps about 3 MB
/// for tiles of units below a byte, and the steps and plans of its last copies, in at most 2 MiB.
///
/// # Errors
///
/// Returns [`HostError::Length`] if the length of a buffer differs from the size of its tensor.
///
/// # Panics
///
/// Panics if the nest does not have exactly one source; use [`run_sources`] for such a nest.
pub fn run(nest: &CopyNest, source: &[u8], destination: &mut [u8]) -> Result<(), HostError> {
    assert_eq!(nest.sources().len(), 1, "one source");
    run_sources(nest, &[source], destination)
}

/// Copies several sources to `destination`. `sources` has one buffer for each source of the nest,
/// in the order of [`CopyNest::sources`]; each buffer is the whole memory of its tensor.
///
/// Lookups that do not depend on the position, such as the start of a dynamic slice, are evaluated
/// once, before the first position is copied. Everything else is as in [`run`].
///
/// # Errors
///
/// Returns [`HostError::Length`] if the length of a buffer differs from the size of its tensor.
///
/// # Panics
///
/// Panics if `sources` does not have one buffer for each source of the nest.
pub fn run_sources(
    nest: &CopyNest,
    sources: &[&[u8]],
    destination: &mut [u8],
) -> Result<(), HostError> {
    assert_eq!(nest.sources().len(), sources.len(), "a buffer for each source");
    let images = nest
        .sources()
        .iter()
        .zip(sources)
        .enumerate()
        .map(|(number, (of, source))| (Operand::Source(number), source.len(), of.bytes()));
    for (operand, given, expected) in
        images.chain([(Operand::Destination, destination.len(), nest.dst_bytes())])
    {
        if given as u64 != expected {
            return Err(HostError::Length { operand, given, expected });
        }
    }
    if let Some(scattered) = nest.scattered() {
        windows::scatter(nest, scattered, sources, destination);
    } else if cfg!(stridec_plain_host) {
        plain::fill(nest, sources, destination);
    } else if nest.lookups().is_empty() {
        fill(Machine::here(), nest, sources, destination);
    } else {
        let nest = nest.clone().with_constants_from(sources);
        if !looked_up::fill(&nest, sources, destination)
            && !chosen::fill(&nest, sources, destination)
            && !gathered::fill(&nest, sources, destination)
        {
            fill(Machine::here(), &nest, sources, destination);
        }
    }
    Ok(())
}

/// Describes, as text for people, how [`run`] copies a nest on `threads` threads.
///
/// The text lists the shares of the destination, which are the parts that threads fill. It lists
/// the steps of each share, with their tiles or blocks and the loops around them. Equal lines are
/// listed once, with their number. If the nest has lookups, the text says how its elements or rows
/// are looked up, or that the steps depend on the indices.
///
/// The description is for this processor, and for a destination whose first byte is at the start of
/// a cache line. Its wording may change in any version.
#[must_use]
pub fn plan(nest: &CopyNest, threads: usize) -> String {
    plan_with(Machine::here(), Simd::here(), nest, threads)
}

/// Describes how a nest is copied on a given processor with a given instruction set, as [`plan`]
/// does for this processor. `simd` is `None` if only plain code is used.
pub(super) fn plan_with(
    machine: &'static Machine,
    simd: Option<Simd>,
    nest: &CopyNest,
    threads: usize,
) -> String {
    if !nest.lookups().is_empty() {
        // Lookups that do not depend on the position become constants before a copy is planned.
        let changes = nest.lookups().iter().any(Lookup::is_constant) || nest.scattered().is_some();
        let plans = || {
            looked_up::plan(nest).or_else(|| chosen::plan(nest)).or_else(|| gathered::plan(nest))
        };
        let plan = if changes { None } else { plans() };
        return plan.unwrap_or_else(|| "indices are read first, and decide the steps\n".to_owned());
    }
    // The shares take their addresses and their alignment from this image. Nothing is written to
    // it, so the system never allocates its pages.
    let bytes = nest.dst_bytes() as usize;
    let mut image = vec![0; bytes + LINE];
    let first = image.as_ptr().addr().wrapping_neg() % LINE;
    let image = &mut image[first..first + bytes];
    let mut task = Task::new(machine, nest, &[], bytes);
    task.simd = task.simd.and(simd);
    let shares =
        if task.is_small { vec![contiguous(nest, image, 0)] } else { shares(nest, image, threads) };
    let mut lines: Vec<(usize, String)> = Vec::new();
    for share in shares {
        let mut record = Record::plan();
        task.run_share(share, &mut record);
        let steps = record.steps().iter().map(|step| format!("  {step}"));
        for line in std::iter::once("a share:".to_owned()).chain(steps) {
            match lines.iter_mut().find(|(_, other)| *other == line) {
                Some((times, _)) => *times += 1,
                None => lines.push((1, line)),
            }
        }
    }
    lines.into_iter().fold(String::new(), |text, (times, line)| match times {
        1 => text + &line + "\n",
        _ => text + &format!("{line} ({times} times)\n"),
    })
}

/// Fills the destination of a nest box by box. If the nest has lookups, all of them depend on the
/// position.
///
/// `machine` is the processor whose thresholds are used; tests pass every row of the table in
/// `machine`.
pub(super) fn fill(
    machine: &'static Machine,
    nest: &CopyNest,
    sources: &[&[u8]],
    destination: &mut [u8],
) {
    if nest.gaps() == Gaps::Keep {
        return fill_keeping_gaps(machine, nest, sources, destination);
    }
    if nest.dst_bits() < 8
        && let Some(last) = destination.last_mut()
    {
        *last = 0; // The bits after the last unit belong to no place.
    }
    let task = Task::new(machine, nest, sources, destination.len());
    if task.is_small {
        return fill_small(&task, destination, |destination| contiguous(nest, destination, 0));
    }
    fill_shares(task, destination);
}

/// Fills the destination of a nest with [`Gaps::Keep`]: writes the elements and no other bits.
///
/// Only positions that can write are visited. Therefore the time depends on the number of elements,
/// and not on the length of the destination. This matters if one row of a large array is updated.
fn fill_keeping_gaps(
    machine: &'static Machine,
    nest: &CopyNest,
    sources: &[&[u8]],
    destination: &mut [u8],
) {
    let Some(written) = WalkBox::written(nest) else { return };
    let units = written.extents().product::<usize>();
    let bytes = units.saturating_mul(nest.dst_bits() as usize) / 8;
    let task = Task::new(machine, nest, sources, bytes.min(destination.len()));
    if task.is_small {
        return fill_small(&task, destination, |destination| {
            share_of_box(nest, destination, written)
        });
    }
    fill_shares(task, destination);
}

/// Fills a destination in shares, on the threads of the current rayon pool.
fn fill_shares(mut task: Task, destination: &mut [u8]) {
    let machine = task.streams.machine;
    if let Some(plans) = kept::plans(machine, task.nest) {
        task.plans = plans;
    }
    let threads = rayon::current_num_threads();
    let of = (threads, destination.as_ptr().addr() % LINE);
    let shares = shares(task.nest, destination, threads);
    // Give rayon one share at a time. It would otherwise give a thread several shares, which no
    // other thread can take over.
    shares
        .into_par_iter()
        .enumerate()
        .with_max_len(1)
        .for_each(|(number, share)| task.run_large(ShareNumber { of, number }, share));
    if task.plans.take_new() {
        kept::keep_plans(machine, task.nest, task.plans);
    }
}

impl<'a> Task<'a> {
    /// Returns the task that fills a destination of `bytes` bytes, and decides which copies are
    /// streamed.
    fn new(
        machine: &'static Machine,
        nest: &'a CopyNest,
        sources: &'a [&'a [u8]],
        bytes: usize,
    ) -> Self {
        let whole_bytes = has_whole_bytes(nest);
        let is_small = is_small(bytes, whole_bytes);
        let none = Streams::none(machine);
        let streams = if is_small { none } else { machine.streams(bytes) };
        // Units of a fraction of a byte, or of two sizes, ignore `streams`, because the code that
        // copies them decides about streaming. They are streamed in destinations of the same sizes
        // as short units of whole bytes.
        let (streams, is_streamed) =
            if whole_bytes { (streams, streams.long) } else { (none, streams.short) };
        Self {
            nest,
            sources,
            is_small,
            simd: Simd::best(machine).filter(|_| whole_bytes),
            streams,
            is_streamed,
            plans: Arc::default(),
        }
    }

    /// Fills a share and adds its steps to `record`. The share may use non-temporal stores if the
    /// destination is large enough.
    fn run_share(&self, share: Share, record: &mut Record) {
        self.with_stream(|stream| self.run(share, stream, record));
    }

    /// Fills a share of a large copy. Runs the steps that an earlier run left in the plans, or
    /// finds the steps and leaves them there.
    fn run_large(&self, number: ShareNumber, share: Share) {
        let Some(steps) = self.plans.steps(number) else {
            let wanted = self.plans.wants_steps(number);
            let mut record = if wanted { Record::of(self.nest) } else { Record::none() };
            self.run_share(share, &mut record);
            return self.plans.keep_steps(number, record);
        };
        self.with_stream(|stream| {
            let stream = stream.map(|stream| (stream, share.destination.are_even()));
            let mut runner = StepRunner::new(self, share.destination, stream);
            steps.iter().for_each(|step| runner.run(step));
        });
    }

    /// Calls `run` with the permission to use non-temporal stores if the destination is large
    /// enough.
    fn with_stream(&self, run: impl FnOnce(Option<&Stream>)) {
        if self.is_streamed {
            streaming(|stream| run(Some(stream)));
        } else {
            run(None);
        }
    }
}

/// Fills a destination that is a single share, on this thread.
///
/// If the thread remembers the steps of an earlier copy of this nest, it runs them again. Otherwise
/// it obtains the share from `share`, plans the steps, and remembers them.
fn fill_small<'a>(
    task: &Task,
    destination: &'a mut [u8],
    share: impl FnOnce(&'a mut [u8]) -> Share<'a>,
) {
    if let Some(steps) = kept::steps(task.streams.machine, task.nest) {
        let mut runner = StepRunner::new(task, DestinationSlices::whole(destination), None);
        return steps.iter().for_each(|step| runner.run(step));
    }
    let mut record = Record::of(task.nest);
    task.run(share(destination), None, &mut record);
    record.keep(task.streams.machine, task.nest);
}
