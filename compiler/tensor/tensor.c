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

static int64_t element_offset(const struct tc_tensor *t, int64_t index) {
  int64_t offset = 0;
  for (int i = t->ndim - 1; i >= 0; i--) {
    offset += index % t->sizes[i] * t->strides[i];
    index /= t->sizes[i];
  }
  return offset;
}

static char *element(const struct tc_tensor *t, int64_t index) {
  return (char *)tc_tensor_data(t) + element_offset(t, index) * tc_dtype_bytes(t->dtype);
}

double tc_tensor_get_f64(const struct tc_tensor *t, int64_t index) {
  const void *at = element(t, index);
  switch (t->dtype) {
    case TC_F32: return *(const float *)at;
    case TC_F64: return *(const double *)at;
    case TC_BF16: return tc_bf16_to_f32(*(const uint16_t *)at);
    default: return (double)tc_tensor_get_i64(t, index);
  }
}

int64_t tc_tensor_get_i64(const struct tc_tensor *t, int64_t index) {
  const void *at = element(t, index);
  switch (t->dtype) {
    case TC_BOOL: return *(const uint8_t *)at;
    case TC_I64: return *(const int64_t *)at;
    default: return (int64_t)tc_tensor_get_f64(t, index);
  }
}

void tc_tensor_set_f64(const struct tc_tensor *t, int64_t index, double value) {
  void *at = element(t, index);
  switch (t->dtype) {
    case TC_BOOL: *(uint8_t *)at = value != 0; break;
    case TC_I64: *(int64_t *)at = (int64_t)value; break;
    case TC_BF16: *(uint16_t *)at = tc_f32_to_bf16((float)value); break;
    case TC_F32: *(float *)at = (float)value; break;
    case TC_F64: *(double *)at = value; break;
    case TC_DTYPE_COUNT: break;
  }
}
