//! The walk over a destination's image, and the logical index of each of its positions.

use smallvec::{SmallVec, smallvec};

use super::{
    Affine, Guard, NestError, Operand, Quotient, Value,
    numbers::{LIMIT, gcd, signed},
};
use crate::stride::{Axis, Coordinate, Coordinates, StrideDescriptor, Undo};

/// The maximum size, in elements, of an image whose places are listed one by one to distinguish
/// overlap from interleaving. In larger images, only pairs of strides are tested.
const MARK_LIMIT: u64 = 1 << 18;

/// A walk over all places of an image, with the index of the element at each place.
pub(super) struct Walk {
    /// The extents of the walk's axes, outermost first.
    pub(super) extents: SmallVec<[u64; 8]>,
    /// Quotients, which are needed if the strides or a fold do not divide evenly.
    pub(super) quotients: Vec<Quotient>,
    /// The guards that hold at places with an element, each paired with the kind of place if it
    /// fails.
    pub(super) guards: Vec<(Guard, Unfilled)>,
    /// The element of the image at position 0; zero or negative.
    pub(super) dst_base: i64,
    /// The logical index of the element at a position.
    pub(super) index: Coordinates<Affine>,
}

/// The kind of a place of the destination that holds no element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfilled {
    /// A gap between elements, a tail or a prefix. Such a place is zero, even if it is padding of
    /// `padded_dimensions` too.
    Gap,
    /// A place of `padded_dimensions`, or of a tile over them, past the elements. It has the
    /// padding value, which is zero if there are only tiles.
    Padding,
}

impl Walk {
    /// Adds a quotient and returns its value. If the divisor is 1, the value is the dividend
    /// itself.
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

/// Walks an image of `elements` elements in which the element at index 0 is at `base`.
///
/// The digits of a position are computed greedily, in order of decreasing stride. An axis whose
/// stride divides the previous stride becomes an axis of the walk, whose positions past the extent
/// are gaps. At the first stride that does not divide the previous one, a single axis covers the
/// rest of the position, and quotients compute the remaining digits.
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
    // Start the walk a whole number of outermost strides before the element at index 0.
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
    // The rest of the position lies between two neighbours on the innermost axis.
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

/// Computes the logical index of a position from its coordinates in memory. A partial tile adds a
/// guard.
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

/// Returns the axes with more than one step, in order of decreasing stride. Returns an error unless
/// each stride exceeds the combined reach of the smaller strides.
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

/// Returns true if two elements share a place. In small images, all places are listed; in larger
/// ones, pairs of strides are tested.
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
