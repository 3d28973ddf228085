/* The accuracy that codegen/polynomials.h states, in units in the last place, through the eager kernels of
 * each instruction set: f32 over a dense sample of all bit patterns against double, f64 over random arguments
 * against long double; and the special values, bit by bit. */
#include "tests/compiler/ops/eager.h"

enum { BATCH = 4096, F32_STEP = 4099, F64_BATCHES = 40 };

static double d_sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double d_rsqrt(double x) { return 1 / sqrt(x); }
static long double l_sigmoid(long double x) { return 1 / (1 + expl(-x)); }
static long double l_rsqrt(long double x) { return 1 / sqrtl(x); }

struct row {
  tc_op op;
  double (*f)(double);
  long double (*fl)(long double);
  double f32_ulp, f64_ulp;
};
static const struct row rows[] = {
    {TC_OP_exp, exp, expl, 1.1, 1.1},       {TC_OP_log, log, logl, 1.0, 1.0},
    {TC_OP_log1p, log1p, log1pl, 1.3, 1.4}, {TC_OP_sin, sin, sinl, 2.4, 2.7},
    {TC_OP_cos, cos, cosl, 2.4, 2.7},       {TC_OP_tan, tan, tanl, 4.0, 4.2},
    {TC_OP_tanh, tanh, tanhl, 2.5, 2.8},    {TC_OP_sigmoid, d_sigmoid, l_sigmoid, 2.6, 2.6},
    {TC_OP_erf, erf, erfl, 2.2, 4.3},       {TC_OP_rsqrt, d_rsqrt, l_rsqrt, 1.5, 1.5},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* Distance in units of the last place of `want`. */
static double ulps(double got, long double want, int digits, int smallest, long double largest) {
  int exponent;
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got) ? 0 : INFINITY;
  if (isinf(want) || isinf(got) || fabsl(want) > largest) {
    const bool overflows = fabsl(want) > largest, at_top = fabs(got) >= (double)largest;
    return overflows && at_top && (want > 0) == (got > 0) ? 0 : INFINITY;
  }
  frexpl(want, &exponent);
  exponent -= digits;
  if (exponent < smallest || want == 0) exponent = smallest;
  return (double)(fabsl((long double)got - want) / ldexpl(1, exponent));
}
static double ulps_f32(double got, double want) {
  return ulps(got, (long double)want, 24, -149, 0x1.fffffep127L);
}
static double ulps_f64(double got, long double want) {
  return ulps(got, want, 53, -1074, 0x1.fffffffffffffp1023L);
}

static struct tc_tensor x32, x64;

static void apply(struct eager *e, tc_op op, const struct tc_tensor *x, struct tc_tensor *out) {
  const struct tc_tensor *in[] = {x};
  eager_run(e, op, 1, in, NULL, out);
}

static void check_f32(struct eager *e, const struct row *row) {
  float *x = tc_tensor_data(&x32);
  for (uint64_t start = 0; start < UINT64_C(1) << 32;) {
    struct tc_tensor out;
    for (int i = 0; i < BATCH; i++, start += F32_STEP) {
      const uint32_t bits = (uint32_t)start;
      memcpy(&x[i], &bits, sizeof bits);
    }
    apply(e, row->op, &x32, &out);
    const float *y = tc_tensor_data(&out);
    for (int i = 0; i < BATCH; i++) {
      const double distance = ulps_f32((double)y[i], row->f((double)x[i]));
      if (!(distance <= row->f32_ulp))
        fail_msg("%s f32 of %a: %a is %.2f ulp off", tc_op_row(row->op)->name, (double)x[i], (double)y[i],
                 distance);
    }
    tc_tensor_release(&out);
  }
}

/* Any bit pattern, or a number of everyday size. */
static double argument(void) {
  const uint64_t bits = eager_random();
  double x;
  memcpy(&x, &bits, sizeof x);
  switch (bits >> 3 & 3) {
    case 0: return x;
    case 1: return eager_uniform(-2, 2);
    case 2: return eager_uniform(-40, 40);
    default: return eager_uniform(-800, 800);
  }
}

static void check_f64(struct eager *e, const struct row *row) {
  double *x = tc_tensor_data(&x64);
  for (int batch = 0; batch < F64_BATCHES; batch++) {
    struct tc_tensor out;
    for (int i = 0; i < BATCH; i++) x[i] = argument();
    apply(e, row->op, &x64, &out);
    const double *y = tc_tensor_data(&out);
    for (int i = 0; i < BATCH; i++) {
      const double distance = ulps_f64(y[i], row->fl((long double)x[i]));
      if (!(distance <= row->f64_ulp))
        fail_msg("%s f64 of %a: %a is %.2f ulp off", tc_op_row(row->op)->name, x[i], y[i], distance);
    }
    tc_tensor_release(&out);
  }
}

