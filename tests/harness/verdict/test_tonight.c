/* Tonight against a history: how well tonight was measured is part of the verdict, by hand and over many
 * nights. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "results/stats/segment.h"
#include "results/stats/stats.h"
#include "tests/results/stats/noise.h"

static const double threshold = 0.01, floor_limit = 0.05;

static void assert_near(double value, double expected) {
  assert_true(fabs(value - expected) <= 1e-9 * fabs(expected));
}

/* h, w and so many points; both half-widths in logarithms. */
static struct tb_forecast foretold(double h, size_t points) {
  return (struct tb_forecast){.known = true,
                              .points = points,
                              .median = 100,
                              .half_width = expm1(h),
                              .confidence = 0.95,
                              .freedom = 20};
}
static struct tb_spread seen(double w) {
  return (struct tb_spread){.values = 12, .half_width = w, .freedom = 11, .aa_pairs = 12, .floor = 0.001};
}

static struct tb_decision decide(double h, double w, double value) {
  const struct tb_forecast f = foretold(h, TB_FORECAST_POINTS_SETTLED);
  const struct tb_spread tonight = seen(w);
  return tb_forecast_decide_within(&f, value, &tonight, threshold, floor_limit);
}

/* 0.03 and 0.04 are 0.05 together. */
static void test_by_hand(void **state) {
  (void)state;
  static const struct {
    double by;
    enum tb_verdict verdict;
  } rows[] = {{0.051, TB_VERDICT_SLOWER},
              {0.049, TB_VERDICT_SAME},
              {0, TB_VERDICT_SAME},
              {-0.049, TB_VERDICT_SAME},
              {-0.051, TB_VERDICT_FASTER}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct tb_decision d = decide(0.03, 0.04, 100 * exp(rows[i].by));
    assert_int_equal(d.verdict, rows[i].verdict);
    assert_true(d.pairs == 12 && d.aa_pairs == 12 && d.points == TB_FORECAST_POINTS_SETTLED);
    assert_near(d.ratio, exp(rows[i].by));
    assert_near(d.lo, exp(rows[i].by - 0.05));
    assert_near(d.hi, exp(rows[i].by + 0.05));
    assert_near(d.floor, expm1(0.05));
    assert_near(d.limit, expm1(0.05));
    assert_true((d.p <= 0.05) == tb_verdict_flags(d.verdict) &&
                (d.lo > 1 || d.hi < 1) == tb_verdict_flags(d.verdict));
  }
}

/* What lies outside of the interval and within the threshold is no change. */
static void test_threshold(void **state) {
  (void)state;
  const struct tb_forecast f = foretold(0.003, TB_FORECAST_POINTS_SETTLED);
  const struct tb_spread tonight = seen(0.004);
  const struct tb_decision d = tb_forecast_decide_within(&f, 100.9, &tonight, threshold, floor_limit);
  assert_true(d.verdict == TB_VERDICT_SAME && d.lo > 1 && d.limit == threshold);
  assert_int_equal(tb_forecast_decide_within(&f, 101.1, &tonight, threshold, floor_limit).verdict,
                   TB_VERDICT_SLOWER);
}

/* Nothing is known of tonight's error: no verdict. Constant on both sides: what lies apart does. */
static void test_no_spread(void **state) {
  (void)state;
  struct tb_decision d = decide(0.03, NAN, 300);
  assert_true(d.verdict == TB_VERDICT_UNSURE && d.why == TB_UNSURE_FEW_PAIRS && isnan(d.lo) && d.ratio == 3);
  d = decide(0, 0, 100);
  assert_true(d.verdict == TB_VERDICT_SAME && d.p == 1);
  d = decide(0, 0, 102);
  assert_true(d.verdict == TB_VERDICT_SLOWER && d.p == 0);
  struct tb_forecast none = foretold(0.03, 3);
  struct tb_spread tonight = seen(0.01);
  none.known = false;
  d = tb_forecast_decide_within(&none, 100, &tonight, threshold, floor_limit);
  assert_true(d.verdict == TB_VERDICT_UNSURE && d.why == TB_UNSURE_SHORT_HISTORY && d.points == 3);
  tonight.floor = NAN; /* no A/A pairs, or one of them */
  const struct tb_forecast good = foretold(0.03, TB_FORECAST_POINTS_SETTLED);
  for (double value = 100; value <= 200; value += 50) {
    d = tb_forecast_decide_within(&good, value, &tonight, threshold, floor_limit);
    assert_true(d.verdict == TB_VERDICT_UNSURE && d.why == TB_UNSURE_NO_AA && d.ratio == value / 100);
  }
}

/* A floor that is wide since the forecast is waits for points; one that is wide since tonight is does not
 * become narrower by them. */
