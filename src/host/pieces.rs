//! The slices of the destination that one thread may write, and the addresses in them.
//!
//! Threads write disjoint parts of the destination. Such a part is not always contiguous: in a
//! transpose, a thread writes a column in each of many rows. A thread owns exactly the slices that
//! it may write, so safe Rust is sufficient.

use smallvec::{SmallVec, smallvec};

use super::{simd::ColumnPointers, stream::LINE};

/// The slices of the destination that one thread writes. All have one length, except for the last.
///
/// The address of a byte is its offset in its slice, plus the index of the slice times `1 <<
/// shift`. A loop can therefore add one stride at every step, even if a step leads to the next
/// slice.
pub(super) struct DestinationSlices<'a> {
    pub(super) slices: SmallVec<[&'a mut [u8]; 1]>,
    pub(super) shift: u32,
}

impl<'a> DestinationSlices<'a> {
    /// Returns the whole destination as one slice.
    pub(super) fn whole(slice: &'a mut [u8]) -> Self {
        Self { slices: smallvec![slice], shift: isize::BITS - 3 }
    }

    /// Returns true if the byte at an address is the first of a cache line.
    pub(super) fn begins_line(&mut self, address: isize) -> bool {
        self.bytes(address, 1).as_ptr().addr().is_multiple_of(LINE)
    }

    /// Returns true if two addresses lie in the same slice.
    pub(super) fn same_slice(&self, a: isize, b: isize) -> bool {
        a >> self.shift == b >> self.shift
    }

    /// Returns true if all slices are aligned alike relative to cache lines.
    pub(super) fn are_even(&self) -> bool {
        let mut gaps = self.slices.iter().map(|slice| slice.as_ptr().addr() % LINE);
        gaps.next().is_none_or(|first| gaps.all(|gap| gap == first))
    }
}

/// Memory to which tiles are written: one slice or several, with addresses as in
/// [`DestinationSlices`].
pub(super) trait Destination {
    /// Returns the slice that contains an address, and the byte's index in that slice.
    fn place(&mut self, address: isize) -> (&mut [u8], usize);

    /// Returns the `length` bytes from an address. Panics if they do not lie in one slice.
    #[inline(always)]
    fn bytes(&mut self, address: isize, length: usize) -> &mut [u8] {
        let (slice, place) = self.place(address);
        &mut slice[place..place + length]
    }

    /// Returns the columns of a matrix, each of `length` bytes, at address `to` plus each of
    /// `offsets`. Returns `None` if a column does not lie inside one slice.
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
