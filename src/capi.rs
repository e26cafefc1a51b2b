//! The C interface of the library, declared in `include/stridec.h`. Its functions answer serialized
//! requests with serialized responses, and run relayouts that plain structs describe.
//!
//! All functions may be called from any thread at any time. No function keeps a pointer after it
//! returns, and no panic leaves a function.
#![allow(clippy::doc_markdown)] // the header takes these comments as they are
#![allow(unsafe_code)] // pointers of another language

use std::{
    ffi::{CString, c_char},
    ptr, slice,
};

use crate::{
    proto::{stridec as proto, xla},
    service::{answer_request, respond},
};

/// The status that a function of this library returns.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StridecStatus {
    /// The call wrote a response, which contains a kernel or an error.
    Ok = 0,
    /// A required pointer is null, and there is no response.
    NullPointer = 1,
    /// The given length exceeds half of the address space, so it cannot be the length of a buffer.
    Length = 2,
}

/// Returns the version of the library, such as "0.1.0", as a static string that ends with a zero
/// byte.
#[unsafe(no_mangle)]
pub extern "C" fn stridec_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Compiles a serialized stridec.CompileRequest.
///
/// With `STRIDEC_STATUS_OK`, `*response` and `*response_length` are the address and the length of a
/// serialized stridec.CompileResponse, which the caller owns and must free with `stridec_free`.
/// With any other status, both are set to zero, unless one of the two pointers is null.
///
/// # Safety
///
/// `request` must point to `request_length` bytes that no thread changes during the call, or be
/// null if the length is 0. `response` and `response_length` must be null or point to writable
/// memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stridec_compile(
    request: *const u8,
    request_length: usize,
    response: *mut *mut u8,
    response_length: *mut usize,
) -> StridecStatus {
    if response.is_null() || response_length.is_null() {
        return StridecStatus::NullPointer;
    }
    // SAFETY: Neither pointer is null, and the caller guarantees that both can be written.
    unsafe {
        response.write(ptr::null_mut());
        response_length.write(0);
    }
    let request = match (request.is_null(), request_length) {
        (true, 0) => &[],
        (true, _) => return StridecStatus::NullPointer,
        (false, length) if isize::try_from(length).is_err() => {
            return StridecStatus::Length;
        }
        // SAFETY: The caller guarantees that the pointer is to this many bytes and that nobody
        // writes to them during the call. The length fits an `isize`.
        (false, length) => unsafe { slice::from_raw_parts(request, length) },
    };
    let answer = respond(request).into_boxed_slice();
    let length = answer.len();
    // SAFETY: As above.
    unsafe {
        response_length.write(length);
        response.write(Box::into_raw(answer).cast());
    }
    StridecStatus::Ok
}

/// Frees a response of `stridec_compile`. A null pointer is ignored.
///
/// # Safety
///
/// `response` and `response_length` must come from one call of `stridec_compile` and must not have
/// been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stridec_free(response: *mut u8, response_length: usize) {
    if !response.is_null() {
        // SAFETY: `stridec_compile` made this slice from a box, and the caller frees it only once.
        drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(response, response_length)) });
    }
}

/// A tile of a layout.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct StridecTile {
    /// The number of extents, at least 1.
    pub rank: usize,
    /// The extents, major to minor.
    pub dimensions: *const u64,
}

/// An array in memory, as xla.Shape has it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct StridecShape {
    /// The number of the element type in xla.PrimitiveType, such as 11 for F32.
    pub element_type: u32,
    /// The number of dimensions.
    pub rank: usize,
    /// The extent of each dimension.
    pub dimensions: *const u64,
    /// The number of each dimension, the one that changes fastest in memory first; null for the
    /// default order, in which the last dimension changes fastest.
    pub minor_to_major: *const u64,
    /// The number of tiles.
    pub tile_count: usize,
    /// The tiles; the first one is applied first. Not read if there are none.
    pub tiles: *const StridecTile,
    /// The size of an element in memory, in bits, or 0 for whole bytes.
    pub element_size_in_bits: u64,
}

