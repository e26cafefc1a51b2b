//! [`Position`]: evaluates the expressions of a nest in one iteration of its loops. It runs a nest
//! slowly but simply, so that the fast implementations can be tested against it.

use std::cell::RefCell;

use smallvec::{SmallVec, smallvec};

use super::{Affine, Case, CopyNest, Guard, Quotient, Value, numbers::signed};

/// One iteration of the loops, given by the value of each loop counter. Quotients and lookups are
/// computed only if an expression needs them, because they may have no meaning at positions that a
/// guard excludes.
pub(crate) struct Position<'a> {
    nest: &'a CopyNest,
    /// The bytes of each source. If it is `None`, every lookup is 0. If the bytes of a source are
    /// empty, its contents are unknown, and every number that is loaded from it is 0.
    images: Option<&'a [&'a [u8]]>,
    axes: SmallVec<[i64; 8]>,
    quotients: RefCell<SmallVec<[Option<i64>; 8]>>,
    lookups: RefCell<SmallVec<[Option<i64>; 4]>>,
}

impl<'a> Position<'a> {
    /// Returns the position at the given step of each axis.
    pub(crate) fn new(
        nest: &'a CopyNest,
        images: Option<&'a [&'a [u8]]>,
        axes: SmallVec<[i64; 8]>,
    ) -> Self {
        Self {
            nest,
            images,
            axes,
            quotients: RefCell::new(smallvec![None; nest.quotients.len()]),
            lookups: RefCell::new(smallvec![None; nest.lookups.len()]),
        }
    }

    /// Returns the value of an expression at this position.
    pub(crate) fn form(&self, form: &Affine) -> i64 {
        form.evaluate(|value| self.value(value))
    }

    /// Returns the index of the first case whose guards all hold.
    pub(crate) fn first(&self, cases: &[Case]) -> Option<usize> {
        let holds = |guard: &Guard| (0..signed(guard.extent)).contains(&self.form(&guard.of));
        cases.iter().position(|case| case.when.iter().all(holds))
    }

    fn value(&self, value: Value) -> i64 {
        match (value, self.images) {
            (Value::Axis(axis), _) => self.axes[axis],
            (Value::Quotient(number), _) => {
                let known = self.quotients.borrow()[number];
                known.unwrap_or_else(|| {
                    let Quotient { of, by } = &self.nest.quotients[number];
                    let quotient = self.form(of).div_euclid(signed(*by));
                    self.quotients.borrow_mut()[number] = Some(quotient);
                    quotient
                })
            }
            (Value::Lookup(_), None) => 0,
            (Value::Lookup(number), Some(images)) => {
                let known = self.lookups.borrow()[number];
                known.unwrap_or_else(|| {
                    let lookup = &self.nest.lookups[number];
                    let value = signed(lookup.value(images, |form| self.form(form)));
                    self.lookups.borrow_mut()[number] = Some(value);
                    value
                })
            }
        }
    }
}
