/* Eager scaled dot product attention: softmax(scale · q·kᵀ + mask) · v.
 *
 * A unit of work is ROWS queries of one batch: their scores stay in the thread's own buffer between the two
 * products, so the whole score matrix never exists. bf16 is widened first and rounded once, at the end. */
#include <math.h>
#include <string.h>

#include "device/cpu/cpu.h"

enum { ROWS = 64, OPERANDS = 4, Q = 0, K = 1, VALUE = 2, MASK = 3 };

struct attention {
  struct tc_cpu *cpu;
  tc_dtype dtype; /* computed in */
  int bytes;
  int64_t queries, keys, width, value_width, batches, blocks;
  bool causal, has_mask;
  double scale;
  struct tc_cpu_nest nest; /* batch dimensions of the operands */
  struct tc_cpu_view view[3];
  int64_t row[3], mask_row, mask_col;
  const char *data[OPERANDS];
  char *out, *scores; /* scores: [thread][ROWS][keys] */
};

#define ADD_MASK(T)                                                                                          \
  static void add_mask_##T(T *row, const T *mask, int64_t n, int64_t step) {                                 \
    for (int64_t j = 0; j < n; j++) row[j] += mask[j * step];                                                \
  }                                                                                                          \
  static void hide_##T(T *row, int64_t from, int64_t n) {                                                    \
    for (int64_t j = from; j < n; j++) row[j] = (T) - INFINITY;                                              \
  }
ADD_MASK(float)
ADD_MASK(double)

/* Does the query see no key? Its weights are all 0 then, not 0 / 0 (PyTorch's _safe_softmax). */
#define IS_BLIND(T)                                                                                          \
  static bool is_blind_##T(const T *row, int64_t n) {                                                        \
    int64_t i = 0;                                                                                           \
    while (i < n && row[i] == (T) - INFINITY) i++;                                                           \
    return i == n;                                                                                           \
  }
IS_BLIND(float)
IS_BLIND(double)

/* A factor of 0 would make the library leave the product out, and with it NaN and infinities. */
static void scale_by_zero(const struct attention *a, char *scores, int64_t n) {
  float *narrow = (float *)(void *)scores;
  double *wide = (double *)(void *)scores;
  for (int64_t i = 0; i < n; i++)
    if (a->dtype == TC_F32)
      narrow[i] *= 0;
    else
      wide[i] *= 0;
}

/* Mask and softmax of one query's scores. */
static void finish_row(const struct attention *a, char *row, const char *mask, int64_t query) {
  const int64_t seen = a->causal ? (query + 1 < a->keys ? query + 1 : a->keys) : a->keys;
  if (a->dtype == TC_F32) {
    float *s = (float *)(void *)row;
    if (mask) add_mask_float(s, (const float *)(const void *)mask, a->keys, a->mask_col);
    hide_float(s, seen, a->keys);
    if (is_blind_float(s, a->keys))
      memset(s, 0, (size_t)a->keys * sizeof *s);
    else
      a->cpu->kernels->softmax_f32(s, s, a->keys, false);
  } else {
    double *s = (double *)(void *)row;
    if (mask) add_mask_double(s, (const double *)(const void *)mask, a->keys, a->mask_col);
    hide_double(s, seen, a->keys);
    if (is_blind_double(s, a->keys))
      memset(s, 0, (size_t)a->keys * sizeof *s);
    else
      a->cpu->kernels->softmax_f64(s, s, a->keys, false);
  }
}

