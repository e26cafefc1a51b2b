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

// A tile of a layout.
typedef struct stridec_tile {
  // The number of extents, at least 1.
  size_t rank;
  // The extents, major to minor.
  const uint64_t *dimensions;
} stridec_tile;

// An array in memory, as xla.Shape has it.
typedef struct stridec_shape {
  // The number of the element type in xla.PrimitiveType, such as 11 for F32.
  uint32_t element_type;
  // The number of dimensions.
  size_t rank;
  // The extent of each dimension.
  const uint64_t *dimensions;
  // The number of each dimension, the one that changes fastest in memory first; null for the
  // default order, in which the last dimension changes fastest.
  const uint64_t *minor_to_major;
  // The number of tiles.
  size_t tile_count;
  // The tiles; the first one is applied first. Not read if there are none.
  const struct stridec_tile *tiles;
  // The size of an element in memory, in bits, or 0 for whole bytes.
  uint64_t element_size_in_bits;
} stridec_shape;

// A compiled relayout, or the reason why there is none.
typedef struct stridec_kernel {
  // The reason, in one line; null if there is a kernel. The other fields are then null and zero.
  char *error;
  // The shader, which ends with a zero byte; empty if there is nothing to dispatch.
  char *wgsl;
  // The name of the entry point.
  char *entry_point;
  // The number of invocations of a workgroup in x, y and z.
  uint32_t workgroup_size[3];
  // The number of workgroups to dispatch in x, y and z; 0 if there is nothing to dispatch.
  uint32_t workgroups[3];
  // The least size of the source's binding, which is binding 0 of group 0, in bytes.
  uint64_t source_binding_bytes;
  // The least size of the destination's binding, which is binding 1 of group 0, in bytes.
  uint64_t destination_binding_bytes;
  // The size of the source in memory, in bytes.
  uint64_t source_bytes;
  // The size of the destination in memory, in bytes.
  uint64_t destination_bytes;
} stridec_kernel;

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

// Compiles the copy of an array from one layout to another, for every device that implements
// WebGPU. Requests of stridec_compile can name another target and another language.
//
// With `STRIDEC_STATUS_OK`, `*kernel` has a kernel or an error, and must be given to
// `stridec_kernel_free`. With any other status it is null, if it could be written.
//
// # Safety
//
// `source` and `destination` must be null or point to shapes. Their lists must have the lengths
// that the shapes give, or be null if the length is 0. Nobody may write them meanwhile. `kernel`
// must be null or point to memory that can be written.
enum stridec_status stridec_relayout(const struct stridec_shape *source,
                                     const struct stridec_shape *destination,
                                     struct stridec_kernel **kernel);

// Frees a kernel of `stridec_relayout`. A null pointer is ignored.
//
// # Safety
//
// `kernel` must come from `stridec_relayout` and must not have been freed or changed.
void stridec_kernel_free(struct stridec_kernel *kernel);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* STRIDEC_H */
