/* Eager operations that read at indices: embedding, gather, index_select. An index outside is TC_INDEX; the
 * result is then not to be used.
 *
 * Indices count from 0. The first bad one in row-major order is reported, whatever the threads do. */
#include <string.h>

#include "device/cpu/cpu.h"

/* First position whose index lies outside of [0, bound); -1: none. */
static int64_t find_bad(const int64_t *index, int64_t n, int64_t bound) {
  for (int64_t i = 0; i < n; i++)
    if (index[i] < 0 || index[i] >= bound) return i;
  return -1;
}

static tc_status check_indices(const struct tc_eager_call *call, const int64_t *index, int64_t n,
                               int64_t bound, struct tc_error *err) {
  const int64_t bad = find_bad(index, n, bound);
  if (bad < 0) return TC_OK;
  return tc_fail(err, TC_INDEX, "cpu", "%s: index %lld is outside of 1 to %lld", tc_op_row(call->op)->name,
                 (long long)((uint64_t)index[bad] + 1), (long long)bound); /* as callers count */
}

/* out[outer, i, inner] = x[outer, index[i], inner], all contiguous. */
struct rows {
  char *out;
  const char *x;
  const int64_t *index;
  int64_t n_index, bound, row_bytes;
};

static void copy_rows(void *state, int64_t first, int64_t last, int thread) {
  const struct rows *r = state;
  (void)thread;
  for (int64_t i = first; i < last; i++) {
    const int64_t at = i / r->n_index * r->bound + r->index[i % r->n_index];
    memcpy(r->out + i * r->row_bytes, r->x + at * r->row_bytes, (size_t)r->row_bytes);
  }
}

static tc_status take_rows(struct tc_cpu *cpu, const struct tc_eager_call *call, int64_t dim,
                           struct tc_error *err) {
  const struct tc_tensor *x = call->in[0], *index = call->in[1];
  struct rows r = {.out = tc_tensor_data(call->out),
                   .n_index = tc_tensor_numel(index),
                   .bound = x->sizes[dim],
                   .row_bytes = tc_dtype_bytes(x->dtype)};
  void *x_temp = NULL, *index_temp = NULL;
  int64_t outer = 1;
  tc_status status = TC_OK;
  for (int64_t d = 0; d < dim; d++) outer *= x->sizes[d];
  for (int64_t d = dim + 1; d < x->ndim; d++) r.row_bytes *= x->sizes[d];
  r.index = tc_cpu_contiguous(cpu, index, TC_I64, &index_temp);
  r.x = tc_cpu_contiguous(cpu, x, x->dtype, &x_temp);
  if (!r.index || !r.x) {
    status = tc_cpu_nomem(call, err);
    goto done;
  }
  if ((status = check_indices(call, r.index, r.n_index, r.bound, err))) goto done;
  if (tc_tensor_numel(call->out))
    tc_cpu_parallel(cpu, outer * r.n_index, 1, (double)tc_tensor_numel(call->out), copy_rows, &r);
done:
  tc_cpu_temp_free(cpu, x_temp);
  tc_cpu_temp_free(cpu, index_temp);
  return status;
}

tc_status tc_cpu_eager_embedding(struct tc_device *device, const struct tc_eager_call *call,
                                 struct tc_error *err) {
  return take_rows(tc_cpu_of(device), call, 0, err);
}

tc_status tc_cpu_eager_index_select(struct tc_device *device, const struct tc_eager_call *call,
                                    struct tc_error *err) {
  return take_rows(tc_cpu_of(device), call, tc_attr_int(call->attrs, 0), err);
}

/* out[…, i, …] = x[…, index[…, i, …], …]: every element has its own index; the index may be smaller than x in
 * the other dims. */
struct picks {
  char *out;
  const char *x;
  const int64_t *index;
  struct tc_cpu_nest nest;
  int64_t stride;
  int bytes;
};

static void pick(void *state, int64_t first, int64_t last, int thread) {
  const struct picks *p = state;
  (void)thread;
  for (int64_t i = first; i < last; i++) {
    const int64_t at = tc_cpu_offset(&p->nest, 0, i) + p->index[i] * p->stride;
    memcpy(p->out + i * p->bytes, p->x + at * p->bytes, (size_t)p->bytes);
  }
}

tc_status tc_cpu_eager_gather(struct tc_device *device, const struct tc_eager_call *call,
                              struct tc_error *err) {
  struct tc_cpu *cpu = tc_cpu_of(device);
  const struct tc_tensor *x = call->in[0], *index = call->in[1];
  const int64_t dim = tc_attr_int(call->attrs, 0), total = tc_tensor_numel(index);
  struct picks p = {.out = tc_tensor_data(call->out),
                    .x = tc_tensor_data(x),
                    .bytes = tc_dtype_bytes(x->dtype),
                    .nest = {.ndim = x->ndim, .n_operands = 1}};
  void *temp = NULL;
  if (total == 0) return TC_OK;
  for (int d = 0; d < x->ndim; d++) {
    p.nest.sizes[d] = index->sizes[d];
    p.nest.strides[0][d] = d == dim ? 0 : x->strides[d];
  }
  p.stride = x->ndim ? x->strides[dim] : 0;
  tc_cpu_nest_merge(&p.nest);
  p.index = tc_cpu_contiguous(cpu, index, TC_I64, &temp);
  if (!p.index) return tc_cpu_nomem(call, err);
  const tc_status status = check_indices(call, p.index, total, x->ndim ? x->sizes[dim] : 1, err);
  if (!status) tc_cpu_parallel(cpu, total, TC_CPU_BLOCK, (double)total, pick, &p);
  tc_cpu_temp_free(cpu, temp);
  return status;
}
