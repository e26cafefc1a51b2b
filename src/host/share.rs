//! Divides the destination into shares, one for a thread at a time, of which none writes where another does.

use smallvec::{SmallVec, smallvec};

use super::{
    boxes::{WalkBox, cover, period_steps},
    pieces::Pieces,
};
use crate::nest::CopyNest;

/// The least that is worth another thread, in bytes.
const SHARE_BYTES: usize = 1 << 17;

/// Shares of a destination, at the least, before it is worth a second thread: where units are whole bytes, and where they are not,
/// which takes longer. A smaller one is copied before another thread wakes up, and its steps are kept.
const SHARES_OF_BYTES: usize = 4;
const SHARES_OF_BITS: usize = 2;

/// Shares for each thread, so that a slow one does not hold up the others.
const SHARES_PER_THREAD: usize = 4;

/// Bytes of the source that only one share reads: the two cache lines that processors fetch together.
const NEIGHBOURS: usize = 128;

/// Bytes from which on a share's runs are long enough on both sides.
const RUN: u64 = 1 << 16;

/// The most pieces of a share; each is a slice to look up.
const PIECES: u64 = 1 << 12;

/// What one thread fills at a time.
pub(super) struct Share<'a> {
    /// Boxes of the walk.
    pub(super) boxes: SmallVec<[WalkBox; 1]>,
    /// Where their cells lie.
    pub(super) pieces: Pieces<'a>,
    /// Cells of the walk before the first piece.
    pub(super) first: u64,
    /// The axes outside of this one lead from piece to piece.
    pub(super) axis: usize,
}

/// Whether a destination of so many bytes is one share, whatever the number of threads.
pub(super) fn is_small(bytes: usize, whole_bytes: bool) -> bool {
    bytes < SHARE_BYTES * if whole_bytes { SHARES_OF_BYTES } else { SHARES_OF_BITS }
}

/// Shares the destination out to threads.
///
/// The shares are steps of one axis of the walk, whatever lies around it: of one that has enough of them without two
/// shares reading of the same cache lines, and whose steps are not short runs on either side.
///
/// ```text
/// axes (16: 1 → 331776) (12: 16 → 27648) (12: 192 → 2304) …, extent: source → destination, of 8-byte cells
/// a share: one step of the second axis, in 16 pieces of 27648 cells; the first axis is what the source has side by side
/// ```
pub(super) fn shares<'a>(
    nest: &CopyNest,
    destination: &'a mut [u8],
    threads: usize,
) -> Vec<Share<'a>> {
    let wanted = (destination.len() / SHARE_BYTES).min(threads * SHARES_PER_THREAD);
    if threads == 1 {
        return vec![contiguous(nest, destination, 0)];
    }
    match cut(nest, wanted as u64, threads as u64).filter(|cut| cut.shares() >= threads as u64) {
        Some(cut) => cut.parts_of(nest, destination),
        None => ranges(nest, destination, wanted),
    }
}

/// An axis cut into shares.
struct Cut {
    axis: usize,
    extent: u64,
    /// Cells of the destination that a step of the axis moves over.
    stride: u64,
    /// Steps of a share.
    steps: u64,
    /// Bits of a place in a piece.
    shift: u32,
}

impl Cut {
    fn shares(&self) -> u64 {
        self.extent.div_ceil(self.steps)
    }

    fn parts_of<'a>(&self, nest: &CopyNest, destination: &'a mut [u8]) -> Vec<Share<'a>> {
        let &Self { axis, extent, stride, steps, shift } = self;
        let bytes = |cells: u64| length(cells * u64::from(nest.dst_bits()) / 8);
        let mut shares: Vec<Share> = (0..extent)
            .step_by(length(steps))
            .map(|start| {
                let mut whole = WalkBox::whole(nest);
                whole.ranges[axis] =
                    (start.cast_signed(), (start + steps).min(extent).cast_signed());
                Share {
                    boxes: smallvec![whole],
                    pieces: Pieces { slices: SmallVec::new(), shift },
                    first: start * stride,
                    axis,
                }
            })
            .collect();
        for around in destination.chunks_mut(bytes(extent * stride)) {
            for (share, piece) in shares.iter_mut().zip(around.chunks_mut(bytes(steps * stride))) {
                share.pieces.slices.push(piece);
            }
        }
        shares
    }
}

