/* Batched matrix products on the library: strides it cannot take are packed, bf16 is widened, small products
 * of a batch go one to a thread.
 *
 * 1. An operand is prepared once a call, before any product: widened or packed whole, so that products only
 *    read.
 * 2. Products of a batch that share B and follow one another in A and C are one product with more rows. */
#include <string.h>

#include "device/cpu/cpu.h"

struct side {
  struct tc_cpu_matrix at;
  struct tc_cpu_view view;
  void *temp;
};

struct batch_run {
  const struct tc_cpu_blas *blas;
  const struct tc_cpu_matmul *call;
  tc_dtype dtype; /* computed in */
  struct tc_cpu_view a, b;
  const struct tc_cpu_matrix *a_at, *b_at, *c_at;
};

static int64_t batch_count(const struct tc_cpu_matmul *call) {
  int64_t count = 1;
  for (int i = 0; i < call->n_batch; i++) count *= call->batch[i];
  return count;
}

int64_t tc_cpu_batch_offset(const struct tc_cpu_matmul *call, const struct tc_cpu_matrix *x, int64_t index) {
  int64_t offset = 0;
  for (int i = call->n_batch - 1; i >= 0; i--) {
    offset += index % call->batch[i] * x->batch[i];
    index /= call->batch[i];
  }
  return offset;
}

static void run_batch(void *state, int64_t first, int64_t last, int thread) {
  const struct batch_run *r = state;
  const struct tc_cpu_matmul *call = r->call;
  const int bytes = tc_dtype_bytes(r->dtype);
  (void)thread;
  for (int64_t i = first; i < last; i++) {
    struct tc_cpu_view a = r->a, b = r->b;
    a.data = (const char *)r->a_at->data + tc_cpu_batch_offset(call, r->a_at, i) * bytes;
    b.data = (const char *)r->b_at->data + tc_cpu_batch_offset(call, r->b_at, i) * bytes;
    char *c = (char *)r->c_at->data + tc_cpu_batch_offset(call, r->c_at, i) * bytes;
    tc_cpu_gemm(r->blas, r->dtype, call->m, call->n, call->k, 1.0, a, b, call->beta, c, r->c_at->row);
  }
}

/* The matrix with its batch as a tensor over memory that it does not own. */
static struct tc_tensor as_tensor(const struct tc_cpu_matmul *call, const struct tc_cpu_matrix *x,
                                  int64_t rows, int64_t cols, struct tc_storage *storage) {
  struct tc_tensor t = {.storage = storage, .dtype = call->dtype};
  storage->data = x->data;
  for (int i = 0; i < call->n_batch; i++) {
    if (x->batch[i] == 0) continue; /* one matrix for all: packed once */
    t.sizes[t.ndim] = call->batch[i];
    t.strides[t.ndim++] = x->batch[i];
  }
  t.sizes[t.ndim] = rows, t.strides[t.ndim++] = x->row;
  t.sizes[t.ndim] = cols, t.strides[t.ndim++] = x->col;
  return t;
}

/* Makes the side something that the library takes, in the dtype it computes in. */
static bool prepare(struct tc_cpu *cpu, const struct tc_cpu_matmul *call, const struct tc_cpu_matrix *x,
                    int64_t rows, int64_t cols, tc_dtype dtype, struct side *out) {
  out->at = *x;
  out->temp = NULL;
  if (call->dtype == dtype && tc_cpu_view_of(rows, cols, x->row, x->col, &out->view)) return true;
  struct tc_storage storage;
  struct tc_tensor t = as_tensor(call, x, rows, cols, &storage);
  /* A transposed operand is widened as it lies: its columns stay contiguous. */
  const bool trans = x->row == 1 && x->col != 1 && rows > 1;
  if (trans) {
    t.sizes[t.ndim - 2] = cols, t.strides[t.ndim - 2] = x->col;
    t.sizes[t.ndim - 1] = rows, t.strides[t.ndim - 1] = x->row;
  }
  const int64_t total = tc_tensor_numel(&t);
  out->temp = tc_cpu_temp(cpu, (size_t)(total * tc_dtype_bytes(dtype)));
  if (!out->temp) return false;
  tc_cpu_copy(cpu, out->temp, dtype, &t);
  if (call->dtype == dtype) cpu->blas.packed++;
  out->at.data = out->temp;
  int64_t stride = rows * cols;
  for (int i = call->n_batch - 1; i >= 0; i--) {
    if (x->batch[i] == 0) continue;
    out->at.batch[i] = stride;
    stride *= call->batch[i];
  }
  out->view =
      trans ? (struct tc_cpu_view){NULL, (int)rows, true} : (struct tc_cpu_view){NULL, (int)cols, false};
  return true;
}

