//! [`Marks`]: a nest that records which window of a scatter was the last to be written at a place.

use super::{Affine, CopyNest, Gaps};

/// The marks of a nest that copies nothing. At each position to which a case applies, it stores
/// `number` at the place `at` of a destination of 32-bit numbers, unless a greater number is there.
///
/// The walk visits the windows of a scatter and the places inside each, and not the destination.
/// The greatest number is that of the last window, in whatever order the positions are visited.
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
        // The page compiles none, and need not contain the code for them.
        if cfg!(stridec_plain_host) { None } else { self.marks.as_ref() }
    }

    /// Returns the nest, which has no cases yet, as one that marks places of a table.
    pub(super) fn marking(self, places: u64) -> Self {
        let marks = Some(Marks { at: Affine::default(), number: Affine::default() });
        let (dst_units, dst_bytes) = (places, places * 4);
        Self { gaps: Gaps::Keep, dst_base: 0, dst_units, dst_bytes, marks, ..self }
    }
}
