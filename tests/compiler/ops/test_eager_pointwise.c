/* Every pointwise operation, each dtype and instruction set, over odd shapes and layouts, against double. */
#include "tests/campaign.h"
#include "tests/compiler/ops/eager.h"

typedef double unary_fn(double);
typedef double binary_fn(double, double);

static double f_neg(double x) { return -x; }
static double f_sign(double x) { return (x > 0) - (x < 0); }
static double f_reciprocal(double x) { return 1 / x; }
static double f_rsqrt(double x) { return 1 / sqrt(x); }
static double f_sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double f_relu(double x) { return x < 0 ? 0 : x; }
static double f_gelu(double x) { return 0.5 * x * (1 + erf(x * M_SQRT1_2)); }
static double f_gelu_tanh(double x) {
  return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}
static double f_silu(double x) { return x / (1 + exp(-x)); }
static double f_softplus(double x) { return x > 20 ? x : fmax(x, 0) + log1p(exp(-fabs(x))); }
static double f_isnan(double x) { return isnan(x); }
static double f_isinf(double x) { return isinf(x) != 0; }
static double f_not(double x) { return x == 0; }

static double f_add(double a, double b) { return a + b; }
static double f_sub(double a, double b) { return a - b; }
static double f_mul(double a, double b) { return a * b; }
static double f_div(double a, double b) { return a / b; }
static double f_maximum(double a, double b) { return isnan(a) || isnan(b) ? NAN : a > b ? a : b; }
static double f_minimum(double a, double b) { return isnan(a) || isnan(b) ? NAN : a < b ? a : b; }
static double f_eq(double a, double b) { return a == b; }
static double f_ne(double a, double b) { return a != b; }
static double f_lt(double a, double b) { return a < b; }
static double f_le(double a, double b) { return a <= b; }
static double f_gt(double a, double b) { return a > b; }
static double f_ge(double a, double b) { return a >= b; }
static double f_and(double a, double b) { return a != 0 && b != 0; }
static double f_or(double a, double b) { return a != 0 || b != 0; }
static double f_xor(double a, double b) { return (a != 0) != (b != 0); }

/* ulps and floor: allowed error, see eager_close_to. The floor is in units of the dtype's epsilon, for
 * operations that cancel. */
struct unary_row {
  tc_op op;
  unary_fn *f;
  double low, high, ulps, floor_eps;
  bool integers;
};
static const struct unary_row unary_rows[] = {
    {TC_OP_neg, f_neg, -9, 9, 0, 0, true},         {TC_OP_abs, fabs, -9, 9, 0, 0, true},
    {TC_OP_sign, f_sign, -2, 2, 0, 0, true},       {TC_OP_floor, floor, -9, 9, 0, 0, true},
    {TC_OP_ceil, ceil, -9, 9, 0, 0, true},         {TC_OP_reciprocal, f_reciprocal, -9, 9, 1, 0, false},
    {TC_OP_sqrt, sqrt, -1, 9, 1, 0, false},        {TC_OP_rsqrt, f_rsqrt, -1, 9, 2, 0, false},
    {TC_OP_exp, exp, -100, 100, 2, 0, false},      {TC_OP_log, log, -1, 9, 2, 0, false},
    {TC_OP_log1p, log1p, -2, 9, 2, 0, false},      {TC_OP_sin, sin, -40, 40, 3, 0, false},
    {TC_OP_cos, cos, -40, 40, 3, 0, false},        {TC_OP_tan, tan, -40, 40, 4, 0, false},
    {TC_OP_tanh, tanh, -12, 12, 3, 0, false},      {TC_OP_sigmoid, f_sigmoid, -100, 100, 3, 0, false},
    {TC_OP_erf, erf, -6, 6, 4, 0, false},          {TC_OP_relu, f_relu, -9, 9, 0, 0, true},
    {TC_OP_gelu, f_gelu, -8, 8, 4, 4, false},      {TC_OP_gelu_tanh, f_gelu_tanh, -8, 8, 8, 8, false},
    {TC_OP_silu, f_silu, -50, 50, 4, 0, false},    {TC_OP_softplus, f_softplus, -50, 50, 3, 2, false},
    {TC_OP_isnan, f_isnan, -1, 1, 0, 0, true},     {TC_OP_isinf, f_isinf, -1, 1, 0, 0, true},
    {TC_OP_logical_not, f_not, -1, 1, 0, 0, true},
};

