/* What the server does by itself: the analyst's steps and retention, together and against each other. No
 * network. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dashboard/analysis/analysis.h"
#include "tests/dashboard/world.h"

static void maintenance(struct world *w, long long retain) {
  w->settings.retain = retain;
  tb_maintenance(w->server, &w->reader);
  for (int rounds = 0; atomic_load(&w->server->removing);) wait_a_moment(&rounds);
}

/* How many slower steps there are at that night, and how many anywhere. */
static void has_slower(struct world *w, int at_it, int anywhere) {
  char sql[256];
  snprintf(sql, sizeof sql, "SELECT count(*) FROM changes WHERE slower = 1 AND started = %lld",
           (long long)night_ms(w, SLOWER_AT));
  assert_int_equal((int)ask(w, sql), at_it);
  assert_int_equal((int)ask(w, "SELECT count(*) FROM changes WHERE slower = 1"), anywhere);
}

/* --- tests --- */

/* A portion is so many rows, whatever series they are of: one run of the maintenance removes hundreds of
 * series. */
static void test_portions(void **state) {
  struct world *w = *state;
  add(w, w->now - 10 * day_ms, 0, 600, 1000);
  add(w, w->now - 9 * day_ms, 1, 600, 1000);
  add(w, w->now, 2, 10, 1000);
  maintenance(w, 1);
  assert_int_equal((int)ask(w, "SELECT count(*) FROM points"), 10);
  assert_int_equal((int)ask(w, "SELECT count(*) FROM series"), 10);
  assert_int_equal((int)ask(w, "SELECT count(*) FROM documents"), 1);
  assert_int_equal((int)tb_store_meta(&w->reader, "points"), 10);
}

/* A step stays, and stays open, while the points before it go, too few of which are left to find it again; it
 * can be taken back; and it goes with the point that it begins at. */
static void test_steps_stay(void **state) {
  struct world *w = *state;
  add_nights(w, 0, 80);
  analyse(w);
  has_slower(w, 1, 1);
  maintenance(w, NIGHTS - SLOWER_AT + 2);
  assert_int_equal((int)ask(w, "SELECT count(*) FROM points"), 80 - SLOWER_AT + 2);
  add_nights(w, 80, 81);
  analyse(w);
  has_slower(w, 1, 1);
  assert_int_equal((int)ask(w, "SELECT count(*) FROM changes WHERE closed IS NULL"), 1);
  add_nights(w, 81, NIGHTS);
  analyse(w);
  has_slower(w, 1, 1);
  assert_int_equal(
      (int)ask(
          w, "SELECT substr(c.name, 7) FROM changes JOIN commits c ON c.id = closed_commit WHERE slower = 1"),
      FASTER_AT);
  maintenance(w, NIGHTS - SLOWER_AT - 1);
  has_slower(w, 0, 0);
  add_nights(w, NIGHTS, NIGHTS + 1);
  analyse(w);
  has_slower(w, 0, 0);
  assert_int_equal((int)ask(w, "SELECT count(*) FROM changes"), 1); /* the one to faster */
}

/* What is more than the maintenance may remove in a second waits for the next one. */
static void test_pace(void **state) {
  struct world *w = *state;
  for (int i = 0; i < 11; i++) add(w, w->now - (20 - i) * day_ms, i, 1000, 1000);
  maintenance(w, 1);
  assert_in_range((int)ask(w, "SELECT count(*) FROM points"), 1, 11000 - 9 * 1000);
  maintenance(w, 1);
  assert_int_equal((int)ask(w, "SELECT count(*) FROM points"), 0);
}

/* What the analyst found in points that retention removed meanwhile is not written: no step of a series that
 * is gone. */
static void test_void_findings(void **state) {
  struct world *w = *state;
  struct tc_error err;
  atomic_bool released = false;
  struct tb_write holder = {.apply = hold, .done = let_go, .owner = &released};
  add_nights(w, 0, 80);
  tb_writer_put(w->server->writer, &holder);
  for (int rounds = 0; tb_writer_waiting(w->server->writer);) wait_a_moment(&rounds);
  w->settings.retain = 1;
  tb_maintenance(w->server, &w->reader);
  w->settings.retain = 0;
  const size_t removals = tb_writer_waiting(w->server->writer);
  assert_true(removals > 0);
  struct tb_analyst *analyst = w->server->analyst = tb_analyst_start(w->server, &err);
  assert_non_null(analyst);
  for (int rounds = 0; tb_writer_waiting(w->server->writer) == removals;) wait_a_moment(&rounds);
  atomic_store(&released, true);
  drain(w);
  tb_analyst_stop(analyst);
  assert_int_equal((int)ask(w, "SELECT count(*) FROM series"), 0);
  assert_int_equal((int)ask(w, "SELECT count(*) FROM changes"), 0);
}

