//! The run of a nest: its destination is shared out to the threads.

use rayon::prelude::*;

use super::{
    HostError,
    cache::{last_level_bytes, named_bytes, shuffled_share},
    gathered,
    kept::{self, Record},
    pieces::Pieces,
    plan::{Start, Streams},
    share::{contiguous, is_small, shares},
    simd::Simd,
    step::Work,
    stream::streaming,
    task::Task,
};
use crate::nest::{CopyNest, Operand};

/// Destinations from this share of the last-level cache on are written past the caches where units are long: as fast as
/// they come, and nothing is read for them.
const LONG_SHARE: usize = 32;

/// The same where units are short: what is smaller is faster through the cache.
const SHORT_SHARE: usize = 4;

/// The same where units are long and begin or end inside of lines, of the cache's size as the system names it: the cut
/// lines are written twice, so that those that the cache can hold wait there for their other part. Below it long runs
/// that both sides have in one order are left to the system's own copy.
const CUT_SHARE: usize = 16;

/// Fills `destination`, the whole image, from `source`, the whole image of the other side.
///
/// Every byte of the destination is written, gaps and tails with zero, so that the result is the same on every run.
/// Large images are shared out to the threads of the current rayon pool. Besides the images a thread needs room for
/// tiles of a few ten KiB, keeps about 1 MiB for tiles of units below a byte, and remembers how it made its last small copies, in at
/// most 2 MiB.
///
/// # Errors
///
/// Where a buffer has not the length of its image.
///
/// # Panics
///
/// Where the nest has not one source: [`run_sources`] runs those.
pub fn run(nest: &CopyNest, source: &[u8], destination: &mut [u8]) -> Result<(), HostError> {
    assert_eq!(nest.sources().len(), 1, "one source");
    run_sources(nest, &[source], destination)
}

/// Fills `destination`, the whole image, from `sources`, the whole images of the nest's sources in their order.
///
/// What a nest looks up once in its sources is known here before the first position is copied. Otherwise as [`run`].
///
/// # Errors
///
/// Where a buffer has not the length of its image.
///
/// # Panics
///
/// Where there are not as many sources as the nest has.
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
    if nest.lookups().is_empty() {
        fill(nest, sources, destination);
    } else {
        let nest = nest.clone().with_constants_from(sources);
        if !gathered::fill(&nest, sources, destination) {
            fill(&nest, sources, destination);
        }
    }
    Ok(())
}

/// Fills the destination of a nest whose lookups all depend on the position.
fn fill(nest: &CopyNest, sources: &[&[u8]], destination: &mut [u8]) {
    if nest.dst_bits() < 8
        && let Some(last) = destination.last_mut()
    {
        *last = 0; // The bits behind the last unit belong to no cell.
    }
    let whole_bytes = nest.src_bits() == nest.dst_bits() && nest.dst_bits() >= 8;
    let bytes = destination.len();
    let small = is_small(bytes, whole_bytes);
    let large = |share: usize| !small && bytes >= last_level_bytes() / share;
    let reaches = |share: usize| whole_bytes && large(share);
    let long = reaches(LONG_SHARE);
    let simd = Simd::best().filter(|_| whole_bytes);
    let streams = Streams {
        long,
        cut: long && bytes >= named_bytes() / CUT_SHARE,
        short: reaches(SHORT_SHARE),
        shuffled: reaches(shuffled_share()),
        start: Start::Uneven,
        pieces: None,
    };
    let task = Task { nest, sources, simd, streams };
    if small {
        return fill_small(&task, destination);
    }
    let shares = shares(nest, destination, rayon::current_num_threads());
    // One at a time: rayon would have a thread take several, which no other can then relieve it of.
    shares.into_par_iter().with_max_len(1).for_each(|share| {
        if long || large(SHORT_SHARE) {
            streaming(|stream| task.run(share, Some(stream), &mut Record::none()));
        } else {
            task.run(share, None, &mut Record::none());
        }
    });
}

/// Fills a destination that is not shared out, by the steps that this thread took before where it did.
fn fill_small(task: &Task, destination: &mut [u8]) {
    if let Some(kept) = kept::find(task.nest) {
        let mut work = Work::new(task, Pieces::whole(destination), None);
        return kept.steps.iter().for_each(|step| work.step(step));
    }
    let mut record = Record::of(task.nest);
    task.run(contiguous(task.nest, destination, 0), None, &mut record);
    record.keep(task.nest);
}
