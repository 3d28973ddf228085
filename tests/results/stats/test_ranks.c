/* Rank estimates and corrections against published examples, tables, and brute force. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "results/stats/multiple.h"
#include "results/stats/ranks.h"
#include "tests/results/stats/noise.h"

static void assert_near(double value, double expected, double within) {
  assert_true(fabs(value - expected) <= within);
}

/* Hollander and Wolfe (1973): depression scores (examples 3.1 to 3.4), head - base with nine patients. */
static void test_depression(void **state) {
  (void)state;
  static const double before[] = {1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30},
                      after[] = {0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29};
  double change[9];
  struct tb_interval interval;
  for (int i = 0; i < 9; i++) change[i] = after[i] - before[i];
  assert_near(tb_signed_rank_p(change, 9, TB_BELOW), 0.01953125, 1e-12);
  assert_near(tb_signed_rank_p(change, 9, TB_BOTH_SIDES), 0.0390625, 1e-12);
  assert_near(tb_signed_rank_p(change, 9, TB_ABOVE), 1 - 0.013671875, 1e-12);
  assert_true(tb_signed_rank_interval(change, 9, 0.95, &interval));
  assert_near(interval.centre, -0.46, 1e-9);
  assert_near(interval.lo, -0.786, 1e-9);
  assert_near(interval.hi, -0.010, 1e-9);
}

/* The same book: permeability of membranes (examples 4.1 to 4.4). */
static void test_permeability(void **state) {
  (void)state;
  static const double term[] = {0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46},
                      early[] = {1.15, 0.88, 0.90, 0.74, 1.21};
  struct tb_interval interval;
  assert_near(tb_rank_sum_p(term, 10, early, 5, 0, TB_BELOW), 0.1272, 5e-5);
  assert_near(tb_rank_sum_p(term, 10, early, 5, 0, TB_BOTH_SIDES), 0.2544, 1e-4);
  assert_true(tb_rank_sum_interval(term, 10, early, 5, 0.95, &interval));
  assert_near(interval.centre, -0.305, 1e-9);
  assert_near(interval.lo, -0.76, 1e-9);
  assert_near(interval.hi, 0.15, 1e-9);
}

/* Two-sided 5% points of Wilcoxon's table: the largest sum of negative ranks that is significant. */
static void test_critical_values(void **state) {
  (void)state;
  static const struct {
    size_t count, negatives[4];
  } rows[] = {{6, {0}},       {7, {2}},           {8, {3}},
              {9, {5}},       {10, {8}},          {12, {12, 1}},
              {15, {15, 10}}, {20, {20, 19, 13}}, {25, {25, 24, 23, 17}}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    double values[25];
    for (size_t k = 0; k < rows[i].count; k++) values[k] = (double)(k + 1);
    for (size_t k = 0; k < 4; k++)
      if (rows[i].negatives[k]) values[rows[i].negatives[k] - 1] *= -1;
    assert_true(tb_signed_rank_p(values, rows[i].count, TB_BOTH_SIDES) <= 0.05);
    /* The sum of one more is not significant: the last negative rank moves up, or rank 1 becomes negative. */
    size_t last = 0;
    for (size_t k = 0; k < 4; k++)
      if (rows[i].negatives[k]) last = rows[i].negatives[k];
    if (last) values[last - 1] *= -1;
    values[last] *= -1;
    assert_true(tb_signed_rank_p(values, rows[i].count, TB_BOTH_SIDES) > 0.05);
  }
}

/* Ties and zeros: against all assignments of signs, counted one by one. */
static void test_ties_by_hand(void **state) {
  (void)state;
  static const double values[] = {1, -1, 2, 2, 0, 3, 0, -2, 2};
  static const double ranks[] = {3.5, 3.5, 6.5, 6.5, 0,
                                 9,   0,   6.5, 6.5}; /* zeros have ranks 1 and 2, and count nowhere */
  double observed = 0, all = 0;
  int extreme = 0;
  for (int i = 0; i < 9; i++) {
    if (values[i] > 0) observed += ranks[i];
    all += ranks[i];
  }
  for (int signs = 0; signs < 1 << 9; signs++) {
    double sum = 0;
    for (int i = 0; i < 9; i++) sum += signs >> i & 1 ? ranks[i] : 0;
    extreme += fabs(sum - all / 2) >= fabs(observed - all / 2);
  }
  assert_near(tb_signed_rank_p(values, 9, TB_BOTH_SIDES), extreme / 512.0, 1e-12);
  static const double zeros[7] = {0};
  assert_near(tb_signed_rank_p(zeros, 7, TB_BOTH_SIDES), 1, 0);
}

