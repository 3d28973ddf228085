/* Eager softmax, log_softmax, logsumexp and norms: a kernel a row.
 *
 * Rows that are not contiguous are brought together first; bf16 rows are widened, one at a time, into a
 * thread's own f32 row. */
#include <string.h>

#include "device/cpu/cpu.h"

struct row_pass {
  struct tc_cpu *cpu;
  tc_op op;
  tc_dtype dtype;
  int bytes;
  int64_t length;
  const char *x;
  char *out;   /* rows of the same length; logsumexp: one element a row */
  float *wide; /* bf16: a row for each thread */
  struct tc_cpu_norm norm;
};

static void row_f32(const struct row_pass *p, float *out, const float *x) {
  const struct tc_cpu_kernels *k = p->cpu->kernels;
  if (p->op == TC_OP_layer_norm || p->op == TC_OP_rms_norm)
    k->norm_f32(out, x, p->length, &p->norm);
  else
    k->softmax_f32(out, x, p->length, p->op == TC_OP_log_softmax);
}

static void row_f64(const struct row_pass *p, double *out, const double *x) {
  const struct tc_cpu_kernels *k = p->cpu->kernels;
  if (p->op == TC_OP_layer_norm || p->op == TC_OP_rms_norm)
    k->norm_f64(out, x, p->length, &p->norm);
  else
    k->softmax_f64(out, x, p->length, p->op == TC_OP_log_softmax);
}

static float *widen_row(const struct row_pass *p, const char *x, int thread) {
  float *wide = p->wide + (size_t)thread * (size_t)p->length;
  const void *in[] = {x};
  p->cpu->kernels->cast(TC_BF16, TC_F32)(wide, in, p->length, false);
  return wide;
}

static void run_rows(void *state, int64_t first, int64_t last, int thread) {
  const struct row_pass *p = state;
  for (int64_t row = first; row < last; row++) {
    const char *x = p->x + row * p->length * p->bytes;
    char *out = p->out + row * p->length * p->bytes;
    if (p->dtype == TC_F32) {
      row_f32(p, (float *)(void *)out, (const float *)(const void *)x);
    } else if (p->dtype == TC_F64) {
      row_f64(p, (double *)(void *)out, (const double *)(const void *)x);
    } else {
      float *wide = widen_row(p, x, thread);
      const void *in[] = {wide};
      row_f32(p, wide, wide);
      p->cpu->kernels->cast(TC_F32, TC_BF16)(out, in, p->length, false);
    }
  }
}

static void run_logsumexp(void *state, int64_t first, int64_t last, int thread) {
  const struct row_pass *p = state;
  const struct tc_cpu_kernels *k = p->cpu->kernels;
  for (int64_t row = first; row < last; row++) {
    const char *x = p->x + row * p->length * p->bytes;
    if (p->dtype == TC_F32)
      ((float *)(void *)p->out)[row] = (float)k->logsumexp_f32((const float *)(const void *)x, p->length);
    else if (p->dtype == TC_F64)
      ((double *)(void *)p->out)[row] = k->logsumexp_f64((const double *)(const void *)x, p->length);
    else
      ((uint16_t *)(void *)p->out)[row] =
          tc_f32_to_bf16((float)k->logsumexp_f32(widen_row(p, x, thread), p->length));
  }
}

static tc_status run_pass(struct row_pass *p, const struct tc_eager_call *call, int64_t rows,
                          tc_cpu_chunk_fn fn, struct tc_error *err) {
  enum { WEIGHT = 8 };
  if (p->dtype == TC_BF16) {
    p->wide = tc_cpu_temp(p->cpu, (size_t)p->length * (size_t)p->cpu->device.threads * sizeof *p->wide);
    if (!p->wide) return tc_cpu_nomem(call, err);
  }
  tc_cpu_parallel(p->cpu, rows, 1, (double)rows * (double)p->length * WEIGHT, fn, p);
  tc_cpu_temp_free(p->cpu, p->wide);
  return TC_OK;
}

static struct row_pass pass_of(struct tc_device *device, const struct tc_eager_call *call) {
  const tc_dtype dtype = call->in[0]->dtype;
  return (struct row_pass){
      .cpu = tc_cpu_of(device), .op = call->op, .dtype = dtype, .bytes = tc_dtype_bytes(dtype), .length = 1};
}

/* x with dimension `dim` last; a view. */
static struct tc_tensor with_last(const struct tc_tensor *x, int64_t dim) {
  struct tc_tensor t = *x;
  for (int64_t d = dim; d + 1 < x->ndim; d++) {
    t.sizes[d] = x->sizes[d + 1], t.strides[d] = x->strides[d + 1];
    t.sizes[d + 1] = x->sizes[dim], t.strides[d + 1] = x->strides[dim];
  }
  return t;
}

