//! [`WholeRows`]: a kernel that finds the source of a row once and then copies the row, as in
//! `table[ids]`.

use std::sync::Arc;

use super::AdapterKind;
use crate::nest::{CopyNest, Gaps, MAX_CASES};

/// The maximum number of units, such as elements, that an invocation copies. On a CPU, a gather of
/// rows has 1.3 to 1.8 times its rate if an invocation copies 16 units instead of one
/// (`benches/NOTES.md`).
const MAX_UNITS: u64 = 16;

/// The number of units in the longest row. Longer rows were not measured.
const LONGEST_ROW: u64 = 256;

/// A division of rows among invocations. A row is all steps of the innermost axis. The same case,
/// with the same lookups, must apply to all of a row, and if it reads, the row must be contiguous
/// in its source.
///
/// A row is copied by [`lanes`](Self::lanes) invocations. Each of them finds the case of the row,
/// and copies every `lanes`-th unit of it. The guards and lookups are therefore computed once for
/// each invocation. A gather would compute them for every unit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct WholeRows {
    pub(crate) nest: Arc<CopyNest>,
    /// The number of units in a row.
    pub(crate) units: u64,
    /// The number of invocations that copy a row.
    pub(crate) lanes: u64,
}

impl WholeRows {
    /// Divides the rows of a nest with lookups. Returns `None` if units are narrower than 32 bits,
    /// if a case does not fill whole rows, if words may hold bits that are kept, or for a GPU.
    ///
    /// On a GPU, the lookups of neighbouring invocations run at the same time and read the same
    /// memory. There, one unit in each invocation is as fast as several, or faster.
    pub(super) fn new(nest: &Arc<CopyNest>, kind: AdapterKind) -> Option<Self> {
        let units = nest.whole_row()?;
        let visits_all = match nest.scattered() {
            Some(scattered) => scattered.number.is_none(),
            None => nest.gaps() == Gaps::Fill && nest.is_exact(),
        };
        let fits = kind == AdapterKind::Cpu
            && visits_all
            && nest.keeps_units()
            && nest.dst_bits() >= 32
            && !nest.lookups().is_empty()
            && nest.cases().len() <= MAX_CASES
            && (2..=LONGEST_ROW).contains(&units);
        if !fits {
            return None;
        }
        Some(Self { nest: Arc::clone(nest), units, lanes: units.div_ceil(MAX_UNITS) })
    }

    /// Returns the number of invocations.
    pub(crate) fn invocations(&self) -> u64 {
        self.nest.positions() / self.units * self.lanes
    }

    /// Returns the greatest number of units that an invocation copies.
    pub(crate) fn most_units(&self) -> u64 {
        self.units.div_ceil(self.lanes)
    }
}
