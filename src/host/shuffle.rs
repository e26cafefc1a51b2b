//! Fills rows of the destination with bytes that are selected from a few loads of whole registers.
//!
//! This is possible if the bytes of a row are close together in the source, as in pixels of three
//! channels, every second element, or a mirrored row. Each register of the row is then a fixed
//! selection of bytes from a few loads. The selection is computed here, once for each plan of a
//! copy; `simd` has the instructions that carry it out. A *unit* is the data that is moved as a
//! whole, an element for example.
//!
//! ```text
//! planes of 3 channels of bytes to pixels, registers of 16 bytes, loads from three planes:
//! r0 g0 b0 r1 g1 b1 … r5  =  r0 … r15 at 0, -, -, 1, -, -, …
//!                            g0 … g15 at -, 0, -, -, 1, -, …
//!                            b0 … b15 at -, -, 0, -, -, 1, …
//! ```

use smallvec::SmallVec;

use super::{
    pieces::Destination,
    simd::{NO_BYTE, Selection, Simd, TRIPLE},
    stream::{LINE, Stream},
    tile::{CopyTile, MoveTile},
};
use crate::nest::gcd;

/// The maximum size of the tables of a selection, in bytes. Larger tables would push the data out
/// of the first-level cache. With a smaller limit, more rows are copied unit by unit, such as 15
/// channels of bytes at 2.0 GB/s (git history of `benches/NOTES.md`, "Pixels of 5 to 16 bytes").
const SELECTION_BYTES: usize = 1 << 13;

/// The distance between a short row and the row that is prefetched meanwhile, in bytes of the
/// destination. When only the next row was prefetched, and tables did not stay in registers, pixels
/// to planes of `u8` had 24 to 31 GB/s instead of 36 to 39 (git history of `benches/NOTES.md`,
/// "Selections of one register").
const SHORT_ROW_PREFETCH_DST_BYTES: usize = 1 << 12;

/// The maximum number of loads whose bytes are combined to fill 16 bytes of the destination. With
/// more loads, copying unit by unit may be faster.
const MOST_TERMS: usize = 8;

/// A mover that fills each row of a tile with bytes selected from a few loads.
#[derive(Clone, Debug)]
pub(super) struct Shuffle {
    /// The unit size, in bytes.
    unit: usize,
    /// The length of a step of the row, and the distance between two steps in the source, both in
    /// bytes. It is `None` if the selection fills the whole row at once.
    step: Option<(usize, isize)>,
    selection: Selection,
}

impl Shuffle {
    /// Returns the selection for rows of `count` steps.
    ///
    /// One step reads a unit at each of `offsets`, and every step reads `step` bytes further in the
    /// source than the previous one. All distances are in bytes. Returns `None` if copying single
    /// units is as fast, because the units are far apart or few.
    pub(super) fn new(
        simd: Simd,
        unit: usize,
        offsets: &[isize],
        step: isize,
        count: usize,
    ) -> Option<Self> {
        let width = simd.width();
        let step_bytes = offsets.len() * unit;
        let row = step_bytes * count;
        if unit >= width || row < width {
            return None;
        }
        // A period, after which the selection of bytes repeats, consists of whole registers. Some
        // instruction sets fill registers in pairs, and need an even number of them.
        let span = width * simd.registers_at_once();
        let steps = span / gcd(span, step_bytes);
        let repeats = steps <= count;
        let count = if repeats { steps } else { count };
        let registers = (count * step_bytes).div_ceil(span) * (span / width);
        if registers * width > SELECTION_BYTES {
            return None;
        }
        let of_step = |number: usize| {
            let moved = number.cast_signed() * step;
            let units = offsets.iter().map(move |offset| offset + moved);
            units.flat_map(|start| (0..unit).map(move |byte| start + byte.cast_signed()))
        };
        // The offset in the source of each byte of the registers. If the row ends inside the last
        // register, the rest of this register has no bytes.
        let reads: Vec<isize> = (0..count).flat_map(of_step).collect();
        let (mut windows, mut terms) = (Vec::new(), 0);
        for number in 0..registers {
            let of_register = cover(register_bytes(&reads, number, width), width);
            terms = terms.max(of_register.len());
            windows.push(of_register);
            if terms > Self::most_terms(simd, unit) || registers * terms * width > SELECTION_BYTES {
                return None;
            }
        }
        if (registers, terms) == (TRIPLE, TRIPLE) {
            // If all registers select from the same three loads, a selection can make each load
            // once.
            let shared = cover(&reads, width);
            if shared.len() == terms {
                windows.fill(shared);
            }
        }
        let mut loads = Vec::with_capacity(registers * terms);
        for term in 0..terms {
            // A register with fewer loads repeats its first load, and takes no byte of it.
            let start =
                |starts: &SmallVec<[isize; 8]>| *starts.get(term).or(starts.first()).unwrap_or(&0);
            loads.extend(windows.iter().map(start));
        }
        let mut places = vec![NO_BYTE; registers * terms * width];
        for (number, starts) in windows.iter().enumerate() {
            for (byte, &at) in register_bytes(&reads, number, width).iter().enumerate() {
                let gives = starts.iter().position(|&start| holds(start, width, at));
                if let Some(term) = gives {
                    let table = (term * registers + number) * width;
                    places[table + byte] = (at - starts[term]).cast_unsigned() as u8;
                }
            }
        }
        let advance = steps.cast_signed() * step;
        let selection = Selection::new(simd, registers, loads, places, advance);
        let step = repeats.then_some((step_bytes, step));
        Some(Self { unit, step, selection })
    }

