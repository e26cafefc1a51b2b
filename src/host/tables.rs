//! Runs gathers whose indices do not depend on the outer axes, such as `x[:, ids]` and a constant
//! order of channels.
//!
//! A *position* is an iteration of the whole nest, and a *case* gives the value of the positions to
//! which it applies. In such a gather, each step of the outer axes reads at the same distances from
//! its start. These distances are computed once, as a table of offsets. If a step is short, a
//! [`Pattern`] takes the place of the table, because it fills whole registers at a time.

use rayon::prelude::*;
use smallvec::{SmallVec, smallvec};

use super::{
    gathered::{Gathered, NO_CASE, copy_units, gather},
    lane::Lane,
    pattern::{BlockPart, BlockValue, Pattern},
    pieces::DestinationSlices,
    plane::{PlanAxis, merged},
    share::LEAST_SHARE_BYTES,
    simd::{PatternSource, Simd},
    stream::{LINE, prefetch_byte},
};
use crate::nest::{Affine, Case, CaseValue, CopyNest, Value, signed};

/// The maximum number of positions in a table. A larger table would be evicted from the
/// second-level cache between two uses.
const MOST_POSITIONS: u64 = 1 << 16;

/// The minimum number of steps that use a table. With fewer, computing the table costs more than it
/// saves.
const LEAST_STEPS: u64 = 4;

/// The longest step for which a pattern is used, in bytes. For a longer step, the tables of the
/// pattern would be larger than the table of offsets.
const PATTERN_BYTES: usize = 1 << 9;

/// The greatest part of the source that is prefetched for a step, as a multiple of the bytes that
/// the step takes from it.
const MOST_SPREAD: usize = 4;

/// The source unit of every position in one step of the outer axes. The table is computed for the
/// first step; each later step reads at a constant distance from it.
pub(super) struct SourceTable {
    /// The number of outer axes, along which the table is reused.
    outer: usize,
    /// The index of the case that applies to each position, or [`NO_CASE`].
    case_of: Vec<u8>,
    /// The index of the case that applies to all positions, if there is a single one.
    only_case: Option<u8>,
    /// The source unit that each position reads in the first step.
    units: Vec<i64>,
    /// These units as distances, if all positions read by the same case and the distances are small
    /// enough.
    distances: Option<UnitDistances>,
}

/// The units of a step as distances from the least of them.
struct UnitDistances {
    least: i64,
    of: Vec<u32>,
    /// The greatest distance.
    most: u32,
}

impl UnitDistances {
    /// Returns the distances of some units, or `None` if 32 bits do not hold them.
    fn new(units: &[i64]) -> Option<Self> {
        let least = *units.iter().min()?;
        let of =
            units.iter().map(|unit| u32::try_from(unit - least)).collect::<Result<Vec<_>, _>>();
        let of = of.ok()?;
        let most = *of.iter().max()?;
        Some(Self { least, of, most })
    }
}

/// Returns the number of outer axes on which no quotient, lookup or guard depends, so that all of
/// their steps can share one table. Returns `None` if the table would be too large, or would be
/// used for too few steps.
pub(super) fn outer_axes(nest: &CopyNest) -> Option<usize> {
    let moves = |axis| nest.forms_except_reads().any(|form| form.weight(Value::Axis(axis)) != 0);
    let outer = (0..nest.extents().len()).take_while(|&axis| !moves(axis)).count();
    let (around, inside) = nest.extents().split_at(outer);
    let fits = inside.iter().product::<u64>() <= MOST_POSITIONS
        && around.iter().product::<u64>() >= LEAST_STEPS;
    fits.then_some(outer)
}

impl SourceTable {
    /// Computes the table for the axes inside the `outer` outermost ones.
    pub(super) fn new<L: Lane>(of: &Gathered, outer: usize) -> Self {
        let positions = of.nest.extents()[outer..].iter().product::<u64>() as usize;
        let (case_of, units) = (vec![NO_CASE; positions], vec![0; positions]);
        let mut table = Self { outer, case_of, only_case: None, units, distances: None };
        of.each_case::<L>(positions, |first, case_of, case, units| {
            for (row, (&of, &unit)) in case_of.iter().zip(units).enumerate() {
                if of == case {
                    table.case_of[first + row] = case;
                    table.units[first + row] = unit.number();
                }
            }
        });
        let first = table.case_of.first().copied();
        table.only_case = first.filter(|first| table.case_of.iter().all(|of| of == first));
        let only = table.only_case.and_then(|only| of.nest.cases().get(usize::from(only)));
        if let Some(Case { take: CaseValue::Read { .. }, .. }) = only {
            table.distances = UnitDistances::new(&table.units);
        }
        table
    }

    /// Fills the destination in parallel, step by step of the outer axes. Short steps are filled by
    /// a [`Pattern`] if there is one.
    pub(super) fn fill(&self, of: &Gathered, out: &mut [u8]) {
        let step = self.units.len() * of.unit;
        let (extent, inner) = match &of.nest.extents()[..self.outer] {
            [first, inner @ ..] => (*first as usize, inner.iter().product::<u64>() as usize),
            [] => (1, 1),
        };
        // The steps of the outermost axis in a share.
        let threads = rayon::current_num_threads();
        let steps = extent.div_ceil(4 * threads).max(LEAST_SHARE_BYTES / (inner * step)).max(1);
        let short = step <= PATTERN_BYTES;
        out.par_chunks_mut(steps * inner * step).enumerate().for_each(|(share, out)| {
            let first = share * steps;
            if short && self.as_pattern(of, first, steps.min(extent - first), out) {
                return;
            }
            let mut digits: SmallVec<[i64; 8]> = smallvec![0; self.outer];
            if let Some(outermost) = digits.first_mut() {
                *outermost = signed(first as u64);
            }
            for out in out.chunks_exact_mut(step) {
                self.step(of, &digits, out);
                for (digit, &extent) in digits.iter_mut().zip(of.nest.extents()).rev() {
                    *digit += 1;
                    if *digit < signed(extent) {
                        break;
                    }
                    *digit = 0;
                }
            }
        });
    }

