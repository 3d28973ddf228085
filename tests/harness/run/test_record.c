/* A result as a document: every field of the schema, nulls for what was not measured, and a write that never
 * leaves half a file. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "harness/base/build.h"
#include "harness/machine/calibration.h"
#include "harness/run/states.h"
#include "harness/run/summary.h"
#include "tests/harness/run/recorded.h"

static void test_document(void **state) {
  struct fixture *f = *state;
  measure(f);
  cJSON *json = tb_record_json(&f->run.result);
  assert_valid(f, json);
  assert_true(number_at(json, "cases.0.baseline.median_ns") == 210);
  assert_true(number_at(json, "cases.0.steady.replicates.1.median_ns") == 100);
  assert_float_equal(number_at(json, "cases.0.speedup.ratio"), sqrt(2 * 2.2), 1e-12);
  assert_true(number_at(json, "cases.0.speedup.lo") < 2 && number_at(json, "cases.0.speedup.hi") > 2.2);
  assert_float_equal(number_at(json, "cases.0.speedup.log_ratios.1"), log(2.2), 1e-12);
  assert_string_equal(at(json, "cases.0.speedup.replicates_stop")->valuestring, "count");
  assert_true(number_at(json, "cases.0.speedup.interval_confidence") == 0.95);
  assert_true(number_at(json, "cases.0.baseline.mad_ns") == 10); /* 199 200 201 219 220 221 around 210 */
  assert_float_equal(number_at(json, "cases.0.probe.log_ratios.0"), log(2), 1e-12);
  assert_true(number_at(json, "cases.0.probe.median_ns") == 50 &&
              number_at(json, "cases.0.probe.version") == TB_CALIBRATION_VERSION);
  assert_true(cJSON_IsNull(at(json, "cases.1.probe")) && cJSON_IsNull(at(json, "cases.1.aa")));
  assert_float_equal(number_at(json, "cases.0.compile.pays_off_after_calls"),
                     1000.0 / (210 * (1 - 1 / sqrt(2 * 2.2))), 1e-9);
  assert_true(number_at(json, "cases.0.compile.evidence.disk.disk_hits") == 1);
  assert_true(number_at(json, "cases.0.graph.breaks.0.line") == 7);
  assert_true(number_at(json, "cases.0.case.params.alpha") == 0.5);
  assert_string_equal(at(json, "cases.0.case.switches.fuse")->valuestring, "off");
  assert_true(cJSON_IsNull(at(json, "cases.1.case.batch")));
  assert_string_equal(at(json, "cases.1.outcome")->valuestring, "crashed");
  cJSON_Delete(json);
}

/* The commit stands there twice: short for people, whole for programs that look it up, where the build knows
 * it. */
static void test_commit(void **state) {
  struct fixture *f = *state;
  enum { SHORT = 12, WHOLE = 40 };
  static const char digits[] = "0123456789abcdef", whole[] = "0123456789012345678901234567890123456789";
  measure(f);
  for (int known = 0; known < 2; known++) {
    f->run.result.commit_whole = known ? whole : NULL;
    cJSON *json = tb_record_json(&f->run.result);
    assert_valid(f, json);
    assert_string_equal(at(json, "tbench.commit")->valuestring, "c");
    if (known)
      assert_string_equal(at(json, "tbench.commit_whole")->valuestring, whole);
    else
      assert_true(cJSON_IsNull(at(json, "tbench.commit_whole")));
    cJSON_Delete(json);
  }
  const size_t short_length = strspn(TB_COMMIT, digits), whole_length = strspn(TB_COMMIT_WHOLE, digits);
  if (short_length < SHORT) { /* of no version */
    assert_string_equal(TB_COMMIT_WHOLE, "");
    return;
  }
  assert_true(whole_length >= WHOLE && !strncmp(TB_COMMIT, TB_COMMIT_WHOLE, short_length));
  assert_string_equal(&TB_COMMIT[short_length], &TB_COMMIT_WHOLE[whole_length]); /* "", or "-dirty" */
}

