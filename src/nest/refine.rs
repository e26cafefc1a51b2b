//! The second pass, [`refine`]: splits loops at the tiles of the source.
//!
//! Before this pass, each access to a tiled source needs integer divisions, the quotients of the
//! nest. After it, loop counters take the place of most of these divisions.

use smallvec::SmallVec;

use super::{
    Affine, Bounds, CopyNest, Guard, Lookup, Quotient, Value,
    numbers::{gcd, signed},
};

/// Splits axes at the tiles of the source, so that quotients become axes, and drops guards that
/// always hold. The value of every position is unchanged.
///
/// Each round has three steps. First, a quotient that needs no division is replaced by an affine
/// expression. Then common factors are divided out of the other quotients. Finally, if an axis
/// keeps a quotient from being replaced, this axis is split.
///
/// For example, an axis `a` of 24 steps with a tile of 8 becomes two axes of 3 and 8 steps, and the
/// outer axis replaces `a / 8`. An axis of 300 steps with a tile of 128 becomes two axes of 75 and
/// 4 steps. The quotient remains, but it now divides the outer axis by 32.
#[must_use]
pub fn refine(mut nest: CopyNest) -> CopyNest {
    loop {
        while replace_quotient(&mut nest) {}
        // Reducing a quotient does not change its value, so the bounds remain valid.
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

/// Replaces one quotient by an affine expression that is equal to it within the bounds of the
/// loops. Returns false if there is no such quotient.
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

/// Removes a quotient that no expression contains, and renumbers the others.
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

/// Drops every case that has all guards of an earlier case. Such a case never decides a value,
/// because the earlier case applies whenever it does.
fn drop_unreachable_cases(nest: &mut CopyNest) {
    for number in (1..nest.cases.len()).rev() {
        let (earlier, rest) = nest.cases.split_at(number);
        if earlier.iter().any(|case| rest[0].asks_all_of(case)) {
            nest.cases.remove(number);
        }
    }
}

/// Divides the dividend and the divisor of a quotient by a common factor, because a division of
/// smaller numbers is easier to split or to replace. The factor is the largest `g` for which `⌊of /
/// g⌋` can be written as an affine expression; the result divides this expression by `by / g`.
/// Returns the quotient unchanged if there is no such `g`.
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

/// Returns the first axis that must be split before an affine expression can replace a quotient,
/// and the extent of the inner axis. Returns `None` if no split helps.
///
/// Terms are considered in order of decreasing weight. A term does not affect the quotient if it is
/// always less than the greatest common divisor of the divisor and all larger weights.
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

/// Splits an axis into an outer axis and an inner axis of `inner` steps. If `inner` does not divide
/// the extent, the last outer step extends past the end of the axis.
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

/// Splits an axis into two: `axis` becomes the outer one, and the new `axis + 1` has `inner` steps.
/// The value of every position is unchanged.
///
/// Returns `None` if a quotient, lookup or guard depends on the inner axis, or if the extent is not
/// a multiple of `inner`.
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

/// Splits an axis into tiles of `inner` steps: `axis` counts the tiles, and the new `axis + 1`
/// counts the steps in a tile. The last tile may extend past the end of the axis; steps past that
/// end must be skipped.
///
/// Returns `None` if a quotient or a lookup depends on the steps in a tile; `halves` is then
/// invalid. Guards may depend on these steps.
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
    // If `g` divides `by` and `extent`, then `of / by` and `of < extent` depend only on `⌊of / g⌋`.
    // For g = `weight · inner`, the steps in a tile add less than `g` to `of`.
    let bounds = Bounds::of_guarded(halves);
    let without_steps = |of: &Affine, bound: u64| {
        let group = of.weight(steps).unsigned_abs() * inner;
        if group == 0 {
            return Some((of.clone(), bound));
        }
        let of = of.divide(signed(group), |value| bounds.of_value(value))?;
        bound.is_multiple_of(group).then(|| (of, bound / group))
    };
    // Removing the steps from a quotient does not change its value, so the bounds remain valid.
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
