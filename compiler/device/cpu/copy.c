/* Copies between views: contiguous, clone, reshape, casts into a view, cat, pad, flip, tril and triu.
 *
 * 1. A copy out of a transposed view goes tile by tile, so that lines are used whole on both sides.
 * 2. tc_cpu_assign is the one writer of strided destinations; contiguous ones go through the pointwise
 * pass. */
#include <string.h>

#include "device/cpu/cpu.h"

enum { ELEMENT_BYTES = 8 };

static struct tc_tensor contiguous_over(void *data, struct tc_storage *storage, tc_dtype dtype, int ndim,
                                        const int64_t *sizes) {
  struct tc_tensor t = {.storage = storage, .dtype = dtype, .ndim = ndim};
  storage->data = data;
  memcpy(t.sizes, sizes, (size_t)ndim * sizeof *sizes);
  tc_contiguous_strides(ndim, sizes, t.strides);
  return t;
}

static void cast_into(struct tc_cpu *cpu, struct tc_tensor *out, const struct tc_tensor *x) {
  const struct tc_tensor *in[] = {x};
  const struct tc_eager_call call = {.op = TC_OP_cast, .n_in = 1, .in = in, .out = out};
  tc_cpu_eager_pointwise(&cpu->device, &call, NULL); /* every pair of dtypes has a cast */
}

/* --- transposed sources --- */

struct tiles {
  char *to;
  const char *from;
  struct tc_cpu_nest
      nest; /* operand 0: to, 1: from; the last dimension is contiguous in `to`, `across` in `from` */
  int across, bytes;
  int64_t tile, bands; /* elements of a cache line; bands of as many values of `across` */
};

/* A tile is a cache line of elements high and wide. Each line of the source is read whole and at once, turned
 * in a small buffer, and each line of the destination written whole: strides that are powers of two would
 * throw lines out between. */
#define COPY_TILE(T)                                                                                         \
  static void copy_tile_##T(char *to, const char *from, int64_t rows, int64_t cols, int64_t to_row,          \
                            int64_t from_col) {                                                              \
    enum { TILE = TC_CPU_CACHE_LINE / sizeof(T) };                                                           \
    T turned[TILE][TILE];                                                                                    \
    T *t = (T *)(void *)to;                                                                                  \
    const T *f = (const T *)(const void *)from;                                                              \
    if (rows == TILE)                                                                                        \
      for (int64_t j = 0; j < cols; j++)                                                                     \
        for (int64_t i = 0; i < TILE; i++) turned[i][j] = f[i + j * from_col];                               \
    else                                                                                                     \
      for (int64_t j = 0; j < cols; j++)                                                                     \
        for (int64_t i = 0; i < rows; i++) turned[i][j] = f[i + j * from_col];                               \
    for (int64_t i = 0; i < rows; i++) memcpy(t + i * to_row, turned[i], (size_t)cols * sizeof(T));          \
  }
COPY_TILE(uint8_t)
COPY_TILE(uint16_t)
COPY_TILE(uint32_t)
COPY_TILE(uint64_t)
typedef void (*copy_tile_fn)(char *to, const char *from, int64_t rows, int64_t cols, int64_t to_row,
                             int64_t from_col);
static const copy_tile_fn copy_tiles[ELEMENT_BYTES + 1] = {
    [1] = copy_tile_uint8_t, [2] = copy_tile_uint16_t, [4] = copy_tile_uint32_t, [8] = copy_tile_uint64_t};

/* One item: a band of `across`, at one point of the other dimensions. */
static void copy_band(const struct tiles *t, int64_t item) {
  const struct tc_cpu_nest *n = &t->nest;
  const int inner = n->ndim - 1, across = t->across;
  const int64_t tile = t->tile, start = item % t->bands * tile,
                rows = n->sizes[across] - start < tile ? n->sizes[across] - start : tile;
  int64_t rest = item / t->bands, to = start * n->strides[0][across], from = start;
  for (int d = inner - 1; d >= 0; d--) {
    if (d == across) continue;
    to += rest % n->sizes[d] * n->strides[0][d];
    from += rest % n->sizes[d] * n->strides[1][d];
    rest /= n->sizes[d];
  }
  const int64_t step = n->strides[1][inner];
  for (int64_t j = 0; j < n->sizes[inner]; j += tile) {
    const int64_t cols = n->sizes[inner] - j < tile ? n->sizes[inner] - j : tile;
    copy_tiles[t->bytes](t->to + (to + j) * t->bytes, t->from + (from + j * step) * t->bytes, rows, cols,
                         n->strides[0][across], step);
  }
}

