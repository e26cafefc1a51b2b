// stridec: tensor layout changes compiled to WGSL kernels. SPDX-License-Identifier: MIT OR Apache-2.0
//
// Messages are those of proto/stridec.proto, serialized. Written by cbindgen from src/capi.rs: see tests/it/header.rs.


#ifndef STRIDEC_H
#define STRIDEC_H

#include <stddef.h>
#include <stdint.h>

// What a function of this library returned.
typedef enum stridec_status {
  // There is a response; whether it holds a kernel or an error, it says itself.
  STRIDEC_STATUS_OK = 0,
  // A null pointer where one is needed; nothing was written.
  STRIDEC_STATUS_NULL_POINTER = 1,
  // A length that no buffer has: more than half of the address space.
  STRIDEC_STATUS_LENGTH = 2,
} stridec_status;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of the library, such as "0.1.0": a static string, ended by a zero byte.
const char *stridec_version(void);

// Compiles a serialized stridec.CompileRequest.
//
// With `STRIDEC_STATUS_OK`, `*response` and `*response_length` are a serialized stridec.CompileResponse that the caller owns:
// it must be given to `stridec_free`. With any other status both are zero, where they could be written.
//
// # Safety
//
// `request` must point to `request_length` bytes that nobody writes meanwhile, or be null where that is 0; `response`
// and `response_length` must be null or point to memory that can be written.
enum stridec_status stridec_compile(const uint8_t *request,
                                    size_t request_length,
                                    uint8_t **response,
                                    size_t *response_length);

// Frees a response of `stridec_compile`. A null pointer is left alone.
//
// # Safety
//
// `response` and `response_length` must be what one call of `stridec_compile` gave, and not have been freed.
void stridec_free(uint8_t *response,
                  size_t response_length);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* STRIDEC_H */
