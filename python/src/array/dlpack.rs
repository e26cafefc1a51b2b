//! Reads arrays by DLPack's `__dlpack__`, from capsules with and without a version.
#![allow(unsafe_code)]

use std::{ffi::c_void, slice};

use pyo3::{
    exceptions::{PyBufferError, PyTypeError},
    intern,
    prelude::*,
    types::{PyCapsule, PyDict},
};
use stridec::notation::DlPack;

use super::{HostArray, host_array::Access};
use crate::errors::{Unsupported, invalid, unsupported};

pub(super) const NAME: &std::ffi::CStr = c"dltensor";
pub(super) const VERSIONED_NAME: &std::ffi::CStr = c"dltensor_versioned";
pub(super) const READ_ONLY: u64 = 1;
pub(super) const SUBBYTE_PADDED: u64 = 4;
pub(super) const CPU: i32 = 1;
/// The greatest rank of a tensor. A tensor of higher rank is damaged, and its extents are not read.
pub(super) const MAX_RANK: usize = 64;
/// The kinds of devices whose memory the host can access: `kDLCPU`, `kDLCUDAHost` and
/// `kDLROCMHost`.
const HOST: [i32; 3] = [CPU, 3, 11];

#[repr(C)]
pub(super) struct Tensor {
    pub(super) data: *mut c_void,
    pub(super) device_type: i32,
    pub(super) device_id: i32,
    pub(super) ndim: i32,
    pub(super) code: u8,
    pub(super) bits: u8,
    pub(super) lanes: u16,
    pub(super) shape: *mut i64,
    pub(super) strides: *mut i64,
    pub(super) byte_offset: u64,
}