struct binary_row {
  tc_op op;
  binary_fn *f;
  double ulps;
  bool integers;
};
static const struct binary_row binary_rows[] = {
    {TC_OP_add, f_add, 1, true},         {TC_OP_sub, f_sub, 1, true},
    {TC_OP_mul, f_mul, 1, true},         {TC_OP_div, f_div, 1, false},
    {TC_OP_pow, pow, 2, false},          {TC_OP_maximum, f_maximum, 0, true},
    {TC_OP_minimum, f_minimum, 0, true}, {TC_OP_eq, f_eq, 0, true},
    {TC_OP_ne, f_ne, 0, true},           {TC_OP_lt, f_lt, 0, true},
    {TC_OP_le, f_le, 0, true},           {TC_OP_gt, f_gt, 0, true},
    {TC_OP_ge, f_ge, 0, true},           {TC_OP_logical_and, f_and, 0, true},
    {TC_OP_logical_or, f_or, 0, true},   {TC_OP_logical_xor, f_xor, 0, true},
};

static const tc_dtype floats[] = {TC_F32, TC_F64, TC_BF16};
enum { FLOATS = sizeof floats / sizeof *floats, ROUNDS = 12 };
static const double specials[] = {NAN,   INFINITY, -INFINITY, 0.0, -0.0, 1.0, -1.0,
                                  1e-40, 3e38,     -3e38,     0.5, 2.0,  3.0, -2.0};
enum { SPECIALS = sizeof specials / sizeof *specials };

static void sprinkle(const struct tc_tensor *t) {
  const int64_t n = tc_tensor_numel(t);
  for (int64_t i = 0; i < n; i++)
    if (eager_below(8) == 0) tc_tensor_set_f64(t, i, specials[eager_below(SPECIALS)]);
}

static void check(tc_op op, const struct tc_tensor *out, int64_t i, double want, double ulps,
                  double floor_error, double a, double b) {
  const double got = tc_tensor_get_f64(out, i);
  if (eager_close_to(out->dtype, got, want, ulps, floor_error)) return;
  print_error("%s %s of (%.17g, %.17g): got %.17g, want %.17g\n", tc_op_row(op)->name,
              tc_dtype_name(out->dtype), a, b, got, want);
  fail();
}

/* The rounding of the result to its dtype adds half a unit. */
static double allowed(tc_dtype dtype, double ulps) { return dtype == TC_BF16 ? (ulps > 0 ? 0.51 : 0) : ulps; }

static void check_unary(struct eager *e, const struct unary_row *row, tc_dtype dtype, int64_t max_size) {
  int64_t sizes[TC_MAX_DIMS];
  const int ndim = eager_shape(sizes, 4, max_size);
  struct tc_tensor x = eager_layout(e, dtype, ndim, sizes, true), out;
  eager_fill(&x, row->low, row->high);
  if (tc_dtype_is_float(dtype)) sprinkle(&x);
  const struct tc_tensor *in[] = {&x};
  eager_run(e, row->op, 1, in, NULL, &out);
  for (int64_t i = 0; i < tc_tensor_numel(&out); i++) {
    const double a = tc_tensor_get_f64(&x, i);
    if (fabs(a) > 1e5 && (row->op == TC_OP_sin || row->op == TC_OP_cos || row->op == TC_OP_tan) &&
        isfinite(a))
      continue; /* outside of the stated range */
    check(row->op, &out, i, row->f(a), allowed(dtype, row->ulps), row->floor_eps * eager_epsilon(dtype), a,
          0);
  }
  tc_tensor_release(&x);
  tc_tensor_release(&out);
}

