/* Folders of results: which files count, in which order, of which machine; marks; what vanished; and
 * baselines brought up to date. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/folder.h"
#include "harness/compare/confirm.h"
#include "harness/run/record.h"
#include "harness/verdict/baseline.h"
#include "harness/verdict/history.h"
#include "harness/verdict/history_step.h"
#include "results/document.h"

enum { PATH = 256 };
struct fixture {
  struct tc_arena *arena;
  struct tb_policy policy;
  struct tb_history history;
  cJSON *head;
  char folder[64];
  struct tc_error err;
};

static cJSON *new_case(const char *id, const char *outcome, double ns) {
  cJSON *one = cJSON_CreateObject(), *steady = cJSON_CreateObject(), *what = cJSON_CreateObject();
  cJSON_AddStringToObject(one, "id", id);
  cJSON_AddStringToObject(one, "outcome", outcome);
  cJSON_AddNumberToObject(one, "env", 0);
  cJSON_AddNumberToObject(steady, "median_ns", ns);
  cJSON_AddItemToObject(one, "steady", steady);
  cJSON_AddStringToObject(what, "suite", *id == 'z' ? "other" : "s");
  cJSON_AddItemToObject(one, "case", what);
  cJSON_AddItemToObject(one, "graph", cJSON_Parse("{\"kernels\": 4, \"artifact\": \"aa\"}"));
  return one;
}

/* A result of host `host` with cases "a" and, if asked, others. */
static cJSON *new_result(const char *started, const char *host, double ns) {
  cJSON *json = cJSON_CreateObject(), *environments = cJSON_AddArrayToObject(json, "environments"),
        *environment = cJSON_CreateObject();
  cJSON_AddNumberToObject(json, "schema", TB_SCHEMA);
  cJSON_AddStringToObject(json, "started", started);
  cJSON_AddStringToObject(json, "finished", started);
  cJSON_AddStringToObject(environment, "host", host);
  cJSON_AddItemToArray(environments, environment);
  cJSON_AddItemToArray(cJSON_AddArrayToObject(json, "cases"), new_case("a", "ok", ns));
  return json;
}

static void add_case(cJSON *result, cJSON *one) {
  cJSON_AddItemToArray(cJSON_GetObjectItem(result, "cases"), one);
}

static void store(struct fixture *f, const char *name, cJSON *document) {
  char path[PATH];
  snprintf(path, sizeof path, "%s/%s", f->folder, name);
  assert_int_equal(tb_record_write(document, path, &f->err), TC_OK);
  cJSON_Delete(document);
}

static void store_text(struct fixture *f, const char *name, const char *text) {
  char path[PATH];
  snprintf(path, sizeof path, "%s/%s", f->folder, name);
  FILE *out = fopen(path, "w");
  assert_non_null(out);
  fputs(text, out);
  fclose(out);
}

static int open_fixture(void **state) {
  static struct fixture f;
  f = (struct fixture){.arena = tc_arena_new(tc_alloc_system()), .folder = "/tmp/tbench-history.XXXXXX"};
  *state = &f;
  f.head = new_result("2026-02-01T00:00:00Z", "h", 1000);
  return !f.arena || !mkdtemp(f.folder) || tb_policy_parse(f.arena, "p", "", 0, &f.policy, &f.err);
}

static int close_fixture(void **state) {
  struct fixture *f = *state;
  tb_history_close(&f->history);
  cJSON_Delete(f->head);
  tb_folder_remove(f->folder);
  tc_arena_free(f->arena);
  return 0;
}

static const struct tb_history_series *load(struct fixture *f) {
  if (tb_history_load(f->arena, f->folder, f->head, &f->history, &f->err)) fail_msg("%s", f->err.message);
  return tb_history_find(&f->history, "a");
}

/* Nights 1 to `count` of January; the names are in another order than the times. */
static void store_nights(struct fixture *f, int count) {
  for (int i = 1; i <= count; i++) {
    char name[32], started[32];
    snprintf(name, sizeof name, "night%02d.json", count - i);
    snprintf(started, sizeof started, "2026-01-%02dT00:00:00Z", i);
    store(f, name, new_result(started, "h", 1000 + i));
  }
}

