/* A result as a document: every field of the schema, nulls for what was not measured, and a write that never leaves half a
 * file. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/build.h"
#include "harness/folder.h"
#include "harness/probe.h"
#include "harness/record.h"
#include "harness/run.h"
#include "tests/unit/schema.h"

struct fixture { struct tc_arena *arena; struct tb_run run; struct tb_place place; cJSON *schema; char folder[64]; };

/* Two cases with one seen and one failed; nothing is summarised yet. */
static int open_fixture(void **state) {
  static struct fixture f;
  f = (struct fixture){.arena = tc_arena_new(tc_alloc_system()), .folder = "/tmp/tbench-record.XXXXXX"};
  *state = &f;
  f.schema = schema_load(TB_SRCDIR "/results/schema.json");
  if (!f.arena || !f.schema || !mkdtemp(f.folder)) return 1;
  const struct tc_alloc *alloc = tc_arena_alloc(f.arena);
  f.run.arena = f.arena;
  f.run.result = (struct tb_result){.arena = f.arena, .version = "1", .commit = "c", .build = "gcc", .artifact_abi = 1, .started = "2026-01-02T03:04:05Z",
                                    .finished = "2026-01-02T03:05:05Z", .seed = 1, .planned = 2};
  static struct tb_param params[] = {{"alpha", {TB_VALUE_NUMBER, "0.5", 0.5}}, {"kind", {TB_VALUE_TEXT, "relu", 0}}};
  static struct tb_setting switches[] = {{"fuse", "off"}};
  const struct tb_case first = {.id = "s/w/inductor/default/cpu/f32/b8/machine/t2;alpha=0.5", .suite = "s", .workload = "w", .backend = "inductor",
                                .mode = "default", .device = "cpu", .dtype = "f32", .has_batch = true, .batch = 8, .params = params, .n_params = 2,
                                .topology = "machine", .smt = true, .threads = 2, .switches = switches, .n_switches = 1};
  struct tb_case second = first;
  second.id = "s/w/inductor/default/cpu/f32/-/machine/t2";
  second.has_batch = false;
  second.n_params = second.n_switches = 0;
  const struct tb_environment environment = {.host = "h", .llvm = "19", .lua = "5.4", .bound_to = "machine", .cpus = "0-1", .threads = 2};
  bool good = tc_vec_push(alloc, &f.run.plan.cases, first) && tc_vec_push(alloc, &f.run.plan.cases, second);
  good = good && tc_vec_push(alloc, &f.run.result.environments, environment);
  for (int i = 0; good && i < 2; i++) good = tc_vec_push(alloc, &f.run.result.cases, tb_case_result_new(&f.run.plan.cases.data[i]));
  f.run.result.cases.data[1].outcome = TB_OUTCOME_CRASHED;
  f.run.result.cases.data[1].error = "the worker died of signal 11";
  return !good;
}

static int close_fixture(void **state) {
  struct fixture *f = *state;
  tb_folder_remove(f->folder);
  cJSON_Delete(f->schema);
  tc_arena_free(f->arena);
  return 0;
}

static void add_replicate(struct fixture *f, double baseline_ns, double steady_ns) {
  const struct tc_alloc *alloc = tc_arena_alloc(f->arena);
  struct tb_case_result *r = &f->run.result.cases.data[0];
  struct tb_replicate baseline = {0}, steady = {0}, probe = {0};
  for (int i = -1; i <= 1; i++) {
    assert_true(tc_vec_push(alloc, &baseline.samples_ns, baseline_ns + i));
    assert_true(tc_vec_push(alloc, &steady.samples_ns, steady_ns + i));
    assert_true(tc_vec_push(alloc, &probe.samples_ns, 50.0 + i));
  }
  assert_true(tc_vec_push(alloc, &r->baseline.replicates, baseline) && tc_vec_push(alloc, &r->steady.replicates, steady));
  assert_true(tc_vec_push(alloc, &r->replicate_log_ratios, log(baseline_ns / steady_ns)) && tc_vec_push(alloc, &r->aa.log_ratios, 0.002 * (baseline_ns - 210) / 10));
  assert_true(tc_vec_push(alloc, &r->probe.timing.replicates, probe) && tc_vec_push(alloc, &r->probe.log_ratios, log(steady_ns / 50)));
  r->aa.of = r->kase->id;
  r->speedup.stop_reason = "target";
  r->speedup.replicates_stop = TB_REPLICATES_COUNT;
}