static void copy_bands(void *state, int64_t first, int64_t last, int thread) {
  (void)thread;
  for (int64_t item = first; item < last; item++) copy_band(state, item);
}

/* Is x a transposition of something contiguous enough to go by tiles? Then copies it. */
static bool copy_transposed(struct tc_cpu *cpu, const struct tc_tensor *to, const struct tc_tensor *x) {
  struct tiles t = {
      .to = tc_tensor_data(to), .from = tc_tensor_data(x), .bytes = tc_dtype_bytes(x->dtype), .across = -1};
  const struct tc_tensor *both[] = {to, x};
  tc_cpu_nest_broadcast(&t.nest, to->ndim, to->sizes, 2, both);
  const int inner = t.nest.ndim - 1;
  if (inner < 1 || t.nest.strides[1][inner] == 1 || t.nest.strides[0][inner] != 1 || t.nest.sizes[inner] < 2)
    return false;
  for (int d = 0; d < inner; d++)
    if (t.nest.strides[1][d] == 1) t.across = d;
  if (t.across < 0 || t.nest.total == 0) return false;
  t.tile = TC_CPU_CACHE_LINE / t.bytes;
  t.bands = (t.nest.sizes[t.across] + t.tile - 1) / t.tile;
  const int64_t items = t.nest.total / t.nest.sizes[t.across] / t.nest.sizes[inner] * t.bands;
  tc_cpu_parallel(cpu, items, 1, (double)t.nest.total, copy_bands, &t);
  return true;
}

/* --- assignment --- */

struct assign {
  char *to;
  const char *from;
  struct tc_cpu_nest nest;
  int to_bytes, from_bytes;
  tc_cpu_block_fn cast;
};

static void assign_part(void *state, int64_t first, int64_t last, int thread) {
  const struct assign *a = state;
  _Alignas(TC_CPU_CACHE_LINE) char gathered[TC_CPU_BLOCK * ELEMENT_BYTES], made[TC_CPU_BLOCK * ELEMENT_BYTES];
  (void)thread;
  for (int64_t at = first; at < last; at += TC_CPU_BLOCK) {
    const int64_t n = last - at < TC_CPU_BLOCK ? last - at : TC_CPU_BLOCK;
    const void *in[] = {gathered};
    tc_cpu_gather(gathered, a->from, &a->nest, 1, at, n, a->from_bytes);
    a->cast(made, in, n, false);
    tc_cpu_scatter(a->to, made, &a->nest, 0, at, n, a->to_bytes);
  }
}

/* Where the innermost dimension lies contiguous on both sides: whole rows of it. */
static void assign_rows(void *state, int64_t first, int64_t last, int thread) {
  const struct assign *a = state;
  const int64_t inner = a->nest.sizes[a->nest.ndim - 1];
  (void)thread;
  for (int64_t row = first; row < last; row++) {
    const int64_t to = tc_cpu_offset(&a->nest, 0, row * inner),
                  from = tc_cpu_offset(&a->nest, 1, row * inner);
    memcpy(a->to + to * a->to_bytes, a->from + from * a->from_bytes, (size_t)(inner * a->to_bytes));
  }
}

static bool is_rows(const struct assign *a) {
  enum { SHORTEST = 16 };
  const int inner = a->nest.ndim - 1;
  return inner >= 0 && a->nest.strides[0][inner] == 1 && a->nest.strides[1][inner] == 1 &&
         a->nest.sizes[inner] >= SHORTEST;
}

