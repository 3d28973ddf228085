/* Verdicts: what they are by hand, and how often they are wrong on noise such as a shared machine has. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "results/stats/decide.h"
#include "tests/campaign.h"
#include "tests/results/stats/noise.h"

static const struct tb_decide_options usual = {0.01, 0.95};
static const double quiet[8] = {0.001, -0.001, 0.002, -0.002, 0.001, -0.001, 0.0005, -0.0005};

static void assert_near(double value, double expected, double within) {
  assert_true(fabs(value - expected) <= within);
}

static void shifted(double *out, const double *values, size_t count, double by) {
  for (size_t i = 0; i < count; i++) out[i] = values[i] + by;
}

/* --- by hand --- */

static void test_verdicts(void **state) {
  (void)state;
  static const struct {
    double by;
    enum tb_verdict verdict;
  } rows[] = {{0, TB_VERDICT_SAME},
              {0.03, TB_VERDICT_SLOWER},
              {-0.03, TB_VERDICT_FASTER},
              {0.01, TB_VERDICT_UNSURE},
              {-0.01, TB_VERDICT_UNSURE}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    double pairs[8];
    shifted(pairs, quiet, 8, rows[i].by);
    const struct tb_decision d = tb_decide(pairs, 8, quiet, 8, usual);
    assert_int_equal(d.verdict, rows[i].verdict);
    assert_int_equal(d.why, d.verdict == TB_VERDICT_UNSURE ? TB_UNSURE_CROSSES : TB_UNSURE_NONE);
    assert_near(log(d.ratio), rows[i].by, 1e-12);
    assert_true(d.by_ranks && d.pairs == 8 && d.aa_pairs == 8 && d.limit == 0.01 && d.floor < 0.01);
    assert_near(d.p, rows[i].by ? 2.0 / 256 : 1, 1e-12);
  }
}

/* What the noise floor allows is not told to be a change, even where the pairs alone look narrow; nor is one
 * that they are sure of told to be none. */
static void test_floor_raises_limit(void **state) {
  (void)state;
  double pairs[8], loud[8];
  shifted(pairs, quiet, 8, 0.03);
  for (int i = 0; i < 8; i++) loud[i] = 25 * quiet[i];
  const struct tb_decision d = tb_decide(pairs, 8, loud, 8, usual);
  assert_true(d.floor > 0.03 && d.limit == d.floor && d.lo > 1.01);
  assert_true(d.verdict == TB_VERDICT_UNSURE && d.why == TB_UNSURE_WITHIN_FLOOR);
  shifted(pairs, quiet, 8, -0.03);
  assert_int_equal(tb_decide(pairs, 8, loud, 8, usual).why, TB_UNSURE_WITHIN_FLOOR);
  shifted(pairs, quiet, 8, 0.011); /* its interval reaches to what is no change */
  assert_int_equal(tb_decide(pairs, 8, loud, 8, usual).verdict, TB_VERDICT_SAME);
  assert_int_equal(tb_decide(quiet, 8, loud, 8, usual).verdict, TB_VERDICT_SAME);
}

/* A run that favours one place in the order says so, and its floor reaches as far as that. */
static void test_aa_pairs_that_differ(void **state) {
  (void)state;
  double pairs[8], aa_pairs[8];
  shifted(pairs, quiet, 8, 0.02);
  shifted(aa_pairs, quiet, 8, 0.02);
  const struct tb_decision d = tb_decide(pairs, 8, aa_pairs, 8, usual);
  assert_true(d.aa_differ && d.floor > 0.02);
  assert_true(d.verdict == TB_VERDICT_UNSURE && d.why == TB_UNSURE_WITHIN_FLOOR);
  assert_int_equal(tb_decide(quiet, 8, aa_pairs, 8, usual).verdict, TB_VERDICT_SAME);
  assert_false(tb_decide(pairs, 8, quiet, 8, usual).aa_differ);
}