    /// Returns true if the selection can stream a row that has `gap` bytes before its first
    /// cache-line boundary. These bytes must be whole steps, because a selection can only start at
    /// a step.
    pub(super) fn streams_after(&self, gap: usize) -> bool {
        gap == 0 || self.step.is_some_and(|(bytes, _)| gap.is_multiple_of(bytes))
    }

    /// Fills a row, with non-temporal stores from its first cache-line boundary on. The bytes
    /// before this boundary get ordinary stores; [`Self::streams_after`] must allow their number.
    ///
    /// The row is read from byte `from` of the source. The row at byte `next` is prefetched.
    fn stream(
        &self,
        source: &[u8],
        (from, next): (isize, Option<isize>),
        row: &mut [u8],
        stream: &Stream,
    ) {
        let gap = (row.as_ptr().addr().wrapping_neg() % LINE).min(row.len());
        let (head, lines) = row.split_at_mut(gap);
        let (bytes, step) = self.step.unwrap_or((1, 0));
        self.selection.fill(source, (from, None), head, None);
        let moved = (gap / bytes).cast_signed() * step;
        let places = (from + moved, next.map(|next| next + moved));
        self.selection.fill(source, places, lines, Some(stream));
    }

    /// Fills all rows of a tile, with non-temporal stores if there is a stream.
    /// [`Self::streams_after`] must then be true for every row. `next` is the source byte at which
    /// the following tile starts, for prefetching.
    pub(super) fn rows(
        &self,
        source: &[u8],
        destination: &mut (impl Destination + ?Sized),
        (tile, next): (&CopyTile, Option<isize>),
        stream: Option<&Stream>,
    ) {
        let length = tile.rows.0.len() * self.unit;
        let (reads, writes) = tile.columns;
        let later = (SHORT_ROW_PREFETCH_DST_BYTES / length.max(1)).max(1);
        for (number, (read, write)) in reads.iter().zip(writes).enumerate() {
            let row = destination.bytes(tile.to + write, length);
            let number = number + later;
            let after = match reads.get(number) {
                Some(read) => Some(tile.from + read),
                None => next.zip(reads.get(number - reads.len())).map(|(next, read)| next + read),
            };
            let places = (tile.from + read, after);
            match stream {
                Some(stream) => self.stream(source, places, row, stream),
                None => self.selection.fill(source, places, row, None),
            }
        }
    }

    /// Returns the memory that the selection's tables take, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.selection.bytes()
    }

    /// Returns the number of loads from which each register is filled.
    pub(super) fn terms(&self) -> usize {
        self.selection.terms()
    }

    /// Returns the greatest number of loads with which it is faster to fill a register by a
    /// selection than by copying each of its units, which have `unit` bytes.
    pub(super) fn most_terms(simd: Simd, unit: usize) -> usize {
        let width = simd.width();
        (width / unit).saturating_sub(1).min(MOST_TERMS * width / 16)
    }
}

