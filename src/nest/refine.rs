//! The second pass, [`refine`]: axes are split where the source's tiles nest in them.

use smallvec::SmallVec;

use super::{
    Affine, Bounds, CopyNest, Guard, Lookup, Quotient, Value,
    numbers::{gcd, signed},
};

/// Splits axes where the source's tiles nest in them, so that quotients become axes; drops guards that always hold.
///
/// Each round replaces the quotients that are affine, takes common factors out of quotients and guards, and then splits
/// the first axis that stands in the way of another one. A tile of 8 on an axis of 24 becomes axes of 3 and 8; a tile of
/// 128 on an axis of 300 keeps its quotient, but by 32 over an axis of 75, with an axis of 4 inside that it leaves
/// alone. What the nest copies stays the same, position by position.
#[must_use]
pub fn refine(mut nest: CopyNest) -> CopyNest {
    loop {
        while replace_quotient(&mut nest) {}
        // A reduced quotient is the same number.
        let bounds = Bounds::of_guarded(&nest);
        for quotient in &mut nest.quotients {
            *quotient = reduced(quotient, &bounds);
        }
        let split_point = (0..nest.quotients.len()).find_map(|number| split_point(&nest, number));
        let Some((axis, inner)) = split_point else { break };
        split(&mut nest, axis, inner);
    }
    let bounds = Bounds::of_guarded(&nest);
    for case in &mut nest.cases {
        case.when.retain(|Guard { of, extent }| {
            let (low, high) = bounds.of(of);
            low < 0 || high >= signed(*extent)
        });
    }
    drop_unreachable_cases(&mut nest);
    drop_unused_quotients(&mut nest);
    nest
}

/// Replaces one quotient that is affine by what it equals.
fn replace_quotient(nest: &mut CopyNest) -> bool {
    let bounds = Bounds::of_guarded(nest);
    let affine = nest.quotients.iter().enumerate().find_map(|(number, Quotient { of, by })| {
        Some((number, of.divide(signed(*by), |value| bounds.of_value(value))?))
    });
    let Some((number, affine)) = affine else { return false };
    nest.map(|form| {
        form.substitute(Value::Quotient(number), &affine);
    });
    remove_quotient(nest, number);
    true
}

/// Removes a quotient that nothing refers to any more.
fn remove_quotient(nest: &mut CopyNest, number: usize) {
    nest.quotients.remove(number);
    nest.map(|form| {
        form.rename(|value| match value {
            Value::Quotient(other) if other > number => Value::Quotient(other - 1),
            value => value,
        });
    });
}

fn drop_unused_quotients(nest: &mut CopyNest) {
    for number in (0..nest.quotients.len()).rev() {
        if nest.forms().all(|form| form.weight(Value::Quotient(number)) == 0) {
            remove_quotient(nest, number);
        }
    }
}

/// Drops cases that ask all that an earlier one asks: it applies wherever they would.
fn drop_unreachable_cases(nest: &mut CopyNest) {
    for number in (1..nest.cases.len()).rev() {
        let (earlier, rest) = nest.cases.split_at(number);
        if earlier.iter().any(|case| rest[0].asks_all_of(case)) {
            nest.cases.remove(number);
        }
    }
}

/// `⌊of / by⌋` with the greatest common factor taken out: `⌊⌊of / g⌋ / (by / g)⌋`.
fn reduced(quotient: &Quotient, bounds: &Bounds) -> Quotient {
    let Quotient { of, by } = quotient;
    let mut weights: SmallVec<[i64; 8]> =
        of.terms().iter().map(|&(_, weight)| weight.abs()).collect();
    weights.sort_unstable_by(|a, b| b.cmp(a));
    let mut factor = signed(*by);
    for weight in weights {
        factor = gcd(factor, weight);
        if factor == 1 {
            break;
        }
        if let Some(of) = of.divide(factor, |value| bounds.of_value(value)) {
            return Quotient { of, by: by / factor.unsigned_abs() };
        }
    }
    quotient.clone()
}

