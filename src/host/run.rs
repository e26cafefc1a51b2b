//! The run of a nest: its destination is shared out to the threads.

use rayon::prelude::*;

use super::{HostError, part::parts, simd::Simd, stream::streaming, task::Task};
use crate::nest::{CopyNest, Operand};

/// From here on a destination is written past the caches: it would not stay in them.
const STREAM_BYTES: usize = 1 << 20;

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
    let task = Task { nest, source, simd: Simd::best().filter(|_| whole_bytes) };
    let streams = destination.len() >= STREAM_BYTES;
    parts(nest, destination, rayon::current_num_threads()).into_par_iter().for_each(|part| {
        if streams {
            streaming(|stream| task.run(part, Some(stream)));
        } else {
            task.run(part, None);
        }
    });
    Ok(())
}
