//! Fills places of the destination with one value, such as padding. A *unit* is the data in one
//! place, often one element. An *address* counts the bytes of the destination, or its units if
//! these are not whole bytes of the same size on both sides of the copy.

use super::{
    pieces::{Destination as _, DestinationSlices},
    stream::{LINE, Stream},
    tile::copy_short,
};

/// The number of bytes that are written at a time if the bytes of the value differ. With a shorter
/// block, a fill needs more copies; a longer one takes more time to prepare than it saves in short
/// rows.
const FILL_BLOCK_BYTES: usize = 256;

/// The number of bytes in which every value is repeated a whole number of times.
const WORD: usize = size_of::<u128>();

/// The longest run that is filled by two stores, in bytes.
const SHORT_RUN: usize = 32;

/// A fill of places with one value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fill {
    /// The size of a unit, in bits.
    pub(super) bits: u32,
    /// The distance between the addresses of two contiguous units: the size of a unit in bytes, or
    /// 1 if addresses count units.
    pub(super) unit_stride: usize,
    /// The value, in the lowest bits.
    pub(super) value: u128,
}

/// Splits the axes of a box into a contiguous run and the axes around it.
///
/// The run takes as many of the innermost axes as have contiguous units. `axes` has (extent,
/// stride) pairs, outermost first. `unit` and the returned length of the run are distances of
/// addresses.
pub(super) fn run_of(axes: &[(usize, isize)], unit: usize) -> (&[(usize, isize)], usize) {
    let (mut outer, mut run) = (axes.len(), unit);
    while let Some(&(extent, stride)) = axes[..outer].last()
        && (extent == 1 || stride == run.cast_signed())
    {
        outer -= 1;
        run *= extent;
    }
    (&axes[..outer], run)
}

/// Calls `each` with the address at every combination of steps of `axes`. `to` is the address at
/// step 0 of every axis.
pub(super) fn each_start(axes: &[(usize, isize)], to: isize, each: &mut impl FnMut(isize)) {
    let [(extent, stride), inner @ ..] = axes else { return each(to) };
    for step in 0..extent.cast_signed() {
        each_start(inner, to + step * stride, each);
    }
}

/// A block of repetitions of a value that has whole bytes.
#[derive(Clone, Debug)]
pub(super) struct ValueBlock {
    bytes: [u8; FILL_BLOCK_BYTES],
    /// True if all bytes are equal.
    is_one_byte: bool,
}

impl ValueBlock {
    /// Returns the block of a value of `unit` bytes, a power of two. If `unit` is 0, the value has
    /// less than a byte, and the block is not to be used.
    pub(super) fn new(unit: usize, value: u128) -> Self {
        Self::of_bytes(&value.to_le_bytes()[..unit])
    }

    /// Returns the block of the value with these bytes.
    pub(super) fn of_bytes(value: &[u8]) -> Self {
        let mut word = [0; WORD];
        let units = word.chunks_exact_mut(value.len().max(1));
        units.for_each(|unit| unit[..value.len()].copy_from_slice(value));
        let is_one_byte = word == [word[0]; WORD];
        Self { bytes: bytemuck::cast([word; FILL_BLOCK_BYTES / WORD]), is_one_byte }
    }

    /// Fills `to` with repetitions of the value, with non-temporal stores if there is a stream.
    pub(super) fn write(&self, to: &mut [u8], stream: Option<&Stream>) {
        match stream {
            Some(stream) => self.stream(to, stream),
            None => self.fill(to),
        }
    }

    fn fill(&self, to: &mut [u8]) {
        if self.is_one_byte {
            return to.fill(self.bytes[0]);
        }
        let (blocks, rest) = to.as_chunks_mut();
        blocks.fill(self.bytes);
        rest.copy_from_slice(&self.bytes[..rest.len()]);
    }

    fn stream(&self, to: &mut [u8], stream: &Stream) {
        let gap = to.as_ptr().addr().wrapping_neg() % LINE;
        let (head, lines) = to.split_at_mut(gap.min(to.len()));
        head.copy_from_slice(&self.bytes[..head.len()]);
        let block = &self.bytes[gap % WORD..][..FILL_BLOCK_BYTES - LINE];
        for lines in lines.chunks_mut(block.len()) {
            stream.copy(lines, &block[..lines.len()]);
        }
    }
}

impl Fill {
    /// Writes the value to all places of a box. `axes` has the (extent, stride) pairs of its axes,
    /// outermost first, and `to` is the address of its first place.
    pub(super) fn write(
        self,
        axes: &[(usize, isize)],
        to: isize,
        destination: &mut DestinationSlices,
    ) {
        let (outer, run) = run_of(axes, self.unit_stride);
        let count = run / self.unit_stride;
        let block = ValueBlock::new(self.bits as usize / 8, self.value);
        if self.unit_stride * 8 == self.bits as usize && run <= SHORT_RUN {
            return short_runs((outer, run), to, &block, destination);
        }
        each_start(outer, to, &mut |to| {
            let (slice, place) = destination.place(to);
            self.run(place / self.unit_stride, (count, &block), slice);
        });
    }