static void test_unary(void **state) {
  (void)state;
  ON_EACH_ISA(e, {
    for (size_t r = 0; r < sizeof unary_rows / sizeof *unary_rows; r++)
      for (int round = 0; round < ROUNDS; round++) {
        for (int d = 0; d < FLOATS; d++) check_unary(&e, &unary_rows[r], floats[d], round % 4 == 3 ? 60 : 9);
        if (unary_rows[r].integers) check_unary(&e, &unary_rows[r], TC_I64, 9);
      }
  })
}

/* Shapes that broadcast against one another. */
static int broadcast_shapes(int64_t *full, int64_t *a, int *a_dims, int64_t *b, int *b_dims) {
  const int ndim = eager_shape(full, 4, eager_below(4) ? 7 : 40);
  *a_dims = ndim - (int)(eager_below(3) == 0 ? eager_below(ndim + 1) : 0);
  *b_dims = *a_dims == ndim && eager_below(3) == 0 ? (int)eager_below(ndim + 1) : ndim;
  for (int d = 0; d < *a_dims; d++) a[d] = full[ndim - *a_dims + d];
  for (int d = 0; d < *b_dims; d++) b[d] = full[ndim - *b_dims + d];
  for (int d = 0; d < ndim; d++) {
    const int in_a = d - (ndim - *a_dims), in_b = d - (ndim - *b_dims);
    const int which = (int)eager_below(6);
    if (which == 0 && in_a >= 0 && in_b >= 0) a[in_a] = 1;
    if (which == 1 && in_b >= 0 && in_a >= 0) b[in_b] = 1;
  }
  return ndim;
}

static void check_binary(struct eager *e, const struct binary_row *row, tc_dtype dtype) {
  int64_t full[TC_MAX_DIMS], a_sizes[TC_MAX_DIMS], b_sizes[TC_MAX_DIMS];
  int a_dims, b_dims;
  broadcast_shapes(full, a_sizes, &a_dims, b_sizes, &b_dims);
  struct tc_tensor a = eager_layout(e, dtype, a_dims, a_sizes, true),
                   b = eager_layout(e, dtype, b_dims, b_sizes, true), out;
  const bool is_pow = row->op == TC_OP_pow;
  eager_fill(&a, is_pow ? 0 : -5, 5);
  eager_fill(&b, -5, 5);
  if (tc_dtype_is_float(dtype)) sprinkle(&a), sprinkle(&b);
  const struct tc_tensor *in[] = {&a, &b};
  eager_run(e, row->op, 2, in, NULL, &out);
  for (int64_t i = 0; i < tc_tensor_numel(&out); i++) {
    const double x = tc_tensor_get_f64(&a, eager_broadcast_index(&out, &a, i)),
                 y = tc_tensor_get_f64(&b, eager_broadcast_index(&out, &b, i));
    check(row->op, &out, i, row->f(x, y), allowed(out.dtype, row->ulps), 0, x, y);
  }
  tc_tensor_release(&a);
  tc_tensor_release(&b);
  tc_tensor_release(&out);
}

static void test_binary(void **state) {
  (void)state;
  ON_EACH_ISA(e, {
    for (size_t r = 0; r < sizeof binary_rows / sizeof *binary_rows; r++)
      for (int round = 0, rounds = campaign(3 * ROUNDS); round < rounds; round++) {
        for (int d = 0; d < FLOATS; d++) check_binary(&e, &binary_rows[r], floats[d]);
        if (binary_rows[r].integers) check_binary(&e, &binary_rows[r], TC_I64);
      }
  })
}

static void check_pair(struct eager *e, tc_op op, tc_dtype dtype, double a, double b, double want) {
  struct tc_tensor x = eager_new(e, dtype, 0, NULL), y = eager_new(e, dtype, 0, NULL), out;
  tc_tensor_set_f64(&x, 0, a);
  tc_tensor_set_f64(&y, 0, b);
  const struct tc_tensor *in[] = {&x, &y};
  eager_run(e, op, 2, in, NULL, &out);
  check(op, &out, 0, want, 0, 0, a, b);
  tc_tensor_release(&x);
  tc_tensor_release(&y);
  tc_tensor_release(&out);
}

