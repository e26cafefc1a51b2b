//! Every pass over a nest preserves its meaning: the value that each iteration of its loops writes.
//! A *position* is the number of an iteration.
//!
//! The meaning is computed by [`CopyNest::read`] for each position, without any pass and without
//! the oracle. Half of the nests are built for random operations. The others are random nests that
//! no operation builds, with one source and with several.

use std::collections::BTreeMap;

use stridec::{
    internals::{Inspect, build, coalesce, refine, regular, split_off, unproved_nest, widen},
    nest::{Affine, Case, CaseValue, CopyNest, Guard, PositionValue, Source, Value},
};

use super::support::{
    nests::arbitrary,
    random::{self, Random},
    scope::cases,
};

/// The greatest number of positions of a nest in these tests, which read every position many times.
const MAX_POSITIONS: u64 = 5_000;

/// Calls `check` with nests that `build` makes and with arbitrary nests.
fn each_nest(seed: u64, cases: u64, mut check: impl FnMut(&mut Random, CopyNest)) {
    let mut random = Random(seed);
    for case in 0..cases {
        let nest = if case % 2 == 0 {
            let operation = random::operation(&mut random);
            build(&operation.source, &operation.destination, &operation.window).ok()
        } else {
            let sources = if case % 4 == 1 { 1 } else { 3 };
            Some(arbitrary(&mut random, sources))
        };
        if let Some(nest) = nest.filter(|nest| nest.positions() <= MAX_POSITIONS) {
            check(&mut random, nest);
        }
    }
}

/// Checks that `after` has the same value as `before` at every position.
fn assert_same(before: &CopyNest, after: &CopyNest) {
    assert_eq!(before.positions(), after.positions(), "{before}\n{after}");
    for position in 0..before.positions() {
        let (expected, given) = (before.read(position), after.read(position));
        assert_eq!(given, expected, "position {position}\n{before}\n{after}");
    }
    let unchanged = |nest: &CopyNest| {
        let bits = (nest.src_bits(), nest.dst_bits());
        (bits, nest.src_units(), nest.dst_units(), nest.dst_base())
    };
    assert_eq!(unchanged(before), unchanged(after));
}

#[test]
fn refine_keeps_what_every_position_reads() {
    let mut dropped = BTreeMap::new();
    each_nest(11, 1_500, |_, nest| {
        let refined = refine(nest.clone());
        assert_same(&nest, &refined);
        *dropped
            .entry(nest.quotients().len() - refined.quotients().len().min(nest.quotients().len()))
            .or_insert(0) += 1;
    });
    assert!(dropped[&1] > 50 && dropped[&2] > 20, "quotients become axes: {dropped:?}");
}

#[test]
fn coalesce_keeps_what_every_position_reads() {
    let mut shorter = 0;
    each_nest(12, 1_500, |random, nest| {
        let nest = if random.one_in(2) { refine(nest) } else { nest };
        let merged = coalesce(nest.clone());
        assert_same(&nest, &merged);
        assert!(merged.extents().len() == 1 || !merged.extents().contains(&1), "{merged}");
        shorter += usize::from(merged.extents().len() < nest.extents().len());
    });
    assert!(shorter > 300, "{shorter}");
}

/// Returns a nest of two or three axes whose cases each apply to an interval of one expression.
/// Some lists of cases have no pattern, and some are interrupted.
fn stepping(random: &mut Random) -> CopyNest {
    let extents: Vec<u64> = (0..2 + random.below(2)).map(|_| 1 + random.below(12)).collect();
    let axis = |axis: usize| Affine::value(Value::Axis(axis));
    let some =
        |random: &mut Random| axis(usize::try_from(random.below(extents.len() as u64)).unwrap());
    let mut of = some(random);
    if random.one_in(3) {
        of = of.plus(random.pick(&[1, 2, -1]), &some(random));
    }
    if random.one_in(4) {
        of = of.plus(random.pick(&[1, -1, -2]), &Affine::constant(1));
    }
    let (width, count) = (1 + random.below(3), 2 + random.below(12));
    let strides: Vec<i64> = (0..3).map(|_| random.below(9).cast_signed() - 3).collect();
    let [minor, middle] = [0; 2].map(|_| 1 + random.below(4));
    let common =
        (random.one_in(3)).then(|| Guard { of: some(random), extent: 1 + random.below(9) });
    let at_first = axis(0).plus(5, &some(random)).plus(2, &of);
    let (odd, is_open) = (random.below(3 * count), random.one_in(2));
    let mut cases: Vec<Case> = (0..count)
        .map(|n| {
            let digits = [n % minor, n / minor % middle, n / minor / middle];
            let steps =
                digits.iter().zip(&strides).map(|(&digit, stride)| digit.cast_signed() * stride);
            let odd = if n == odd { random.pick(&[0, 1, 50]) } else { 0 };
            let offset = Affine::constant(400 + steps.sum::<i64>() + odd);
            let stepping = Guard { of: of.clone(), extent: (n + 1) * width };
            let is_last = n + 1 == count && is_open;
            let mut when: Vec<Guard> = (!is_last).then_some(stepping).into_iter().collect();
            when.extend(common.clone());
            Case {
                when,
                take: CaseValue::Read { source: 0, at: at_first.clone().plus(1, &offset) },
            }
        })
        .collect();
    if random.one_in(4) {
        let at = usize::try_from(random.below(cases.len() as u64 + 1)).unwrap();
        let when = vec![Guard { of: some(random), extent: 1 + random.below(4) }];
        cases.insert(at, Case { when, take: CaseValue::Bits(7) });
    }
    unproved_nest(&extents, [], cases, 0, 2_000, 32)
}

