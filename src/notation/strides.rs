//! Conversions between tensors and sizes with strides, which numpy, torch, DLPack and most other
//! systems use.

use crate::{
    shape::ElementType,
    stride::{StrideDescriptor, StrideError},
};

/// Creates a tensor from byte strides, as in numpy, PJRT and Python's buffer protocol.
///
/// `byte_offset` is the offset of the element at index 0. If it is `None`, the memory begins with
/// the element that has the lowest address. Strides may be 0 or negative. The stride of a dimension
/// with fewer than two elements has no effect.
///
/// ```
/// use stridec::{notation::from_byte_strides, shape::ElementType};
/// // numpy: a[::-1] of a 2×3 array of f32 has byte strides -12, 4.
/// let flipped = from_byte_strides(ElementType::F32, &[2, 3], &[-12, 4], None)?;
/// assert_eq!((flipped.base_offset(), flipped.offset(&[1, 2])?), (3, 2));
/// # Ok::<(), stridec::stride::StrideError>(())
/// ```
///
/// # Errors
///
/// Returns an error if the numbers of sizes and strides differ, if a stride or the offset is not a
/// whole number of elements, if an element is before the start of the memory, or if the memory
/// exceeds 2^63-1 bytes.
pub fn from_byte_strides(
    element_type: ElementType,
    sizes: &[u64],
    byte_strides: &[i64],
    byte_offset: Option<u64>,
) -> Result<StrideDescriptor, StrideError> {
    let Some(bits) = element_type.storage_bits() else {
        return Err(StrideError::NoElements { element_type });
    };
    if byte_strides.len() != sizes.len() {
        let (given, rank) = (byte_strides.len(), sizes.len());
        return Err(StrideError::Count { field: "byte_strides", given, rank });
    }
    let bytes = i64::from(bits / 8);
    let whole = |field, given: i64| match given % bytes {
        0 => Ok(given / bytes),
        _ => Err(StrideError::PartialElement { field, given, bytes }),
    };
    let strides = byte_strides
        .iter()
        .zip(sizes)
        .map(|(&stride, &size)| match whole("byte_strides", stride) {
            Err(_) if size < 2 => Ok(0),
            stride => stride,
        })
        .collect::<Result<Vec<_>, _>>()?;
    let strides = normalized_strides(sizes, &strides);
    let offset = match byte_offset {
        None => least_offset(sizes, &strides)?,
        Some(given) => {
            let given =
                i64::try_from(given).map_err(|_| StrideError::TooLarge { what: "byte_offset" })?;
            whole("byte_offset", given)?.unsigned_abs()
        }
    };
    StrideDescriptor::strided(element_type, 0, sizes, &strides, offset)
}

/// Returns the smallest possible offset of the element at index 0, in elements. With this offset,
/// negative strides do not reach below the start of the memory.
///
/// # Errors
///
/// Returns an error if the offset exceeds 2^63-1.
fn least_offset(sizes: &[u64], strides: &[i64]) -> Result<u64, StrideError> {
    if sizes.contains(&0) {
        return Ok(0);
    }
    sizes
        .iter()
        .zip(strides)
        .filter(|&(_, &stride)| stride < 0)
        .try_fold(0_u64, |sum, (&size, &stride)| {
            sum.checked_add((size - 1).checked_mul(stride.unsigned_abs())?)
        })
        .filter(|sum| sum >> 63 == 0)
        .ok_or(StrideError::TooLarge { what: "strides" })
}

