//! [`places`]: a description of the place of each element of a tensor in memory. Layouts that are
//! written differently have equal descriptions if they put the elements in the same order, and the
//! check of a `bitcast` instruction relies on this.

use super::{CopyNest, LastRead, NestError, build, coalesce, refine};
use crate::{stride::StrideDescriptor, window::Window};

/// Returns a description of the place of each element in memory: the nest of a copy that reads the
/// elements in row-major order. Nests can be compared.
///
/// Element types, widths and padding values are ignored. If two tensors have equal nests, elements
/// with equal indices are in equal places.
///
/// # Errors
///
/// Returns an error if the tensor has more elements than a nest can count.
pub(crate) fn places(tensor: &StrideDescriptor) -> Result<CopyNest, NestError> {
    let dense = tensor.dense();
    let nest = build(&tensor.without_prefix(), &dense, &Window::identity(tensor.sizes()))?;
    let mut nest = coalesce(refine(nest));
    (nest.src_bits, nest.dst_bits, nest.sign_extend) = (8, 8, false);
    nest.sources.iter_mut().for_each(|source| source.last_read = LastRead::Unknown);
    Ok(nest)
}