/* One batch dimension becomes more rows where A and C allow it and B is shared. */
static void fold_rows(struct tc_cpu_matmul *call) {
  while (call->n_batch > 0) {
    const int last = call->n_batch - 1;
    const int64_t count = call->batch[last];
    const bool follows =
        call->a.batch[last] == call->a.row * call->m && call->c.batch[last] == call->c.row * call->m;
    if (count != 1 && (call->b.batch[last] != 0 || !follows)) return;
    call->m *= count;
    call->n_batch = last;
  }
}

static void drop_unit_batches(struct tc_cpu_matmul *call) {
  int kept = 0;
  for (int i = 0; i < call->n_batch; i++) {
    if (call->batch[i] == 1) continue;
    call->batch[kept] = call->batch[i];
    call->a.batch[kept] = call->a.batch[i];
    call->b.batch[kept] = call->b.batch[i];
    call->c.batch[kept] = call->c.batch[i];
    kept++;
  }
  call->n_batch = kept;
}

/* No products to add: C is 0, or stays. */
static void fill_zero(struct tc_cpu *cpu, const struct tc_cpu_matmul *call) {
  const int64_t count = batch_count(call);
  const int bytes = tc_dtype_bytes(call->dtype);
  (void)cpu;
  if (call->beta != 0) return;
  for (int64_t i = 0; i < count; i++)
    for (int64_t row = 0; row < call->m; row++)
      memset((char *)call->c.data + (tc_cpu_batch_offset(call, &call->c, i) + row * call->c.row) * bytes, 0,
             (size_t)(call->n * bytes));
}

/* Products large enough for all threads run one after the other, each on all; others are spread. */
static void run_all(struct tc_cpu *cpu, struct batch_run *r) {
  enum { SPREAD_BELOW = 1 << 21 };
  const struct tc_cpu_matmul *call = r->call;
  const int64_t count = batch_count(call);
  const double each = (double)call->m * (double)call->n * (double)call->k;
  if (count > 1 && each < SPREAD_BELOW)
    tc_cpu_parallel(cpu, count, 1, (double)count * each / 8, run_batch, r);
  else
    run_batch(r, 0, count, 0);
}

/* All results of the batch. */
static struct tc_tensor batch_tensor(const struct tc_cpu_matmul *call, const struct tc_cpu_matrix *c,
                                     tc_dtype dtype, struct tc_storage *storage) {
  struct tc_tensor t = {.storage = storage, .dtype = dtype, .ndim = call->n_batch + 2};
  for (int i = 0; i < call->n_batch; i++) t.sizes[i] = call->batch[i], t.strides[i] = c->batch[i];
  t.sizes[t.ndim - 2] = call->m, t.strides[t.ndim - 2] = c->row;
  t.sizes[t.ndim - 1] = call->n, t.strides[t.ndim - 1] = 1;
  return t;
}

static tc_status run_wide(struct tc_cpu *cpu, const struct tc_cpu_matmul *call, tc_dtype dtype,
                          struct tc_error *err) {
  struct side a = {0}, b = {0};
  struct tc_cpu_matrix c = call->c;
  void *wide = NULL;
  tc_status status = TC_OK;
  const int64_t count = batch_count(call);
  bool ok = prepare(cpu, call, &call->a, call->m, call->k, dtype, &a) &&
            prepare(cpu, call, &call->b, call->k, call->n, dtype, &b);
  if (ok && call->dtype != dtype) {
    wide = tc_cpu_temp(cpu, (size_t)(count * call->m * call->n * tc_dtype_bytes(dtype)));
    ok = wide != NULL;
    c.data = wide;
    c.row = call->n;
    int64_t stride = call->m * call->n;
    for (int i = call->n_batch - 1; i >= 0; i--) {
      c.batch[i] = stride;
      stride *= call->batch[i];
    }
  }
  if (!ok) {
    status = tc_fail(err, TC_NOMEM, "cpu", "matmul: no memory for a temporary of an operand");
    goto done;
  }
  struct batch_run r = {&cpu->blas, call, dtype, a.view, b.view, &a.at, &b.at, &c};
  run_all(cpu, &r);
  if (wide) {
    struct tc_storage to = {.data = call->c.data}, from = {.data = wide};
    const struct tc_tensor rounded = batch_tensor(call, &call->c, call->dtype, &to),
                           sums = batch_tensor(call, &c, dtype, &from);
    tc_cpu_assign(cpu, &rounded, &sums);
  }
done:
  tc_cpu_temp_free(cpu, a.temp);
  tc_cpu_temp_free(cpu, b.temp);
  tc_cpu_temp_free(cpu, wide);
  return status;
}

