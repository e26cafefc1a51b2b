//! Every kernel passes naga.

mod support;

use stridec::{
    nest,
    schedule::{Target, schedule},
    wgsl,
};
use support::random::{self, Random};

#[test]
fn random_kernels_are_valid() {
    let mut random = Random(2);
    let mut count = std::collections::BTreeMap::new();
    for case in 0..std::env::var("STRIDEC_CASES").map_or(3_000, |n| n.parse().unwrap()) {
        let operation = random::operation(&mut random);
        let Ok(nest) = nest::lower(&operation.source, &operation.destination, &operation.window)
        else {
            continue;
        };
        for target in [Target::webgpu(), Target::webgpu_cpu()] {
            let schedule = schedule(nest.clone(), &target).unwrap();
            let kernel = wgsl::emit(&schedule, &target, &[]);
            *count.entry(kernel.strategy.clone()).or_insert(0) += 1;
            if kernel.dispatches.is_empty() {
                continue;
            }
            if let Err(error) = wgsl::validate(&kernel.wgsl) {
                panic!("{case}: {error}\n{}\n{nest}", kernel.wgsl);
            }
        }
    }
    eprintln!("{count:?}");
}
