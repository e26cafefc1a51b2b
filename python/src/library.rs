//! The library of a caller's arrays, which is also that of the results.

use pyo3::{
    intern,
    prelude::*,
    types::{PyDict, PyModule},
};
use stridec::shape::ElementType;

use crate::{array::Array, torch::is_of_torch};

/// The library that results belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Library {
    Numpy,
    Jax,
    Torch,
}

impl Library {
    /// Returns the library of the given arrays. If they are of several, `PyTorch` comes before JAX,
    /// and JAX before numpy. Arrays of any other library give numpy.
    pub(crate) fn of<'a, 'py: 'a>(given: impl IntoIterator<Item = &'a Bound<'py, PyAny>>) -> Self {
        let mut found = Self::Numpy;
        for array in given {
            if is_of_torch(array) {
                return Self::Torch;
            }
            let module = array.get_type().getattr(intern!(array.py(), "__module__"));
            let module = module.and_then(|module| module.extract::<String>());
            if module.is_ok_and(|module| module.starts_with("jax")) {
                found = Self::Jax;
            }
        }
        found
    }

    /// Returns a numpy array of ours as an array of this library, without a copy if the library
    /// allows it. Returns the numpy array itself if the library does not have its element type.
    pub(crate) fn array(
        self,
        array: Bound<'_, PyAny>,
        element_type: ElementType,
    ) -> PyResult<Bound<'_, PyAny>> {
        let py = array.py();
        let passed = match self {
            Self::Numpy => return Ok(array),
            Self::Jax => jax(py, &array),
            Self::Torch => torch(py, &array, element_type),
        };
        // A library refuses an element type with an exception, and every library with another one.
        Ok(passed.ok().flatten().unwrap_or(array))
    }
}

/// Returns a numpy array as an array of JAX, or `None` if JAX would change its element type, as it
/// does with 64-bit types by default.
fn jax<'py>(py: Python<'py>, array: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let module = PyModule::import(py, "jax.numpy")?;
    let dtype = array.getattr(intern!(py, "dtype"))?;
    let kept = PyModule::import(py, "jax")?.getattr(intern!(py, "dtypes"))?;
    let kept = kept.call_method1(intern!(py, "canonicalize_dtype"), (&dtype,))?;
    if !kept.eq(&dtype)? {
        return Ok(None);
    }
    let arguments = PyDict::new(py);
    arguments.set_item("copy", py.None())?;
    module.call_method(intern!(py, "asarray"), (array,), Some(&arguments)).map(Some)
}

/// Returns a numpy array as a tensor of `PyTorch` that shares its memory.
fn torch<'py>(
    py: Python<'py>,
    array: &Bound<'py, PyAny>,
    element_type: ElementType,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let module = PyModule::import(py, "torch")?;
    let passed = Bound::new(py, Array::of(array)?)?;
    if let Ok(tensor) = module.call_method1(intern!(py, "from_dlpack"), (passed,)) {
        return Ok(Some(tensor));
    }
    // DLPack of this version of `PyTorch` lacks the type, so its bits are passed.
    let bits = element_type.storage_bits().unwrap_or(8);
    let integers = array.call_method1(intern!(py, "view"), (format!("uint{bits}"),))?;
    let tensor = module.call_method1(intern!(py, "from_numpy"), (integers,))?;
    let dtype = array.getattr(intern!(py, "dtype"))?.getattr(intern!(py, "name"))?;
    let dtype = module.getattr(dtype.extract::<String>()?.as_str())?;
    tensor.call_method1(intern!(py, "view"), (dtype,)).map(Some)
}
