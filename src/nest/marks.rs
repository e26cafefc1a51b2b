//! [`Marks`]: a nest that finds, for each place, the last window of a scatter that covers it.

use super::{Affine, CopyNest, Gaps};

/// The marks of a nest that copies nothing. At each position to which a case applies, the nest
/// stores `number` at the place `at` of a table of 32-bit numbers, unless a greater number is
/// there.
///
/// The loops visit the windows of a scatter and the places inside each window, not the table in
/// order of address. Because the greatest number wins, each entry of the table finally is the
/// number of the last window that covers its place, whatever the order of the positions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Marks {
    /// The place of the mark.
    pub(crate) at: Affine,
    /// The number of the window, counted from 1.
    pub(crate) number: Affine,
}

impl CopyNest {
    /// Returns the marks of the nest; `None` if it copies.
    pub(crate) fn marks(&self) -> Option<&Marks> {
        // The web page compiles no nest with marks. Because of this `None`, the compiler leaves out
        // all code for marks there.
        if cfg!(stridec_plain_host) { None } else { self.marks.as_ref() }
    }

    /// Turns the nest, which has no cases yet, into one that stores marks in a table of `places`
    /// entries.
    pub(super) fn marking(self, places: u64) -> Self {
        let marks = Some(Marks { at: Affine::default(), number: Affine::default() });
        let (dst_units, dst_bytes) = (places, places * 4);
        Self { gaps: Gaps::Keep, dst_base: 0, dst_units, dst_bytes, marks, ..self }
    }
}
