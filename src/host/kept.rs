//! The steps of the last small copies of a thread, for when it makes them again.
//!
//! A copy of some hundred bytes takes less time than to find out its boxes and plans. Those depend on the nest alone where
//! it has no lookups, so that a thread that runs an equal nest again takes the same steps.

use std::{cell::RefCell, rc::Rc};

use super::step::CopyStep;
use crate::nest::CopyNest;

/// Copies that a thread remembers.
const COPIES: usize = 8;

/// Bytes that the steps of one may take, at the most.
const BYTES: usize = 1 << 18;

/// A copy with its steps.
pub(super) struct Kept {
    nest: CopyNest,
    pub(super) steps: Vec<CopyStep>,
}

thread_local! {
    /// The last one first.
    static LAST: RefCell<Vec<Rc<Kept>>> = const { RefCell::new(Vec::new()) };
}

/// The copy of a nest, where this thread remembers it.
pub(super) fn find(nest: &CopyNest) -> Option<Rc<Kept>> {
    LAST.with_borrow_mut(|last| {
        let found = last.iter().position(|kept| kept.nest == *nest)?;
        last[..=found].rotate_right(1);
        Some(last[0].clone())
    })
}

/// The steps of a copy while they are taken; none where they are not to be kept.
pub(super) struct Record {
    steps: Option<Vec<CopyStep>>,
    bytes: usize,
}

impl Record {
    /// Nothing is written down.
    pub(super) fn none() -> Self {
        Self { steps: None, bytes: 0 }
    }

    /// The steps of a nest are, where they are the same whatever its sources hold.
    pub(super) fn of(nest: &CopyNest) -> Self {
        Self { steps: nest.lookups().is_empty().then(Vec::new), bytes: 0 }
    }

    /// Adds a step. Where all of them are too many, none is kept.
    pub(super) fn add(&mut self, step: CopyStep) {
        let Some(steps) = &mut self.steps else { return };
        self.bytes += step.bytes();
        steps.push(step);
        if self.bytes > BYTES {
            self.steps = None;
        }
    }

    /// Remembers the steps as those of a nest, in place of those that were taken least recently.
    pub(super) fn keep(self, nest: &CopyNest) {
        let Some(steps) = self.steps else { return };
        let kept = Rc::new(Kept { nest: nest.clone(), steps });
        LAST.with_borrow_mut(|last| {
            last.truncate(COPIES - 1);
            last.insert(0, kept);
        });
    }
}

#[cfg(test)]
mod tests {
    use smallvec::SmallVec;

    use super::*;
    use crate::{Operation, host::run};

    fn transpose(rows: u64) -> CopyNest {
        let [from, to] = ["", "{0,1}"].map(|layout| format!("u16[{rows},3]{layout}").parse());
        let operation = Operation::relayout(from.expect("a shape"), to.expect("a shape"));
        operation.expect("a relayout").nest().clone()
    }

    /// The second run takes the steps of the first, on other bytes, whatever was run between.
    #[test]
    fn steps_that_are_taken_again_copy_what_the_source_then_holds() {
        let nests: Vec<CopyNest> = (2..2 * COPIES as u64).map(transpose).collect();
        for turn in 0..40 {
            let nest = &nests[turn * turn % nests.len()];
            let rows = nest.dst_units() as usize / 3;
            let source: Vec<u8> = (0..rows * 6).map(|n| (n * 7 + turn) as u8).collect();
            let mut destination = vec![0xa5; rows * 6];
            run(nest, &source, &mut destination).expect("a run");
            assert!(find(nest).is_some(), "it was just run");
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
        assert!(find(&transpose(39)).is_some() && find(&transpose(2)).is_none());
    }

    #[test]
    fn steps_of_many_bytes_are_not_kept() {
        let mut record = Record::of(&transpose(2));
        let fill = || CopyStep::Fill { value: 0, axes: SmallVec::new(), to: 0 };
        let count = BYTES / fill().bytes();
        (0..count).for_each(|_| record.add(fill()));
        assert!(record.steps.is_some());
        (0..2).for_each(|_| record.add(fill()));
        assert!(record.steps.is_none());
    }
}
