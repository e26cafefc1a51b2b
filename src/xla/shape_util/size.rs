//! Functions of XLA's `ShapeUtil` for sizes and strides in bytes.

use crate::{
    shape::{ElementType, Shape},
    stride::{StrideDescriptor, StrideError, size::bytes_of},
    xla::index_util::multidimensional_index_to_linear_index,
};

pub use crate::stride::size::{array_size, byte_size_of};

/// Returns the size of an array in bytes up to its last element, without the padding after it and
/// without the prefix, like XLA's `ArrayDataSize`.
///
/// # Errors
///
/// Returns an error if the shape cannot be lowered.
pub fn array_data_size(shape: &Shape) -> Result<u64, StrideError> {
    let descriptor = StrideDescriptor::try_from(shape)?;
    if descriptor.elements() == 0 {
        return Ok(0);
    }
    let last: Vec<u64> = descriptor.sizes().iter().map(|&size| size - 1).collect();
    let elements = multidimensional_index_to_linear_index(shape, &last)? + 1;
    bytes_of(elements, descriptor.element_bits())
        .ok_or(StrideError::TooLarge { what: "dimensions" })
}

/// Returns the stride of each dimension in bytes, like XLA's `ByteStrides`.
///
/// Returns `None` if a tile splits a dimension, or if an element is not a whole number of bytes.
///
/// ```
/// use stridec::xla::shape_util::byte_strides;
/// assert_eq!(byte_strides(&"f16[5,7,9]".parse()?)?, Some(vec![126, 18, 2]));
/// assert_eq!(byte_strides(&"s4[10,20]{1,0:E(4)}".parse()?)?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns an error if the shape cannot be lowered.
pub fn byte_strides(shape: &Shape) -> Result<Option<Vec<i64>>, StrideError> {
    Ok(StrideDescriptor::try_from(shape)?.byte_strides())
}

/// Returns true if these are the byte strides of the default layout, like XLA's
/// `ByteStridesIsMajorToMinor`.
#[must_use]
pub fn byte_strides_is_major_to_minor(
    byte_strides: &[i64],
    sizes: &[u64],
    element_type: ElementType,
) -> bool {
    let Some(bits) = element_type.storage_bits() else { return false };
    let mut expected = Some(u64::from(bits / 8));
    byte_strides.len() == sizes.len()
        && byte_strides.iter().zip(sizes).rev().all(|(&stride, &size)| {
            let continues = expected.is_some() && u64::try_from(stride).ok() == expected;
            expected = expected.and_then(|expected| expected.checked_mul(size));
            continues
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Shape {
        text.parse().unwrap()
    }

    #[test]
    fn sizes_are_those_of_xlas_tests() {
        for (text, size, data) in [
            ("f32[]", 4, 4),
            ("s4[64,128]{1,0:E(4)}", 4096, 4096),
            ("s4[9216,6144]{1,0:T(64,128)(8,1)E(4)}", 28_311_552, 28_311_552),
            ("s4[127,0,63]{2,1,0:E(4)}", 0, 0),
            ("f32[3,5]{1,0:T(2,2)}", 96, 84),
            ("f32[3]{0:L(8)}", 32, 12),
            ("f32[2]{0:M(16)}", 24, 8),
        ] {
            assert_eq!(array_size(&shape(text)), Ok(size), "{text}");
            assert_eq!(array_data_size(&shape(text)), Ok(data), "{text}");
        }
        assert_eq!(byte_size_of(&shape("(s32[], (s32[], token[]))")), Ok(8));
        assert_eq!(byte_size_of(&shape("f32[3,5]{1,0:T(2,2)}")), Ok(60));
        assert!(byte_size_of(&shape("f32[?]")).is_err());
    }

    #[test]
    fn byte_strides_of_the_default_layout_are_told() {
        let is = |strides: &[i64], element_type| {
            byte_strides_is_major_to_minor(strides, &[8, 9, 10, 11], element_type)
        };
        assert!(is(&[3960, 440, 44, 4], ElementType::F32));
        assert!(!is(&[1880, 220, 22, 2], ElementType::F32));
        assert!(!is(&[3960, 440, 44], ElementType::F32));
        assert_eq!(byte_strides(&shape("f32[3,5,7]{0,1,2}")), Ok(Some(vec![4, 12, 60])));
    }
}
