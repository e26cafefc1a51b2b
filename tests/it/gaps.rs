//! Destinations with gaps that are kept: elements are written, and every other bit stays unchanged.

use rayon::prelude::*;
use stridec::{
    Operation, Tensor, host,
    internals::keep_gaps,
    nest::{self, Gaps, NestError},
};

use super::support::{
    oracle,
    random::{self, Random},
    scope::cases,
};

/// Compares one operation with the oracle, on a destination with random bytes. Returns false if the
/// operation is refused.
fn is_kept(random: &mut Random, case: u64) -> bool {
    let makes = [random::operation, random::relayout, random::runs, random::padded_tiles];
    let operation = makes[usize::try_from(case % 4).unwrap()](random);
    let random::Operation { source, destination, window, .. } = &operation;
    let nest = match nest::lower(source, destination, window) {
        Ok(nest) => keep_gaps(nest),
        Err(NestError::Prefix { .. }) => return false,
        Err(error) => panic!("{case}: {error}\n{operation:#?}"),
    };
    let image = random.bytes(source.image_bytes());
    let before = random.bytes(destination.image_bytes());
    let (mut out, mut expected) = (before.clone(), before.clone());
    // The second run of a small copy uses the plan that the first run has cached.
    host::run(&nest, &vec![0x5a; image.len()], &mut out).unwrap();
    host::run(&nest, &image, &mut out).unwrap();
    oracle::keep(source, destination, window, &image, &mut expected);
    let at = (0..out.len()).find(|&at| out[at] != expected[at]);
    assert!(at.is_none(), "{case}: byte {at:?}\n{operation:#?}\n{nest}\n{before:?}");
    true
}

#[test]
fn random_operations_keep_every_other_bit() {
    let cases = cases(4_000);
    let run = (0..cases)
        .into_par_iter()
        .filter(|&case| is_kept(&mut Random((case << 8) + 38), case))
        .count() as u64;
    assert!(run >= cases / 20 * 19, "{} of {cases} refused", cases - run);
}

/// Destinations that several threads write, some of them in the same cache lines, and destinations
/// with elements below a byte.
#[test]
fn threads_keep_every_other_bit() {
    for (number, (from, to)) in (0..).zip([
        ("u4[1021,1031]{1,0:E(4)}", "u4[1021,1031]{:E(4)} strided<[1033,1], offset: 3>"),
        ("u4[1021,1031]{1,0:E(4)}", "u4[1021,1031]{:E(4)} strided<[1,1023], offset: 1>"),
        ("u1[2047,2051]{1,0:E(1)}", "u1[2047,2051]{:E(1)} strided<[2053,1], offset: 5>"),
        ("u8[1021,1031]", "u8[1021,1031] strided<[1,1024], offset: 1>"),
        ("u8[400,500,3]", "u8[400,500,3] strided<[2004,4,1], offset: 1>"),
        ("bf16[517,1031]", "bf16[517,1031]{1,0:T(8,128)(2,1)}"),
        ("f32[300,41,41]", "f32[300,41,41]{0,2,1:T(8,128)}"),
        ("f32[30,41,410]{0,1,2:T(4,6)}", "f32[30,41,410]{2,1,0:T(8,10)}"),
        ("f64[700,701]", "f64[700,701]{0,1:PAD(704,702,one)}"),
        ("f32[4096,1024]", "f32[4096,1024] strided<[4096,2], offset: 1>"),
    ]) {
        let [source, destination] = [from, to].map(|text| text.parse::<Tensor>().unwrap());
        let operation = Operation::relayout(source, destination).unwrap().with_gaps(Gaps::Keep);
        let mut random = Random(number);
        let image = random.bytes(operation.source_descriptor().image_bytes());
        let mut out = random.bytes(operation.destination_descriptor().image_bytes());
        let mut expected = out.clone();
        operation.run_on_host(&image, &mut out).unwrap();
        let window = operation.window();
        oracle::keep(
            operation.source_descriptor(),
            operation.destination_descriptor(),
            window,
            &image,
            &mut expected,
        );
        assert!(out == expected, "{to}");
    }
}

