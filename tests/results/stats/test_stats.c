/* Statistics against known answers: tables of Student's t, quantiles by hand, sign flips counted by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/run/stop.h"
#include "results/stats/stats.h"

static void assert_near(double value, double expected, double share) {
  assert_true(fabs(value - expected) <= share * fabs(expected) + 1e-300);
}

static void test_quantiles(void **state) {
  (void)state;
  const double values[] = {5, 1, 4, 2, 3};
  assert_near(tb_median(values, 5), 3, 0);
  assert_near(tb_median(values, 4), 3, 0); /* 1 2 4 5 */
  assert_near(tb_quantile(values, 5, 0), 1, 0);
  assert_near(tb_quantile(values, 5, 1), 5, 0);
  assert_near(tb_quantile(values, 5, 0.05), 1.2, 1e-15);
  assert_near(tb_quantile(values, 1, 0.95), 5, 0);
  assert_true(isnan(tb_median(values, 0)));
  assert_near(values[0], 5, 0); /* the input is not sorted in place */
}

static void test_moments(void **state) {
  (void)state;
  const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};
  assert_near(tb_mean(values, 8), 5, 0);
  assert_near(tb_deviation(values, 8), sqrt(32.0 / 7), 1e-15);
  assert_true(isnan(tb_mean(values, 0)));
  assert_true(isnan(tb_deviation(values, 1)));
}

/* Two-sided 95% and one-sided 99.5% points of the usual tables, to more digits. */
/* Weights of 1 change nothing; a weight of 2 is that value twice in the long run; what weighs little hardly
 * counts. */
static void test_weighted_quantiles(void **state) {
  (void)state;
  const double values[] = {3, 1, 2, 5, 4}, even[] = {0.2, 0.2, 0.2, 0.2, 0.2};
  for (int q = 0; q <= 20; q++)
    assert_near(tb_weighted_quantile(values, even, 5, q / 20.0), tb_quantile(values, 5, q / 20.0), 1e-12);
  enum { MANY = 1000 };
  double pooled[MANY + 2], weights[MANY + 2];
  for (int i = 0; i < MANY + 2; i++) {
    pooled[i] = i < MANY ? 100 + 0.001 * (i % 10)
                         : 200 + i - MANY; /* one replicate of 1000 samples, two of one each */
    weights[i] = i < MANY ? 1.0 / MANY : 1;
  }
  assert_true(tb_quantile(pooled, MANY + 2, 0.95) < 101);
  assert_true(tb_weighted_quantile(pooled, weights, MANY + 2, 0.95) > 200 &&
              tb_weighted_quantile(pooled, weights, MANY + 2, 0.05) < 101);
  assert_near(tb_weighted_quantile(values, even, 1, 0.3), 3, 0);
  assert_true(isnan(tb_weighted_quantile(values, even, 0, 0.5)));
}

static void test_t_quantile(void **state) {
  (void)state;
  static const struct {
    double p, freedom, t;
  } rows[] = {{0.975, 1, 12.706204736432095},  {0.975, 2, 4.302652729911275},
              {0.975, 4, 2.7764451051977987},  {0.975, 9, 2.2621571628540993},
              {0.975, 30, 2.0422724563012373}, {0.995, 5, 4.032142983557536},
              {0.9, 10, 1.372183641110336},    {0.75, 1, 1.0},
              {0.975, 1e6, 1.9599664}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    assert_near(tb_t_quantile(rows[i].p, rows[i].freedom), rows[i].t,
                i + 1 < sizeof rows / sizeof *rows ? 1e-9 : 1e-6);
    assert_near(tb_t_quantile(1 - rows[i].p, rows[i].freedom), -rows[i].t, 1e-6);
  }
  assert_true(tb_t_quantile(0.5, 3) == 0);
  /* p is the other way round, from both sides. */
  for (size_t i = 0; i < sizeof rows / sizeof *rows - 1; i++)
    assert_near(tb_t_p(-rows[i].t, rows[i].freedom), 2 * (1 - rows[i].p), 1e-8);
  assert_true(tb_t_p(0, 3) == 1 && isnan(tb_t_p(NAN, 3)) && isnan(tb_t_p(1, 0)));
  assert_true(isnan(tb_t_quantile(1, 3)) && isnan(tb_t_quantile(0, 3)) && isnan(tb_t_quantile(0.9, 0)));
}

static void test_half_width(void **state) {
  (void)state;
  const double values[] = {1, 2, 3, 4, 5};
  assert_near(tb_half_width(values, 5, 0.95), 2.7764451051977987 * sqrt(2.5) / sqrt(5), 1e-9);
  assert_true(isnan(tb_half_width(values, 1, 0.95)));
  const double equal[] = {7, 7, 7};
  assert_true(tb_half_width(equal, 3, 0.95) == 0);
}

/* The interval covers the true mean about as often as it says: a check of the whole formula, with a fixed
 * seed. */
static void test_coverage(void **state) {
  (void)state;
  enum { TRIALS = 4000, N = 6 };
  uint64_t seed = 12345;
  int covered = 0;
  for (int trial = 0; trial < TRIALS; trial++) {
    double values[N];
    for (int i = 0; i < N; i++) {
      double sum = 0;
      for (int k = 0; k < 12; k++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        sum += (double)(seed >> 11) / 9007199254740992.0;
      }
      values[i] = sum - 6; /* nearly normal, mean 0 */
    }
    covered += fabs(tb_mean(values, N)) <= tb_half_width(values, N, 0.95);
  }
  assert_in_range(covered, TRIALS * 93 / 100, TRIALS * 97 / 100);
}

