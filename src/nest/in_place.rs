//! [`in_place`]: a copy whose destination holds one of its sources already.

use super::{
    Affine, Bounds, Case, CaseValue, CopyNest, Gaps, Guard, Lookup, LookupExpr, MAX_CASES, Value,
    bounds::check_range, numbers::signed,
};

/// Returns the nest of a copy into a buffer that already holds the image of `source`. Positions
/// that would copy a unit of that source to the place where it already lies are not written, and
/// all other positions have the same value as in `nest`. An update of a window therefore writes
/// only the window.
///
/// Returns `None` if a position reads a different place of the source, because that place may be
/// overwritten first. Also returns `None` if the copy takes too many cases.
pub(super) fn in_place(mut nest: CopyNest, source: usize) -> Option<CopyNest> {
    let loads = nest.lookups.iter().flat_map(Lookup::loads).any(|(from, _)| from == source);
    let reads =
        |case: &Case| matches!(case.take, CaseValue::Read { source: from, .. } if from == source);
    if loads || nest.sources[source].bytes != nest.dst_bytes || !nest.keeps_units() {
        return None;
    }
    while let Some(number) = nest.cases.iter().position(reads) {
        if !stays(&nest, &nest.cases[number]) {
            return None;
        }
        let kept = nest.cases.remove(number);
        let later: Vec<Case> = nest.cases.drain(number..).collect();
        for case in &later {
            nest.cases.extend(outside(&nest, &kept, case)?);
        }
        if nest.cases.len() > MAX_CASES {
            return None;
        }
    }
    nest.gaps = Gaps::Keep;
    check_range(&nest).ok()?;
    Some(without_source(nest, source))
}

/// Returns the bounds over the positions at which all of these guards hold; `None` if there are
/// none.
fn bounds<'a>(nest: &CopyNest, guards: impl IntoIterator<Item = &'a Guard>) -> Option<Bounds> {
    let mut bounds = Bounds::of_walk(nest);
    for guard in guards {
        bounds.assume(&nest.quotients, &guard.of, 0, signed(guard.extent) - 1)?;
    }
    Some(bounds)
}

/// Returns true if every position of `case` reads the place that it writes, so that no copy is
/// needed.
fn stays(nest: &CopyNest, case: &Case) -> bool {
    let CaseValue::Read { at, .. } = &case.take else { return false };
    let axes = nest.axes().enumerate();
    let place = axes.fold(Affine::constant(nest.dst_base), |place, (axis, of)| {
        place.plus(signed(of.dst_stride), &Affine::value(Value::Axis(axis)))
    });
    let Some(distance) = at.clone().checked_plus(-1, &place) else { return false };
    bounds(nest, &case.when).is_none_or(|bounds| bounds.of(&distance) == (0, 0))
}

/// Excludes the positions of `kept`, an earlier case that was removed, from `case`. Returns cases
/// that do not overlap and that together cover the positions of `case` at which some guard of
/// `kept` fails. Returns `None` if the opposite of a guard cannot be written as one guard.
fn outside(nest: &CopyNest, kept: &Case, case: &Case) -> Option<Vec<Case>> {
    if bounds(nest, kept.when.iter().chain(&case.when)).is_none() {
        return Some(vec![case.clone()]);
    }
    let mut parts = Vec::new();
    for (number, guard) in kept.when.iter().enumerate() {
        if case.when.contains(guard) {
            continue;
        }
        let before = &kept.when[..number];
        let (low, high) = match bounds(nest, before) {
            Some(bounds) => bounds.of(&guard.of),
            None => continue,
        };
        let last = signed(guard.extent) - 1;
        let mut opposites = Vec::new();
        if low < 0 {
            let of = Affine::constant(-1).checked_plus(-1, &guard.of)?;
            opposites.push(Guard { of, extent: low.unsigned_abs() });
        }
        if high > last {
            let of = guard.of.clone().checked_plus(-1, &Affine::constant(last + 1))?;
            opposites.push(Guard { of, extent: (high - last).unsigned_abs() });
        }
        for opposite in opposites {
            let mut when = before.to_vec();
            when.push(opposite);
            let own = case.when.iter().filter(|guard| !before.contains(guard));
            when.extend(own.cloned());
            parts.push(Case { when, take: case.take.clone() });
        }
    }
    Some(parts)
}

/// Removes a source that nothing reads, and renumbers the others.
fn without_source(mut nest: CopyNest, source: usize) -> CopyNest {
    nest.sources.remove(source);
    let moved = |number: &mut usize| *number -= usize::from(*number > source);
    for number in nest.lookups.iter_mut().flat_map(|lookup| &mut lookup.numbers) {
        if let LookupExpr::Load { source, .. } = &mut number.of {
            moved(source);
        }
    }
    for case in &mut nest.cases {
        if let CaseValue::Read { source, .. } = &mut case.take {
            moved(source);
        }
    }
    nest
}