/// Replaces the strides of dimensions with one element, which have no effect, by packed strides.
/// This is needed because other systems compare strides, and otherwise would not recognise a
/// contiguous array.
///
/// A packed stride is the product of the extent and the stride of the next more minor dimension. So
/// the order of the dimensions must be known. If the stride of a dimension is positive, it
/// determines the position of the dimension in this order; a channels-last array therefore gets
/// channels-last strides. A dimension of extent 1 with a stride below 1 is placed as in row-major
/// order, outside the dimension after it.
///
/// An array without elements gets row-major strides in which an extent of 0 counts as 1, because
/// other systems treat such an array as contiguous.
#[must_use]
fn normalized_strides(sizes: &[u64], strides: &[i64]) -> Vec<i64> {
    if sizes.contains(&0)
        && let Some(packed) = packed_strides(sizes, 1)
    {
        return packed;
    }
    // The dimensions from minor to major. If two strides are equal, a dimension of one element is
    // the more minor one.
    let has_place = |d: &usize| sizes[*d] > 1 || strides[*d] > 0;
    let mut order: Vec<usize> = (0..sizes.len()).filter(has_place).collect();
    order.sort_by_key(|&d| (strides[d].unsigned_abs(), sizes[d] > 1, std::cmp::Reverse(d)));
    for dimension in (0..sizes.len()).rev().filter(|d| !has_place(d)) {
        let next = order.iter().position(|&other| other == dimension + 1);
        order.insert(next.map_or(0, |next| next + 1), dimension);
    }
    let mut strides = strides.to_vec();
    let mut span = 1_i64;
    for dimension in order {
        if sizes[dimension] < 2 {
            strides[dimension] = span;
            continue;
        }
        let size = i64::try_from(sizes[dimension]).unwrap_or(i64::MAX);
        span = size.saturating_mul(strides[dimension].saturating_abs()).max(1);
    }
    strides
}

/// Returns the strides of a row-major array with a distance of `step` between neighbouring
/// elements, or `None` if a stride exceeds 2^63-1.
///
/// An extent of 0 counts as 1.
pub(super) fn packed_strides(sizes: &[u64], step: i64) -> Option<Vec<i64>> {
    let mut span = step;
    let mut strides = Vec::with_capacity(sizes.len());
    for &size in sizes.iter().rev() {
        strides.push(span);
        span = span.checked_mul(i64::try_from(size.max(1)).ok()?)?;
    }
    strides.reverse();
    Some(strides)
}

/// Returns the strides of a tensor in elements. Returns an error if sizes and strides cannot
/// describe the tensor.
pub(super) fn plain_strides(tensor: &StrideDescriptor) -> Result<Vec<i64>, StrideError> {
    let strides: Vec<Option<i64>> = tensor.strides().collect();
    if let Some(dimension) = strides.iter().position(Option::is_none) {
        let value = format!("a tile that takes dimension {dimension} apart");
        return Err(refusal("tiles", value, "expected one stride for each dimension"));
    }
    if tensor.prefix_bytes() != 0 {
        return Err(refusal(
            "dynamic_shape_metadata_prefix_bytes",
            format!("M({})", tensor.prefix_bytes()),
            "expected memory that starts with the data",
        ));
    }
    Ok(normalized_strides(tensor.sizes(), &strides.into_iter().flatten().collect::<Vec<_>>()))
}

/// Returns an error unless elements have `bits` bits, the size that the other system uses.
pub(super) fn expect_element_bits(tensor: &StrideDescriptor, bits: u32) -> Result<(), StrideError> {
    if tensor.element_bits() == bits {
        return Ok(());
    }
    let accepted = match bits {
        8 => "expected a byte for each element",
        _ => "expected the type's own size",
    };
    Err(refusal("element_size_in_bits", format!("E({})", tensor.element_bits()), accepted))
}

/// Returns the offset of the element at index 0 in bytes. Elements have `bits` bits.
pub(super) fn byte_offset(tensor: &StrideDescriptor, bits: u32) -> Result<u64, StrideError> {
    let offset = u128::from(tensor.base_offset()) * u128::from(bits);
    u64::try_from(offset / 8).ok().filter(|_| offset.is_multiple_of(8)).ok_or_else(|| {
        let value = format!("{} elements of {bits} bits", tensor.base_offset());
        refusal("offset", value, "expected a whole number of bytes below 2^64")
    })
}