static void test_accuracy(void **state) {
  const int64_t n = BATCH;
  (void)state;
  ON_EACH_ISA(e, {
    x32 = eager_new(&e, TC_F32, 1, &n);
    x64 = eager_new(&e, TC_F64, 1, &n);
    for (int r = 0; r < ROWS; r++) {
      check_f32(&e, &rows[r]);
      check_f64(&e, &rows[r]);
    }
    tc_tensor_release(&x32);
    tc_tensor_release(&x64);
  })
}

/* --- special values: sign of zero and of infinity included --- */

static const double specials[] = {0.0,    -0.0,   INFINITY, -INFINITY, NAN,       1.0,   -1.0,  1e300,
                                  -1e300, 5e-324, -5e-324,  0x1p-149,  -0x1p-149, 1e-30, -1e-30};
enum { SPECIALS = sizeof specials / sizeof *specials };

static void same_special(tc_op op, tc_dtype dtype, double x, double y, double got, double want) {
  const bool both_nan = isnan(got) && isnan(want);
  const bool exact = want == 0 || isinf(want) || isnan(want);
  if (both_nan || !exact || (got == want && !signbit(got) == !signbit(want))) return;
  fail_msg("%s %s of (%a, %a): got %g, want %g", tc_op_row(op)->name, tc_dtype_name(dtype), x, y, got, want);
}

static void test_specials(void **state) {
  static const tc_dtype dtypes[] = {TC_F32, TC_F64};
  const int64_t n = SPECIALS;
  (void)state;
  ON_EACH_ISA(e, {
    for (int d = 0; d < 2; d++) {
      for (int r = 0; r < ROWS; r++) {
        struct tc_tensor x = eager_new(&e, dtypes[d], 1, &n), out;
        for (int i = 0; i < SPECIALS; i++) tc_tensor_set_f64(&x, i, specials[i]);
        apply(&e, rows[r].op, &x, &out);
        for (int i = 0; i < SPECIALS; i++) {
          const double at = tc_tensor_get_f64(&x, i);
          double want = rows[r].f(at);
          if (dtypes[d] == TC_F32) want = (double)(float)want;
          same_special(rows[r].op, dtypes[d], at, 0, tc_tensor_get_f64(&out, i), want);
        }
        tc_tensor_release(&x);
        tc_tensor_release(&out);
      }
    }
  })
}

/* --- pow --- */

static double some_base(void) {
  switch (eager_below(4)) {
    case 0: return specials[eager_below(SPECIALS)];
    case 1: return argument();
    case 2: return eager_uniform(0.5, 2);
    default: return (double)eager_below(40) - 20;
  }
}
static double some_exponent(void) {
  switch (eager_below(4)) {
    case 0: return specials[eager_below(SPECIALS)];
    case 1: return (double)eager_below(80) - 40;
    case 2: return ((double)eager_below(21) - 10) / 2;
    default: return eager_uniform(-300, 300);
  }
}

static void check_pow(struct eager *e, tc_dtype dtype, double bound) {
  const int64_t n = BATCH;
  struct tc_tensor x = eager_new(e, dtype, 1, &n), y = eager_new(e, dtype, 1, &n), out;
  const struct tc_tensor *in[] = {&x, &y};
  for (int batch = 0; batch < F64_BATCHES; batch++) {
    for (int i = 0; i < BATCH; i++) {
      tc_tensor_set_f64(&x, i, some_base());
      tc_tensor_set_f64(&y, i, some_exponent());
    }
    eager_run(e, TC_OP_pow, 2, in, NULL, &out);
    for (int i = 0; i < BATCH; i++) {
      const double a = tc_tensor_get_f64(&x, i), b = tc_tensor_get_f64(&y, i),
                   got = tc_tensor_get_f64(&out, i);
      const long double want = powl((long double)a, (long double)b);
      const double distance = dtype == TC_F32 ? ulps_f32(got, (double)want) : ulps_f64(got, want);
      const bool sign_differs = !isnan(got) && !signbit(got) != !signbit(want);
      if (!(distance <= bound) || sign_differs)
        fail_msg("pow %s of (%a, %a): got %a, want %La, %.2f ulp", tc_dtype_name(dtype), a, b, got, want,
                 distance);
    }
    tc_tensor_release(&out);
  }
  tc_tensor_release(&x);
  tc_tensor_release(&y);
}

static void test_pow(void **state) {
  (void)state;
  ON_EACH_ISA(e, {
    check_pow(&e, TC_F32, 0.51);
    check_pow(&e, TC_F64, 1.3);
  })
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_accuracy), cmocka_unit_test(test_specials),
                                     cmocka_unit_test(test_pow)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
