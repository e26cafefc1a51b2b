//! Nests of several sources. In every iteration, the host writes the value that [`CopyNest::read`]
//! returns.

use stridec::{
    host,
    internals::{Inspect, coalesce, refine, widen},
    nest::{CopyNest, PositionValue, Source},
};

use super::support::{nests::arbitrary, random::Random, scope::cases};

/// Returns the destination, computed iteration by iteration.
fn oracle(nest: &CopyNest, sources: &[Vec<u8>]) -> Vec<u8> {
    let bits = u64::from(nest.dst_bits());
    let mut out = vec![0; usize::try_from(nest.dst_bytes()).unwrap()];
    let place = |unit: u64, bit: u64| {
        let bit = unit * bits + bit;
        (usize::try_from(bit / 8).unwrap(), bit % 8)
    };
    for unit in 0..nest.dst_units() {
        let taken = nest.read(unit.checked_add_signed(-nest.dst_base()).unwrap());
        for bit in 0..bits {
            let set = match taken {
                PositionValue::Bits(bits) => bits >> bit & 1 == 1,
                PositionValue::Kept => panic!("the nest fills its gaps"),
                PositionValue::Unit { source, unit } => {
                    let (byte, shift) = place(unit, bit);
                    sources[source][byte] >> shift & 1 == 1
                }
            };
            let (byte, shift) = place(unit, bit);
            out[byte] |= u8::from(set) << shift;
        }
    }
    out
}

#[test]
fn the_host_takes_what_every_position_reads() {
    let mut several = 0;
    for case in 0..cases(3_000) {
        let mut random = Random((case << 20) + 21);
        let mut nest = arbitrary(&mut random, 1 + case % 4);
        if random.one_in(2) {
            nest = widen(coalesce(refine(nest)));
        }
        let sources = nest.sources().iter().map(Source::bytes);
        let sources: Vec<Vec<u8>> = sources.map(|bytes| random.bytes(bytes)).collect();
        let images: Vec<&[u8]> = sources.iter().map(Vec::as_slice).collect();
        let mut out = random.bytes(nest.dst_bytes());
        // In the first run, lookups load other numbers.
        let others: Vec<Vec<u8>> =
            nest.sources().iter().map(|of| random.bytes(of.bytes())).collect();
        let others: Vec<&[u8]> = others.iter().map(Vec::as_slice).collect();
        host::run_sources(&nest, &others, &mut out).unwrap();
        host::run_sources(&nest, &images, &mut out).unwrap();
        assert_eq!(out, oracle(&nest, &sources), "{nest}");
        several += u64::from(nest.cases().len() > 2);
    }
    assert!(several > cases(3_000) / 5, "{several}");
}
