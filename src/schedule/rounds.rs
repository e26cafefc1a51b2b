//! Rounds: the blocks that one invocation of a CPU moves, one after the other.

use super::{AdapterKind, Block};

/// Invocations whose blocks lie beside each other: those of a vector.
pub(crate) const NEIGHBOURS: u64 = 8;

/// The most rounds of an invocation.
const MOST: u64 = 16;

/// Invocations that a kernel keeps, as 64 workgroups of 256, so that every thread of a CPU has some.
const LEAST_INVOCATIONS: u64 = 1 << 14;

impl Block {
    /// How many blocks an invocation moves, one after the other, each [`NEIGHBOURS`] numbers after the one before.
    ///
    /// A CPU starts the invocations of a vector together, which takes about a tenth of the time of one block. The order of the
    /// blocks stays: those of a vector follow each other, round by round.
    #[doc(hidden)]
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Chooses the rounds, as many as leave enough invocations.
    pub(super) fn choose_rounds(&mut self, kind: AdapterKind) {
        let fits = |rounds: &u64| self.all_numbers() >= rounds * LEAST_INVOCATIONS;
        let rounds = [MOST, 8, 4, 2].into_iter().find(fits);
        match (kind, rounds) {
            (AdapterKind::Cpu, Some(rounds)) => self.set_rounds(rounds),
            _ => self.rounds = 1,
        }
    }

    /// Takes so many rounds, where every number has work and is moved in one way; else one.
    pub(super) fn set_rounds(&mut self, rounds: u64) {
        let have_work = self.numbers() == self.count();
        let is_one_way = !self.moves_unit_by_unit();
        self.rounds = if have_work && is_one_way { rounds } else { 1 };
    }

    /// Numbers of blocks and of seams.
    pub(crate) fn all_numbers(&self) -> u64 {
        self.numbers() + self.seam().map_or(0, |seam| seam.rows)
    }

    /// Invocations that have a number, and those that have work: blocks and seams.
    pub(crate) fn invocations(&self) -> (u64, u64) {
        let all = self.all_numbers();
        if self.rounds == 1 {
            return (all, self.count() + self.seam().map_or(0, |seam| seam.busy()));
        }
        let group = NEIGHBOURS * self.rounds;
        let (whole, rest) = (all / group * NEIGHBOURS, all % group);
        (all.div_ceil(group) * NEIGHBOURS, whole + rest.min(NEIGHBOURS))
    }
}

#[cfg(test)]
mod tests {
    use super::{super::candidates, *};
    use crate::{Operation, Target};

    /// Every number is some invocation's, once, and those without one are not counted.
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
                let (group, all) = (NEIGHBOURS * block.rounds(), block.all_numbers());
                let (numbered, working) = block.invocations();
                let first = |run: u64| run / NEIGHBOURS * group + run % NEIGHBOURS;
                if block.rounds() > 1 {
                    let busy = (0..numbered).filter(|&run| first(run) < all).count() as u64;
                    assert_eq!(busy, working);
                    let mut numbers: Vec<u64> = (0..numbered)
                        .flat_map(|run| {
                            (0..rounds).map(move |round| first(run) + round * NEIGHBOURS)
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
