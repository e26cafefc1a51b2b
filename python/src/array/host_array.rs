//! [`HostArray`]: the memory and the layout of an array that another library owns.
#![allow(unsafe_code)]

use pyo3::{intern, prelude::*, types::PyMemoryView};
use stridec::{Tensor, notation::from_byte_strides, shape::ElementType, stride::StrideDescriptor};

use super::{dlpack, interface};
use crate::{
    errors::{invalid, raised, unsupported},
    torch::{is_of_torch, tensor_of_strides},
};

/// The permission to write to an array's memory, as its owner declares it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Writable,
    ReadOnly,
    /// DLPack without a version does not declare it. Such an array counts as read-only, as in
    /// numpy.
    Unknown,
}

/// An array in host memory that a Python object keeps alive.
///
/// The memory belongs to another library. If another thread writes to it during a copy, the result
/// of the copy may mix old and new elements.
pub(crate) struct HostArray {
    pub(super) element_type: ElementType,
    pub(super) sizes: Vec<u64>,
    pub(super) byte_strides: Vec<i64>,
    /// The address of the element at index 0.
    pub(super) data: *mut u8,
    pub(super) access: Access,
    /// The object that keeps the memory alive.
    pub(super) owner: Py<PyAny>,
}

// SAFETY: the owner keeps the memory alive on every thread.
unsafe impl Send for HostArray {}
// SAFETY: no method changes the fields of a shared array.
unsafe impl Sync for HostArray {}

impl HostArray {
    /// Returns the array that an object contains, by `__array_struct__`, DLPack,
    /// `__array_interface__` or the buffer protocol. Returns an error if the object supports none
    /// of them.
    pub(crate) fn of(object: &Bound<'_, PyAny>, argument: &str) -> PyResult<Self> {
        let py = object.py();
        if let Ok(array) = object.cast::<super::Array>() {
            return Ok(array.get().array.again(py));
        }
        if let Some(found) = object.getattr_opt(intern!(py, "__array_struct__"))? {
            return interface::read(object, &found, argument);
        }
        // Gradients are not followed. A parameter of a module is read without them, as its weights
        // are. The result of a computation would lose its gradient without a word.
        let object = &match object.getattr_opt(intern!(py, "requires_grad"))? {
            Some(records) if is_of_torch(object) && records.is_truthy()? => {
                if !object.getattr(intern!(py, "grad_fn"))?.is_none() {
                    let expected = "a tensor without a record of its gradient, which is not followed; call `detach()`";
                    return Err(unsupported(argument, expected, "one that requires grad"));
                }
                object.call_method0(intern!(py, "detach"))?
            }
            _ => object.clone(),
        };
        let mut refused = None;
        if let Some(method) = object.getattr_opt(intern!(py, "__dlpack__"))? {
            match dlpack::read(object, &method, argument) {
                Ok(array) => return Ok(array),
                Err(error) => refused = Some(error),
            }
        }
        if let Some(error) = refused.take_if(|error| !dlpack::is_limit(py, error)) {
            return Err(error);
        }
        let converts = object.hasattr(intern!(py, "__array_interface__"))?
            || object.hasattr(intern!(py, "__array__"))?;
        let given = if converts {
            object.clone()
        } else if let Ok(view) = PyMemoryView::from(object) {
            view.into_any()
        } else {
            let expected = "an array: `__array_interface__`, DLPack or the buffer protocol";
            let given = object.get_type().name()?.to_string();
            return Err(refused.unwrap_or_else(|| invalid(argument, expected, given)));
        };
        let array = super::numpy::numpy(py)?.call_method1(intern!(py, "asarray"), (given,))?;
        let found = array.getattr(intern!(py, "__array_struct__"))?;
        interface::read(&array, &found, argument)
    }

    fn again(&self, py: Python<'_>) -> Self {
        Self {
            element_type: self.element_type,
            sizes: self.sizes.clone(),
            byte_strides: self.byte_strides.clone(),
            data: self.data,
            access: self.access,
            owner: self.owner.clone_ref(py),
        }
    }

    pub(crate) fn element_type(&self) -> ElementType {
        self.element_type
    }

    pub(crate) fn sizes(&self) -> &[u64] {
        &self.sizes
    }

    /// Returns the distance between neighbours along each dimension, in bytes.
    pub(crate) fn byte_strides(&self) -> &[i64] {
        &self.byte_strides
    }

    /// Returns true unless the owner declares that the memory may be written.
    pub(crate) fn is_read_only(&self) -> bool {
        self.access != Access::Writable
    }

    /// Decides whether the array may be written if its own protocol does not declare it. Uses the
    /// declaration of `numpy.asarray(object)` if this is a view of the same memory.
    pub(super) fn resolve_access(&mut self, object: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = object.py();
        if self.access != Access::Unknown || !object.hasattr(intern!(py, "__array__"))? {
            return Ok(());
        }
        // An array whose type numpy does not have stays read-only.
        let asarray = intern!(py, "asarray");
        let Ok(array) = super::numpy::numpy(py)?.call_method1(asarray, (object,)) else {
            return Ok(());
        };
        let found = array.getattr(intern!(py, "__array_struct__"))?;
        let seen = interface::read(&array, &found, "out")?;
        if seen.data == self.data {
            self.access = seen.access;
        }
        Ok(())
    }

