//! Moves boxes that repeat: the rows of one period are computed once and moved at every place of
//! the period.

use smallvec::SmallVec;

use super::{
    boxes::WalkBox,
    pieces::{Destination as _, DestinationSlices},
    shuffle::Shuffle,
    simd::Simd,
};

/// The bytes of a row that one selection makes if the row does not repeat. Longer parts have larger
/// tables, which may be refused; shorter parts need more selections for a row.
const PART_BYTES: usize = 1 << 9;

/// The number of periods along an axis, and the bytes from one period to the next on each side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repeat {
    pub(super) times: usize,
    pub(super) src: isize,
    pub(super) dst: isize,
}

/// Boxes of equal extents that follow each other by equal steps on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Series {
    pub(super) count: usize,
    /// The axis along which they follow each other, and the steps of that axis and the source units
    /// from each box to the next.
    pub(super) axis: usize,
    pub(super) steps: i64,
    pub(super) units: i64,
}

impl Series {
    /// Returns the longest series at the start of `boxes`. Each box is given with the unit that its
    /// first position reads.
    pub(super) fn of(boxes: &[(WalkBox, u64)]) -> Self {
        let next = |of: &[(WalkBox, u64)]| {
            let [(first, read), (second, read_next), ..] = of else { return None };
            if !first.extents().eq(second.extents()) {
                return None;
            }
            let lows = first.ranges.iter().zip(&second.ranges);
            let mut moved = lows.map(|(a, b)| b.0 - a.0).enumerate().filter(|&(_, by)| by != 0);
            let (axis, steps) = moved.next().filter(|&(_, steps)| steps > 0)?;
            let units = read_next.cast_signed() - read.cast_signed();
            moved.next().is_none().then_some((axis, steps, units))
        };
        let Some(step) = next(boxes) else {
            return Self { count: 1, axis: 0, steps: 0, units: 0 };
        };
        let further = (1..boxes.len()).take_while(|&n| next(&boxes[n..]) == Some(step)).count();
        let (axis, steps, units) = step;
        Self { count: further + 2, axis, steps, units }
    }
}

/// The rows of a period, and the places where the period repeats.
pub(super) struct Pattern {
    unit: usize,
    rows: Vec<PatternRow>,
    /// The repeats, outermost first.
    repeats: SmallVec<[Repeat; 8]>,
}

/// Units that are contiguous in the destination.
struct PatternRow {
    /// The destination and source offsets of the first unit, from the place of the period.
    to: isize,
    from: isize,
    /// The source offset of each unit, from the first unit.
    offsets: Vec<isize>,
    /// The number of times the row follows itself in the destination, and the source offset from
    /// each time to the next.
    times: usize,
    advance: isize,
    shuffle: Option<Shuffle>,
}

impl Pattern {
    /// Returns the pattern of a period of units of `unit` bytes. Each unit is given by its
    /// destination and source offsets, in the order of the destination.
    pub(super) fn new(
        simd: Option<Simd>,
        unit: usize,
        units: &[(isize, isize)],
        mut repeats: SmallVec<[Repeat; 8]>,
    ) -> Self {
        let touch = |first: &(isize, isize), second: &(isize, isize)| {
            first.0 + unit.cast_signed() == second.0
        };
        let rows: Vec<&[(isize, isize)]> = units.chunk_by(touch).collect();
        let length = rows.first().map_or(0, |row| row.len());
        let equal_lengths = rows.iter().all(|row| row.len() == length);
        // If the next period continues every row, one selection makes the rows of all periods.
        let along = repeats.iter().position(|repeat| {
            equal_lengths && repeat.times > 1 && repeat.dst == (length * unit).cast_signed()
        });
        let long = along.and_then(|along| {
            let Repeat { times, src, .. } = repeats[along];
            let row = |row: &&[_]| {
                Some(PatternRow::new(simd, unit, row, times, src)).filter(PatternRow::is_selected)
            };
            let rows = rows.iter().map(row).collect::<Option<Vec<_>>>()?;
            repeats[along].times = 1;
            Some(rows)
        });
        let rows = long.unwrap_or_else(|| {
            let parts = rows.iter().flat_map(|row| row.chunks((PART_BYTES / unit).max(1)));
            parts.map(|part| PatternRow::new(simd, unit, part, 1, 0)).collect()
        });
        Self { unit, rows, repeats }
    }

