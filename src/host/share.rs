//! Divides the destination into shares. A *share* is the part of the destination that one thread
//! fills at a time. No two shares overlap.
//!
//! The simplest shares would be ranges of addresses. But in a transpose, each such range reads a
//! few bytes of every row of the source, so that all threads fetch the same cache lines. Therefore
//! a share is a range of steps of one *axis*, a loop of the nest, chosen so that runs stay long on
//! both sides. Each iteration of the whole nest fills one *place* of the destination with a *unit*,
//! often an element. The places of a share may be many *slices*, contiguous parts of the
//! destination, such as a few columns in each of many rows.

use smallvec::{SmallVec, smallvec};

use super::{
    boxes::{WalkBox, cover, period_steps},
    pieces::DestinationSlices,
};
use crate::nest::{CopyNest, gcd};

/// The least size of a share for which another thread pays off, in bytes. With smaller shares,
/// threads spend more time on handing work over than on copying; with larger ones, some threads are
/// idle in copies of medium size.
pub(super) const LEAST_SHARE_BYTES: usize = 1 << 17;

/// The size of a destination from which on a second thread pays off if units are whole bytes, as a
/// multiple of [`LEAST_SHARE_BYTES`].
///
/// A smaller destination would be copied before another thread wakes up. It is a single share,
/// whose steps do not depend on the number of threads. With 2 instead of 4, `f32[256,256]` took
/// 11.6 instead of 7.8 µs; two threads gain from 512 KiB on (`benches/NOTES.md`).
const SHARES_OF_BYTES: usize = 4;

/// The size of a destination from which on a second thread pays off if units are not whole bytes,
/// as a multiple of [`LEAST_SHARE_BYTES`]. It is smaller because such units take longer to copy.
const SHARES_OF_BITS: usize = 2;

/// The number of shares for each thread. With fewer shares, a slow thread holds up the others; with
/// more, each share has shorter runs.
const SHARES_PER_THREAD: usize = 4;

/// The size of two neighbouring cache lines that processors fetch together, in bytes. Shares are
/// cut at multiples of this size in the source, because two threads would otherwise fetch the same
/// lines.
const LINE_PAIR_BYTES: usize = 128;

/// The cost of another slice in a share, as the number of bytes that could be copied in the same
/// time. A slice has a cost because the loops of a copy end with it.
const SLICE_BYTES: u64 = 1 << 11;

/// The greatest number of slices in a share. A higher limit would allow cuts along more axes, but
/// every write looks up its slice in a table with one entry for each slice.
const MOST_SLICES: u64 = 1 << 12;

/// The greatest score of a [`Cut`]: each thread copies as fast as a thread that copies alone.
const MOST_WORTH: u64 = 1 << 40;

/// The part of the destination that one thread fills at a time.
pub(super) struct Share<'a> {
    /// The boxes, which are ranges of steps of the nest's loops, that fill the share.
    pub(super) boxes: SmallVec<[WalkBox; 1]>,
    /// The slices of the destination that the boxes fill.
    pub(super) destination: DestinationSlices<'a>,
    /// The number of the loop iteration that fills the first place of the first slice.
    pub(super) first: u64,
    /// The number of outer axes along which a step leads to another slice. It is 0 if the share is
    /// a single slice.
    pub(super) axis: usize,
}

/// Returns true if a destination of `bytes` bytes is so small that it is a single share, whatever
/// the number of threads. `whole_bytes` is true if its units are whole bytes.
pub(super) fn is_small(bytes: usize, whole_bytes: bool) -> bool {
    bytes < LEAST_SHARE_BYTES * if whole_bytes { SHARES_OF_BYTES } else { SHARES_OF_BITS }
}

/// Divides the destination into shares for `threads` threads.
///
/// Usually a share has some steps of one axis, and all steps of the axes outside and inside that
/// axis. The axis is chosen so that there are enough shares, and that little time is lost with
/// short runs on either side. If no axis gives every thread a share, the shares are ranges of
/// addresses.
///
/// ```text
/// axes, as extent: source stride → destination stride, in units of 8 bytes:
/// (16: 1 → 331776) (12: 16 → 27648) (12: 192 → 2304) …
/// a share: one step of the third axis, in 192 slices of 2304 units. Shares of the second axis
/// would read runs of 16 units, and those of the first one would read the same cache lines
/// ```
pub(super) fn shares<'a>(
    nest: &CopyNest,
    destination: &'a mut [u8],
    threads: usize,
) -> Vec<Share<'a>> {
    let wanted = (destination.len() / LEAST_SHARE_BYTES).min(threads * SHARES_PER_THREAD);
    if threads == 1 {
        return vec![contiguous(nest, destination, 0)];
    }
    // Units below a byte are copied slowly if a share reads short pieces of the source. A single
    // share, on one of the threads, is then faster. Its score is 1/`threads`, because other threads
    // are idle, times 1/2, the factor of [`Cut::worth`] for one share.
    let single = MOST_WORTH / (2 * threads as u64);
    match cut(nest, wanted as u64, threads as u64) {
        Some((_, worth)) if splits_bytes(nest) && worth < single => {
            vec![contiguous(nest, destination, 0)]
        }
        Some((cut, _)) => cut.divide(nest, destination),
        None if splits_bytes(nest) && nest.is_exact() && !reads_runs(nest) => {
            vec![contiguous(nest, destination, 0)]
        }
        None => ranges(nest, destination, wanted),
    }
}