static void test_oldest_first(void **state) {
  struct fixture *f = *state;
  store_nights(f, 9);
  const struct tb_history_series *s = load(f);
  assert_non_null(s);
  assert_int_equal(s->points.len, 9);
  for (int i = 0; i < 9; i++) assert_true(s->points.data[i].value == 1001 + i);
  assert_true(s->forecast.known && s->forecast.points == 9);
  assert_true(tb_doc_number(s->newest, "steady.median_ns") == 1009);
  assert_int_equal(f->history.files, 9);
}

static void test_passes_over(void **state) {
  struct fixture *f = *state;
  cJSON *killed = new_result("2026-01-03T00:00:00Z", "h", 1),
        *stopped = new_result("2026-01-03T00:00:00Z", "h", 1),
        *comparison = new_result("2026-01-03T00:00:00Z", "h", 1);
  cJSON_DeleteItemFromObject(killed, "finished");
  cJSON_AddTrueToObject(stopped, "interrupted");
  cJSON_AddStringToObject(comparison, "kind", "comparison");
  store(f, "good.json", new_result("2026-01-02T00:00:00Z", "h", 1001));
  store(f, "killed.json", killed);
  store(f, "stopped.json", stopped);
  store(f, "comparison.json", comparison);
  store(f, "later.json", new_result("2026-02-01T00:00:00Z", "h", 1));
  store(f, "elsewhere.json", new_result("2026-01-03T00:00:00Z", "another", 1));
  store_text(f, "damaged.json", "{\"cases\": [");
  store_text(f, "other.json", "{}");
  store_text(f, "notes.txt", "no result");
  const struct tb_history_series *s = load(f);
  assert_int_equal(s->points.len, 1);
  assert_int_equal(f->history.passed_over.len, 7);
  static const char *const reasons[] = {"killed.json: it was not finished",
                                        "stopped.json: it was not finished",
                                        "is a comparison of results",
                                        "later.json: it is not older than",
                                        "elsewhere.json: it is from another machine",
                                        "damaged.json: line 1 is not JSON",
                                        "is not a result of tbench"};
  for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
    bool found = false;
    for (size_t j = 0; j < f->history.passed_over.len; j++)
      found |= strstr(f->history.passed_over.data[j], reasons[i]) != NULL;
    if (!found) fail_msg("'%s' is not told", reasons[i]);
  }
}

static void test_failed_cases_are_no_points(void **state) {
  struct fixture *f = *state;
  cJSON *result = new_result("2026-01-02T00:00:00Z", "h", 1001);
  cJSON_ReplaceItemInObject(cJSON_GetArrayItem(cJSON_GetObjectItem(result, "cases"), 0), "outcome",
                            cJSON_CreateString("crashed"));
  store(f, "one.json", result);
  assert_null(load(f));
}

/* A figure over the calibration kernel is of another kind than nanoseconds: it is no point, yet the case was
 * there. */
static void test_kinds_do_not_mix(void **state) {
  struct fixture *f = *state;
  cJSON *result = new_result("2026-01-02T00:00:00Z", "h", 1001);
  cJSON_AddItemToObject(cJSON_GetArrayItem(cJSON_GetObjectItem(result, "cases"), 0), "probe",
                        cJSON_Parse("{\"version\": 1, \"log_ratios\": [0.5]}"));
  store(f, "one.json", result);
  const struct tb_history_series *s = load(f);
  assert_non_null(s);
  assert_int_equal(s->points.len, 0);
  assert_non_null(s->newest);
  assert_false(s->forecast.known);
}

/* Whatever is no number that could be judged is none; times do not come in where there are ratios. */
static void test_values(void **state) {
  (void)state;
  static const struct {
    const char *text;
    double value;
    bool calibrated;
  } rows[] = {{"{\"steady\":{\"median_ns\":7}}", 7, false},
              {"{\"steady\":{\"median_ns\":7},\"probe\":{\"log_ratios\":[]}}", 7, false},
              {"{\"steady\":null,\"probe\":null}", NAN, false},
              {"{\"steady\":{\"median_ns\":0}}", NAN, false},
              {"{\"steady\":{\"median_ns\":-1}}", NAN, false},
              {"{\"steady\":{\"median_ns\":1e999}}", NAN, false},
              {"{\"steady\":{\"median_ns\":7},\"probe\":{\"log_ratios\":[0,\"x\",0,9]}}", 1, true},
              {"{\"steady\":{\"median_ns\":7},\"probe\":{\"log_ratios\":[null]}}", NAN, true},
              {"{\"steady\":{\"median_ns\":7},\"probe\":{\"log_ratios\":[800]}}", NAN, true},
              {"{\"steady\":{\"median_ns\":7},\"probe\":{\"log_ratios\":[-800]}}", NAN, true}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    cJSON *one = cJSON_Parse(rows[i].text);
    bool calibrated;
    const double value = tb_history_value(one, &calibrated);
    if (calibrated != rows[i].calibrated || (isnan(rows[i].value) ? !isnan(value) : value != rows[i].value))
      fail_msg("%s: %g", rows[i].text, value);
    cJSON_Delete(one);
  }
}

