//! [`ChoiceCopy`]: a copy that chooses by a predicate, as three copies without the predicate, for
//! the host.
//!
//! For example, the nest of `where(mask, x, y)` has a lookup that loads an element of `mask`. If
//! this lookup is 1 at all positions, the nest copies `x`, and if it is 0, the nest copies `y`. The
//! host knows fast ways for each of these copies, and for the copy of the mask itself.

use smallvec::smallvec;

use super::{Affine, Case, CaseValue, CopyNest, Gaps, Guard, Value, known::drop_unused_lookups};

/// A nest that chooses between two values by a predicate. The predicate follows from the *code* of
/// each position, which is loaded from a source.
pub(crate) struct ChoiceCopy {
    /// The copy of the code of each position to a byte. A code is arbitrary at positions that have
    /// the same value for both values of the predicate.
    pub(crate) codes: CopyNest,
    /// The source from which codes are copied.
    pub(crate) source: usize,
    /// The value of the predicate for each code.
    pub(crate) holds: Box<[bool; 256]>,
    /// The copies that remain if the predicate is false, and if it is true, at all positions. They
    /// have the axes of `codes`.
    pub(crate) values: [CopyNest; 2],
}

impl CopyNest {
    /// Returns the nest as a choice by the predicate that is tested first. Returns `None` if no
    /// case tests one, if the predicate depends on anything but one load of at most 8 bits, or if
    /// the destination has gaps or padding.
    pub(crate) fn choice_copy(&self) -> Option<ChoiceCopy> {
        let number = self.cases.iter().find_map(|case| case.when.iter().find_map(lookup_of))?;
        let lookup = &self.lookups[number];
        let (integer, source, code) = lookup.code()?;
        let uses_lookup =
            |form: &Affine| form.terms().iter().any(|(value, _)| is_lookup(*value).is_some());
        let fits = lookup.last == 1
            && !uses_lookup(code)
            && !self.quotients.iter().any(|quotient| uses_lookup(&quotient.of))
            && self.scattered.is_none()
            && self.gaps == Gaps::Fill
            && self.dst_bits.is_multiple_of(8)
            && self.dst_base <= 0
            && self.dst_bytes == self.dst_units * u64::from(self.dst_bits / 8);
        if !fits {
            return None;
        }
        let codes = CopyNest {
            lookups: vec![],
            sources: smallvec![self.sources[source]],
            cases: self.code_cases(number, code)?.into(),
            dst_bytes: self.dst_units,
            src_bits: integer.bits_in_memory(),
            dst_bits: 8,
            sign_extend: false,
            conversion: None,
            ..self.clone()
        };
        let holds = Box::new(lookup.of_codes(self.sources.len()).map(|value| value == 1));
        let values = [0, 1].map(|value| self.with_lookup(number, value));
        Some(ChoiceCopy { codes, source, holds, values })
    }

    /// Returns the cases that read the code at each position at which the lookup `number` is
    /// tested. Returns `None` if another lookup decides whether it is tested.
    ///
    /// The lookup has a meaning only at these positions. At all others, an earlier case applies, or
    /// another guard of the case fails.
    fn code_cases(&self, number: usize, code: &Affine) -> Option<Vec<Case>> {
        let is_own = |form: &Affine| form.weight(Value::Lookup(number)) != 0;
        let tests = |case: &Case| {
            case.when.iter().any(|guard| is_own(&guard.of))
                || matches!(&case.take, CaseValue::Read { at, .. } if is_own(at))
        };
        let last = self.cases.iter().rposition(tests)?;
        let cases = self.cases[..=last].iter().map(|case| {
            let mut when = case.when.clone();
            let take = if tests(case) {
                // Guards on other lookups are tested later, and do not matter for this one.
                when.retain(|guard| lookup_of(guard).is_none());
                CaseValue::Read { source: 0, at: code.clone() }
            } else if when.iter().any(|guard| lookup_of(guard).is_some()) {
                return None;
            } else {
                CaseValue::Bits(0)
            };
            Some(Case { when, take })
        });
        cases.collect()
    }

    /// Returns the nest with a constant in place of a lookup, and without the guards, cases and
    /// lookups that are then of no use.
    fn with_lookup(&self, number: usize, value: u64) -> Self {
        let mut nest = self.clone();
        nest.fix_lookup(number, value);
        let holds = |guard: &Guard| {
            guard.of.as_constant().map(|of| u64::try_from(of).is_ok_and(|of| of < guard.extent))
        };
        nest.cases.retain(|case| !case.when.iter().any(|guard| holds(guard) == Some(false)));
        nest.cases.iter_mut().for_each(|case| case.when.retain(|guard| holds(guard) != Some(true)));
        if let Some(last) = nest.cases.iter().position(|case| case.when.is_empty()) {
            nest.cases.truncate(last + 1);
        }
        drop_unused_lookups(&mut nest);
        nest
    }
}

/// Returns the lookup in the expression of a guard, if there is one.
fn lookup_of(guard: &Guard) -> Option<usize> {
    guard.of.terms().iter().find_map(|&(value, _)| is_lookup(value))
}

/// Returns the number of a lookup, or `None` for another value.
fn is_lookup(value: Value) -> Option<usize> {
    match value {
        Value::Lookup(number) => Some(number),
        _ => None,
    }
}
