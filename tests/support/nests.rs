//! Random copy nests, also of forms that no operation lowers to.

use smallvec::SmallVec;
use stridec::{
    internals::{Quotient, unproved_nest},
    nest::{Affine, Case, CaseValue, CopyNest, Guard, Value},
};

use super::random::Random;

/// Returns a random nest. Its values are axes, and quotients of axes and of earlier quotients. Its
/// guards are conditions on both.
///
/// With one source, the first case reads the source, and a second case may fill. With several
/// sources, up to five cases read any of them or fill, each under some of the guards.
///
/// In half of the nests, all numbers except the innermost strides are multiples of 4, so that units
/// can be widened.
pub fn arbitrary(random: &mut Random, sources: u64) -> CopyNest {
    let grain = random.pick(&[1, 4]);
    let rank = 1 + random.below(4);
    let extents: SmallVec<[u64; 8]> =
        (1..rank).map(|_| random.pick(&[1, 2, 3, 4, 4, 6, 8, 12])).collect();
    let mut extents = extents;
    extents.push(grain * random.pick(&[1, 2, 3, 4]));
    let positions: u64 = extents.iter().product();
    let axes: Vec<Value> = (0..extents.len()).map(Value::Axis).collect();
    // The weights are the strides of a dense array of these extents, so that some quotients nest,
    // or arbitrary small numbers.
    let form = |random: &mut Random, values: &[Value]| {
        let mut form = Affine::constant((random.below(9) / grain * grain).cast_signed());
        let mut stride = 1;
        for &value in values.iter().rev() {
            let any = (random.below(5) * grain).cast_signed();
            let weight = if random.one_in(4) { any } else { stride };
            form = form.plus(weight, &Affine::value(value));
            stride *= match value {
                Value::Axis(axis) => extents[axis].cast_signed(),
                _ => 4,
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
    // The last case has the first of the guards, or none; each case before it has more.
    let gaps = guards[..usize::try_from(random.below(1 + guards.len() as u64)).unwrap()].into();
    let bits = random.pick(&[1, 2, 4, 8, 16, 32, 64]);
    let fill = u128::from(random.next()) & ((1 << bits) - 1);
    let read = |random: &mut Random| CaseValue::Read {
        source: usize::try_from(random.below(sources)).unwrap(),
        at: form(random, &values),
    };
    let mut cases = vec![Case { when: guards.clone(), take: read(random) }];
    if sources == 1 && random.one_in(2) {
        cases.push(Case { when: gaps, take: CaseValue::Bits(fill) });
    }
    for _ in 0..if sources > 1 { random.below(5) } else { 0 } {
        let when = guards.iter().filter(|_| random.one_in(2)).cloned().collect();
        let take = if random.one_in(3) { CaseValue::Bits(fill) } else { read(random) };
        cases.insert(0, Case { when, take });
    }
    // No form is negative, so the greatest value of a form comes from the greatest values of its
    // terms.
    let mut most: Vec<i64> = Vec::new();
    let greatest = |form: &Affine, most: &[i64]| {
        let last = |value| match value {
            Value::Axis(axis) => extents[axis].cast_signed() - 1,
            Value::Quotient(quotient) => most[quotient],
            Value::Lookup(_) => 0,
        };
        form.terms()
            .iter()
            .fold(form.offset(), |sum, &(value, weight)| sum + (weight * last(value)).max(0))
    };
    for Quotient { of, by } in &quotients {
        most.push(greatest(of, &most) / by.cast_signed());
    }
    let reach = cases.iter().map(|case| match &case.take {
        CaseValue::Read { at, .. } => greatest(at, &most).unsigned_abs(),
        CaseValue::Bits(_) => 0,
    });
    let src_units = 2 * (1 + reach.max().unwrap());
    let dst_base =
        if random.one_in(3) { -(random.below(positions) / grain * grain).cast_signed() } else { 0 };
    unproved_nest(&extents, quotients, cases, dst_base, src_units, bits)
}
