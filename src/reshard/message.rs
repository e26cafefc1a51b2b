//! Messages: boxes of a shard, one after the other, each dense and in the order of the destination's shards.

use super::{runs::Runs, shards::Shard};
use crate::{
    error::Error,
    host,
    nest::{self, CopyNest},
    request::Tensor,
    shape::{Layout, Shape, StridedShape},
    sharding::TileBox,
    stride::StrideDescriptor,
    window::{Slice, Window},
};

/// The nest that reads a box of a shard into a message of this layout, in whole bytes an element.
fn nest_of(shard: &Shard, region: &TileBox, order: &Layout) -> Result<CopyNest, Error> {
    let source = StrideDescriptor::try_from(&shard.shape)?;
    let starts = region.ranges().iter().zip(shard.tile.ranges());
    let offsets: Vec<u64> = starts.map(|(of, tile)| of.0 - tile.0).collect();
    let sizes: Vec<u64> = region.sizes().collect();
    let steps = vec![1; sizes.len()];
    let message = Shape::new(shard.shape.element_type(), sizes.iter().copied(), order.clone())?;
    let message = StrideDescriptor::try_from(&message)?;
    let window = Window::slice(source.sizes(), &Slice::new(offsets, sizes, steps))?;
    Ok(nest::lower(&source, &message, &window)?)
}

/// How a box lies in a shard, in the order of the message; `None` where it is not in runs.
pub(super) fn runs(shard: &Shard, region: &TileBox, order: &Layout) -> Result<Option<Runs>, Error> {
    Ok(Runs::of(&nest_of(shard, region, order)?))
}

/// Fills a message with a box of a shard, whose image is `image`.
pub(super) fn pack(
    shard: &Shard,
    region: &TileBox,
    order: &Layout,
    image: &[u8],
    message: &mut [u8],
) -> Result<(), Error> {
    Ok(host::run(&nest_of(shard, region, order)?, image, message)?)
}

/// Writes a message into a box of a shard, whose image is `image`: the nest of [`pack`] walked backwards, since every
/// element of a shard has a place of its own.
pub(super) fn unpack(
    shard: &Shard,
    region: &TileBox,
    order: &Layout,
    message: &[u8],
    image: &mut [u8],
) -> Result<(), Error> {
    let nest = nest_of(shard, region, order)?;
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
        None => scatter_units(&nest, message, image),
    }
    Ok(())
}

/// Every unit by itself: where tiles begin inside the box, and below whole bytes.
#[allow(clippy::cast_possible_truncation)] // images fit the address space
fn scatter_units(nest: &CopyNest, message: &[u8], image: &mut [u8]) {
    let (to_bits, from_bits) = (u64::from(nest.src_bits()), u64::from(nest.dst_bits()));
    for position in 0..nest.positions() {
        let Some(place) = nest.read(position).unit() else { continue };
        let (to, from) = (place * to_bits, position * from_bits);
        if to_bits % 8 == 0 && from_bits == to_bits {
            let bytes = (to_bits / 8) as usize;
            let (to, from) = ((to / 8) as usize, (from / 8) as usize);
            image[to..to + bytes].copy_from_slice(&message[from..from + bytes]);
            continue;
        }
        for bit in 0..to_bits {
            let (to, from) = (to + bit, from + bit);
            let value = message[(from / 8) as usize] >> (from % 8) & 1;
            let byte = &mut image[(to / 8) as usize];
            *byte = *byte & !(1 << (to % 8)) | value << (to % 8);
        }
    }
}

/// Writes the padding of a shard into its image, which is all zeros; nothing, where the elements take all of it.
pub(super) fn write_padding(shape: &Shape, image: &mut [u8]) -> Result<(), Error> {
    let destination = StrideDescriptor::try_from(shape)?;
    let all_elements = destination.elements() * u64::from(destination.element_bits());
    if all_elements == destination.image_bytes().saturating_mul(8) {
        return Ok(());
    }
    let steps = vec![0; shape.rank()];
    let sizes = destination.sizes().iter().copied();
    let element = StridedShape::new(shape.element_type(), sizes, steps, 0, 0)?;
    let source = Tensor::from(element).descriptor()?;
    let nest = nest::lower(&source, &destination, &Window::identity(destination.sizes()))?;
    let element = vec![0; usize::try_from(nest.src_bytes()).unwrap_or(usize::MAX)];
    Ok(host::run(&nest, &element, image)?)
}
