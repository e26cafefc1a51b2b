//! The sizes of shapes in bytes. `xla::shape_util` re-exports these functions, under the names that
//! XLA gives them.

use super::{StrideDescriptor, StrideError};
use crate::shape::{
    Shape,
    queries::{bounds, elements_in},
};

/// Returns the size of the elements in bytes, without any padding, like XLA's `ByteSizeOf`. The
/// size of a tuple is the sum over its parts.
///
/// XLA's function also has a parameter for the size of a pointer, and adds that size for each part
/// of a tuple.
///
/// ```
/// use stridec::xla::shape_util::byte_size_of;
/// assert_eq!(byte_size_of(&"(s32[16,32,64], s8[16,32,64])".parse()?)?, 163_840);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns an error if an extent is unknown or if the size exceeds the limit of 2^63-1.
pub fn byte_size_of(shape: &Shape) -> Result<u64, StrideError> {
    if !shape.tuple_shapes().is_empty() {
        return shape.tuple_shapes().iter().try_fold(0_u64, |sum, part| {
            let sum = sum.checked_add(byte_size_of(part)?).filter(|&sum| sum >> 63 == 0);
            sum.ok_or(StrideError::TooLarge { what: "tuple_shapes" })
        });
    }
    if shape.element_type().bits().is_none() {
        return Ok(0);
    }
    let layout = shape.layout().map_or(0, |layout| layout.element_size_in_bits);
    let sizes = sizes(shape)?;
    let strides = vec![0; sizes.len()];
    let element = StrideDescriptor::strided(shape.element_type(), layout, &sizes, &strides, 0)?;
    let bytes = elements_in(shape).and_then(|elements| bytes_of(elements, element.element_bits()));
    bytes.filter(|bytes| bytes >> 63 == 0).ok_or(StrideError::TooLarge { what: "dimensions" })
}

fn sizes(shape: &Shape) -> Result<Vec<u64>, StrideError> {
    bounds(shape).ok_or_else(|| StrideError::Unsupported {
        field: "dimensions",
        value: "?".into(),
        accepted: "expected an extent, or a bound such as <=128",
    })
}

/// Returns the size of an array's allocation in bytes, including all padding and the metadata
/// prefix, like XLA's `ArraySize`.
///
/// XLA's own result is smaller in two cases: it ignores `L(n)` if the layout has no tiles, and it
/// ignores the padding of a tile inside another tile.
///
/// ```
/// use stridec::xla::shape_util::array_size;
/// assert_eq!(array_size(&"f32[10,20]{1,0:PAD(15,21)}".parse()?)?, 1260);
/// assert_eq!(array_size(&"u8[20]{0:T(6)(4)}".parse()?)?, 32); // 4 tiles of ⌈6/4⌉·4
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns an error if the shape cannot be lowered.
pub fn array_size(shape: &Shape) -> Result<u64, StrideError> {
    Ok(StrideDescriptor::try_from(shape)?.image_bytes())
}

/// Returns the size of `elements` elements in bytes, rounded up to a whole byte, or `None` if the
/// size does not fit in a `u64`.
pub(crate) fn bytes_of(elements: u64, element_bits: u32) -> Option<u64> {
    u64::try_from((u128::from(elements) * u128::from(element_bits)).div_ceil(8)).ok()
}
