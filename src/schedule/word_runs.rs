//! [`WordRuns`]: the 32-bit words of the destination that a gather computes. Each invocation
//! computes one word.

use smallvec::SmallVec;

use crate::nest::{CopyNest, Gaps, footprint, signed};

/// Runs of contiguous words of the destination. All runs have the same length, and one run starts
/// at each step of a few loops.
///
/// If a nest fills its gaps, there is one run, the whole destination. If gaps keep their bits, the
/// runs contain every word in which the nest writes, and few others. For example, a window of 64
/// rows in a large destination is 64 runs. No two runs share a word. A unit that is wider than a
/// word counts as one word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WordRuns {
    /// The first word of the first run.
    pub(crate) first: u64,
    /// The number of words in a run.
    pub(crate) words: u64,
    /// The loops over the runs, outermost first. Each has a number of steps, and the distance from
    /// one step to the next, in words.
    pub(crate) loops: SmallVec<[(u64, u64); 4]>,
}

impl WordRuns {
    /// Returns the runs of a nest, or `None` if it writes nothing.
    pub(crate) fn of(nest: &CopyNest) -> Option<Self> {
        let lanes = i64::from((32 / nest.dst_bits()).max(1));
        let units = signed(nest.dst_units());
        let whole = |first: i64, end: i64| Self {
            first: (first / lanes).unsigned_abs(),
            words: (signed_ceil(end, lanes) - first / lanes).unsigned_abs(),
            loops: SmallVec::new(),
        };
        if nest.gaps() == Gaps::Fill {
            return (units > 0).then(|| whole(0, units));
        }
        let written = footprint(nest)?;
        let axes: SmallVec<[(i64, i64); 8]> = written
            .iter()
            .zip(nest.axes())
            .map(|(&(low, end), axis)| (end - low, signed(axis.dst_stride)))
            .collect();
        let lows = written.iter().zip(&axes).map(|(&(low, _), &(_, stride))| low * stride);
        let start = nest.dst_base() + lows.sum::<i64>();
        // The length of a run in units, including gaps. Axes are added to the run, the innermost
        // first, until the strides of all remaining loops are whole words, and no two runs share a
        // word.
        let mut reach = 1;
        for inner in (0..=axes.len()).rev() {
            let loops = axes[..inner].iter().filter(|(steps, _)| *steps > 1);
            let step = loops.clone().next_back().map(|&(_, stride)| stride);
            let words = signed_ceil(start + reach, lanes) - start.div_euclid(lanes);
            let fits = step.is_none_or(|step| step % lanes == 0 && words < step / lanes);
            let last =
                start + loops.clone().map(|(steps, stride)| (steps - 1) * stride).sum::<i64>();
            if fits && start >= 0 && last + reach <= units {
                return Some(Self {
                    loops: loops
                        .map(|&(steps, stride)| (steps, stride / lanes))
                        .map(|(steps, stride)| (steps.unsigned_abs(), stride.unsigned_abs()))
                        .collect(),
                    ..whole(start, start + reach)
                });
            }
            if let Some((steps, stride)) = inner.checked_sub(1).map(|axis| axes[axis]) {
                reach += (steps - 1) * stride;
            }
        }
        // The ranges of steps may be larger than necessary, so that some combinations of steps are
        // outside the destination. Then use a single run of all words between the first and the
        // last one inside the destination.
        let (first, end) = (start.max(0), (start + reach).min(units));
        (first < end).then(|| whole(first, end))
    }

    /// Returns the number of words in all runs.
    pub(crate) fn count(&self) -> u64 {
        self.words * self.loops.iter().map(|(steps, _)| steps).product::<u64>()
    }

    /// Returns the last word of the last run.
    pub(crate) fn last(&self) -> u64 {
        let loops = self.loops.iter().map(|(steps, stride)| (steps - 1) * stride);
        self.first + loops.sum::<u64>() + self.words - 1
    }
}

/// Returns `of / by`, rounded up.
fn signed_ceil(of: i64, by: i64) -> i64 {
    -(-of).div_euclid(by)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Operation;

    fn runs(to: &str, from: &str) -> Option<WordRuns> {
        let [from, to] = [from, to].map(|text| text.parse().unwrap());
        WordRuns::of(Operation::relayout(from, to).unwrap().with_gaps(Gaps::Keep).nest())
    }

    #[test]
    fn runs_are_the_words_that_hold_elements() {
        let of = |first, words, loops: &[(u64, u64)]| {
            Some(WordRuns { first, words, loops: loops.into() })
        };
        for (to, from, expected) in [
            ("f32[3,5] strided<[100,1], offset: 7>", "f32[3,5]", of(7, 5, &[(3, 100)])),
            ("u8[3,5] strided<[100,1], offset: 7>", "u8[3,5]", of(1, 2, &[(3, 25)])),
            // Rows start at different bytes of a word, so there is one run.
            ("u8[3,5] strided<[101,1], offset: 7>", "u8[3,5]", of(1, 53, &[])),
            // The bytes of a row, 9 to 14, take all words between two rows.
            ("u8[3,6] strided<[8,1], offset: 9>", "u8[3,6]", of(2, 6, &[])),
            (
                "f32[2,3,2] strided<[4096,64,1], offset: 128>",
                "f32[2,3,2]",
                of(64, 1, &[(2, 2048), (3, 32)]), // units of 8 bytes
            ),
            ("f32[0]", "f32[0]", None),
        ] {
            assert_eq!(runs(to, from), expected, "{to}");
        }
    }
}