/* A peer tells what it counts; the rest is null, and such a result is one by its schema. */
static void test_graph_of_a_peer(void **state) {
  struct fixture *f = *state;
  static const char *const unknown[] = {"guards",        "recompiles",  "kernels", "ops",
                                        "library_calls", "bytes_moved", "flops",   "peak_bytes",
                                        "code_bytes",    "artifact"};
  measure(f);
  cJSON *stats = cJSON_Parse(
      "{\"graphs\": 2, \"breaks\": [{\"reason\": \"torch\", \"detail\": \"print\"}], \"fallbacks\": []}");
  assert_true(tb_graph_read(f->arena, stats, &f->run.result.cases.data[0].graph));
  cJSON *json = tb_record_json(&f->run.result);
  assert_valid(f, json);
  assert_true(number_at(json, "cases.0.graph.graphs") == 2);
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
    assert_true(cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(at(json, "cases.0.graph"), unknown[i])));
  assert_true(tb_graph_read(f->arena, NULL, &f->run.result.cases.data[0].graph));
  cJSON *mute = tb_record_json(&f->run.result);
  assert_valid(f, mute);
  assert_true(cJSON_IsNull(at(mute, "cases.0.graph")));
  cJSON_Delete(stats);
  cJSON_Delete(json);
  cJSON_Delete(mute);
}

/* A counter that counted nothing is 0; one that is not there is null with its reason; a case without figures
 * has nulls. */
static void test_null_is_not_zero(void **state) {
  struct fixture *f = *state;
  measure(f);
  cJSON *json = tb_record_json(&f->run.result);
  assert_true(number_at(json, "cases.0.counters.page_faults.value") == 0);
  assert_true(cJSON_IsNull(at(json, "cases.0.counters.instructions.value")));
  assert_string_equal(at(json, "cases.0.counters.instructions.why")->valuestring, "no hardware counters");
  static const char *const empty[] = {"cases.1.baseline",
                                      "cases.1.steady",
                                      "cases.1.speedup",
                                      "cases.1.graph",
                                      "cases.1.correctness",
                                      "cases.1.compile.cold_ns",
                                      "cases.1.compile.pays_off_after_calls",
                                      "cases.1.compile.evidence.cold",
                                      "environments.0.triad_bytes_per_s",
                                      "environments.0.gpu",
                                      "cases.0.speedup.sign_flip_p"};
  for (size_t i = 0; i < sizeof empty / sizeof *empty; i++)
    if (!cJSON_IsNull(at(json, empty[i]))) fail_msg("%s is not null", empty[i]);
  cJSON_Delete(json);
}

/* What the suite says wins; else what the compiler counts; where both are silent it is null. */
static void test_work(void **state) {
  struct fixture *f = *state;
  struct tb_case_result *r = &f->run.result.cases.data[0];
  measure(f);
  r->graph.bytes_moved = 300;
  r->flops = (struct tb_amount){5000, true};
  r->graph.flops = 7;
  tb_summarise(&f->run);
  cJSON *json = tb_record_json(&f->run.result);
  assert_valid(f, json);
  assert_true(number_at(json, "cases.0.work.bytes") == 300);
  assert_string_equal(at(json, "cases.0.work.bytes_from")->valuestring, "compiler");
  assert_true(number_at(json, "cases.0.work.bytes_per_s") == 3e9); /* a call takes 100 ns */
  assert_true(number_at(json, "cases.0.work.flops") == 5000);
  assert_string_equal(at(json, "cases.0.work.flops_from")->valuestring, "suite");
  assert_true(number_at(json, "cases.0.work.flops_per_s") == 50e9);
  assert_true(number_at(json, "cases.0.graph.flops") == 7); /* the compiler's own count stays what it is */
  assert_true(cJSON_IsNull(at(json, "cases.1.work.bytes")) &&
              cJSON_IsNull(at(json, "cases.1.work.bytes_per_s")));
  cJSON_Delete(json);
}

/* Kernels and library calls, from what a worker says of itself to the document. */
static void test_launches(void **state) {
  struct fixture *f = *state;
  cJSON *stats = cJSON_Parse(
      "{\"graphs\": 1, \"guards\": 2, \"recompiles\": 0, \"kernels\": 1, \"ops\": 3, \"library_calls\": 1, "
      "\"bytes_moved\": 4160, \"flops\": 8,"
      " \"peak_bytes\": 64, \"code_bytes\": 900, \"launches\": [{\"label\": \"fused_add\", \"kind\": "
      "\"kernel\", \"generator\": \"llvm\", \"fused\": \"add relu\", \"ops\": 2, \"bytes\": 64,"
      " \"flops\": 8}, {\"label\": \"matmul\", \"kind\": \"library\", \"generator\": \"blas\", \"fused\": "
      "\"matmul\", \"ops\": 1, \"bytes\": 4096}]}");
  assert_non_null(stats);
  measure(f);
  assert_true(tb_graph_read(f->arena, stats, &f->run.result.cases.data[0].graph));
  cJSON_Delete(stats);
  cJSON *json = tb_record_json(&f->run.result);
  assert_valid(f, json);
  assert_int_equal(cJSON_GetArraySize(at(json, "cases.0.graph.launches")), 2);
  assert_string_equal(at(json, "cases.0.graph.launches.0.label")->valuestring, "fused_add");
  assert_string_equal(at(json, "cases.0.graph.launches.0.fused")->valuestring, "add relu");
  assert_true(number_at(json, "cases.0.graph.launches.0.bytes") == 64 &&
              number_at(json, "cases.0.graph.launches.0.flops") == 8);
  assert_string_equal(at(json, "cases.0.graph.launches.1.kind")->valuestring, "library");
  assert_true(cJSON_IsNull(at(json, "cases.0.graph.launches.1.flops")));
  cJSON_Delete(json);
}

