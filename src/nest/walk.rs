//! The walk of a nest: the loops that visit every place of a destination's memory once and in order
//! of address, and the index of the element at each place. A *place* is the room for one element.
//!
//! The elements of a padded or strided array do not fill its memory. The loops also visit the
//! places between elements, so that a kernel writes every byte. Conditions on the loop counters,
//! called guards, hold exactly at the places with an element.

use smallvec::{SmallVec, smallvec};

use super::{
    Affine, Guard, NestError, Operand, Quotient, Value,
    numbers::{LIMIT, gcd, signed},
};
use crate::stride::{Axis, Coordinate, Coordinates, StrideDescriptor, Undo};

/// The maximum size of a tensor, in places, for which overlaps are found by listing the place of
/// every element. In larger tensors, only pairs of strides are tested.
const MARK_LIMIT: u64 = 1 << 18;

/// Loops that visit every place of a tensor in order, and the index of the element at each place.
pub(super) struct Walk {
    /// The number of steps of each loop, outermost first.
    pub(super) extents: SmallVec<[u64; 8]>,
    /// The quotients that the index needs if strides or folded dimensions do not divide evenly.
    pub(super) quotients: Vec<Quotient>,
    /// The guards, all of which hold exactly at the places with an element. Each is paired with the
    /// reason why a place at which the guard fails holds no element.
    pub(super) guards: Vec<(Guard, Unfilled)>,
    /// The place that the first iteration visits. It is negative if the loops start before the
    /// tensor, and otherwise 0.
    pub(super) dst_base: i64,
    /// The index of the element at the place that an iteration visits: an expression of the loop
    /// counters for each dimension.
    pub(super) index: Coordinates<Affine>,
}

/// The reason why a place of the destination holds no element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfilled {
    /// A gap between elements, a tail or a prefix. Such a place is zero, even if it is also padding
    /// of `padded_dimensions`.
    Gap,
    /// Padding past the end of a dimension, in `padded_dimensions` or in a tile. It has the padding
    /// value, which is zero if there are only tiles.
    Padding,
}

impl Walk {
    /// Adds a quotient to the walk and returns its value as an expression. If the divisor is 1, no
    /// quotient is added and the result is the dividend.
    pub(super) fn quotient(&mut self, of: &Affine, by: u64) -> Affine {
        if by == 1 {
            return of.clone();
        }
        self.quotients.push(Quotient { of: of.clone(), by });
        Affine::value(Value::Quotient(self.quotients.len() - 1))
    }

    pub(super) fn guard(&mut self, of: Affine, extent: u64, otherwise: Unfilled) {
        self.guards.push((Guard { of, extent }, otherwise));
    }

    fn axis(&mut self, extent: u64) -> Affine {
        self.extents.push(extent);
        Affine::value(Value::Axis(self.extents.len() - 1))
    }
}

/// Returns the loops over a tensor of `elements` places. The element at index 0 is at place `base`.
///
/// The loops are found from the largest stride to the smallest. A stride that divides the previous
/// one becomes a loop; its steps past the extent are gaps. At the first stride that does not divide
/// the previous one, a single loop covers the rest, and quotients compute the remaining
/// coordinates. For example, strides 8 and 1 give two loops, and strides 7 and 2 one loop, with
/// quotients by 2.
pub(super) fn walk(
    descriptor: &StrideDescriptor,
    base: u64,
    elements: u64,
) -> Result<Walk, NestError> {
    let axes = nested_axes(descriptor)?;
    let mut walk = Walk {
        extents: smallvec![],
        quotients: Vec::new(),
        guards: Vec::new(),
        dst_base: 0,
        index: smallvec![Affine::default(); descriptor.extents().len()],
    };
    if elements == 0 {
        walk.extents.push(0);
        walk.index.truncate(descriptor.rank());
        return Ok(walk);
    }
    // The loops start a whole number of outermost strides before the element at index 0, so that
    // this element is at step 0 of all inner loops.
    let outermost = axes.first().map_or(1, |axis| axis.stride.unsigned_abs());
    let shift = base.next_multiple_of(outermost) - base;
    walk.dst_base = -signed(shift);
    let mut skipped = base + shift;
    let mut block = elements + shift;
    let mut inside: Option<Affine> = None;
    for &Axis { coordinate, extent, stride } in &axes {
        let stride = stride.unsigned_abs();
        let places = block.div_ceil(stride);
        let digit = match &inside {
            None if skipped > 0 || block == elements + shift || block.is_multiple_of(stride) => {
                walk.axis(places)
            }
            None => {
                let whole = walk.axis(block);
                let digit = walk.quotient(&whole, stride);
                inside = Some(whole.plus(-signed(stride), &digit));
                digit
            }
            Some(rest) => {
                let rest = rest.clone();
                let digit = walk.quotient(&rest, stride);
                inside = Some(rest.plus(-signed(stride), &digit));
                digit
            }
        };
        let digit = digit.plus(-1, &Affine::constant(signed(skipped / stride)));
        if places > extent {
            walk.guard(digit.clone(), extent, Unfilled::Gap);
        }
        let values = descriptor.extents()[coordinate];
        if extent > values {
            walk.guard(digit.clone(), values, Unfilled::Padding);
        }
        walk.index[coordinate] = digit;
        (skipped, block) = (0, stride);
    }
    // The places between two neighbouring elements along the innermost dimension are left. They are
    // gaps, so a guard allows only the place of the element itself.
    if block > 1 {
        let rest = match inside {
            Some(rest) => rest,
            None => walk.axis(block),
        };
        walk.guard(rest.plus(-1, &Affine::constant(signed(skipped))), 1, Unfilled::Gap);
    }
    if walk.extents.is_empty() {
        walk.extents.push(1);
    }
    if let Some(dimension) = (0..descriptor.rank()).find(|&d| descriptor.extents()[d] == 0) {
        walk.guard(walk.index[dimension].clone(), 0, Unfilled::Padding);
    }
    let mut index = std::mem::take(&mut walk.index);
    descriptor
        .undo(&mut walk, &mut index)
        .map_err(|PastI64| NestError::Reach { operand: Operand::Destination, limit: LIMIT })?;
    walk.index = index;
    Ok(walk)
}

