//! Writes memrefs: with strides if every dimension has a single stride, and otherwise with an
//! affine map. If the memory is dense, the map has one result for each part of an index, such as
//! `d0 floordiv 8` and `d0 mod 8`. If not, the map has a single result, the offset.

use crate::{
    notation::{
        Tensor,
        pitched::Pitched,
        strides::{expect_element_bits, plain_strides},
    },
    shape::ElementType,
    stride::{StrideDescriptor, StrideError},
};

/// Returns the MLIR type of a tensor's memory, such as
/// `memref<2x3xf32, strided<[1, 3], offset: 2>>`.
///
/// If the tensor is packed and row-major and begins at the pointer, the layout is omitted. Signed
/// integers are written as MLIR's signless integers, as in StableHLO.
///
/// ```
/// use stridec::{notation::memref, shape::Shape, stride::StrideDescriptor};
/// let memref = |text: &str| {
///     memref(&StrideDescriptor::try_from(&text.parse::<Shape>().unwrap()).unwrap())
/// };
/// assert_eq!(memref("u8[2,3]")?, "memref<2x3xui8>");
/// assert_eq!(memref("c64[]")?, "memref<complex<f32>>");
/// assert_eq!(memref("s32[2,3]{0,1}")?, "memref<2x3xi32, strided<[1, 2]>>");
/// # Ok::<(), stridec::stride::StrideError>(())
/// ```
///
/// # Errors
///
/// Returns an error if a dimension has more than one stride, if the tensor has a prefix, or if its
/// element size differs from MLIR's.
pub fn memref(tensor: &StrideDescriptor) -> Result<String, StrideError> {
    let strides = plain_strides(tensor)?;
    let element_type = tensor.element_type();
    let (Some(name), Some(bits)) = (element_type.mlir_name(), element_type.storage_bits()) else {
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

/// Returns true if the strides describe a packed row-major array. The stride of a dimension with
/// one element is ignored, because it has no effect.
fn is_row_major(sizes: &[u64], strides: &[i64]) -> bool {
    let mut span = 1_i64;
    sizes.iter().zip(strides).rev().all(|(&size, &stride)| {
        let continues = stride == span || size == 1;
        span = span.saturating_mul(i64::try_from(size.max(1)).unwrap_or(i64::MAX));
        continues
    })
}

pub(in crate::notation) fn write(array: &Tensor) -> Result<String, String> {
    let tensor = array.descriptor();
    if tensor.element_type() == ElementType::S1 {
        return Err("expected a type that MLIR has, got s1: its i1 is pred".to_owned());
    }
    if tensor.strides().all(|stride| stride.is_some()) {
        return memref(tensor).map_err(|error| error.to_string());
    }
    let element_type = tensor.element_type();
    let (name, bits) = element_type
        .mlir_name()
        .zip(element_type.storage_bits())
        .ok_or_else(|| format!("expected an array, got {element_type}"))?;
    expect_element_bits(tensor, bits).map_err(|error| error.to_string())?;
    let results = match dense(tensor) {
        Some(results) => results.join(", "),
        None => offset(tensor)?,
    };
    let extents: Vec<String> = tensor.sizes().iter().map(ToString::to_string).collect();
    let dimensions: Vec<String> = (0..tensor.rank()).map(|d| format!("d{d}")).collect();
    let (extents, dimensions) = (extents.join("x"), dimensions.join(", "));
    Ok(format!("memref<{extents}x{name}, affine_map<({dimensions}) -> ({results})>>"))
}

/// Returns the results of an affine map for dense memory, one for each digit in memory order.
/// Returns `None` if the memory is not dense or has fewer than two digits.
fn dense(tensor: &StrideDescriptor) -> Option<Vec<String>> {
    let digits = tensor.digits()?;
    let Pitched { parts, step } = Pitched::of(tensor).ok()?;
    let is_dense = step == 1 && parts.iter().all(|part| part.padded == part.extent);
    (is_dense && parts.len() > 1).then(|| {
        let name = |dimension: usize, level: usize| {
            let by: u64 = digits[dimension][..level].iter().map(|digit| digit.extent).product();
            let modulus =
                digits[dimension].get(level + 1).map(|_| by * digits[dimension][level].extent);
            part_name(dimension, by, modulus)
        };
        parts.iter().map(|part| name(part.dimension, part.level)).collect()
    })
}

/// Returns the affine expression of a digit. For example, a divisor `by` of 2 and a modulus of 8 in
/// dimension 0 give `(d0 mod 8) floordiv 2`.
fn part_name(dimension: usize, by: u64, modulus: Option<u64>) -> String {
    match (modulus, by) {
        (None, 1) => format!("d{dimension}"),
        (None, by) => format!("d{dimension} floordiv {by}"),
        (Some(modulus), 1) => format!("d{dimension} mod {modulus}"),
        (Some(modulus), by) => format!("(d{dimension} mod {modulus}) floordiv {by}"),
    }
}

/// Returns the offset as an affine expression. This is the only result of the map if the memory is
/// not dense.
fn offset(tensor: &StrideDescriptor) -> Result<String, String> {
    let digits = tensor.digits().ok_or("the offset is no sum over the digits of an index")?;
    let mut terms = Vec::new();
    for (dimension, digits) in digits.iter().enumerate() {
        let mut by = 1;
        for (level, digit) in digits.iter().enumerate() {
            let modulus = (level + 1 < digits.len()).then(|| by * digit.extent);
            terms.push(format!("({}) * {}", part_name(dimension, by, modulus), digit.stride));
            by *= digit.extent;
        }
    }
    if tensor.base_offset() != 0 || terms.is_empty() {
        terms.push(tensor.base_offset().to_string());
    }
    Ok(terms.join(" + "))
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