/* A run that goes on: `finished` is null, and only cases that something is known of are there. Summing up on
 * the way changes nothing at the end. */
static void test_unfinished(void **state) {
  struct fixture *f = *state;
  const char *finished = f->run.result.finished;
  f->run.result.finished = NULL;
  f->run.result.planned = 3;
  cJSON *first = tb_record_json(&f->run.result);
  assert_valid(f, first);
  assert_true(cJSON_IsNull(at(first, "finished")));
  assert_int_equal(cJSON_GetArraySize(at(first, "cases")), 1); /* the one that crashed */
  assert_string_equal(at(first, "cases.0.outcome")->valuestring, "crashed");
  cJSON_Delete(first);
  add_replicate(f, 300, 100); /* pays off by these alone */
  struct tb_compile *compile = &f->run.result.cases.data[0].compile;
  assert_true(tc_vec_push(tc_arena_alloc(f->arena), &compile->state_ns[TB_STATE_COLD].samples, 1000.0));
  compile->state_ns[TB_STATE_COLD].median = 1000;
  f->run.result.cases.data[0].block_half_width = 0.001;
  tb_summarise(&f->run);
  assert_false(isnan(compile->break_even_calls));
  cJSON *second = tb_record_json(&f->run.result);
  assert_valid(f, second);
  assert_int_equal(cJSON_GetArraySize(at(second, "cases")), 2);
  assert_true(number_at(second, "cases.0.speedup.ratio") > 2.9);
  cJSON_Delete(second);
  add_replicate(f, 100, 300); /* and by both not */
  f->run.result.finished = finished;
  tb_summarise(&f->run);
  assert_true(isnan(compile->break_even_calls));
  cJSON *whole = tb_record_json(&f->run.result);
  assert_true(number_at(whole, "cases.0.speedup.replicates") == 2);
  cJSON_Delete(whole);
}

/* The schema must be able to say no. */
static void test_schema_rejects(void **state) {
  struct fixture *f = *state;
  static const struct {
    const char *parent, *field, *json;
  } rows[] = {
      {"", "schema", "2"},
      {"tbench", "version", NULL},
      {"cases.0", "outcome", "\"fine\""},
      {"cases.0", "speedup", "null"},
      {"cases.1", "error", "null"},
      {"cases.0.case", "batch", "0"},
      {"cases.0.baseline", "median_ns", "-1"},
      {"cases.0.counters.page_faults", "value", "null"},
      {"cases.0.compile.evidence.cold", "misses", "0.5"},
      {"environments.0", "triad_bytes_per_s", "0"},
      {"cases.0.graph.breaks.0", "line", "\"7\""},
      {"cases.0.steady", "replicates", "[]"},
      {"cases.0.case.switches", "fuse", "true"},
  };
  measure(f);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char why[300];
    cJSON *json = tb_record_json(&f->run.result);
    assert_valid(f, json);
    cJSON *parent = (cJSON *)(uintptr_t)at(json, rows[i].parent);
    if (rows[i].json)
      cJSON_ReplaceItemInObjectCaseSensitive(parent, rows[i].field, cJSON_Parse(rows[i].json));
    else
      cJSON_DeleteItemFromObjectCaseSensitive(parent, rows[i].field);
    if (schema_valid(f->schema, json, why, sizeof why))
      fail_msg("%s.%s = %s was accepted", rows[i].parent, rows[i].field, rows[i].json);
    cJSON_Delete(json);
  }
}

/* And the tests must see a field that is written and not described; other programs' fields are fine for
 * readers. */
