//! Remembers a thread's most recent copies, so that a repeated copy is not planned again.
//!
//! A thread remembers all steps of a small copy. A *step* fills a part of the destination, and
//! contains every decision about it. Planning a copy of a few hundred bytes takes longer than the
//! copy itself. The steps can be used again because they depend only on the nest and the processor,
//! unless the nest has lookups. The steps of a large copy also depend on the number of threads and
//! on the place of its destination in a cache line. They are remembered together with its plans,
//! which serve other numbers of threads and other places too.

use std::{cell::RefCell, collections::HashSet, rc::Rc, sync::Arc};

use super::{machine::Machine, step::CopyStep, task::Plans};
use crate::nest::CopyNest;

/// The number of copies that a thread remembers.
const COPIES: usize = 8;

/// The maximum memory for the steps and plans of all copies that a thread remembers, in bytes.
const BYTES: usize = 1 << 21;

/// The maximum memory for the steps and plans of one copy, in bytes. If a copy needs more, it is
/// not remembered. Copies from one tiled layout to another need the most: `f32[172,257]` from
/// `{1,0:T(10,16)}` to `{0,1:T(10,16)}`.
pub(super) const COPY_BYTES: usize = 1 << 20;

/// An earlier copy, with the nest and the processor that it was planned for.
struct CachedCopy {
    machine: &'static Machine,
    nest: CopyNest,
    kept: Kept,
    /// The memory for the steps and plans, in bytes.
    bytes: usize,
}

impl CachedCopy {
    /// Returns true if this is a copy of `nest` on `machine`.
    fn is_of(&self, machine: &'static Machine, nest: &CopyNest) -> bool {
        std::ptr::eq(self.machine, machine) && self.nest == *nest
    }
}

/// The part of a copy that is remembered.
#[derive(Clone)]
enum Kept {
    Steps(Rc<Vec<CopyStep>>),
    Plans(Arc<Plans>),
}

thread_local! {
    /// The copies that this thread remembers, the most recently used one first.
    static LAST: RefCell<Vec<CachedCopy>> = const { RefCell::new(Vec::new()) };
}

/// Returns the remembered steps of a small copy of `nest` on `machine`. Returns `None` if this
/// thread does not remember the copy.
pub(super) fn steps(machine: &'static Machine, nest: &CopyNest) -> Option<Rc<Vec<CopyStep>>> {
    match find(machine, nest)? {
        Kept::Steps(steps) => Some(steps),
        Kept::Plans(_) => None,
    }
}

/// Returns the remembered plans of a large copy of `nest` on `machine`. Returns `None` if this
/// thread does not remember the copy.
pub(super) fn plans(machine: &'static Machine, nest: &CopyNest) -> Option<Arc<Plans>> {
    match find(machine, nest)? {
        Kept::Plans(plans) => Some(plans),
        Kept::Steps(_) => None,
    }
}

/// Remembers the plans and the steps of a large copy, unless they depend on lookups. If they take
/// too much memory, the steps are dropped, and then the plans.
pub(super) fn keep_plans(machine: &'static Machine, nest: &CopyNest, plans: Arc<Plans>) {
    if nest.lookups().is_empty() {
        let mut bytes = plans.bytes();
        if bytes > COPY_BYTES {
            plans.drop_steps();
            bytes = plans.bytes();
        }
        let fits = bytes <= COPY_BYTES;
        let (plans, bytes) = if fits { (plans, bytes) } else { Default::default() };
        keep(machine, nest, Kept::Plans(plans), bytes);
    }
}

/// Returns what is remembered of the copy of `nest` on `machine`, and marks it as the most recently
/// used one.
fn find(machine: &'static Machine, nest: &CopyNest) -> Option<Kept> {
    LAST.with_borrow_mut(|last| {
        let found = last.iter().position(|of| of.is_of(machine, nest))?;
        last[..=found].rotate_right(1);
        Some(last[0].kept.clone())
    })
}

/// Remembers a copy as the most recent one of this thread. The least recently used copies are
/// dropped if the thread would remember more than [`COPIES`], or need more than [`BYTES`].
fn keep(machine: &'static Machine, nest: &CopyNest, kept: Kept, bytes: usize) {
    LAST.with_borrow_mut(|last| {
        // A copy that is remembered already has been found, and so is usually the first one.
        let nest = match last.iter().position(|of| of.is_of(machine, nest)) {
            Some(found) => last.remove(found).nest,
            None => nest.clone(),
        };
        last.insert(0, CachedCopy { machine, nest, kept, bytes });
        let mut bytes = 0;
        let fits = last.iter().take(COPIES).take_while(|of| {
            bytes += of.bytes;
            bytes <= BYTES
        });
        last.truncate(fits.count());
    });
}

