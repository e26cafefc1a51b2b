//! The host against the oracle.

mod support;

use stridec::{
    host,
    nest::{self, NestError},
};
use support::{
    oracle,
    random::{self, Random},
};

#[test]
fn random_operations() {
    let mut random = Random(1);
    let mut refused = 0;
    for case in 0..std::env::var("STRIDEC_CASES").map_or(20_000, |n| n.parse().unwrap()) {
        let operation = random::operation(&mut random);
        let image = random.bytes(operation.source.image_bytes());
        let nest = match nest::lower(&operation.source, &operation.destination, &operation.window) {
            Ok(nest) => nest,
            Err(NestError::Prefix { .. }) => {
                refused += 1;
                continue;
            }
            Err(error) => panic!("{case}: {error}\n{operation:#?}"),
        };
        let mut out = vec![0xa5; usize::try_from(operation.destination.image_bytes()).unwrap()];
        host::run(&nest, &image, &mut out).unwrap();
        let expected = oracle::run(
            &operation.source,
            &operation.destination,
            &operation.window,
            &image,
            operation.destination_shape(),
        );
        assert!(out == expected, "{case}: {operation:#?}\n{nest}\n{out:?}\n{expected:?}");
    }
    assert!(refused < 1000);
}