/// The axis to cut into shares: of those that give the most, up to as many as are wanted, the one whose shares are the
/// longest runs on both sides; the outermost of several that are long enough.
fn cut(nest: &CopyNest, wanted: u64, threads: u64) -> Option<Cut> {
    if !nest.is_exact() {
        return None;
    }
    let (mut best, mut around) = (None::<(Cut, (u64, u64))>, 1);
    for (axis, of) in nest.axes().enumerate() {
        let whole_bytes = (of.dst_stride * u64::from(nest.dst_bits())).is_multiple_of(8);
        if around > PIECES || !whole_bytes {
            break;
        }
        let line = (NEIGHBOURS * 8) as u64 / u64::from(nest.src_bits());
        let granule = match of.src_stride.unsigned_abs() {
            0 => 1,
            stride => line.div_ceil(stride),
        };
        let steps = (of.extent / wanted).max(1).next_multiple_of(granule);
        let steps = evenly(of.extent, steps, granule, threads);
        let steps = whole_periods(nest, axis, steps, of.extent / wanted.min(2));
        // Places count bytes or cells, whichever are more. A loop's last step leads up to a whole tensor past the end.
        let shift = isize::BITS - 4 - around.ilog2();
        let cells = steps * of.dst_stride;
        let fits = (cells * u64::from(nest.dst_bits().div_ceil(8))) >> shift == 0;
        let read = match of.src_stride.unsigned_abs() {
            0 => RUN,
            stride => steps.saturating_mul(stride).saturating_mul(nest.src_bits().into()) / 8,
        };
        let run = read.min(cells * u64::from(nest.dst_bits()) / 8).min(RUN);
        let cut = Cut { axis, extent: of.extent, stride: of.dst_stride, steps, shift };
        let worth = (cut.shares().min(wanted), run);
        if fits && best.as_ref().is_none_or(|&(_, least)| least < worth) {
            best = Some((cut, worth));
            if worth == (wanted, RUN) {
                break;
            }
        }
        around *= of.extent;
    }
    best.map(|(cut, _)| cut)
}

/// At most so many steps of an axis, whole granules, of which every thread gets as many shares where that can be.
fn evenly(extent: u64, steps: u64, granule: u64, threads: u64) -> u64 {
    let mut fewer = (1..=steps / granule).rev().map(|granules| granules * granule);
    fewer.find(|&steps| extent.div_ceil(steps).is_multiple_of(threads)).unwrap_or(steps)
}

/// Steps of an axis, made whole periods of the nest's quotients where those are at most so many: what repeats is worked out
/// once for each share, and once more for what is left of a period.
fn whole_periods(nest: &CopyNest, axis: usize, steps: u64, most: u64) -> u64 {
    if nest.quotients().is_empty() {
        return steps;
    }
    let whole = steps.next_multiple_of(period_steps(nest, axis));
    if whole <= most { whole } else { steps }
}

/// Contiguous shares: cut at bytes, and between whole steps of an outer axis of the walk where it can be.
fn ranges<'a>(nest: &CopyNest, destination: &'a mut [u8], wanted: usize) -> Vec<Share<'a>> {
    let bits = u64::from(nest.dst_bits());
    let per_byte = (8 / bits).max(1);
    let target = destination.len().div_ceil(wanted) as u64 * 8 / bits;
    let step = nest.axes().map(|axis| axis.dst_stride).find(|&stride| stride <= target);
    let step = step.map_or(target, |stride| target / stride * stride);
    let base = nest.dst_base().unsigned_abs();
    let (mut rest, mut first, mut out) = (destination, 0, Vec::new());
    while !rest.is_empty() {
        let end = (((first + base) / step + 1) * step - base).next_multiple_of(per_byte);
        let (range, after) = rest.split_at_mut(length((end - first) * bits / 8).min(rest.len()));
        out.push(contiguous(nest, range, first));
        (rest, first) = (after, end);
    }
    out
}

/// One slice, from cell `first` of the image on.
pub(super) fn contiguous<'a>(nest: &CopyNest, slice: &'a mut [u8], first: u64) -> Share<'a> {
    let base = nest.dst_base().unsigned_abs();
    let cells = slice.len() as u64 * 8 / u64::from(nest.dst_bits());
    let end = base + (first + cells).min(nest.dst_units());
    let boxes = cover(nest, base + first, end);
    Share { boxes, pieces: Pieces::whole(slice), first: base + first, axis: 0 }
}

/// A buffer in memory has a length that fits.
fn length(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::evenly;

    #[test]
    fn threads_get_as_many_shares_each_where_an_axis_allows_it() {
        assert_eq!(evenly(18, 2, 1, 2), 1); // 18 shares in place of 9.
        assert_eq!(evenly(32, 4, 1, 2), 4);
        assert_eq!(evenly(39, 4, 1, 2), 4); // 10 shares, the last one shorter.
        assert_eq!(evenly(13, 1, 1, 2), 1); // 13 shares, whatever is done.
        assert_eq!(evenly(100, 16, 16, 2), 16); // 7 shares of whole granules.
        assert_eq!(evenly(36, 4, 2, 4), 4); // 18 shares would be divided no better than 9.
    }
}
