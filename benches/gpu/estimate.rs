//! Compares the estimated time of each everyday case with its measured time.

use std::{error::Error, fs::File};

use stridec::{Target, gpu::Gpu};

use crate::{Options, everyday::everyday, measure, write_json};

/// Times the everyday cases whose name contains the text of `--only`, and prints the estimate of
/// `target` beside the best time. The identity kernel, which copies as many bytes, takes turns with
/// each case. At the end prints two geometric means of the errors: a case counts 2 if it takes
/// twice the estimate or half of it. The second mean compares a case with its identity kernel, in
/// times and in estimates, so that it does not change if the whole machine is slower for a while.
pub fn measure(
    gpu: &Gpu,
    target: &Target,
    options: &Options,
    json: &mut Option<File>,
) -> Result<(), Box<dyn Error>> {
    let Options { only, repetitions, back_to_back, .. } = options;
    println!(
        "{:48} {:>10} {:>10} {:>9} {:>9}",
        "ms, best", "estimate", "measured", "ratio", "identity"
    );
    let mut logarithms = [Vec::new(), Vec::new()];
    for case in everyday()?.into_iter().filter(|case| case.name.contains(only)) {
        let estimate = case.operation.estimate(target)?.nanoseconds;
        let moved = case.operation.destination_descriptor().image_bytes();
        let identity = measure::identity(moved)?.schedule(target)?.estimate(target).nanoseconds;
        let kernels = [("stridec".into(), case.operation.compile(target)?)];
        let results =
            measure::kernels_on_gpu(gpu, &case.operation, &kernels, *repetitions, *back_to_back)?;
        write_json(json, &case.name, &gpu.name(), &results)?;
        let nanoseconds = |number: usize| results[number].best.as_secs_f64() * 1e9;
        let [identity, ratio] = [nanoseconds(1) / identity, nanoseconds(2) / estimate];
        println!(
            "{:48} {:10.3} {:10.3} {ratio:9.3} {identity:9.3}",
            case.name,
            estimate / 1e6,
            nanoseconds(2) / 1e6
        );
        logarithms[0].push(ratio.ln());
        logarithms[1].push((ratio / identity).ln());
    }
    let mean = |values: &[f64]| (values.iter().sum::<f64>() / values.len() as f64).exp();
    for (logarithms, of) in logarithms.iter().zip(["times", "times beside the identity kernel"]) {
        let errors: Vec<f64> = logarithms.iter().map(|logarithm| logarithm.abs()).collect();
        println!(
            "geometric error of {} {of}: {:.3}, most {:.3}; measured over estimate: {:.3}",
            errors.len(),
            mean(&errors),
            errors.iter().copied().fold(0.0, f64::max).exp(),
            mean(logarithms)
        );
    }
    Ok(())
}