/* A zero anywhere among the divisors, whatever the layout and the number of threads. */
static void refuse_division(struct eager *e, tc_op op) {
  enum { LARGE = 300000 };
  for (int64_t n = 1; n <= LARGE; n = n * 7 + 1) {
    for (int layout = 0; layout < 3; layout++) { /* flat, one divisor a row, one for all */
      const int64_t sizes[] = {2, n}, divisors[] = {layout < 2 ? 2 : 1, layout < 1 ? n : 1};
      struct tc_tensor x = eager_new(e, TC_I64, 2, sizes), y = eager_new(e, TC_I64, 2, divisors), out;
      const struct tc_tensor *in[] = {&x, &y};
      const struct tc_attrs none = {0};
      const int64_t count = tc_tensor_numel(&y);
      eager_fill(&x, -9, 9);
      for (int64_t i = 0; i < count; i++) tc_tensor_set_f64(&y, i, 3);
      eager_run(e, op, 2, in, NULL, &out);
      tc_tensor_release(&out);
      tc_tensor_set_f64(&y, eager_below(count), 0);
      assert_int_equal(tc_eager_run(&e->ctx, op, 2, in, &none, &out, &e->err), TC_ARG);
      assert_non_null(strstr(e->err.message, tc_op_row(op)->name));
      assert_non_null(strstr(e->err.message, "an integer is divided by zero"));
      tc_tensor_release(&x);
      tc_tensor_release(&y);
    }
  }
}

/* Rounding towards minus infinity, the divisor's sign, and division by zero. */
static void test_division(void **state) {
  (void)state;
  ON_EACH_ISA(e, {
    static const double pairs[][2] = {{7, 3}, {-7, 3}, {7, -3}, {-7, -3}, {6, 3}, {-6, 3}, {0, 5}, {1, -4}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
      const double a = pairs[i][0], b = pairs[i][1], quotient = floor(a / b);
      for (int d = 0; d < FLOATS; d++) {
        check_pair(&e, TC_OP_floor_divide, floats[d], a, b, quotient);
        check_pair(&e, TC_OP_remainder, floats[d], a, b, a - quotient * b);
      }
      check_pair(&e, TC_OP_floor_divide, TC_I64, a, b, quotient);
      check_pair(&e, TC_OP_remainder, TC_I64, a, b, a - quotient * b);
    }
    refuse_division(&e, TC_OP_floor_divide);
    refuse_division(&e, TC_OP_remainder);
    check_pair(&e, TC_OP_floor_divide, TC_F32, 5, 0, INFINITY);
    check_pair(&e, TC_OP_floor_divide, TC_I64, -9223372036854775808.0, -1, -9223372036854775808.0);
    check_pair(&e, TC_OP_pow, TC_I64, 3, 5, 243);
    check_pair(&e, TC_OP_pow, TC_I64, -2, 3, -8);
    check_pair(&e, TC_OP_pow, TC_I64, 7, 0, 1);
    check_pair(&e, TC_OP_pow, TC_I64, 2, -1, 0);
    check_pair(&e, TC_OP_pow, TC_I64, -1, -3, -1);
  })
}

/* PyTorch's quotient and remainder, step by step in the dtype that computes (bf16: f32), over the C library's
 * exact fmod. */
