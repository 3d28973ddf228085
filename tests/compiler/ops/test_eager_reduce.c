/* Reductions over any dimensions of any layout, against double; NaN, infinity, ties, empty operands; and that
 * the number of threads changes nothing. */
#include "tests/compiler/ops/eager.h"

static const tc_op ops[] = {TC_OP_sum,    TC_OP_prod,   TC_OP_amax, TC_OP_amin, TC_OP_any,      TC_OP_all,
                            TC_OP_argmax, TC_OP_argmin, TC_OP_mean, TC_OP_var,  TC_OP_logsumexp};
static const tc_dtype dtypes[] = {TC_F32, TC_F64, TC_BF16, TC_I64, TC_BOOL};
enum {
  OPS = sizeof ops / sizeof *ops,
  DTYPES = sizeof dtypes / sizeof *dtypes,
  ROUNDS = 25,
  MAX_LENGTH = 1 << 17
};

static bool takes(tc_op op, tc_dtype dtype) {
  switch (op) {
    case TC_OP_mean:
    case TC_OP_var:
    case TC_OP_logsumexp: return tc_dtype_is_float(dtype);
    case TC_OP_amax:
    case TC_OP_amin: return dtype != TC_BOOL;
    default: return true;
  }
}

static double sum_of(const double *x, int64_t n) {
  long double total = 0;
  for (int64_t i = 0; i < n; i++) total += (long double)x[i];
  return (double)total;
}

static double reference(tc_op op, const double *x, int64_t n, double correction) {
  double best = op == TC_OP_amin || op == TC_OP_argmin ? INFINITY : -INFINITY, result = 0;
  long double total = 0;
  int64_t at = 0;
  const int sign = op == TC_OP_amin || op == TC_OP_argmin ? -1 : 1;
  switch (op) {
    case TC_OP_sum: return sum_of(x, n);
    case TC_OP_mean: return sum_of(x, n) / (double)n;
    case TC_OP_prod:
      result = 1;
      for (int64_t i = 0; i < n; i++) result *= x[i];
      return result;
    case TC_OP_any:
      for (int64_t i = 0; i < n; i++) result += x[i] != 0;
      return result > 0;
    case TC_OP_all:
      for (int64_t i = 0; i < n; i++) result += x[i] != 0;
      return result == (double)n;
    case TC_OP_var: {
      const double mean = sum_of(x, n) / (double)n;
      for (int64_t i = 0; i < n; i++) result += (x[i] - mean) * (x[i] - mean);
      return result / fmax((double)n - correction, 0);
    }
    case TC_OP_logsumexp:
      for (int64_t i = 0; i < n; i++) best = x[i] > best || isnan(x[i]) ? x[i] : best;
      if (isinf(best)) return best;
      for (int64_t i = 0; i < n; i++) total += (long double)exp(x[i] - best);
      return best + log((double)total);
    default:
      for (int64_t i = 0; i < n; i++) {
        if (isnan(x[i])) return op == TC_OP_amax || op == TC_OP_amin ? NAN : (double)i;
        if (sign * x[i] > sign * best || i == 0) best = x[i], at = i;
      }
      return op == TC_OP_amax || op == TC_OP_amin ? best : (double)at;
  }
}

static bool is_arg(tc_op op) { return op == TC_OP_argmax || op == TC_OP_argmin; }

/* Collects the elements that each result stands for, in row-major order. */
struct view {
  int64_t sizes[TC_MAX_DIMS], strides[TC_MAX_DIMS];
  int ndim;
};
static int64_t nth(const struct view *v, int64_t i) {
  int64_t at = 0;
  for (int d = v->ndim - 1; d >= 0; d--) {
    at += i % v->sizes[d] * v->strides[d];
    i /= v->sizes[d];
  }
  return at;
}

static double values[MAX_LENGTH];

static void check(struct eager *e, tc_op op, const struct tc_tensor *x, const bool *reduced, bool keepdim) {
  tc_sym ints[TC_MAX_DIMS + 1] = {tc_sym_const(keepdim)};
  int n_ints = 1;
  int64_t strides[TC_MAX_DIMS], length = 1;
  struct view kept = {.ndim = 0}, gone = {.ndim = 0};
  struct tc_tensor out;
  tc_contiguous_strides(x->ndim, x->sizes, strides);
  for (int d = 0; d < x->ndim; d++) {
    struct view *v = reduced[d] ? &gone : &kept;
    v->sizes[v->ndim] = x->sizes[d], v->strides[v->ndim++] = strides[d];
    if (reduced[d]) ints[n_ints++] = tc_sym_const(d), length *= x->sizes[d];
  }
  const double correction = (double)eager_below(2);
  const struct tc_attrs attrs = {
      .ints = ints, .n_ints = n_ints, .nums = &correction, .n_nums = op == TC_OP_var};
  const struct tc_tensor *in[] = {x};
  if (length == 0 && (is_arg(op) || op == TC_OP_amax || op == TC_OP_amin)) return;
  eager_run(e, op, 1, in, &attrs, &out);
  for (int64_t i = 0; i < tc_tensor_numel(&out); i++) {
    double size = 0;
    for (int64_t j = 0; j < length; j++) {
      values[j] = tc_tensor_get_f64(x, nth(&kept, i) + nth(&gone, j));
      size += fabs(values[j]);
    }
    const double want = reference(op, values, length, correction), got = tc_tensor_get_f64(&out, i);
    const double eps = eager_epsilon(x->dtype == TC_BF16 ? TC_F32 : x->dtype);
    const double mean = op == TC_OP_mean || op == TC_OP_var ? (double)(length ? length : 1) : 1;
    const double floor_error = op == TC_OP_sum || op == TC_OP_mean ? 8 * eps * size / mean
                               : op == TC_OP_logsumexp             ? 8 * eps
                               : op == TC_OP_var
                                   ? 256 * eps * fabs(want) + 16 * eps * eps * size * size / (mean * mean)
                               : op == TC_OP_prod ? (double)length * eps * fabs(want)
                                                  : 0;
    if (eager_close_to(out.dtype, got, want, x->dtype == TC_BF16 ? 0.6 : 4,
                       isfinite(floor_error) ? floor_error : 0))
      continue;
    print_error("%s %s, %lld elements, result %lld: got %.17g, want %.17g\n", tc_op_row(op)->name,
                tc_dtype_name(x->dtype), (long long)length, (long long)i, got, want);
    fail();
  }
  tc_tensor_release(&out);
}

