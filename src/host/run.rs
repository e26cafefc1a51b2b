use rayon::prelude::*;
use smallvec::SmallVec;

use super::HostError;
use crate::nest::{Affine, Cell, CopyNest, Value};

/// Bytes of the destination that one task writes; a multiple of every unit.
const CHUNK_BYTES: usize = 1 << 16;

/// Fills `destination`, the whole image, from `source`, the whole image of the other side.
///
/// Every byte of the destination is written, gaps and tails with zero, so that the result is the same on every run.
///
/// # Errors
///
/// Where a buffer has not the length of its image.
pub fn run(nest: &CopyNest, source: &[u8], destination: &mut [u8]) -> Result<(), HostError> {
    for (side, given, expected) in [
        ("source", source.len(), nest.src_bytes),
        ("destination", destination.len(), nest.dst_bytes),
    ] {
        if usize_of(expected) != given {
            return Err(HostError::Length { side, given, expected });
        }
    }
    if nest.dst_elements == 0 {
        return Ok(());
    }
    let cells = (CHUNK_BYTES * 8) as u64 / u64::from(nest.dst_bits);
    destination.par_chunks_mut(CHUNK_BYTES).enumerate().for_each(|(number, chunk)| {
        let first = number as u64 * cells;
        let task = Task { nest, source, first };
        let last = (first + cells).min(nest.dst_elements);
        match (nest.src_bits == nest.dst_bits, nest.dst_bits) {
            (true, 8) => task.bytes::<1>(chunk, last),
            (true, 16) => task.bytes::<2>(chunk, last),
            (true, 32) => task.bytes::<4>(chunk, last),
            (true, 64) => task.bytes::<8>(chunk, last),
            (true, 128) => task.bytes::<16>(chunk, last),
            _ => task.bits(chunk, last),
        }
    });
    Ok(())
}

/// The cells of one chunk of the destination.
struct Task<'a> {
    nest: &'a CopyNest,
    source: &'a [u8],
    /// The chunk's first unit of the image.
    first: u64,
}

impl Task<'_> {
    /// Units of whole bytes, as wide on both sides.
    fn bytes<const N: usize>(&self, chunk: &mut [u8], last: u64) {
        let fill = self.nest.fill.to_le_bytes();
        self.runs(last, |first, length, stride, read| {
            let at = usize_of(first - self.first) * N;
            let cells = &mut chunk[at..at + usize_of(length) * N];
            match read {
                Ok(from) if stride == 1 => {
                    let from = usize_of(from) * N;
                    cells.copy_from_slice(&self.source[from..from + cells.len()]);
                }
                Ok(from) => {
                    let mut from = from.cast_signed();
                    for cell in cells.chunks_exact_mut(N) {
                        let byte = usize_of(from.cast_unsigned()) * N;
                        cell.copy_from_slice(&self.source[byte..byte + N]);
                        from += stride;
                    }
                }
                Err(Cell::Gap) => cells.fill(0),
                Err(Cell::Padding) => {
                    cells.chunks_exact_mut(N).for_each(|cell| cell.copy_from_slice(&fill[..N]));
                }
            }
        });
    }

    /// Units below a byte, or of another width on the two sides.
    fn bits(&self, chunk: &mut [u8], last: u64) {
        let (src_bits, dst_bits) = (self.nest.src_bits, self.nest.dst_bits);
        chunk.fill(0);
        self.runs(last, |first, length, stride, read| {
            for step in 0..length {
                let value = match read {
                    Ok(from) => {
                        let from = from.wrapping_add_signed(stride * step.cast_signed());
                        self.resize(load(self.source, from, src_bits))
                    }
                    Err(Cell::Gap) => 0,
                    Err(Cell::Padding) => self.nest.fill,
                };
                store(chunk, first - self.first + step, dst_bits, value);
            }
        });
    }

    /// A source unit's bits at the width of the destination.
    fn resize(&self, value: u128) -> u128 {
        let (src_bits, dst_bits) = (self.nest.src_bits, self.nest.dst_bits);
        let sign = self.nest.sign_extend && value >> (src_bits - 1) & 1 == 1;
        let value = if sign && dst_bits > src_bits { value | u128::MAX << src_bits } else { value };
        if dst_bits == 128 { value } else { value & ((1 << dst_bits) - 1) }
    }

    /// Calls `each` for runs of cells along the innermost axis that share their guards and digits: the first unit of
    /// the destination, the number of cells, the source's stride, and what the first cell reads.
    fn runs(&self, last: u64, mut each: impl FnMut(u64, u64, i64, Result<u64, Cell>)) {
        let nest = self.nest;
        let base = nest.dst_base.unsigned_abs();
        let inner = nest.extents.len().checked_sub(1);
        let steady = inner.is_some_and(|axis| {
            let absent = |form: &Affine| form.weight(Value::Axis(axis)) == 0;
            nest.digits.iter().all(|digit| absent(&digit.of))
                && nest.guards.iter().all(|guard| absent(&guard.of))
        });
        let extent = inner.map_or(1, |axis| nest.extents[axis]);
        let stride = inner.map_or(0, |axis| nest.src.weight(Value::Axis(axis)));
        let mut first = self.first;
        while first < last {
            let position = first + base;
            let length = if steady { (extent - position % extent).min(last - first) } else { 1 };
            each(first, length, stride, nest.read(position));
            first += length;
        }
    }
}

/// The unit at `index` of a buffer of units of `bits` bits, packed low bits first.
fn load(buffer: &[u8], index: u64, bits: u32) -> u128 {
    let bit = index * u64::from(bits);
    let byte = usize_of(bit / 8);
    if bits < 8 {
        return u128::from(buffer[byte] >> (bit % 8)) & ((1 << bits) - 1);
    }
    let bytes: SmallVec<[u8; 16]> = buffer[byte..byte + (bits / 8) as usize].into();
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u128::from(byte))
}

/// Writes the unit at `index` of a zeroed buffer.
fn store(buffer: &mut [u8], index: u64, bits: u32, value: u128) {
    let bit = index * u64::from(bits);
    let byte = usize_of(bit / 8);
    let bytes = (value << (bit % 8)).to_le_bytes();
    for (cell, value) in buffer[byte..].iter_mut().zip(&bytes[..bits.div_ceil(8) as usize]) {
        *cell |= value;
    }
}

/// A buffer in memory has a length that fits.
fn usize_of(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}