tc_status tc_cpu_eager_softmax(struct tc_device *device, const struct tc_eager_call *call,
                               struct tc_error *err) {
  struct row_pass p = pass_of(device, call);
  const int64_t dim = tc_attr_int(call->attrs, 0), total = tc_tensor_numel(call->out);
  void *x_temp = NULL, *out_temp = NULL;
  if (total == 0) return TC_OK;
  const struct tc_tensor x = with_last(call->in[0], dim), out = with_last(call->out, dim);
  if (x.ndim) p.length = x.sizes[x.ndim - 1];
  p.x = tc_cpu_contiguous(p.cpu, &x, p.dtype, &x_temp);
  p.out = tc_tensor_data(&out);
  if (!tc_tensor_is_contiguous(&out)) p.out = out_temp = tc_cpu_temp(p.cpu, (size_t)(total * p.bytes));
  tc_status status =
      p.x && p.out ? run_pass(&p, call, total / p.length, run_rows, err) : tc_cpu_nomem(call, err);
  if (!status && out_temp) {
    struct tc_storage storage = {.data = out_temp};
    struct tc_tensor rows = x;
    rows.storage = &storage;
    rows.offset = 0;
    tc_contiguous_strides(rows.ndim, rows.sizes, rows.strides);
    tc_cpu_assign(p.cpu, &out, &rows);
  }
  tc_cpu_temp_free(p.cpu, x_temp);
  tc_cpu_temp_free(p.cpu, out_temp);
  return status;
}

tc_status tc_cpu_eager_logsumexp(struct tc_device *device, const struct tc_eager_call *call,
                                 struct tc_error *err) {
  struct row_pass p = pass_of(device, call);
  const struct tc_tensor *x = call->in[0];
  const int64_t rows = tc_tensor_numel(call->out);
  bool reduced[TC_MAX_DIMS] = {false};
  int dims[TC_MAX_DIMS], n = 0;
  void *temp = NULL;
  for (int i = 1; i < call->attrs->n_ints; i++)
    if (x->ndim) reduced[tc_attr_int(call->attrs, i)] = true;
  for (int pass = 0; pass < 2; pass++)
    for (int d = 0; d < x->ndim; d++)
      if (reduced[d] == (pass == 1)) dims[n++] = d;
  for (int d = 0; d < x->ndim; d++)
    if (reduced[d]) p.length *= x->sizes[d];
  if (rows == 0) return TC_OK;
  p.x = tc_cpu_rows(p.cpu, x, dims, &temp);
  p.out = tc_tensor_data(call->out);
  const tc_status status = p.x ? run_pass(&p, call, rows, run_logsumexp, err) : tc_cpu_nomem(call, err);
  tc_cpu_temp_free(p.cpu, temp);
  return status;
}

/* Weights and biases are used in the dtype that the row is computed in. */
tc_status tc_cpu_eager_norm(struct tc_device *device, const struct tc_eager_call *call,
                            struct tc_error *err) {
  struct row_pass p = pass_of(device, call);
  const struct tc_tensor *x = call->in[0];
  const int64_t dims = tc_attr_int(call->attrs, 0), total = tc_tensor_numel(x);
  const bool has_weight = tc_attr_int(call->attrs, 1), has_bias = tc_attr_int(call->attrs, 2);
  const tc_dtype wide = p.dtype == TC_BF16 ? TC_F32 : p.dtype;
  void *x_temp = NULL, *weight_temp = NULL, *bias_temp = NULL;
  tc_status status;
  if (total == 0) return TC_OK;
  for (int64_t d = x->ndim - dims; d < x->ndim; d++) p.length *= x->sizes[d];
  p.norm = (struct tc_cpu_norm){.eps = call->attrs->nums[0], .centre = call->op == TC_OP_layer_norm};
  if (has_weight) p.norm.weight = tc_cpu_contiguous(p.cpu, call->in[1], wide, &weight_temp);
  if (has_bias) p.norm.bias = tc_cpu_contiguous(p.cpu, call->in[1 + has_weight], wide, &bias_temp);
  p.x = tc_cpu_contiguous(p.cpu, x, p.dtype, &x_temp);
  p.out = tc_tensor_data(call->out);
  if (!p.x || (has_weight && !p.norm.weight) || (has_bias && !p.norm.bias))
    status = tc_cpu_nomem(call, err);
  else
    status = run_pass(&p, call, total / p.length, run_rows, err);
  tc_cpu_temp_free(p.cpu, x_temp);
  tc_cpu_temp_free(p.cpu, weight_temp);
  tc_cpu_temp_free(p.cpu, bias_temp);
  return status;
}
