//! The steps that a block takes of each axis: [`take`].

use smallvec::SmallVec;

use crate::nest::{CopyAxis, gcd};

/// Returns the axes along which units of the source are contiguous, or close: each continues at the
/// end of the one before.
pub(super) fn source_order(axes: &[CopyAxis]) -> SmallVec<[usize; 8]> {
    let stride = |axis: usize| axes[axis].src_stride.unsigned_abs();
    let mut order: SmallVec<[usize; 8]> = SmallVec::new();
    let mut by_stride: SmallVec<[usize; 8]> =
        (0..axes.len()).rev().filter(|&axis| stride(axis) > 0).collect();
    by_stride.sort_by_key(|&axis| stride(axis));
    for axis in by_stride {
        let continues = match order.last() {
            None => stride(axis) <= 4,
            Some(&last) => stride(axis) == stride(last).saturating_mul(axes[last].extent),
        };
        if !continues {
            break;
        }
        order.push(axis);
    }
    order
}

/// Takes steps of axes, each axis whole before the next, until a run has a multiple of `run` units.
pub(super) fn take(
    axes: &[CopyAxis],
    order: impl Iterator<Item = usize>,
    run: u64,
    is_wide: bool,
    steps: &mut [u64],
) {
    let mut taken = 1;
    for axis in order {
        if taken >= run {
            return;
        }
        let multiple = run / gcd(run, taken);
        let mut part = run.div_ceil(taken).next_multiple_of(multiple).min(axes[axis].extent);
        // Avoids a last block of a single step after one of nearly all steps; narrow units must
        // fill words.
        if axes[axis].extent - part == 1 && part > 1 && is_wide {
            part += 1;
        }
        steps[axis] = steps[axis].max(part);
        if part < axes[axis].extent {
            return;
        }
        taken *= part;
    }
}

/// Returns the number of innermost axes that the destination's run covers: those taken whole, and
/// one more.
pub(super) fn run_of(axes: &[CopyAxis], steps: &[u64]) -> usize {
    let whole = (0..axes.len()).rev().take_while(|&axis| steps[axis] == axes[axis].extent).count();
    match axes.len().checked_sub(whole + 1) {
        Some(next) if steps[next] > 1 => whole + 1,
        _ => whole,
    }
}
