//! [`MessageOffsets`]: finds the elements of a message in the memory of a device, if they are not a
//! box of the array, as in a cyclic sharding.
//!
//! A *shard* is the part of an array that one device holds, and a message contains the elements
//! that one device sends to another.

use crate::{
    host::HostError,
    nest::Operand,
    shape::Layout,
    sharding::Region,
    stride::{Step, StrideDescriptor, StrideError},
};

use super::{ReshardError, shards::Shard};

/// The offsets in a shard's memory of the elements of a message, in the order of the message.
///
/// The offset of an element is a sum with one term for each dimension, and each term depends only
/// on the index along that dimension. This is true even in a tiled layout, because a tile splits
/// each dimension by itself. One list of terms for each dimension therefore determines all offsets.
/// The exception is a layout with a tile that joins several dimensions, written `*`: its offsets
/// are computed index by index.
pub(super) struct MessageOffsets {
    shard: StrideDescriptor,
    /// The terms of all indices along each dimension, in elements. The outermost dimension is
    /// first, and the innermost one is left out, because `runs` has its terms.
    outer: Vec<Vec<usize>>,
    /// The elements of the message along its innermost dimension, as runs that are contiguous in
    /// the shard. A run is a pair: the term of its first element, and the number of its elements.
    runs: Vec<(usize, usize)>,
    folded: Option<Folded>,
    element_bytes: usize,
}

/// The indices of the elements of a message, for a layout in which a tile joins dimensions.
/// `coordinates` lists the indices along each dimension of the shard, and `order` has the order of
/// these dimensions in the message, outermost first.
struct Folded {
    coordinates: Vec<Vec<u64>>,
    order: Vec<usize>,
}

impl MessageOffsets {
    /// Computes the offsets of the elements of `part`, a nonempty region of the shard. `order` is
    /// the order of the dimensions in the message.
    pub(super) fn new(shard: &Shard, part: &Region, order: &Layout) -> Result<Self, ReshardError> {
        let element_bytes = shard.shape.element_type().storage_bits().unwrap_or(8).div_ceil(8);
        let shard = StrideDescriptor::try_from(&shard.shape)?;
        let order: Vec<usize> = order.minor_to_major.iter().rev().copied().collect();
        let ranges: Vec<&[(u64, u64)]> = part.dimensions().collect();
        let along = |&dimension: &usize| runs(&shard, dimension, ranges[dimension]);
        let mut dimensions = order.iter().map(along).collect::<Result<Vec<_>, _>>()?;
        // An array without dimensions has one element, which is a run of length 1.
        let runs = dimensions.pop().unwrap_or_else(|| vec![(0, 1)]);
        let outer = dimensions
            .into_iter()
            .map(|runs| runs.into_iter().flat_map(|(first, count)| first..first + count).collect());
        let outer = outer.collect();
        let is_folded = shard.steps().iter().any(|step| matches!(step, Step::Fold { .. }));
        let folded = is_folded.then(|| {
            let coordinates = ranges.iter().map(|ranges| coordinates(ranges).collect());
            Folded { coordinates: coordinates.collect(), order }
        });
        Ok(Self { shard, outer, runs, folded, element_bytes: element_bytes as usize })
    }

    /// Copies the elements of the message from `image`, the bytes of the shard, to `message`.
    pub(super) fn gather(&self, image: &[u8], message: &mut [u8]) -> Result<(), ReshardError> {
        self.check(image, Operand::Source(0))?;
        let image = &image[self.prefix()..];
        let (bytes, packing) = (self.element_bytes, self.packing());
        let mut at = 0;
        self.each_run(|place, count| {
            let to = &mut message[at..at + count * bytes];
            at += to.len();
            match &packing {
                None => to.copy_from_slice(&image[place * bytes..][..to.len()]),
                Some(packing) => {
                    for (element, place) in to.iter_mut().zip(place..) {
                        let byte = image[place / packing.count];
                        *element = packing.extended(byte >> packing.shift(place) & packing.mask);
                    }
                }
            }
        })
    }

    /// Copies the elements of `message` to their places in `image`, the bytes of the shard.
    pub(super) fn scatter(&self, message: &[u8], image: &mut [u8]) -> Result<(), ReshardError> {
        self.check(image, Operand::Destination)?;
        let image = &mut image[self.prefix()..];
        let (bytes, packing) = (self.element_bytes, self.packing());
        let mut at = 0;
        self.each_run(|place, count| {
            let from = &message[at..at + count * bytes];
            at += from.len();
            match &packing {
                None => image[place * bytes..][..from.len()].copy_from_slice(from),
                Some(packing) => {
                    for (element, place) in from.iter().zip(place..) {
                        let byte = &mut image[place / packing.count];
                        let shift = packing.shift(place);
                        *byte =
                            *byte & !(packing.mask << shift) | (element & packing.mask) << shift;
                    }
                }
            }
        })
    }

