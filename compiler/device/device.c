/* What every device shares: fresh tensors.
 *
 * Invariant: a tensor of tc_tensor_new is contiguous, and its element and byte counts fit int64_t. */
#include "device/device.h"

#include <stdlib.h>
#include <string.h>

#include "tensor/host.h"

#ifdef TC_HOSTILE
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
                   device->base.name);
#ifdef TC_HOSTILE
  if (tc_host_owns(out->storage)) memset(out->storage->data, POISON, (size_t)bytes);
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

static tc_status copy_bytes(struct tc_device *device, enum tc_copy_kind kind, void *to, const void *from,
                            size_t bytes, struct tc_error *err) {
  const struct tc_copy copy = {.kind = kind, .to = to, .from = from, .rows = 1, .row_bytes = bytes};
  const tc_status status = device->methods->copy(device, NULL, &copy, err);
  return status ? status : device->methods->synchronize(device, err);
}

tc_status tc_device_read(struct tc_storage *storage, size_t first, size_t bytes, void *to,
                         struct tc_error *err) {
  return copy_bytes(storage->device, TC_COPY_TO_HOST, to, (const char *)storage->data + first, bytes, err);
}

tc_status tc_device_write(struct tc_storage *storage, size_t first, size_t bytes, const void *from,
                          struct tc_error *err) {
  return copy_bytes(storage->device, TC_COPY_TO_DEVICE, (char *)storage->data + first, from, bytes, err);
}

tc_status tc_storage_fill(struct tc_storage *storage, int byte, struct tc_error *err) {
  struct tc_device *device = storage->device;
  return device->methods->fill(device, NULL, storage->data, byte, storage->bytes, err);
}

tc_status tc_tensor_to(const struct tc_tensor *x, struct tc_device *device, struct tc_tensor *out,
                       struct tc_error *err) {
  struct tc_host_view view;
  tc_status status = tc_host_read(x, &view, err);
  if (status) return status;
  *out = *x;
  out->offset = 0;
  out->storage = device->methods->alloc(device, view.bytes);
  if (!out->storage)
    status = tc_fail(err, TC_NOMEM, "device", "no memory for a tensor of %zu bytes on %s", view.bytes,
                     device->base.name);
  else
    status = tc_host_put(out, view.data, view.bytes, err);
  (void)tc_host_end(&view, NULL); /* nothing is written back */
  if (status) tc_tensor_release(out);
  return status;
}

tc_status tc_device_of_tests(const struct tc_alloc *alloc, struct tc_device *cpu, struct tc_device **out,
                             struct tc_error *err) {
  const char *name = getenv("TC_TEST_DEVICE");
  *out = cpu;
  return name && !strcmp(name, "shadow") ? tc_device_shadow_open(alloc, cpu, out, err) : TC_OK;
}
