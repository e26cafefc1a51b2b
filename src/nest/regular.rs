//! The pass [`regular`]: replaces cases that follow a pattern by one case.

use smallvec::SmallVec;

use super::{
    Affine, Bounds, Case, CaseValue, CopyNest, Guard, Quotient, Value, bounds::check_range,
    numbers::signed,
};

/// The minimum number of cases that a quotient must replace. A quotient is an integer division,
/// which costs about as much as a few comparisons, so fewer cases are left as they are.
const CASES_PER_QUOTIENT: usize = 4;

/// The maximum number of terms that describe the offsets of consecutive cases. If the cases read
/// the elements of a picture's patches, there is one term for each dimension of a patch.
const MAX_TERMS: usize = 4;

/// Replaces cases that read one source at regular offsets by one case. The value of every position
/// is unchanged.
///
/// An expression of the loop counters selects among the cases: its values are divided into
/// intervals of equal width, and each case applies in one of them. For example, a program that
/// gathers the patches of a picture, 3 by 3 elements each, has 9 cases with the guards `a2 < 1` to
/// `a2 < 9`, which read at offsets 0, 1, 2, 10, 11, 12, 20, 21 and 22. They become one case with
/// the guard `a2 < 9`, whose offset has the terms `a2` and `7·⌊a2 / 3⌋`. The pass `refine` then
/// splits the axis into 3 by 3 steps, and no quotient is left.
#[must_use]
pub fn regular(mut nest: CopyNest) -> CopyNest {
    let mut first = 0;
    while first < nest.cases.len() {
        let run = CaseRun::longest(&nest, first);
        let whole = run.as_ref().and_then(|run| run.replaced(&nest));
        first += match (whole, run) {
            (Some(whole), _) => {
                nest = whole;
                1
            }
            // A shorter run that starts here might be regular. But long lists of cases are common,
            // so each case is tried only once.
            (None, Some(run)) => run.offsets.len(),
            (None, None) => 1,
        };
    }
    nest
}

/// Consecutive cases that differ in one guard and in the constant of their offset.
struct CaseRun {
    /// The first case.
    first: usize,
    source: usize,
    /// The offset of the first case.
    at: Affine,
    /// The guards that all cases have.
    common: Vec<Guard>,
    /// The expression whose value selects the case: each case applies to an interval of values.
    of: Affine,
    /// The length of each interval, as a number of values of the expression.
    width: u64,
    /// The constant term of each case's source offset.
    offsets: Vec<i64>,
    /// True if the last case also has a guard on `of`. Without this guard, the last case applies to
    /// all remaining values of the expression.
    is_guarded: bool,
}

impl CaseRun {
    /// Returns the longest run that starts at the case `first`, if it has at least two cases.
    fn longest(nest: &CopyNest, first: usize) -> Option<Self> {
        let guards = 0..nest.cases[first].when.len();
        let runs = guards.filter_map(|guard| Self::along(nest, first, guard));
        runs.max_by_key(|run| run.offsets.len()).filter(|run| run.offsets.len() > 1)
    }

    /// Returns the run, starting at the case `first`, of cases that differ in their guard with
    /// index `guard`.
    fn along(nest: &CopyNest, first: usize, guard: usize) -> Option<Self> {
        let Case { when, take: CaseValue::Read { source, at } } = &nest.cases[first] else {
            return None;
        };
        let mut common = when.clone();
        let Guard { of, extent: width } = common.remove(guard);
        let mut run = Self {
            first,
            source: *source,
            at: at.clone(),
            common,
            of,
            width,
            offsets: vec![at.offset()],
            is_guarded: true,
        };
        for case in &nest.cases[first + 1..] {
            let CaseValue::Read { source, at } = &case.take else { break };
            if (*source, at.terms()) != (run.source, run.at.terms()) {
                break;
            }
            let end = (run.offsets.len() as u64 + 1).checked_mul(width);
            let is_next = |given: &Guard| given.of == run.of && Some(given.extent) == end;
            if case.when.get(guard).is_some_and(is_next) {
                let (before, after) = (&case.when[..guard], &case.when[guard + 1..]);
                if before != &run.common[..guard] || after != &run.common[guard..] {
                    break;
                }
                run.offsets.push(at.offset());
            } else if case.when == run.common && run.is_complete(nest) {
                run.offsets.push(at.offset());
                run.is_guarded = false;
                break;
            } else {
                break;
            }
        }
        Some(run)
    }

