//! Copies boxes whose rows consist of a few parts, such as a triangle: each row takes units of a
//! source up to the diagonal, and a constant from there on.
//!
//! If such a box were divided into boxes that are copied in the same way, each part of a row would
//! be a box of its own. Here, the guards of the cases are solved for the innermost axis instead,
//! row by row, which gives the parts in the order of the destination. A *case* says what a position
//! takes, and a *guard* is a condition on an affine form of the loops.

use std::fmt;

use smallvec::{SmallVec, smallvec};

use super::{
    fill::ValueBlock,
    pieces::{Destination as _, DestinationSlices},
    stream::Stream,
    tile::copy_run,
};
use crate::nest::signed;

/// A form that is affine in the axes of a box.
#[derive(Clone, Debug)]
pub(super) struct LinearForm {
    /// The value at the first position of the box.
    pub(super) first: i64,
    /// The growth with a step of each axis, outermost first.
    pub(super) steps: SmallVec<[i64; 8]>,
}

/// A case that may apply to positions of the box. It applies if all forms of `when` are at least 0
/// and less than the number beside them.
#[derive(Clone, Debug)]
pub(super) struct RowCase {
    pub(super) when: SmallVec<[(LinearForm, i64); 2]>,
    pub(super) take: RowValue,
}

/// The value of the positions to which a [`RowCase`] applies.
#[derive(Clone, Debug)]
pub(super) enum RowValue {
    /// A unit of a source. The form is the index of the unit. With each step of the innermost axis,
    /// it grows by 1, or stays the same.
    Unit { source: usize, at: LinearForm },
    /// A constant, in the lowest bits.
    Bits(u128),
    /// The old contents of the destination.
    Kept,
}

/// The copy of a box row by row. A row is the innermost axis of the box, whose units are contiguous
/// in the destination.
#[derive(Clone, Debug)]
pub(super) struct RowCopy {
    /// The size of a unit in bytes, and the number of units in a row.
    unit: usize,
    units: usize,
    /// The extent and the destination stride of each other axis, outermost first.
    outer: SmallVec<[(usize, isize); 8]>,
    /// The cases, of which the first that applies counts. The last one applies to all positions.
    cases: Vec<RowCase>,
    /// The constant of each case, if it has one.
    constants: Vec<Option<ValueBlock>>,
    /// True if whole cache lines are written with non-temporal stores.
    streams: bool,
}

impl LinearForm {
    /// Returns the value at the first position of a row, which is at the given steps of the other
    /// axes.
    fn at(&self, steps: &[i64]) -> i64 {
        self.first + self.steps.iter().zip(steps).map(|(by, step)| by * step).sum::<i64>()
    }

    /// Returns the range of the innermost axis, of `count` steps, in which the form is at least 0
    /// and less than `extent`. `first` is its value at step 0.
    fn range(&self, first: i64, extent: i64, count: usize) -> (usize, usize) {
        // The number of steps after which the form has grown by `gap`, rounded up.
        let steps_up = |gap: i64, by: i64| -(-gap).div_euclid(by);
        let (low, end) = match self.steps.last().copied().unwrap_or_default() {
            0 if (0..extent).contains(&first) => return (0, count),
            0 => return (0, 0),
            by @ 1.. => (steps_up(-first, by), steps_up(extent.saturating_sub(first), by)),
            by => (
                first.saturating_sub(extent).div_euclid(-by).saturating_add(1),
                first.div_euclid(-by) + 1,
            ),
        };
        let [low, end] =
            [low, end].map(|step| step.clamp(0, signed(count as u64)).unsigned_abs() as usize);
        (low, end.max(low))
    }
}

impl RowCopy {
    /// Returns the copy of a box with the given axes, (extent, destination stride) pairs of which
    /// the innermost is last. `cases` are in order, and the last one has no guards. `streams` is
    /// stored in the field of the same name.
    pub(super) fn new(
        unit: usize,
        mut axes: SmallVec<[(usize, isize); 8]>,
        cases: Vec<RowCase>,
        streams: bool,
    ) -> Self {
        let (units, _) = axes.pop().unwrap_or((1, 0));
        let constant = |case: &RowCase| match case.take {
            RowValue::Bits(bits) => Some(ValueBlock::new(unit, bits)),
            RowValue::Unit { .. } | RowValue::Kept => None,
        };
        let constants = cases.iter().map(constant).collect();
        Self { unit, units, outer: axes, cases, constants, streams }
    }

