//! Defines the slices of the destination that one thread may write, and addresses in them.
//!
//! Threads write disjoint parts of the destination at the same time. Such a part is often not
//! contiguous: in a transpose, a thread may write a few columns in each of many rows. Each thread
//! gets mutable slices of exactly the bytes that it may write, so that no `unsafe` code is needed.

use smallvec::{SmallVec, smallvec};

use super::{simd::ColumnPointers, stream::LINE};

/// The slices of the destination that one thread writes. All have the same length, except that the
/// last may be shorter.
///
/// A byte is named by an *address*: the index of its slice times `1 << shift`, plus its offset in
/// that slice. With a shift of 20, address `(3 << 20) + 7` is byte 7 of slice 3. So a loop moves by
/// adding one stride, even if a step leads to another slice.
pub(super) struct DestinationSlices<'a> {
    pub(super) slices: SmallVec<[&'a mut [u8]; 1]>,
    pub(super) shift: u32,
}

impl<'a> DestinationSlices<'a> {
    /// Returns the whole destination as one slice. Addresses are then plain offsets.
    pub(super) fn whole(slice: &'a mut [u8]) -> Self {
        Self { slices: smallvec![slice], shift: isize::BITS - 3 }
    }

    /// Returns true if a cache line begins at an address. Addresses count units of `bits` bits.
    pub(super) fn begins_line(&mut self, address: isize, bits: usize) -> bool {
        let (slice, place) = self.place(address);
        let first = slice.as_ptr().addr() % LINE * 8 + place * bits;
        first.is_multiple_of(LINE * 8)
    }

    /// Returns true if two addresses lie in the same slice.
    pub(super) fn same_slice(&self, a: isize, b: isize) -> bool {
        a >> self.shift == b >> self.shift
    }

    /// Returns true if all slices start at the same offset from a cache-line boundary.
    pub(super) fn are_even(&self) -> bool {
        let mut gaps = self.slices.iter().map(|slice| slice.as_ptr().addr() % LINE);
        gaps.next().is_none_or(|first| gaps.all(|gap| gap == first))
    }
}

/// Memory to which tiles, small matrices of elements, are written. It is one slice, or several with
/// addresses as in [`DestinationSlices`].
pub(super) trait Destination {
    /// Returns the slice of an address, and the index of the addressed byte in it.
    fn place(&mut self, address: isize) -> (&mut [u8], usize);

    /// Returns the `length` bytes that start at an address. Panics if they are not in one slice.
    #[inline(always)]
    fn bytes(&mut self, address: isize, length: usize) -> &mut [u8] {
        let (slice, place) = self.place(address);
        &mut slice[place..place + length]
    }

    /// Returns the columns of a matrix: for each of `offsets`, the `length` bytes at address `to`
    /// plus the offset. Returns `None` if a column is not inside one slice.
    fn columns<'a>(
        &'a mut self,
        to: isize,
        offsets: &'a [isize],
        length: usize,
    ) -> Option<ColumnPointers<'a>>;
}

impl Destination for DestinationSlices<'_> {
    #[inline(always)]
    fn place(&mut self, address: isize) -> (&mut [u8], usize) {
        let address = address.cast_unsigned();
        (self.slices[address >> self.shift], address & ((1 << self.shift) - 1))
    }

    fn columns<'a>(
        &'a mut self,
        to: isize,
        offsets: &'a [isize],
        length: usize,
    ) -> Option<ColumnPointers<'a>> {
        let slices = self.slices.iter_mut().map(|slice| &mut **slice);
        ColumnPointers::new(slices, self.shift, to, offsets, length)
    }
}

impl Destination for [u8] {
    #[inline(always)]
    fn place(&mut self, address: isize) -> (&mut [u8], usize) {
        (self, address.cast_unsigned())
    }

    fn columns<'a>(
        &'a mut self,
        to: isize,
        offsets: &'a [isize],
        length: usize,
    ) -> Option<ColumnPointers<'a>> {
        ColumnPointers::new([self], isize::BITS - 2, to, offsets, length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The addresses of units below a byte may be greater than the number of bytes.
    #[test]
    fn lines_begin_at_multiples_of_64_bytes() {
        let mut image = [0; 3 * LINE];
        let gap = image.as_ptr().addr().wrapping_neg() % LINE;
        let mut slices = DestinationSlices::whole(&mut image[gap..]);
        let begin = |slices: &mut DestinationSlices, bits: usize| -> Vec<isize> {
            let units = (2 * LINE * 8 / bits).cast_signed();
            (0..units).filter(|&unit| slices.begins_line(unit, bits)).collect()
        };
        assert_eq!([8, 4, 1].map(|bits| begin(&mut slices, bits)), [[0, 64], [0, 128], [0, 512]]);
    }

    #[test]
    fn slices_are_even_if_they_have_one_alignment() {
        let mut image = vec![0; 40 * LINE];
        for (first, apart, even) in
            [(0, 3 * LINE, true), (5, 3 * LINE, true), (5, LINE + 1, false), (5, LINE, true)]
        {
            let slices = image[first..].chunks_exact_mut(apart).take(3).collect();
            assert_eq!(DestinationSlices { slices, shift: 20 }.are_even(), even, "{first} {apart}");
        }
        assert!(DestinationSlices { slices: SmallVec::new(), shift: 20 }.are_even());
    }
}
