//! Rounds: on a CPU, one invocation moves several blocks in sequence, one in each round.
//!
//! Starting an invocation takes time in a software driver. If each invocation moves several blocks,
//! the driver starts fewer invocations. On a GPU, an invocation always moves one block.

use super::{AdapterKind, Block};

/// The number of invocations that a CPU runs together in a vector. These invocations move
/// neighbouring blocks.
pub(crate) const VECTOR_LANES: u64 = 8;

/// The maximum number of rounds of an invocation. On lavapipe, 16 rounds raise a copy from 5.4 to
/// 6.3 GB/s and a transpose from 5.4 to 7.0 GB/s (`benches/NOTES.md`).
const MOST_ROUNDS: u64 = 16;

/// The minimum number of workgroups of a kernel whose invocations move several blocks each. With
/// fewer workgroups, some threads of a CPU would have no work.
const LEAST_WORKGROUPS: u64 = 64;

impl Block {
    /// Returns the number of blocks that one invocation moves. The indices of these blocks are
    /// [`VECTOR_LANES`] apart.
    ///
    /// A CPU starts the invocations of a vector together, which takes about a tenth of the time of
    /// one block. In each round, the invocations of a vector move neighbouring blocks, and the next
    /// round moves the blocks after these. Several rounds therefore do not change the order of
    /// blocks.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Returns the number of invocations in a workgroup. It is smaller if stores of several words
    /// go to unaligned rows. Each invocation then moves more, so there are fewer invocations, and
    /// smaller workgroups divide them among all cores.
    pub(super) fn workgroup(&self) -> u32 {
        if self.may_pass_ends() { 64 } else { 256 }
    }

    /// Chooses the number of rounds: the largest that leaves enough workgroups, and 1 on a GPU.
    pub(super) fn choose_rounds(&mut self, kind: AdapterKind) {
        let least = LEAST_WORKGROUPS * u64::from(self.workgroup());
        let fits = |rounds: &u64| self.numbers() >= rounds * least;
        let rounds = [MOST_ROUNDS, 8, 4, 2].into_iter().find(fits);
        match (kind, rounds) {
            (AdapterKind::Cpu, Some(rounds)) => self.set_rounds(rounds),
            _ => self.rounds = 1,
        }
    }

    /// Sets the number of rounds. If some block indices lead past the end of an axis, or if some
    /// blocks are moved unit by unit, the number becomes 1 instead.
    pub(super) fn set_rounds(&mut self, rounds: u64) {
        let have_work = self.numbers() == self.count();
        let is_one_way = !self.moves_unit_by_unit();
        self.rounds = if have_work && is_one_way { rounds } else { 1 };
    }

    /// Returns the number of invocations, and the number of them that have work.
    ///
    /// The words between two rows, called a seam, belong to no block. With one round, an additional
    /// invocation writes each seam. With several rounds, the invocations of the blocks write the
    /// seams after their blocks, because a CPU executes a branch even if no lane of the vector
    /// takes it, and so executes the branch for seams only once.
    pub(crate) fn invocations(&self) -> (u64, u64) {
        let seam = self.seam();
        if self.rounds == 1 {
            let [rows, busy] = seam.map_or([0; 2], |seam| [seam.rows, seam.busy()]);
            return (self.numbers() + rows, self.count() + busy);
        }
        let (all, group) = (self.numbers(), VECTOR_LANES * self.rounds);
        let (whole, rest) = (all / group * VECTOR_LANES, all % group);
        let working = whole + rest.min(VECTOR_LANES);
        (working, working)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::candidates, *};
    use crate::{Operation, Target};

    /// Checks that every block belongs to exactly one invocation, and that only invocations with a
    /// block count as having work.
    #[test]
    fn invocations_share_out_all_numbers() {
        let operation = Operation::relayout(
            "u8[37,64]".parse().unwrap(),
            "u8[37,64]{1,0:PAD(37,100,zero)}".parse().unwrap(),
        );
        let nest = operation.unwrap().nest().clone();
        for candidate in candidates(nest, &Target::webgpu_cpu()) {
            let Some(block) = candidate.block() else { continue };
            for rounds in [1, 2, 3, 16] {
                let mut block = block.clone();
                block.set_rounds(rounds);
                let (group, all) = (VECTOR_LANES * block.rounds(), block.numbers());
                let (numbered, working) = block.invocations();
                let first = |run: u64| run / VECTOR_LANES * group + run % VECTOR_LANES;
                if block.rounds() > 1 {
                    let busy = (0..numbered).filter(|&run| first(run) < all).count() as u64;
                    assert_eq!([busy, numbered], [working; 2]);
                    let mut numbers: Vec<u64> = (0..numbered)
                        .flat_map(|run| {
                            (0..rounds).map(move |round| first(run) + round * VECTOR_LANES)
                        })
                        .filter(|&number| number < all)
                        .collect();
                    numbers.sort_unstable();
                    assert!(numbers.into_iter().eq(0..all));
                }
            }
        }
    }
}
