//! The slices of the destination that a part owns, and the addresses of the units in them.

/// A part of the destination that one thread writes: slices of it, all but the last as long.
///
/// An address counts units from the first cell of a piece, and `1 << shift` for each piece before it, so that the loops
/// of a kernel add strides alone, also where a step leads from piece to piece.
pub(super) struct Pieces<'a> {
    pub(super) slices: Vec<&'a mut [u8]>,
    pub(super) shift: u32,
}

impl Pieces<'_> {
    /// Whether a byte's address in memory is a multiple of `by`.
    pub(super) fn is_aligned(&mut self, address: isize, by: usize) -> bool {
        self.bytes(address, 1).as_ptr().addr().is_multiple_of(by)
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
}

impl Destination for Pieces<'_> {
    #[inline(always)]
    fn place(&mut self, address: isize) -> (&mut [u8], usize) {
        let address = address.cast_unsigned();
        (self.slices[address >> self.shift], address & ((1 << self.shift) - 1))
    }
}

impl Destination for [u8] {
    #[inline(always)]
    fn place(&mut self, address: isize) -> (&mut [u8], usize) {
        (self, address.cast_unsigned())
    }
}
