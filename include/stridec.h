// stridec: tensor layout changes compiled to WGSL kernels. SPDX-License-Identifier: MIT OR Apache-2.0
//
// Messages are those of proto/stridec.proto, serialized. Written by cbindgen from src/capi.rs: see tests/it/header.rs.


#ifndef STRIDEC_H
#define STRIDEC_H

#include <stddef.h>
#include <stdint.h>

// The status that a function of this library returns.
typedef enum stridec_status {
  // The call wrote a response, which contains a kernel or an error.
  STRIDEC_STATUS_OK = 0,
  // A required pointer is null, and there is no response.
  STRIDEC_STATUS_NULL_POINTER = 1,
  // The given length exceeds half of the address space, so it cannot be the length of a buffer.
  STRIDEC_STATUS_LENGTH = 2,
} stridec_status;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns the version of the library, such as "0.1.0", as a static string that ends with a zero
// byte.
const char *stridec_version(void);

// Compiles a serialized stridec.CompileRequest.
//
// With `STRIDEC_STATUS_OK`, `*response` and `*response_length` are the address and the length of a
// serialized stridec.CompileResponse, which the caller owns and must free with `stridec_free`.
// With any other status, both are set to zero, unless one of the two pointers is null.
//
// # Safety
//
// `request` must point to `request_length` bytes that no thread changes during the call, or be
// null if the length is 0. `response` and `response_length` must be null or point to writable
// memory.
enum stridec_status stridec_compile(const uint8_t *request,
                                    size_t request_length,
                                    uint8_t **response,
                                    size_t *response_length);

// Frees a response of `stridec_compile`. A null pointer is ignored.
//
// # Safety
//
// `response` and `response_length` must come from one call of `stridec_compile` and must not have
// been freed.
void stridec_free(uint8_t *response, size_t response_length);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* STRIDEC_H */