/// A recorder of the steps of a copy. The steps are remembered for the next copy of the same nest,
/// or printed as a plan. The list is `None` if the steps are not needed, or take too much memory.
pub(super) struct Record {
    steps: Option<Vec<CopyStep>>,
    /// The memory for the steps and their plans, in bytes.
    bytes: usize,
    /// The addresses of these plans. A plan that several steps share counts once.
    plans: HashSet<usize>,
    /// True if the recorded steps are also run; false if they are only printed.
    pub(super) runs: bool,
}

impl Record {
    /// Returns a recorder that ignores all steps.
    pub(super) fn none() -> Self {
        Self::new(None, true)
    }

    /// Returns an empty recorder for a copy of `nest`. It ignores all steps if the nest has
    /// lookups, because the steps then depend on the contents of the sources.
    pub(super) fn of(nest: &CopyNest) -> Self {
        Self::new(nest.lookups().is_empty().then(Vec::new), true)
    }

    /// Returns an empty recorder of steps that are printed as a plan and not run.
    pub(super) fn plan() -> Self {
        Self::new(Some(Vec::new()), false)
    }

    fn new(steps: Option<Vec<CopyStep>>, runs: bool) -> Self {
        Self { steps, bytes: 0, plans: HashSet::new(), runs }
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
        if let Some((address, bytes)) = step.plan()
            && self.plans.insert(address)
        {
            self.bytes += bytes;
        }
        steps.push(step);
        if self.runs && self.bytes > COPY_BYTES {
            self.steps = None;
        }
    }

    /// Returns the recorded steps, or `None` if they are not kept.
    pub(super) fn into_steps(self) -> Option<Vec<CopyStep>> {
        self.steps
    }

    /// Remembers the steps as the most recent copy of this thread.
    pub(super) fn keep(self, machine: &'static Machine, nest: &CopyNest) {
        let Some(steps) = self.steps else { return };
        keep(machine, nest, Kept::Steps(Rc::new(steps)), self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use smallvec::SmallVec;

    use super::{
        super::{plain, step::FillValue, stream::LINE, task::ShareNumber},
        *,
    };
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

    /// Later runs of a large copy reuse the steps of its shares, with as many threads and a
    /// destination at the same place of a cache line.
    #[test]
    fn kept_steps_of_shares_copy_the_current_source() {
        let operation = Operation::relayout(
            "u8[701,1003]{1,0:T(3,3)}".parse().expect("a shape"),
            "u8[701,1003]{0,1:T(8,2)}".parse().expect("a shape"),
        );
        let nest = operation.expect("a relayout").nest().clone();
        let length = nest.src_bytes() as usize;
        let mut buffer = vec![0; nest.dst_bytes() as usize + 2 * LINE];
        let start = buffer.as_ptr().addr().wrapping_neg() % LINE;
        let mut expected = vec![0; nest.dst_bytes() as usize];
        for threads in 1..=3 {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            // A thread of the pool runs all copies, so that it remembers the earlier ones.
            pool.expect("threads").install(|| {
                for (turn, place) in [0, 0, 5, 5, 0].into_iter().enumerate() {
                    let share = ShareNumber { of: (threads, place), number: 0 };
                    let steps = || plans(Machine::here(), &nest).and_then(|of| of.steps(share));
                    let before = steps();
                    assert_eq!(before.is_some(), [1, 3].contains(&turn), "{threads} {turn}");
                    let source: Vec<u8> =
                        (0..length).map(|n| (n * 7 + n / 251 + turn) as u8).collect();
                    plain::fill(&nest, &[&source], &mut expected);
                    let destination = &mut buffer[start + place..][..expected.len()];
                    run(&nest, &source, destination).expect("a run");
                    assert!(*destination == expected, "{threads} {turn}");
                    let after = steps().expect("it was just run");
                    assert!(before.is_none_or(|before| Arc::ptr_eq(&before, &after)), "{turn}");
                }
            });
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
