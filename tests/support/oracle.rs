//! The oracle: computes the result of an operation element by element. It takes only the offset of
//! an index from the library, so that it shares no lowering or scheduling code with the kernels.

use std::ops::Range;

use stridec::{shape::Shape, stride::StrideDescriptor, window::Window};

/// Returns the destination's image after the operation. All bits outside the elements are 0.
///
/// `padded` is the destination's shape. If its layout has padded dimensions, the cells of these get
/// the padding value.
pub fn run(
    source: &StrideDescriptor,
    destination: &StrideDescriptor,
    window: &Window,
    image: &[u8],
    padded: Option<&Shape>,
) -> Vec<u8> {
    let bits = destination.element_bits();
    let mut out = vec![0; usize::try_from(destination.image_bytes()).unwrap()];
    let prefix = |side: &StrideDescriptor| side.prefix_bytes() * 8;
    if let Some(layout) = padded.and_then(Shape::layout)
        && !layout.padded_dimensions.is_empty()
    {
        for cell in 0..cells(layout) {
            put(&mut out, prefix(destination), cell, bits, destination.padding());
        }
    }
    each_index(destination.sizes(), |index| {
        let from = window.source_index(index).unwrap();
        copy((source, &from), (destination, index), image, &mut out);
    });
    out
}

/// Writes the elements of the operation to `out`, and keeps all other bits. `out` is the image of
/// the destination before the operation.
pub fn keep(
    source: &StrideDescriptor,
    destination: &StrideDescriptor,
    window: &Window,
    image: &[u8],
    out: &mut [u8],
) {
    each_index(destination.sizes(), |index| {
        let from = window.source_index(index).unwrap();
        copy((source, &from), (destination, index), image, out);
    });
}

/// Writes all elements of the source to `out`, the image of the destination. The element at index 0
/// of the source is written to index `start`. All other bits are kept.
pub fn update(
    source: &StrideDescriptor,
    destination: &StrideDescriptor,
    start: &[u64],
    image: &[u8],
    out: &mut [u8],
) {
    each_index(source.sizes(), |from| {
        let to: Vec<u64> = from.iter().zip(start).map(|(from, start)| from + start).collect();
        copy((source, from), (destination, &to), image, out);
    });
}

/// Copies the element at index `from` of the source to index `to` of the destination.
fn copy(
    (source, from): (&StrideDescriptor, &[u64]),
    (destination, to): (&StrideDescriptor, &[u64]),
    image: &[u8],
    out: &mut [u8],
) {
    let [src, dst] = [source, destination].map(StrideDescriptor::element_bits);
    let value = get(image, source.prefix_bytes() * 8, source.offset(from).unwrap(), src);
    let value = resize(value, src, dst, source.element_type().is_signed_integer());
    put(out, destination.prefix_bytes() * 8, destination.offset(to).unwrap(), dst, value);
}

/// Returns the number of cells in an array with padded dimensions, after its tiles. A tile of `k`
/// extents rounds the `k` most minor extents up, and appends its own extents.
fn cells(layout: &stridec::shape::Layout) -> u64 {
    use stridec::shape::TileDimension::{Combine, Size};
    let order = layout.minor_to_major.iter().rev();
    let mut extents: Vec<u64> = order.map(|&d| layout.padded_dimensions[d]).collect();
    for tile in &layout.tiles {
        while extents.len() < tile.dimensions.len() {
            extents.insert(0, 1);
        }
        let covered = extents.split_off(extents.len() - tile.dimensions.len());
        let (mut inner, mut combined) = (Vec::new(), 1);
        for (extent, size) in covered.into_iter().zip(&tile.dimensions) {
            combined *= extent;
            if let Size(size) = *size {
                extents.push(combined.div_ceil(size));
                inner.push(size);
                combined = 1;
            }
        }
        if tile.dimensions.last() == Some(&Combine) {
            extents.push(combined);
        }
        extents.append(&mut inner);
    }
    extents.into_iter().product()
}

/// Calls `each` with every index below `sizes`, in row-major order.
pub fn each_index(sizes: &[u64], mut each: impl FnMut(&[u64])) {
    if sizes.contains(&0) {
        return;
    }
    let mut index = vec![0; sizes.len()];
    loop {
        each(&index);
        let Some(bump) = (0..sizes.len()).rev().find(|&d| index[d] + 1 < sizes[d]) else { return };
        index[bump] += 1;
        index[bump + 1..].fill(0);
    }
}

/// Converts the bits of an element to another width. A signed element is extended by its sign, and
/// others by zeros.
fn resize(value: u128, from: u32, to: u32, signed: bool) -> u128 {
    if from == to {
        return value;
    }
    let negative = signed && value >> (from - 1) & 1 == 1;
    (0..to).fold(0, |out, bit| {
        let set = if bit < from { value >> bit & 1 == 1 } else { negative };
        out | u128::from(set) << bit
    })
}

/// Returns the range of bytes of an element, or `None` if the element does not begin and end with a
/// byte. `offset` counts elements.
fn bytes(prefix: u64, offset: u64, bits: u32) -> Option<Range<usize>> {
    let first = prefix + offset * u64::from(bits);
    let is_whole = first.is_multiple_of(8) && bits.is_multiple_of(8);
    is_whole.then(|| {
        let first = usize::try_from(first / 8).unwrap();
        first..first + usize::try_from(bits / 8).unwrap()
    })
}

/// Returns the bits of an element. The first bit in memory is the lowest one.
fn get(image: &[u8], prefix: u64, offset: u64, bits: u32) -> u128 {
    if let Some(bytes) = bytes(prefix, offset, bits) {
        return image[bytes].iter().rev().fold(0, |value, byte| value << 8 | u128::from(*byte));
    }
    (0..bits).fold(0, |value, bit| {
        let at = prefix + offset * u64::from(bits) + u64::from(bit);
        let set = image[usize::try_from(at / 8).unwrap()] >> (at % 8) & 1;
        value | u128::from(set) << bit
    })
}

/// Sets the bits of an element, and keeps all others.
fn put(image: &mut [u8], prefix: u64, offset: u64, bits: u32, value: u128) {
    if let Some(bytes) = bytes(prefix, offset, bits) {
        let length = bytes.len();
        image[bytes].copy_from_slice(&value.to_le_bytes()[..length]);
        return;
    }
    for bit in 0..bits {
        let at = prefix + offset * u64::from(bits) + u64::from(bit);
        let byte = &mut image[usize::try_from(at / 8).unwrap()];
        *byte = *byte & !(1 << (at % 8)) | u8::from(value >> bit & 1 == 1) << (at % 8);
    }
}
