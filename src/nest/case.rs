//! The value of a position: the decision list of [`Case`]s.

use std::fmt;

use smallvec::SmallVec;

use super::Affine;

/// A condition: it holds if `0 <= of < extent`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Guard {
    /// The form that is compared.
    pub of: Affine,
    /// The first value past the end.
    pub extent: u64,
}

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} < {}", self.of, self.extent)
    }
}

/// One entry of a nest's decision list: a position takes `take` if all guards hold and no earlier
/// case applies.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Case {
    /// The guards.
    pub when: Vec<Guard>,
    /// The value of the position.
    pub take: CaseValue,
}

/// The value of a case: a form of the position.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CaseValue {
    /// A unit of a source.
    Read {
        /// The number of the source.
        source: usize,
        /// The number of the unit, from the start of the source's image.
        at: Affine,
    },
    /// These bits, as wide as a unit of the destination.
    Bits(u128),
}

/// The value of one position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PositionValue {
    /// A unit of a source.
    Unit {
        /// The number of the source.
        source: usize,
        /// The number of the unit, from the start of the source's image.
        unit: u64,
    },
    /// These bits: a padding value, or zero if no case applies.
    Bits(u128),
}

impl PositionValue {
    /// Returns the unit of the source that is read; `None` for bits.
    #[must_use]
    pub fn unit(self) -> Option<u64> {
        match self {
            Self::Unit { unit, .. } => Some(unit),
            Self::Bits(_) => None,
        }
    }
}

/// Guards, and the bits that a position takes if one of them fails.
#[derive(Clone, Debug)]
pub(crate) struct Refusal<'a> {
    /// The guards, in the order of the nest.
    pub(crate) guards: SmallVec<[&'a Guard; 4]>,
    /// The bits that the position takes if any guard fails.
    pub(crate) bits: u128,
}

/// Returns the cases as refusals, to be tested in order before the first case applies. `None` if a
/// case after the first reads, or a case lacks a guard of the next one.
pub(super) fn refusals(cases: &[Case]) -> Option<SmallVec<[Refusal<'_>; 2]>> {
    let asks_more = |pair: &[Case]| pair[0].asks_all_of(&pair[1]);
    let (first, rest) = cases.split_first()?;
    let one_reads = first.reads() && !rest.iter().any(Case::reads);
    if !one_reads || !cases.windows(2).all(asks_more) {
        return None;
    }
    let mut refusals = SmallVec::new();
    let (mut asked, mut bits): (&[Guard], _) = (&[], 0);
    for case in cases.iter().rev() {
        let guards: SmallVec<[&Guard; 4]> =
            case.when.iter().filter(|guard| !asked.contains(guard)).collect();
        if !guards.is_empty() {
            refusals.push(Refusal { guards, bits });
        }
        asked = &case.when;
        if let CaseValue::Bits(given) = case.take {
            bits = given;
        }
    }
    Some(refusals)
}

impl Case {
    /// Returns true if it reads a source.
    pub(crate) fn reads(&self) -> bool {
        matches!(self.take, CaseValue::Read { .. })
    }

    /// Returns true if it has every guard of `other`.
    pub(super) fn asks_all_of(&self, other: &Self) -> bool {
        other.when.iter().all(|guard| self.when.contains(guard))
    }
}
