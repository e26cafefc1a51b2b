//! Reads arrays by `__array_struct__`, the C form of numpy's array interface.
#![allow(unsafe_code)]

use std::{
    ffi::{c_int, c_void},
    slice,
};

use pyo3::{intern, prelude::*, types::PyCapsule};
use stridec::{notation::NumpyArray, shape::ElementType};

use super::{HostArray, dlpack, host_array::Access};
use crate::errors::{invalid, unsupported};

/// The members of numpy's `PyArrayInterface`.
#[repr(C)]
struct Interface {
    two: c_int,
    nd: c_int,
    /// A character, whose type in Rust differs from platform to platform.
    typekind: u8,
    itemsize: c_int,
    flags: c_int,
    shape: *const isize,
    strides: *const isize,
    data: *mut c_void,
}

const NOT_SWAPPED: c_int = 0x200;
const WRITEABLE: c_int = 0x400;

/// Returns the array of the capsule that `object.__array_struct__` returned. The capsule keeps the
/// memory alive.
pub(super) fn read(
    object: &Bound<'_, PyAny>,
    found: &Bound<'_, PyAny>,
    argument: &str,
) -> PyResult<HostArray> {
    let py = object.py();
    let is_subclass = object.get_type().name()? != "ndarray";
    if is_subclass
        && object.hasattr(intern!(py, "mask"))?
        && object.hasattr(intern!(py, "filled"))?
    {
        let expected = "an array without a mask; `a.filled(value)` gives the hidden elements a value, \
            and `a.data` is the array below the mask";
        return Err(unsupported(argument, expected, "a masked array"));
    }
    let broken = || invalid(argument, "`__array_struct__` as numpy gives it", "another value");
    let pointer = found.cast::<PyCapsule>().map_err(|_| broken())?.pointer_checked(None)?;
    // SAFETY: a nameless capsule in `__array_struct__` points to a `PyArrayInterface`, which exists
    // at least until the capsule is freed.
    let given = unsafe { pointer.cast::<Interface>().as_ref() };
    let rank = usize::try_from(given.nd).ok().filter(|_| given.two == 2).ok_or_else(broken)?;
    // The extents of a damaged array are not read.
    if rank > dlpack::MAX_RANK {
        return Err(broken());
    }
    if rank > 0 && (given.shape.is_null() || given.strides.is_null()) {
        return Err(broken());
    }
    let (shape, strides) = match rank {
        0 => (&[][..], &[][..]),
        // SAFETY: the interface has `nd` extents and `nd` strides.
        _ => unsafe {
            (slice::from_raw_parts(given.shape, rank), slice::from_raw_parts(given.strides, rank))
        },
    };
    if shape.iter().any(|&size| size < 0) {
        return Err(broken());
    }
    if given.data.is_null() && !shape.contains(&0) {
        return Err(dlpack::no_memory(argument));
    }
    let array = HostArray {
        element_type: element_type(object, given, argument)?,
        sizes: shape.iter().map(|&size| size.cast_unsigned() as u64).collect(),
        byte_strides: strides.iter().map(|&stride| stride as i64).collect(),
        data: given.data.cast(),
        access: if given.flags & WRITEABLE == 0 { Access::ReadOnly } else { Access::Writable },
        owner: found.clone().unbind(),
    };
    array.checked(argument)
}

fn element_type(
    object: &Bound<'_, PyAny>,
    given: &Interface,
    argument: &str,
) -> PyResult<ElementType> {
    use ElementType as E;
    let field = format!("{argument}.dtype");
    // The order of bytes matters only for a type that is known: a structure has none.
    let in_order = |known: E| {
        if given.flags & NOT_SWAPPED == 0 && given.itemsize > 1 {
            let expected = "little-endian elements; convert the array with a.astype(a.dtype.newbyteorder('<'))";
            return Err(unsupported(&field, expected, "big-endian ones"));
        }
        Ok(known)
    };
    let known = match (given.typekind, given.itemsize) {
        (b'b', 1) => Some(E::Pred),
        (b'i', 1) => Some(E::S8),
        (b'i', 2) => Some(E::S16),
        (b'i', 4) => Some(E::S32),
        (b'i', 8) => Some(E::S64),
        (b'u', 1) => Some(E::U8),
        (b'u', 2) => Some(E::U16),
        (b'u', 4) => Some(E::U32),
        (b'u', 8) => Some(E::U64),
        (b'f', 2) => Some(E::F16),
        (b'f', 4) => Some(E::F32),
        (b'f', 8) => Some(E::F64),
        (b'c', 8) => Some(E::C64),
        (b'c', 16) => Some(E::C128),
        _ => None,
    };
    if let Some(known) = known {
        return in_order(known);
    }
    // The types of ml_dtypes are opaque in this interface, and recognized by their names.
    let py = object.py();
    let name = object.getattr(intern!(py, "dtype"))?.getattr(intern!(py, "name"))?.to_string();
    let named = NumpyArray::element_type(&name)
        .ok_or_else(|| unsupported(&field, "a dtype that XLA has, or one of ml_dtypes", &name))?;
    let bits = named.storage_bits().map(i64::from);
    if bits != Some(i64::from(given.itemsize) * 8) {
        let size = format!("{name} of {} bytes", given.itemsize);
        return Err(invalid(&field, "elements of the size of their dtype", size));
    }
    in_order(named)
}