    /// Returns true if the cases so far, together with one more case, cover all values that the
    /// expression has at positions at which the common guards hold.
    fn is_complete(&self, nest: &CopyNest) -> bool {
        // The bounds of a quotient hold only at positions at which the guards of its case hold, and
        // the case after the run need not have these guards.
        if !self.of.terms().iter().all(|(value, _)| matches!(value, Value::Axis(_))) {
            return false;
        }
        let mut bounds = Bounds::of_walk(nest);
        for Guard { of, extent } in &self.common {
            if bounds.assume(&nest.quotients, of, 0, signed(*extent) - 1).is_none() {
                return false;
            }
        }
        let (low, high) = bounds.of(&self.of);
        let steps = self.offsets.len() as u64 + 1;
        low >= 0 && steps.checked_mul(self.width).is_some_and(|end| high < signed(end))
    }

    /// Returns the nest in which one case replaces the run; `None` if its offsets have no pattern.
    fn replaced(&self, nest: &CopyNest) -> Option<CopyNest> {
        let terms = terms(&self.offsets)?;
        let quotients = terms.iter().filter(|&&(period, _)| self.divisor(period) > 1).count();
        if self.offsets.len() < CASES_PER_QUOTIENT * quotients {
            return None;
        }
        let mut nest = nest.clone();
        let mut at = self.at.clone();
        for (period, weight) in terms {
            let by = self.divisor(period);
            let step = if by == 1 {
                self.of.clone()
            } else {
                nest.quotients.push(Quotient { of: self.of.clone(), by });
                Affine::value(Value::Quotient(nest.quotients.len() - 1))
            };
            at = at.checked_plus(weight, &step)?;
        }
        let mut when = self.common.clone();
        if self.is_guarded {
            let extent = self.offsets.len() as u64 * self.width;
            when.push(Guard { of: self.of.clone(), extent });
        }
        nest.cases[self.first] = Case { when, take: CaseValue::Read { source: self.source, at } };
        nest.cases.drain(self.first + 1..self.first + self.offsets.len());
        check_range(&nest).ok()?;
        Some(nest)
    }

    /// Returns the number by which the expression is divided to count groups of `period` cases.
    fn divisor(&self, period: usize) -> u64 {
        self.width * period as u64
    }
}

/// Finds the pattern of a list of offsets: pairs of a period and a weight, such that offset `n` is
/// the first offset plus the sum of `weight · ⌊n / period⌋`. Returns `None` if the pattern needs
/// more than [`MAX_TERMS`] pairs.
fn terms(offsets: &[i64]) -> Option<SmallVec<[(usize, i64); MAX_TERMS]>> {
    let mut terms: SmallVec<[(usize, i64); MAX_TERMS]> = SmallVec::new();
    loop {
        let rest = |number: usize| {
            let sum = |left: i64, &(period, weight): &(usize, i64)| {
                left.checked_sub(weight.checked_mul((number / period).try_into().ok()?)?)
            };
            let first = offsets[number].checked_sub(offsets[0])?;
            terms.iter().try_fold(first, sum)
        };
        let rests: Option<Vec<i64>> = (0..offsets.len()).map(rest).collect();
        let rests = rests?;
        let Some(period) = rests.iter().position(|&rest| rest != 0) else { return Some(terms) };
        if terms.len() == MAX_TERMS {
            return None;
        }
        terms.push((period, rests[period]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_of_patches_have_a_term_for_each_dimension() {
        let grid = |sizes: [i64; 3], strides: [i64; 3]| -> Vec<i64> {
            let mut all = vec![];
            for a in 0..sizes[0] {
                for b in 0..sizes[1] {
                    all.extend(
                        (0..sizes[2]).map(|c| 7 + a * strides[0] + b * strides[1] + c * strides[2]),
                    );
                }
            }
            all
        };
        let given = |offsets: &[i64]| terms(offsets).map(SmallVec::into_vec);
        assert_eq!(given(&grid([1, 1, 5], [0, 0, 3])), Some(vec![(1, 3)]));
        assert_eq!(given(&grid([1, 3, 3], [0, 10, 1])), Some(vec![(1, 1), (3, 7)]));
        assert_eq!(given(&grid([1, 3, 3], [0, 3, 1])), Some(vec![(1, 1)]));
        assert_eq!(given(&grid([2, 3, 4], [-100, 10, 1])), Some(vec![(1, 1), (4, 6), (12, -130)]));
        assert_eq!(given(&[0, 0, 0]), Some(vec![]));
        assert_eq!(given(&[0, 5, 1, 9, 2, 30, 4]), None);
    }
}
