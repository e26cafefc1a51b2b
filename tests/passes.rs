//! Each pass over a nest keeps its meaning: what every position of the walk reads.
//!
//! The meaning is [`CopyNest::read`], position by position, and nothing else of the nest: no pass, no oracle. The nests
//! are those of random operations, and random ones that no operation builds.

mod support;

use std::collections::BTreeMap;

use smallvec::SmallVec;
use stridec::nest::{
    Affine, Case, CopyNest, Guard, Quotient, Take, Taken, Value, build, coalesce, refine,
    split_off, widen,
};
use support::{
    random::{self, Random},
    scope::cases,
};

/// Nests of more positions are left out: every position is read many times.
const MAX_POSITIONS: u64 = 5_000;

/// Calls `check` with nests as `build` makes them and with arbitrary ones.
fn each_nest(seed: u64, cases: u64, mut check: impl FnMut(&mut Random, CopyNest)) {
    let mut random = Random(seed);
    for case in 0..cases {
        let nest = if case % 2 == 0 {
            let operation = random::operation(&mut random);
            build(&operation.source, &operation.destination, &operation.window).ok()
        } else {
            Some(arbitrary(&mut random))
        };
        if let Some(nest) = nest.filter(|nest| nest.positions() <= MAX_POSITIONS) {
            check(&mut random, nest);
        }
    }
}

/// A nest of random axes, quotients of axes and of earlier quotients, and guards of both.
///
/// In half of them all numbers but the innermost strides are multiples of 4, as wider units ask.
fn arbitrary(random: &mut Random) -> CopyNest {
    let grain = random.pick(&[1, 4]);
    let rank = 1 + random.below(4);
    let extents: SmallVec<[u64; 8]> =
        (1..rank).map(|_| random.pick(&[1, 2, 3, 4, 4, 6, 8, 12])).collect();
    let mut extents = extents;
    extents.push(grain * random.pick(&[1, 2, 3, 4]));
    let positions: u64 = extents.iter().product();
    let axes: Vec<Value> = (0..extents.len()).map(Value::Axis).collect();
    // Strides of a dense array of these extents, so that some quotients nest, or any small weights.
    let form = |random: &mut Random, values: &[Value]| {
        let mut form = Affine::constant((random.below(9) / grain * grain).cast_signed());
        let mut stride = 1;
        for &value in values.iter().rev() {
            let any = (random.below(5) * grain).cast_signed();
            let weight = if random.one_in(4) { any } else { stride };
            form = form.plus(weight, &Affine::value(value));
            stride *= match value {
                Value::Axis(axis) => extents[axis].cast_signed(),
                Value::Quotient(_) => 4,
            };
        }
        form
    };
    let mut values = axes;
    let mut quotients: Vec<Quotient> = Vec::new();
    for number in 0..usize::try_from(random.below(4)).unwrap() {
        let by = random.pick(&[2, 3, 4, 8, 12, 16]);
        quotients.push(Quotient { of: form(random, &values), by });
        values.push(Value::Quotient(number));
    }
    let guards: Vec<Guard> = (0..random.below(3))
        .map(|_| {
            let shift = (random.below(12) / grain * grain).cast_signed();
            Guard {
                of: form(random, &values).plus(-1, &Affine::constant(shift)),
                extent: random.below(positions + 4).next_multiple_of(grain),
            }
        })
        .collect();
    // The last case asks the first of the guards, or none; each case before it asks more.
    let gaps = guards[..usize::try_from(random.below(1 + guards.len() as u64)).unwrap()].into();
    let bits = random.pick(&[1, 2, 4, 8, 16, 32, 64]);
    let fill = u128::from(random.next()) & ((1 << bits) - 1);
    let src = form(random, &values);
    let src_units = 2 * (1 + src.interval(|_| (0, 2_000)).1.unsigned_abs());
    let dst_base =
        if random.one_in(3) { -(random.below(positions) / grain * grain).cast_signed() } else { 0 };
    let mut cases = vec![Case { when: guards.into(), take: Take::Read(src) }];
    if random.one_in(2) {
        cases.push(Case { when: gaps, take: Take::Bits(fill) });
    }
    CopyNest::unproved(&extents, quotients, cases, dst_base, src_units, bits)
}

/// Whether `after` reads what `before` reads, at every position of one walk.
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
                let reads = |form: &Affine| form == halves.src();
                let free = |form: &Affine| form.weight(steps) == 0;
                assert!(halves.forms().all(|form| reads(form) || free(form)), "{halves}");
                answered += 1;
            }
        }
    });
    assert!(answered > cases * 2, "{answered}");
}

/// A wider unit is its parts: each narrow position of the image reads the same part, or holds the same fill.
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
        assert_eq!((wide.src_bytes(), wide.dst_bytes()), (nest.src_bytes(), nest.dst_bytes()));
        for position in 0..nest.positions() {
            let expected = nest.read(position);
            let part = position % factor;
            let given = match wide.read(position / factor) {
                Taken::Unit(unit) => Taken::Unit(unit * factor + part),
                Taken::Bits(bits) => {
                    let mask = u128::MAX >> (128 - nest.dst_bits());
                    Taken::Bits(bits >> (u32::try_from(part).unwrap() * nest.dst_bits()) & mask)
                }
            };
            assert_eq!(given, expected, "position {position}\n{nest}\n{wide}");
        }
        let read = (0..wide.positions()).filter_map(|position| wide.read(position).unit()).max();
        let src_bits = u64::from(wide.src_bits());
        assert!(read.is_none_or(|unit| (unit + 1) * src_bits <= wide.src_bytes() * 8), "{wide}");
    });
    assert!(widths.len() >= 5 && widths[&2] > 20 && widths[&4] > 20, "{widths:?}");
}
