//! Each pass over a nest keeps its meaning: what every position of the walk reads.
//!
//! The meaning is [`CopyNest::read`], position by position, and nothing else of the nest: no pass, no oracle. The nests
//! are those of random operations, and random ones that no operation builds.

mod support;

use std::collections::BTreeMap;

use smallvec::SmallVec;
use stridec::nest::{
    Affine, Cell, CopyNest, Digit, Guard, Value, build, coalesce, refine, split_off, widen,
};
use support::{
    random::{self, Random},
    scope::cases,
};

/// Nests of more cells are left out: every cell is read many times.
const MAX_CELLS: u64 = 5_000;

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
        if let Some(nest) = nest.filter(|nest| nest.cells() <= MAX_CELLS) {
            check(&mut random, nest);
        }
    }
}

/// A nest of random axes, digits of axes and of earlier digits, and guards of both.
///
/// In half of them all numbers but the innermost strides are multiples of 4, as wider units ask.
fn arbitrary(random: &mut Random) -> CopyNest {
    let grain = random.pick(&[1, 4]);
    let rank = 1 + random.below(4);
    let extents: SmallVec<[u64; 8]> =
        (1..rank).map(|_| random.pick(&[1, 2, 3, 4, 4, 6, 8, 12])).collect();
    let mut extents = extents;
    extents.push(grain * random.pick(&[1, 2, 3, 4]));
    let cells: u64 = extents.iter().product();
    let axes: Vec<Value> = (0..extents.len()).map(Value::Axis).collect();
    // Strides of a dense array of these extents, so that some digits nest, or any small weights.
    let form = |random: &mut Random, values: &[Value]| {
        let mut form = Affine::constant((random.below(9) / grain * grain).cast_signed());
        let mut stride = 1;
        for &value in values.iter().rev() {
            let any = (random.below(5) * grain).cast_signed();
            let weight = if random.one_in(4) { any } else { stride };
            form = form.plus(weight, &Affine::value(value));
            stride *= match value {
                Value::Axis(axis) => extents[axis].cast_signed(),
                Value::Digit(_) => 4,
            };
        }
        form
    };
    let mut values = axes;
    let mut digits: SmallVec<[Digit; 4]> = SmallVec::new();
    for number in 0..usize::try_from(random.below(4)).unwrap() {
        let by = random.pick(&[2, 3, 4, 8, 12, 16]);
        digits.push(Digit { of: form(random, &values), by });
        values.push(Value::Digit(number));
    }
    let guards = (0..random.below(3))
        .map(|_| {
            let shift = (random.below(12) / grain * grain).cast_signed();
            Guard {
                of: form(random, &values).plus(-1, &Affine::constant(shift)),
                extent: random.below(cells + 4).next_multiple_of(grain),
                cell: random.pick(&[Cell::Gap, Cell::Padding]),
            }
        })
        .collect();
    let bits = random.pick(&[1, 2, 4, 8, 16, 32, 64]);
    let fill = u128::from(random.next()) & ((1 << bits) - 1);
    let src = form(random, &values);
    let src_elements = 2 * (1 + src.range(|_| 2_000).1.unsigned_abs());
    let dst_base =
        if random.one_in(3) { -(random.below(cells) / grain * grain).cast_signed() } else { 0 };
    let dst_elements = cells - dst_base.unsigned_abs();
    CopyNest {
        extents,
        digits,
        src,
        guards,
        dst_base,
        src_elements,
        src_last: None,
        dst_elements,
        src_bytes: (src_elements * u64::from(bits)).div_ceil(8),
        dst_bytes: (dst_elements * u64::from(bits)).div_ceil(8),
        src_bits: bits,
        dst_bits: bits,
        sign_extend: false,
        fill,
    }
}

/// Whether `after` reads what `before` reads, at every position of one walk.
fn assert_same(before: &CopyNest, after: &CopyNest) {
    assert_eq!(before.cells(), after.cells(), "{before}\n{after}");
    for position in 0..before.cells() {
        let (expected, given) = (before.read(position), after.read(position));
        assert_eq!(given, expected, "position {position}\n{before}\n{after}");
    }
    let unchanged = |nest: &CopyNest| {
        let CopyNest { src_bits, dst_bits, src_elements, dst_elements, dst_base, fill, .. } = *nest;
        (src_bits, dst_bits, src_elements, dst_elements, dst_base, fill)
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
            .entry(nest.digits.len() - refined.digits.len().min(nest.digits.len()))
            .or_insert(0) += 1;
    });
    assert!(dropped[&1] > 50 && dropped[&2] > 20, "digits become axes: {dropped:?}");
}

#[test]
fn coalesce_keeps_what_every_position_reads() {
    let mut shorter = 0;
    each_nest(12, 1_500, |random, nest| {
        let nest = if random.one_in(2) { refine(nest) } else { nest };
        let merged = coalesce(nest.clone());
        assert_same(&nest, &merged);
        assert!(merged.extents.len() == 1 || !merged.extents.contains(&1), "{merged}");
        shorter += usize::from(merged.extents.len() < nest.extents.len());
    });
    assert!(shorter > 300, "{shorter}");
}

#[test]
fn split_off_keeps_what_every_position_reads() {
    let (cases, mut answered) = (cases(1_500), 0);
    each_nest(13, cases, |random, nest| {
        let nest = if random.one_in(2) { coalesce(refine(nest)) } else { nest };
        for axis in 0..nest.extents.len() {
            for inner in [0, 1, 2, 3, 4, 8, nest.extents[axis], nest.extents[axis] + 1] {
                let Some(halves) = split_off(&nest, axis, inner) else { continue };
                assert_same(&nest, &halves);
                assert_eq!(halves.extents[axis + 1], inner);
                let steps = Value::Axis(axis + 1);
                assert!(halves.digits.iter().all(|digit| digit.of.weight(steps) == 0), "{halves}");
                assert!(halves.guards.iter().all(|guard| guard.of.weight(steps) == 0), "{halves}");
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
        let factor = u64::from(wide.dst_bits / nest.dst_bits);
        *widths.entry(factor).or_insert(0) += 1;
        assert_eq!(wide.cells() * factor, nest.cells(), "{nest}\n{wide}");
        assert_eq!(wide.dst_base * factor.cast_signed(), nest.dst_base, "{nest}\n{wide}");
        assert_eq!(wide.dst_elements * factor, nest.dst_elements, "{nest}\n{wide}");
        assert_eq!((wide.src_bytes, wide.dst_bytes), (nest.src_bytes, nest.dst_bytes));
        for position in 0..nest.cells() {
            let expected = nest.read(position);
            let given = wide.read(position / factor).map(|unit| unit * factor + position % factor);
            assert_eq!(given, expected, "position {position}\n{nest}\n{wide}");
        }
        for part in 0..factor {
            let shift = u32::try_from(part).unwrap() * nest.dst_bits;
            let mask = u128::MAX >> (128 - nest.dst_bits);
            assert_eq!(wide.fill >> shift & mask, nest.fill, "{nest}\n{wide}");
        }
        let read = (0..wide.cells()).filter_map(|position| wide.read(position).ok()).max();
        let src_bits = u64::from(wide.src_bits);
        assert!(read.is_none_or(|unit| (unit + 1) * src_bits <= wide.src_bytes * 8), "{wide}");
    });
    assert!(widths.len() >= 5 && widths[&2] > 20 && widths[&4] > 20, "{widths:?}");
}
