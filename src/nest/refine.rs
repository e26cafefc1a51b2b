use smallvec::SmallVec;

use super::{
    Affine, CopyNest, Digit, Guard, Lasts, Value,
    numbers::{gcd, signed},
};

/// Splits axes where the source's tiles nest in them, so that digits become axes; drops guards that always hold.
///
/// Each round replaces the digits that are affine, takes common factors out of digits and guards, and then splits the
/// first axis that stands in the way of another one. A tile of 8 on an axis of 24 becomes axes of 3 and 8; a tile of
/// 128 on an axis of 300 keeps its digit, but as a quotient by 32 over an axis of 75, with an axis of 4 inside that it
/// leaves alone. What the nest copies stays the same, cell by cell.
#[must_use]
pub fn refine(mut nest: CopyNest) -> CopyNest {
    loop {
        while replace_digit(&mut nest) {}
        // A reduced digit is the same number.
        let lasts = nest.lasts();
        for digit in &mut nest.digits {
            *digit = reduced(digit, &lasts);
        }
        let Some((axis, inner)) = (0..nest.digits.len()).find_map(|digit| cut(&nest, digit)) else {
            break;
        };
        split(&mut nest, axis, inner);
    }
    let lasts = nest.lasts();
    nest.guards.retain(|guard| {
        let (low, high) = guard.of.range(|value| lasts.of(value));
        low < 0 || high >= signed(guard.extent)
    });
    drop_unused_digits(&mut nest);
    nest
}

/// Replaces one digit that is affine by what it equals.
fn replace_digit(nest: &mut CopyNest) -> bool {
    let lasts = nest.lasts();
    let affine = nest.digits.iter().enumerate().find_map(|(number, digit)| {
        Some((number, digit.of.divide(signed(digit.by), |value| lasts.of(value))?))
    });
    let Some((number, affine)) = affine else { return false };
    nest.map(|form| form.substitute(Value::Digit(number), &affine));
    remove_digit(nest, number);
    true
}

/// Removes a digit that nothing refers to any more.
fn remove_digit(nest: &mut CopyNest, number: usize) {
    nest.digits.remove(number);
    nest.map(|form| {
        form.rename(|value| match value {
            Value::Digit(digit) if digit > number => Value::Digit(digit - 1),
            value => value,
        })
    });
}

fn drop_unused_digits(nest: &mut CopyNest) {
    for number in (0..nest.digits.len()).rev() {
        let value = Value::Digit(number);
        let used = nest.src.weight(value) != 0
            || nest.guards.iter().any(|guard| guard.of.weight(value) != 0)
            || nest.digits.iter().any(|digit| digit.of.weight(value) != 0);
        if !used {
            remove_digit(nest, number);
        }
    }
}

/// `⌊of / by⌋` with the greatest common factor taken out: `⌊⌊of / g⌋ / (by / g)⌋`.
fn reduced(digit: &Digit, lasts: &Lasts) -> Digit {
    let mut weights: SmallVec<[i64; 8]> =
        digit.of.terms().iter().map(|&(_, weight)| weight.abs()).collect();
    weights.sort_unstable_by(|a, b| b.cmp(a));
    let mut factor = signed(digit.by);
    for weight in weights {
        factor = gcd(factor, weight);
        if factor == 1 {
            break;
        }
        if let Some(of) = digit.of.divide(factor, |value| lasts.of(value)) {
            return Digit { of, by: digit.by / factor.unsigned_abs() };
        }
    }
    digit.clone()
}

/// The first axis of a digit that is too long to fall out of it, and the inner extent to split it at.
///
/// From the greatest weight down, an axis of weight `w` ought to stay below the greatest common divisor of the divisor
/// and of all greater weights: then it vanishes from the digit.
fn cut(nest: &CopyNest, digit: usize) -> Option<(usize, u64)> {
    let Digit { of, by } = &nest.digits[digit];
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

/// Splits an axis into an outer one and an inner one of `inner` steps.
fn split(nest: &mut CopyNest, axis: usize, inner: u64) {
    nest.extents[axis] /= inner;
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
        .substitute(Value::Axis(axis), &both)
    });
}

/// Splits `inner` steps off an axis as an axis of their own that no digit and no guard depends on.
///
/// `None` where the extent is no multiple of `inner`, or a digit or guard changes inside those steps. The new axis is
/// `axis + 1`; what the nest copies stays the same, cell by cell.
#[must_use]
pub fn split_off(nest: &CopyNest, axis: usize, inner: u64) -> Option<CopyNest> {
    if inner == 0 || !nest.extents[axis].is_multiple_of(inner) {
        return None;
    }
    let mut halves = nest.clone();
    split(&mut halves, axis, inner);
    let steps = Value::Axis(axis + 1);
    // `of / by` and `of < extent` are the same of ⌊of / g⌋, where g divides them; for g of `weight · inner` the steps
    // are below one.
    let lasts = halves.lasts();
    let without_steps = |of: &Affine, bound: u64| {
        let group = of.weight(steps).unsigned_abs() * inner;
        if group == 0 {
            return Some((of.clone(), bound));
        }
        let of = of.divide(signed(group), |value| lasts.of(value))?;
        bound.is_multiple_of(group).then(|| (of, bound / group))
    };
    for number in 0..halves.digits.len() {
        let Digit { of, by } = &halves.digits[number];
        let (of, by) = without_steps(of, *by)?;
        halves.digits[number] = Digit { of, by };
    }
    for number in 0..halves.guards.len() {
        let Guard { of, extent, cell } = &halves.guards[number];
        let (of, extent) = without_steps(of, *extent)?;
        halves.guards[number] = Guard { of, extent, cell: *cell };
    }
    Some(halves)
}