/* A disk that is slow gets one portion at a time, however often there is more to remove: documents do not
 * wait behind many of them. */
static void test_one_at_a_time(void **state) {
  struct world *w = *state;
  atomic_bool released = false;
  struct tb_write holder = {.apply = hold, .done = let_go, .owner = &released};
  for (int i = 0; i < 4; i++) add(w, w->now - (10 - i) * day_ms, i, 600, 1000);
  tb_writer_put(w->server->writer, &holder);
  for (int rounds = 0; tb_writer_waiting(w->server->writer);) wait_a_moment(&rounds);
  w->settings.retain = 1;
  for (int i = 0; i < 5; i++) tb_maintenance(w->server, &w->reader);
  assert_int_equal(tb_writer_waiting(w->server->writer), 1);
  assert_true(atomic_load(&w->server->removing));
  atomic_store(&released, true);
  maintenance(w, 1);
  assert_int_equal((int)ask(w, "SELECT count(*) FROM points"), 0);
  assert_int_equal((int)ask(w, "SELECT count(*) FROM documents"), 0);
}

/* Names that the server gives to choose from. */
static int listed(struct world *w, enum tb_statement which) {
  sqlite3_stmt *rows = tb_store_get(&w->reader, which);
  int count = 0;
  assert_non_null(rows);
  if (sqlite3_bind_parameter_count(rows)) sqlite3_bind_int(rows, 1, 1000);
  while (tb_store_step(&w->reader, rows)) count++;
  tb_store_done(rows);
  return count;
}

/* Nothing names a commit that is not there: its id may be the next one's. */
static void has_no_stray_commit(struct world *w) {
  static const char *const queries[] = {
      "SELECT count(*) FROM points WHERE commit_id NOT IN (SELECT id FROM commits)",
      "SELECT count(*) FROM documents WHERE commit_id NOT IN (SELECT id FROM commits)",
      "SELECT count(*) FROM changes WHERE commit_id NOT IN (SELECT id FROM commits) OR closed_commit NOT IN "
      "(SELECT id FROM commits)",
      "SELECT count(*) FROM series WHERE latest_commit NOT IN (SELECT id FROM commits)",
      "SELECT count(*) FROM series WHERE point_commit NOT IN (SELECT id FROM commits)",
      "SELECT count(*) FROM series WHERE step_commit NOT IN (SELECT id FROM commits)",
      "SELECT count(*) FROM series WHERE moved_commit NOT IN (SELECT id FROM commits)",
      "SELECT count(*) FROM series WHERE machine NOT IN (SELECT id FROM machines)",
      "SELECT count(*) FROM commits WHERE latest_started IS NOT (SELECT max(started) FROM documents WHERE "
      "commit_id = commits.id)",
  };
  for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
    if (ask(w, queries[i]) > 0) fail_msg("%s: %g", queries[i], ask(w, queries[i]));
}

/* A commit goes with its last document and a machine with its last case; while one is left they stay. */
static void test_names_go(void **state) {
  enum { TO = 30, LEFT = 26 };
  struct world *w = *state;
  add(w, night_ms(w, 1), TO - 1, 1, 1000); /* an old result of a commit that has a new one too */
  w->machine = "retired";
  add(w, night_ms(w, 2), 2, 700, 1000);
  w->machine = NULL;
  add_nights(w, 0, TO);
  analyse(w);
  assert_int_equal(listed(w, TB_SQL_COMMITS), TO);
  assert_int_equal(listed(w, TB_SQL_MACHINES), 2);
  assert_int_equal((int)ask(w, "SELECT basis FROM series WHERE basis = 2"), TB_BASIS_STEP);
  maintenance(w, NIGHTS - LEFT);
  assert_int_equal((int)ask(w, "SELECT count(*) FROM documents"), TO - LEFT);
  assert_int_equal(listed(w, TB_SQL_COMMITS), TO - LEFT);
  assert_int_equal((int)ask(w, "SELECT count(*) FROM commits"), TO - LEFT);
  assert_int_equal((int)ask(w, "SELECT substr(name, 7) FROM commits ORDER BY id LIMIT 1"),
                   TO - 1); /* it was the first one that came */
  assert_int_equal(listed(w, TB_SQL_MACHINES), 1);
  has_no_stray_commit(w);
  add(w, w->now, 2, 1, 1000); /* a name that went comes again */
  assert_int_equal(listed(w, TB_SQL_COMMITS), TO - LEFT + 1);
  has_no_stray_commit(w);
}

