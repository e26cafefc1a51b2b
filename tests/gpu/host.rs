//! Compares the GPU with the host, byte by byte, on random operations.

use std::{
    collections::{BTreeMap, HashSet},
    time::{Duration, Instant},
};

use stridec::{
    host, nest,
    schedule::{Target, schedule},
    wgsl,
};

use super::support::{
    gpu::gpu,
    random::{self, Operation, Random},
    scope::{given_cases, time},
};

#[test]
fn random_operations() {
    check_all("random_operations", 3, Duration::from_secs(40), random::operation);
}

/// Relayouts between random layouts of one shape, some of them tiled on both sides.
#[test]
fn random_relayouts() {
    check_all("random_relayouts", 5, Duration::from_secs(20), random::relayout);
}

/// Layouts with padded dimensions and tiles. The padding value also fills the padding of the tiles.
#[test]
fn random_tiles_of_padded_dimensions() {
    let time = Duration::from_secs(10);
    check_all("random_tiles_of_padded_dimensions", 9, time, random::padded_tiles);
}

/// Operations that are compiled to blocks: with channels, odd extents, padded rows, and slices in
/// both directions.
#[test]
fn random_runs() {
    check_all("random_runs", 7, Duration::from_secs(40), random::runs);
}

/// The number of different kernels that a test runs in any case.
const LEAST: usize = 100;

/// Runs different kernels until `most` is over, or `STRIDEC_CASES` of them.
fn check_all(name: &str, seed: u64, most: Duration, make: impl Fn(&mut Random) -> Operation) {
    let Some(gpu) = gpu(name) else { return };
    let mut random = Random(seed);
    let (start, cases, most) = (Instant::now(), given_cases(), time(most));
    let (mut count, mut texts) = (BTreeMap::new(), HashSet::new());
    for case in 0.. {
        let is_over = || start.elapsed() > most && texts.len() > LEAST;
        if cases.map_or_else(is_over, |cases| texts.len() as u64 == cases) {
            break;
        }
        let operation = make(&mut random);
        let Ok(nest) = nest::lower(&operation.source, &operation.destination, &operation.window)
        else {
            continue;
        };
        let target = if random.one_in(2) { Target::webgpu() } else { Target::webgpu_cpu() };
        let kernel = wgsl::emit(&schedule(nest.clone(), &target).unwrap(), &target, &[]);
        if !kernel.dispatches.is_empty() && !texts.insert(code(&kernel.wgsl)) {
            continue;
        }
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
    let (adapter, took) = (gpu.name(), start.elapsed());
    eprintln!(
        "{name}: {} distinct kernels equal to the host on {adapter} in {took:.0?}: {count:?}",
        texts.len()
    );
    assert!(cases.is_some() || texts.len() > LEAST);
}

/// Returns the text of a kernel without comments.
fn code(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or_default().trim_end()).collect()
}
