/* Eager reductions.
 *
 * 1. What is reduced is brought into rows: contiguous, one row a result. Sums of floats over outer dimensions
 *    keep the layout and go down the columns instead.
 * 2. A row is cut into chunks of CHUNK elements, whatever the number of threads; the chunks' results are
 *    joined in order. Sums of chunks are in f64 (row_ops.h has the order within).
 * 3. Extrema pass NaN on; argmax and argmin give the first position, and the first NaN wins. */
#include <math.h>
#include <string.h>

#include "device/cpu/cpu.h"
#include "device/cpu/reduce.h"

enum { CHUNK = 1 << 16, PIECE = 4096 };

static bool is_arg(tc_op op) { return op == TC_OP_argmax || op == TC_OP_argmin; }

static struct acc nothing(tc_op op) {
  const bool is_product = op == TC_OP_prod || op == TC_OP_all;
  return (struct acc){.number = is_product ? 1 : 0, .integer = is_product ? 1 : 0, .empty = true};
}

/* Is b, which comes later, to replace a? */
static bool better(const struct reduction *r, const struct acc *a, const struct acc *b) {
  if (a->empty || b->empty) return !b->empty;
  if (!tc_dtype_is_float(r->dtype))
    return tc_reduce_sign(r->op) > 0 ? b->integer > a->integer : b->integer < a->integer;
  if (isnan(a->number)) return false;
  return isnan(b->number) || (tc_reduce_sign(r->op) > 0 ? b->number > a->number : b->number < a->number);
}

void tc_reduce_join(const struct reduction *r, struct acc *a, const struct acc *b) {
  switch (r->op) {
    case TC_OP_amax:
    case TC_OP_amin:
    case TC_OP_argmax:
    case TC_OP_argmin:
      if (better(r, a, b)) *a = *b;
      break;
    case TC_OP_prod:
      a->number *= b->number;
      a->integer = (int64_t)((uint64_t)a->integer * (uint64_t)b->integer);
      break;
    case TC_OP_any: a->integer |= b->integer; break;
    case TC_OP_all: a->integer &= b->integer; break;
    default:
      a->number += b->number;
      a->distances += b->distances;
      a->integer = (int64_t)((uint64_t)a->integer + (uint64_t)b->integer);
      break;
  }
}

/* The first position of the extreme, which is known: what equals it, or the first NaN if it is one. */
#define FIRST_EQUAL(name, T)                                                                                 \
  static struct acc name(const T *x, int64_t n, int64_t base, T value) {                                     \
    int64_t at = 0;                                                                                          \
    if (isnan(value))                                                                                        \
      while (at < n - 1 && !isnan(x[at])) at++;                                                              \
    else                                                                                                     \
      while (at < n - 1 && x[at] != value) at++;                                                             \
    return (struct acc){.number = (double)value, .index = base + at};                                        \
  }
FIRST_EQUAL(first_f32, float)
FIRST_EQUAL(first_f64, double)

static struct acc first_i64(const int64_t *x, int64_t n, int64_t base, int sign) {
  int64_t at = 0;
  for (int64_t i = 1; i < n; i++)
    if (sign > 0 ? x[i] > x[at] : x[i] < x[at]) at = i;
  return (struct acc){.integer = x[at], .index = base + at};
}

#define COUNT_TRUE(name, T)                                                                                  \
  static int64_t name(const T *x, int64_t n) {                                                               \
    int64_t count = 0;                                                                                       \
    for (int64_t i = 0; i < n; i++) count += x[i] != 0;                                                      \
    return count;                                                                                            \
  }
COUNT_TRUE(true_f32, float)
COUNT_TRUE(true_f64, double)
COUNT_TRUE(true_i64, int64_t)

static struct acc truth(tc_op op, int64_t count, int64_t n) {
  return (struct acc){.integer = op == TC_OP_any ? count > 0 : count == n};
}

#define SQUARES(name, T)                                                                                     \
  static struct acc squares_##name(const struct reduction *r, const T *x, int64_t n, double centre) {        \
    struct acc a = {.number = 0};                                                                            \
    a.number = r->kernels->sum_squares_##name(x, n, centre, &a.distances);                                   \
    return a;                                                                                                \
  }
SQUARES(f32, float)
SQUARES(f64, double)

static struct acc feed_f32(const struct reduction *r, const float *x, int64_t n, int64_t base,
                           double centre) {
  switch (r->op) {
    case TC_OP_amax:
    case TC_OP_amin:
      return (struct acc){.number = (double)r->kernels->extreme_f32(x, n, tc_reduce_sign(r->op))};
    case TC_OP_argmax:
    case TC_OP_argmin: return first_f32(x, n, base, r->kernels->extreme_f32(x, n, tc_reduce_sign(r->op)));
    case TC_OP_any:
    case TC_OP_all: return truth(r->op, true_f32(x, n), n);
    case TC_OP_prod: return (struct acc){.number = r->kernels->prod_f32(x, n)};
    default:
      return r->centres ? squares_f32(r, x, n, centre) : (struct acc){.number = r->kernels->sum_f32(x, n)};
  }
}