static void test_marks(void **state) {
  struct fixture *f = *state;
  char text[4096];
  store_nights(f, 12);
  snprintf(text, sizeof text,
           "# steps\n\n2026-01-06T00:00:00Z a %01500d\n2026-01-09T00:00:00Z b* not ours # a remark\n", 7);
  store_text(f, "marks.txt", text);
  const struct tb_history_series *s = load(f);
  assert_int_equal(s->n_changes, 1);
  assert_true(s->changes[0].marked && s->changes[0].at == 5);
  assert_int_equal(s->forecast.first, 5);
}

static void test_mark_of_tonight(void **state) {
  struct fixture *f = *state;
  store_nights(f, 12);
  store_text(f, "marks.txt", "2026-01-31T00:00:00Z a* a step that tonight is the first to show");
  const struct tb_history_series *s = load(f);
  assert_false(s->forecast.known);
  assert_int_equal(s->forecast.points, 0);
  assert_int_equal(tb_forecast_decide(&s->forecast, 5000, 0.01).verdict, TB_VERDICT_UNSURE);
}

static void test_mark_after_tonight_is_not_yet(void **state) {
  struct fixture *f = *state;
  store_nights(f, 12);
  store_text(f, "marks.txt", "2026-02-02T00:00:00Z a* tomorrow");
  assert_true(load(f)->forecast.known);
}

static void test_wrong_marks(void **state) {
  struct fixture *f = *state;
  static const char *const wrong[] = {"2026-01-06T00:00:00Z\n",
                                      "yesterday mlp/* why\n",
                                      "2026-13-06T00:00:00Z mlp/* no such month\n",
                                      "2026-01-06T02:00:00+05:00 mlp/* another zone\n",
                                      "2026-1-6 mlp/* has no place in the order\n",
                                      "20260106 mlp/* nor has this\n",
                                      "2026-01-06T25:00:00Z mlp/* no such hour\n"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    store_text(f, "marks.txt", wrong[i]);
    assert_int_equal(tb_history_load(f->arena, f->folder, f->head, &f->history, &f->err), TC_ARG);
    assert_non_null(strstr(f->err.message, "marks.txt:1: write a time"));
  }
  static const char *const right[] = {"2026-01-06 mlp/*\n", "2026-01-06T12:30 mlp/*\n",
                                      "2026-01-06T12:30Z mlp/*\n", "2026-01-06T12:30:59 mlp/*\n"};
  for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
    store_text(f, "marks.txt", right[i]);
    load(f);
    tb_history_close(&f->history);
  }
  assert_int_equal(tb_history_load(f->arena, "/none/such", f->head, &f->history, &f->err), TC_ARG);
}

/* Of the newest result with cases of head's suite; other suites, older results and what head left out have
 * not vanished. */
static void test_vanished(void **state) {
  struct fixture *f = *state;
  cJSON *older = new_result("2026-01-02T00:00:00Z", "h", 1001),
        *newer = new_result("2026-01-03T00:00:00Z", "h", 1001),
        *of_other = new_result("2026-01-04T00:00:00Z", "h", 1);
  add_case(older, new_case("gone before", "ok", 1));
  add_case(newer, new_case("gone", "ok", 1));
  add_case(newer, new_case("left out", "ok", 1));
  add_case(newer, new_case("z of another suite", "ok", 1));
  cJSON_ReplaceItemInObject(of_other, "cases", cJSON_CreateArray());
  add_case(of_other, new_case("z", "ok", 1));
  store(f, "b.json", older);
  store(f, "a.json", newer);
  store(f, "c.json", of_other);
  cJSON_AddItemToArray(cJSON_AddArrayToObject(f->head, "left_out"),
                       cJSON_Parse("{\"id\": \"left out\", \"artifact\": \"aa\"}"));
  assert_non_null(load(f));
  assert_int_equal(cJSON_GetArraySize(f->history.vanished), 1);
  assert_string_equal(tb_doc_text(cJSON_GetArrayItem(f->history.vanished, 0), "id", ""), "gone");
}