#[test]
fn regular_keeps_what_every_position_reads() {
    let (mut random, cases) = (Random(23), cases(4_000));
    let mut counts = BTreeMap::new();
    for _ in 0..cases {
        let nest = stepping(&mut random);
        let whole = regular(nest.clone());
        assert_same(&nest, &whole);
        assert_same(&nest, &refine(whole.clone()));
        let of = (whole.cases().len() < nest.cases().len(), whole.quotients().len().min(3));
        *counts.entry(of).or_insert(0) += 1;
    }
    assert!((0..3).all(|quotients| counts[&(true, quotients)] > cases / 100), "{counts:?}");
    assert!(counts[&(false, 0)] > cases / 20, "{counts:?}");
}

#[test]
fn split_off_keeps_what_every_position_reads() {
    let (cases, mut answered) = (cases(1_500), 0);
    each_nest(13, cases, |random, nest| {
        let nest = if random.one_in(2) { coalesce(refine(nest)) } else { nest };
        for axis in 0..nest.extents().len() {
            for inner in [0, 1, 2, 3, 4, 8, nest.extents()[axis], nest.extents()[axis] + 1] {
                let Some(halves) = split_off(&nest, axis, inner) else { continue };
                assert_same(&nest, &halves);
                assert_eq!(halves.extents()[axis + 1], inner);
                let steps = Value::Axis(axis + 1);
                let read = |form: &Affine, take: &CaseValue| matches!(take, CaseValue::Read { at, .. } if at == form);
                let reads =
                    |form: &Affine| halves.cases().iter().any(|case| read(form, &case.take));
                let free = |form: &Affine| form.weight(steps) == 0;
                assert!(halves.forms().all(|form| reads(form) || free(form)), "{halves}");
                answered += 1;
            }
        }
    });
    assert!(answered > cases * 2, "{answered}");
}

/// A wider unit consists of narrow units: the value at each position of the narrow nest is a part
/// of the value in the wide nest.
#[test]
fn widen_keeps_the_bits_of_every_position() {
    let mut widths = BTreeMap::new();
    each_nest(14, 1_500, |random, nest| {
        let nest = if random.one_in(8) { nest } else { coalesce(refine(nest)) };
        let wide = widen(nest.clone());
        let factor = u64::from(wide.dst_bits() / nest.dst_bits());
        *widths.entry(factor).or_insert(0) += 1;
        assert_eq!(wide.positions() * factor, nest.positions(), "{nest}\n{wide}");
        assert_eq!(wide.dst_base() * factor.cast_signed(), nest.dst_base(), "{nest}\n{wide}");
        assert_eq!(wide.dst_units() * factor, nest.dst_units(), "{nest}\n{wide}");
        let bytes = |nest: &CopyNest| nest.sources().iter().map(Source::bytes).collect::<Vec<_>>();
        assert_eq!((bytes(&wide), wide.dst_bytes()), (bytes(&nest), nest.dst_bytes()));
        for position in 0..nest.positions() {
            let expected = nest.read(position);
            let part = position % factor;
            let given = match wide.read(position / factor) {
                PositionValue::Unit { source, unit } => {
                    PositionValue::Unit { source, unit: unit * factor + part }
                }
                PositionValue::Bits(bits) => {
                    let mask = u128::MAX >> (128 - nest.dst_bits());
                    PositionValue::Bits(
                        bits >> (u32::try_from(part).unwrap() * nest.dst_bits()) & mask,
                    )
                }
                PositionValue::Kept => PositionValue::Kept,
            };
            assert_eq!(given, expected, "position {position}\n{nest}\n{wide}");
        }
        for position in 0..wide.positions() {
            if let PositionValue::Unit { source, unit } = wide.read(position) {
                assert!(unit < wide.sources()[source].units(), "{wide}");
            }
        }
    });
    assert!(widths.len() >= 5 && widths[&2] > 20 && widths[&4] > 20, "{widths:?}");
}