static void test_too_little(void **state) {
  (void)state;
  const double one[] = {0.5, NAN, INFINITY}, five[] = {0.03, 0.031, 0.029, 0.03, 0.0302};
  struct tb_decision d = tb_decide(one, 3, quiet, 8, usual);
  assert_true(d.verdict == TB_VERDICT_UNSURE && d.why == TB_UNSURE_FEW_PAIRS && d.pairs == 1 && isnan(d.lo) &&
              isnan(d.p));
  assert_near(d.ratio, exp(0.5), 1e-12);
  d = tb_decide(five, 5, quiet, 1, usual);
  assert_true(d.verdict == TB_VERDICT_UNSURE && d.why == TB_UNSURE_NO_AA && isnan(d.floor) &&
              d.limit == 0.01);
  d = tb_decide(NULL, 0, NULL, 0, usual);
  assert_true(d.verdict == TB_VERDICT_UNSURE && isnan(d.ratio));
  d = tb_decide(five, 5, quiet, 8, usual); /* too few for ranks: Student's t */
  assert_true(d.verdict == TB_VERDICT_SLOWER && !d.by_ranks && d.p < 1e-4);
  const double equal[] = {0.03, 0.03, 0.03}, zero[] = {0, 0, 0};
  assert_int_equal(tb_decide(equal, 3, zero, 3, usual).verdict, TB_VERDICT_SLOWER);
  assert_int_equal(tb_decide(zero, 3, zero, 3, usual).verdict, TB_VERDICT_SAME);
}

/* One pair in eight that went wrong does not decide, nor does it hide what the others show. */
static void test_outlier(void **state) {
  (void)state;
  double pairs[16];
  shifted(pairs, quiet, 8, 0.03);
  shifted(pairs + 8, quiet, 8, 0.03);
  pairs[3] = -0.8;
  assert_int_equal(tb_decide(pairs, 16, quiet, 8, usual).verdict, TB_VERDICT_SLOWER);
  shifted(pairs, quiet, 8, 0);
  shifted(pairs + 8, quiet, 8, 0);
  pairs[3] = 2;
  assert_int_equal(tb_decide(pairs, 16, quiet, 8, usual).verdict, TB_VERDICT_SAME);
}

static void test_unpaired(void **state) {
  (void)state;
  double base[8], head[8];
  shifted(base, quiet, 8, 7);
  shifted(head, quiet, 8, 7.03);
  struct tb_decision d = tb_decide_unpaired(base, 8, head, 8, quiet, 8, 0, usual);
  assert_true(d.verdict == TB_VERDICT_SLOWER && d.by_ranks && d.p < 0.001);
  assert_near(log(d.ratio), 0.03, 1e-12);
  d = tb_decide_unpaired(base, 8, head, 8, quiet, 8, 0.025, usual); /* runs that differ by 2.5% anyway */
  assert_int_equal(d.verdict, TB_VERDICT_UNSURE);
  d = tb_decide_unpaired(base, 8, head, 8, quiet, 8, 0.05, usual);
  assert_true(d.verdict == TB_VERDICT_UNSURE && d.p == 1);
  d = tb_decide_unpaired(base, 3, head, 3, quiet, 8, 0, usual);
  assert_true(d.verdict == TB_VERDICT_SLOWER && !d.by_ranks);
  d = tb_decide_unpaired(base, 1, head, 8, quiet, 8, 0, usual);
  assert_true(d.verdict == TB_VERDICT_UNSURE && d.why == TB_UNSURE_FEW_PAIRS);
}

