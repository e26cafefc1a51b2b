//! The second pass, [`refine`]: splits axes at the source's tiles.

use smallvec::SmallVec;

use super::{
    Affine, Bounds, CopyNest, Guard, Lookup, Quotient, Value,
    numbers::{gcd, signed},
};

/// Splits axes at the source's tiles, so that quotients become axes, and drops guards that always
/// hold.
///
/// Each round replaces the quotients that are affine, takes common factors out of quotients and
/// guards, and splits the first axis that keeps a quotient from being affine. A tile of 8 on an
/// axis of 24 becomes axes of 3 and 8. A tile of 128 on an axis of 300 keeps its quotient, but by
/// 32 over an axis of 75, next to an inner axis of 4 that the quotient does not contain. The value
/// of every position is unchanged.
#[must_use]
pub fn refine(mut nest: CopyNest) -> CopyNest {
    loop {
        while replace_quotient(&mut nest) {}
        // The reduced quotient has an equal value.
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

/// Replaces one affine quotient by its form; returns true if there was one.
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

/// Removes a quotient that no form contains.
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

/// Drops cases that have all guards of an earlier case, which applies first.
fn drop_unreachable_cases(nest: &mut CopyNest) {
    for number in (1..nest.cases.len()).rev() {
        let (earlier, rest) = nest.cases.split_at(number);
        if earlier.iter().any(|case| rest[0].asks_all_of(case)) {
            nest.cases.remove(number);
        }
    }
}

/// Returns a quotient without the greatest common factor of dividend and divisor: `⌊⌊of / g⌋ / (by
/// / g)⌋`.
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

/// Returns the first axis that is too long to vanish from a quotient, and the inner extent to split
/// it at.
///
/// In order of falling weight, an axis of weight `w` vanishes from the quotient if its part stays
/// below the greatest common divisor of the divisor and all greater weights.
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

/// Splits an axis into an outer one and an inner one of `inner` steps; the last outer step may
/// exceed the extent.
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

/// Splits an inner axis of `inner` steps off an axis, if no quotient and no guard depends on it.
///
/// Returns `None` if the extent is not a multiple of `inner`, or a quotient or guard changes inside
/// those steps. The new axis is `axis + 1`. The value of every position is unchanged.
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

/// Cuts an axis into tiles of `inner` steps: `axis` counts the tiles, the new `axis + 1` the steps
/// in a tile.
///
/// Returns `None` if a quotient or a lookup depends on the steps in a tile, and the nest is then
/// invalid. Guards may depend on them if they change inside a tile. The last tile may exceed the
/// extent; the forms are valid up to its end.
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
    // `of / by` and `of < extent` depend only on ⌊of / g⌋ if g divides `by` and `extent`. With g =
    // `weight · inner` the steps in a tile add less than 1.
    let bounds = Bounds::of_guarded(halves);
    let without_steps = |of: &Affine, bound: u64| {
        let group = of.weight(steps).unsigned_abs() * inner;
        if group == 0 {
            return Some((of.clone(), bound));
        }
        let of = of.divide(signed(group), |value| bounds.of_value(value))?;
        bound.is_multiple_of(group).then(|| (of, bound / group))
    };
    // A quotient without the steps has an equal value, so that the bounds stay valid.
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
