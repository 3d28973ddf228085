/* Elements of tensors, as the host sees them.
 *
 * 1. Where the host owns the memory, a view is a pointer: nothing is allocated, nothing fails.
 * 2. Elsewhere a view is a copy of the bytes from the tensor's first element to its last, gaps included, so
 *    that writing back changes nothing between elements. */
#include "tensor/host.h"

#include <string.h>

#include "base/alloc.h"

/* From the first element of the tensor to behind the last. */
static size_t span_bytes(const struct tc_tensor *t) {
  int64_t last = 0;
  for (int d = 0; d < t->ndim; d++) {
    if (t->sizes[d] == 0) return 0;
    last += (t->sizes[d] - 1) * t->strides[d];
  }
  return (size_t)(last + 1) * (size_t)tc_dtype_bytes(t->dtype);
}

static const struct tc_device_base *base_of(const struct tc_storage *s) {
  return tc_device_base_of(s->device);
}

tc_status tc_host_read(const struct tc_tensor *t, struct tc_host_view *view, struct tc_error *err) {
  *view = (struct tc_host_view){.tensor = *t, .bytes = span_bytes(t)};
  view->tensor.storage = NULL;
  if (tc_host_owns(t->storage)) {
    view->data = tc_tensor_data(t);
    return TC_OK;
  }
  view->first = (size_t)t->offset * (size_t)tc_dtype_bytes(t->dtype);
  view->copy = tc_new_bytes(tc_alloc_system(), view->bytes + 1);
  if (!view->copy) return tc_fail(err, TC_NOMEM, "tensor", "no memory to read %zu bytes", view->bytes);
  const tc_status status = base_of(t->storage)->read(t->storage, view->first, view->bytes, view->copy, err);
  if (status) {
    tc_free_bytes(tc_alloc_system(), view->copy, view->bytes + 1);
    return status;
  }
  view->data = view->copy;
  return TC_OK;
}

tc_status tc_host_write(const struct tc_tensor *t, struct tc_host_view *view, struct tc_error *err) {
  const tc_status status = tc_host_read(t, view, err);
  if (!status && view->copy) view->storage = t->storage;
  return status;
}

tc_status tc_host_end(struct tc_host_view *view, struct tc_error *err) {
  tc_status status = TC_OK;
  if (view->storage)
    status = base_of(view->storage)->write(view->storage, view->first, view->bytes, view->copy, err);
  tc_free_bytes(tc_alloc_system(), view->copy, view->bytes + 1);
  view->copy = NULL;
  return status;
}

tc_status tc_host_get(const struct tc_tensor *t, void *to, size_t bytes, struct tc_error *err) {
  if (!tc_host_owns(t->storage))
    return base_of(t->storage)
        ->read(t->storage, (size_t)t->offset * (size_t)tc_dtype_bytes(t->dtype), bytes, to, err);
  if (bytes) memcpy(to, tc_tensor_data(t), bytes);
  return TC_OK;
}

tc_status tc_host_put(const struct tc_tensor *t, const void *from, size_t bytes, struct tc_error *err) {
  if (!tc_host_owns(t->storage))
    return base_of(t->storage)
        ->write(t->storage, (size_t)t->offset * (size_t)tc_dtype_bytes(t->dtype), bytes, from, err);
  if (bytes) memcpy(tc_tensor_data(t), from, bytes);
  return TC_OK;
}

/* --- elements --- */

static int64_t element_offset(const struct tc_tensor *t, int64_t index) {
  int64_t offset = 0;
  for (int i = t->ndim - 1; i >= 0; i--) {
    offset += index % t->sizes[i] * t->strides[i];
    index /= t->sizes[i];
  }
  return offset;
}

/* Memory of any dtype: an element is read and written as bytes. */
union element {
  uint8_t boolean;
  int64_t integer;
  uint16_t half;
  float single;
  double number;
};

static int64_t integer_of(tc_dtype dtype, union element e) {
  return dtype == TC_BOOL ? e.boolean : e.integer;
}

static double number_of(tc_dtype dtype, union element e) {
  switch (dtype) {
    case TC_F32: return e.single;
    case TC_F64: return e.number;
    case TC_BF16: return tc_bf16_to_f32(e.half);
    default: return (double)integer_of(dtype, e);
  }
}

static union element element_of(tc_dtype dtype, double value) {
  switch (dtype) {
    case TC_BOOL: return (union element){.boolean = value != 0};
    case TC_I64: return (union element){.integer = (int64_t)value};
    case TC_BF16: return (union element){.half = tc_f32_to_bf16((float)value)};
    case TC_F32: return (union element){.single = (float)value};
    default: return (union element){.number = value};
  }
}

static union element load(const struct tc_host_view *view, int64_t index) {
  const struct tc_tensor *t = &view->tensor;
  const size_t bytes = (size_t)tc_dtype_bytes(t->dtype);
  union element e = {0};
  memcpy(&e, (const char *)view->data + element_offset(t, index) * (int64_t)bytes, bytes);
  return e;
}

static void store(const struct tc_host_view *view, int64_t index, union element e) {
  const struct tc_tensor *t = &view->tensor;
  const size_t bytes = (size_t)tc_dtype_bytes(t->dtype);
  memcpy((char *)view->data + element_offset(t, index) * (int64_t)bytes, &e, bytes);
}

double tc_host_f64(const struct tc_host_view *view, int64_t index) {
  return number_of(view->tensor.dtype, load(view, index));
}

int64_t tc_host_i64(const struct tc_host_view *view, int64_t index) {
  const tc_dtype dtype = view->tensor.dtype;
  return tc_dtype_is_float(dtype) ? (int64_t)tc_host_f64(view, index) : integer_of(dtype, load(view, index));
}

void tc_host_set_f64(const struct tc_host_view *view, int64_t index, double value) {
  store(view, index, element_of(view->tensor.dtype, value));
}

/* An i64 would be rounded by way of a double. */
void tc_host_set_i64(const struct tc_host_view *view, int64_t index, int64_t value) {
  store(view, index,
        view->tensor.dtype == TC_I64 ? (union element){.integer = value}
                                     : element_of(view->tensor.dtype, (double)value));
}

/* --- one element --- */

static struct tc_tensor one_of(const struct tc_tensor *t, int64_t index) {
  return (struct tc_tensor){
      .storage = t->storage, .dtype = t->dtype, .offset = t->offset + element_offset(t, index)};
}

static union element get_one(const struct tc_tensor *t, int64_t index) {
  const struct tc_tensor one = one_of(t, index);
  union element e = {0};
  (void)tc_host_get(&one, &e, (size_t)tc_dtype_bytes(t->dtype), NULL);
  return e;
}

double tc_tensor_get_f64(const struct tc_tensor *t, int64_t index) {
  return number_of(t->dtype, get_one(t, index));
}

int64_t tc_tensor_get_i64(const struct tc_tensor *t, int64_t index) {
  if (tc_dtype_is_float(t->dtype)) return (int64_t)tc_tensor_get_f64(t, index);
  return integer_of(t->dtype, get_one(t, index));
}

void tc_tensor_set_f64(const struct tc_tensor *t, int64_t index, double value) {
  const struct tc_tensor one = one_of(t, index);
  const union element e = element_of(t->dtype, value);
  (void)tc_host_put(&one, &e, (size_t)tc_dtype_bytes(t->dtype), NULL);
}