/// Computes an element's index from coordinates in memory. If a tile does not divide its dimension,
/// a guard is added, because the last tile contains places past the end of the dimension.
impl Undo for Walk {
    type Value = Affine;
    type Error = PastI64;

    fn join(
        &mut self,
        Coordinate { extent, .. }: Coordinate<'_, Affine>,
        by: u64,
        quotient: Affine,
        remainder: Affine,
    ) -> Result<Affine, PastI64> {
        let whole = remainder.checked_plus(signed(by), &quotient).ok_or(PastI64)?;
        if !extent.is_multiple_of(by) {
            self.guard(whole.clone(), extent, Unfilled::Padding);
        }
        Ok(whole)
    }

    fn unfold(
        &mut self,
        _: Coordinate<'_, Affine>,
        Coordinate { extent, .. }: Coordinate<'_, Affine>,
        fold: Affine,
    ) -> Result<[Affine; 2], PastI64> {
        let quotient = self.quotient(&fold, extent.max(1));
        let minor = fold.plus(-signed(extent), &quotient);
        Ok([quotient, minor])
    }
}

/// The error for a coefficient that exceeds 2^63-1.
#[derive(Debug)]
pub(super) struct PastI64;

/// Returns the axes with more than one step, by decreasing stride. Returns an error unless each
/// stride exceeds the sum of all distances that smaller strides can reach, so that elements neither
/// overlap nor interleave.
fn nested_axes(descriptor: &StrideDescriptor) -> Result<SmallVec<[Axis; 8]>, NestError> {
    if descriptor.physical_elements() == 0 {
        return Ok(smallvec![]);
    }
    let mut axes: SmallVec<[Axis; 8]> =
        descriptor.axes().iter().copied().filter(|axis| axis.extent > 1).collect();
    if let Some(&Axis { coordinate, stride, .. }) = axes.iter().find(|axis| axis.stride <= 0) {
        return Err(match stride {
            0 => NestError::ZeroStride { dimension: coordinate },
            _ => NestError::NegativeStride { dimension: coordinate, stride },
        });
    }
    axes.sort_by_key(|axis| std::cmp::Reverse(axis.stride));
    let mut reach = 0;
    for (position, axis) in axes.iter().enumerate().rev() {
        let stride = axis.stride.unsigned_abs();
        if stride <= reach {
            let (outer, inner) = (axis.stride, axes[position + 1].stride);
            return Err(if overlaps(&axes, descriptor.physical_elements()) {
                NestError::Overlap { outer, inner }
            } else {
                NestError::Interleaved { outer, inner, reach }
            });
        }
        reach += stride * (axis.extent - 1);
    }
    Ok(axes)
}

/// Returns true if two elements of a tensor of `elements` places share a place. In large tensors,
/// only overlaps between two axes are found.
fn overlaps(axes: &[Axis], elements: u64) -> bool {
    let count = axes.iter().try_fold(1_u64, |n, axis| n.checked_mul(axis.extent));
    if count.is_none_or(|count| count > elements) {
        return true;
    }
    if elements > MARK_LIMIT {
        return axes.iter().enumerate().any(|(n, a)| {
            axes[n + 1..].iter().any(|b| {
                let (a_step, b_step) =
                    (b.stride / gcd(a.stride, b.stride), a.stride / gcd(a.stride, b.stride));
                a_step.unsigned_abs() < a.extent && b_step.unsigned_abs() < b.extent
            })
        });
    }
    let mut places = vec![0_u64];
    for axis in axes {
        places = places
            .iter()
            .flat_map(|&place| {
                (0..axis.extent).map(move |n| place + n * axis.stride.unsigned_abs())
            })
            .collect();
    }
    places.sort_unstable();
    places.windows(2).any(|pair| pair[0] == pair[1])
}