static void run_unit(const struct attention *a, int64_t unit, char *scores) {
  const int64_t batch = unit / a->blocks, first = unit % a->blocks * ROWS;
  const int64_t rows = a->queries - first < ROWS ? a->queries - first : ROWS;
  const struct tc_cpu_blas *blas = &a->cpu->blas;
  struct tc_cpu_view q = a->view[Q], k = a->view[K], v = a->view[VALUE];
  struct tc_cpu_view s = {scores, (int)a->keys, false};
  q.data = a->data[Q] + (tc_cpu_offset(&a->nest, Q, batch) + first * a->row[Q]) * a->bytes;
  k.data = a->data[K] + tc_cpu_offset(&a->nest, K, batch) * a->bytes;
  v.data = a->data[VALUE] + tc_cpu_offset(&a->nest, VALUE, batch) * a->bytes;
  k.trans = !k.trans;
  const double factor = a->scale == 0 ? 1 : a->scale;
  if (a->width)
    tc_cpu_gemm(blas, a->dtype, rows, a->keys, a->width, factor, q, k, 0, scores, a->keys);
  else
    memset(scores, 0, (size_t)(rows * a->keys * a->bytes));
  if (a->scale == 0) scale_by_zero(a, scores, rows * a->keys);
  for (int64_t i = 0; i < rows; i++) {
    const int64_t mask = a->has_mask ? tc_cpu_offset(&a->nest, MASK, batch) + (first + i) * a->mask_row : 0;
    finish_row(a, scores + i * a->keys * a->bytes, a->has_mask ? a->data[MASK] + mask * a->bytes : NULL,
               first + i);
  }
  tc_cpu_gemm(blas, a->dtype, rows, a->value_width, a->keys, 1.0, s, v, 0,
              a->out + (batch * a->queries + first) * a->value_width * a->bytes, a->value_width);
}

static void run_units(void *state, int64_t first, int64_t last, int thread) {
  const struct attention *a = state;
  for (int64_t unit = first; unit < last; unit++)
    run_unit(a, unit, a->scores + (size_t)thread * ROWS * (size_t)(a->keys * a->bytes));
}

/* The operand in the dtype of the computation, as the library takes it; *held is the operand or its copy. */
static bool prepare(struct attention *a, const struct tc_tensor *x, int which, struct tc_tensor *held,
                    struct tc_storage *storage, void **temp) {
  const int64_t rows = x->sizes[x->ndim - 2], cols = x->sizes[x->ndim - 1];
  *held = *x;
  const bool fits = x->dtype == a->dtype && tc_cpu_view_of(rows, cols, x->strides[x->ndim - 2],
                                                           x->strides[x->ndim - 1], &a->view[which]);
  if (!fits) {
    held->dtype = a->dtype;
    held->storage = storage;
    held->offset = 0;
    tc_contiguous_strides(x->ndim, x->sizes, held->strides);
    storage->data = *temp = tc_cpu_temp(a->cpu, (size_t)(tc_tensor_numel(x) * a->bytes));
    if (!*temp) return false;
    tc_cpu_copy(a->cpu, *temp, a->dtype, x);
    a->view[which] = (struct tc_cpu_view){NULL, (int)cols > 0 ? (int)cols : 1, false};
  }
  a->row[which] = held->strides[x->ndim - 2];
  a->data[which] = tc_tensor_data(held);
  return true;
}

static bool prepare_mask(struct attention *a, const struct tc_tensor *mask, struct tc_tensor *held,
                         struct tc_storage *storage, void **temp) {
  *held = *mask;
  a->has_mask = true;
  if (mask->dtype != a->dtype) {
    held->dtype = a->dtype;
    held->storage = storage;
    held->offset = 0;
    tc_contiguous_strides(mask->ndim, mask->sizes, held->strides);
    storage->data = *temp = tc_cpu_temp(a->cpu, (size_t)(tc_tensor_numel(mask) * a->bytes));
    if (!*temp) return false;
    tc_cpu_copy(a->cpu, *temp, a->dtype, mask);
  }
  const int n = mask->ndim;
  a->mask_row = n > 1 && mask->sizes[n - 2] != 1 ? held->strides[n - 2] : 0;
  a->mask_col = n > 0 && mask->sizes[n - 1] != 1 ? held->strides[n - 1] : 0;
  a->data[MASK] = tc_tensor_data(held);
  return true;
}