static void test_schema_knows_all_fields(void **state) {
  struct fixture *f = *state;
  static const char *const parents[] = {"", "cases.0", "cases.0.steady.replicates.0", "cases.1.correctness",
                                        "environments.0.noise.0"};
  measure(f);
  for (size_t i = 0; i < sizeof parents / sizeof *parents; i++) {
    char why[300];
    cJSON *json = tb_record_json(&f->run.result), *parent = (cJSON *)(uintptr_t)at(json, parents[i]);
    if (cJSON_IsObject(parent)) {
      cJSON_AddNumberToObject(parent, "unheard_of", 1);
      if (!schema_valid(f->schema, json, why, sizeof why)) fail_msg("%s", why);
      assert_false(schema_describes(f->schema, json, why, sizeof why));
      assert_non_null(strstr(why, "unheard_of"));
    }
    cJSON_Delete(json);
  }
}

static int count_parts(const char *folder) {
  int count = 0;
  DIR *dir = opendir(folder);
  assert_non_null(dir);
  for (const struct dirent *entry; (entry = readdir(dir));)
    count += strstr(entry->d_name, ".tbench-part") != NULL;
  closedir(dir);
  return count;
}

static void test_write(void **state) {
  struct fixture *f = *state;
  struct tc_error err = {0};
  measure(f);
  cJSON *json = tb_record_json(&f->run.result);
  const char *path = tb_format(f->arena, "%s/r.json", f->folder);
  assert_int_equal(tb_record_write(json, path, &err), TC_OK);
  cJSON *back = schema_load(path);
  assert_non_null(back);
  assert_valid(f, back);
  cJSON_Delete(back);
  assert_int_equal(count_parts(f->folder), 0); /* nothing is left beside it */
  cJSON_Delete(json);
}