static void test_whose_floor(void **state) {
  (void)state;
  struct tb_spread loud = seen(0.06), aa_pairs = seen(0.01), quiet = seen(0.01);
  aa_pairs.floor = 0.3;
  const struct tb_forecast young = foretold(0.03, 8), wide = foretold(0.06, 8),
                           settled = foretold(0.06, TB_FORECAST_POINTS_SETTLED);
  struct tb_decision d = tb_forecast_decide_within(&young, 100, &loud, threshold, floor_limit);
  assert_true(d.verdict == TB_VERDICT_SAME && d.floor > floor_limit);
  d = tb_forecast_decide_within(&young, 100, &aa_pairs, threshold, floor_limit);
  assert_true(d.verdict == TB_VERDICT_SAME && d.floor == 0.3 && d.limit < 0.04);
  assert_int_equal(tb_forecast_decide_within(&young, 110, &aa_pairs, threshold, floor_limit).verdict,
                   TB_VERDICT_SLOWER);
  d = tb_forecast_decide_within(&wide, 100, &quiet, threshold, floor_limit);
  assert_true(d.verdict == TB_VERDICT_UNSURE && d.why == TB_UNSURE_WIDE_FORECAST);
  d = tb_forecast_decide_within(&settled, 100, &quiet, threshold, floor_limit);
  assert_true(d.verdict == TB_VERDICT_SAME && d.floor > floor_limit);
}

/* The interval of tonight is seen from its median: all of it is within. */
static void test_spread(void **state) {
  (void)state;
  const double logs[] = {0, 0.01, 0.02, 0.03, 0.2, NAN}, aa_pairs[] = {0.01, -0.01, 0.02, -0.02};
  const struct tb_spread s = tb_spread_of(logs, 6, aa_pairs, 4, 0.95);
  const double half = tb_half_width(logs, 5, 0.95);
  assert_true(s.values == 5 && s.freedom == 4 && s.aa_pairs == 4);
  assert_near(s.half_width, tb_mean(logs, 5) + half - 0.02);
  assert_near(s.floor, expm1(tb_half_width(aa_pairs, 4, 0.95)));
  assert_true(isnan(tb_spread_of(logs, 1, aa_pairs, 1, 0.95).half_width) &&
              isnan(tb_spread_of(logs, 1, aa_pairs, 1, 0.95).floor));
}

/* --- many nights --- */

enum { NIGHTS = 1000, POINTS = 30, REPLICATES_MAX = 12, SETS = 20 };
static const double between = 0.01; /* quiet nights differ by so much */

struct tally {
  int flagged, slower, noisy, blind;
};

/* One night of `replicates`, each with `noise` of its own; slower by `planted`. blind: flagged by its median
 * alone. */
static void add_night(struct tb_random *random, const struct tb_forecast *f, size_t replicates, double noise,
                      double planted, struct tally *t) {
  double logs[REPLICATES_MAX], aa_pairs[REPLICATES_MAX];
  const double level = between * noise_normal(random) + planted;
  for (size_t i = 0; i < replicates; i++)
    logs[i] = level + noise * noise_normal(random), aa_pairs[i] = noise * sqrt(2) * noise_normal(random);
  const struct tb_spread tonight = tb_spread_of(logs, replicates, aa_pairs, replicates, 0.95);
  const double value = exp(tb_median(logs, replicates));
  const struct tb_decision d = tb_forecast_decide_within(f, value, &tonight, threshold, floor_limit);
  t->flagged += tb_verdict_flags(d.verdict);
  t->slower += d.verdict == TB_VERDICT_SLOWER;
  t->noisy += !tb_verdict_flags(d.verdict) && d.floor > floor_limit;
  t->blind += tb_verdict_flags(tb_forecast_decide(f, value, threshold).verdict);
}

static struct tally run_nights(uint64_t seed, size_t replicates, double noise, double planted) {
  struct tb_random random = {seed};
  struct tally tally = {0};
  for (int set = 0; set < SETS; set++) {
    double values[POINTS];
    struct tb_forecast f;
    for (int i = 0; i < POINTS; i++) values[i] = exp(between * noise_normal(&random));
    assert_true(tb_forecast_next(values, POINTS, NULL, 0, 0.95, &f));
    for (int i = 0; i < NIGHTS / SETS; i++) add_night(&random, &f, replicates, noise, planted, &tally);
  }
  return tally;
}

/* An unchanged program is flagged in no more than 5% of its nights, however loud they are within, and a loud
 * one is not passed; one that is 10% slower is found in a quiet night. */
static void test_nights(void **state) {
  (void)state;
  static const size_t replicates[] = {3, 5, 12};
  static const struct {
    double noise;
    bool noisy;
  } rows[] = {{0.004, false}, {0.05, false}, {0.15, true}, {0.4, true}};
  const double error = 3 * sqrt(0.05 * 0.95 / NIGHTS);
  for (size_t n = 0; n < sizeof replicates / sizeof *replicates; n++) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
      const struct tally t = run_nights(10 * n + i + 1, replicates[n], rows[i].noise, 0);
      assert_true((double)t.flagged / NIGHTS <= 0.05 + error);
      if (rows[i].noisy)
        assert_true(t.noisy + t.flagged == NIGHTS &&
                    t.blind > NIGHTS / 2); /* by the median alone most are flagged */
    }
    const struct tally slower = run_nights(100 + n, replicates[n], 0.004, log(1.1));
    assert_true(slower.slower > NIGHTS * 99 / 100);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_by_hand),   cmocka_unit_test(test_threshold),
                                     cmocka_unit_test(test_no_spread), cmocka_unit_test(test_whose_floor),
                                     cmocka_unit_test(test_spread),    cmocka_unit_test(test_nights)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