/* Batch dimensions of each operand against the result's. */
static void nest_batches(struct attention *a, const struct tc_tensor *out, const struct tc_tensor *held,
                         int n_held) {
  a->nest.ndim = out->ndim - 2;
  a->nest.n_operands = n_held;
  for (int d = 0; d < a->nest.ndim; d++) a->nest.sizes[d] = out->sizes[d];
  for (int o = 0; o < n_held; o++) {
    const int shift = out->ndim - held[o].ndim;
    for (int d = 0; d < a->nest.ndim; d++)
      a->nest.strides[o][d] = d < shift || held[o].sizes[d - shift] == 1 ? 0 : held[o].strides[d - shift];
  }
  tc_cpu_nest_merge(&a->nest);
  a->batches = a->nest.total;
}

static tc_status run_attention(struct attention *a, const struct tc_eager_call *call, struct tc_error *err) {
  const struct tc_tensor *out = call->out;
  const int64_t total = tc_tensor_numel(out);
  const size_t score_bytes = (size_t)a->cpu->device.threads * ROWS * (size_t)(a->keys * a->bytes);
  void *wide = out->dtype != a->dtype ? tc_cpu_temp(a->cpu, (size_t)(total * a->bytes)) : NULL;
  a->out = out->dtype != a->dtype ? wide : tc_tensor_data(out);
  a->scores = tc_cpu_temp(a->cpu, score_bytes);
  tc_status status = TC_OK;
  if (!a->scores || !a->out) {
    status = tc_cpu_nomem(call, err);
  } else {
    a->blocks = (a->queries + ROWS - 1) / ROWS;
    tc_cpu_parallel(a->cpu, a->batches * a->blocks, 1,
                    (double)a->batches * (double)a->queries * (double)a->keys * (double)(8 + a->width / 8),
                    run_units, a);
    const void *in[] = {wide};
    if (wide) a->cpu->kernels->cast(a->dtype, out->dtype)(tc_tensor_data(out), in, total, false);
  }
  tc_cpu_temp_free(a->cpu, a->scores);
  tc_cpu_temp_free(a->cpu, wide);
  return status;
}

tc_status tc_cpu_eager_sdpa(struct tc_device *device, const struct tc_eager_call *call,
                            struct tc_error *err) {
  const struct tc_tensor *q = call->in[Q], *k = call->in[K], *v = call->in[VALUE], *out = call->out;
  struct attention a = {
      .cpu = tc_cpu_of(device), .causal = tc_attr_int(call->attrs, 0) != 0, .scale = call->attrs->nums[0]};
  struct tc_tensor held[OPERANDS];
  struct tc_storage storages[OPERANDS];
  void *temps[OPERANDS] = {NULL};
  a.dtype = out->dtype == TC_BF16 ? TC_F32 : out->dtype;
  a.bytes = tc_dtype_bytes(a.dtype);
  a.queries = q->sizes[q->ndim - 2], a.width = q->sizes[q->ndim - 1];
  a.keys = k->sizes[k->ndim - 2], a.value_width = v->sizes[v->ndim - 1];
  if (tc_tensor_numel(out) == 0) return TC_OK;
  if (a.keys == 0) {
    memset(tc_tensor_data(out), 0, (size_t)(tc_tensor_numel(out) * tc_dtype_bytes(out->dtype)));
    return TC_OK;
  }
  if (a.keys > INT32_MAX || a.width > INT32_MAX || a.value_width > INT32_MAX)
    return tc_fail(err, TC_LIMIT, "cpu",
                   "scaled_dot_product_attention: a dimension has more than %d elements", INT32_MAX);
  tc_status status = tc_cpu_blas_open(a.cpu, err);
  if (status) return status;
  bool ok = true;
  for (int i = 0; i < 3 && ok; i++) ok = prepare(&a, call->in[i], i, &held[i], &storages[i], &temps[i]);
  if (ok && call->n_in == OPERANDS)
    ok = prepare_mask(&a, call->in[MASK], &held[MASK], &storages[MASK], &temps[MASK]);
  if (ok) {
    nest_batches(&a, out, held, call->n_in);
    status = run_attention(&a, call, err);
  } else {
    status = tc_cpu_nomem(call, err);
  }
  for (int i = 0; i < OPERANDS; i++) tc_cpu_temp_free(a.cpu, temps[i]);
  return status;
}