static void test_confirm(void **state) {
  (void)state;
  double pairs[8];
  shifted(pairs, quiet, 8, 0.03);
  const struct tb_decision flagged = tb_decide(pairs, 8, quiet, 8, usual),
                           same = tb_decide(quiet, 8, quiet, 8, usual);
  struct tb_decision d = tb_decide_confirm(&flagged, &flagged);
  assert_int_equal(d.verdict, TB_VERDICT_SLOWER);
  assert_int_equal(tb_decide_confirm(&flagged, &same).verdict, TB_VERDICT_SAME);
  assert_int_equal(tb_decide_confirm(&same, &flagged).verdict, TB_VERDICT_SAME); /* was not flagged */
  for (int i = 0; i < 8; i++) pairs[i] = -0.03 + quiet[i];
  const struct tb_decision other = tb_decide(pairs, 8, quiet, 8, usual);
  d = tb_decide_confirm(&flagged, &other);
  assert_true(d.verdict == TB_VERDICT_UNSURE && d.why == TB_UNSURE_NOT_CONFIRMED);
  for (int i = 0; i < 8; i++)
    pairs[i] =
        0.013 + 4 * quiet[i]; /* crosses the limit, but is above 1 and beyond the limit at its middle */
  const struct tb_decision weak = tb_decide(pairs, 8, quiet, 8, usual);
  assert_int_equal(weak.verdict, TB_VERDICT_UNSURE);
  d = tb_decide_confirm(&flagged, &weak);
  assert_true(d.verdict == TB_VERDICT_SLOWER && d.why == TB_UNSURE_NONE && d.ratio == weak.ratio);
}

/* A flag is taken back by pairs that are as many and as quiet as it takes, or that settled it at a look. */
static void test_counts(void **state) {
  (void)state;
  double pairs[8], loud[8];
  shifted(pairs, quiet, 8, 0.5);
  for (int i = 0; i < 8; i++) loud[i] = 100 * quiet[i];
  const struct tb_decision flagged = tb_decide(pairs, 8, quiet, 8, usual),
                           same = tb_decide(quiet, 8, quiet, 8, usual),
                           few = tb_decide(quiet, 2, loud, 2, usual),
                           wide = tb_decide(quiet, 8, loud, 8, usual),
                           again = tb_decide(pairs, 8, loud, 8, usual),
                           blind = tb_decide(quiet, 8, quiet, 0, usual);
  assert_true(few.verdict == TB_VERDICT_SAME && wide.verdict == TB_VERDICT_SAME && wide.floor > 0.05 &&
              isnan(blind.floor));
  assert_true(tb_decide_counts(&flagged, &same, false, 6, 0.05) &&
              tb_decide_counts(&flagged, &same, true, 10, 0.05));
  assert_false(tb_decide_counts(&flagged, &same, false, 10, 0.05));
  assert_false(tb_decide_counts(&flagged, &few, false, 6, 1e9));
  assert_false(tb_decide_counts(&flagged, &wide, false, 6, 0.05));
  assert_false(tb_decide_counts(&flagged, &blind, false, 6, 0.05));
  assert_true(again.floor > 0.05 &&
              tb_decide_counts(&flagged, &again, false, 6, 0.05)); /* it found it beyond its floor */
}

static void test_correct(void **state) {
  (void)state;
  struct tb_decision d[4] = {{.verdict = TB_VERDICT_SLOWER, .p = 0.04},
                             {.verdict = TB_VERDICT_SAME, .p = 0.9},
                             {.verdict = TB_VERDICT_FASTER, .p = 0.001},
                             {.verdict = TB_VERDICT_UNSURE, .why = TB_UNSURE_CROSSES, .p = 0.001}};
  assert_int_equal(tb_decide_correct(d, 4, 0, 0.95), 0); /* 0.001 x 2 and 0.04 x 1 */
  assert_int_equal(tb_decide_correct(d, 4, 4, 0.95), 1); /* 0.04 x 3 */
  assert_true(d[0].verdict == TB_VERDICT_UNSURE && d[0].why == TB_UNSURE_CORRECTED);
  assert_true(d[1].verdict == TB_VERDICT_SAME && d[2].verdict == TB_VERDICT_FASTER &&
              d[3].why == TB_UNSURE_CROSSES);
  assert_int_equal(tb_decide_correct(NULL, 0, 0, 0.95), 0);
}

