/* How many replicates a run takes: exactly so many, or until a rule holds; and that the interval at the stop
 * covers what it says. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/run/stop.h"
#include "results/stats/random.h"
#include "results/stats/stats.h"

static const double nominal = 0.95;

static enum tb_replicates_end ask(const struct tb_replication *r, const double *values, int count) {
  return tb_replication_ask(r, values, count, nominal, 1000);
}

static void test_exact(void **state) {
  (void)state;
  const struct tb_replication r = {.exact = 6, .most = 12, .target = 0.5};
  const double values[] = {1, 1, 1, 1, 1, 1};
  assert_int_equal(tb_replication_most(&r), 6);
  assert_int_equal(tb_replication_least(&r), 6);
  assert_int_equal(ask(&r, values, 5), TB_REPLICATES_OPEN); /* however narrow the interval is */
  assert_int_equal(ask(&r, values, 6), TB_REPLICATES_COUNT);
  assert_float_equal(tb_replication_confidence(&r, nominal), nominal, 0); /* nothing looks on the way */
}

static void test_target_at_check_points_alone(void **state) {
  (void)state;
  const struct tb_replication r = {.most = 12, .target = 0.1};
  const double narrow[] = {1, 1.001, 0.999, 1, 1, 1, 1, 1};
  assert_int_equal(tb_replication_least(&r), 5);
  assert_int_equal(ask(&r, narrow, 4), TB_REPLICATES_OPEN);
  assert_int_equal(ask(&r, narrow, 5), TB_REPLICATES_TARGET);
  assert_int_equal(ask(&r, narrow, 6), TB_REPLICATES_OPEN);
  assert_int_equal(ask(&r, narrow, 7), TB_REPLICATES_OPEN);
  assert_int_equal(ask(&r, narrow, 8), TB_REPLICATES_TARGET);
}

static void test_most_and_stable(void **state) {
  (void)state;
  const struct tb_replication r = {.most = 12, .target = 0.1};
  const double wide[] = {1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3};
  assert_int_equal(ask(&r, wide, 5), TB_REPLICATES_OPEN); /* one look knows no trend */
  assert_int_equal(ask(&r, wide, 8), TB_REPLICATES_STABLE);
  const struct tb_replication near_target = {.most = 12, .target = 0.5};
  assert_int_equal(ask(&near_target, wide, 8), TB_REPLICATES_OPEN); /* the last look may come to it */
  assert_int_equal(ask(&near_target, wide, 12), TB_REPLICATES_MOST);
  const double calming[] = {1, 9, 1, 9, 5, 5, 5, 5, 5, 5, 5, 5};
  assert_int_equal(ask(&r, calming, 8), TB_REPLICATES_OPEN); /* the spread still falls */
  const struct tb_replication few = {.most = 3, .target = 0.1};
  assert_int_equal(tb_replication_least(&few), 3);
  assert_int_equal(ask(&few, wide, 2), TB_REPLICATES_OPEN);
  assert_int_equal(ask(&few, wide, 3), TB_REPLICATES_MOST);
  const struct tb_replication one = {.most = 1, .target = 0.1};
  assert_int_equal(ask(&one, wide, 1), TB_REPLICATES_MOST);
}

static void test_budget(void **state) {
  (void)state;
  const double wide[] = {1, 2, 3};
  const struct tb_replication exact = {.exact = 3, .budget_ns = 1000},
                              over = {.most = 12, .target = 0.1, .budget_ns = 500},
                              under = {.most = 12, .budget_ns = 1001};
  assert_int_equal(ask(&exact, wide, 1), TB_REPLICATES_BUDGET); /* also where a count was asked for */
  assert_int_equal(ask(&exact, wide, 3), TB_REPLICATES_COUNT);
  assert_int_equal(ask(&over, wide, 1), TB_REPLICATES_BUDGET);
  assert_int_equal(ask(&under, wide, 1), TB_REPLICATES_OPEN);
}

static void test_texts(void **state) {
  (void)state;
  assert_null(tb_replicates_text(TB_REPLICATES_OPEN));
  assert_string_equal(tb_replicates_text(TB_REPLICATES_TARGET), "target");
  assert_string_equal(tb_replicates_text(TB_REPLICATES_INTERRUPTED), "interrupted");
}

static double normal(struct tb_random *random) {
  double sum = 0;
  for (int k = 0; k < 12; k++) sum += (double)(tb_random_next(random) >> 11) / 9007199254740992.0;
  return sum - 6;
}

/* Share of runs whose interval at the stop holds the true mean, 0. */
static double coverage(const struct tb_replication *r, double spread, int runs) {
  enum { MOST = 40 };
  struct tb_random random = {(uint64_t)(spread * 1000) + (uint64_t)r->most};
  int covered = 0;
  for (int run = 0; run < runs; run++) {
    double values[MOST];
    int count = 0;
    do values[count++] = spread * normal(&random);
    while (tb_replication_ask(r, values, count, nominal, 0) == TB_REPLICATES_OPEN);
    covered += fabs(tb_mean(values, (size_t)count)) <=
               tb_half_width(values, (size_t)count, tb_replication_confidence(r, nominal));
  }
  return (double)covered / runs;
}

/* Stopping where an interval is narrow picks spreads that came out small: a plain 95% interval would cover 92
 * to 93% at the worst spread. With the confidence that the rule gives it covers 95%, but for the error of
 * this simulation (0.4%, 3 sigma: 1.2%). */
static void test_coverage_at_the_stop(void **state) {
  (void)state;
  enum { RUNS = 3000 };
  static const int most[] = {5, 8, 12, 24, 40};
  static const double spreads[] = {0.3, 0.8, 1.3, 1.7, 2.6};
  for (size_t m = 0; m < sizeof most / sizeof *most; m++) {
    const struct tb_replication r = {.most = most[m], .target = 1};
    double sum = 0;
    for (size_t s = 0; s < sizeof spreads / sizeof *spreads; s++) {
      const double share = coverage(&r, spreads[s], RUNS);
      sum += share;
      if (share < 0.938) fail_msg("at most %d replicates, spread %g: %g covered", most[m], spreads[s], share);
    }
    assert_true(sum / (sizeof spreads / sizeof *spreads) >= 0.948);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exact),           cmocka_unit_test(test_target_at_check_points_alone),
      cmocka_unit_test(test_most_and_stable), cmocka_unit_test(test_budget),
      cmocka_unit_test(test_texts),           cmocka_unit_test(test_coverage_at_the_stop),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
