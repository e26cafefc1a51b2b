//! The host against the oracle, on random operations.

use rayon::prelude::*;
use stridec::{
    host,
    nest::{self, NestError},
};

use super::support::{
    oracle,
    random::{self, Operation, Random},
    scope::cases,
};

#[test]
fn random_operations() {
    check_all(1, cases(70_000), random::operation);
}

/// Pairs of layouts of one shape. Some pairs have tiles on both sides.
#[test]
fn random_relayouts() {
    check_all(5, cases(26_000), random::relayout);
}

/// Padded dimensions with tiles. The padding value also fills the padding of the tiles.
#[test]
fn random_tiles_of_padded_dimensions() {
    check_all(6, cases(8_000), random::padded_tiles);
}

/// Operations of ranks 6 to 8, with tensors up to 64 KiB.
#[test]
fn random_operations_of_high_rank() {
    check_all(4, cases(4_000), |random| {
        let rank = usize::try_from(6 + random.below(3)).unwrap();
        loop {
            let operation = random::operation_of_rank(random, rank);
            let Operation { source, destination, .. } = &operation;
            if source.image_bytes().max(destination.image_bytes()) <= 1 << 16 {
                break operation;
            }
        }
    });
}

/// Runs `cases` random operations. Each case has its own seed, so that a failure can be run alone.
fn check_all(seed: u64, cases: u64, make: impl Fn(&mut Random) -> Operation + Sync) {
    let check = |case| is_run(&mut Random((case << 8) + seed), case, &make);
    let run = (0..cases).into_par_iter().filter(|&case| check(case)).count() as u64;
    assert!(run >= cases / 20 * 19, "{} of {cases} refused", cases - run);
}

/// Compares one operation with the oracle. Returns false if its destination is refused.
fn is_run(random: &mut Random, case: u64, make: impl Fn(&mut Random) -> Operation) -> bool {
    let operation = make(random);
    let image = random.bytes(operation.source.image_bytes());
    let nest = match nest::lower(&operation.source, &operation.destination, &operation.window) {
        Ok(nest) => nest,
        Err(NestError::Prefix { .. }) => return false,
        Err(error) => panic!("{case}: {error}\n{operation:#?}"),
    };
    let mut out = vec![0xa5; usize::try_from(operation.destination.image_bytes()).unwrap()];
    // The first run, on other bytes, chooses the method. The second run of a small copy uses the
    // cached method.
    host::run(&nest, &vec![0x5a; image.len()], &mut out).unwrap();
    host::run(&nest, &image, &mut out).unwrap();
    let expected = oracle::run(
        &operation.source,
        &operation.destination,
        &operation.window,
        &image,
        operation.destination_shape(),
    );
    assert!(out == expected, "{case}: {operation:#?}\n{nest}\n{out:?}\n{expected:?}");
    true
}