static void test_sign_flip(void **state) {
  (void)state;
  const double all_positive[] = {1, 2, 3, 4, 5, 6};
  assert_near(tb_sign_flip_p(all_positive, 6), 2.0 / 64, 1e-15); /* only all + and all - reach |21| */
  const double one_negative[] = {-1, 2, 3, 4, 5, 6};
  assert_near(tb_sign_flip_p(one_negative, 6), 4.0 / 64, 1e-15); /* sums of 19 and 21, both ways */
  const double balanced[] = {1, -1, 1, -1, 1, -1};
  assert_near(tb_sign_flip_p(balanced, 6), 1, 0);
  assert_true(isnan(tb_sign_flip_p(all_positive, 5)));
  double many[TB_SIGN_FLIP_MAX + 1];
  for (size_t i = 0; i <= TB_SIGN_FLIP_MAX; i++) many[i] = 1;
  assert_near(tb_sign_flip_p(many, TB_SIGN_FLIP_MAX), 2 / exp2(TB_SIGN_FLIP_MAX), 1e-25);
  many[0] = -1; /* a sum of 38: as far are all equal, and one of them alone */
  assert_near(tb_sign_flip_p(many, TB_SIGN_FLIP_MAX), 2 * (1 + TB_SIGN_FLIP_MAX) / exp2(TB_SIGN_FLIP_MAX),
              1e-22);
  assert_true(isnan(tb_sign_flip_p(many, TB_SIGN_FLIP_MAX + 1)));
  many[3] = NAN;
  assert_true(isnan(tb_sign_flip_p(many, 12)));
}

/* All assignments one by one. */
static double enumerated_sign_flip_p(const double *values, size_t count) {
  double observed = 0, scale = 0;
  unsigned long as_far = 0;
  for (size_t i = 0; i < count; i++) {
    observed += values[i];
    scale += fabs(values[i]);
  }
  for (unsigned long signs = 0; signs < 1ul << count; signs++) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += signs >> i & 1 ? -values[i] : values[i];
    as_far += fabs(sum) >= fabs(observed) - 1e-12 * scale;
  }
  return (double)as_far / exp2((double)count);
}

/* Values of many digits, and of few, where sums are equal but for rounding: tenths and zeros. */
static void test_sign_flip_enumerated(void **state) {
  (void)state;
  enum { MOST = 20 };
  uint64_t seed = 99;
  for (size_t count = TB_SIGN_FLIP_MIN; count <= MOST; count++) {
    for (int kind = 0; kind < 4; kind++) {
      double values[MOST];
      for (size_t i = 0; i < count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const double uniform = (double)(seed >> 11) / 9007199254740992.0;
        values[i] = kind == 0   ? uniform - 0.5
                    : kind == 1 ? uniform - 0.2
                    : kind == 2 ? (floor(uniform * 7) - 3) / 10
                                : (uniform < 0.3 ? -0.1 : 0.1);
      }
      assert_near(tb_sign_flip_p(values, count), enumerated_sign_flip_p(values, count), 0);
    }
  }
}

static void test_stop_rules(void **state) {
  (void)state;
  struct tb_stop stop = {.target = 0.01,
                         .min_rounds = 4,
                         .max_rounds = 40,
                         .budget_ns = 1000,
                         .started_ns = 0,
                         .last_half_width = NAN};
  assert_int_equal(tb_stop_ask(&stop, 3, 0.001, 5000), TB_STOP_NOT_YET); /* never before the minimum */
  assert_int_equal(tb_stop_ask(&stop, 4, 0.001, 10), TB_STOP_TARGET);
  assert_int_equal(tb_stop_ask(&stop, 5, 0.001, 10), TB_STOP_NOT_YET); /* between check points */
  assert_int_equal(tb_stop_ask(&stop, 5, 0.5, 1000), TB_STOP_BUDGET);
  assert_int_equal(tb_stop_ask(&stop, 40, 0.5, 10), TB_STOP_BUDGET);
  assert_int_equal(tb_stop_ask(&stop, 4, NAN, 10), TB_STOP_NOT_YET);
  assert_int_equal(tb_stop_ask(&stop, 8, 0.5, 10),
                   TB_STOP_NOT_YET); /* the first width has nothing to be compared with */
  assert_int_equal(tb_stop_ask(&stop, 12, 0.4, 10), TB_STOP_NOT_YET); /* it shrank */
  assert_int_equal(tb_stop_ask(&stop, 16, 0.4, 10), TB_STOP_NOT_YET); /* it did not, once: chance */
  assert_int_equal(tb_stop_ask(&stop, 20, 0.3, 10), TB_STOP_NOT_YET); /* and shrank again */
  assert_int_equal(tb_stop_ask(&stop, 24, 0.3, 10), TB_STOP_NOT_YET);
  assert_int_equal(tb_stop_ask(&stop, 28, 0.3, 10), TB_STOP_NOT_YET);
  assert_int_equal(tb_stop_ask(&stop, 32, 0.3, 10), TB_STOP_STABLE); /* three check points in a row */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_quantiles),  cmocka_unit_test(test_weighted_quantiles),
      cmocka_unit_test(test_moments),    cmocka_unit_test(test_t_quantile),
      cmocka_unit_test(test_half_width), cmocka_unit_test(test_coverage),
      cmocka_unit_test(test_sign_flip),  cmocka_unit_test(test_sign_flip_enumerated),
      cmocka_unit_test(test_stop_rules),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
