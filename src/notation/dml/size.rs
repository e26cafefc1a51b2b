//! [`calc_buffer_tensor_size`]: the minimum size of a tensor's buffer, by DirectML's rule but
//! without an overflow in its arithmetic.

use super::{DmlError, TensorDataType};

/// Returns the minimum size of a tensor in bytes, like `DMLCalcBufferTensorSize`, but without its
/// overflow.
///
/// Without strides, elements are packed, so their number is the product of the sizes. With strides,
/// the offset of the last element is `Σ (size - 1) · stride`. The size is rounded up to whole
/// bytes, and then to a multiple of 4 bytes. Microsoft's helper adds the strides in 32 bits, which
/// can overflow, and this function adds them in 64 bits with checks.
///
/// ```
/// use stridec::notation::dml::{TensorDataType, calc_buffer_tensor_size};
/// // Two rows of 3 half floats, with a stride of 5: 1 + 1·5 + 2·1 = 8 elements.
/// assert_eq!(calc_buffer_tensor_size(TensorDataType::Float16, &[2, 3], Some(&[5, 1])), Ok(16));
/// assert_eq!(calc_buffer_tensor_size(TensorDataType::Uint8, &[5], None), Ok(8));
/// let far = calc_buffer_tensor_size(TensorDataType::Uint8, &[3, 1], Some(&[0x8000_0000, 1]));
/// assert_eq!(far, Ok(0x1_0000_0004)); // Microsoft's helper returns 4
/// ```
///
/// # Errors
///
/// Returns an error if a size is 0, if the number of strides differs from the number of sizes, or
/// if the result exceeds 2^64-1.
pub fn calc_buffer_tensor_size(
    data_type: TensorDataType,
    sizes: &[u32],
    strides: Option<&[u32]>,
) -> Result<u64, DmlError> {
    if let Some(dimension) = sizes.iter().position(|&size| size == 0) {
        return Err(DmlError::ZeroSize { dimension });
    }
    implied_elements(sizes, strides)?
        .checked_mul(u64::from(data_type.bits()))
        .and_then(|bits| bits.div_ceil(8).checked_next_multiple_of(4))
        .ok_or(DmlError::TooLarge)
}

/// Returns the distance from the first to the last element in memory, both included, in elements.
/// The sizes must be at least 1.
pub(super) fn implied_elements(sizes: &[u32], strides: Option<&[u32]>) -> Result<u64, DmlError> {
    let Some(strides) = strides else {
        return sizes
            .iter()
            .try_fold(1_u64, |product, &size| product.checked_mul(size.into()))
            .ok_or(DmlError::TooLarge);
    };
    if strides.len() != sizes.len() {
        return Err(DmlError::StrideCount { given: strides.len(), rank: sizes.len() });
    }
    sizes
        .iter()
        .zip(strides)
        .try_fold(1_u64, |end, (&size, &stride)| {
            end.checked_add(u64::from(size - 1) * u64::from(stride))
        })
        .ok_or(DmlError::TooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;
    use TensorDataType::{Float32, Float64, Int4, Uint8};

    #[test]
    fn sizes_are_those_of_the_published_formula() {
        for (data_type, sizes, strides, bytes) in [
            (Float32, &[1, 1, 3, 5][..], None, 60),
            (Float32, &[1, 1, 3, 5], Some(&[15, 15, 5, 1][..]), 60),
            (Float32, &[2, 3], Some(&[0, 1]), 12),
            (Float32, &[2, 3], Some(&[5, 1]), 32),
            (Float64, &[1, 1, 1, 3], None, 24),
            (Uint8, &[3], None, 4),
            (Int4, &[9], None, 8),
            (Int4, &[8], None, 4),
        ] {
            assert_eq!(calc_buffer_tensor_size(data_type, sizes, strides), Ok(bytes), "{sizes:?}");
        }
    }

    #[test]
    fn what_wraps_elsewhere_is_an_error() {
        let most = u32::MAX;
        assert_eq!(
            calc_buffer_tensor_size(Uint8, &[most; 8], Some(&[most; 8])),
            Err(DmlError::TooLarge)
        );
        assert_eq!(calc_buffer_tensor_size(Uint8, &[most; 3], None), Err(DmlError::TooLarge));
        assert_eq!(
            calc_buffer_tensor_size(Uint8, &[2, 0], None),
            Err(DmlError::ZeroSize { dimension: 1 })
        );
        assert_eq!(
            calc_buffer_tensor_size(Uint8, &[2], Some(&[])),
            Err(DmlError::StrideCount { given: 0, rank: 1 })
        );
    }
}
