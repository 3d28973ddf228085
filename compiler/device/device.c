/* What every device shares: fresh tensors.
 *
 * Invariant: a tensor of tc_tensor_new is contiguous, and its element and byte counts fit int64_t. */
#include "device/device.h"

#ifdef TC_HOSTILE
#include <string.h>
enum { POISON = 0xA5 };
#endif

/* Byte count of a contiguous tensor; false on overflow. */
static bool tensor_bytes(tc_dtype dtype, int ndim, const int64_t *sizes, int64_t *bytes) {
  int64_t total = tc_dtype_bytes(dtype);
  bool empty = false, overflow = false;
  for (int d = 0; d < ndim; d++) {
    if (sizes[d] == 0)
      empty = true;
    else
      overflow |= __builtin_mul_overflow(total, sizes[d], &total);
  }
  *bytes = empty ? 0 : total;
  return empty || !overflow;
}

tc_status tc_tensor_new(struct tc_device *device, tc_dtype dtype, int ndim, const int64_t *sizes,
                        struct tc_tensor *out, struct tc_error *err) {
  int64_t bytes;
  if (ndim > TC_MAX_DIMS)
    return tc_fail(err, TC_LIMIT, "device", "a tensor of %d dimensions; at most %d are supported", ndim,
                   TC_MAX_DIMS);
  for (int d = 0; d < ndim; d++)
    if (sizes[d] < 0)
      return tc_fail(err, TC_SHAPE, "device", "size %lld of dimension %d is negative", (long long)sizes[d],
                     d + 1);
  if (!tensor_bytes(dtype, ndim, sizes, &bytes))
    return tc_fail(err, TC_LIMIT, "device", "a tensor has more bytes than 63 bits can count");
  out->storage = device->methods->alloc(device, (size_t)bytes);
  if (!out->storage)
    return tc_fail(err, TC_NOMEM, "device", "no memory for a tensor of %lld bytes on %s", (long long)bytes,
                   device->methods->name);
#ifdef TC_HOSTILE
  memset(out->storage->data, POISON, (size_t)bytes);
#endif
  out->dtype = dtype;
  out->ndim = ndim;
  out->offset = 0;
  int64_t stride = 1;
  for (int d = ndim - 1; d >= 0; d--) {
    out->sizes[d] = sizes[d];
    out->strides[d] = stride;
    if (sizes[d] > 1 && __builtin_mul_overflow(stride, sizes[d], &stride))
      stride = 1; /* only of an empty tensor, which has no use for it */
  }
  return TC_OK;
}