tc_status tc_cpu_matmul(struct tc_cpu *cpu, const struct tc_cpu_matmul *call, struct tc_error *err) {
  struct tc_cpu_matmul folded = *call;
  drop_unit_batches(&folded);
  fold_rows(&folded);
  if (folded.m == 0 || folded.n == 0 || batch_count(&folded) == 0) return TC_OK;
  if (folded.m > INT32_MAX || folded.n > INT32_MAX || folded.k > INT32_MAX || folded.c.row > INT32_MAX)
    return tc_fail(err, TC_LIMIT, "cpu",
                   "matmul: a dimension has more than %d elements, which the matrix library cannot count",
                   INT32_MAX);
  if (folded.k == 0) {
    fill_zero(cpu, &folded);
    return TC_OK;
  }
  const tc_status status = tc_cpu_blas_open(cpu, err);
  if (status) return status;
  return run_wide(cpu, &folded, folded.dtype == TC_BF16 ? TC_F32 : folded.dtype, err);
}

/* --- eager operations --- */

static struct tc_cpu_matrix matrix_of(const struct tc_tensor *x, int n_batch, const int64_t *batch) {
  struct tc_cpu_matrix m = {
      .data = tc_tensor_data(x), .row = x->strides[x->ndim - 2], .col = x->strides[x->ndim - 1]};
  const int shift = n_batch - (x->ndim - 2);
  for (int i = 0; i < n_batch; i++)
    m.batch[i] = i < shift || (x->sizes[i - shift] == 1 && batch[i] != 1) ? 0 : x->strides[i - shift];
  return m;
}

tc_status tc_cpu_eager_matmul(struct tc_device *device, const struct tc_eager_call *call,
                              struct tc_error *err) {
  const struct tc_tensor *a = call->in[0], *b = call->in[1], *out = call->out;
  struct tc_cpu_matmul mm = {.dtype = out->dtype, .n_batch = out->ndim - 2, .beta = 0};
  mm.m = a->sizes[a->ndim - 2];
  mm.k = a->sizes[a->ndim - 1];
  mm.n = b->sizes[b->ndim - 1];
  for (int i = 0; i < mm.n_batch; i++) mm.batch[i] = out->sizes[i];
  mm.a = matrix_of(a, mm.n_batch, mm.batch);
  mm.b = matrix_of(b, mm.n_batch, mm.batch);
  mm.c = matrix_of(out, mm.n_batch, mm.batch);
  return tc_cpu_matmul(tc_cpu_of(device), &mm, err);
}

/* out = bias in every row; the product is added to it. */
static tc_status start_with_bias(struct tc_device *device, const struct tc_eager_call *call,
                                 struct tc_error *err) {
  const struct tc_tensor *bias = call->in[2];
  struct tc_tensor spread = *bias;
  spread.ndim = call->out->ndim;
  for (int d = 0; d < spread.ndim; d++) {
    spread.sizes[d] = call->out->sizes[d];
    spread.strides[d] = d == spread.ndim - 1 ? bias->strides[0] : 0;
  }
  const struct tc_tensor *in[] = {&spread};
  const struct tc_eager_call copy = {.op = TC_OP_cast, .n_in = 1, .in = in, .out = call->out};
  return tc_cpu_eager_pointwise(device, &copy, err);
}

tc_status tc_cpu_eager_linear(struct tc_device *device, const struct tc_eager_call *call,
                              struct tc_error *err) {
  const struct tc_tensor *x = call->in[0], *w = call->in[1], *out = call->out;
  const bool has_bias = call->n_in == 3, wide_bias = has_bias && out->dtype != TC_BF16;
  struct tc_cpu_matmul mm = {
      .dtype = out->dtype, .k = w->sizes[1], .n = w->sizes[0], .beta = wide_bias ? 1 : 0};
  if (wide_bias) {
    const tc_status status = start_with_bias(device, call, err);
    if (status) return status;
  }
  mm.b = (struct tc_cpu_matrix){.data = tc_tensor_data(w), .row = w->strides[1], .col = w->strides[0]};
  mm.n_batch = x->ndim > 1 ? x->ndim - 2 : 0;
  mm.m = x->ndim > 1 ? x->sizes[x->ndim - 2] : 1;
  for (int i = 0; i < mm.n_batch; i++) mm.batch[i] = x->sizes[i];
  mm.a = (struct tc_cpu_matrix){.data = tc_tensor_data(x),
                                .row = x->ndim > 1 ? x->strides[x->ndim - 2] : mm.k,
                                .col = x->strides[x->ndim - 1]};
  mm.c = (struct tc_cpu_matrix){.data = tc_tensor_data(out), .row = mm.n, .col = 1};
  for (int i = 0; i < mm.n_batch; i++) {
    mm.a.batch[i] = x->strides[i];
    mm.c.batch[i] = out->strides[i];
  }
  const tc_status status = tc_cpu_matmul(tc_cpu_of(device), &mm, err);
  if (status || !has_bias || wide_bias) return status;
  const struct tc_tensor *in[] = {
      out, call->in[2]}; /* bf16: the product is rounded, then the bias added, as when compiled */
  const struct tc_eager_call add = {.op = TC_OP_add, .n_in = 2, .in = in, .out = call->out};
  return tc_cpu_eager_pointwise(device, &add, err);
}
