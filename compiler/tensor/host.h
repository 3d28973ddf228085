/* The one place where the host reads or writes the elements of a tensor.
 *
 * A view is the tensor over memory of the host: its own where that is the device's memory too, else a copy,
 * which tc_host_end writes back if it was opened for writing. Opening waits for the work that the device was
 * given before. Sizes, strides and dtype of the view are the tensor's; its offset may be another. Between
 * opening and end, nothing else may read or write the storage, and nobody may raise: who must (lua/) takes a
 * copy of the tensor on the CPU first, whose views hold nothing.
 *
 * Threads: that of the device. */
#ifndef TC_TENSOR_HOST_H
#define TC_TENSOR_HOST_H

#include "tensor/tensor.h"

struct tc_host_view {
  struct tc_tensor tensor;    /* over `data`; its storage is the view's, and not counted */
  void *data;                 /* first element */
  struct tc_storage *storage; /* that is written back to; NULL: none */
  size_t first, bytes;        /* of it */
  void *copy;                 /* NULL: none was made */
};

/* Can the host use its memory as it is? */
static inline bool tc_host_owns(const struct tc_storage *s) {
  return !s->device || !tc_device_base_of(s->device)->read;
}

/* TC_NOMEM, or what the device says of earlier work. The view is whole afterwards, or nothing. */
tc_status tc_host_read(const struct tc_tensor *t, struct tc_host_view *view, struct tc_error *err);
/* For reading and writing. Elements between those of a strided tensor stay as they are. */
tc_status tc_host_write(const struct tc_tensor *t, struct tc_host_view *view, struct tc_error *err);
tc_status tc_host_end(struct tc_host_view *view, struct tc_error *err);

/* Elements of an open view, by flat row-major index. */
double tc_host_f64(const struct tc_host_view *view, int64_t index);
int64_t tc_host_i64(const struct tc_host_view *view, int64_t index);
void tc_host_set_f64(const struct tc_host_view *view, int64_t index, double value);
void tc_host_set_i64(const struct tc_host_view *view, int64_t index, int64_t value);

/* The first `bytes` of a tensor that is not strided, from or to memory of the host. */
tc_status tc_host_get(const struct tc_tensor *t, void *to, size_t bytes, struct tc_error *err);
tc_status tc_host_put(const struct tc_tensor *t, const void *from, size_t bytes, struct tc_error *err);

/* One element, wherever the tensor lies: for single ones, and tests. 0 where the device fails. */
double tc_tensor_get_f64(const struct tc_tensor *t, int64_t index);
int64_t tc_tensor_get_i64(const struct tc_tensor *t, int64_t index);
void tc_tensor_set_f64(const struct tc_tensor *t, int64_t index, double value);

#endif