pub(super) fn refusal(field: &'static str, value: String, accepted: &'static str) -> StrideError {
    StrideError::Unsupported { field, value, accepted }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ElementType::{F32, S8, Token};

    #[test]
    fn strides_over_one_element_are_those_of_packing() {
        for (sizes, strides, expected) in [
            (&[1, 1, 3, 5][..], &[7, -99, 5, 1][..], &[15, 15, 5, 1][..]),
            (&[3, 1], &[4, 0], &[4, 1]),
            (&[1, 3], &[0, 1], &[3, 1]),
            // A channels-last array in torch, and the same array in the contiguous format.
            (&[1, 3, 4, 5], &[60, 1, 15, 3], &[60, 1, 15, 3]),
            (&[4, 1, 5, 6], &[30, 1, 6, 1], &[30, 1, 6, 1]),
            (&[4, 3, 1, 1], &[3, 1, 3, 3], &[3, 1, 3, 3]),
            (&[2, 1, 5, 7], &[35, 35, 7, 1], &[35, 35, 7, 1]),
            (&[2, 1, 3], &[-30, 9999, 3], &[-30, 60, 3]),
            // An array without elements.
            (&[2, 0, 3, 4], &[1, 5, 7, -2], &[12, 12, 4, 1]),
            (&[3, 0], &[8, 1], &[1, 1]),
        ] {
            assert_eq!(normalized_strides(sizes, strides), expected, "{sizes:?} {strides:?}");
        }
    }

    /// Checks arrays with dimensions of one element: in every order of dimensions, they have the
    /// same strides as XLA's layout.
    #[test]
    fn dimensions_of_one_element_keep_their_place_in_the_layout() {
        for bits in 0..16_u32 {
            let extent = |d: u64| if bits >> d & 1 == 1 { 1 } else { d + 2 };
            let sizes: Vec<u64> = (0..4).map(extent).collect();
            for number in 0..256_usize {
                let order: Vec<usize> = (0..4).map(|place| number >> (2 * place) & 3).collect();
                if (0..4).any(|d| !order.contains(&d)) {
                    continue;
                }
                let mut expected = vec![0; 4];
                let mut span = 1;
                for &d in &order {
                    expected[d] = span;
                    span *= i64::try_from(sizes[d]).unwrap();
                }
                let layout = crate::shape::Layout::new(order);
                let shape = crate::shape::Shape::new(F32, sizes.clone(), layout).unwrap();
                let tensor = StrideDescriptor::try_from(&shape).unwrap();
                assert_eq!(plain_strides(&tensor), Ok(expected), "{shape}");
            }
        }
    }

    #[test]
    fn byte_strides_of_both_signs_and_none() {
        for (sizes, bytes, offset, strides, base) in [
            (&[2, 3][..], &[12, 4][..], None, &[3, 1][..], 0),
            (&[2, 3], &[0, -4], None, &[0, -1], 2),
            (&[2, 3], &[12, 4], Some(8), &[3, 1], 2),
            (&[1, 3], &[5, 4], None, &[3, 1], 0),
            (&[0, 3], &[-12, 4], None, &[3, 1], 0),
            (&[], &[], None, &[], 0),
        ] {
            let tensor = from_byte_strides(F32, sizes, bytes, offset).unwrap();
            assert!(tensor.strides().eq(strides.iter().copied().map(Some)), "{bytes:?}");
            assert_eq!(tensor.base_offset(), base, "{bytes:?}");
        }
    }

    #[test]
    fn refusals() {
        for (element_type, sizes, bytes, offset, why) in [
            (
                F32,
                &[2][..],
                &[6][..],
                None,
                "byte_strides: expected a multiple of 4, the bytes of an element, got 6",
            ),
            (
                F32,
                &[2],
                &[4],
                Some(2),
                "byte_offset: expected a multiple of 4, the bytes of an element, got 2",
            ),
            (F32, &[2], &[], None, "byte_strides: expected 1 value, one for each dimension, got 0"),
            (
                F32,
                &[2],
                &[-4],
                Some(0),
                "strides: from offset 0, negative strides walk down to element -1, before the first of memory; expected an offset of at least 1 element",
            ),
            (
                S8,
                &[3],
                &[i64::MIN],
                None,
                "strides: expected at most 2^63-1 bytes of memory, got extents whose product is more",
            ),
            (
                Token,
                &[],
                &[],
                None,
                "element_type: expected an array, got token, which has no elements to move",
            ),
        ] {
            let error = from_byte_strides(element_type, sizes, bytes, offset).unwrap_err();
            assert_eq!(error.to_string(), why);
        }
    }
}