static void put(const char *path, time_t written) {
  const struct timespec times[] = {{.tv_sec = written}, {.tv_sec = written}};
  FILE *out = fopen(path, "we");
  assert_true(out && fputs("theirs", out) >= 0 && !fclose(out));
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static bool holds(const char *path, const char *text) {
  char line[32] = "";
  FILE *in = fopen(path, "re");
  const bool good = in && fgets(line, sizeof line, in) && !strcmp(line, text);
  if (in) fclose(in);
  return good;
}

/* In a folder where others write too: a link under the name that it writes to first leads it nowhere, and
 * what killed writers have left goes. */
static void test_write_among_others(void **state) {
  struct fixture *f = *state;
  struct tc_error err = {0};
  const char *path = tb_format(f->arena, "%s/r.json", f->folder),
             *victim = tb_format(f->arena, "%s/victim", f->folder);
  const char *const planted[] = {tb_format(f->arena, "%s/.r.json.%ld.tbench-part", f->folder, (long)getpid()),
                                 tb_format(f->arena, "%s.%ld.tbench-part", path, (long)getpid())};
  const time_t now = time(NULL), old = now - 7200;
  cJSON *json = tb_record_json(&f->run.result);
  put(victim, now);
  for (size_t i = 0; i < 2; i++) assert_int_equal(symlink(victim, planted[i]), 0);
  put(tb_format(f->arena, "%s/.other.json.123.tbench-part", f->folder), old);
  put(tb_format(f->arena, "%s/.writing.json.124.tbench-part", f->folder), now);
  static const char *const kept[] = {
      "mine.123.tbench-part",         ".x.tbench-part",  ".123.tbench-part", ".x.json.12a.tbench-part",
      ".x.json.123.tbench-part.json", ".x.json.123.part"};
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
    put(tb_format(f->arena, "%s/%s", f->folder, kept[i]), old);
  assert_int_equal(tb_record_write(json, path, &err), TC_OK);
  assert_true(holds(victim, "theirs"));
  struct stat info;
  assert_true(!lstat(path, &info) && S_ISREG(info.st_mode));
  assert_int_equal(access(tb_format(f->arena, "%s/.other.json.123.tbench-part", f->folder), F_OK), -1);
  assert_true(holds(tb_format(f->arena, "%s/.writing.json.124.tbench-part", f->folder), "theirs"));
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
    assert_true(holds(tb_format(f->arena, "%s/%s", f->folder, kept[i]), "theirs"));
  cJSON_Delete(json);
}

/* Where the place of the result fails, the old file stays and the result is saved elsewhere. */
static void test_failed_write(void **state) {
  struct fixture *f = *state;
  struct tc_error err = {0};
  const char *written = NULL, *elsewhere = tb_format(f->arena, "%s/elsewhere", f->folder);
  assert_int_equal(mkdir(elsewhere, 0777), 0);
  char *before = getenv("TMPDIR") ? strdup(getenv("TMPDIR")) : NULL;
  setenv("TMPDIR", elsewhere, 1);
  cJSON *json = tb_record_json(&f->run.result);
  assert_int_equal(
      tb_record_save(f->arena, json, tb_format(f->arena, "%s/no/such/r.json", f->folder), &written, &err),
      TC_IO);
  assert_non_null(strstr(err.message, "No such file"));
  assert_string_equal(written, tb_format(f->arena, "%s/r.json", elsewhere));
  assert_int_equal(access(written, R_OK), 0);
  FILE *theirs = fopen(written, "we");
  assert_true(theirs && fputs("theirs", theirs) >= 0 && !fclose(theirs));
  for (int i = 2; i < 4; i++) { /* what lies there is another's */
    assert_int_equal(
        tb_record_save(f->arena, json, tb_format(f->arena, "%s/no/such/r.json", f->folder), &written, &err),
        TC_IO);
    assert_string_equal(written, tb_format(f->arena, "%s/r-%d.json", elsewhere, i));
    assert_true(holds(written, "{\n"));
  }
  assert_true(holds(tb_format(f->arena, "%s/r.json", elsewhere), "theirs"));
  setenv("TMPDIR", "/nonexistent", 1);
  assert_int_equal(
      tb_record_save(f->arena, json, tb_format(f->arena, "%s/no/such/r.json", f->folder), &written, &err),
      TC_IO);
  assert_null(written);
  if (before)
    setenv("TMPDIR", before, 1);
  else
    unsetenv("TMPDIR");
  free(before);
  cJSON_Delete(json);
}

static void test_folder_writable(void **state) {
  struct fixture *f = *state;
  struct tc_error err = {0};
  assert_int_equal(tb_folder_writable(f->arena, tb_format(f->arena, "%s/new/r.json", f->folder), &err),
                   TC_IO); /* and makes nothing */
  assert_int_equal(access(tb_format(f->arena, "%s/new", f->folder), F_OK), -1);
  assert_int_equal(tb_folder_make(tb_format(f->arena, "%s/new", f->folder), &err), TC_OK);
  assert_int_equal(tb_folder_make(tb_format(f->arena, "%s/new", f->folder), &err), TC_OK);
  assert_int_equal(tb_folder_writable(f->arena, tb_format(f->arena, "%s/new/r.json", f->folder), &err),
                   TC_OK);
  assert_int_equal(tb_folder_writable(f->arena, tb_format(f->arena, "%s/a/b/r.json", f->folder), &err),
                   TC_IO);
  assert_int_equal(tb_folder_writable(f->arena, f->folder, &err), TC_IO);
  assert_int_equal(tb_folder_writable(f->arena, "/proc/r.json", &err), TC_IO);
}

static void test_exit_codes(void **state) {
  struct fixture *f = *state;
  struct tb_result *r = &f->run.result;
  assert_int_equal(tb_result_exit(r), TB_EXIT_FAILED);
  r->cases.data[1].outcome = TB_OUTCOME_UNSUPPORTED;
  assert_int_equal(tb_result_exit(r), TB_EXIT_PASS);
  r->planned = 3;
  assert_int_equal(tb_result_exit(r), TB_EXIT_FAILED); /* a case is missing */
  r->cases.data[0].outcome = TB_OUTCOME_WRONG;
  assert_int_equal(tb_result_exit(r), TB_EXIT_WRONG);
  r->interrupted = true;
  assert_int_equal(tb_result_exit(r), TB_EXIT_INTERRUPTED);
  assert_int_equal(tb_exit_worse(TB_EXIT_WRONG, TB_EXIT_USAGE), TB_EXIT_USAGE);
  assert_int_equal(tb_exit_worse(TB_EXIT_REGRESSION, TB_EXIT_NOT_MEASURABLE), TB_EXIT_REGRESSION);
  assert_int_equal(tb_exit_worse(TB_EXIT_REGRESSION, TB_EXIT_FAILED), TB_EXIT_FAILED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      CASE(test_document),
      CASE(test_commit),
      CASE(test_graph_of_a_peer),
      CASE(test_null_is_not_zero),
      CASE(test_work),
      CASE(test_launches),
      CASE(test_unfinished),
      CASE(test_schema_rejects),
      CASE(test_schema_knows_all_fields),
      CASE(test_write),
      CASE(test_write_among_others),
      CASE(test_failed_write),
      CASE(test_folder_writable),
      CASE(test_exit_codes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