static void check_random(struct eager *e, tc_op op, tc_dtype dtype, int max_dims, int64_t max_size,
                         bool contiguous) {
  int64_t sizes[TC_MAX_DIMS];
  bool reduced[TC_MAX_DIMS] = {false};
  const int ndim = eager_shape(sizes, max_dims, max_size);
  struct tc_tensor x =
      contiguous ? eager_new(e, dtype, ndim, sizes) : eager_layout(e, dtype, ndim, sizes, true);
  eager_fill(&x, op == TC_OP_prod ? 0.5 : -4, op == TC_OP_prod ? 1.5 : 4);
  if (tc_dtype_is_float(dtype) && eager_below(3) == 0 && tc_tensor_numel(&x) && op != TC_OP_var)
    for (int i = 0; i < 3; i++)
      tc_tensor_set_f64(&x, eager_below(tc_tensor_numel(&x)),
                        (double[]){NAN, INFINITY, -INFINITY, 0}[eager_below(4)]);
  if (ndim) {
    reduced[eager_below(ndim)] = true;
    if (!is_arg(op))
      for (int d = 0; d < ndim; d++) reduced[d] |= eager_below(3) == 0;
  }
  check(e, op, &x, reduced, eager_below(2));
  tc_tensor_release(&x);
}

static void test_random(void **state) {
  (void)state;
  ON_EACH_ISA(e, {
    for (int o = 0; o < OPS; o++)
      for (int d = 0; d < DTYPES; d++)
        for (int round = 0; round < ROUNDS && takes(ops[o], dtypes[d]); round++) {
          check_random(&e, ops[o], dtypes[d], 4, 6, round % 2);
          check_random(&e, ops[o], dtypes[d], 2, 90, round % 2);
        }
  })
}

static void test_long(void **state) {
  (void)state;
  ON_EACH_ISA(e, {
    const int64_t sizes[] = {2, 70001};
    for (int d = 0; d < DTYPES; d++) {
      struct tc_tensor x = eager_new(&e, dtypes[d], 2, sizes);
      eager_fill(&x, 0.999, 1.001);
      for (int o = 0; o < OPS; o++)
        if (takes(ops[o], dtypes[d]) && (ops[o] != TC_OP_prod || dtypes[d] == TC_BOOL || dtypes[d] == TC_I64))
          check(&e, ops[o], &x, (bool[]){false, true}, false);
      tc_tensor_release(&x);
    }
  })
}

/* Columns that cross the blocks of rows. */
static void test_tall(void **state) {
  (void)state;
  ON_EACH_ISA(e, {
    const int64_t sizes[] = {2100, 300};
    for (int d = 0; d < DTYPES; d++) {
      struct tc_tensor x = eager_new(&e, dtypes[d], 2, sizes);
      eager_fill(&x, -1, 1);
      static const tc_op few[] = {TC_OP_sum, TC_OP_amax, TC_OP_amin, TC_OP_argmax};
      for (int o = 0; o < 4; o++)
        if (takes(few[o], dtypes[d])) check(&e, few[o], &x, (bool[]){true, false}, true);
      tc_tensor_release(&x);
    }
  })
}

/* The same bits with one thread and with two. */
static void test_threads(void **state) {
  (void)state;
  ON_EACH_ISA(e, {
    const int64_t sizes[] = {3, 200003};
    struct tc_tensor x = eager_new(&e, TC_F32, 2, sizes), two, one;
    eager_fill(&x, -1, 1);
    const tc_sym ints[] = {tc_sym_const(0), tc_sym_const(1)};
    const struct tc_attrs attrs = {.ints = ints, .n_ints = 2};
    const struct tc_tensor *in[] = {&x};
    eager_run(&e, TC_OP_sum, 1, in, &attrs, &two);
    e.ctx.device->threads = 1;
    eager_run(&e, TC_OP_sum, 1, in, &attrs, &one);
    e.ctx.device->threads = EAGER_THREADS;
    for (int i = 0; i < 3; i++) assert_true(tc_tensor_get_f64(&one, i) == tc_tensor_get_f64(&two, i));
    tc_tensor_release(&x);
    tc_tensor_release(&one);
    tc_tensor_release(&two);
  })
}

static void test_nothing_to_choose(void **state) {
  (void)state;
  ON_EACH_ISA(e, {
    const int64_t sizes[] = {2, 0};
    struct tc_tensor x = eager_new(&e, TC_F32, 2, sizes), out;
    const tc_sym ints[] = {tc_sym_const(0), tc_sym_const(1)};
    const struct tc_attrs attrs = {.ints = ints, .n_ints = 2};
    const struct tc_tensor *in[] = {&x};
    assert_int_not_equal(tc_eager_run(&e.ctx, TC_OP_amax, 1, in, &attrs, &out, &e.err), TC_OK);
    tc_tensor_release(&x);
  })
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random),
      cmocka_unit_test(test_long),
      cmocka_unit_test(test_tall),
      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_nothing_to_choose),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