/* The interval excludes a shift exactly where the test rejects it; exact and normal agree where they meet. */
static void test_interval_and_p_agree(void **state) {
  (void)state;
  struct tb_random random = {11};
  for (int trial = 0; trial < 200; trial++) {
    double a[130], b[20];
    struct tb_interval interval;
    const size_t n = 6 + (size_t)trial % 115, m = 4 + (size_t)trial % 17;
    for (size_t i = 0; i < n; i++) a[i] = noise_normal(&random) + 2 / sqrt((double)n);
    for (size_t i = 0; i < m; i++) b[i] = noise_normal(&random) + 1;
    assert_true(tb_signed_rank_interval(a, n, 0.95, &interval));
    assert_int_equal(interval.lo > 0 || interval.hi < 0, tb_signed_rank_p(a, n, TB_BOTH_SIDES) <= 0.05);
    assert_true(interval.lo <= interval.centre && interval.centre <= interval.hi);
    assert_true(tb_rank_sum_interval(a, n < 20 ? n : 20, b, m, 0.95, &interval));
    assert_int_equal(interval.lo > 0 || interval.hi < 0,
                     tb_rank_sum_p(a, n < 20 ? n : 20, b, m, 0, TB_BOTH_SIDES) <= 0.05);
  }
}

/* The same at each sum of negative ranks about the critical one, where the distribution is exact and where it
 * is normal. The tables have 1955 as the largest significant sum of 100. */
static void test_agree_at_the_edge(void **state) {
  (void)state;
  static const struct {
    size_t count, from, to;
  } rows[] = {{100, 1940, 1970}, {101, 1980, 2030}, {120, 2850, 2950}};
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    size_t significant = 0;
    for (size_t sum = rows[r].from; sum <= rows[r].to; sum++) {
      double values[120];
      struct tb_interval interval;
      size_t left = sum;
      for (size_t rank = rows[r].count; rank; rank--) {
        const bool negative = rank <= left;
        values[rank - 1] = negative ? -(double)rank : (double)rank;
        left -= negative ? rank : 0;
      }
      assert_true(tb_signed_rank_interval(values, rows[r].count, 0.95, &interval));
      const bool rejected = tb_signed_rank_p(values, rows[r].count, TB_BOTH_SIDES) <= 0.05;
      assert_int_equal(interval.lo > 0, rejected);
      if (rejected) significant = sum;
    }
    assert_true(significant > rows[r].from && significant < rows[r].to);
    if (rows[r].count == 100) assert_int_equal(significant, 1955);
  }
}

static void test_too_few(void **state) {
  (void)state;
  static const double values[] = {1, 2, 3, 4, 5, 6};
  struct tb_interval interval;
  assert_false(tb_signed_rank_interval(values, 5, 0.95, &interval));
  assert_true(tb_signed_rank_interval(values, 6, 0.95, &interval));
  assert_true(interval.lo == 1 && interval.hi == 6 && interval.centre == 3.5);
  assert_false(tb_rank_sum_interval(values, 3, values, 3, 0.95, &interval));
  assert_true(tb_rank_sum_interval(values, 4, values, 4, 0.95, &interval));
  assert_true(isnan(tb_signed_rank_p(values, 0, TB_BOTH_SIDES)) &&
              isnan(tb_rank_sum_p(values, 0, values, 3, 0, TB_BOTH_SIDES)));
}

static void test_select(void **state) {
  (void)state;
  struct tb_random random = {3};
  for (int trial = 0; trial < 300; trial++) {
    double values[40], sorted[40];
    const size_t n = 1 + (size_t)trial % 40;
    for (size_t i = 0; i < n; i++) values[i] = floor(10 * noise_uniform(&random)); /* many ties */
    for (size_t k = 0; k < n; k++) {
      memcpy(sorted, values, sizeof values);
      const double found = tb_select(sorted, n, k);
      size_t below = 0, upto = 0;
      for (size_t i = 0; i < n; i++) {
        below += values[i] < found;
        upto += values[i] <= found;
      }
      assert_true(below <= k && k < upto);
    }
  }
}

static void test_holm(void **state) {
  (void)state;
  /* The usual textbook example: at 5% the last and the first are rejected. */
  double p[] = {0.01, 0.04, 0.03, 0.005};
  assert_true(tb_holm(p, 4, 4, p));
  static const double expected[] = {0.03, 0.06, 0.06, 0.02};
  for (int i = 0; i < 4; i++) assert_near(p[i], expected[i], 1e-12);
  /* Flagged among ten: as if the other six were 1. */
  double part[] = {0.004, 0.02, NAN}, whole[10] = {0.004, 0.02, 1, 1, 1, 1, 1, 1, 1, 1};
  assert_true(tb_holm(part, 3, 10, part) && tb_holm(whole, 10, 10, whole));
  for (int i = 0; i < 3; i++) assert_near(part[i], whole[i], 1e-12);
  assert_near(part[0], 0.04, 1e-12);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_depression),
      cmocka_unit_test(test_permeability),
      cmocka_unit_test(test_critical_values),
      cmocka_unit_test(test_ties_by_hand),
      cmocka_unit_test(test_interval_and_p_agree),
      cmocka_unit_test(test_agree_at_the_edge),
      cmocka_unit_test(test_too_few),
      cmocka_unit_test(test_select),
      cmocka_unit_test(test_holm),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
