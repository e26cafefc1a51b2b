//! Arrays and types of numpy, which is imported on first use.

use pyo3::{
    intern,
    prelude::*,
    sync::PyOnceLock,
    types::{PyDict, PyModule, PyString},
};
use stridec::{notation::NumpyArray, shape::ElementType};

use crate::{errors::invalid, numbers::shown, torch};

/// Returns the module numpy.
pub(crate) fn numpy(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    static NUMPY: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = NUMPY.get_or_try_init(py, || PyModule::import(py, "numpy").map(Bound::unbind))?;
    Ok(module.bind(py))
}

/// Returns the dtype with this name, from `numpy` or `ml_dtypes`. If `ml_dtypes` is not installed,
/// returns unsigned integers of the same width.
pub(crate) fn dtype<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    static KNOWN: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let known = KNOWN.get_or_init(py, || PyDict::new(py).unbind()).bind(py);
    if let Some(dtype) = known.get_item(name)? {
        return Ok(dtype);
    }
    let numpy = numpy(py)?;
    let make = |given: Bound<'py, PyAny>| numpy.call_method1(intern!(py, "dtype"), (given,));
    let dtype = if let Ok(dtype) = make(PyString::new(py, name).into_any()) {
        dtype
    } else if let Ok(module) = PyModule::import(py, "ml_dtypes") {
        make(module.getattr(name)?)?
    } else {
        let element_type = NumpyArray::element_type(name);
        let bits = element_type.and_then(ElementType::storage_bits).unwrap_or(8);
        make(PyString::new(py, &format!("uint{bits}")).into_any())?
    };
    known.set_item(name, &dtype)?;
    Ok(dtype)
}

/// Returns the element type that `dtype=` describes: XLA's name, numpy's name, a dtype of numpy or
/// `PyTorch`, or a scalar type.
pub(crate) fn element_type(given: &Bound<'_, PyAny>, argument: &str) -> PyResult<ElementType> {
    let py = given.py();
    let expected = "an element type, such as \"bf16\" or numpy.float32";
    let name = if let Ok(text) = given.cast::<PyString>() {
        let text = text.to_string_lossy().into_owned();
        if let Some(known) = ElementType::from_name(&text).filter(|known| known.bits().is_some()) {
            return Ok(known);
        }
        text
    } else if let Some(known) = torch::element_type(given) {
        return Ok(known);
    } else {
        let dtype = match given.getattr_opt(intern!(py, "name"))? {
            Some(_) => given.clone(),
            None => numpy(py)?
                .call_method1(intern!(py, "dtype"), (given,))
                .map_err(|_| invalid(argument, expected, shown(given)))?,
        };
        dtype.getattr(intern!(py, "name"))?.to_string()
    };
    NumpyArray::element_type(&name).ok_or_else(|| invalid(argument, expected, name))
}
