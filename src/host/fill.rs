//! Fills places of the destination with one value, such as padding. A *unit* is the data in one
//! place, often one element. An *address* counts the bytes of the destination, or its units if
//! these are not whole bytes of the same size on both sides of the copy.

use smallvec::SmallVec;

use super::{
    pieces::{Destination as _, DestinationSlices},
    tile::copy_short,
};

/// The number of bytes that are written at a time if the bytes of the value differ. With a shorter
/// block, a fill needs more copies; a longer one takes more time to prepare than it saves in short
/// rows.
const FILL_BLOCK_BYTES: usize = 256;

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
        let units = self.units(count);
        if self.unit_stride * 8 == self.bits as usize && run <= SHORT_RUN {
            return self.short_runs((outer, run), to, &units, destination);
        }
        each_start(outer, to, &mut |to| {
            let (slice, place) = destination.place(to);
            self.run(place / self.unit_stride, (count, &units), slice);
        });
    }

    /// Fills runs of `run` bytes, at most [`SHORT_RUN`], without a call for each. `block` is the
    /// result of [`Self::units`].
    fn short_runs(
        self,
        (outer, run): (&[(usize, isize)], usize),
        to: isize,
        block: &[u8],
        destination: &mut DestinationSlices,
    ) {
        let byte = self.value.to_le_bytes()[0];
        let of_block = |at: usize| block.get(at % block.len().max(1)).copied().unwrap_or(byte);
        let bytes: [u8; SHORT_RUN] = std::array::from_fn(of_block);
        let bytes = &bytes[..run];
        let (outer, &(steps, stride)) =
            outer.split_last().map_or((outer, &(1, 0)), |(last, outer)| (outer, last));
        each_start(outer, to, &mut |to| {
            let starts = (0..steps.cast_signed()).map(|step| to + step * stride);
            // Two parts of constant length, which may overlap, fill a run.
            match run {
                1 => starts.for_each(|to| destination.bytes(to, 1)[0] = byte),
                2..4 => starts.for_each(|to| copy_short::<2>(destination.bytes(to, run), bytes)),
                4..8 => starts.for_each(|to| copy_short::<4>(destination.bytes(to, run), bytes)),
                8..16 => starts.for_each(|to| copy_short::<8>(destination.bytes(to, run), bytes)),
                _ => starts.for_each(|to| copy_short::<16>(destination.bytes(to, run), bytes)),
            }
        });
    }

    /// Returns a block of at most `count` copies of the value, from which the destination is
    /// filled. The block is empty if all bytes of the value are equal, or if units are smaller than
    /// a byte: [`Self::run`] then needs no block.
    fn units(self, count: usize) -> SmallVec<[u8; FILL_BLOCK_BYTES]> {
        let value = &self.value.to_le_bytes()[..self.bits as usize / 8];
        let mut units = SmallVec::new();
        if value.iter().any(|&byte| byte != value[0]) {
            let count = count.min(FILL_BLOCK_BYTES / value.len());
            (0..count).for_each(|_| units.extend_from_slice(value));
        }
        units
    }

    /// Fills `count` contiguous units of `destination` from the unit with index `first`. `block` is
    /// the result of [`Self::units`].
    fn run(self, first: usize, (count, block): (usize, &[u8]), destination: &mut [u8]) {
        let bits = self.bits as usize;
        if let Some(bytes) = bits.checked_div(8).filter(|&bytes| bytes > 0) {
            let units = &mut destination[first * bytes..(first + count) * bytes];
            if block.is_empty() {
                return units.fill(self.value.to_le_bytes()[0]);
            }
            let blocks = units.chunks_mut(block.len());
            return blocks.for_each(|units| units.copy_from_slice(&block[..units.len()]));
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

#[cfg(test)]
mod tests {
    use super::*;

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
