/* After how many calls compiling pays: Fieller's interval against answers by hand, and how often it
 * covers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "results/stats/break_even.h"
#include "results/stats/random.h"
#include "results/stats/stats.h"

/* With no error in the gain it is the t interval of the cost, divided by the gain. */
static void test_exact_gain(void **state) {
  (void)state;
  const double costs[] = {90, 100, 110}, gains[] = {5, 5, 5};
  const struct tb_break_even p = tb_break_even_interval(costs, 3, gains, 3, 0.95);
  const double half = tb_half_width(costs, 3, 0.95);
  assert_false(p.infinite);
  assert_float_equal(p.lo, (100 - half) / 5, 1e-9);
  assert_float_equal(p.hi, (100 + half) / 5, 1e-9);
}

/* With no error in the cost it is the cost over the ends of the gain's interval. */
static void test_exact_cost(void **state) {
  (void)state;
  const double costs[] = {100, 100, 100, 100}, gains[] = {9, 10, 11, 10};
  const struct tb_break_even p = tb_break_even_interval(costs, 4, gains, 4, 0.95);
  const double half = tb_half_width(gains, 4, 0.95);
  assert_float_equal(p.lo, 100 / (10 + half), 1e-9);
  assert_float_equal(p.hi, 100 / (10 - half), 1e-9);
}

static void test_no_end(void **state) {
  (void)state;
  const double costs[] = {100, 101, 99}, unsure[] = {-1, 1, 2}, losing[] = {-10, -11, -9},
               wild[] = {1, 500, 20};
  struct tb_break_even p = tb_break_even_interval(costs, 3, unsure, 3, 0.95);
  assert_true(p.infinite && isnan(p.hi) && p.lo > 10 && p.lo < 100); /* the gain is at most about 4.5 */
  p = tb_break_even_interval(costs, 3, losing, 3, 0.95);
  assert_true(p.infinite && isnan(p.hi) && isnan(p.lo));
  p = tb_break_even_interval(wild, 3, unsure, 3, 0.95);
  assert_true(p.infinite && p.lo == 0); /* neither is known */
}

static void test_too_few(void **state) {
  (void)state;
  const double one[] = {100}, two[] = {1, 2};
  struct tb_break_even p = tb_break_even_interval(one, 1, two, 2, 0.95);
  assert_true(isnan(p.lo) && isnan(p.hi) && !p.infinite);
  p = tb_break_even_interval(two, 2, one, 1, 0.95);
  assert_true(isnan(p.lo) && isnan(p.hi) && !p.infinite);
}

static double normal(struct tb_random *random) {
  double sum = 0;
  for (int k = 0; k < 12; k++) sum += (double)(tb_random_next(random) >> 11) / 9007199254740992.0;
  return sum - 6;
}

static void test_coverage(void **state) {
  (void)state;
  enum { RUNS = 4000, N = 6 };
  static const double gain_spreads[] = {0.05, 0.4, 1.5}; /* of a gain of 1: the last one often has no end */
  struct tb_random random = {7};
  for (size_t s = 0; s < sizeof gain_spreads / sizeof *gain_spreads; s++) {
    int covered = 0;
    for (int run = 0; run < RUNS; run++) {
      double costs[N], gains[N];
      for (int i = 0; i < N; i++)
        costs[i] = 100 + 10 * normal(&random), gains[i] = 1 + gain_spreads[s] * normal(&random);
      const struct tb_break_even p = tb_break_even_interval(costs, N, gains, N, 0.95);
      covered += p.lo <= 100 && (p.infinite || p.hi >= 100);
    }
    assert_in_range(covered, RUNS * 94 / 100,
                    RUNS); /* independent errors, fewer degrees of freedom than there are: never less */
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_exact_gain), cmocka_unit_test(test_exact_cost),
                                     cmocka_unit_test(test_no_end), cmocka_unit_test(test_too_few),
                                     cmocka_unit_test(test_coverage)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