#define QUOTIENT(name, T, FMOD, FLOOR, COPYSIGN)                                                             \
  static double remainder_##name(double x, double y) {                                                       \
    const T a = (T)x, b = (T)y, r = FMOD(a, b);                                                              \
    return (double)(r != 0 && (b < 0) != (r < 0) ? r + b : r);                                               \
  }                                                                                                          \
  static double quotient_##name(double x, double y) {                                                        \
    const T a = (T)x, b = (T)y, r = FMOD(a, b);                                                              \
    T q = (a - r) / b;                                                                                       \
    if (b == 0) return (double)(a / b);                                                                      \
    if (r != 0 && (b < 0) != (r < 0)) q -= 1;                                                                \
    if (q == 0) return (double)COPYSIGN(0, a / b);                                                           \
    return (double)(q - FLOOR(q) > (T)0.5 ? FLOOR(q) + 1 : FLOOR(q));                                        \
  }
QUOTIENT(f32, float, fmodf, floorf, copysignf)
QUOTIENT(f64, double, fmod, floor, copysign)

/* Any bit pattern of the dtype; an everyday number; or one of the specials. */
static double any_number(tc_dtype dtype) {
  const uint64_t bits = eager_random();
  const uint32_t narrow = (uint32_t)bits & (dtype == TC_BF16 ? 0xffff0000u : 0xffffffffu);
  float x;
  double wide;
  memcpy(&x, &narrow, sizeof x);
  memcpy(&wide, &bits, sizeof wide);
  switch (eager_below(4)) {
    case 0: return specials[eager_below(SPECIALS)];
    case 1: return (double)(eager_below(41) - 20);
    case 2: return eager_uniform(-30, 30);
    default: return dtype == TC_F64 ? wide : (double)x;
  }
}

static void same_number(tc_op op, tc_dtype dtype, double a, double b, double got, double want) {
  if (dtype == TC_BF16) want = (double)tc_bf16_to_f32(tc_f32_to_bf16((float)want));
  if ((isnan(got) && isnan(want)) || (got == want && !signbit(got) == !signbit(want))) return;
  fail_msg("%s %s of (%a, %a): %a instead of %a", tc_op_row(op)->name, tc_dtype_name(dtype), a, b, got, want);
}

/* Bit by bit, signs of zero included. */
static void test_quotients(void **state) {
  enum { COUNT = 4099, TIMES = 20 };
  static const double pairs[][2] = {
      {1, INFINITY}, {-1, INFINITY},  {1, -INFINITY}, {-0.0, INFINITY}, {INFINITY, 2}, {5, 0},  {-5, 0},
      {5, -0.0},     {0, 0},          {-4, 2},        {4, -2},          {-0.0, 3},     {0, -3}, {1e30, 3},
      {-1e30, 7},    {16777217, 0.1}, {3e38, 1e-45},  {1e-45, 3e38},    {NAN, 2},      {2, NAN}};
  (void)state;
  ON_EACH_ISA(e, {
    for (int d = 0; d < FLOATS; d++) {
      const int64_t n = COUNT;
      struct tc_tensor x = eager_new(&e, floats[d], 1, &n), y = eager_new(&e, floats[d], 1, &n), quotient,
                       rest;
      const struct tc_tensor *in[] = {&x, &y};
      for (int round = 0; round < TIMES; round++) {
        for (int64_t i = 0; i < n; i++) {
          const bool given = round == 0 && i < (int64_t)(sizeof pairs / sizeof *pairs);
          tc_tensor_set_f64(&x, i, given ? pairs[i][0] : any_number(floats[d]));
          tc_tensor_set_f64(&y, i, given ? pairs[i][1] : any_number(floats[d]));
        }
        eager_run(&e, TC_OP_floor_divide, 2, in, NULL, &quotient);
        eager_run(&e, TC_OP_remainder, 2, in, NULL, &rest);
        for (int64_t i = 0; i < n; i++) {
          const double a = tc_tensor_get_f64(&x, i), b = tc_tensor_get_f64(&y, i);
          same_number(TC_OP_floor_divide, floats[d], a, b, tc_tensor_get_f64(&quotient, i),
                      floats[d] == TC_F64 ? quotient_f64(a, b) : quotient_f32(a, b));
          same_number(TC_OP_remainder, floats[d], a, b, tc_tensor_get_f64(&rest, i),
                      floats[d] == TC_F64 ? remainder_f64(a, b) : remainder_f32(a, b));
        }
        tc_tensor_release(&quotient);
        tc_tensor_release(&rest);
      }
      tc_tensor_release(&x);
      tc_tensor_release(&y);
    }
    check_pair(&e, TC_OP_remainder, TC_F32, 1, INFINITY, 1);
    check_pair(&e, TC_OP_remainder, TC_F32, -1, INFINITY, INFINITY);
    check_pair(&e, TC_OP_floor_divide, TC_F32, -1, INFINITY, -1);
    check_pair(&e, TC_OP_remainder, TC_F64, 1e30, 7, fmod(1e30, 7));
  })
}

