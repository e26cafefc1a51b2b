//! [`interleaved()`]: represents sources that alternate along an axis as one source.
//!
//! For example, three colour planes that are stacked into pixels are read in turn: red, green,
//! blue, red, and so on. If the three planes are treated as one source, the copy is an ordinary
//! transpose, so the code that divides a transpose into blocks needs no special case.

use smallvec::{SmallVec, smallvec};

use super::{Affine, Case, CaseValue, CopyNest, Value};

/// The distance between consecutive sources in the single address space of an [`Interleaved`] nest,
/// in units. The distance exceeds the size of any source of a kernel, so that sources do not
/// overlap. It is a multiple of the number of units in any access, so that loads stay aligned.
pub(crate) const SOURCE_DISTANCE: i64 = 1 << 40;

/// The maximum number of steps along the axis at which sources alternate. An invocation moves a
/// block with all of these steps, and larger blocks are not faster.
const MAX_TURNS: u64 = 16;

/// A nest whose sources alternate along one axis, represented by a nest with a single source.
pub(crate) struct Interleaved {
    /// The nest of a single source, in which each step of the axis adds [`SOURCE_DISTANCE`] to the
    /// source offset. Blocks are chosen for it; it is never run.
    pub(crate) nest: CopyNest,
    /// The axis along which the sources alternate.
    pub(crate) axis: usize,
    /// The index of the source that each step of the axis reads.
    pub(crate) sources: SmallVec<[usize; 4]>,
}

/// Returns the nest as an [`Interleaved`] nest. Returns `None` unless there is an axis along which
/// each step reads one source, and all steps read at the same offset in sources of equal size.
///
/// For example, a stack along the innermost dimension:
///
/// ```text
/// a0: 8294400 steps, destination +3
/// a1: 3 steps, destination +1
/// if a1 < 1: source 0 at a0; if a1 < 2: source 1 at a0; else source 2 at a0
/// ```
///
/// is interleaved along `a1`. The nest of one source reads unit `a0 + SOURCE_DISTANCE·a1`.
pub(crate) fn interleaved(nest: &CopyNest) -> Option<Interleaved> {
    if !nest.quotients.is_empty() || !nest.lookups.is_empty() {
        return None;
    }
    let (value, _) = *nest.cases.first()?.when.first()?.of.terms().first()?;
    let Value::Axis(axis) = value else { return None };
    let turns = nest.extents[axis];
    if turns > MAX_TURNS {
        return None;
    }
    let mut sources: SmallVec<[usize; 4]> = smallvec![];
    let mut form: Option<Affine> = None;
    for turn in 0..i64::try_from(turns).ok()? {
        let (source, at) = taken(nest, value, turn)?;
        if *form.get_or_insert_with(|| at.clone()) != at {
            return None;
        }
        sources.push(source);
    }
    let first = nest.sources[sources[0]];
    if nest.sources.iter().any(|source| (source.units, source.bytes) != (first.units, first.bytes))
    {
        return None;
    }
    let at = form?.plus(SOURCE_DISTANCE, &Affine::value(value));
    let case = Case { when: Vec::new(), take: CaseValue::Read { source: 0, at } };
    let nest = CopyNest { sources: smallvec![first], cases: smallvec![case], ..nest.clone() };
    Some(Interleaved { nest, axis, sources })
}

impl CopyNest {
    /// Removes an axis from the source offset. The caller must add the strides of this axis in
    /// another way.
    pub(crate) fn without_axis(&mut self, axis: usize) {
        self.set_src(self.src().substituted(Value::Axis(axis), &Affine::default()));
    }
}

/// Returns the source that is read at step `turn` of the axis, and the offset in that source.
/// Returns `None` if the source also depends on other axes, or if the step reads nothing.
fn taken(nest: &CopyNest, axis: Value, turn: i64) -> Option<(usize, Affine)> {
    let at_turn = |form: &Affine| form.substituted(axis, &Affine::constant(turn));
    for Case { when, take } in &nest.cases {
        let mut holds = true;
        for guard in when {
            let of = at_turn(&guard.of).as_constant()?;
            holds &= of >= 0 && of.unsigned_abs() < guard.extent;
        }
        if holds {
            let CaseValue::Read { source, at } = take else { return None };
            return Some((*source, at_turn(at)));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nest::{Guard, PositionValue, inspect::unproved_nest};

    fn case(turns: u64, source: usize, at: Affine) -> Case {
        let when = vec![Guard { of: Affine::value(Value::Axis(1)), extent: turns }];
        Case { when, take: CaseValue::Read { source, at } }
    }

    fn stack(of: [Affine; 3]) -> CopyNest {
        let cases = of.into_iter().enumerate().map(|(n, at)| case(n as u64 + 1, n, at));
        unproved_nest(&[10, 3], [], cases, 0, 40, 8)
    }

    #[test]
    fn every_position_reads_its_turn() {
        let at = || Affine::constant(5).plus(3, &Affine::value(Value::Axis(0)));
        let nest = stack([at(), at(), at()]);
        let interleaved = interleaved(&nest).unwrap();
        assert_eq!((interleaved.axis, &interleaved.sources[..]), (1, &[0, 1, 2][..]));
        for position in 0..nest.dst_units() {
            let place = interleaved.nest.src().evaluate(|value| match value {
                Value::Axis(0) => position.cast_signed() / 3,
                _ => position.cast_signed() % 3,
            });
            let source = interleaved.sources[usize::try_from(place / SOURCE_DISTANCE).unwrap()];
            let unit = (place % SOURCE_DISTANCE).unsigned_abs();
            assert_eq!(nest.read(position), PositionValue::Unit { source, unit });
        }
    }

    #[test]
    fn places_that_differ_and_turns_that_read_nothing_are_not_woven() {
        let at = |offset| Affine::constant(offset).plus(1, &Affine::value(Value::Axis(0)));
        assert!(interleaved(&stack([at(0), at(0), at(1)])).is_none());
        let two = [case(1, 0, at(0)), case(2, 1, at(0))];
        assert!(interleaved(&unproved_nest(&[10, 3], [], two, 0, 40, 8)).is_none());
        let many = unproved_nest(&[10, 17], [], [case(17, 0, at(0))], 0, 40, 8);
        assert!(interleaved(&many).is_none());
    }
}