    /// Returns the arrangement of elements that share a byte of the shard, or `None` if each
    /// element occupies whole bytes there. In a message, each element always occupies whole bytes.
    fn packing(&self) -> Option<PackedElements> {
        let bits = self.shard.element_bits();
        let is_signed = self.shard.element_type().is_signed_integer();
        (bits < 8).then(|| PackedElements {
            count: 8 / bits as usize,
            mask: (1 << bits) - 1,
            sign: if is_signed { 1 << (bits - 1) } else { 0 },
        })
    }

    #[expect(clippy::cast_possible_truncation)] // images fit the address space
    fn prefix(&self) -> usize {
        self.shard.prefix_bytes() as usize
    }

    fn check(&self, image: &[u8], operand: Operand) -> Result<(), ReshardError> {
        let (given, expected) = (image.len(), self.shard.image_bytes());
        if given as u64 != expected {
            return Err(HostError::Length { operand, given, expected }.into());
        }
        Ok(())
    }

    /// Calls `run` for each contiguous run of elements in the shard, in the order of the message,
    /// with its offset and its length in elements.
    #[expect(clippy::cast_possible_truncation)] // images fit the address space
    fn each_run(&self, mut run: impl FnMut(usize, usize)) -> Result<(), ReshardError> {
        if let Some(folded) = &self.folded {
            return folded.each(|index| {
                run(self.shard.offset(index)? as usize, 1);
                Ok(())
            });
        }
        let base = self.shard.base_offset() as usize;
        each_sum(&self.outer, base, &mut |base| {
            for &(offset, count) in &self.runs {
                run(base + offset, count);
            }
        });
        Ok(())
    }
}

/// The arrangement of elements that share a byte.
struct PackedElements {
    /// The number of elements in a byte.
    count: usize,
    mask: u8,
    /// The sign bit of an element, or 0 if elements are unsigned. It is copied to the higher bits
    /// when an element is unpacked to a whole byte.
    sign: u8,
}

impl PackedElements {
    /// Returns the lowest bit, in its byte, of the element at offset `place`.
    fn shift(&self, place: usize) -> usize {
        place % self.count * (8 / self.count)
    }

    /// Extends an element to a whole byte, with its sign if elements are signed.
    fn extended(&self, element: u8) -> u8 {
        (element ^ self.sign).wrapping_sub(self.sign)
    }
}

impl Folded {
    /// Calls `found` with the index of each element, relative to the shard, in the order of the
    /// message.
    fn each(
        &self,
        mut found: impl FnMut(&[u64]) -> Result<(), StrideError>,
    ) -> Result<(), ReshardError> {
        let mut at = vec![0; self.order.len()];
        let mut index: Vec<u64> = self.coordinates.iter().map(|of| of[0]).collect();
        loop {
            found(&index)?;
            let mut minor = self.order.len();
            loop {
                let Some(next) = minor.checked_sub(1) else { return Ok(()) };
                minor = next;
                let dimension = self.order[minor];
                at[minor] += 1;
                if let Some(&coordinate) = self.coordinates[dimension].get(at[minor]) {
                    index[dimension] = coordinate;
                    break;
                }
                at[minor] = 0;
                index[dimension] = self.coordinates[dimension][0];
            }
        }
    }
}

/// Returns all numbers in a list of ranges.
fn coordinates(ranges: &[(u64, u64)]) -> impl Iterator<Item = u64> {
    ranges.iter().flat_map(|&(start, limit)| start..limit)
}

/// Finds the indices in `ranges`, along one dimension, that are contiguous in memory. Returns a
/// pair for each contiguous run: the term that its first index adds to the offset, and its length,
/// both in elements.
#[expect(clippy::cast_possible_truncation)] // images fit the address space
fn runs(
    shard: &StrideDescriptor,
    dimension: usize,
    ranges: &[(u64, u64)],
) -> Result<Vec<(usize, usize)>, StrideError> {
    let axis = shard.axes().iter().find(|axis| axis.coordinate == dimension);
    if shard.steps().is_empty() && axis.is_some_and(|axis| axis.stride == 1) {
        let run = |&(start, limit): &(u64, u64)| (start as usize, (limit - start) as usize);
        return Ok(ranges.iter().map(run).collect());
    }
    let mut runs: Vec<(usize, usize)> = Vec::new();
    let mut index = vec![0; shard.rank()];
    for coordinate in coordinates(ranges) {
        index[dimension] = coordinate;
        let offset = (shard.offset(&index)? - shard.base_offset()) as usize;
        match runs.last_mut() {
            Some((first, count)) if *first + *count == offset => *count += 1,
            _ => runs.push((offset, 1)),
        }
    }
    Ok(runs)
}

/// Calls `found` with every sum of `base` and one number from each of the `lists`. The number from
/// the last list varies fastest.
fn each_sum(lists: &[Vec<usize>], base: usize, found: &mut impl FnMut(usize)) {
    match lists {
        [] => found(base),
        [list, inner @ ..] => {
            for offset in list {
                each_sum(inner, base + offset, found);
            }
        }
    }
}