static struct acc feed_f64(const struct reduction *r, const double *x, int64_t n, int64_t base,
                           double centre) {
  switch (r->op) {
    case TC_OP_amax:
    case TC_OP_amin: return (struct acc){.number = r->kernels->extreme_f64(x, n, tc_reduce_sign(r->op))};
    case TC_OP_argmax:
    case TC_OP_argmin: return first_f64(x, n, base, r->kernels->extreme_f64(x, n, tc_reduce_sign(r->op)));
    case TC_OP_any:
    case TC_OP_all: return truth(r->op, true_f64(x, n), n);
    case TC_OP_prod: return (struct acc){.number = r->kernels->prod_f64(x, n)};
    default:
      return r->centres ? squares_f64(r, x, n, centre) : (struct acc){.number = r->kernels->sum_f64(x, n)};
  }
}

static struct acc feed_i64(const struct reduction *r, const int64_t *x, int64_t n, int64_t base) {
  uint64_t sum = 0, product = 1;
  switch (r->op) {
    case TC_OP_amax:
    case TC_OP_amin:
    case TC_OP_argmax:
    case TC_OP_argmin: return first_i64(x, n, base, tc_reduce_sign(r->op));
    case TC_OP_any:
    case TC_OP_all: return truth(r->op, true_i64(x, n), n);
    case TC_OP_prod:
      for (int64_t i = 0; i < n; i++) product *= (uint64_t)x[i];
      return (struct acc){.integer = (int64_t)product};
    default:
      for (int64_t i = 0; i < n; i++) sum += (uint64_t)x[i];
      return (struct acc){.integer = (int64_t)sum};
  }
}

/* Elements [first, first + n) of a row. Dtypes that are not reduced as they are go through a piece of
 * stack. */
static struct acc feed(const struct reduction *r, const char *row, int64_t first, int64_t n, double centre) {
  struct acc total = nothing(r->op);
  const char *x = row + first * tc_dtype_bytes(r->dtype);
  if (n == 0) return total;
  if (r->dtype == TC_F32) return feed_f32(r, (const float *)(const void *)x, n, first, centre);
  if (r->dtype == TC_F64) return feed_f64(r, (const double *)(const void *)x, n, first, centre);
  if (r->dtype == TC_I64) return feed_i64(r, (const int64_t *)(const void *)x, n, first);
  const tc_dtype wide = r->dtype == TC_BF16 ? TC_F32 : TC_I64;
  const tc_cpu_block_fn widen = r->kernels->cast(r->dtype, wide);
  union {
    float f32[PIECE];
    int64_t i64[PIECE];
  } piece;
  for (int64_t at = 0; at < n; at += PIECE) {
    const int64_t count = n - at < PIECE ? n - at : PIECE;
    const void *in[] = {x + at * tc_dtype_bytes(r->dtype)};
    widen(&piece, in, count, false);
    const struct acc part = wide == TC_F32 ? feed_f32(r, piece.f32, count, first + at, centre)
                                           : feed_i64(r, piece.i64, count, first + at);
    tc_reduce_join(r, &total, &part);
    total.empty = false;
  }
  return total;
}

static void write_number(void *out, tc_dtype dtype, int64_t i, double value) {
  switch (dtype) {
    case TC_BF16: ((uint16_t *)out)[i] = tc_f32_to_bf16((float)value); break;
    case TC_F32: ((float *)out)[i] = (float)value; break;
    default: ((double *)out)[i] = value; break;
  }
}

static double freedom(const struct reduction *r) {
  const double n = (double)r->length - r->correction;
  return n > 0 ? n : 0;
}

/* The squares were taken from a rounded mean; the distances from it tell what it lacks. An overflow stays. */
static double squares_about_mean(const struct reduction *r, const struct acc *a) {
  const double nearer = a->number - a->distances * (a->distances / (double)r->length);
  return nearer < 0 ? 0 : nearer;
}

void tc_reduce_finish(const struct reduction *r, int64_t i, const struct acc *a) {
  if (is_arg(r->op))
    ((int64_t *)r->out)[i] = a->index;
  else if (r->out_dtype == TC_BOOL)
    ((uint8_t *)r->out)[i] = a->integer != 0;
  else if (r->out_dtype == TC_I64)
    ((int64_t *)r->out)[i] = a->integer;
  else if (r->op == TC_OP_mean)
    write_number(r->out, r->out_dtype, i, a->number / (double)r->length);
  else if (r->op == TC_OP_var)
    write_number(r->out, r->out_dtype, i, squares_about_mean(r, a) / freedom(r));
  else
    write_number(r->out, r->out_dtype, i, a->number);
}

/* A row of one chunk is finished at once; else the unit's partial is kept. */
static void run_units(void *state, int64_t first, int64_t last, int thread) {
  const struct reduction *r = state;
  (void)thread;
  for (int64_t unit = first; unit < last; unit++) {
    const int64_t row = unit / r->chunks, start = unit % r->chunks * CHUNK;
    const int64_t n = r->length - start < CHUNK ? r->length - start : CHUNK;
    const char *x = r->x + row * r->length * tc_dtype_bytes(r->dtype);
    r->partials[unit] = feed(r, x, start, n, r->centres ? r->centres[row] : 0);
  }
}