/// DLPack's `DLManagedTensor`.
#[repr(C)]
pub(super) struct Managed {
    pub(super) tensor: Tensor,
    pub(super) context: *mut c_void,
    pub(super) deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

/// DLPack's `DLManagedTensorVersioned`.
#[repr(C)]
pub(super) struct Versioned {
    pub(super) major: u32,
    pub(super) minor: u32,
    pub(super) context: *mut c_void,
    pub(super) deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    pub(super) flags: u64,
    pub(super) tensor: Tensor,
}

/// Returns true if an error says that DLPack has no type for the array. Another protocol is then
/// tried.
pub(super) fn is_limit(py: Python<'_>, error: &PyErr) -> bool {
    let ours = error.is_instance_of::<crate::errors::InvalidInput>(py);
    !ours && !error.is_instance_of::<Unsupported>(py)
}

/// Returns the array that `object.__dlpack__` returns. Its capsule is kept but not consumed, so the
/// memory is returned when the capsule is dropped.
pub(super) fn read(
    object: &Bound<'_, PyAny>,
    method: &Bound<'_, PyAny>,
    argument: &str,
) -> PyResult<HostArray> {
    let py = object.py();
    let device = object.call_method0(intern!(py, "__dlpack_device__"))?;
    let kind: i32 = device.get_item(0)?.extract()?;
    if !HOST.contains(&kind) {
        let given = format!("an array on a device of kind {kind}");
        return Err(unsupported(argument, "an array in host memory; copy it there first", given));
    }
    // PyTorch exports the memory of a negated view as it is before the negation.
    if let Some(is_negated) = object.getattr_opt(intern!(py, "is_neg"))?
        && is_negated.call0()?.is_truthy()?
    {
        let given = "a view that PyTorch negates when it is read";
        return Err(unsupported(argument, "the elements in memory; call `resolve_neg()`", given));
    }
    let arguments = PyDict::new(py);
    arguments.set_item(intern!(py, "max_version"), (1, 1))?;
    let capsule = match method.call((), Some(&arguments)) {
        Err(error) if error.is_instance_of::<PyTypeError>(py) => method.call0()?,
        capsule => capsule?,
    };
    let broken = || invalid(argument, "a DLPack capsule", "another value");
    let found = capsule.cast::<PyCapsule>().map_err(|_| broken())?;
    let (tensor, flags) = if found.is_valid_checked(Some(VERSIONED_NAME)) {
        let pointer = found.pointer_checked(Some(VERSIONED_NAME))?;
        // SAFETY: a capsule of this name points to such a tensor, which lives at least until the
        // capsule is freed.
        let managed = unsafe { pointer.cast::<Versioned>().as_ref() };
        if managed.major != 1 {
            let given = format!("{}.{}", managed.major, managed.minor);
            return Err(unsupported(argument, "DLPack of version 1", given));
        }
        (&managed.tensor, Some(managed.flags))
    } else if found.is_valid_checked(Some(NAME)) {
        let pointer = found.pointer_checked(Some(NAME))?;
        // SAFETY: as above. A tensor without a version does not say whether it may be written.
        (&unsafe { pointer.cast::<Managed>().as_ref() }.tensor, None)
    } else {
        return Err(broken());
    };
    view(tensor, flags, capsule.clone().unbind(), argument)
}

/// Returns the error for an array with elements and a null pointer.
pub(super) fn no_memory(argument: &str) -> PyErr {
    let given = "one without memory: a fake tensor, or one whose storage was freed";
    unsupported(argument, "an array whose elements are in memory", given)
}

/// Returns the array of a tensor. `flags` is `None` for a tensor without a version, which has no
/// flags.
fn view(
    tensor: &Tensor,
    flags: Option<u64>,
    owner: Py<PyAny>,
    argument: &str,
) -> PyResult<HostArray> {
    let access = match flags {
        None => Access::Unknown,
        Some(flags) if flags & READ_ONLY != 0 => Access::ReadOnly,
        Some(_) => Access::Writable,
    };
    let broken = |what: &str| invalid(argument, "a valid DLPack tensor", what);
    if !HOST.contains(&tensor.device_type) {
        return Err(broken("one on another device than `__dlpack_device__` says"));
    }
    let rank = usize::try_from(tensor.ndim).map_err(|_| broken("a negative rank"))?;
    if rank > MAX_RANK {
        return Err(broken(&format!("one of rank {rank}")));
    }
    let sizes: Vec<u64> = match rank {
        0 => Vec::new(),
        _ if tensor.shape.is_null() => return Err(broken("no shape")),
        // SAFETY: the tensor has `ndim` extents.
        _ => unsafe { slice::from_raw_parts(tensor.shape, rank) }
            .iter()
            .map(|&size| u64::try_from(size).map_err(|_| broken("a negative extent")))
            .collect::<PyResult<_>>()?,
    };
    if tensor.data.is_null() && !sizes.contains(&0) {
        return Err(no_memory(argument));
    }
    let (code, bits) = (tensor.code, tensor.bits);
    let element_type = DlPack::element_type(code, bits).filter(|_| tensor.lanes == 1);
    let packed = bits < 8 && flags.unwrap_or_default() & SUBBYTE_PADDED == 0;
    let Some(element_type) = element_type.filter(|_| !packed) else {
        // This error is not one of stridec's own, so numpy is tried next.
        let given = format!("type {code} of {bits} bits, {} lanes", tensor.lanes);
        return Err(PyBufferError::new_err(format!(
            "{argument}.dtype: expected an element type of XLA in whole bytes, got DLPack's {given}"
        )));
    };
    let bytes = i64::from(element_type.storage_bits().unwrap_or(8) / 8);
    let byte_strides = if tensor.strides.is_null() {
        let mut packed = bytes;
        let mut strides: Vec<i64> = Vec::with_capacity(rank);
        for &size in sizes.iter().rev() {
            strides.push(packed);
            packed = packed.saturating_mul(i64::try_from(size.max(1)).unwrap_or(i64::MAX));
        }
        strides.reverse();
        strides
    } else {
        let strides = match rank {
            0 => &[][..],
            // SAFETY: the tensor has `ndim` strides.
            _ => unsafe { slice::from_raw_parts(tensor.strides, rank) },
        };
        let scaled = strides.iter().zip(&sizes).map(|(stride, &size)| {
            // The stride of a dimension with fewer than two elements may be any number.
            if size < 2 { Some(bytes) } else { stride.checked_mul(bytes) }
        });
        scaled.collect::<Option<_>>().ok_or_else(|| broken("strides past 2^63 bytes"))?
    };
    let offset = usize::try_from(tensor.byte_offset).map_err(|_| broken("a large offset"))?;
    let array = HostArray {
        element_type,
        sizes,
        byte_strides,
        data: tensor.data.cast::<u8>().wrapping_add(offset),
        access,
        owner,
    };
    array.checked(argument)
}
