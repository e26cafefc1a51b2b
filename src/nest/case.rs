//! [`Case`]: an entry of the ordered list that gives each position of a nest its value. A position
//! is one combination of the loop counters, and a *unit* is the data that is copied at one
//! position, such as an element.
//!
//! The list works like a chain of `if … else if …`. For example, a concatenation of 3 and 2 columns
//! is `if a1 < 3: source 0 at 3·a0 + a1`, then `source 1 at 2·a0 + a1 - 3`. Because the order
//! decides, no case has to repeat the opposite of an earlier condition.

use std::fmt;

use smallvec::SmallVec;

use super::{Affine, Gaps};

/// A condition on the loop counters of a nest: `0 <= of < extent`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Guard {
    /// The expression that is compared.
    pub of: Affine,
    /// The exclusive upper bound.
    pub extent: u64,
}

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} < {}", self.of, self.extent)
    }
}

/// An entry of a nest's list of cases. It applies to a position if all its guards hold and no
/// earlier case applies.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Case {
    /// The guards, all of which must hold.
    pub when: Vec<Guard>,
    /// The value of the positions to which the case applies.
    pub take: CaseValue,
}

/// The value that a case gives to a position.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CaseValue {
    /// A unit that is copied from a source.
    Read {
        /// The index of the source in [`CopyNest::sources`](super::CopyNest::sources).
        source: usize,
        /// The offset of the unit from the start of the source, in units.
        at: Affine,
    },
    /// Fixed bits, as wide as a unit of the destination.
    Bits(u128),
}

/// The value of one position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PositionValue {
    /// A unit that is copied from a source.
    Unit {
        /// The index of the source in [`CopyNest::sources`](super::CopyNest::sources).
        source: usize,
        /// The offset of the unit from the start of the source, in units.
        unit: u64,
    },
    /// Fixed bits, such as a padding value; zero if no case applies and gaps are filled.
    Bits(u128),
    /// The bits that the destination has, if no case applies and gaps are kept.
    Kept,
}

impl PositionValue {
    /// Returns the value of a position to which no case applies.
    pub(crate) fn outside(gaps: Gaps) -> Self {
        match gaps {
            Gaps::Fill => Self::Bits(0),
            Gaps::Keep => Self::Kept,
        }
    }

    /// Returns the number of the source unit that is read, or `None` if no unit is read.
    #[must_use]
    pub fn unit(self) -> Option<u64> {
        match self {
            Self::Unit { unit, .. } => Some(unit),
            Self::Bits(_) | Self::Kept => None,
        }
    }
}

/// A test before an element is copied: guards that must all hold, and the bits that are written if
/// any of them fails.
#[derive(Clone, Debug)]
pub(crate) struct Refusal<'a> {
    /// The guards, in the order in which a kernel tests them.
    pub(crate) guards: SmallVec<[&'a Guard; 4]>,
    /// The bits that are written if any guard fails; `None` if the destination keeps its bits.
    pub(crate) bits: Option<u128>,
}

/// Returns the cases of a nest as a series of tests, each with the bits that are written if it
/// fails. If all tests pass, the source is read. A padded destination, for example, has one test:
/// places outside the array take the padding value.
///
/// Returns `None` unless only the first case reads and each case has all guards of the next one.
pub(super) fn refusals(cases: &[Case], gaps: Gaps) -> Option<SmallVec<[Refusal<'_>; 2]>> {
    let asks_more = |pair: &[Case]| pair[0].asks_all_of(&pair[1]);
    let (first, rest) = cases.split_first()?;
    let one_reads = first.reads() && !rest.iter().any(Case::reads);
    if !one_reads || !cases.windows(2).all(asks_more) {
        return None;
    }
    let mut refusals = SmallVec::new();
    let mut bits = match gaps {
        Gaps::Fill => Some(0),
        Gaps::Keep => None,
    };
    let mut asked: &[Guard] = &[];
    for case in cases.iter().rev() {
        let guards: SmallVec<[&Guard; 4]> =
            case.when.iter().filter(|guard| !asked.contains(guard)).collect();
        if !guards.is_empty() {
            refusals.push(Refusal { guards, bits });
        }
        asked = &case.when;
        if let CaseValue::Bits(given) = case.take {
            bits = Some(given);
        }
    }
    Some(refusals)
}

impl Case {
    /// Returns true if the case reads a source.
    pub(crate) fn reads(&self) -> bool {
        matches!(self.take, CaseValue::Read { .. })
    }

    /// Returns true if the case has every guard of `other`.
    pub(super) fn asks_all_of(&self, other: &Self) -> bool {
        other.when.iter().all(|guard| self.when.contains(guard))
    }
}
