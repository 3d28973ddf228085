/* From samples to the figures that are told: the replicate is the unit, intervals and floors are what they
 * say, and the pay-off never contradicts the speedup. */
#include "tests/harness/run/recorded.h"

/* A replicate that took many blocks counts once, in times as in the speedup. */
static void test_replicate_is_the_unit(void **state) {
  struct fixture *f = *state;
  const struct tc_alloc *alloc = tc_arena_alloc(f->arena);
  struct tb_case_result *r = &f->run.result.cases.data[0];
  add_replicate(f, 200, 100);
  add_replicate(f, 200, 100);
  add_replicate(f, 400, 100);
  for (int i = 0; i < 100; i++)
    assert_true(tc_vec_push(alloc, &r->baseline.replicates.data[2].samples_ns, 400.0));
  tb_summarise(&f->run);
  assert_true(r->baseline.median_ns == 200 && r->steady.median_ns == 100);
  assert_float_equal(r->speedup.ratio, exp((2 * log(2) + log(4)) / 3), 1e-12);
  assert_true(r->baseline.p05_ns < 202 && r->baseline.p05_ns <= r->baseline.median_ns &&
              r->baseline.p95_ns >= 399);
  assert_true(r->baseline.mad_ns <= 1); /* two of three replicates lie there */
}

/* The floor is the half-width of the A/A pairs, at the same confidence; with one pair it holds what that pair
 * differs by. */
static void test_noise_floor(void **state) {
  struct fixture *f = *state;
  struct tb_case_result *r = &f->run.result.cases.data[0];
  add_replicate(f, 200, 100);
  r->aa.block_half_width = 0.003;
  tb_summarise(&f->run);
  assert_float_equal(r->speedup.noise_floor, expm1(0.002 + 0.003), 1e-12);
  add_replicate(f, 220, 100);
  tb_summarise(&f->run);
  assert_float_equal(r->speedup.noise_floor, expm1(12.706204736432095 * 0.002),
                     1e-6); /* -0.002 and 0.002: t of one degree times their spread over the root of 2 */
  r->aa.log_ratios.len = 0;
  tb_summarise(&f->run);
  assert_true(isnan(r->speedup.noise_floor)); /* no pair, no floor; never 0 */
}

/* The interval of the pay-off holds its figure; where the speedup's holds 1 there is no end, and where it is
 * below 1 it never pays. */
static void test_pay_off_interval(void **state) {
  struct fixture *f = *state;
  struct tb_case_result *r = &f->run.result.cases.data[0];
  const double costs[] = {900, 1000, 1100, 1000}, baselines[] = {199, 201, 200, 200};
  for (int i = 0; i < 4; i++) {
    add_replicate(f, baselines[i], 100);
    assert_true(tc_vec_push(tc_arena_alloc(f->arena), &r->compile.state_ns[TB_STATE_COLD].samples, costs[i]));
  }
  r->compile.state_ns[TB_STATE_COLD].median = 1000;
  tb_summarise(&f->run);
  assert_true(r->compile.break_even.lo < 10 && 10 < r->compile.break_even.hi &&
              !r->compile.break_even.infinite);
  assert_true(r->compile.break_even.lo > 8 &&
              r->compile.break_even.hi < 12); /* 10 with an error of 13 in 100 of the cost */
  for (int i = 0; i < 4; i++) r->replicate_log_ratios.data[i] = i % 2 ? 0.5 : -0.4;
  tb_summarise(&f->run);
  assert_true(r->compile.break_even.infinite && r->compile.break_even.lo > 0 &&
              isnan(r->compile.break_even.hi) && isnan(r->compile.break_even_calls));
  for (int i = 0; i < 4; i++) r->replicate_log_ratios.data[i] = -0.4 - 0.01 * i;
  tb_summarise(&f->run);
  assert_true(r->compile.break_even.infinite && isnan(r->compile.break_even.lo) &&
              isnan(r->compile.break_even.hi));
  cJSON *json = tb_record_json(&f->run.result);
  assert_valid(f, json);
  assert_true(cJSON_IsTrue(at(json, "cases.0.compile.pays_off_infinite")) &&
              cJSON_IsNull(at(json, "cases.0.compile.pays_off_hi")));
  cJSON_Delete(json);
}

static void test_slower_never_breaks_even(void **state) {
  struct fixture *f = *state;
  struct tb_case_result *r = &f->run.result.cases.data[0];
  add_replicate(f, 100, 200);
  assert_true(tc_vec_push(tc_arena_alloc(f->arena), &r->compile.state_ns[TB_STATE_COLD].samples, 1000.0));
  r->compile.state_ns[TB_STATE_COLD].median = 1000;
  r->block_half_width = 0.1;
  tb_summarise(&f->run);
  assert_true(isnan(r->compile.break_even_calls));
  assert_true(r->speedup.over_blocks); /* one replicate: the interval is over its blocks */
  assert_float_equal(r->speedup.hi / r->speedup.ratio, exp(0.1), 1e-12);
  assert_float_equal(r->speedup.ratio, 0.5, 1e-12);
}

/* Confidence is told as it was taken: over one replicate's blocks the nominal one, over replicates that of
 * the looks. */
static void test_interval_confidence(void **state) {
  struct fixture *f = *state;
  const struct tb_speedup *s = &f->run.result.cases.data[0].speedup;
  f->run.replication = (struct tb_replication){.most = 12};
  add_replicate(f, 200, 100);
  f->run.result.cases.data[0].block_half_width = 0.1;
  tb_summarise(&f->run);
  assert_true(s->over_blocks && s->interval_confidence == s->confidence);
  add_replicate(f, 220, 100);
  tb_summarise(&f->run);
  assert_true(!s->over_blocks && s->interval_confidence > s->confidence &&
              s->interval_confidence == tb_replication_confidence(&f->run.replication, s->confidence));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      CASE(test_replicate_is_the_unit),    CASE(test_noise_floor),         CASE(test_pay_off_interval),
      CASE(test_slower_never_breaks_even), CASE(test_interval_confidence),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
