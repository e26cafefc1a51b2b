//! Fits a cost model to the measured times of candidates.
//!
//! A cost is a sum over the parts of an invocation's work. Each part is multiplied by a number of
//! the model. The time of a candidate is modelled as the same sum, plus the time of a dispatch. The
//! fit chooses the numbers with the least sum of squared relative errors, none of them negative.

use stridec::{Target, schedule::CostModel};

use super::trials::Trial;

/// The number of unknowns of the fit: the time of an operation, a time for each cost in the order
/// of [`CostModel::costs`], and the time of a dispatch.
const UNKNOWNS: usize = DISPATCH + 1;
/// The index of the time of a dispatch among the unknowns.
const DISPATCH: usize = CostModel::COSTS + 1;

/// The number of iterations of the solver.
const ROUNDS: usize = 20_000;

/// One measured candidate. All amounts are divided by the number of words, of 4 bytes each, in the
/// destination.
struct Sample {
    /// The amount of each part of the work, which the corresponding unknown multiplies.
    parts: [f64; UNKNOWNS],
    /// The measured time for one word, in nanoseconds.
    time: f64,
    /// The weight of the candidate's error. It is 1 for the fastest candidate of its operation, and
    /// less for slower ones.
    weight: f64,
}

/// A fitted model, with its times and its error.
pub(super) struct Fit {
    pub(super) model: CostModel,
    /// The time that a lane takes for one operation, in nanoseconds.
    pub(super) operation: f64,
    /// The time of a dispatch, in nanoseconds.
    pub(super) dispatch: f64,
    /// The root mean square of the relative errors.
    pub(super) error: f64,
}

/// Returns the model that fits the trials best. `lanes` are the possible numbers of lanes, each of
/// which is tried. Returns `None` only if `lanes` is empty.
pub(super) fn fit(trials: &[&Trial], target: &Target, lanes: &[u32]) -> Option<Fit> {
    let fits = lanes.iter().map(|&lanes| {
        let mut target = target.clone();
        target.model.lanes = lanes;
        let samples: Vec<Sample> =
            trials.iter().flat_map(|trial| samples(trial, &target)).collect();
        let found = solve(&samples);
        Fit { error: error(&samples, &found), ..Fit::of(found, target.model) }
    });
    fits.min_by(|a, b| a.error.total_cmp(&b.error))
}

impl Fit {
    /// Converts the times that the solver found, in nanoseconds, into the costs of a model, in
    /// thousandths of an operation. The caller sets the error.
    fn of(found: [f64; UNKNOWNS], mut model: CostModel) -> Self {
        let most = f64::from(CostModel::MAX_COST) / 1000.0;
        let largest = found[1..DISPATCH].iter().copied().fold(0.0, f64::max);
        // An operation takes some time even if memory accesses hide it.
        let operation = found[0].max(largest / most).max(f64::MIN_POSITIVE);
        for (cost, found) in model.costs_mut().into_iter().zip(&found[1..]) {
            let thousandths = (found / operation * 1000.0).round();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within")]
            let thousandths = thousandths.clamp(0.0, f64::from(CostModel::MAX_COST)) as u32;
            *cost = thousandths;
        }
        Self { model, operation, dispatch: found[DISPATCH], error: 0.0 }
    }
}

/// Returns a sample for each candidate of a trial. The amount of a part is the increase of the
/// candidate's cost when the number of that part is raised from zero, while all other numbers stay
/// zero.
fn samples(trial: &Trial, target: &Target) -> Vec<Sample> {
    let mut free = target.clone();
    free.model.costs_mut().into_iter().for_each(|cost| *cost = 0);
    let least = trial.times.iter().copied().fold(f64::INFINITY, f64::min);
    let all = trial.candidates.iter().zip(&trial.times);
    all.map(|(candidate, &time)| {
        let mut parts = [0.0; UNKNOWNS];
        #[expect(clippy::cast_precision_loss, reason = "costs of a word are small")]
        let cost = |target: &Target| candidate.cost_by(target) as f64 / 100.0;
        parts[0] = cost(&free);
        for (n, part) in parts[1..DISPATCH].iter_mut().enumerate() {
            let mut one = free.clone();
            *one.model.costs_mut()[n] = CostModel::MAX_COST;
            *part = (cost(&one) - cost(&free)) / (f64::from(CostModel::MAX_COST) / 1000.0);
        }
        parts[DISPATCH] = 1.0 / trial.words;
        // Give fast candidates more weight, because the scheduler should choose one of them.
        Sample { parts, time, weight: least / time }
    })
    .collect()
}

/// Finds the times with the least weighted sum of squared relative errors, by coordinate descent.
/// None of the times is negative.
fn solve(samples: &[Sample]) -> [f64; UNKNOWNS] {
    let mut products = [[0.0; UNKNOWNS]; UNKNOWNS];
    let mut sums = [0.0; UNKNOWNS];
    for Sample { parts, time, weight } in samples {
        for a in 0..UNKNOWNS {
            sums[a] += weight * parts[a] / time;
            for b in 0..UNKNOWNS {
                products[a][b] += weight * parts[a] * parts[b] / (time * time);
            }
        }
    }
    let mut found = [0.0; UNKNOWNS];
    for _ in 0..ROUNDS {
        for a in 0..UNKNOWNS {
            let others: f64 =
                (0..UNKNOWNS).filter(|&b| b != a).map(|b| products[a][b] * found[b]).sum();
            if products[a][a] > 0.0 {
                found[a] = ((sums[a] - others) / products[a][a]).max(0.0);
            }
        }
    }
    found
}