/* A whole first case: two replicates, all states, a graph with a break. */
static void measure(struct fixture *f) {
  const struct tc_alloc *alloc = tc_arena_alloc(f->arena);
  struct tb_case_result *r = &f->run.result.cases.data[0];
  add_replicate(f, 200, 100);
  add_replicate(f, 220, 100);
  for (int i = 0; i < TB_STATE_COUNT; i++) {
    r->compile.state_ns[i].median = 1000;
    assert_true(tc_vec_push(alloc, &r->compile.state_ns[i].samples, 1000.0));
    r->compile.evidence[i] = (struct tb_evidence){true, i == TB_STATE_COLD, i == TB_STATE_DISK, i == TB_STATE_MEMORY};
  }
  r->graph = (struct tb_graph){.known = true, .graphs = 1, .kernels = 3, .artifact = "abc"};
  const struct tb_break one = {"reason", "detail", "m.lua", 7};
  assert_true(tc_vec_push(alloc, &r->graph.breaks, one) && tc_vec_push(alloc, &r->graph.fallbacks, "a fallback"));
  const struct tb_counter known = {.name = "page_faults"}, unknown = {.name = "instructions", .value = NAN, .why = "no hardware counters"};
  assert_true(tc_vec_push(alloc, &r->counters, known) && tc_vec_push(alloc, &r->counters, unknown));
  r->correctness = (struct tb_correctness){.checked = true, .ok = true, .max_error = 1e-7, .bound = 1e-6, .compared = 4, .against = "f64"};
  tb_summarise(&f->run);
}

static const cJSON *at(const cJSON *json, const char *path) {
  char copy[128], *save = NULL;
  snprintf(copy, sizeof copy, "%s", path);
  for (char *word = strtok_r(copy, ".", &save); word && json; word = strtok_r(NULL, ".", &save))
    json = cJSON_IsArray(json) ? cJSON_GetArrayItem(json, atoi(word)) : cJSON_GetObjectItemCaseSensitive(json, word);
  return json;
}

static double number_at(const cJSON *json, const char *path) {
  const cJSON *item = at(json, path);
  if (!cJSON_IsNumber(item)) fail_msg("no number at %s", path);
  return item->valuedouble;
}

static void assert_valid(const struct fixture *f, const cJSON *json) {
  char why[300];
  if (!schema_describes(f->schema, json, why, sizeof why)) fail_msg("%s", why);
}

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
  assert_true(number_at(json, "cases.0.probe.median_ns") == 50 && number_at(json, "cases.0.probe.version") == TB_PROBE_VERSION);
  assert_true(cJSON_IsNull(at(json, "cases.1.probe")) && cJSON_IsNull(at(json, "cases.1.aa")));
  assert_float_equal(number_at(json, "cases.0.compile.pays_off_after_calls"), 1000.0 / (210 * (1 - 1 / sqrt(2 * 2.2))), 1e-9);
  assert_true(number_at(json, "cases.0.compile.evidence.disk.disk_hits") == 1);
  assert_true(number_at(json, "cases.0.graph.breaks.0.line") == 7);
  assert_true(number_at(json, "cases.0.case.params.alpha") == 0.5);
  assert_string_equal(at(json, "cases.0.case.switches.fuse")->valuestring, "off");
  assert_true(cJSON_IsNull(at(json, "cases.1.case.batch")));
  assert_string_equal(at(json, "cases.1.outcome")->valuestring, "crashed");
  cJSON_Delete(json);
}

/* A counter that counted nothing is 0; one that is not there is null with its reason; a case without figures has nulls. */
static void test_null_is_not_zero(void **state) {
  struct fixture *f = *state;
  measure(f);
  cJSON *json = tb_record_json(&f->run.result);
  assert_true(number_at(json, "cases.0.counters.page_faults.value") == 0);
  assert_true(cJSON_IsNull(at(json, "cases.0.counters.instructions.value")));
  assert_string_equal(at(json, "cases.0.counters.instructions.why")->valuestring, "no hardware counters");
  static const char *const empty[] = {"cases.1.baseline", "cases.1.steady", "cases.1.speedup", "cases.1.graph", "cases.1.correctness", "cases.1.compile.cold_ns",
                                      "cases.1.compile.pays_off_after_calls", "cases.1.compile.evidence.cold", "environments.0.triad_bytes_per_s",
                                      "environments.0.gpu", "cases.0.speedup.sign_flip_p"};
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
  assert_true(cJSON_IsNull(at(json, "cases.1.work.bytes")) && cJSON_IsNull(at(json, "cases.1.work.bytes_per_s")));
  cJSON_Delete(json);
}