    /// Fills one step of the outer axes. `digits` has the index of the step along each outer axis,
    /// and `out` is the part of the destination to fill.
    fn step(&self, of: &Gathered, digits: &[i64], out: &mut [u8]) {
        for (case, number) in of.nest.cases().iter().zip(0..) {
            match &case.take {
                CaseValue::Read { source, at } => {
                    let moved = digits.iter().enumerate();
                    let moved = moved.map(|(axis, digit)| at.weight(Value::Axis(axis)) * digit);
                    let moved: i64 = moved.sum();
                    let source = of.sources[*source];
                    let place = |row: usize| (self.units[row] + moved).cast_unsigned() as usize;
                    if self.only_case == Some(number) {
                        let Some(UnitDistances { least, of: distances, most }) = &self.distances
                        else {
                            copy_units(of.unit, source, out, |row| Some(place(row)));
                            continue;
                        };
                        let first = (least + moved).unsigned_abs() as usize * of.unit;
                        // The next step reads most lines of its part of the source, but in an order
                        // that hardware prefetchers do not follow.
                        let reach = (*most as usize + 1) * of.unit;
                        if let Some(last) = self.outer.checked_sub(1)
                            && at.weight(Value::Axis(last)) != 0
                            && reach <= MOST_SPREAD * out.len()
                        {
                            let next = at.weight(Value::Axis(last)) as isize;
                            let next = first.wrapping_add_signed(next * of.unit.cast_signed());
                            (0..reach)
                                .step_by(LINE)
                                .for_each(|byte| prefetch_byte(source, next.wrapping_add(byte)));
                        }
                        gather(of.unit, &source[first..], distances, out);
                    } else {
                        let takes = |row: usize| self.case_of[row] == number;
                        copy_units(of.unit, source, out, |row| takes(row).then(|| place(row)));
                    }
                }
                CaseValue::Bits(bits) => of.bits(*bits, |row| self.case_of[row] == number, out),
            }
        }
        if self.only_case.is_none_or(|of| of == NO_CASE) && self.case_of.contains(&NO_CASE) {
            of.bits(0, |row| self.case_of[row] == NO_CASE, out);
        }
    }

    /// Fills the steps `first..first + steps` of the outermost axis by a [`Pattern`]. Returns false
    /// and writes nothing if cases move by different distances from step to step, or if there is no
    /// pattern for a step.
    fn as_pattern(&self, of: &Gathered, first: usize, steps: usize, out: &mut [u8]) -> bool {
        let Some(simd) = Simd::here() else { return false };
        let unit = of.unit.cast_signed();
        let forms = of.nest.cases().iter().map(|case| match &case.take {
            CaseValue::Read { source, at } => Some((*source, at)),
            CaseValue::Bits(_) => None,
        });
        let forms: SmallVec<[Option<(usize, &Affine)>; 4]> = forms.collect();
        let weights = |at: &Affine| -> SmallVec<[i64; 8]> {
            (0..self.outer).map(|axis| at.weight(Value::Axis(axis))).collect()
        };
        let mut moving = forms.iter().flatten().map(|(_, at)| weights(at));
        let Some(weights) = moving.next() else { return false };
        if moving.any(|of| of != weights) {
            return false;
        }
        let start = weights.first().map_or(0, |weight| weight * signed(first as u64)) as isize;
        let parts: Vec<BlockPart> = self
            .units
            .iter()
            .zip(&self.case_of)
            .enumerate()
            .map(|(position, (&at, &case))| {
                let take =
                    match (forms.get(usize::from(case)), of.nest.cases().get(usize::from(case))) {
                        (Some(&Some((source, _))), _) => {
                            BlockValue::Unit { source, from: (at as isize) * unit + start * unit }
                        }
                        (_, Some(case)) => match case.take {
                            CaseValue::Bits(bits) => BlockValue::Bits(bits),
                            CaseValue::Read { .. } => BlockValue::Bits(0),
                        },
                        _ => BlockValue::Bits(0),
                    };
                let to = position.cast_signed() * unit;
                BlockPart { axes: SmallVec::new(), to, take }
            })
            .collect();
        let extents = of.nest.extents()[..self.outer].iter();
        let mut dst = (self.units.len() * of.unit).cast_signed();
        let mut axes: SmallVec<[PlanAxis; 8]> = extents
            .zip(&weights)
            .rev()
            .map(|(&extent, &weight)| {
                let axis = PlanAxis { extent: extent as usize, src: weight as isize * unit, dst };
                dst *= axis.extent.cast_signed();
                axis
            })
            .collect();
        if let Some(outermost) = axes.last_mut() {
            outermost.extent = steps;
        }
        axes.reverse();
        let scales: SmallVec<[isize; 4]> = smallvec![1; of.sources.len()];
        let Some(pattern) = Pattern::new(simd, of.unit, &parts, &scales, merged(axes)) else {
            return false;
        };
        let sources: SmallVec<[PatternSource; 4]> =
            of.sources.iter().map(|&image| PatternSource { image, at: 0, scale: 1 }).collect();
        pattern.run(&sources, &mut DestinationSlices::whole(out), 0, None);
        true
    }
}