/// Returns the root mean square of the relative errors, with the weights of the samples.
fn error(samples: &[Sample], found: &[f64; UNKNOWNS]) -> f64 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for Sample { parts, time, weight } in samples {
        let expected: f64 = parts.iter().zip(found).map(|(part, found)| part * found).sum();
        sum += weight * (expected / time - 1.0).powi(2);
        weights += weight;
    }
    (sum / weights).sqrt()
}

#[cfg(test)]
#[expect(clippy::cast_precision_loss, reason = "costs and sizes are small")]
mod tests {
    use stridec::schedule::candidates;

    use super::*;
    use crate::calibrate::cases;

    /// The time of an operation, and the time of a dispatch for each byte that it moves, in
    /// nanoseconds. Both are large enough that rounding costs to hundredths of an operation does
    /// not hide them.
    const OPERATION: f64 = 0.4;
    const OF_DISPATCH: f64 = 0.03;

    /// Returns trials with times that the model `truth` predicts, changed by relative errors of at
    /// most `noise`.
    fn trials(truth: &Target, bytes: u64, noise: f64) -> Vec<Trial> {
        let mut state = 7_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            f64::from(u32::try_from(state >> 32).unwrap()) / f64::from(u32::MAX) * 2.0 - 1.0
        };
        let trial = |operation: stridec::Operation| {
            let candidates = candidates(operation.nest().clone(), truth);
            let words = operation.destination_descriptor().image_bytes() as f64 / 4.0;
            let dispatch = OF_DISPATCH * bytes as f64;
            let expected = candidates
                .iter()
                .map(|one| OPERATION * one.cost_by(truth) as f64 / 100.0 + dispatch / words);
            let times = expected.map(|time| time * (1.0 + noise * random())).collect();
            Trial { title: operation.title().to_owned(), words, candidates, times }
        };
        cases(bytes).unwrap().into_iter().map(trial).collect()
    }

    fn truth(mut target: Target, lanes: u32, costs: [u32; CostModel::COSTS]) -> Target {
        target.model.lanes = lanes;
        target.model.costs_mut().into_iter().zip(costs).for_each(|(to, from)| *to = from);
        target
    }

    fn devices() -> [(Target, u64, &'static [u32]); 3] {
        [
            (
                truth(Target::webgpu_cpu(), 8, [12_500, 3_250, 1_500, 125, 2_000]),
                2 << 20,
                &[4, 8, 16],
            ),
            (truth(Target::webgpu_cpu(), 4, [29_000, 18_000, 0, 0, 3_000]), 2 << 20, &[4]),
            (truth(Target::webgpu(), 32, [1_000, 500, 4_000, 280, 1_000]), 64 << 20, &[32, 64]),
        ]
    }

    #[test]
    fn known_numbers_are_recovered() {
        for (truth, bytes, lanes) in devices() {
            let trials = trials(&truth, bytes, 0.0);
            let found = fit(&trials.iter().collect::<Vec<_>>(), &truth, lanes).unwrap();
            let near = |found: f64, known: f64, what: &str| {
                assert!((found - known).abs() <= 0.02 * known + 0.02, "{what}: {found}, {known}");
            };
            assert_eq!(found.model.lanes, truth.model.lanes);
            near(found.operation / OPERATION, 1.0, "an operation");
            near(found.dispatch / (OF_DISPATCH * bytes as f64), 1.0, "a dispatch");
            assert!(found.error < 0.005, "{}", found.error);
            for ((name, found), (_, known)) in
                found.model.costs().into_iter().zip(truth.model.costs())
            {
                near(f64::from(found) / 1000.0, f64::from(known) / 1000.0, name);
            }
        }
    }

    /// Fits a model to times with errors of a tenth. On other operations, the candidates that it
    /// chooses must be within a tenth of the best ones.
    #[test]
    fn noise_changes_choices_little() {
        for (truth, bytes, lanes) in devices() {
            let all = trials(&truth, bytes, 0.1);
            let half = |wanted: usize| all.iter().skip(wanted).step_by(2).collect::<Vec<_>>();
            let mut fitted = truth.clone();
            fitted.model = fit(&half(0), &truth, lanes).unwrap().model;
            for trial in half(1) {
                assert!(trial.regret(&fitted) < 1.25, "{}", trial.regret(&fitted));
            }
        }
    }

    #[test]
    fn a_fit_is_a_target_whatever_was_measured() {
        let (truth, bytes, lanes) = devices()[0].clone();
        let mut all = trials(&truth, bytes, 0.0);
        for (n, trial) in all.iter_mut().enumerate() {
            // Test times that are all equal, and times that are nearly zero.
            trial.times.fill(if n % 2 == 0 { 1.0 } else { 1e-9 });
        }
        let mut target = truth.clone();
        target.model = fit(&all.iter().collect::<Vec<_>>(), &truth, lanes).unwrap().model;
        assert_eq!(Target::from_json(&target.to_json()), Ok(target));
    }
}
