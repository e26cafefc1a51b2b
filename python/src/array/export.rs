//! Writes DLPack capsules for arrays whose memory another object owns.
#![allow(unsafe_code)]

use std::ffi::c_void;

use pyo3::{exceptions::PyBufferError, ffi, prelude::*, types::PyCapsule};
use stridec::notation::DlPack;

use super::{
    HostArray,
    dlpack::{CPU, Managed, NAME, READ_ONLY, SUBBYTE_PADDED, Tensor, VERSIONED_NAME, Versioned},
    host_array::Access,
};
use crate::{errors::raised, exit::drop_attached};

/// The arrays that a capsule's tensor points to, and the owner of the tensor's memory.
struct Kept {
    shape: Vec<i64>,
    strides: Vec<i64>,
    _owner: Py<PyAny>,
}

/// Returns a capsule with the array. If `versioned` is true, it is of DLPack 1.1.
pub(super) fn capsule<'py>(
    py: Python<'py>,
    array: &HostArray,
    versioned: bool,
) -> PyResult<Bound<'py, PyCapsule>> {
    let described = DlPack::try_from(&array.descriptor()?).map_err(raised)?;
    if !versioned && array.access == Access::ReadOnly {
        return Err(PyBufferError::new_err(
            "a read-only array needs DLPack of version 1; call __dlpack__(max_version=(1, 1))",
        ));
    }
    if !versioned && described.is_subbyte_type_padded {
        return Err(PyBufferError::new_err(
            "elements below a byte need DLPack of version 1; call __dlpack__(max_version=(1, 1))",
        ));
    }
    let mut kept = Box::new(Kept {
        shape: described.shape,
        strides: described.strides,
        _owner: array.owner.clone_ref(py),
    });
    let tensor = Tensor {
        data: array.data.cast(),
        device_type: CPU,
        device_id: 0,
        ndim: i32::try_from(kept.shape.len())?,
        code: described.code,
        bits: described.bits,
        lanes: described.lanes,
        shape: kept.shape.as_mut_ptr(),
        strides: kept.strides.as_mut_ptr(),
        byte_offset: 0,
    };
    let context = Box::into_raw(kept).cast::<c_void>();
    let (pointer, name, destructor): (*mut c_void, _, unsafe extern "C" fn(*mut ffi::PyObject)) =
        if versioned {
            let padded = if described.is_subbyte_type_padded { SUBBYTE_PADDED } else { 0 };
            let read_only = if array.is_read_only() { READ_ONLY } else { 0 };
            let flags = padded | read_only;
            let deleter = Some(delete_versioned as unsafe extern "C" fn(*mut Versioned));
            let managed = Versioned { major: 1, minor: 1, context, deleter, flags, tensor };
            (Box::into_raw(Box::new(managed)).cast(), VERSIONED_NAME, destroy_versioned)
        } else {
            let deleter = Some(delete as unsafe extern "C" fn(*mut Managed));
            (Box::into_raw(Box::new(Managed { tensor, context, deleter })).cast(), NAME, destroy)
        };
    // SAFETY: the pointer is to a tensor of the kind that the name says. The destructor is called
    // once, with the capsule, and frees the tensor if no consumer took it.
    unsafe {
        let capsule = ffi::PyCapsule_New(pointer, name.as_ptr(), Some(destructor));
        Ok(Bound::from_owned_ptr_or_err(py, capsule)?.cast_into_unchecked())
    }
}

unsafe extern "C" fn delete(managed: *mut Managed) {
    // SAFETY: DLPack calls a deleter once, with the pointer that `capsule` made.
    unsafe {
        let managed = Box::from_raw(managed);
        drop_kept(managed.context);
    }
}

unsafe extern "C" fn delete_versioned(managed: *mut Versioned) {
    // SAFETY: as in `delete`.
    unsafe {
        let managed = Box::from_raw(managed);
        drop_kept(managed.context);
    }
}

/// Frees the memory that [`capsule`] allocated. DLPack may call a deleter on any thread, and after
/// the interpreter has exited.
unsafe fn drop_kept(context: *mut c_void) {
    // SAFETY: `capsule` made the pointer from a box, and only this function frees it.
    let kept = unsafe { Box::from_raw(context.cast::<Kept>()) };
    drop_attached(kept);
}

unsafe extern "C" fn destroy(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls this with the capsule. A consumer that takes the tensor renames the
    // capsule, and then deletes the tensor itself.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, NAME.as_ptr()) == 1 {
            delete(ffi::PyCapsule_GetPointer(capsule, NAME.as_ptr()).cast());
        }
    }
}

unsafe extern "C" fn destroy_versioned(capsule: *mut ffi::PyObject) {
    // SAFETY: as in `destroy`.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, VERSIONED_NAME.as_ptr()) == 1 {
            delete_versioned(ffi::PyCapsule_GetPointer(capsule, VERSIONED_NAME.as_ptr()).cast());
        }
    }
}
