//! Sizes and strides of arrays and tuples in bytes.

use super::{bounds, elements_in};
use crate::{
    shape::{ElementType, Shape},
    stride::{StrideDescriptor, StrideError},
    xla::index_util::multidimensional_index_to_linear_index,
};

/// Bytes of the elements alone, whatever the layout; those of a tuple's parts together: `ByteSizeOf`.
///
/// XLA's takes the size of a pointer too, and adds one for each part of a tuple.
///
/// ```
/// use stridec::xla::shape_util::byte_size_of;
/// assert_eq!(byte_size_of(&"(s32[16,32,64], s8[16,32,64])".parse()?)?, 163_840);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Where an extent is not known, or the bytes pass 2^63-1.
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
    let bits =
        elements_in(shape).and_then(|elements| elements.checked_mul(element.element_bits().into()));
    bits.map(|bits| bits.div_ceil(8)).ok_or(StrideError::TooLarge { what: "dimensions" })
}

fn sizes(shape: &Shape) -> Result<Vec<u64>, StrideError> {
    bounds(shape).ok_or_else(|| StrideError::Unsupported {
        field: "dimensions",
        value: "?".into(),
        accepted: "expected an extent, or a bound such as <=128",
    })
}

/// Bytes of an array's allocation, every kind of padding and a metadata prefix included: `ArraySize`.
///
/// XLA's own result is smaller in two cases: it ignores `L(n)` without tiles, and the padding of a tile inside a tile.
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
/// Where the shape cannot be lowered.
pub fn array_size(shape: &Shape) -> Result<u64, StrideError> {
    Ok(StrideDescriptor::try_from(shape)?.image_bytes())
}

/// Bytes up to the array's last element, without the padding after it or a prefix: `ArrayDataSize`.
///
/// # Errors
///
/// Where the shape cannot be lowered.
pub fn array_data_size(shape: &Shape) -> Result<u64, StrideError> {
    let descriptor = StrideDescriptor::try_from(shape)?;
    if descriptor.elements() == 0 {
        return Ok(0);
    }
    let last: Vec<u64> = descriptor.sizes().iter().map(|&size| size - 1).collect();
    let elements = multidimensional_index_to_linear_index(shape, &last)? + 1;
    Ok((elements * u64::from(descriptor.element_bits())).div_ceil(8))
}

/// The stride of each dimension in bytes: `ByteStrides`.
///
/// `None` where a tile splits a dimension, or an element is not a whole number of bytes.
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
/// Where the shape cannot be lowered.
pub fn byte_strides(shape: &Shape) -> Result<Option<Vec<i64>>, StrideError> {
    Ok(StrideDescriptor::try_from(shape)?.byte_strides())
}

/// Whether byte strides are those of the default layout: `ByteStridesIsMajorToMinor`.
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
