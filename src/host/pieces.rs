//! The slices of the destination that a part owns, and the addresses of the units in them.

use smallvec::{SmallVec, smallvec};

use super::{simd::ColumnPointers, stream::LINE};

/// A part of the destination that one thread writes: slices of it, all but the last as long.
///
/// An address counts units from the first cell of a piece, and `1 << shift` for each piece before it, so that the loops
/// of a kernel add strides alone, also where a step leads from piece to piece.
pub(super) struct Pieces<'a> {
    pub(super) slices: SmallVec<[&'a mut [u8]; 1]>,
    pub(super) shift: u32,
}

impl<'a> Pieces<'a> {
    /// One piece.
    pub(super) fn whole(slice: &'a mut [u8]) -> Self {
        Self { slices: smallvec![slice], shift: isize::BITS - 3 }
    }

    /// Whether a byte begins a cache line.
    pub(super) fn begins_line(&mut self, address: isize) -> bool {
        self.bytes(address, 1).as_ptr().addr().is_multiple_of(LINE)
    }

    /// Whether all slices begin alike within their cache lines.
    pub(super) fn are_even(&self) -> bool {
        let mut gaps = self.slices.iter().map(|slice| slice.as_ptr().addr() % LINE);
        gaps.next().is_none_or(|first| gaps.all(|gap| gap == first))
    }
}

/// What tiles are written to.
pub(super) trait Destination {
    /// The slice that an address lies in, and its place there.
    fn place(&mut self, address: isize) -> (&mut [u8], usize);

    /// The bytes from an address on; addresses count bytes.
    #[inline(always)]
    fn bytes(&mut self, address: isize, length: usize) -> &mut [u8] {
        let (slice, place) = self.place(address);
        &mut slice[place..place + length]
    }

    /// The columns of a matrix, at offsets from an address; `None` where one does not lie in its slice.
    fn columns<'a>(
        &'a mut self,
        to: isize,
        offsets: &'a [isize],
        length: usize,
    ) -> Option<ColumnPointers<'a>>;
}

impl Destination for Pieces<'_> {
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