/// A compiled relayout, or the reason why there is none.
#[repr(C)]
#[derive(Debug)]
pub struct StridecKernel {
    /// The reason, in one line; null if there is a kernel. The other fields are then null and zero.
    pub error: *mut c_char,
    /// The shader, which ends with a zero byte; empty if there is nothing to dispatch.
    pub wgsl: *mut c_char,
    /// The name of the entry point.
    pub entry_point: *mut c_char,
    /// The number of invocations of a workgroup in x, y and z.
    pub workgroup_size: [u32; 3],
    /// The number of workgroups to dispatch in x, y and z; 0 if there is nothing to dispatch.
    pub workgroups: [u32; 3],
    /// The least size of the source's binding, which is binding 0 of group 0, in bytes.
    pub source_binding_bytes: u64,
    /// The least size of the destination's binding, which is binding 1 of group 0, in bytes.
    pub destination_binding_bytes: u64,
    /// The size of the source in memory, in bytes.
    pub source_bytes: u64,
    /// The size of the destination in memory, in bytes.
    pub destination_bytes: u64,
}

/// Compiles the copy of an array from one layout to another, for every device that implements
/// WebGPU. Requests of stridec_compile can name another target and another language.
///
/// With `STRIDEC_STATUS_OK`, `*kernel` has a kernel or an error, and must be given to
/// `stridec_kernel_free`. With any other status it is null, if it could be written.
///
/// # Safety
///
/// `source` and `destination` must be null or point to shapes. Their lists must have the lengths
/// that the shapes give, or be null if the length is 0. Nobody may write them meanwhile. `kernel`
/// must be null or point to memory that can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stridec_relayout(
    source: *const StridecShape,
    destination: *const StridecShape,
    kernel: *mut *mut StridecKernel,
) -> StridecStatus {
    if kernel.is_null() {
        return StridecStatus::NullPointer;
    }
    // SAFETY: The pointer is not null, and the caller guarantees that it can be written.
    unsafe { kernel.write(ptr::null_mut()) };
    // SAFETY: The caller guarantees that both are null or shapes with lists of their lengths.
    let tensors = unsafe { [tensor(source), tensor(destination)] };
    let [source, destination] = match tensors {
        [Ok(source), Ok(destination)] => [source, destination],
        [Err(status), _] | [_, Err(status)] => return status,
    };
    let relayout = proto::Relayout { source: Some(source), destination: Some(destination) };
    let response = answer_request(&proto::CompileRequest {
        operation: Some(proto::compile_request::Operation::Relayout(relayout)),
        ..Default::default()
    });
    // SAFETY: As above.
    unsafe { kernel.write(Box::into_raw(Box::new(StridecKernel::from(response)))) };
    StridecStatus::Ok
}

/// Frees a kernel of `stridec_relayout`. A null pointer is ignored.
///
/// # Safety
///
/// `kernel` must come from `stridec_relayout` and must not have been freed or changed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stridec_kernel_free(kernel: *mut StridecKernel) {
    if kernel.is_null() {
        return;
    }
    // SAFETY: `stridec_relayout` made the kernel from a box, and the caller frees it only once.
    let kernel = unsafe { Box::from_raw(kernel) };
    for text in [kernel.error, kernel.wgsl, kernel.entry_point] {
        if !text.is_null() {
            // SAFETY: The text is one that `text` made.
            drop(unsafe { CString::from_raw(text) });
        }
    }
}

/// Copies a list that C passed. A number above 2^63-1 becomes 2^63-1, which no shape accepts.
///
/// # Safety
///
/// `list` must point to `length` numbers, or be null.
unsafe fn numbers(list: *const u64, length: usize) -> Result<Vec<i64>, StridecStatus> {
    // SAFETY: As the caller guarantees.
    let list = unsafe { list_of(list, length) }?;
    Ok(list.iter().map(|&number| i64::try_from(number).unwrap_or(i64::MAX)).collect())
}

/// Returns a list that C passed as a slice.
///
/// # Safety
///
/// `list` must point to `length` items that do not change while the slice is used, or be null.
unsafe fn list_of<'a, T>(list: *const T, length: usize) -> Result<&'a [T], StridecStatus> {
    match (list.is_null(), length) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(StridecStatus::NullPointer),
        (false, _) if length > isize::MAX.unsigned_abs() / size_of::<T>() => {
            Err(StridecStatus::Length)
        }
        // SAFETY: The caller guarantees that the pointer is to this many items, whose bytes fit an
        // `isize`.
        (false, _) => Ok(unsafe { slice::from_raw_parts(list, length) }),
    }
}