    /// Returns about how many bytes the pattern occupies.
    pub(super) fn bytes(&self) -> usize {
        let of_row = |row: &PatternRow| {
            let shuffle = row.shuffle.as_ref().map_or(0, Shuffle::bytes);
            size_of::<PatternRow>() + size_of_val(&row.offsets[..]) + shuffle
        };
        self.rows.iter().map(of_row).sum()
    }

    /// Moves every period. The first period is at byte `from` of the source and byte `to` of the
    /// destination.
    pub(super) fn run(
        &self,
        source: &[u8],
        from: isize,
        destination: &mut DestinationSlices,
        to: isize,
    ) {
        each_period(&self.repeats, from, to, &mut |from, to| {
            for row in &self.rows {
                let length = row.offsets.len() * row.times * self.unit;
                row.fill(self.unit, source, from, destination.bytes(to + row.to, length));
            }
        });
    }
}

/// Calls `period` with the source and destination offsets of every period.
fn each_period(repeats: &[Repeat], from: isize, to: isize, period: &mut impl FnMut(isize, isize)) {
    let [Repeat { times, src, dst }, inner @ ..] = repeats else { return period(from, to) };
    for time in 0..times.cast_signed() {
        each_period(inner, from + time * src, to + time * dst, period);
    }
}

impl PatternRow {
    fn new(
        simd: Option<Simd>,
        unit: usize,
        units: &[(isize, isize)],
        times: usize,
        advance: isize,
    ) -> Self {
        let (to, from) = units[0];
        let offsets: Vec<isize> = units.iter().map(|place| place.1 - from).collect();
        let shuffle = simd.and_then(|simd| Shuffle::new(simd, unit, &offsets, advance, times));
        Self { to, from, offsets, times, advance, shuffle }
    }

    fn is_selected(&self) -> bool {
        self.shuffle.is_some()
    }

    /// Fills the row of a period at byte `from` of the source.
    fn fill(&self, unit: usize, source: &[u8], from: isize, bytes: &mut [u8]) {
        let from = from + self.from;
        if let Some(shuffle) = &self.shuffle {
            return shuffle.fill(&[(source, 0)], from, bytes);
        }
        for (time, bytes) in bytes.chunks_exact_mut(self.offsets.len() * unit).enumerate() {
            let from = from + time.cast_signed() * self.advance;
            for (bytes, offset) in bytes.chunks_exact_mut(unit).zip(&self.offsets) {
                let read = (from + offset).cast_unsigned();
                bytes.copy_from_slice(&source[read..read + unit]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_that_follow_each_other_by_equal_steps_are_a_series() {
        let of = |rows: (i64, i64), columns: (i64, i64), unit| {
            (WalkBox { ranges: [rows, columns].into_iter().collect() }, unit)
        };
        let boxes = [
            of((0, 4), (0, 2), 10),
            of((0, 4), (2, 4), 266),
            of((0, 4), (4, 6), 522),
            of((0, 4), (6, 8), 524),    // elsewhere in the source
            of((4, 8), (8, 10), 780),   // along both axes
            of((4, 8), (10, 13), 1036), // wider
        ];
        let series: Vec<[usize; 2]> = (0..boxes.len())
            .map(|n| Series::of(&boxes[n..]))
            .map(|of| [of.count, of.axis])
            .collect();
        assert_eq!(series, [[3, 1], [2, 1], [2, 1], [1, 0], [1, 0], [1, 0]]);
        let first = Series::of(&boxes);
        assert_eq!((first.steps, first.units), (2, 256));
    }
}
