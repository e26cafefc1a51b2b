//! How long single compilations take: the 57 cases of the TTC benchmark and 10,000 random pairs of layouts.
//!
//! `cargo bench --no-default-features --bench percentiles -- [--cases 10000]`
//!
//! Each case is compiled five times, from its two shapes on, and counts with the shortest.

#![allow(unreachable_pub)]

#[path = "support/permutation.rs"]
mod permutation;
#[path = "../tests/support/mod.rs"]
mod support;
#[path = "support/timing.rs"]
mod timing;

use std::{hint::black_box, time::Instant};

use stridec::{Operation, Target, Tensor, shape::ElementType};
use support::random::{self, Random};

fn main() {
    let cases = timing::option("--cases").map_or(10_000, |n| n.parse().expect("a number"));
    measure("ttc57", &ttc());
    let mut random = Random(13);
    let pairs = (0..cases).map(|_| random::relayout(&mut random));
    let pairs: Vec<_> =
        pairs.map(|pair| (pair.source_side.tensor(), pair.destination_side.tensor())).collect();
    measure("random pairs", &pairs);
}

/// The TTC cases of f32 at 24 MiB, which a binding of 128 MiB holds, as changes of layout.
fn ttc() -> Vec<(Tensor, Tensor)> {
    let cases = permutation::ttc(include_str!("data/ttc57_24MiB.json")).expect("cases in JSON");
    let sides = cases.iter().map(|case| case.sides(ElementType::F32).expect("two shapes"));
    sides.map(|[source, destination]| (source.into(), destination.into())).collect()
}

/// Prints the percentiles of pairs, in microseconds, without and with validation.
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
        times.sort_by(|a, b| a.0.total_cmp(&b.0));
        let at = |percent: usize| times[(times.len() - 1) * percent / 100].0;
        let (most, slowest) = times[times.len() - 1];
        let (source, destination) = &pairs[slowest];
        println!(
            "{name}, {what}: {} compiled, p50 {:.1} µs, p99 {:.1} µs, most {most:.1} µs: {source} to {destination}",
            times.len(),
            at(50),
            at(99),
        );
    }
}