/* --- steps --- */

/* Nights of January, so many at each of these levels, with noise that is the same for all. */
static const struct tb_history_series *load_levels(struct fixture *f, const double *levels, size_t n_levels,
                                                   const int *counts) {
  static const double noise[] = {0, 0.002, -0.001, 0.001, -0.002};
  int night = 0;
  tb_history_close(&f->history);
  for (size_t k = 0; k < n_levels; k++) {
    for (int i = 0; i < counts[k]; i++, night++) {
      char name[32], started[32];
      snprintf(name, sizeof name, "n%02d.json", night);
      snprintf(started, sizeof started, "2026-01-%02dT00:00:00Z", night + 1);
      store(f, name, new_result(started, "h", levels[k] * (1 + noise[i % 5])));
    }
  }
  return load(f);
}

/* Against the lowest level since the newest mark: what went half back is open since it began, and what went
 * back is not. */
static void test_steps(void **state) {
  static const double threshold = 0.01;
  static const struct {
    double levels[3];
    int counts[3];
    const char *mark, *since;
    double ratio;
  } rows[] = {
      {{1000, 1045, 1045}, {12, 8, 8}, "", "2026-01-13T00:00:00Z", 1.045},
      {{1000, 1100, 1045}, {10, 10, 10}, "", "2026-01-11T00:00:00Z", 1.045},
      {{1000, 1045, 1100}, {10, 10, 10}, "", "2026-01-11T00:00:00Z", 1.1},
      {{1000, 950, 1000}, {10, 10, 10}, "", "2026-01-21T00:00:00Z", 1 / 0.95},
      {{1000, 1045, 1001}, {10, 10, 10}, "", "2026-01-21T00:00:00Z", 1001 / 1045.}, /* back: told as a win */
      {{1000, 1000, 950}, {10, 10, 10}, "", "2026-01-21T00:00:00Z", 0.95},
      {{1000, 950, 950}, {8, 11, 11}, "", NULL, 0}, /* a win of long ago */
      {{1000, 1000, 1000}, {10, 10, 10}, "", NULL, 0},
      {{1000, 1100, 1100}, {10, 10, 10}, "2026-01-11 a* meant\n", NULL, 0},
      {{1000, 1100, 1100}, {10, 10, 10}, "2026-01-11 b* of another case\n", "2026-01-11T00:00:00Z", 1.1},
      {{1000, 1100, 1200}, {10, 10, 10}, "2026-01-11 a* meant\n", "2026-01-21T00:00:00Z", 12 / 11.},
      {{1000, 1000, 1100}, {10, 10, 10}, "2026-02-01 a* tonight is the first\n", NULL, 0}};
  struct fixture *f = *state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct tb_step step = {0};
    store_text(f, "marks.txt", rows[i].mark);
    const struct tb_history_series *s = load_levels(f, rows[i].levels, 3, rows[i].counts);
    const bool found = tb_history_step(s, threshold, &step);
    if (found != (rows[i].since != NULL))
      fail_msg("row %zu: %d, since %s: %g -> %g", i, found, step.since ? step.since : "-", step.before,
               step.after);
    if (!found) continue;
    if (strcmp(step.since, rows[i].since) || fabs(step.after / step.before - rows[i].ratio) > 0.003)
      fail_msg("row %zu: since %s: %g -> %g", i, step.since, step.before, step.after);
    assert_false(tb_history_step(s, 0.5, &step));
  }
}

/* What came back to within what medians of so many nights differ by is back, however small the threshold. */
static void test_back_within_noise(void **state) {
  static const double threshold = 0.001, levels[] = {1000, 1100, 1002}, half_way[] = {1000, 1100, 1020};
  static const int counts[] = {10, 10, 10};
  struct tb_step step;
  assert_true(tb_history_step(load_levels(*state, levels, 3, counts), threshold, &step));
  assert_true(step.after < step.before);
  assert_true(tb_history_step(load_levels(*state, half_way, 3, counts), threshold, &step));
  assert_true(step.after > step.before);
}