static void test_pairs_needed(void **state) {
  (void)state;
  static const struct {
    size_t flagged;
    int pairs;
  } rows[] = {{0, 6}, {1, 6}, {2, 7}, {10, 9}, {100, 12}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    assert_int_equal(tb_pairs_needed(0.95, rows[i].flagged), rows[i].pairs);
}

static void test_words(void **state) {
  (void)state;
  enum tb_verdict verdict = TB_VERDICT_SAME;
  for (int i = 0; i < TB_VERDICT_COUNT; i++) {
    assert_true(tb_verdict_parse(tb_verdict_word((enum tb_verdict)i), &verdict) && (int)verdict == i);
    assert_true(strlen(tb_verdict_symbol(verdict)) == 1 && *tb_verdict_meaning(verdict) &&
                *tb_verdict_todo(verdict));
  }
  assert_true(tb_verdict_parse("slower", &verdict) && verdict == TB_VERDICT_SLOWER);
  assert_false(tb_verdict_parse("slow", &verdict));
  for (int i = TB_UNSURE_CROSSES; i < TB_UNSURE_COUNT; i++) assert_true(*tb_unsure_text((enum tb_unsure)i));
}

/* Looks spend the error once, in shares that add up. */
static void test_looks(void **state) {
  (void)state;
  struct tb_looks looks = {.max_pairs = 64, .confidence = 0.95};
  assert_false(tb_look_due(&looks, 10, false));
  assert_true(tb_look_due(&looks, 12, false) && tb_look_due(&looks, 10, true));
  assert_near(1 - tb_look_confidence(&looks, 12, false), 0.05 * 144 / 4096, 1e-12);
  assert_false(tb_look_due(&looks, 22, false));
  assert_true(tb_look_due(&looks, 26, false)); /* more came at once than the next look needed */
  assert_near(1 - tb_look_confidence(&looks, 26, false), 0.05 * (676 - 144) / 4096, 1e-12);
  assert_false(tb_look_due(&looks, 46, false));
  assert_near(1 - tb_look_confidence(&looks, 30, true), 0.05 * (4096 - 676) / 4096,
              1e-12); /* the budget is over */
  assert_near(looks.spent, 0.05, 1e-12);
  assert_near(tb_look_confidence(&looks, 64, true), 1, 1e-12);
}

/* --- how often they are wrong --- */

enum { PAIRS = 64, RUNS = 2000 };
/* Interval of Wilson for a share, three standard errors wide on either side. */
static double share_bound(int count, int runs, double errors) {
  const double n = runs, p = count / n, z = errors * errors;
  return (p + z / (2 * n) + (errors > 0 ? 1 : -1) * sqrt(z * (p * (1 - p) / n + z / (4 * n * n)))) /
         (1 + z / n);
}
static double at_most(int count, int runs) { return share_bound(count, runs, 3); }
static double at_least(int count, int runs) { return share_bound(count, runs, -3); }

struct machine {
  enum noise_kind kind;
  double spread;
  bool load;
};

/* Four processes that take turns: two pairs, two A/A pairs. */
static void measure(struct tb_random *random, const struct machine *m, struct noise_load *load, double effect,
                    double pairs[2], double aa_pairs[2]) {
  double process[4]; /* base, base, head, head */
  const double level = m->load ? noise_load_next(random, load, m->spread) : 0;
  for (int i = 0; i < 4; i++)
    process[i] = noise_process(random, m->kind, m->spread) + level * noise_uniform(random) / 2 +
                 (i >= 2 ? log1p(effect) : 0);
  pairs[0] = process[2] - process[0];
  pairs[1] = process[3] - process[1];
  aa_pairs[0] = process[1] - process[0];
  aa_pairs[1] = process[3] - process[2];
}

/* One run, from its first pair until a verdict or the last pair. `spend`: as planned; else every look takes
 * all of the error. */
static struct tb_decision run_once(struct tb_random *random, const struct machine *m, double effect,
                                   bool spend) {
  struct tb_looks looks = {.max_pairs = PAIRS, .confidence = 0.95};
  struct noise_load load = {0};
  double pairs[PAIRS], aa_pairs[PAIRS];
  for (int n = 0;;) {
    measure(random, m, &load, effect, pairs + n, aa_pairs + n);
    n += 2;
    if (!tb_look_due(&looks, n, n == PAIRS)) continue;
    const double confidence = tb_look_confidence(&looks, n, n == PAIRS);
    const struct tb_decision d = tb_decide(pairs, (size_t)n, aa_pairs, (size_t)n,
                                           (struct tb_decide_options){0.01, spend ? confidence : 0.95});
    if (n == PAIRS || tb_look_settles(&d, 0.01)) return d;
  }
}

struct tally {
  int verdicts[TB_VERDICT_COUNT];
};

/* Few runs say nothing of a share: those under a sanitizer are for what it sees. */
static bool tells_shares(void) { return campaign(RUNS) == RUNS; }

static struct tally run_many(uint64_t seed, const struct machine *m, double effect, bool spend) {
  struct tb_random random = {seed};
  struct tally tally = {0};
  for (int i = 0, runs = campaign(RUNS); i < runs; i++)
    tally.verdicts[run_once(&random, m, effect, spend).verdict]++;
  return tally;
}

/* Machines on which 64 pairs suffice: the same program is SAME in 80% at least and flagged in 0.5% at most;
 * 3% is found in 97%. */
static void test_rates(void **state) {
  (void)state;
  static const struct machine machines[] = {{NOISE_QUIET, 0.005, false},
                                            {NOISE_QUIET, 0.02, false},
                                            {NOISE_QUIET, 0.015, true},
                                            {NOISE_PLACED, 0.01, true},
                                            {NOISE_BURSTY, 0.01, true}};
  for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
    const struct tally same = run_many(100 + i, &machines[i], 0, true),
                       slower = run_many(200 + i, &machines[i], 0.03, true),
                       faster = run_many(300 + i, &machines[i], 1 / 1.03 - 1, true);
    if (!tells_shares()) continue;
    assert_true(at_most(same.verdicts[TB_VERDICT_SLOWER] + same.verdicts[TB_VERDICT_FASTER], RUNS) <= 0.005);
    assert_true(at_least(same.verdicts[TB_VERDICT_SAME], RUNS) >= 0.8);
    assert_true(at_least(slower.verdicts[TB_VERDICT_SLOWER], RUNS) >= 0.97);
    assert_true(at_least(faster.verdicts[TB_VERDICT_FASTER], RUNS) >= 0.97);
  }
}