/// Converts a shape that C passed to a tensor of a request.
///
/// # Safety
///
/// `shape` must be null or point to a shape whose lists have the lengths that it gives.
unsafe fn tensor(shape: *const StridecShape) -> Result<proto::Tensor, StridecStatus> {
    // SAFETY: The caller guarantees that the pointer is null or to a shape, and the lengths of its
    // lists.
    let (shape, dimensions, tiles) = unsafe {
        let shape = shape.as_ref().ok_or(StridecStatus::NullPointer)?;
        let dimensions = numbers(shape.dimensions, shape.rank)?;
        (shape, dimensions, list_of(shape.tiles, shape.tile_count)?)
    };
    let minor_to_major = if shape.minor_to_major.is_null() {
        (0_i64..).take(shape.rank).collect::<Vec<_>>().into_iter().rev().collect()
    } else {
        // SAFETY: As above.
        unsafe { numbers(shape.minor_to_major, shape.rank) }?
    };
    let tile = |tile: &StridecTile| {
        // SAFETY: As above.
        let dimensions = unsafe { numbers(tile.dimensions, tile.rank) }?;
        Ok(xla::Tile { dimensions })
    };
    let layout = xla::Layout {
        minor_to_major,
        tiles: tiles.iter().map(tile).collect::<Result<_, StridecStatus>>()?,
        element_size_in_bits: i64::try_from(shape.element_size_in_bits).unwrap_or(i64::MAX),
        ..Default::default()
    };
    let shape = xla::Shape {
        element_type: i32::try_from(shape.element_type).unwrap_or(i32::MAX),
        is_dynamic_dimension: vec![false; dimensions.len()],
        dimensions,
        layout: Some(layout.into()),
        ..Default::default()
    };
    Ok(proto::Tensor { kind: Some(proto::tensor::Kind::Shape(shape)) })
}

/// Returns a text as a C string. Neither messages nor kernels have zero bytes.
fn text(text: &str) -> *mut c_char {
    CString::new(text.replace('\0', " ")).map_or(ptr::null_mut(), CString::into_raw)
}

/// Returns three numbers of a message, or zeros.
fn three(numbers: &[u32]) -> [u32; 3] {
    numbers.try_into().unwrap_or_default()
}

