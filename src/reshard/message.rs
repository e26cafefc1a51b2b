//! Copies the elements of messages out of shards and into shards.
//!
//! A message consists of regions of the array, one after another. Each region is stored densely,
//! and its dimensions are ordered as in the destination's memory, so that the receiver writes long
//! contiguous runs.

use smallvec::SmallVec;

use super::{ReshardError, offsets::MessageOffsets, runs::Runs, shards::Shard};
use crate::{
    host,
    nest::{self, CopyNest},
    shape::{Layout, Shape},
    sharding::{Region, TileBox},
    stride::StrideDescriptor,
    window::{Slice, Window},
};

/// Builds the loops that copy a box of a shard to a message. The coordinates of `part` are relative
/// to the shard, and `order` is the order of dimensions in the message. In a message, each element
/// takes whole bytes.
fn nest_of(shard: &Shard, part: &TileBox, order: &Layout) -> Result<CopyNest, ReshardError> {
    let source = StrideDescriptor::try_from(&shard.shape)?;
    let offsets: Vec<u64> = part.ranges().iter().map(|(start, _)| *start).collect();
    let sizes: Vec<u64> = part.sizes().collect();
    let steps = vec![1; sizes.len()];
    let message = Shape::new(shard.shape.element_type(), sizes.iter().copied(), order.clone())?;
    let message = StrideDescriptor::try_from(&message)?;
    let window = Window::slice(source.sizes(), &Slice::new(offsets, sizes, steps))?;
    Ok(nest::lower(&source, &message, &window)?)
}

/// Returns the contiguous runs of a shard's memory that hold `region`, in the order of the message,
/// so that a transport can send or receive them without packing. Returns `None` if the region is
/// not a box, or if the runs are not of equal length at constant strides.
pub(super) fn runs(
    shard: &Shard,
    region: &Region,
    order: &Layout,
) -> Result<Option<Runs>, ReshardError> {
    match region.within(&shard.region).as_box() {
        Some(part) => Ok(Runs::of(&nest_of(shard, &part, order)?)),
        None => Ok(None),
    }
}

/// Copies the elements of `region` from `image`, the memory of a shard, to `message`.
pub(super) fn pack(
    shard: &Shard,
    region: &Region,
    order: &Layout,
    image: &[u8],
    message: &mut [u8],
) -> Result<(), ReshardError> {
    let part = region.within(&shard.region);
    match part.as_box() {
        Some(part) => Ok(host::run(&nest_of(shard, &part, order)?, image, message)?),
        None => MessageOffsets::new(shard, &part, order)?.gather(image, message),
    }
}

/// Copies `message` to the elements of `region` in `image`, the memory of a shard. If the region is
/// a box, this runs the loops of [`pack`] in reverse: each element is written to the place from
/// which [`pack`] would read it. No two elements of a shard share a place.
pub(super) fn unpack(
    shard: &Shard,
    region: &Region,
    order: &Layout,
    message: &[u8],
    image: &mut [u8],
) -> Result<(), ReshardError> {
    let part = region.within(&shard.region);
    let Some(part) = part.as_box() else {
        return MessageOffsets::new(shard, &part, order)?.scatter(message, image);
    };
    let nest = nest_of(shard, &part, order)?;
    for (operand, given, expected) in [
        (nest::Operand::Source(0), image.len(), nest.src_bytes()),
        (nest::Operand::Destination, message.len(), nest.dst_bytes()),
    ] {
        if given as u64 != expected {
            return Err(host::HostError::Length { operand, given, expected }.into());
        }
    }
    match Runs::of(&nest) {
        Some(runs) => runs.scatter(message, image),
        None if is_whole_bytes(&nest) => scatter_boxes(&nest, message, image),
        None => scatter_units(&nest, message, image),
    }
    Ok(())
}

fn is_whole_bytes(nest: &CopyNest) -> bool {
    nest.keeps_units() && nest.src_bits().is_multiple_of(8)
}

/// Copies `message` to `image`, the memory of a shard, box by box. No box crosses the end of a tile
/// of the layout, so inside a box the offsets have constant strides.
#[expect(clippy::cast_possible_truncation)] // images fit the address space
fn scatter_boxes(nest: &CopyNest, message: &[u8], image: &mut [u8]) {
    let unit = nest.src_bits() as usize / 8;
    host::each_read_box(nest, |reads| {
        // `unsigned_abs` changes nothing: the slice visits elements in ascending order, so no
        // stride is negative.
        let bytes = |units: i64| units.unsigned_abs() as usize * unit;
        let mut steps: SmallVec<[BoxAxis; 8]> = reads
            .steps
            .iter()
            .filter(|(count, ..)| *count > 1)
            .map(|&(count, from, to)| BoxAxis {
                count: count as usize,
                from: bytes(from),
                to: bytes(to),
            })
            .collect();
        let mut run = unit;
        if let Some(&BoxAxis { count, from, to }) = steps.last()
            && from == unit
            && to == unit
        {
            steps.pop();
            run = count * unit;
        }
        let (from, to) = (reads.position as usize * unit, reads.unit as usize * unit);
        copy_box(&steps, run, (&message[from..], &mut image[to..]));
    });
}

/// One axis of a box: its extent, and its strides in the message and in the shard, in bytes.
#[derive(Clone, Copy)]
struct BoxAxis {
    count: usize,
    from: usize,
    to: usize,
}

/// Copies a box from `message` to `image`, as contiguous runs of `run` bytes. Both slices begin at
/// the first element of the box.
fn copy_box(steps: &[BoxAxis], run: usize, (message, image): (&[u8], &mut [u8])) {
    match steps {
        [] => image[..run].copy_from_slice(&message[..run]),
        [BoxAxis { count, from, to }, inner @ ..] => {
            for step in 0..*count {
                copy_box(inner, run, (&message[step * from..], &mut image[step * to..]));
            }
        }
    }
}

/// Copies `message` to `image`, the memory of a shard, bit by bit. This is slow, and only used if
/// the elements of the shard do not occupy whole bytes.
#[allow(clippy::cast_possible_truncation)] // images fit the address space
fn scatter_units(nest: &CopyNest, message: &[u8], image: &mut [u8]) {
    let (to_bits, from_bits) = (u64::from(nest.src_bits()), u64::from(nest.dst_bits()));
    for position in 0..nest.positions() {
        let Some(place) = nest.read(position).unit() else { continue };
        for bit in 0..to_bits {
            let (to, from) = (place * to_bits + bit, position * from_bits + bit);
            let value = message[(from / 8) as usize] >> (from % 8) & 1;
            let byte = &mut image[(to / 8) as usize];
            *byte = *byte & !(1 << (to % 8)) | value << (to % 8);
        }
    }
}

/// Writes the padding of a shard into `image`, its memory, which must be all zeros. Does nothing if
/// the elements fill the memory, because then there is no padding.
pub(super) fn write_padding(shape: &Shape, image: &mut [u8]) -> Result<(), ReshardError> {
    let destination = StrideDescriptor::try_from(shape)?;
    let is_filled = destination.prefix_bytes() == 0
        && destination.elements() == destination.physical_elements();
    if is_filled {
        return Ok(());
    }
    let steps = vec![0; shape.rank()];
    let sizes = destination.sizes();
    let source = StrideDescriptor::strided(shape.element_type(), 0, sizes, &steps, 0)?;
    let nest = nest::lower(&source, &destination, &Window::identity(destination.sizes()))?;
    let element = vec![0; usize::try_from(nest.src_bytes()).unwrap_or(usize::MAX)];
    Ok(host::run(&nest, &element, image)?)
}
