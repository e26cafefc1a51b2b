// stridec: tensor layout changes compiled to WGSL kernels. SPDX-License-Identifier: MIT OR Apache-2.0
//
// Messages are those of proto/stridec.proto, serialized. Written by cbindgen from src/capi.rs: see tests/it/header.rs.


#ifndef STRIDEC_H
#define STRIDEC_H

#include <stddef.h>
#include <stdint.h>

// The status that a function of this library returns.
typedef enum stridec_status {
  // There is a response, which holds a kernel or an error.
  STRIDEC_STATUS_OK = 0,
  // A pointer that is needed is null; nothing was written.
  STRIDEC_STATUS_NULL_POINTER = 1,
  // The length is more than half of the address space, which no buffer has.
  STRIDEC_STATUS_LENGTH = 2,
} stridec_status;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns the version of the library, such as "0.1.0": a static string that ends with a zero byte.
const char *stridec_version(void);

// Compiles a serialized stridec.CompileRequest.
//
// With `STRIDEC_STATUS_OK`, `*response` and `*response_length` are a serialized
// stridec.CompileResponse. The caller owns it and must give it to `stridec_free`. With any other
// status both are zero, if they could be written.
//
// # Safety
//
// `request` must point to `request_length` bytes that nobody writes meanwhile, or be null if that
// is 0. `response` and `response_length` must be null or point to memory that can be written.
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