/// Returns true if units are smaller than a byte in the source or in the destination.
fn splits_bytes(nest: &CopyNest) -> bool {
    nest.src_bits().min(nest.dst_bits()) < 8
}

/// Returns true if units that are neighbours in the destination are neighbours in the source.
fn reads_runs(nest: &CopyNest) -> bool {
    nest.axes().last().is_none_or(|axis| axis.src_stride.unsigned_abs() == axis.dst_stride)
}

/// A way to divide the destination: the shares get different steps of one axis.
struct Cut {
    axis: usize,
    extent: u64,
    /// The distance between two steps of the axis in the destination, in places.
    stride: u64,
    /// The number of steps of the axis in one share. The last share may have fewer.
    steps: u64,
    /// The number of low bits of an address that are the offset in a slice.
    shift: u32,
}

impl Cut {
    fn share_count(&self) -> u64 {
        self.extent.div_ceil(self.steps)
    }

    /// Returns a score of the cut, to compare it with others. The score estimates the fraction of
    /// the threads' time that is spent on copying, as a product of fractions in units of 1/1024.
    ///
    /// `read` is the length in bytes of the contiguous pieces that a share reads in the source, and
    /// `slice` the length of its slices of the destination. `None` means that this side costs
    /// nothing extra, because it has only one piece.
    fn worth(&self, read: Option<u64>, slice: Option<u64>, (wanted, threads): (u64, u64)) -> u64 {
        let part = |of: u64, all: u64| (u128::from(of) << 10) / u128::from(all);
        let of_run = |bytes: Option<u64>, cost: u64| {
            bytes.map_or(1 << 10, |bytes| part(bytes, bytes.saturating_add(cost)))
        };
        let count = self.share_count();
        // All threads wait for the thread with the most steps. If there are more shares, a slow
        // thread gets fewer of them.
        let busy = part(self.extent, count.div_ceil(threads) * threads * self.steps);
        let few = part(count.min(wanted), count.min(wanted) + 1);
        let runs = of_run(read, LINE_PAIR_BYTES as u64) * of_run(slice, SLICE_BYTES);
        u64::try_from(busy * few * runs).unwrap_or(u64::MAX)
    }

    /// Returns the shares, in the order of the steps.
    fn divide<'a>(&self, nest: &CopyNest, destination: &'a mut [u8]) -> Vec<Share<'a>> {
        let &Self { axis, extent, stride, steps, shift } = self;
        let bytes = |places: u64| length((places * u64::from(nest.dst_bits())).div_ceil(8));
        let mut shares: Vec<Share> = (0..extent)
            .step_by(length(steps))
            .map(|start| {
                let mut whole = WalkBox::whole(nest);
                whole.ranges[axis] =
                    (start.cast_signed(), (start + steps).min(extent).cast_signed());
                Share {
                    boxes: smallvec![whole],
                    destination: DestinationSlices { slices: SmallVec::new(), shift },
                    first: start * stride,
                    axis,
                }
            })
            .collect();
        for around in destination.chunks_mut(bytes(extent * stride)) {
            for (share, piece) in shares.iter_mut().zip(around.chunks_mut(bytes(steps * stride))) {
                share.destination.slices.push(piece);
            }
        }
        shares
    }
}

/// Returns the cut with the best score, or `None` if no axis gives every thread a share. `wanted`
/// is the number of shares to aim at.
fn cut(nest: &CopyNest, wanted: u64, threads: u64) -> Option<(Cut, u64)> {
    if !nest.is_exact() {
        return None;
    }
    let (mut best, mut around) = (None::<(Cut, u64)>, 1);
    for (axis, of) in nest.axes().enumerate() {
        // The least number of steps whose units fill whole bytes, because no two slices may share a
        // byte.
        let step_bits = of.dst_stride * u64::from(nest.dst_bits());
        let whole = 8 / gcd(step_bits, 8);
        if around > MOST_SLICES || around > 1 && !of.extent.is_multiple_of(whole) {
            break;
        }
        let line = (LINE_PAIR_BYTES * 8) as u64 / u64::from(nest.src_bits());
        let granule = match of.src_stride.unsigned_abs() {
            0 => 1,
            stride => line.div_ceil(stride),
        };
        let granule = granule.next_multiple_of(whole);
        // More shares than threads help a slow thread, but fewer shares have longer runs, without
        // which units below a byte are slow.
        let counts = [wanted, threads];
        for &wanted in &counts[..if splits_bytes(nest) { 2 } else { 1 }] {
            let steps = (of.extent / wanted).max(1).next_multiple_of(granule);
            let steps = even_steps(of.extent, steps, granule, threads);
            let steps = whole_periods(nest, axis, steps, whole, of.extent / wanted.min(2));
            // An offset counts bytes, or units if these are not whole bytes of the same size on
            // both sides. A loop may step past the end of a tensor by the size of the tensor, so
            // some bits stay free.
            let shift = isize::BITS - 4 - around.ilog2();
            let places = steps * of.dst_stride;
            let fits = (places * u64::from(nest.dst_bits().div_ceil(8))) >> shift == 0;
            let cut = Cut { axis, extent: of.extent, stride: of.dst_stride, steps, shift };
            let read = match of.src_stride.unsigned_abs() {
                0 => None,
                stride => {
                    Some(steps.saturating_mul(stride).saturating_mul(nest.src_bits().into()) / 8)
                }
            };
            let slice = (around > 1).then_some(places * u64::from(nest.dst_bits()) / 8);
            let worth = cut.worth(read, slice, (wanted, threads));
            let fits = fits && cut.share_count() >= threads;
            if fits && best.as_ref().is_none_or(|&(_, least)| least < worth) {
                best = Some((cut, worth));
            }
        }
        around *= of.extent;
    }
    best
}

