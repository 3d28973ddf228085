/* The analyst: whose turn it is, what of a series it looks at, and what it tells of all of them together. No
 * network. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dashboard/analysis/analysis.h"
#include "dashboard/analysis/movers.h"
#include "tests/dashboard/world.h"
#include "tests/results/stats/noise.h"

/* --- whose turn it is --- */

struct query {
  struct tb_write write;
  atomic_bool done;
  double value;
};

/* Points that come for c0 while it is analysed; nothing else of it changes. */
static enum tb_written come_between(struct tb_write *self, struct tb_store *store) {
  (void)self;
  return sqlite3_exec(store->db, "UPDATE series SET points = points + 1, dirty = 5 WHERE name = 'c0'", NULL,
                      NULL, NULL) == SQLITE_OK
             ? TB_WRITTEN_STORED
             : TB_WRITTEN_FAILED;
}

static enum tb_written ask_dirty(struct tb_write *self, struct tb_store *store) {
  sqlite3_stmt *statement = NULL;
  struct query *query = (struct query *)self;
  if (sqlite3_prepare_v2(store->db, "SELECT dirty FROM series WHERE name = 'c0'", -1, &statement, NULL) ==
          SQLITE_OK &&
      sqlite3_step(statement) == SQLITE_ROW)
    query->value = sqlite3_column_double(statement, 0);
  sqlite3_finalize(statement);
  return TB_WRITTEN_STORED;
}

/* A series that gets points while it is analysed waits anew, behind those that have waited meanwhile. */
static void test_turns(void **state) {
  struct world *w = *state;
  atomic_bool released = false;
  struct tb_write holder = {.apply = hold, .done = let_go, .owner = &released},
                  between = {.apply = come_between, .done = let_go};
  struct query query = {.write = {.apply = ask_dirty, .done = is_done, .owner = &query.done}};
  for (int night = 0; night < 12; night++) add(w, night_ms(w, night), night, 1, 1000 + night % 3);
  tb_writer_put(w->server->writer, &holder);
  for (int rounds = 0; tb_writer_waiting(w->server->writer);) wait_a_moment(&rounds);
  tb_writer_put(w->server->writer, &between);
  struct tb_analyst *analyst = start_analyst(w);
  for (int rounds = 0; tb_writer_waiting(w->server->writer) < 2;) wait_a_moment(&rounds);
  tb_writer_put(w->server->writer, &query.write);
  atomic_store(&released, true);
  wait_for(&query.done);
  tb_analyst_stop(analyst);
  assert_true(query.value >= (double)w->now);
}

/* One that cannot be analysed does not hold up the others. */
static void test_blocked(void **state) {
  struct world *w = *state;
  w->values = (const double[]){INFINITY, 1000};
  for (int night = 0; night < 12; night++) add(w, night_ms(w, night), night, 2, 0);
  struct tb_analyst *analyst = start_analyst(w);
  wait_until(w, "SELECT count(*) FROM series WHERE name = 'c1' AND dirty IS NULL AND verdict IS NOT NULL", 1);
  tb_analyst_stop(analyst);
  assert_int_equal((int)ask(w, "SELECT count(*) FROM series WHERE name = 'c0' AND dirty IS NOT NULL"), 1);
}

/* --- windows --- */

static int64_t hour_of(const struct world *w, int hour) { return w->now - (1000 - hour) * hour_ms; }

/* Hours [from, to), 30% slower from one on. */
static void add_hours(struct world *w, int from, int to, int slower_at) {
  for (int hour = from; hour < to; hour++)
    add(w, hour_of(w, hour), hour, 1, (hour >= slower_at ? 1300 : 1000) + hour * 37 % 11);
}

/* Runs without a calibration kernel among those with one take no place in the window: it is as full as it is
 * without them, and its oldest step stays. */
static void test_other_calibration(void **state) {
  enum { STEP = 50, STRAY = 280, END = 304 };
  struct world *w = *state;
  w->calibration = 1;
  add_hours(w, 0, 150, STEP);
  analyse(w);
  assert_int_equal((int)ask(w, "SELECT count(*) FROM changes"), 1);
  add_hours(w, 150, STRAY, STEP);
  w->calibration = 0;
  add(w, hour_of(w, STRAY), STRAY, 1, 5e6);
  w->calibration = 1;
  add_hours(w, STRAY + 1, END, STEP); /* the window begins some two points before the step */
  analyse(w);
  assert_int_equal((int)ask(w, "SELECT count(*) FROM changes"), 1);
}