/* A run that goes on: `finished` is null, and only cases that something is known of are there. Summing up on the way changes nothing
 * at the end. */
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
  assert_false(isnan(compile->pays_off_after_calls));
  cJSON *second = tb_record_json(&f->run.result);
  assert_valid(f, second);
  assert_int_equal(cJSON_GetArraySize(at(second, "cases")), 2);
  assert_true(number_at(second, "cases.0.speedup.ratio") > 2.9);
  cJSON_Delete(second);
  add_replicate(f, 100, 300); /* and by both not */
  f->run.result.finished = finished;
  tb_summarise(&f->run);
  assert_true(isnan(compile->pays_off_after_calls));
  cJSON *whole = tb_record_json(&f->run.result);
  assert_true(number_at(whole, "cases.0.speedup.replicates") == 2);
  cJSON_Delete(whole);
}

/* The floor is the half-width of the A/A pairs, at the same confidence; with one pair it holds what that pair differs by. */
static void test_noise_floor(void **state) {
  struct fixture *f = *state;
  struct tb_case_result *r = &f->run.result.cases.data[0];
  add_replicate(f, 200, 100);
  r->aa.block_half_width = 0.003;
  tb_summarise(&f->run);
  assert_float_equal(r->speedup.noise_floor, expm1(0.002 + 0.003), 1e-12);
  add_replicate(f, 220, 100);
  tb_summarise(&f->run);
  assert_float_equal(r->speedup.noise_floor, expm1(12.706204736432095 * 0.002), 1e-6); /* -0.002 and 0.002: t of one degree times their spread over the root of 2 */
  r->aa.log_ratios.len = 0;
  tb_summarise(&f->run);
  assert_true(isnan(r->speedup.noise_floor)); /* no pair, no floor; never 0 */
}

/* The interval of the pay-off holds its figure; where the speedup's holds 1 there is no end, and where it is below 1 it never pays. */
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
  assert_true(r->compile.pays_off.lo < 10 && 10 < r->compile.pays_off.hi && !r->compile.pays_off.infinite);
  assert_true(r->compile.pays_off.lo > 8 && r->compile.pays_off.hi < 12); /* 10 with an error of 13 in 100 of the cost */
  for (int i = 0; i < 4; i++) r->replicate_log_ratios.data[i] = i % 2 ? 0.5 : -0.4;
  tb_summarise(&f->run);
  assert_true(r->compile.pays_off.infinite && r->compile.pays_off.lo > 0 && isnan(r->compile.pays_off.hi) && isnan(r->compile.pays_off_after_calls));
  for (int i = 0; i < 4; i++) r->replicate_log_ratios.data[i] = -0.4 - 0.01 * i;
  tb_summarise(&f->run);
  assert_true(r->compile.pays_off.infinite && isnan(r->compile.pays_off.lo) && isnan(r->compile.pays_off.hi));
  cJSON *json = tb_record_json(&f->run.result);
  assert_valid(f, json);
  assert_true(cJSON_IsTrue(at(json, "cases.0.compile.pays_off_infinite")) && cJSON_IsNull(at(json, "cases.0.compile.pays_off_hi")));
  cJSON_Delete(json);
}

static void test_slower_never_pays_off(void **state) {
  struct fixture *f = *state;
  struct tb_case_result *r = &f->run.result.cases.data[0];
  add_replicate(f, 100, 200);
  assert_true(tc_vec_push(tc_arena_alloc(f->arena), &r->compile.state_ns[TB_STATE_COLD].samples, 1000.0));
  r->compile.state_ns[TB_STATE_COLD].median = 1000;
  r->block_half_width = 0.1;
  tb_summarise(&f->run);
  assert_true(isnan(r->compile.pays_off_after_calls));
  assert_true(r->speedup.over_blocks); /* one replicate: the interval is over its blocks */
  assert_float_equal(r->speedup.hi / r->speedup.ratio, exp(0.1), 1e-12);
  assert_float_equal(r->speedup.ratio, 0.5, 1e-12);
}

/* Confidence is told as it was taken: over one replicate's blocks the nominal one, over replicates that of the looks. */
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
  assert_true(!s->over_blocks && s->interval_confidence > s->confidence && s->interval_confidence == tb_replication_confidence(&f->run.replication, s->confidence));
}

