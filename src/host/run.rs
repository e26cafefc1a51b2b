//! The run of a nest: its destination is shared out to the threads.

use rayon::prelude::*;

use super::{
    HostError, cache::last_level_bytes, share::shares, simd::Simd, stream::streaming, task::Task,
};
use crate::nest::{CopyNest, Operand};

/// Destinations from this share of the last-level cache on are written past the caches where units are long: as fast as
/// they come, and nothing is read for them.
const LONG_SHARE: usize = 32;

/// The same where units are short: what is smaller is faster through the cache.
const SHORT_SHARE: usize = 4;

/// Fills `destination`, the whole image, from `source`, the whole image of the other side.
///
/// Every byte of the destination is written, gaps and tails with zero, so that the result is the same on every run.
/// Large images are shared out to the threads of the current rayon pool. Besides the images a thread needs room for
/// tiles of a few ten KiB.
///
/// # Errors
///
/// Where a buffer has not the length of its image.
pub fn run(nest: &CopyNest, source: &[u8], destination: &mut [u8]) -> Result<(), HostError> {
    for (operand, given, expected) in [
        (Operand::Source(0), source.len(), nest.src_bytes()),
        (Operand::Destination, destination.len(), nest.dst_bytes()),
    ] {
        if given as u64 != expected {
            return Err(HostError::Length { operand, given, expected });
        }
    }
    if nest.dst_bits() < 8
        && let Some(last) = destination.last_mut()
    {
        *last = 0; // The bits behind the last unit belong to no cell.
    }
    let whole_bytes = nest.src_bits() == nest.dst_bits() && nest.dst_bits() >= 8;
    let reaches = |share: usize| destination.len() >= last_level_bytes() / share;
    let (streams, streams_short) = (reaches(LONG_SHARE), reaches(SHORT_SHARE));
    let simd = Simd::best().filter(|_| whole_bytes);
    let task = Task { nest, source, simd, streams_short };
    shares(nest, destination, rayon::current_num_threads()).into_par_iter().for_each(|share| {
        if streams {
            streaming(|stream| task.run(share, Some(stream)));
        } else {
            task.run(share, None);
        }
    });
    Ok(())
}