/// Returns a number of steps for each share with which all threads get the same number of shares.
///
/// The result is the greatest such number that is at most `steps` and a multiple of `granule`, the
/// number of steps that cover two cache lines of the source. If there is none, the result is
/// `steps`.
fn even_steps(extent: u64, steps: u64, granule: u64, threads: u64) -> u64 {
    let mut fewer = (1..=steps / granule).rev().map(|granules| granules * granule);
    fewer.find(|&steps| extent.div_ceil(steps).is_multiple_of(threads)).unwrap_or(steps)
}

/// Rounds the number of steps of a share up to whole periods of the nest's quotients. This saves
/// time because a share computes the boxes of a period once, and once more for a partial period.
///
/// Returns `steps` unchanged if the nest has no quotients, or if the result would exceed `most` or
/// would be no multiple of `multiple`.
fn whole_periods(nest: &CopyNest, axis: usize, steps: u64, multiple: u64, most: u64) -> u64 {
    if nest.quotients().is_empty() {
        return steps;
    }
    let whole = steps.next_multiple_of(period_steps(nest, axis));
    if whole <= most && whole.is_multiple_of(multiple) { whole } else { steps }
}

/// Divides the destination into shares that are a single slice each: ranges of about equal length.
/// The cuts lie between whole steps of an outer axis if possible.
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

/// Returns a share of the whole destination that fills only the places of one box.
pub(super) fn share_of_box<'a>(
    nest: &CopyNest,
    destination: &'a mut [u8],
    walk_box: WalkBox,
) -> Share<'a> {
    let first = nest.dst_base().unsigned_abs();
    let destination = DestinationSlices::whole(destination);
    Share { boxes: smallvec![walk_box], destination, first, axis: 0 }
}

/// Returns a share that is the given slice. The slice begins at place `first` of the image.
pub(super) fn contiguous<'a>(nest: &CopyNest, slice: &'a mut [u8], first: u64) -> Share<'a> {
    let base = nest.dst_base().unsigned_abs();
    let places = slice.len() as u64 * 8 / u64::from(nest.dst_bits());
    let end = base + (first + places).min(nest.dst_units());
    let boxes = cover(nest, base + first, end);
    Share { boxes, destination: DestinationSlices::whole(slice), first: base + first, axis: 0 }
}

/// Converts a count to a length in memory. The count always fits, because buffers are in memory.
fn length(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Operation;

    /// Ranges cover the destination without gaps, and begin with whole rows.
    #[test]
    fn ranges_follow_each_other() {
        let [from, to] = ["u16[300,1000]", "u16[300,1000]{0,1}"].map(|text| text.parse().unwrap());
        let operation = Operation::relayout(from, to).unwrap();
        let mut image = vec![0; 600_000];
        for wanted in [2, 3, 7] {
            let shares = ranges(operation.nest(), &mut image, wanted);
            let mut end = 0;
            for share in &shares {
                assert_eq!((share.first, share.first % 300), (end, 0), "{wanted}");
                end += share.destination.slices[0].len() as u64 / 2;
            }
            assert_eq!(end, 300_000, "{wanted}");
            assert!(shares.len().abs_diff(wanted) < 2, "{} of {wanted}", shares.len());
        }
    }

    #[test]
    fn every_thread_gets_equally_many_shares_if_possible() {
        assert_eq!(even_steps(18, 2, 1, 2), 1); // 18 shares instead of 9.
        assert_eq!(even_steps(32, 4, 1, 2), 4);
        assert_eq!(even_steps(39, 4, 1, 2), 4); // 10 shares, the last one shorter.
        assert_eq!(even_steps(13, 1, 1, 2), 1); // 13 shares, whatever is done.
        assert_eq!(even_steps(100, 16, 16, 2), 16); // 7 shares of whole granules.
        assert_eq!(even_steps(36, 4, 2, 4), 4); // 18 shares would be divided no better than 9.
    }
}
