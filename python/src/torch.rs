//! Types and tensors of `PyTorch`, which is never imported here.

use pyo3::{intern, prelude::*};
use stridec::{
    Tensor,
    notation::{NumpyArray, from_byte_strides},
    shape::{ElementType, StridedShape},
};

use crate::{
    errors::{invalid, raised},
    numbers::{numbers, shown},
};

/// Returns true if the class of an object is defined in the module `torch` or inside it, or derives
/// from such a class.
pub(crate) fn is_of_torch(given: &Bound<'_, PyAny>) -> bool {
    let is_inside = |module: &str| module == "torch" || module.starts_with("torch.");
    let classes = given.get_type().mro();
    classes.iter().any(|class| {
        let module = class.getattr(intern!(given.py(), "__module__"));
        module.and_then(|module| module.extract::<String>()).is_ok_and(|module| is_inside(&module))
    })
}

/// Returns the element type of a `torch.dtype`, or `None` for another object.
pub(crate) fn element_type(given: &Bound<'_, PyAny>) -> Option<ElementType> {
    let text = given.str().ok().filter(|_| is_of_torch(given))?.to_string();
    NumpyArray::element_type(text.strip_prefix("torch.")?)
}

/// Returns the layout of a tensor, which needs no memory: it may be on another device, or be a meta
/// or a fake tensor. Returns `None` for another object.
pub(crate) fn described(given: &Bound<'_, PyAny>, argument: &str) -> PyResult<Option<Tensor>> {
    let py = given.py();
    if !is_of_torch(given) || !given.hasattr(intern!(py, "stride"))? {
        return Ok(None);
    }
    let dtype = given.getattr(intern!(py, "dtype"))?;
    let Some(element_type) = element_type(&dtype) else {
        let expected = "a type that XLA has";
        return Err(invalid(&format!("{argument}.dtype"), expected, shown(&dtype)));
    };
    let sizes: Vec<u64> =
        numbers(&given.getattr(intern!(py, "shape"))?, &format!("{argument}.shape"))?;
    let strides: Vec<i64> =
        numbers(&given.call_method0(intern!(py, "stride"))?, &format!("{argument}.stride()"))?;
    let bytes = i64::from(element_type.storage_bits().unwrap_or(8) / 8);
    let strides: Vec<i64> = strides.iter().map(|stride| stride.saturating_mul(bytes)).collect();
    tensor_of_strides(element_type, &sizes, &strides).map(Some)
}

/// Returns the layout of an array with the given distances between neighbours, in bytes: an XLA
/// shape if the memory consists of the elements alone, and strides otherwise.
pub(crate) fn tensor_of_strides(
    element_type: ElementType,
    sizes: &[u64],
    byte_strides: &[i64],
) -> PyResult<Tensor> {
    let lowered = from_byte_strides(element_type, sizes, byte_strides, None).map_err(raised)?;
    let strides = lowered.strides().flatten();
    let sizes = sizes.iter().copied();
    let strided = StridedShape::new(element_type, sizes, strides, lowered.base_offset(), 0)
        .map_err(raised)?;
    Ok(match strided.to_shape() {
        Some(shape) => Tensor::try_from(shape).map_err(raised)?,
        None => Tensor::try_from(strided).map_err(raised)?,
    })
}
