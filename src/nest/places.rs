//! Where the elements of one tensor lie, in a form that two tensors can be compared by.

use super::{CopyNest, LastRead, NestError, build, coalesce, refine};
use crate::{stride::StrideDescriptor, window::Window};

/// Where each element lies, as a nest over the elements in row-major order.
///
/// Element types, widths and fills are left out: tensors of equal nests have their elements at equal places.
///
/// # Errors
///
/// Where the tensor has more elements than a nest counts.
pub(crate) fn places(tensor: &StrideDescriptor) -> Result<CopyNest, NestError> {
    let dense = tensor.dense();
    let nest = build(&tensor.without_prefix(), &dense, &Window::identity(tensor.sizes()))?;
    let mut nest = coalesce(refine(nest));
    (nest.src_bits, nest.dst_bits, nest.sign_extend) = (8, 8, false);
    nest.sources.iter_mut().for_each(|source| source.last_read = LastRead::Unknown);
    Ok(nest)
}