impl MoveTile for Shuffle {
    fn tile(&self, source: &[u8], destination: &mut (impl Destination + ?Sized), tile: &CopyTile) {
        self.rows(source, destination, (tile, None), None);
    }
}

/// Returns the part of `reads`, the offsets of the bytes of all registers, that belongs to one
/// register of `width` bytes.
fn register_bytes(reads: &[isize], number: usize, width: usize) -> &[isize] {
    let [first, end] = [number, number + 1].map(|number| (number * width).min(reads.len()));
    &reads[first..end]
}

/// Returns the starts of loads of `width` bytes that together contain every byte in `bytes`. The
/// bytes are offsets in the source, in any order.
fn cover(bytes: &[isize], width: usize) -> SmallVec<[isize; 8]> {
    let mut bytes: SmallVec<[isize; 64]> = bytes.into();
    bytes.sort_unstable();
    let mut starts: SmallVec<[isize; 8]> = SmallVec::new();
    let (Some(&first), Some(&last)) = (bytes.first(), bytes.last()) else { return starts };
    for byte in bytes {
        if !starts.last().is_some_and(|&start| holds(start, width, byte)) {
            // A load must not go past the last byte, which may be the end of the image.
            starts.push(byte.min(last + 1 - width.cast_signed()).max(first));
        }
    }
    starts
}

/// Returns true if the byte at offset `byte` is one of the `width` bytes from `start`.
fn holds(start: isize, width: usize, byte: isize) -> bool {
    (start..start + width.cast_signed()).contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::{super::machine::Machine, *};

    /// Compares rows of different lengths and starts with plain copies, for every instruction set
    /// of this processor.
    #[test]
    fn rows_hold_the_units_of_plain_copies() {
        let source: Vec<u8> = (0..3000_u32).map(|n| ((n * 167) >> 3) as u8).collect();
        let mut accepted = 0;
        for simd in Simd::all(Machine::here()) {
            for unit in [1, 2, 3, 4, 6, 8] {
                for (offsets, step) in patterns(unit) {
                    for count in [1, 5, 16, 48, 67] {
                        let shuffle = Shuffle::new(simd, unit, &offsets, step, count);
                        let Some(shuffle) = shuffle else { continue };
                        accepted += 1;
                        check(&shuffle, &source, &offsets, step, count);
                    }
                }
            }
        }
        assert!(accepted > 0 || Simd::here().is_none());
    }

    /// Returns step patterns for tests, each as unit offsets and the distance of a step: channels
    /// from planes, every second to fifth unit, and mirrored units.
    fn patterns(unit: usize) -> Vec<(Vec<isize>, isize)> {
        let unit = unit.cast_signed();
        let mut patterns: Vec<(Vec<isize>, isize)> =
            (-5..=5).filter(|&step| step != 0).map(|step| (vec![0], step * unit)).collect();
        for channels in 2..=8 {
            patterns.push(((0..channels).map(|channel| channel * 101).collect(), unit));
            patterns
                .push(((0..channels).map(|channel| (channels - channel) * 90).collect(), -unit));
            patterns.push(((0..channels).map(|channel| channel * 2 * unit).collect(), 20 * unit));
        }
        patterns
    }

    fn check(shuffle: &Shuffle, source: &[u8], offsets: &[isize], step: isize, count: usize) {
        let unit = shuffle.unit;
        let of_unit =
            |n: usize| offsets[n % offsets.len()] + (n / offsets.len()).cast_signed() * step;
        let units = offsets.len() * count;
        let (low, high) = (0..units).map(of_unit).fold((0, 0), |(l, h), n| (n.min(l), n.max(h)));
        let last = source.len().cast_signed() - high - unit.cast_signed();
        // The start of the source, its end, and a place between.
        for from in [-low, -low + 1, (last - low) / 2, last - 1, last]
            .into_iter()
            .filter(|n| (-low..=last).contains(n))
        {
            for length in [units, units - 1, units / 2, units.min(17)] {
                let mut row = vec![0xa5; length * unit];
                shuffle.selection.fill(source, (from, None), &mut row, None);
                for (n, bytes) in row.chunks(unit).enumerate() {
                    let read = (from + of_unit(n)).cast_unsigned();
                    assert_eq!(
                        bytes,
                        &source[read..read + unit],
                        "{shuffle:?}: unit {n} from {from}"
                    );
                }
            }
        }
    }
}
