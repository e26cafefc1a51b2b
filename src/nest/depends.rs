//! [`Depends`]: the axes, quotients and lookups on which forms depend.

use smallvec::{SmallVec, smallvec};

use super::{Affine, CopyNest, Value};

/// The axes, quotients and lookups on which some forms depend, directly or through other quotients
/// and lookups. Each list has one entry for every axis, quotient or lookup of the nest.
pub(crate) struct Depends {
    pub(crate) axes: SmallVec<[bool; 8]>,
    pub(crate) quotients: SmallVec<[bool; 8]>,
    pub(crate) lookups: SmallVec<[bool; 4]>,
}

impl Depends {
    /// Returns the axes, quotients and lookups on which `forms` depend.
    pub(crate) fn of<'a>(nest: &'a CopyNest, forms: impl IntoIterator<Item = &'a Affine>) -> Self {
        let mut depends = Self {
            axes: smallvec![false; nest.extents().len()],
            quotients: smallvec![false; nest.quotients().len()],
            lookups: smallvec![false; nest.lookups().len()],
        };
        let mut forms: SmallVec<[&Affine; 8]> = forms.into_iter().collect();
        while let Some(form) = forms.pop() {
            for &(value, _) in form.terms() {
                match value {
                    Value::Axis(axis) => depends.axes[axis] = true,
                    Value::Quotient(number) => {
                        if !std::mem::replace(&mut depends.quotients[number], true) {
                            forms.push(&nest.quotients()[number].of);
                        }
                    }
                    Value::Lookup(number) => {
                        if !std::mem::replace(&mut depends.lookups[number], true) {
                            forms.extend(nest.lookups()[number].forms());
                        }
                    }
                }
            }
        }
        depends
    }

    /// Returns true if any form depends on a lookup.
    pub(crate) fn looks_up(&self) -> bool {
        self.lookups.contains(&true)
    }

    /// Returns the numbers of the axes on which the forms depend, outermost first.
    pub(crate) fn axis_numbers(&self) -> impl Iterator<Item = usize> {
        (0..self.axes.len()).filter(|&axis| self.axes[axis])
    }
}