/* A step that was kept is not found a second time a point further on. */
static void test_kept_once(void **state) {
  enum {
    POINTS = 320,
    STEP = POINTS - TB_ANALYSIS_POINTS + TB_ANALYSIS_POINTS / 4 /* the first of those that are found anew */
  };
  struct world *w = *state;
  char sql[256];
  sqlite3 *db = NULL;
  add_hours(w, 0, POINTS, STEP);
  analyse(w);
  snprintf(sql, sizeof sql, "SELECT count(*) FROM changes WHERE started = %lld", (long long)hour_of(w, STEP));
  assert_int_equal((int)ask(w, sql), 1);
  snprintf(sql, sizeof sql, "UPDATE changes SET started = %lld; UPDATE series SET dirty = 1",
           (long long)hour_of(w, STEP - 1));
  assert_int_equal(sqlite3_open(w->db, &db), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(db);
  analyse(w);
  assert_int_equal((int)ask(w, "SELECT count(*) FROM changes"), 1);
}

/* --- what moved --- */

static void test_family(void **state) {
  (void)state;
  assert_true(fabs(tb_analysis_level((const double[]){0.001, 0.01, 0.02, 0.04}, 4, 10) - 0.01) <
              1e-12); /* 2 of 10 */
  assert_true(fabs(tb_analysis_level((const double[]){0.009, 0.009, 0.014}, 3, 10) - 0.015) <
              1e-12); /* step-up: the third carries the first */
  assert_true(fabs(tb_analysis_level(NULL, 0, 1000) - 0.05 / 1000) < 1e-12);
  struct tb_evidence e = {.point = TB_VERDICT_SLOWER,
                          .point_move = 1.5,
                          .p = 0.04,
                          .error = log(1.5) / 2.1,
                          .freedom = 50,
                          .step_move = NAN,
                          .step_lo = NAN,
                          .step_hi = NAN};
  const struct tb_shown noisy = tb_analysis_show(&e, 0.05), refused = tb_analysis_show(&e, 0.01);
  assert_int_equal(noisy.verdict, TB_VERDICT_SLOWER);
  assert_int_equal(refused.verdict, TB_VERDICT_UNSURE);
  assert_true(refused.score == 0 && refused.lo < 1 &&
              refused.hi > noisy.hi); /* the interval belongs to the level */
  e.point_move = 1.1, e.error = 0.01, e.p = 1e-9;
  const struct tb_shown exact = tb_analysis_show(&e, 0.05);
  assert_true(exact.lo > 1 &&
              exact.score >
                  noisy.score); /* a small move that is certain comes before a large one that is not */
  e.p = 0.04, e.step_move = 0.8, e.step_lo = 0.7, e.step_hi = 0.9;
  const struct tb_shown step = tb_analysis_show(&e, 0.01);
  assert_true(step.basis == TB_BASIS_STEP && step.verdict == TB_VERDICT_FASTER &&
              fabs(step.score + log(0.9)) < 1e-12);
}

/* Of many cases that did not change none has moved, though some are beyond their own interval; one that did
 * is shown, until it was not measured for long. */
static void test_many_cases(void **state) {
  enum { CASES = 200, SERIES_NIGHTS = 30, OLD_DAYS = 100, MOVED = 1 };
  struct world *w = *state;
  double values[CASES];
  struct tb_random random = {7};
  w->values = values;
  for (int night = 0; night <= SERIES_NIGHTS; night++) {
    for (int i = 0; i < CASES; i++) values[i] = 1000 * exp(0.02 * noise_normal(&random));
    if (night == SERIES_NIGHTS) values[MOVED] = 1500;
    add(w, w->now - (OLD_DAYS - night) * day_ms, night, CASES, 0);
  }
  struct tb_analyst *analyst = start_analyst(w);
  wait_until(w, "SELECT count(*) FROM series WHERE dirty IS NOT NULL", 0);
  wait_until(w, "SELECT count(*) FROM series WHERE basis = 1 AND score > 0", 1);
  assert_int_equal((int)ask(w, "SELECT substr(name, 2) FROM series WHERE basis = 1 AND score > 0"), MOVED);
  assert_int_equal((int)ask(w, "SELECT verdict FROM series WHERE basis = 1 AND score > 0"),
                   TB_VERDICT_SLOWER);
  char sql[128];
  snprintf(sql, sizeof sql, "SELECT count(*) FROM series WHERE point_verdict IN (%d, %d)", TB_VERDICT_SLOWER,
           TB_VERDICT_FASTER);
  assert_true(ask(w, sql) > 4);
  add(w, w->now, SERIES_NIGHTS + 1, 1, 0); /* c0 alone */
  wait_until(w, "SELECT count(*) FROM series WHERE name <> 'c0' AND score > 0", 0);
  snprintf(sql, sizeof sql, "SELECT count(*) FROM series WHERE verdict = %d",
           TB_MOVERS_GONE); /* which is told in the place of a verdict */
  wait_until(w, sql, CASES - 1);
  add(w, w->now + hour_ms, SERIES_NIGHTS + 2, 2, 0); /* c1 is measured again */
  wait_until(w, sql, CASES - 2);
  tb_analyst_stop(analyst);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_turns, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_blocked, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_other_calibration, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_kept_once, set_up, tear_down),
      cmocka_unit_test(test_family),
      cmocka_unit_test_setup_teardown(test_many_cases, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