/* --- baselines --- */

/* Head against base, with this decision of "a". */
static struct tb_verdicts judged(struct fixture *f, const cJSON *base, const cJSON *head,
                                 enum tb_verdict verdict) {
  struct tb_verdicts c = tb_verdicts_new(f->arena, &f->policy, "gate");
  assert_true(tb_verdicts_add_documents(&c, base, head));
  for (size_t i = 0; i < c.cases.len; i++) {
    if (!tb_compared_measured(&c.cases.data[i])) continue;
    c.cases.data[i].time = (struct tb_decision){.verdict = verdict, .floor = 0.001};
    c.cases.data[i].timed = true;
  }
  assert_true(tb_verdicts_judge(&c));
  return c;
}

static double ns_of(const cJSON *document, int index) {
  return tb_doc_number(cJSON_GetArrayItem(tb_doc_at(document, "cases"), index), "steady.median_ns");
}
static double kernels_of(const cJSON *document) {
  return tb_doc_number(cJSON_GetArrayItem(tb_doc_at(document, "cases"), 0), "graph.kernels");
}

/* The updated baseline of "a" at 2000 ns, from tonight's at 1000 ns; NULL: nothing changes. */
static cJSON *updated(struct fixture *f, enum tb_verdict verdict, enum tb_update update, double kernels) {
  cJSON *base = new_result("2026-01-02T00:00:00Z", "h", 2000);
  cJSON_ReplaceItemInObject(
      cJSON_GetObjectItem(cJSON_GetArrayItem(cJSON_GetObjectItem(f->head, "cases"), 0), "graph"), "kernels",
      cJSON_CreateNumber(kernels));
  const struct tb_verdicts c = judged(f, base, f->head, verdict);
  cJSON *out = tb_baseline_changes(&c, update) ? tb_baseline_updated(&c, base, f->head, update) : NULL;
  cJSON_Delete(base);
  return out;
}

static void test_takes_wins_alone(void **state) {
  struct fixture *f = *state;
  cJSON *faster = updated(f, TB_VERDICT_FASTER, TB_UPDATE_WINS, 4);
  assert_true(ns_of(faster, 0) == 1000);
  assert_int_equal(cJSON_GetArraySize(tb_doc_at(faster, "environments")),
                   1); /* the old one has no case any more */
  assert_true(tb_doc_number(cJSON_GetArrayItem(tb_doc_at(faster, "cases"), 0), "env") == 0);
  cJSON_Delete(faster);
  assert_null(updated(f, TB_VERDICT_FASTER, TB_UPDATE_NO, 4));
  assert_null(updated(f, TB_VERDICT_SAME, TB_UPDATE_WINS, 4));
  assert_null(updated(f, TB_VERDICT_SLOWER, TB_UPDATE_WINS, 4));
  assert_null(updated(f, TB_VERDICT_UNSURE, TB_UPDATE_WINS, 4));
  assert_null(
      updated(f, TB_VERDICT_FASTER, TB_UPDATE_WINS, 5)); /* faster, with a kernel more: a regression */
  cJSON *all = updated(f, TB_VERDICT_SLOWER, TB_UPDATE_ALL, 5);
  assert_true(ns_of(all, 0) == 1000 && kernels_of(all) == 5);
  cJSON_Delete(all);
}

/* Each night a little slower, within the threshold, and a kernel less: the kernels are taken over, the times
 * are not. */
static void test_slow_creep_adds_up(void **state) {
  struct fixture *f = *state;
  cJSON *fewer = updated(f, TB_VERDICT_SAME, TB_UPDATE_WINS, 3);
  assert_true(ns_of(fewer, 0) == 2000 && kernels_of(fewer) == 3);
  cJSON_Delete(fewer);
}