/// The treatment of gaps is a property of an operation, which can be set and reset.
#[test]
fn gaps_are_filled_again() {
    let [from, to] = ["u8[3,5]", "u8[3,5]{0,1:PAD(4,6,one)}"].map(|text| text.parse().unwrap());
    let operation = Operation::relayout(from, to).unwrap();
    assert_eq!(operation.gaps(), Gaps::Fill);
    let kept = operation.clone().with_gaps(Gaps::Keep);
    assert_eq!((kept.gaps(), kept.nest().gaps()), (Gaps::Keep, Gaps::Keep));
    assert_ne!(kept, operation);
    assert_eq!(kept.with_gaps(Gaps::Fill), operation);
}

/// Returns a random update: its operation and its start indices.
fn update(random: &mut Random) -> Option<(Operation, Vec<u64>)> {
    let kind = random.pick(&random::TYPES);
    let rank = usize::try_from(random.below(5)).unwrap();
    let sizes: Vec<u64> = (0..rank).map(|_| 1 + random.below(9)).collect();
    let windows: Vec<u64> = sizes.iter().map(|size| 1 + random.below(*size)).collect();
    let start: Vec<u64> =
        sizes.iter().zip(&windows).map(|(size, window)| random.below(size - window + 1)).collect();
    let source = random::side(random, kind, &windows, true).0.tensor();
    let destination = random::side(random, kind, &sizes, false).0.tensor();
    match Operation::update(source, destination, &start) {
        Ok(operation) => Some((operation, start)),
        Err(error) => {
            assert!(error.to_string().contains("M("), "{error}");
            None
        }
    }
}

#[test]
fn random_updates_write_their_window_alone() {
    let cases = cases(2_000);
    let run = (0..cases)
        .into_par_iter()
        .filter(|&case| {
            let random = &mut Random((case << 8) + 39);
            let Some((operation, start)) = update(random) else { return false };
            let image = random.bytes(operation.source_descriptor().image_bytes());
            let mut out = random.bytes(operation.destination_descriptor().image_bytes());
            let mut expected = out.clone();
            operation.run_on_host(&image, &mut out).unwrap();
            let (source, destination) =
                (operation.source_descriptor(), operation.destination_descriptor());
            oracle::update(source, destination, &start, &image, &mut expected);
            assert!(out == expected, "{case}: {}\n{}", operation.title(), operation.nest());
            true
        })
        .count() as u64;
    assert!(run >= cases / 10 * 9, "{} of {cases} refused", cases - run);
}

#[test]
fn updates_that_do_not_fit_are_refused() {
    let update = |from: &str, to: &str, start: &[u64]| {
        let [from, to] = [from, to].map(|text| text.parse().unwrap());
        Operation::update(from, to, start).unwrap_err()
    };
    for (error, says, field) in [
        (
            update("f32[1,3]", "f32[4,3]", &[4, 0]),
            "expected a start index of at most 3 in dimension 0, so that the update ends inside the destination, got 4",
            "start_indices[0]",
        ),
        (
            update("f32[1,3]", "f32[4,3]", &[0]),
            "expected 2 start indices, one for each dimension, got 1",
            "start_indices",
        ),
        (
            update("f32[1,5]", "f32[4,3]", &[0, 0]),
            "expected an extent of at most 3, as the destination has, got 5 in dimension 1 of the source",
            "source.dimensions[1]",
        ),
        (
            update("c64[1,3]", "f32[4,3]", &[0, 0]),
            "complex numbers are not converted",
            "destination.element_type",
        ),
        (update("f32[3]", "f32[4,3]", &[0, 0]), "dimensions", "destination.dimensions"),
    ] {
        assert!(error.to_string().contains(says), "{error}");
        let kind = match says {
            "complex numbers are not converted" => stridec::ErrorKind::Unsupported,
            _ => stridec::ErrorKind::Invalid,
        };
        assert_eq!(error.kind(), kind);
        assert_eq!(error.field().unwrap().to_string(), field, "{error}");
    }
}