/// The first axis of a quotient that is too long to fall out of it, and the inner extent to split it at.
///
/// From the greatest weight down, an axis of weight `w` ought to stay below the greatest common divisor of the divisor
/// and of all greater weights: then it vanishes from the quotient.
fn split_point(nest: &CopyNest, number: usize) -> Option<(usize, u64)> {
    let Quotient { of, by } = &nest.quotients[number];
    let mut terms: SmallVec<[(Value, i64); 8]> = of.terms().into();
    terms.sort_by_key(|term| std::cmp::Reverse(term.1.abs()));
    let mut room = signed(*by);
    for (value, weight) in terms {
        let weight = weight.abs();
        if let Value::Axis(axis) = value
            && room % weight == 0
        {
            let extent = signed(nest.extents[axis]);
            let inner = gcd(extent, room / weight);
            if inner > 1 && inner < extent {
                return Some((axis, inner.unsigned_abs()));
            }
        }
        room = gcd(room, weight);
    }
    None
}

/// Splits an axis into an outer one and an inner one of `inner` steps; the last outer step may pass the end.
fn split(nest: &mut CopyNest, axis: usize, inner: u64) {
    nest.extents[axis] = nest.extents[axis].div_ceil(inner);
    nest.extents.insert(axis + 1, inner);
    let mut both = Affine::default();
    for (axis, step) in [(axis, inner), (axis + 1, 1)] {
        if nest.extents[axis] > 1 {
            both = both.plus(signed(step), &Affine::value(Value::Axis(axis)));
        }
    }
    nest.map(|form| {
        form.rename(|value| match value {
            Value::Axis(number) if number > axis => Value::Axis(number + 1),
            value => value,
        })
        .substitute(Value::Axis(axis), &both);
    });
}

/// Splits `inner` steps off an axis as an axis of their own that no quotient and no guard depends on.
///
/// `None` where the extent is no multiple of `inner`, or a quotient or guard changes inside those steps. The new axis is
/// `axis + 1`; what the nest copies stays the same, position by position.
#[must_use]
pub fn split_off(nest: &CopyNest, axis: usize, inner: u64) -> Option<CopyNest> {
    if inner == 0 || !nest.extents[axis].is_multiple_of(inner) {
        return None;
    }
    let mut halves = nest.clone();
    tile(&mut halves, axis, inner)?;
    let steps = Value::Axis(axis + 1);
    let mut guards = halves.cases.iter().flat_map(|case| &case.when);
    guards.all(|guard| guard.of.weight(steps) == 0).then_some(halves)
}

/// Cuts an axis into tiles of `inner` steps: `axis` counts the tiles, the new `axis + 1` the steps inside one.
///
/// No quotient and no lookup depends on the steps, else it is `None`, and the nest means nothing. Guards do only where they
/// change inside a tile. The last tile passes the end of an axis that is no multiple of `inner`: the forms mean something
/// up to there.
pub(crate) fn tile(halves: &mut CopyNest, axis: usize, inner: u64) -> Option<()> {
    split(halves, axis, inner);
    let moves = |form: &Affine| form.weight(Value::Axis(axis + 1)) != 0;
    if halves.lookups.iter().flat_map(Lookup::forms).any(moves) {
        return None;
    }
    if halves.quotients.is_empty() && halves.cases.iter().all(|case| case.when.is_empty()) {
        return Some(());
    }
    let steps = Value::Axis(axis + 1);
    // `of / by` and `of < extent` are the same of ⌊of / g⌋, where g divides them; for g of `weight · inner` the steps
    // are below one.
    let bounds = Bounds::of_guarded(halves);
    let without_steps = |of: &Affine, bound: u64| {
        let group = of.weight(steps).unsigned_abs() * inner;
        if group == 0 {
            return Some((of.clone(), bound));
        }
        let of = of.divide(signed(group), |value| bounds.of_value(value))?;
        bound.is_multiple_of(group).then(|| (of, bound / group))
    };
    // A quotient whose dividend has lost its steps is the same number, so that the bounds stay true.
    for Quotient { of, by } in &mut halves.quotients {
        (*of, *by) = without_steps(of, *by)?;
    }
    for Guard { of, extent } in halves.cases.iter_mut().flat_map(|case| &mut case.when) {
        if let Some(whole) = without_steps(of, *extent) {
            (*of, *extent) = whole;
        }
    }
    Some(())
}