/* The schema must be able to say no. */
static void test_schema_rejects(void **state) {
  struct fixture *f = *state;
  static const struct { const char *parent, *field, *json; } rows[] = {
      {"", "schema", "2"}, {"tbench", "version", NULL}, {"cases.0", "outcome", "\"fine\""}, {"cases.0", "speedup", "null"}, {"cases.1", "error", "null"},
      {"cases.0.case", "batch", "0"}, {"cases.0.baseline", "median_ns", "-1"}, {"cases.0.counters.page_faults", "value", "null"},
      {"cases.0.compile.evidence.cold", "misses", "0.5"}, {"environments.0", "triad_bytes_per_s", "0"}, {"cases.0.graph.breaks.0", "line", "\"7\""},
      {"cases.0.steady", "replicates", "[]"}, {"cases.0.case.switches", "fuse", "true"},
  };
  measure(f);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char why[300];
    cJSON *json = tb_record_json(&f->run.result);
    assert_valid(f, json);
    cJSON *parent = (cJSON *)(uintptr_t)at(json, rows[i].parent);
    if (rows[i].json) cJSON_ReplaceItemInObjectCaseSensitive(parent, rows[i].field, cJSON_Parse(rows[i].json));
    else cJSON_DeleteItemFromObjectCaseSensitive(parent, rows[i].field);
    if (schema_valid(f->schema, json, why, sizeof why)) fail_msg("%s.%s = %s was accepted", rows[i].parent, rows[i].field, rows[i].json);
    cJSON_Delete(json);
  }
}

/* And the tests must see a field that is written and not described; other programs' fields are fine for readers. */
static void test_schema_knows_all_fields(void **state) {
  struct fixture *f = *state;
  static const char *const parents[] = {"", "cases.0", "cases.0.steady.replicates.0", "cases.1.correctness", "environments.0.noise.0"};
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
  struct stat info;
  assert_int_equal(stat(tb_format(f->arena, "%s.%ld.part", path, (long)getpid()), &info), -1); /* nothing is left beside it */
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
  assert_int_equal(tb_record_save(f->arena, json, tb_format(f->arena, "%s/no/such/r.json", f->folder), &written, &err), TC_IO);
  assert_non_null(strstr(err.message, "No such file"));
  assert_string_equal(written, tb_format(f->arena, "%s/r.json", elsewhere));
  assert_int_equal(access(written, R_OK), 0);
  setenv("TMPDIR", "/nonexistent", 1);
  assert_int_equal(tb_record_save(f->arena, json, tb_format(f->arena, "%s/no/such/r.json", f->folder), &written, &err), TC_IO);
  assert_null(written);
  if (before) setenv("TMPDIR", before, 1);
  else unsetenv("TMPDIR");
  free(before);
  cJSON_Delete(json);
}

static void test_folder_writable(void **state) {
  struct fixture *f = *state;
  struct tc_error err = {0};
  assert_int_equal(tb_folder_writable(f->arena, tb_format(f->arena, "%s/new/r.json", f->folder), &err), TC_IO); /* and makes nothing */
  assert_int_equal(access(tb_format(f->arena, "%s/new", f->folder), F_OK), -1);
  assert_int_equal(tb_folder_make(tb_format(f->arena, "%s/new", f->folder), &err), TC_OK);
  assert_int_equal(tb_folder_make(tb_format(f->arena, "%s/new", f->folder), &err), TC_OK);
  assert_int_equal(tb_folder_writable(f->arena, tb_format(f->arena, "%s/new/r.json", f->folder), &err), TC_OK);
  assert_int_equal(tb_folder_writable(f->arena, tb_format(f->arena, "%s/a/b/r.json", f->folder), &err), TC_IO);
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

#define CASE(f) cmocka_unit_test_setup_teardown(f, open_fixture, close_fixture)
int main(void) {
  const struct CMUnitTest tests[] = {CASE(test_document), CASE(test_null_is_not_zero), CASE(test_work), CASE(test_unfinished), CASE(test_slower_never_pays_off), CASE(test_noise_floor), CASE(test_pay_off_interval),
                                     CASE(test_schema_rejects), CASE(test_schema_knows_all_fields), CASE(test_interval_confidence),
                                     CASE(test_write),    CASE(test_failed_write),     CASE(test_folder_writable),       CASE(test_exit_codes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