void tc_cpu_assign(struct tc_cpu *cpu, const struct tc_tensor *dest, const struct tc_tensor *x) {
  struct tc_tensor to = *dest;
  if (x->dtype == to.dtype && copy_transposed(cpu, &to, x)) return;
  if (tc_tensor_is_contiguous(&to)) {
    tc_contiguous_strides(to.ndim, to.sizes, to.strides); /* sizes of 1 may have had any stride */
    cast_into(cpu, &to, x);
    return;
  }
  struct assign a = {.to = tc_tensor_data(&to),
                     .from = tc_tensor_data(x),
                     .to_bytes = tc_dtype_bytes(to.dtype),
                     .from_bytes = tc_dtype_bytes(x->dtype)};
  const struct tc_tensor *both[] = {&to, x};
  a.cast = cpu->kernels->cast(x->dtype, to.dtype);
  tc_cpu_nest_broadcast(&a.nest, to.ndim, to.sizes, 2, both);
  if (a.nest.total == 0) return;
  if (x->dtype == to.dtype && is_rows(&a)) {
    tc_cpu_parallel(cpu, a.nest.total / a.nest.sizes[a.nest.ndim - 1], 1, (double)a.nest.total, assign_rows,
                    &a);
  } else {
    tc_cpu_parallel(cpu, a.nest.total, TC_CPU_BLOCK, (double)a.nest.total, assign_part, &a);
  }
}

void tc_cpu_copy(struct tc_cpu *cpu, void *to, tc_dtype to_dtype, const struct tc_tensor *x) {
  struct tc_storage storage;
  const struct tc_tensor out = contiguous_over(to, &storage, to_dtype, x->ndim, x->sizes);
  tc_cpu_assign(cpu, &out, x);
}

const void *tc_cpu_contiguous(struct tc_cpu *cpu, const struct tc_tensor *x, tc_dtype dtype, void **temp) {
  *temp = NULL;
  if (x->dtype == dtype && tc_tensor_is_contiguous(x)) return tc_tensor_data(x);
  *temp = tc_cpu_temp(cpu, (size_t)(tc_tensor_numel(x) * tc_dtype_bytes(dtype)));
  if (*temp) tc_cpu_copy(cpu, *temp, dtype, x);
  return *temp;
}

const void *tc_cpu_rows(struct tc_cpu *cpu, const struct tc_tensor *x, const int *dims, void **temp) {
  struct tc_tensor t = *x;
  for (int d = 0; d < x->ndim; d++) {
    t.sizes[d] = x->sizes[dims[d]];
    t.strides[d] = x->strides[dims[d]];
  }
  return tc_cpu_contiguous(cpu, &t, x->dtype, temp);
}

/* --- eager operations --- */

tc_status tc_cpu_eager_clone(struct tc_device *device, const struct tc_eager_call *call,
                             struct tc_error *err) {
  (void)err;
  tc_cpu_assign(tc_cpu_of(device), call->out, call->in[0]);
  return TC_OK;
}

/* The elements in row-major order, whatever the new shape. */
tc_status tc_cpu_eager_reshape(struct tc_device *device, const struct tc_eager_call *call,
                               struct tc_error *err) {
  (void)err;
  tc_cpu_copy(tc_cpu_of(device), tc_tensor_data(call->out), call->out->dtype, call->in[0]);
  return TC_OK;
}

tc_status tc_cpu_eager_copy_(struct tc_device *device, const struct tc_eager_call *call,
                             struct tc_error *err) {
  (void)err;
  tc_cpu_assign(tc_cpu_of(device), call->in[0], call->in[1]);
  return TC_OK;
}

/* Strides below 0 stand in this nest alone: it starts at the last element of each flipped dimension. */
struct flip {
  char *to;
  const char *from;
  struct tc_cpu_nest nest;
  int bytes;
};

static void flip_part(void *state, int64_t first, int64_t last, int thread) {
  const struct flip *f = state;
  (void)thread;
  tc_cpu_gather(f->to + first * f->bytes, f->from, &f->nest, 0, first, last - first, f->bytes);
}

tc_status tc_cpu_eager_flip(struct tc_device *device, const struct tc_eager_call *call,
                            struct tc_error *err) {
  const struct tc_tensor *x = call->in[0];
  struct flip f = {.to = tc_tensor_data(call->out),
                   .bytes = tc_dtype_bytes(x->dtype),
                   .nest = {.ndim = x->ndim, .n_operands = 1}};
  int64_t start = 0;
  (void)err;
  memcpy(f.nest.sizes, x->sizes, sizeof f.nest.sizes);
  memcpy(f.nest.strides[0], x->strides, sizeof f.nest.strides[0]);
  for (int i = 0; i < call->attrs->n_ints; i++) {
    const int64_t d = tc_attr_int(call->attrs, i);
    start += (x->sizes[d] - 1) * x->strides[d];
    f.nest.strides[0][d] = -f.nest.strides[0][d];
  }
  tc_cpu_nest_merge(&f.nest);
  if (f.nest.total == 0) return TC_OK;
  f.from = (const char *)tc_tensor_data(x) + start * f.bytes;
  tc_cpu_parallel(tc_cpu_of(device), f.nest.total, TC_CPU_BLOCK, (double)f.nest.total, flip_part, &f);
  return TC_OK;
}

