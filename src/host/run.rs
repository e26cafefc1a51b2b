//! [`run`]: runs a nest. Decides if the destination is large enough for several threads and for
//! non-temporal stores, and hands each share to a thread.

use rayon::prelude::*;

use super::{
    HostError,
    cache::{last_level_bytes, named_bytes, shuffled_share},
    gathered,
    kept::{self, Record},
    pieces::DestinationSlices,
    plain,
    plan::{LineAlignment, Streams},
    share::{Share, contiguous, is_small, shares},
    simd::Simd,
    step::StepRunner,
    stream::streaming,
    task::{Task, has_whole_bytes},
};
use crate::nest::{CopyNest, Operand};

/// The smallest destination that is written with non-temporal stores if units are long, as the
/// number by which the size of the last-level cache is divided. Non-temporal stores save reading
/// the destination, and long units fill whole lines. A larger number streams destinations that the
/// cache can hold. A smaller one leaves more copies to the cache: runs of 128 bytes, 12 MiB in all,
/// have 0.34 of the rate of memcpy through it and 0.56 with non-temporal stores
/// (`benches/NOTES.md`, "Streaming stores").
const LONG_SHARE: usize = 32;

/// The same limit for short units. A smaller number leaves more copies to the cache. A larger one
/// streams destinations that the cache can hold: `f16[64,512,7,7]` to NHWC (3 MiB) has 0.27 of the
/// rate of memcpy with non-temporal stores and 0.41 without (`benches/NOTES.md`, "Streaming
/// stores").
const SHORT_SHARE: usize = 4;

/// The same limit for long units that begin or end inside cache lines, relative to the cache size
/// that the system reports. The first and last lines of these units are written twice, so a larger
/// number streams lines that the cache could complete. A smaller one leaves more copies to the
/// cache and, if both sides have long runs in one order, to memcpy: with 16, heads of `bf16` went
/// from 17.5 to 26.8 GB/s on an Intel Xeon (family 6, model 207).
const CUT_SHARE: usize = 16;

/// Copies `source`, the whole memory of the nest's source, to `destination`, the whole memory of
/// its destination.
///
/// Every byte of the destination is written, gaps and tails with zero, so that every run has the
/// same result. Large tensors are divided among the threads of the current rayon pool. Besides the
/// two buffers, a thread needs a few ten KiB for tiles, keeps about 1 MiB for tiles of units below
/// a byte, and keeps the steps of its last small copies in at most 2 MiB.
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

/// Copies `sources`, the whole memory of each source of the nest in their order, to `destination`,
/// the whole memory of its destination.
///
/// Lookups that do not depend on the position are evaluated once, before the first position is
/// copied. Everything else is as in [`run`].
///
/// # Errors
///
/// Returns [`HostError::Length`] if the length of a buffer differs from the size of its tensor.
///
/// # Panics
///
/// Panics if the number of sources differs from the number that the nest has.
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
    if cfg!(stridec_plain_host) {
        plain::fill(nest, sources, destination);
    } else if nest.lookups().is_empty() {
        fill(nest, sources, destination);
    } else {
        let nest = nest.clone().with_constants_from(sources);
        if !gathered::fill(&nest, sources, destination) {
            fill(&nest, sources, destination);
        }
    }
    Ok(())
}

/// Describes how [`run`] copies a nest on `threads` threads: the parts of the destination that
/// threads fill, and the steps that fill them, with the tiles or blocks of each step and the loops
/// around them.
///
/// The description depends on this processor. It is for people: its text may change in any version.
#[must_use]
pub fn plan(nest: &CopyNest, threads: usize) -> String {
    if !nest.lookups().is_empty() {
        return "indices are read first, and decide the steps\n".to_owned();
    }
    // The image is only described, and none of its pages is written.
    let mut image = vec![0; nest.dst_bytes() as usize];
    let task = Task::new(nest, &[], image.len());
    let shares = if task.is_small {
        vec![contiguous(nest, &mut image, 0)]
    } else {
        shares(nest, &mut image, threads)
    };
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

/// Fills the destination of a nest whose lookups all depend on the position.
fn fill(nest: &CopyNest, sources: &[&[u8]], destination: &mut [u8]) {
    if nest.dst_bits() < 8
        && let Some(last) = destination.last_mut()
    {
        *last = 0; // The bits after the last unit belong to no place.
    }
    let task = Task::new(nest, sources, destination.len());
    if task.is_small {
        return fill_small(&task, destination);
    }
    let shares = shares(nest, destination, rayon::current_num_threads());
    // Give rayon one share at a time. It would otherwise give a thread several shares, which no
    // other thread can take over.
    shares
        .into_par_iter()
        .with_max_len(1)
        .for_each(|share| task.run_share(share, &mut Record::none()));
}

impl<'a> Task<'a> {
    /// Returns the task of filling a destination of `bytes` bytes.
    fn new(nest: &'a CopyNest, sources: &'a [&'a [u8]], bytes: usize) -> Self {
        let whole_bytes = has_whole_bytes(nest);
        let is_small = is_small(bytes, whole_bytes);
        let large = |share: usize| !is_small && bytes >= last_level_bytes() / share;
        let reaches = |share: usize| whole_bytes && large(share);
        let long = reaches(LONG_SHARE);
        let streams = Streams {
            long,
            cut: long && bytes >= named_bytes() / CUT_SHARE,
            short: reaches(SHORT_SHARE),
            shuffled: reaches(shuffled_share()),
            start: LineAlignment::Uneven,
            pieces: None,
        };
        Self {
            nest,
            sources,
            is_small,
            simd: Simd::best().filter(|_| whole_bytes),
            streams,
            is_streamed: long || large(SHORT_SHARE),
        }
    }

    /// Fills a share, with non-temporal stores if the destination is large, and records the steps.
    fn run_share(&self, share: Share, record: &mut Record) {
        if self.is_streamed {
            streaming(|stream| self.run(share, Some(stream), record));
        } else {
            self.run(share, None, record);
        }
    }
}

/// Fills a destination that is one share. If this thread has copied the nest before, the steps are
/// known.
fn fill_small(task: &Task, destination: &mut [u8]) {
    if let Some(kept) = kept::find(task.nest) {
        let mut runner = StepRunner::new(task, DestinationSlices::whole(destination), None);
        return kept.steps.iter().for_each(|step| runner.run(step));
    }
    let mut record = Record::of(task.nest);
    task.run(contiguous(task.nest, destination, 0), None, &mut record);
    record.keep(task.nest);
}
