//! The C interface of the library, declared in `include/stridec.h`. Its functions answer serialized
//! requests with serialized responses.
//!
//! All functions may be called from any thread at any time. No function keeps a pointer after it
//! returns, and no panic leaves a function.
#![allow(clippy::doc_markdown)] // the header takes these comments as they are
#![allow(unsafe_code)] // pointers of another language

use std::{ffi::c_char, ptr, slice};

use crate::service::respond;

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

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;
    use crate::proto::stridec::CompileResponse;

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
}
