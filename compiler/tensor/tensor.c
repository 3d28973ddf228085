/* Storages are counted; tensors are views of them. No allocation happens here. */
#include "tensor/tensor.h"

int64_t tc_tensor_numel(const struct tc_tensor *t) {
  int64_t n = 1;
  for (int i = 0; i < t->ndim; i++) n *= t->sizes[i];
  return n;
}

bool tc_tensor_is_contiguous(const struct tc_tensor *t) {
  int64_t expected = 1;
  bool dense = true;
  for (int i = t->ndim - 1; i >= 0; i--) {
    if (!t->sizes[i]) return true;
    if (t->sizes[i] != 1 && t->strides[i] != expected) dense = false;
    expected *= t->sizes[i];
  }
  return dense;
}

void tc_contiguous_strides(int ndim, const int64_t *sizes, int64_t *strides) {
  int64_t stride = 1;
  for (int i = ndim - 1; i >= 0; i--) {
    strides[i] = stride;
    stride *= sizes[i] > 0 ? sizes[i] : 1;
  }
}

struct tc_tensor tc_tensor_share(const struct tc_tensor *t) {
  tc_storage_retain(t->storage);
  return *t;
}

void tc_tensor_release(struct tc_tensor *t) {
  if (!t->storage) return;
  tc_storage_release(t->storage);
  t->storage = NULL;
}

void tc_storage_release(struct tc_storage *s) {
  if (atomic_fetch_sub_explicit(&s->references, 1, memory_order_acq_rel) == 1) s->release(s);
}

/* The one process-wide counter: identity of storages, never data. */
uint64_t tc_storage_next_id(void) {
  static _Atomic uint64_t next = 1;
  return atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);
}