static void test_where(void **state) {
  static const tc_dtype dtypes[] = {TC_F32, TC_F64, TC_BF16, TC_I64, TC_BOOL};
  (void)state;
  ON_EACH_ISA(e, {
    for (int round = 0, rounds = campaign(3 * ROUNDS); round < rounds; round++) {
      for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
        int64_t full[TC_MAX_DIMS], a_sizes[TC_MAX_DIMS], b_sizes[TC_MAX_DIMS];
        int a_dims, b_dims;
        const int ndim = broadcast_shapes(full, a_sizes, &a_dims, b_sizes, &b_dims);
        struct tc_tensor c = eager_layout(&e, TC_BOOL, ndim, full, true), out;
        struct tc_tensor a = eager_layout(&e, dtypes[d], a_dims, a_sizes, true),
                         b = eager_layout(&e, dtypes[d], b_dims, b_sizes, true);
        eager_fill(&c, 0, 1);
        eager_fill(&a, -5, 5);
        eager_fill(&b, -5, 5);
        const struct tc_tensor *in[] = {&c, &a, &b};
        eager_run(&e, TC_OP_where, 3, in, NULL, &out);
        for (int64_t i = 0; i < tc_tensor_numel(&out); i++) {
          const bool take = tc_tensor_get_i64(&c, eager_broadcast_index(&out, &c, i)) != 0;
          const struct tc_tensor *from = take ? &a : &b;
          check(TC_OP_where, &out, i, tc_tensor_get_f64(from, eager_broadcast_index(&out, from, i)), 0, 0,
                take, 0);
        }
        tc_tensor_release(&c);
        tc_tensor_release(&a);
        tc_tensor_release(&b);
        tc_tensor_release(&out);
      }
    }
  })
}

/* Large enough for several threads and for non-temporal stores: every element is written, once. */
static void test_large(void **state) {
  (void)state;
  ON_EACH_ISA(e, {
    const int64_t sizes[] = {3, (5 << 20) + 17};
    struct tc_tensor x = eager_new(&e, TC_F32, 2, sizes), out;
    struct tc_host_view view;
    assert_int_equal(tc_host_write(&x, &view, &e.err), TC_OK);
    for (int64_t i = 0; i < sizes[0] * sizes[1]; i++) ((float *)view.data)[i] = (float)(i % 1021);
    assert_int_equal(tc_host_end(&view, &e.err), TC_OK);
    const struct tc_tensor *in[] = {&x, &x};
    eager_run(&e, TC_OP_add, 2, in, NULL, &out);
    assert_int_equal(tc_host_read(&out, &view, &e.err), TC_OK);
    const float *got = view.data;
    for (int64_t i = 0; i < sizes[0] * sizes[1]; i++)
      if (got[i] != 2 * (float)(i % 1021))
        fail_msg("element %lld: %g, want %g", (long long)i, (double)got[i], (double)(2 * (i % 1021)));
    assert_int_equal(tc_host_end(&view, &e.err), TC_OK);
    tc_tensor_release(&x);
    tc_tensor_release(&out);
  })
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_unary),     cmocka_unit_test(test_binary), cmocka_unit_test(test_division),
      cmocka_unit_test(test_quotients), cmocka_unit_test(test_where),  cmocka_unit_test(test_large),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
