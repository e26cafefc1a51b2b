//! How long single compilations take: the 57 cases of the TTC benchmark and 10,000 random pairs of layouts.
//!
//! `cargo bench --no-default-features --bench percentiles -- [--cases 10000]`
//!
//! Each case is compiled five times, from its two shapes on, and counts with the shortest.

#![allow(unreachable_pub)]

#[path = "../tests/support/mod.rs"]
mod support;
#[path = "support/timing.rs"]
mod timing;

use std::{hint::black_box, time::Instant};

use stridec::{
    Operation, Target, Tensor,
    shape::{ElementType, Layout, Shape},
};
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
    let file: serde_json::Value =
        serde_json::from_str(include_str!("data/ttc57_24MiB.json")).expect("cases in JSON");
    let list = |value: &serde_json::Value| -> Vec<u64> {
        value.as_array().into_iter().flatten().filter_map(serde_json::Value::as_u64).collect()
    };
    let cases = file["cases"].as_array().expect("a list of cases");
    cases
        .iter()
        .map(|case| {
            let sizes = list(&case["extents_rowmajor"]);
            let order = list(&case["perm_rowmajor"]);
            let minor_to_major =
                order.iter().rev().map(|&d| usize::try_from(d).expect("a dimension"));
            let side = |layout: Option<Layout>| {
                Tensor::from(
                    Shape::new(ElementType::F32, sizes.iter().copied(), layout).expect("a shape"),
                )
            };
            (side(None), side(Some(Layout::new(minor_to_major))))
        })
        .collect()
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