/* While there is more to remove than in one portion, no point is left whose commit went with its
 * documents. */
static void test_points_go_first(void **state) {
  struct world *w = *state;
  atomic_bool released = false;
  struct tb_write holder = {.apply = hold, .done = let_go, .owner = &released};
  for (int i = 0; i < 3; i++) add(w, w->now - (10 - i) * day_ms, i, 900, 1000);
  tb_writer_put(w->server->writer, &holder);
  for (int rounds = 0; tb_writer_waiting(w->server->writer);) wait_a_moment(&rounds);
  w->settings.retain = 1;
  tb_maintenance(w->server, &w->reader);
  atomic_store(&w->server->stopping, true); /* so that it is one portion alone */
  atomic_store(&released, true);
  for (int rounds = 0; atomic_load(&w->server->removing);) wait_a_moment(&rounds);
  atomic_store(&w->server->stopping, false);
  assert_in_range((int)ask(w, "SELECT count(*) FROM points"), 3 * 900 - 500, 3 * 900 - 1);
  has_no_stray_commit(w);
  maintenance(w, 1);
  assert_int_equal((int)ask(w, "SELECT count(*) FROM points"), 0);
  assert_int_equal((int)ask(w, "SELECT count(*) FROM commits"), 0);
  assert_int_equal((int)ask(w, "SELECT count(*) FROM machines"), 0);
}

static void put(struct world *w, struct item *item, char name[NAME], int commit, int64_t started) {
  snprintf(name, NAME, "commit%d", commit);
  *item = (struct item){
      .submission = {.write = {.apply = tb_submission_apply, .done = is_done, .owner = &item->done},
                     .machines = {"m"},
                     .n_machines = 1,
                     .packed = "",
                     .commit = name,
                     .started = started}};
  memcpy(item->submission.key, &w->documents, sizeof w->documents);
  w->documents++;
  tb_writer_put(w->server->writer, &item->submission.write);
}

/* Documents and a removal in one transaction: each commit has the time of its newest document, whichever came
 * first, and none has that of one that was removed, be its id the same. More commits than are put off at a
 * time. */
static void test_one_transaction(void **state) {
  enum { COMMITS = TB_STORE_MEASURED + 5, DOCUMENTS = 3 * COMMITS, OLD = DOCUMENTS, LATE, ALL };
  struct world *w = *state;
  atomic_bool released = false;
  struct tb_write holder = {.apply = hold, .done = let_go, .owner = &released};
  struct item items[ALL];
  char names[ALL][NAME];
  add(w, w->now - 10 * day_ms, COMMITS + 1, 1, 1000); /* for which the removal begins */
  tb_writer_put(w->server->writer, &holder);
  for (int rounds = 0; tb_writer_waiting(w->server->writer);) wait_a_moment(&rounds);
  for (int i = 0; i < DOCUMENTS; i++) put(w, &items[i], names[i], i % COMMITS, w->now - i * 7 % 11);
  put(w, &items[OLD], names[OLD], OLD, w->now - 10 * day_ms);
  w->settings.retain = 1;
  tb_maintenance(w->server, &w->reader);
  put(w, &items[LATE], names[LATE], LATE, w->now - 20 * day_ms);
  atomic_store(&released, true);
  for (int i = 0; i < ALL; i++) wait_for(&items[i].done);
  for (int rounds = 0; atomic_load(&w->server->removing);) wait_a_moment(&rounds);
  assert_int_equal((int)ask(w, "SELECT count(*) FROM documents"), DOCUMENTS + 1);
  assert_int_equal((int)ask(w, "SELECT count(latest_started) FROM commits"), COMMITS + 1);
  has_no_stray_commit(w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_portions, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_steps_stay, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_void_findings, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_pace, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_one_at_a_time, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_names_go, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_points_go_first, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_one_transaction, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
