// Compiles a relayout through stridec's C interface, with plain structs: no protobuf is needed.

#include <stdio.h>
#include <string.h>

#include "stridec.h"

int main(void) {
  // NCHW memory to NHWC memory.
  const uint64_t extents[] = {8, 64, 112, 112};
  const uint64_t nchw[] = {3, 2, 1, 0}, nhwc[] = {1, 3, 2, 0};
  const stridec_shape source = {.element_type = 11 /* F32 */, .rank = 4, .dimensions = extents, .minor_to_major = nchw};
  stridec_shape destination = source;
  destination.minor_to_major = nhwc;
  stridec_kernel* kernel = NULL;
  if (stridec_relayout(&source, &destination, &kernel) != STRIDEC_STATUS_OK || kernel->error) return 1;
  printf("entry point %s, workgroups %u x %u x %u of %u invocations, bindings of %llu and %llu bytes\n",
         kernel->entry_point, kernel->workgroups[0], kernel->workgroups[1], kernel->workgroups[2],
         kernel->workgroup_size[0], (unsigned long long)kernel->source_binding_bytes,
         (unsigned long long)kernel->destination_binding_bytes);
  fputs(kernel->wgsl, stdout);
  const int is_whole = kernel->destination_bytes == 8 * 64 * 112 * 112 * 4;
  stridec_kernel_free(kernel);

  // An error names the field.
  const uint64_t twice[] = {1, 1, 2, 0};
  destination.minor_to_major = twice;
  if (stridec_relayout(&source, &destination, &kernel) != STRIDEC_STATUS_OK || !kernel->error) return 1;
  printf("%s\n", kernel->error);
  const int is_named = strncmp(kernel->error, "relayout.destination.shape.layout.minor_to_major", 48) == 0;
  stridec_kernel_free(kernel);
  return is_whole && is_named ? 0 : 1;
}
