//! Writes strides where there are some, and else the map of the tiling: a result for each part of a dimension where the
//! parts are dense, and else one that gives the offset.

use crate::{
    notation::{Array, pitched::Pitched},
    shape::ElementType,
    stride::{
        StrideDescriptor,
        interchange::{expect_element_bits, memref, mlir_type},
    },
};

pub(in crate::notation) fn write(array: &Array) -> Result<String, String> {
    let tensor = array.descriptor();
    if tensor.element_type() == ElementType::S1 {
        return Err("expected a type that MLIR has, got s1: its i1 is pred".to_owned());
    }
    if tensor.strides().all(|stride| stride.is_some()) {
        return memref(tensor).map_err(|error| error.to_string());
    }
    let element_type = tensor.element_type();
    let (name, bits) = mlir_type(element_type)
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

/// The parts in the order of memory, where nothing is padded.
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

/// `(d0 mod 8) floordiv 2`: the part of a dimension below `modulus`, in steps of `by`.
fn part_name(dimension: usize, by: u64, modulus: Option<u64>) -> String {
    match (modulus, by) {
        (None, 1) => format!("d{dimension}"),
        (None, by) => format!("d{dimension} floordiv {by}"),
        (Some(modulus), 1) => format!("d{dimension} mod {modulus}"),
        (Some(modulus), by) => format!("(d{dimension} mod {modulus}) floordiv {by}"),
    }
}

/// One result, the offset itself.
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
