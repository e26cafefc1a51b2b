//! Times single compilations: the 57 cases of the TTC benchmark, 10,000 random pairs of layouts,
//! and the modules of `tests/data/hlo_cases.jsonl`, which are compiled from their serialized protos
//! to the WGSL of every kernel.
//!
//! `cargo bench --no-default-features --bench percentiles -- [--cases 10000]`
//!
//! Each pair is compiled five times, starting from its two shapes, and the shortest time counts.

#![allow(unreachable_pub)]

#[path = "support/permutation.rs"]
mod permutation;
#[path = "../tests/support/mod.rs"]
mod support;
#[path = "support/timing.rs"]
mod timing;

use std::{hint::black_box, time::Instant};

use stridec::{
    Operation, Target, Tensor,
    hlo::Module,
    program::Program,
    shape::{ElementType, Shape},
};
use support::{
    hlo_cases::hlo_cases,
    random::{self, Random},
};

fn main() {
    let cases = timing::option("--cases").map_or(10_000, |n| n.parse().expect("a number"));
    measure("ttc57", &ttc());
    let mut random = Random(13);
    let pairs = (0..cases).map(|_| random::relayout(&mut random));
    let pairs: Vec<_> =
        pairs.map(|pair| (pair.source_side.tensor(), pair.destination_side.tensor())).collect();
    measure("random pairs", &pairs);
    modules();
}

/// Prints the percentiles for modules, with and without validation.
fn modules() {
    let cases = hlo_cases();
    let target = Target::webgpu();
    for (what, validated) in [("text", false), ("validated", true)] {
        let mut times: Vec<(f64, usize)> = Vec::new();
        for (number, case) in cases.iter().enumerate() {
            let compile = || {
                let start = Instant::now();
                let module = Module::decode(&case.bytes).ok()?;
                let program = Program::lower(&module).ok()?;
                let kernels = if validated {
                    program.compile(&target)
                } else {
                    program.compile_unvalidated(&target)
                };
                let took = start.elapsed().as_secs_f64() * 1e6;
                black_box(kernels).ok().map(|_| took)
            };
            let best = (0..5).filter_map(|_| compile()).min_by(f64::total_cmp);
            times.extend(best.map(|best| (best, number)));
        }
        print_percentiles("modules", what, times, |number| cases[number].id.clone());
    }
}

/// Returns the TTC cases of f32 at 24 MiB as changes of layout. Each tensor fits a binding of 128
/// MiB.
fn ttc() -> Vec<(Tensor, Tensor)> {
    let cases = permutation::ttc(include_str!("data/ttc57_24MiB.json")).expect("cases in JSON");
    let sides = cases.iter().map(|case| case.sides(ElementType::F32).expect("two shapes"));
    let tensor = |shape: Shape| Tensor::try_from(shape).expect("a shape with memory");
    sides.map(|[source, destination]| (tensor(source), tensor(destination))).collect()
}

/// Prints the percentiles for pairs of layouts in microseconds, with and without validation.
fn measure(name: &str, pairs: &[(Tensor, Tensor)]) {
    let target = Target::webgpu();
    for (what, validated) in [("text", false), ("validated", true)] {
        let mut times: Vec<(f64, usize)> = Vec::new();
        for (number, (source, destination)) in pairs.iter().enumerate() {
            let compile = || {
                let (source, destination) = (source.clone(), destination.clone());
                let start = Instant::now();
                let operation = Operation::relayout(source, destination).ok()?;
                let kernel = if validated {
                    operation.compile(&target)
                } else {
                    operation.compile_unvalidated(&target)
                };
                let took = start.elapsed().as_secs_f64() * 1e6;
                black_box(kernel).ok().map(|_| took)
            };
            let best = (0..5).filter_map(|_| compile()).min_by(f64::total_cmp);
            times.extend(best.map(|best| (best, number)));
        }
        print_percentiles(name, what, times, |number| {
            let (source, destination) = &pairs[number];
            format!("{source} to {destination}")
        });
    }
}

/// Prints percentiles of times in microseconds, with the number of the case of each.
fn print_percentiles(
    name: &str,
    what: &str,
    mut times: Vec<(f64, usize)>,
    describe: impl Fn(usize) -> String,
) {
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    let at = |percent: usize| times[(times.len() - 1) * percent / 100].0;
    let (most, slowest) = times[times.len() - 1];
    println!(
        "{name}, {what}: {} compiled, p50 {:.1} µs, p99 {:.1} µs, most {most:.1} µs: {}",
        times.len(),
        at(50),
        at(99),
        describe(slowest),
    );
}
