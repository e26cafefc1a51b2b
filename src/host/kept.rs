//! Remembers the steps of a thread's most recent small copies, so that a repeated copy is not
//! planned again. A *step* fills a part of the destination, and contains every decision about it.
//!
//! Planning a copy of a few hundred bytes takes longer than the copy itself. The steps can be used
//! again because they depend only on the nest and the processor, unless the nest has lookups.

use std::{cell::RefCell, rc::Rc};

use super::{machine::Machine, step::CopyStep};
use crate::nest::CopyNest;

/// The number of copies whose steps a thread remembers.
const COPIES: usize = 8;

/// The maximum memory for the steps of all copies that a thread remembers, in bytes.
const BYTES: usize = 1 << 21;

/// The maximum memory for the steps of one copy, in bytes. If a copy needs more, its steps are not
/// remembered. Copies from one tiled layout to another need the most: `f32[172,257]` from
/// `{1,0:T(10,16)}` to `{0,1:T(10,16)}`.
const COPY_BYTES: usize = 1 << 20;

/// The steps of an earlier copy, with the nest and the processor that they were planned for.
pub(super) struct CachedCopy {
    machine: &'static Machine,
    nest: CopyNest,
    pub(super) steps: Vec<CopyStep>,
    /// The memory for the steps, in bytes.
    bytes: usize,
}

thread_local! {
    /// The copies that this thread remembers, the most recently used one first.
    static LAST: RefCell<Vec<Rc<CachedCopy>>> = const { RefCell::new(Vec::new()) };
}

/// Returns the remembered copy of `nest` on `machine`, and marks it as the most recently used one.
/// Returns `None` if this thread does not remember the copy.
pub(super) fn find(machine: &'static Machine, nest: &CopyNest) -> Option<Rc<CachedCopy>> {
    LAST.with_borrow_mut(|last| {
        let is_same =
            |kept: &Rc<CachedCopy>| std::ptr::eq(kept.machine, machine) && kept.nest == *nest;
        let found = last.iter().position(is_same)?;
        last[..=found].rotate_right(1);
        Some(last[0].clone())
    })
}

/// A recorder of the steps of a copy. The steps are remembered for the next copy of the same nest,
/// or printed as a plan. The list is `None` if the steps are not needed, or take too much memory.
pub(super) struct Record {
    steps: Option<Vec<CopyStep>>,
    bytes: usize,
    /// True if the recorded steps are also run; false if they are only printed.
    pub(super) runs: bool,
}

impl Record {
    /// Returns a recorder that ignores all steps.
    pub(super) fn none() -> Self {
        Self { steps: None, bytes: 0, runs: true }
    }

    /// Returns an empty recorder for a copy of `nest`. It ignores all steps if the nest has
    /// lookups, because the steps then depend on the contents of the sources.
    pub(super) fn of(nest: &CopyNest) -> Self {
        Self { steps: nest.lookups().is_empty().then(Vec::new), bytes: 0, runs: true }
    }

    /// Returns an empty recorder of steps that are printed as a plan and not run.
    pub(super) fn plan() -> Self {
        Self { steps: Some(Vec::new()), bytes: 0, runs: false }
    }

    /// Returns the recorded steps, or an empty slice if they are not kept.
    pub(super) fn steps(&self) -> &[CopyStep] {
        self.steps.as_deref().unwrap_or_default()
    }

    /// Adds a step. If the steps of a running copy exceed [`COPY_BYTES`], the whole list is
    /// dropped.
    pub(super) fn add(&mut self, step: CopyStep) {
        let Some(steps) = &mut self.steps else { return };
        self.bytes += step.bytes();
        steps.push(step);
        if self.runs && self.bytes > COPY_BYTES {
            self.steps = None;
        }
    }

    /// Remembers the steps as the most recent copy of this thread. The least recently used copies
    /// are dropped if the thread would remember more than [`COPIES`], or need more than [`BYTES`].
    pub(super) fn keep(self, machine: &'static Machine, nest: &CopyNest) {
        let Some(steps) = self.steps else { return };
        let kept = Rc::new(CachedCopy { machine, nest: nest.clone(), steps, bytes: self.bytes });
        LAST.with_borrow_mut(|last| {
            last.insert(0, kept);
            let mut bytes = 0;
            let fits = last.iter().take(COPIES).take_while(|of| {
                bytes += of.bytes;
                bytes <= BYTES
            });
            last.truncate(fits.count());
        });
    }
}

#[cfg(test)]
mod tests {
    use smallvec::SmallVec;

    use super::{super::step::FillValue, *};
    use crate::{Operation, host::run};

    fn transpose(rows: u64) -> CopyNest {
        let [from, to] = ["", "{0,1}"].map(|layout| format!("u16[{rows},3]{layout}").parse());
        let operation = Operation::relayout(from.expect("a shape"), to.expect("a shape"));
        operation.expect("a relayout").nest().clone()
    }

    /// The second run reuses the steps of the first on different bytes.
    #[test]
    fn kept_steps_copy_the_current_source() {
        let nests: Vec<CopyNest> = (2..2 * COPIES as u64).map(transpose).collect();
        for turn in 0..40 {
            let nest = &nests[turn * turn % nests.len()];
            let rows = nest.dst_units() as usize / 3;
            let source: Vec<u8> = (0..rows * 6).map(|n| (n * 7 + turn) as u8).collect();
            let mut destination = vec![0xa5; rows * 6];
            run(nest, &source, &mut destination).expect("a run");
            assert!(find(Machine::here(), nest).is_some(), "it was just run");
            for (unit, bytes) in destination.chunks_exact(2).enumerate() {
                let from = (unit % rows * 3 + unit / rows) * 2;
                assert_eq!(bytes, &source[from..from + 2], "turn {turn}, unit {unit}");
            }
        }
    }

    #[test]
    fn a_thread_remembers_the_last_copies_alone() {
        for rows in 2..40 {
            let nest = transpose(rows);
            let bytes = nest.dst_bytes() as usize;
            run(&nest, &vec![0; bytes], &mut vec![0; bytes]).expect("a run");
        }
        LAST.with_borrow(|last| assert_eq!(last.len(), COPIES));
        let is_kept = |rows| find(Machine::here(), &transpose(rows)).is_some();
        assert!(is_kept(39) && !is_kept(2));
    }

    #[test]
    fn steps_of_many_bytes_are_not_kept() {
        let mut record = Record::of(&transpose(2));
        let fill = || CopyStep::Fill { value: FillValue::Bits(0), axes: SmallVec::new(), to: 0 };
        let count = COPY_BYTES / fill().bytes();
        (0..count).for_each(|_| record.add(fill()));
        assert!(record.steps.is_some());
        (0..2).for_each(|_| record.add(fill()));
        assert!(record.steps.is_none());
    }
}