    /// Returns the approximate memory that the copy occupies, in bytes.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.cases[..]) + size_of_val(&self.constants[..])
    }

    /// Writes all rows. The first one begins at address `to`.
    pub(super) fn run(
        &self,
        sources: &[&[u8]],
        destination: &mut DestinationSlices,
        to: isize,
        stream: Option<&Stream>,
    ) {
        let stream = stream.filter(|_| self.streams);
        let mut steps: SmallVec<[i64; 8]> = smallvec![0; self.outer.len()];
        let mut to = to;
        loop {
            self.row(&steps, sources, destination.bytes(to, self.units * self.unit), stream);
            // Go to the next row. The innermost of the other axes changes fastest.
            let next = (0..self.outer.len()).rev().find(|&axis| {
                let (extent, stride) = self.outer[axis];
                steps[axis] += 1;
                to += stride;
                let ends = steps[axis] == signed(extent as u64);
                if ends {
                    to -= extent.cast_signed() * stride;
                    steps[axis] = 0;
                }
                !ends
            });
            if next.is_none() {
                return;
            }
        }
    }

    /// Writes the row at the given steps of the other axes to `row`.
    fn row(&self, steps: &[i64], sources: &[&[u8]], row: &mut [u8], stream: Option<&Stream>) {
        // The parts of the row that no case has taken.
        let mut rest: SmallVec<[(usize, usize); 4]> = smallvec![(0, self.units)];
        for (case, constant) in self.cases.iter().zip(&self.constants) {
            let whole = (0, self.units);
            let (low, end) = case.when.iter().fold(whole, |(low, end), (form, extent)| {
                let range = form.range(form.at(steps), *extent, self.units);
                (low.max(range.0), end.min(range.1))
            });
            let mut left: SmallVec<[(usize, usize); 4]> = SmallVec::new();
            for part in rest {
                let (first, past) = (low.max(part.0), end.min(part.1));
                if first >= past {
                    left.push(part);
                    continue;
                }
                left.extend([(part.0, first), (past, part.1)].into_iter().filter(|of| of.0 < of.1));
                let out = &mut row[first * self.unit..past * self.unit];
                if let Some(constant) = constant {
                    constant.write(out, stream);
                } else if let RowValue::Unit { source, at } = &case.take {
                    let repeats = at.steps.last() == Some(&0);
                    let from = at.at(steps) + if repeats { 0 } else { signed(first as u64) };
                    let units = &sources[*source][from.unsigned_abs() as usize * self.unit..];
                    if repeats {
                        ValueBlock::of_bytes(&units[..self.unit]).write(out, stream);
                    } else if let Some(stream) = stream {
                        stream.copy(out, &units[..out.len()]);
                    } else {
                        copy_run(out, &units[..out.len()]);
                    }
                }
            }
            rest = left;
        }
    }
}

impl fmt::Display for RowCopy {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { unit, units, outer, cases, streams, .. } = self;
        let streamed = if *streams { ", streamed" } else { "" };
        write!(f, "rows in parts of up to {} cases, {} bytes in a row", cases.len(), units * unit)?;
        outer.iter().try_for_each(|(extent, _)| write!(f, ", {extent} times"))?;
        f.write_str(streamed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        hlo::Module,
        host::{plain, plan, run_sources},
        program::Program,
    };

    /// Triangles and bands, in both directions, of several units, with a batch, and with a scalar
    /// beside the diagonal. They are compared with a copy position by position.
    #[test]
    fn rows_have_the_bytes_of_single_positions() {
        let comparisons = ["GE", "GT", "LE", "LT", "NE"];
        // The last image is large enough to be streamed.
        let kinds = [
            ("u8", "300,290"),
            ("f32", "64,64"),
            ("f64", "3,40,50"),
            ("c128", "63,49"),
            ("f32", "1500,1500"),
        ];
        for (kind, extents) in kinds {
            for direction in comparisons {
                let rank = extents.split(',').count();
                let module = format!(
                    "HloModule m

                    ENTRY e {{
                      x = {kind}[{extents}] parameter(0)
                      y = {kind}[] parameter(1)
                      r = s32[{extents}] iota(), iota_dimension={}
                      c = s32[{extents}] iota(), iota_dimension={}
                      three = s32[] constant(3)
                      threes = s32[{extents}] broadcast(three), dimensions={{}}
                      shifted = s32[{extents}] add(c, threes)
                      near = pred[{extents}] compare(r, shifted), direction={direction}
                      ys = {kind}[{extents}] broadcast(y), dimensions={{}}
                      ROOT z = {kind}[{extents}] select(near, x, ys)
                    }}",
                    rank - 2,
                    rank - 1
                );
                let program = Program::lower(&Module::parse(&module).unwrap()).unwrap();
                let nest = program.steps()[0].nest();
                let images: Vec<Vec<u8>> = nest
                    .sources()
                    .iter()
                    .map(|of| (0..of.bytes()).map(|n| (n * 167 + 9) as u8).collect())
                    .collect();
                let images: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
                let bytes = nest.dst_bytes() as usize;
                let [mut out, mut expected] = [(); 2].map(|()| vec![0x5a; bytes]);
                run_sources(nest, &images, &mut out).unwrap();
                plain::fill(nest, &images, &mut expected);
                assert_eq!(out, expected, "{kind}[{extents}] {direction}");
                let plan = plan(nest, 1);
                assert!(plan.contains("rows in parts of up to"), "{kind} {direction}: {plan}");
            }
        }
    }

    #[test]
    fn ranges_are_those_in_which_the_form_is_inside() {
        for by in [-7, -2, -1, 0, 1, 2, 5] {
            let form = LinearForm { first: 0, steps: smallvec![by] };
            for first in -30..30 {
                for extent in [1, 2, 7, 30, i64::MAX] {
                    let (low, end) = form.range(first, extent, 9);
                    let inside =
                        |step: usize| (0..extent).contains(&(first + by * signed(step as u64)));
                    assert!((low..end).all(inside), "{first} {by} {extent}: {low}..{end}");
                    let others = (0..9).filter(|step| !(low..end).contains(step));
                    assert!(others.into_iter().all(|step| !inside(step)), "{first} {by} {extent}");
                }
            }
        }
    }
}
