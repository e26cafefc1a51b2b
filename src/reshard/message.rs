//! Messages: boxes of a shard, dense and row-major, one after the other.

use super::shards::Shard;
use crate::{
    error::Error,
    host,
    nest::{self, CopyNest, Value},
    request::Tensor,
    shape::{Shape, StridedShape},
    sharding::TileBox,
    stride::StrideDescriptor,
    window::{Slice, Window},
};

/// The nest that reads a box of a shard into a dense, row-major message, in whole bytes an element.
fn nest_of(shard: &Shard, region: &TileBox) -> Result<CopyNest, Error> {
    let source = StrideDescriptor::try_from(&shard.shape)?;
    let starts = region.ranges().iter().zip(shard.tile.ranges());
    let offsets: Vec<u64> = starts.map(|(of, tile)| of.0 - tile.0).collect();
    let sizes: Vec<u64> = region.sizes().collect();
    let steps = vec![1; sizes.len()];
    let dense = Tensor::dense(shard.shape.element_type(), sizes.iter().copied())?.descriptor()?;
    let window = Window::slice(source.sizes(), &Slice::new(offsets, sizes, steps))?;
    Ok(nest::lower(&source, &dense, &window)?)
}

/// Fills a message with a box of a shard, whose image is `image`.
pub(super) fn pack(
    shard: &Shard,
    region: &TileBox,
    image: &[u8],
    message: &mut [u8],
) -> Result<(), Error> {
    Ok(host::run(&nest_of(shard, region)?, image, message)?)
}

/// Writes a message into a box of a shard, whose image is `image`: the nest of [`pack`] walked backwards, since every
/// element of a shard has a place of its own.
pub(super) fn unpack(
    shard: &Shard,
    region: &TileBox,
    message: &[u8],
    image: &mut [u8],
) -> Result<(), Error> {
    let nest = nest_of(shard, region)?;
    for (operand, given, expected) in [
        (nest::Operand::Source(0), image.len(), nest.src_bytes()),
        (nest::Operand::Destination, message.len(), nest.dst_bytes()),
    ] {
        if given as u64 != expected {
            return Err(host::HostError::Length { operand, given, expected }.into());
        }
    }
    let whole_bytes = nest.src_bits() == nest.dst_bits();
    let one_read = nest.cases().len() == 1 && nest.reading_guards().is_empty();
    if whole_bytes && one_read && nest.quotients().is_empty() {
        scatter_rows(&nest, message, image);
    } else {
        scatter_units(&nest, message, image);
    }
    Ok(())
}

/// Where a unit lies in the shard is a sum over the axes: rows of them are copied.
#[expect(clippy::cast_possible_truncation)] // images fit the address space
fn scatter_rows(nest: &CopyNest, message: &[u8], image: &mut [u8]) {
    let unit = nest.src_bits() as usize / 8;
    let mut extents: Vec<usize> = nest.extents().iter().map(|&extent| extent as usize).collect();
    let mut steps: Vec<isize> =
        (0..extents.len()).map(|axis| nest.src().weight(Value::Axis(axis)) as isize).collect();
    let row = match steps.last() {
        Some(1) => {
            steps.pop();
            extents.pop().unwrap_or(1)
        }
        _ => 1,
    };
    let mut index = vec![0; extents.len()];
    let mut at = nest.src().offset() as isize;
    for chunk in message.chunks_exact(row * unit) {
        // No position reads outside the image: places are not negative.
        let start = at.unsigned_abs() * unit;
        image[start..start + chunk.len()].copy_from_slice(chunk);
        for axis in (0..index.len()).rev() {
            index[axis] += 1;
            at += steps[axis];
            if index[axis] < extents[axis] {
                break;
            }
            at -= steps[axis] * extents[axis].cast_signed();
            index[axis] = 0;
        }
    }
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

/// The image of a shard whose elements are all zero, with its padding.
pub(super) fn zeros(shape: &Shape) -> Result<Vec<u8>, Error> {
    let destination = StrideDescriptor::try_from(shape)?;
    let steps = vec![0; shape.rank()];
    let sizes = destination.sizes().iter().copied();
    let element = StridedShape::new(shape.element_type(), sizes, steps, 0, 0)?;
    let source = Tensor::from(element).descriptor()?;
    let nest = nest::lower(&source, &destination, &Window::identity(destination.sizes()))?;
    let element = vec![0; usize::try_from(nest.src_bytes()).unwrap_or(usize::MAX)];
    let mut image = vec![0; usize::try_from(nest.dst_bytes()).unwrap_or(usize::MAX)];
    host::run(&nest, &element, &mut image)?;
    Ok(image)
}
