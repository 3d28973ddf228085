/* Tensors: a strided view of a shared storage.
 *
 * Units: sizes, strides and offset in elements. Strides may be 0 (expand) or negative never (flip
 * copies). Ownership: storages are counted; a tensor is a plain struct that holds one reference
 * (tc_tensor_release drops it). Counting is atomic; element data is not synchronised. */
#ifndef TC_TENSOR_TENSOR_H
#define TC_TENSOR_TENSOR_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/limits.h"
#include "tensor/dtype.h"

struct tc_device;
struct tc_storage;

/* What a tensor needs of its device: a struct tc_device (device/device.h) begins with it. */
struct tc_device_base {
  const char *name; /* "cpu" */
  /* Bytes of a storage to and from memory of the host, behind all work that the device was given (host.h);
   * NULL where the host uses the storages' memory as it is. */
  tc_status (*read)(struct tc_storage *storage, size_t first, size_t bytes, void *to, struct tc_error *err);
  tc_status (*write)(struct tc_storage *storage, size_t first, size_t bytes, const void *from,
                     struct tc_error *err);
};
static inline const struct tc_device_base *tc_device_base_of(const struct tc_device *device) {
  return (const struct tc_device_base *)(const void *)device;
}

enum { TC_STORAGE_ALIGN = 64 }; /* bytes; every data pointer of a fresh storage */

struct tc_storage {
  _Atomic int64_t references;
  uint64_t version; /* bumped by each in-place write */
  uint64_t id;      /* unique in the process, never reused: key of packed weights */
  void *data;       /* an address of the device: the host reads and writes it by host.h alone */
  size_t bytes;
  struct tc_device *device;                    /* NULL in none but tests: memory of the host */
  void (*release)(struct tc_storage *storage); /* frees data and the storage itself; called at 0 */
};

struct tc_tensor {
  struct tc_storage *storage;
  tc_dtype dtype;
  int ndim;
  int64_t offset;
  int64_t sizes[TC_MAX_DIMS], strides[TC_MAX_DIMS];
};

/* Address of its first element. */
static inline void *tc_tensor_data(const struct tc_tensor *t) {
  return (char *)t->storage->data + t->offset * tc_dtype_bytes(t->dtype);
}
int64_t tc_tensor_numel(const struct tc_tensor *t);
/* Row-major with no gaps (dimensions of size 1 have any stride; empty tensors are contiguous). */
bool tc_tensor_is_contiguous(const struct tc_tensor *t);
void tc_contiguous_strides(int ndim, const int64_t *sizes, int64_t *strides);

/* Another reference to the same storage. */
struct tc_tensor tc_tensor_share(const struct tc_tensor *t);
void tc_tensor_release(struct tc_tensor *t); /* t->storage becomes NULL; a NULL storage is fine */

static inline void tc_storage_retain(struct tc_storage *s) {
  atomic_fetch_add_explicit(&s->references, 1, memory_order_relaxed);
}
void tc_storage_release(struct tc_storage *s);
uint64_t tc_storage_next_id(void);

#endif
