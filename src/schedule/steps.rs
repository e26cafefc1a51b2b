//! [`take`]: chooses the number of steps along each axis that a block has. A *block* is the part of
//! a copy that one invocation moves.

use smallvec::SmallVec;

use crate::nest::{CopyAxis, gcd};

/// Returns the axes along which the source is contiguous, or nearly so, the innermost first. Each
/// axis continues at the end of the axis before it.
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

/// Increases `steps`, the number of steps of a block along each axis, until the number of
/// contiguous units is `run` or a multiple of it. The axes are extended in the order of `order`,
/// each only after the block covers the axis before it in full. If all axes are too short, fewer
/// units are contiguous. `is_wide` is true if a unit fills at least a word.
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
        // Avoid a last block of one step after a block of nearly all steps. This is possible only
        // with wide units, because narrow ones must fill words.
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

/// Returns the number of innermost axes along which a block is contiguous in the destination: the
/// axes that it covers in full, and the next one if it has several steps there.
pub(super) fn run_of(axes: &[CopyAxis], steps: &[u64]) -> usize {
    let whole = (0..axes.len()).rev().take_while(|&axis| steps[axis] == axes[axis].extent).count();
    match axes.len().checked_sub(whole + 1) {
        Some(next) if steps[next] > 1 => whole + 1,
        _ => whole,
    }
}