    /// Fills `count` contiguous units of `destination`, from the one with index `first` on. `block`
    /// has the value if it has whole bytes.
    fn run(self, first: usize, (count, block): (usize, &ValueBlock), destination: &mut [u8]) {
        let bits = self.bits as usize;
        if let Some(bytes) = bits.checked_div(8).filter(|&bytes| bytes > 0) {
            return block.write(&mut destination[first * bytes..(first + count) * bytes], None);
        }
        // All units of a byte have the same value, so only the first and the last byte need masks.
        let unit = self.value.to_le_bytes()[0];
        let byte = (0..8 / bits).fold(0, |byte, n| byte | unit << (n * bits));
        let (start, end) = (first * bits, (first + count) * bits);
        let (head, tail) = (start / 8, end / 8);
        let (from, until) = (u8::MAX << (start % 8), !(u8::MAX << (end % 8)));
        let mut put = |at: usize, mask: u8| {
            if mask != 0 {
                destination[at] = destination[at] & !mask | byte & mask;
            }
        };
        if head == tail {
            return put(head, from & until);
        }
        put(head, from);
        put(tail, until);
        destination[head + 1..tail].fill(byte);
    }
}

/// Fills runs of `run` bytes, at most [`SHORT_RUN`], without a call for each.
fn short_runs(
    (outer, run): (&[(usize, isize)], usize),
    to: isize,
    block: &ValueBlock,
    destination: &mut DestinationSlices,
) {
    let bytes = &block.bytes[..run];
    let (outer, &(steps, stride)) =
        outer.split_last().map_or((outer, &(1, 0)), |(last, outer)| (outer, last));
    each_start(outer, to, &mut |to| {
        let starts = (0..steps.cast_signed()).map(|step| to + step * stride);
        // Two parts of constant length, which may overlap, fill a run.
        match run {
            1 => starts.for_each(|to| destination.bytes(to, 1)[0] = bytes[0]),
            2..4 => starts.for_each(|to| copy_short::<2>(destination.bytes(to, run), bytes)),
            4..8 => starts.for_each(|to| copy_short::<4>(destination.bytes(to, run), bytes)),
            8..16 => starts.for_each(|to| copy_short::<8>(destination.bytes(to, run), bytes)),
            _ => starts.for_each(|to| copy_short::<16>(destination.bytes(to, run), bytes)),
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::stream::streaming;

    #[test]
    fn streamed_values_are_those_of_the_block() {
        for unit in [1, 2, 4, 8, 16] {
            let value = u128::from_le_bytes(std::array::from_fn(|byte| byte as u8 * 13 + 1));
            let block = ValueBlock::new(unit, value);
            for first in 0..LINE {
                for length in [0, 1, 63, 64, 200, 500] {
                    let mut image = vec![0; 600];
                    let length = length / unit * unit;
                    streaming(|stream| {
                        block.write(&mut image[first..first + length], Some(stream));
                    });
                    for (n, &byte) in image.iter().enumerate() {
                        let inside = (first..first + length).contains(&n);
                        let expected = value.to_le_bytes()[n.wrapping_sub(first) % unit];
                        assert_eq!(byte, if inside { expected } else { 0 }, "{unit} {first} {n}");
                    }
                }
            }
        }
    }

    #[test]
    fn writes_the_units_and_no_other() {
        for (bits, value) in
            [(1, 1), (2, 2), (4, 9), (8, 7), (16, 0x102), (32, u128::from(u32::MAX))]
        {
            let unit = |image: &[u8], n: usize| -> Vec<bool> {
                (n * bits..(n + 1) * bits).map(|bit| image[bit / 8] >> (bit % 8) & 1 == 1).collect()
            };
            let value_bits: Vec<bool> = (0..bits).map(|bit| value >> bit & 1 == 1).collect();
            for (first, rows, steps) in
                [(0_usize, 3, 5), (1, 2, 7), (3, 4, 9), (5, 1, 1), (2, 3, 10)]
            {
                for unit_stride in [1, (bits / 8).max(1)] {
                    let mut image = vec![0xa5; 256];
                    let fill = Fill { bits: bits as u32, unit_stride, value };
                    let mut pieces = DestinationSlices::whole(&mut image);
                    let stride = unit_stride.cast_signed();
                    let axes = [(rows, 10 * stride), (steps, stride)];
                    fill.write(&axes, first.cast_signed() * stride, &mut pieces);
                    drop(pieces);
                    for n in 0..image.len() * 8 / bits {
                        let (row, step) = (n.wrapping_sub(first) / 10, n.wrapping_sub(first) % 10);
                        let inside = row < rows && step < steps;
                        let expected =
                            if inside { value_bits.clone() } else { unit(&[0xa5; 256], n) };
                        assert_eq!(unit(&image, n), expected, "{bits} bits: unit {n}");
                    }
                }
            }
        }
    }
}
