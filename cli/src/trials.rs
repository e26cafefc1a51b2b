//! Times all candidates of an operation, and compares their order with the order that a cost model
//! gives them. `stridec calibrate` and `benches/gpu` both use this file.
//!
//! A candidate is a possible kernel for an operation. The scheduler chooses the candidate with the
//! lowest estimated cost.

use std::{error::Error, fmt};

use stridec::{
    Operation, Target,
    gpu::Gpu,
    schedule::{Candidate, candidates},
    wgsl,
};

use super::measure::{Measured, kernels_on_gpu};

/// The candidates of one operation with their times, sorted by their cost in the target's model,
/// the cheapest first.
pub(super) struct Trial {
    /// The title of the operation.
    pub(super) title: String,
    /// The number of words of 4 bytes in the destination.
    pub(super) words: f64,
    pub(super) candidates: Vec<Candidate>,
    /// The time of each candidate, in nanoseconds for each word.
    pub(super) times: Vec<f64>,
}

/// Times every candidate for an operation that the target supports. Returns the trial, and all
/// measurements.
pub(super) fn trial(
    gpu: &Gpu,
    operation: &Operation,
    target: &Target,
    repetitions: usize,
    back_to_back: u32,
) -> Result<(Trial, Vec<Measured>), Box<dyn Error>> {
    let mut all = candidates(operation.nest().clone(), target);
    let mut kernels = Vec::with_capacity(all.len());
    all.retain(|candidate| match candidate.clone().schedule(target) {
        Ok(schedule) => {
            kernels.push((candidate.to_string(), wgsl::emit(&schedule, target, &[])));
            true
        }
        Err(_) => false,
    });
    let mut measured = kernels_on_gpu(gpu, operation, &kernels, repetitions, back_to_back)?;
    // Remove the first two measurements, which are the buffer copy and the kernel of a plain copy.
    let own = measured.split_off(2);
    #[expect(clippy::cast_precision_loss, reason = "2^53 bytes are more than a device binds")]
    let words = operation.destination_descriptor().image_bytes() as f64 / 4.0;
    let times = own.iter().map(|one| one.best.as_secs_f64() * 1e9 / words).collect();
    measured.extend(own);
    Ok((Trial { title: operation.title().to_owned(), words, candidates: all, times }, measured))
}

impl Trial {
    /// Returns the indices of two candidates: the one that `target` would choose, and the fastest
    /// one. Returns `None` if there are no candidates.
    pub(super) fn chosen_and_best(&self, target: &Target) -> Option<[usize; 2]> {
        let all = 0..self.times.len();
        let chosen = all.clone().min_by_key(|&n| self.candidates[n].cost_by(target))?;
        let best = all.min_by(|&a, &b| self.times[a].total_cmp(&self.times[b]))?;
        Some([chosen, best])
    }

    /// Returns the loss by the choice of `target`: the time of the candidate that it would choose,
    /// divided by the time of the fastest candidate. Returns 1 if there are no candidates.
    pub(super) fn regret(&self, target: &Target) -> f64 {
        let both = self.chosen_and_best(target);
        both.map_or(1.0, |[chosen, best]| self.times[chosen] / self.times[best])
    }
}

/// A measure of the agreement between a target's cost model and measured times.
#[derive(Default)]
pub(super) struct Agreement {
    /// The [`regret`](Trial::regret) of each trial.
    regrets: Vec<f64>,
    /// The number of pairs of candidates for which the cost and the time have the same order.
    agreed: u32,
    /// The number of pairs of candidates that were compared.
    pairs: u32,
}

impl Agreement {
    /// Returns the agreement over all trials.
    pub(super) fn of<'a>(trials: impl IntoIterator<Item = &'a Trial>, target: &Target) -> Self {
        let mut agreement = Self::default();
        trials.into_iter().for_each(|trial| agreement.add(trial, target));
        agreement
    }

    /// Adds one trial: its regret, and the result of comparing its candidates in pairs.
    pub(super) fn add(&mut self, trial: &Trial, target: &Target) {
        self.regrets.push(trial.regret(target));
        let times = &trial.times;
        let costs: Vec<u64> = trial.candidates.iter().map(|one| one.cost_by(target)).collect();
        // Compare only pairs whose times differ by more than a tenth, because the order of the
        // others may be noise.
        for a in 0..times.len() {
            let differ = |b: usize| (times[a] / times[b]).ln().abs() > 0.1 && costs[a] != costs[b];
            for b in (0..a).filter(|&b| differ(b)) {
                self.pairs += 1;
                self.agreed += u32::from((times[a] > times[b]) == (costs[a] > costs[b]));
            }
        }
    }
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { regrets, agreed, pairs } = self;
        #[expect(clippy::cast_precision_loss, reason = "a few hundred trials")]
        let mean = regrets.iter().map(|x| x.ln()).sum::<f64>() / regrets.len() as f64;
        let most = regrets.iter().copied().fold(1.0, f64::max);
        writeln!(
            f,
            "the choice over the best candidate, of {}: geomean {:.3}, most {most:.3}",
            regrets.len(),
            mean.exp()
        )?;
        write!(
            f,
            "pairs that differ by more than a tenth: {agreed} of {pairs} in the model's order"
        )
    }
}