    /// Returns the size of an element, in bytes.
    pub(crate) fn element_bytes(&self) -> u64 {
        u64::from(self.element_type.storage_bits().unwrap_or(8) / 8)
    }

    /// Returns true if every stride is a multiple of the size of an element, as layouts require.
    pub(crate) fn has_whole_strides(&self) -> bool {
        let bytes = self.element_bytes().cast_signed();
        let mut moving = self.byte_strides.iter().zip(&self.sizes).filter(|(_, size)| **size > 1);
        moving.all(|(stride, _)| stride % bytes == 0)
    }

    /// Returns a copy of the elements in row-major order. `object` is this array.
    pub(crate) fn packed(&self, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let copy =
            super::numpy::numpy(py)?.call_method1(intern!(py, "ascontiguousarray"), (object,))?;
        Self::of(&copy, "array")
    }

    /// Returns the layout of the memory, which starts at the element with the lowest address.
    pub(crate) fn descriptor(&self) -> PyResult<StrideDescriptor> {
        from_byte_strides(self.element_type, &self.sizes, &self.byte_strides, None).map_err(raised)
    }

    /// Returns the layout as a tensor: an XLA shape if the memory consists of the elements alone,
    /// and strides otherwise.
    pub(crate) fn tensor(&self) -> PyResult<Tensor> {
        tensor_of_strides(self.element_type, &self.sizes, &self.byte_strides)
    }

    /// Returns true if the elements are in row-major order without gaps.
    pub(crate) fn is_row_major(&self) -> bool {
        if self.sizes.contains(&0) {
            return true;
        }
        let mut expected = self.element_bytes().cast_signed();
        self.sizes.iter().zip(&self.byte_strides).rev().all(|(&size, &stride)| {
            let fits = size == 1 || stride == expected;
            expected = expected.saturating_mul(size.cast_signed());
            fits
        })
    }

    /// Returns the distances in bytes from the element at index 0 to the first byte of the array,
    /// and to the end of its last byte.
    fn reach(&self) -> PyResult<(isize, isize)> {
        if self.sizes.contains(&0) {
            return Ok((0, 0));
        }
        let mut reach = (0_i64, self.element_bytes().cast_signed());
        for (&size, &stride) in self.sizes.iter().zip(&self.byte_strides) {
            let far = i64::try_from(size - 1).ok().and_then(|last| last.checked_mul(stride));
            let end = if stride < 0 { &mut reach.0 } else { &mut reach.1 };
            let sum = far.and_then(|far| end.checked_add(far));
            *end = sum.ok_or_else(|| invalid("strides", "memory below 2^63 bytes", "more"))?;
        }
        // Both distances fit an i64, and isize is as wide on the platforms of these protocols.
        Ok((isize::try_from(reach.0)?, isize::try_from(reach.1)?))
    }

    /// Returns the array, or an error if its memory would be larger than an address can count. numpy
    /// reads such an array without a check.
    pub(super) fn checked(self, argument: &str) -> PyResult<Self> {
        let reach = self.reach().ok();
        match reach.and_then(|(low, high)| high.checked_sub(low)) {
            Some(_) => Ok(self),
            None => {
                let field = format!("{argument}.strides");
                Err(invalid(&field, "memory of less than 2^63 bytes", "more"))
            }
        }
    }

    /// Returns the memory from the lowest address of an element to the end of the highest element.
    pub(crate) fn bytes(&self) -> PyResult<&[u8]> {
        let (low, high) = self.reach()?;
        let length = high.abs_diff(low);
        if length == 0 {
            return Ok(&[]);
        }
        // SAFETY: the protocols promise that the owner keeps every element of the array in memory.
        // These are the bytes from the first to the last element, in one allocation.
        Ok(unsafe { std::slice::from_raw_parts(self.data.offset(low), length) })
    }

    /// Returns the memory for writing, or an error if the array is read-only.
    #[allow(clippy::mut_from_ref)] // the memory is behind a pointer, and the caller checks who else has it
    pub(crate) fn bytes_mut(&self, argument: &str) -> PyResult<&mut [u8]> {
        if self.is_read_only() {
            return Err(invalid(argument, "an array that can be written", "a read-only one"));
        }
        let (low, high) = self.reach()?;
        let length = high.abs_diff(low);
        if length == 0 {
            return Ok(&mut []);
        }
        // SAFETY: as in `bytes`. The array is not read-only, and nothing else accesses it.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.data.offset(low), length) })
    }

    /// Returns true if the memory of two arrays overlaps.
    pub(crate) fn overlaps(&self, other: &Self) -> PyResult<bool> {
        let (a, b) = (self.bytes()?.as_ptr_range(), other.bytes()?.as_ptr_range());
        Ok(!a.is_empty() && !b.is_empty() && a.start < b.end && b.start < a.end)
    }
}
