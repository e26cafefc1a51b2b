//! What a position of a nest takes: the decision list of [`Case`]s.

use std::fmt;

use smallvec::SmallVec;

use super::Affine;

/// Holds where `0 <= of < extent`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Guard {
    /// What is compared.
    pub of: Affine,
    /// The first value past the end.
    pub extent: u64,
}

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} < {}", self.of, self.extent)
    }
}

/// One entry of a nest's decision list: where all guards hold, and no earlier case applied, a position takes this.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Case {
    /// What must hold.
    pub when: Vec<Guard>,
    /// What the position takes then.
    pub take: CaseValue,
}

/// What a case gives.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CaseValue {
    /// A unit of a source.
    Read {
        /// The source, by its number.
        source: usize,
        /// Which unit, counted from the start of the source's image.
        at: Affine,
    },
    /// These bits, as wide as a unit of the destination.
    Bits(u128),
}

/// What one position takes, decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PositionValue {
    /// A unit of a source.
    Unit {
        /// The source, by its number.
        source: usize,
        /// Which unit, counted from the start of the source's image.
        unit: u64,
    },
    /// These bits: a padding value, or zero where no case holds.
    Bits(u128),
}

impl PositionValue {
    /// The unit of a source, where one is read.
    #[must_use]
    pub fn unit(self) -> Option<u64> {
        match self {
            Self::Unit { unit, .. } => Some(unit),
            Self::Bits(_) => None,
        }
    }
}

/// Guards, and the bits that a position takes where one of them fails.
#[derive(Clone, Debug)]
pub(crate) struct Refusal<'a> {
    /// The guards, in the order of the nest.
    pub(crate) guards: SmallVec<[&'a Guard; 4]>,
    /// What the position takes where any of them fails.
    pub(crate) bits: u128,
}

/// A list of cases as the refusals that lead to its first one, to be asked in order; `None` where the list is none: where
/// another case than the first reads, or a case does not ask all that the next one asks.
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
    /// Whether it reads a source.
    pub(crate) fn reads(&self) -> bool {
        matches!(self.take, CaseValue::Read { .. })
    }

    /// Whether it asks every guard that `other` asks.
    pub(super) fn asks_all_of(&self, other: &Self) -> bool {
        other.when.iter().all(|guard| self.when.contains(guard))
    }
}
