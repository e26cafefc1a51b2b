//! [`Gaps`]: the treatment of the places of a destination that hold no element.

use super::{Case, CopyNest};

/// The treatment of the places of a destination that hold no element: gaps between strides,
/// padding, a prefix, a tail, and the bits around elements in the words that a kernel stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Gaps {
    /// Places without an element are filled: the padding of `padded_dimensions` with the padding
    /// value, all others with zero. The result depends on the source alone.
    #[default]
    Fill,
    /// Places without an element keep their bits, so that an operation can write into a part of a
    /// buffer whose other contents are still needed. To change a word that holds elements and other
    /// bits, a single invocation or thread reads the whole word, replaces the elements, and writes
    /// the word back. Words without an element are not written.
    Keep,
}

/// Changes the nest of a relayout or a slice to write elements only: padding and gaps keep the bits
/// that the destination has.
#[must_use]
pub fn keep_gaps(mut nest: CopyNest) -> CopyNest {
    nest.cases.retain(|case| Case::reads(case));
    nest.gaps = Gaps::Keep;
    nest
}