/* Machines on which they do not: UNSURE then, not wrong. */
static void test_loud_machines(void **state) {
  (void)state;
  static const struct machine machines[] = {{NOISE_QUIET, 0.1, true},
                                            {NOISE_PLACED, 0.05, true},
                                            {NOISE_BURSTY, 0.03, true},
                                            {NOISE_BURSTY, 0.22, true}};
  for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
    const struct tally same = run_many(400 + i, &machines[i], 0, true);
    if (!tells_shares()) continue;
    assert_true(at_most(same.verdicts[TB_VERDICT_SLOWER] + same.verdicts[TB_VERDICT_FASTER], RUNS) <= 0.005);
  }
}

/* A change that is exactly the threshold: the side of the interval that flags it errs in 2.5% at most over
 * all looks together, which it does not where every look takes 95%. */
static void test_peeking(void **state) {
  (void)state;
  static const struct machine machine = {NOISE_QUIET, 0.005, false};
  const struct tally spent = run_many(500, &machine, 0.01, true),
                     naive = run_many(500, &machine, 0.01, false);
  if (!tells_shares()) return;
  assert_true(at_least(spent.verdicts[TB_VERDICT_SLOWER], RUNS) <= 0.025);
  assert_true(at_least(naive.verdicts[TB_VERDICT_SLOWER], RUNS) > 0.025);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_verdicts),
      cmocka_unit_test(test_floor_raises_limit),
      cmocka_unit_test(test_aa_pairs_that_differ),
      cmocka_unit_test(test_too_little),
      cmocka_unit_test(test_outlier),
      cmocka_unit_test(test_unpaired),
      cmocka_unit_test(test_confirm),
      cmocka_unit_test(test_counts),
      cmocka_unit_test(test_correct),
      cmocka_unit_test(test_pairs_needed),
      cmocka_unit_test(test_words),
      cmocka_unit_test(test_looks),
      cmocka_unit_test(test_rates),
      cmocka_unit_test(test_loud_machines),
      cmocka_unit_test(test_peeking),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
