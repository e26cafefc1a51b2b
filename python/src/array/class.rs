//! The class `stridec.Array`: an array of another library, which is passed on by DLPack and
//! `__array_interface__`.

use pyo3::{
    exceptions::PyBufferError,
    prelude::*,
    types::{PyCapsule, PyDict, PyTuple},
};
use stridec::shape::ElementType;

use super::{HostArray, dlpack::CPU, export};
use crate::{
    errors::unsupported,
    shape::{Described, Shape},
};

/// An array in host memory that is not copied. It is read by any of the array protocols, and passed
/// on by DLPack and numpy's array interface.
///
/// Unlike numpy, it passes bfloat16 and 8-bit floats on by DLPack.
///
/// >>> import ml_dtypes, numpy, stridec
/// >>> array = stridec.Array(numpy.zeros((2, 3), ml_dtypes.bfloat16))
/// >>> array.dtype, array.shape, array.strides
/// ('bf16', (2, 3), (6, 2))
/// >>> array.__dlpack_device__()
/// (1, 0)
#[pyclass(frozen, module = "stridec")]
pub(crate) struct Array {
    pub(super) array: HostArray,
}

impl Array {
    /// Returns the array of an object.
    pub(crate) fn of(array: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self { array: HostArray::of(array, "array")? })
    }
}

#[pymethods]
impl Array {
    #[new]
    #[pyo3(signature = (array, /))]
    fn new(array: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::of(array)
    }

    /// XLA's name of the element type.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.array.element_type.name()
    }

    /// The extents.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.array.sizes)
    }

    /// The distance between neighbours along each dimension, in bytes.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.array.byte_strides)
    }

    /// True if the array must not be written.
    #[getter]
    fn readonly(&self) -> bool {
        self.array.is_read_only()
    }

    /// The layout of the array's memory.
    #[getter]
    fn layout(&self) -> PyResult<Shape> {
        Ok(Shape { described: Described::Tensor(self.array.tensor()?) })
    }

    /// Returns a DLPack capsule: of version 1.1 if `max_version` allows it, and otherwise without a
    /// version.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        if stream.is_some() {
            return Err(PyBufferError::new_err("stream: expected None for host memory"));
        }
        if dl_device.is_some_and(|device| device != (CPU, 0)) {
            return Err(PyBufferError::new_err("dl_device: expected (1, 0), the host"));
        }
        if copy == Some(true) {
            return Err(PyBufferError::new_err(
                "copy: expected None or False; the array is handed on as it is",
            ));
        }
        export::capsule(py, &self.array, max_version.is_some_and(|(major, _)| major >= 1))
    }

    /// Returns DLPack's kind and number of the device, which are (1, 0) for the host.
    fn __dlpack_device__(&self) -> (i32, i32) {
        (CPU, 0)
    }

    /// The array in numpy's array interface. Types of `ml_dtypes` are opaque there.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let array = &self.array;
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("typestr", typestr(array.element_type)?)?;
        interface.set_item("shape", PyTuple::new(py, &array.sizes)?)?;
        interface.set_item("strides", PyTuple::new(py, &array.byte_strides)?)?;
        interface.set_item("data", (array.data as usize, array.is_read_only()))?;
        Ok(interface)
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("<stridec.Array {}>", self.array.tensor()?))
    }
}

fn typestr(element_type: ElementType) -> PyResult<String> {
    use ElementType as E;
    let bits = element_type.storage_bits();
    let bytes = bits.ok_or_else(|| unsupported("dtype", "elements", element_type))? / 8;
    Ok(match element_type {
        E::Pred => "|b1".into(),
        E::S8 => "|i1".into(),
        E::U8 => "|u1".into(),
        E::S16 | E::S32 | E::S64 => format!("<i{bytes}"),
        E::U16 | E::U32 | E::U64 => format!("<u{bytes}"),
        E::F16 | E::F32 | E::F64 => format!("<f{bytes}"),
        E::C64 | E::C128 => format!("<c{bytes}"),
        _ => format!("|V{bytes}"),
    })
}