impl From<proto::CompileResponse> for StridecKernel {
    fn from(response: proto::CompileResponse) -> Self {
        use proto::compile_response::Result::{Error, Kernel};
        let mut kernel = Self {
            error: ptr::null_mut(),
            wgsl: ptr::null_mut(),
            entry_point: ptr::null_mut(),
            workgroup_size: [0; 3],
            workgroups: [0; 3],
            source_binding_bytes: 0,
            destination_binding_bytes: 0,
            source_bytes: 0,
            destination_bytes: 0,
        };
        match response.result {
            Some(Kernel(of)) => {
                let size = |number: usize| of.bindings.get(number).map_or(0, |of| of.size_in_bytes);
                kernel.source_binding_bytes = size(0);
                kernel.destination_binding_bytes = size(1);
                // A relayout has one dispatch, or none.
                kernel.workgroups =
                    of.dispatches.first().map_or([0; 3], |of| three(&of.workgroups));
                kernel.workgroup_size = three(&of.workgroup_size);
                kernel.source_bytes = of.source_bytes;
                kernel.destination_bytes = of.destination_bytes;
                kernel.wgsl = text(&of.wgsl);
                kernel.entry_point = text(&of.entry_point);
            }
            Some(Error(error)) => kernel.error = text(&error.message),
            _ => kernel.error = text("a defect of stridec: no kernel and no error"),
        }
        kernel
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;
    use crate::{Operation, Target, proto::stridec::CompileResponse};

    #[test]
    fn a_response_is_what_respond_gives() {
        let (mut response, mut length) = (ptr::null_mut(), 0);
        // SAFETY: The buffers outlive the calls, and the response is freed once.
        unsafe {
            let status = stridec_compile(ptr::null(), 0, &raw mut response, &raw mut length);
            assert_eq!(status, StridecStatus::Ok);
            let bytes = slice::from_raw_parts(response, length).to_vec();
            stridec_free(response, length);
            assert_eq!(bytes, respond(&[]));
            assert!(CompileResponse::decode(bytes.as_slice()).unwrap().result.is_some());
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        let (mut response, mut length) = (ptr::dangling_mut(), 7);
        // SAFETY: The library reads nothing if it refuses the request, and frees nothing if it is
        // given a null pointer.
        unsafe {
            let status = stridec_compile(ptr::null(), 5, &raw mut response, &raw mut length);
            assert_eq!(status, StridecStatus::NullPointer);
            assert_eq!((response, length), (ptr::null_mut(), 0));
            let long = usize::MAX;
            let status = stridec_compile([0].as_ptr(), long, &raw mut response, &raw mut length);
            assert_eq!(status, StridecStatus::Length);
            let status = stridec_compile(ptr::null(), 0, ptr::null_mut(), &raw mut length);
            assert_eq!(status, StridecStatus::NullPointer);
            stridec_free(ptr::null_mut(), 0);
        }
    }

    #[test]
    fn the_version_is_a_c_string() {
        // SAFETY: The version is a static string that ends with a zero byte.
        let version = unsafe { std::ffi::CStr::from_ptr(stridec_version()) };
        assert_eq!(version.to_str(), Ok(env!("CARGO_PKG_VERSION")));
    }

    /// Returns a shape for C with these lists.
    fn array(
        element_type: u32,
        dimensions: &[u64],
        minor_to_major: &[u64],
        tiles: &[StridecTile],
    ) -> StridecShape {
        StridecShape {
            element_type,
            rank: dimensions.len(),
            dimensions: dimensions.as_ptr(),
            minor_to_major: minor_to_major.as_ptr(),
            tile_count: tiles.len(),
            tiles: tiles.as_ptr(),
            element_size_in_bits: 0,
        }
    }

    #[test]
    fn a_relayout_of_structs_is_that_of_the_text() {
        let extents = [8, 128];
        let tiles = [StridecTile { rank: 2, dimensions: extents.as_ptr() }];
        let source = array(11, &[16, 300], &[1, 0], &tiles);
        let mut destination = array(11, &[16, 300], &[0, 1], &[]);
        let operation = Operation::relayout(
            "f32[16,300]{1,0:T(8,128)}".parse().unwrap(),
            "f32[16,300]{0,1}".parse().unwrap(),
        );
        let expected = operation.unwrap().compile(&Target::webgpu()).unwrap();
        let mut kernel = ptr::null_mut();
        // SAFETY: The lists outlive the calls, and each kernel is freed once.
        unsafe {
            let text = |of: *mut c_char| std::ffi::CStr::from_ptr(of).to_str().unwrap().to_owned();
            let status =
                stridec_relayout(&raw const source, &raw const destination, &raw mut kernel);
            assert_eq!(status, StridecStatus::Ok);
            let of = &*kernel;
            assert!(of.error.is_null());
            assert_eq!(
                (text(of.wgsl), text(of.entry_point)),
                (expected.wgsl.clone(), "main".into())
            );
            assert_eq!(of.workgroups, expected.dispatches[0].workgroups);
            assert_eq!(of.source_binding_bytes, expected.bindings[0].size_in_bytes);
            assert_eq!((of.source_bytes, of.destination_bytes), (24_576, 19_200));
            stridec_kernel_free(kernel);

            for (kind, order, says) in [
                (99, [0, 1], "relayout.destination.shape.element_type"),
                (11, [0, 7], "relayout.destination.shape.layout.minor_to_major[1]: "),
                (15, [0, 1], "relayout.destination.shape.element_type"),
            ] {
                destination.element_type = kind;
                destination.minor_to_major = order.as_ptr();
                stridec_relayout(&raw const source, &raw const destination, &raw mut kernel);
                let error = text((*kernel).error);
                assert!(error.starts_with(says), "{error}");
                assert!((*kernel).wgsl.is_null());
                stridec_kernel_free(kernel);
            }

            destination.dimensions = ptr::null();
            for to in [&raw const destination, ptr::null()] {
                let status = stridec_relayout(&raw const source, to, &raw mut kernel);
                assert_eq!((status, kernel), (StridecStatus::NullPointer, ptr::null_mut()));
            }
            stridec_kernel_free(ptr::null_mut());
        }
    }
}
