//! MLIR's `memref`.

use super::{StrideDescriptor, StrideError, expect_element_bits, plain_strides};
use crate::shape::ElementType;

/// MLIR's type of the memory: `memref<2x3xf32, strided<[1, 3], offset: 2>>`.
///
/// Without a layout where the tensor is packed, row-major and starts at the pointer. Integers with a sign are MLIR's
/// signless ones, as in `StableHLO`.
///
/// ```
/// use stridec::{shape::Shape, stride::{StrideDescriptor, interchange::memref}};
/// let memref = |text: &str| memref(&StrideDescriptor::try_from(&text.parse::<Shape>().unwrap()).unwrap());
/// assert_eq!(memref("u8[2,3]")?, "memref<2x3xui8>");
/// assert_eq!(memref("c64[]")?, "memref<complex<f32>>");
/// assert_eq!(memref("s32[2,3]{0,1}")?, "memref<2x3xi32, strided<[1, 2]>>");
/// # Ok::<(), stridec::stride::StrideError>(())
/// ```
///
/// # Errors
///
/// Where a tile leaves a dimension without a stride, the tensor has a prefix, or its elements take other memory than MLIR gives the type.
pub fn memref(tensor: &StrideDescriptor) -> Result<String, StrideError> {
    let strides = plain_strides(tensor)?;
    let element_type = tensor.element_type();
    let (Some(name), Some(bits)) = (mlir_type(element_type), element_type.storage_bits()) else {
        return Err(StrideError::NoElements { element_type });
    };
    expect_element_bits(tensor, bits)?;
    let mut extents: Vec<String> = tensor.sizes().iter().map(ToString::to_string).collect();
    extents.push(name);
    let offset = match tensor.base_offset() {
        0 => String::new(),
        offset => format!(", offset: {offset}"),
    };
    let layout = if offset.is_empty() && is_row_major(tensor.sizes(), &strides) {
        String::new()
    } else {
        let strides: Vec<String> = strides.iter().map(ToString::to_string).collect();
        format!(", strided<[{}]{offset}>", strides.join(", "))
    };
    Ok(format!("memref<{}{layout}>", extents.join("x")))
}

/// Whether the strides are those that packing gives, the last dimension minor.
fn is_row_major(sizes: &[u64], strides: &[i64]) -> bool {
    let mut span = 1_i64;
    sizes.iter().zip(strides).rev().all(|(&size, &stride)| {
        let continues = stride == span;
        span = span.saturating_mul(i64::try_from(size.max(1)).unwrap_or(i64::MAX));
        continues
    })
}

/// MLIR's name of an element type; `None` for a kind without elements.
pub(crate) fn mlir_type(element_type: ElementType) -> Option<String> {
    use ElementType as E;
    Some(match element_type {
        E::Pred => "i1".to_owned(),
        E::C64 => "complex<f32>".to_owned(),
        E::C128 => "complex<f64>".to_owned(),
        E::Bf16 | E::F16 | E::F32 | E::F64 => element_type.name().to_owned(),
        E::Tuple | E::Opaque | E::Token | E::Buffer => return None,
        kind if kind.is_signed_integer() => format!("i{}", kind.bits()?),
        kind if kind.is_unsigned_integer() => format!("ui{}", kind.bits()?),
        // f8e4m3fn is f8E4M3FN there.
        kind => format!("f{}", kind.name()[1..].to_uppercase()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Shape;

    fn of(text: &str) -> Result<String, StrideError> {
        memref(&StrideDescriptor::try_from(&text.parse::<Shape>().unwrap()).unwrap())
    }

    #[test]
    fn types_print_as_mlir_does() {
        for (text, expected) in [
            ("f32[]", "memref<f32>"),
            ("f32[2,3]", "memref<2x3xf32>"),
            ("f32[2,3]{0,1:PAD(3,5)}", "memref<2x3xf32, strided<[1, 3]>>"),
            ("f8e4m3fn[4]", "memref<4xf8E4M3FN>"),
            ("pred[4]", "memref<4xi1>"),
            ("u4[4]", "memref<4xui4>"),
            ("f32[1,1,3,5]{1,3,2,0}", "memref<1x1x3x5xf32>"),
            (
                "f32[8,64,112,112]{1,3,2,0}",
                "memref<8x64x112x112xf32, strided<[802816, 1, 7168, 64]>>",
            ),
            ("f32[0,3]", "memref<0x3xf32>"),
        ] {
            assert_eq!(of(text), Ok(expected.to_owned()));
        }
        let cut = StrideDescriptor::strided(ElementType::F32, 0, &[2, 3], &[-5, 1], 6).unwrap();
        assert_eq!(memref(&cut).unwrap(), "memref<2x3xf32, strided<[-5, 1], offset: 6>>");
        assert_eq!(of("f32[4]{0:T(2)}").unwrap(), "memref<4xf32>");
        assert!(of("s4[4]{0:E(4)}").is_err() && of("f32[4,4]{1,0:T(2,2)}").is_err());
    }
}