static struct acc row_result(const struct reduction *r, int64_t row) {
  struct acc total = r->partials[row * r->chunks];
  for (int64_t c = 1; c < r->chunks; c++) {
    tc_reduce_join(r, &total, &r->partials[row * r->chunks + c]);
    total.empty = false;
  }
  return total;
}

static tc_status reduce_rows(struct tc_cpu *cpu, struct reduction *r, const struct tc_eager_call *call,
                             struct tc_error *err) {
  r->chunks = r->length > CHUNK ? (r->length + CHUNK - 1) / CHUNK : 1;
  const int64_t units = r->n_out * r->chunks;
  const bool is_var = r->op == TC_OP_var;
  double *centres = is_var ? tc_cpu_temp(cpu, (size_t)r->n_out * sizeof *centres) : NULL;
  r->partials = tc_cpu_temp(cpu, (size_t)units * sizeof *r->partials);
  if (!r->partials || (is_var && !centres)) {
    tc_cpu_temp_free(cpu, centres);
    tc_cpu_temp_free(cpu, r->partials);
    return tc_cpu_nomem(call, err);
  }
  const double work = (double)r->n_out * (double)r->length;
  tc_cpu_parallel(cpu, units, 1, work, run_units, r);
  if (is_var) {
    for (int64_t row = 0; row < r->n_out; row++) centres[row] = row_result(r, row).number / (double)r->length;
    r->centres = centres;
    tc_cpu_parallel(cpu, units, 1, work, run_units, r);
  }
  for (int64_t row = 0; row < r->n_out; row++) {
    const struct acc total = row_result(r, row);
    tc_reduce_finish(r, row, &total);
  }
  tc_cpu_temp_free(cpu, centres);
  tc_cpu_temp_free(cpu, r->partials);
  return TC_OK;
}

/* --- the operation --- */

struct order {
  int dims[TC_MAX_DIMS];
  bool reduced[TC_MAX_DIMS];
};

/* Kept dimensions, then reduced ones. */
static struct order order_of(const struct tc_tensor *x, const struct tc_attrs *attrs) {
  struct order o = {0};
  int n = 0;
  for (int i = 1; i < attrs->n_ints; i++)
    if (x->ndim) o.reduced[tc_attr_int(attrs, i)] = true;
  for (int d = 0; d < x->ndim; d++)
    if (!o.reduced[d]) o.dims[n++] = d;
  for (int d = 0; d < x->ndim; d++)
    if (o.reduced[d]) o.dims[n++] = d;
  return o;
}

/* x contiguous and its reduced dimensions neighbours, with kept ones behind: [outer, length, inner]. */
static bool is_column_case(const struct reduction *r, const struct tc_tensor *x, const struct order *o,
                           int64_t *inner) {
  enum { NARROWEST = 8 };
  const bool sums = r->op == TC_OP_sum || r->op == TC_OP_mean || r->op == TC_OP_amax || r->op == TC_OP_amin;
  int first = 0, last = x->ndim - 1;
  if (!sums || !tc_dtype_is_float(r->dtype) || !tc_tensor_is_contiguous(x)) return false;
  while (first <= last && !o->reduced[first]) first++;
  while (last >= first && !o->reduced[last]) last--;
  for (int d = first; d <= last; d++)
    if (!o->reduced[d]) return false;
  *inner = 1;
  for (int d = last + 1; d < x->ndim; d++) *inner *= x->sizes[d];
  return *inner >= NARROWEST;
}

tc_status tc_cpu_eager_reduce(struct tc_device *device, const struct tc_eager_call *call,
                              struct tc_error *err) {
  struct tc_cpu *cpu = tc_cpu_of(device);
  const struct tc_tensor *x = call->in[0];
  struct reduction r = {.kernels = cpu->kernels,
                        .op = call->op,
                        .dtype = x->dtype,
                        .out_dtype = call->out->dtype,
                        .out = tc_tensor_data(call->out)};
  const struct order order = order_of(x, call->attrs);
  void *temp = NULL;
  r.n_out = tc_tensor_numel(call->out);
  r.length = 1;
  r.correction = call->attrs->n_nums ? call->attrs->nums[0] : 1;
  for (int d = 0; d < x->ndim; d++)
    if (order.reduced[d]) r.length *= x->sizes[d];
  if (r.n_out == 0) return TC_OK;
  const bool extreme = r.op == TC_OP_amax || r.op == TC_OP_amin || is_arg(r.op);
  if (extreme && r.length == 0)
    return tc_fail(err, TC_SHAPE, "cpu", "%s: there is no element to choose from", tc_op_row(r.op)->name);
  if (r.length > 0 && is_column_case(&r, x, &order, &r.inner)) {
    r.x = tc_tensor_data(x);
    return tc_reduce_columns(cpu, &r, call, err);
  }
  r.x = tc_cpu_rows(cpu, x, order.dims, &temp);
  if (!r.x) return tc_cpu_nomem(call, err);
  const tc_status status = reduce_rows(cpu, &r, call, err);
  tc_cpu_temp_free(cpu, temp);
  return status;
}