static void test_new_failed_and_vanished(void **state) {
  struct fixture *f = *state;
  cJSON *base = new_result("2026-01-02T00:00:00Z", "h", 2000);
  add_case(base, new_case("vanished", "ok", 7));
  add_case(base, new_case("failed before", "crashed", 8));
  add_case(f->head, new_case("failed before", "ok", 9));
  add_case(f->head, new_case("new", "ok", 10));
  add_case(f->head, new_case("new and crashed", "crashed", 11));
  struct tb_verdicts c = judged(f, base, f->head, TB_VERDICT_SAME);
  assert_int_equal(tb_baseline_changes(&c, TB_UPDATE_WINS), 2);
  cJSON *wins = tb_baseline_updated(&c, base, f->head, TB_UPDATE_WINS),
        *all = tb_baseline_updated(&c, base, f->head, TB_UPDATE_ALL);
  assert_int_equal(cJSON_GetArraySize(tb_doc_at(wins, "cases")), 4); /* a, failed before, new, vanished */
  assert_true(ns_of(wins, 0) == 2000 && ns_of(wins, 1) == 9 && ns_of(wins, 2) == 10 && ns_of(wins, 3) == 7);
  assert_int_equal(cJSON_GetArraySize(tb_doc_at(wins, "environments")), 2);
  assert_int_equal(cJSON_GetArraySize(tb_doc_at(all, "cases")), 3);
  c.interrupted = true; /* then it may only not have been measured */
  cJSON *kept = tb_baseline_updated(&c, base, f->head, TB_UPDATE_ALL);
  assert_int_equal(cJSON_GetArraySize(tb_doc_at(kept, "cases")), 4);
  cJSON_Delete(kept);
  cJSON_Delete(all);
  cJSON_Delete(wins);
  cJSON_Delete(base);
}

static void test_update_words(void **state) {
  (void)state;
  enum tb_update update;
  assert_true(tb_update_parse("no", &update) && update == TB_UPDATE_NO);
  assert_true(tb_update_parse("yes", &update) && update == TB_UPDATE_WINS);
  assert_true(tb_update_parse("all", &update) && update == TB_UPDATE_ALL);
  assert_false(tb_update_parse("maybe", &update) || tb_update_parse("", &update));
}

/* --- the command line that confirms --- */

static void test_arguments(void **state) {
  struct fixture *f = *state;
  static const char *const expected[] = {"suite=mlp", "batch=8",    "fuse=off",
                                         "seed=3",    "base=./old", "head=self"};
  int argc;
  char **argv;
  cJSON_AddItemToObject(
      f->head, "argv",
      cJSON_Parse("[\"tbench\", \"run\", \"suite=mlp\", \"--out\", \"r.json\", \"--quick\", \"batch=8\", "
                  "\"--replicates=7\", \"counters=papi\","
                  " \"fuse=off\", \"seed=3\", \"replicates-max=9\", \"target=1%\", \"verbose=yes\"]"));
  assert_int_equal(tb_confirm_arguments(f->arena, f->head, "./old", NULL, &argc, &argv, &f->err), TC_OK);
  assert_int_equal(argc, 6);
  for (int i = 0; i < argc; i++) assert_string_equal(argv[i], expected[i]);
}

static void test_no_arguments(void **state) {
  struct fixture *f = *state;
  static const char *const wrong[] = {
      "null",     "[]", "[\"tbench\"]", "[\"tbench\", \"run\"]", "[\"tbench\", \"ab\", \"suite=mlp\"]",
      "[1, 2, 3]"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    int argc;
    char **argv;
    cJSON_DeleteItemFromObject(f->head, "argv");
    cJSON_AddItemToObject(f->head, "argv", cJSON_Parse(wrong[i]));
    assert_int_equal(tb_confirm_arguments(f->arena, f->head, "self", NULL, &argc, &argv, &f->err), TC_ARG);
    assert_non_null(strstr(f->err.message, "does not record its tbench run command"));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
      TEST(test_oldest_first),
      TEST(test_passes_over),
      TEST(test_failed_cases_are_no_points),
      TEST(test_kinds_do_not_mix),
      TEST(test_values),
      TEST(test_marks),
      TEST(test_mark_of_tonight),
      TEST(test_mark_after_tonight_is_not_yet),
      TEST(test_wrong_marks),
      TEST(test_vanished),
      TEST(test_steps),
      TEST(test_back_within_noise),
      TEST(test_takes_wins_alone),
      TEST(test_slow_creep_adds_up),
      TEST(test_new_failed_and_vanished),
      TEST(test_update_words),
      TEST(test_arguments),
      TEST(test_no_arguments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