tc_status tc_cpu_eager_cat(struct tc_device *device, const struct tc_eager_call *call, struct tc_error *err) {
  const int64_t dim = tc_attr_int(call->attrs, 0);
  struct tc_tensor part = *call->out;
  (void)err;
  for (int i = 0; i < call->n_in; i++) {
    part.sizes[dim] = call->in[i]->sizes[dim];
    tc_cpu_assign(tc_cpu_of(device), &part, call->in[i]);
    part.offset += part.sizes[dim] * part.strides[dim];
  }
  return TC_OK;
}

/* A negative width takes elements away. */
tc_status tc_cpu_eager_pad(struct tc_device *device, const struct tc_eager_call *call, struct tc_error *err) {
  struct tc_tensor x = *call->in[0], inside = *call->out;
  const double value = call->attrs->n_nums ? call->attrs->nums[0] : 0;
  const tc_dtype dtype = call->out->dtype;
  const tc_sym ints[] = {tc_sym_const(dtype), tc_sym_const(tc_dtype_is_float(dtype) ? 0 : (int64_t)value)};
  const struct tc_attrs attrs = {.ints = ints, .n_ints = 2, .nums = &value, .n_nums = 1};
  const struct tc_eager_call fill = {.op = TC_OP_full, .attrs = &attrs, .out = call->out};
  const tc_status status = tc_cpu_eager_full(device, &fill, err);
  if (status) return status;
  for (int d = 0; d < x.ndim; d++) {
    const int64_t before = tc_attr_int(call->attrs, 2 * d), after = tc_attr_int(call->attrs, 2 * d + 1);
    const int64_t cut_before = before < 0 ? -before : 0, cut_after = after < 0 ? -after : 0;
    x.offset += cut_before * x.strides[d];
    x.sizes[d] -= cut_before + cut_after;
    if (x.sizes[d] <= 0) return TC_OK;
    inside.offset += (before > 0 ? before : 0) * inside.strides[d];
    inside.sizes[d] = x.sizes[d];
  }
  tc_cpu_assign(tc_cpu_of(device), &inside, &x);
  return TC_OK;
}

struct triangle {
  char *out;
  int64_t rows, cols, diagonal;
  int bytes;
  bool lower;
};

/* Clears what lies on the other side of the diagonal, a row at a time. */
static void clear_rows(void *state, int64_t first, int64_t last, int thread) {
  const struct triangle *t = state;
  (void)thread;
  for (int64_t row = first; row < last; row++) {
    int64_t edge = row % t->rows + t->diagonal + (t->lower ? 1 : 0);
    edge = edge < 0 ? 0 : edge > t->cols ? t->cols : edge;
    char *at = t->out + row * t->cols * t->bytes;
    if (t->lower)
      memset(at + edge * t->bytes, 0, (size_t)((t->cols - edge) * t->bytes));
    else
      memset(at, 0, (size_t)(edge * t->bytes));
  }
}

tc_status tc_cpu_eager_tri(struct tc_device *device, const struct tc_eager_call *call, struct tc_error *err) {
  struct tc_cpu *cpu = tc_cpu_of(device);
  const struct tc_tensor *out = call->out;
  struct triangle t = {.out = tc_tensor_data(out),
                       .rows = out->sizes[out->ndim - 2],
                       .cols = out->sizes[out->ndim - 1],
                       .diagonal = tc_attr_int(call->attrs, 0),
                       .bytes = tc_dtype_bytes(out->dtype),
                       .lower = call->op == TC_OP_tril};
  const int64_t total = tc_tensor_numel(out);
  (void)err;
  tc_cpu_assign(cpu, out, call->in[0]);
  if (total) tc_cpu_parallel(cpu, total / t.cols, 1, (double)total, clear_rows, &t);
  return TC_OK;
}
