//! The GPU against the host: the same bytes, kernel by kernel.
#![cfg(feature = "gpu")]

mod support;

use std::time::{Duration, Instant};

use stridec::{
    host, nest,
    schedule::{Target, schedule},
    wgsl,
};
use support::random::{self, Random};

/// Runs random operations for about a minute, or as many as `STRIDEC_CASES` says.
#[test]
fn random_operations() {
    let Some(gpu) = support::gpu::gpu("random_operations") else { return };
    let mut random = Random(3);
    let (start, cases) = (Instant::now(), std::env::var("STRIDEC_CASES").ok());
    let cases: Option<u64> = cases.map(|cases| cases.parse().unwrap());
    let mut count = std::collections::BTreeMap::new();
    for case in 0.. {
        if cases.map_or(start.elapsed() > Duration::from_mins(1), |cases| case == cases) {
            break;
        }
        let operation = random::operation(&mut random);
        let Ok(nest) = nest::lower(&operation.source, &operation.destination, &operation.window)
        else {
            continue;
        };
        let target = if random.one_in(2) { Target::webgpu() } else { Target::webgpu_cpu() };
        let kernel = wgsl::emit(&schedule(nest.clone(), &target).unwrap(), &target, &[]);
        let image = random.bytes(operation.source.image_bytes());
        let mut expected =
            vec![0x5a; usize::try_from(operation.destination.image_bytes()).unwrap()];
        let mut out = vec![0xa5; expected.len()];
        host::run(&nest, &image, &mut expected).unwrap();
        gpu.run(&kernel, &image, &mut out).unwrap();
        assert!(
            out == expected,
            "{case}: {operation:#?}\n{nest}\n{}\n{out:?}\n{expected:?}",
            kernel.wgsl
        );
        *count.entry(kernel.strategy).or_insert(0_u64) += 1;
    }
    eprintln!("kernels equal to the host: {count:?}");
    assert!(count.values().sum::<u64>() > 100);
}
