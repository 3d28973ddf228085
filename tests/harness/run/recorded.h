/* A run's result in memory, filled as sessions fill it: what the tests of its statistics and of its document
 * share. */
#ifndef TB_TESTS_RECORDED_H
#define TB_TESTS_RECORDED_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/base/folder.h"
#include "harness/run/record.h"
#include "harness/run/run.h"
#include "harness/run/summary.h"
#include "tests/results/schema.h"

struct fixture {
  struct tc_arena *arena;
  struct tb_run run;
  struct tb_place place;
  cJSON *schema;
  char folder[64];
};

/* Two cases with one seen and one failed; nothing is summarised yet. */
static inline int open_fixture(void **state) {
  static struct fixture f;
  f = (struct fixture){.arena = tc_arena_new(tc_alloc_system()), .folder = "/tmp/tbench-record.XXXXXX"};
  *state = &f;
  f.schema = schema_load(TB_BUILDDIR "/results/schema.json");
  if (!f.arena || !f.schema || !mkdtemp(f.folder)) return 1;
  const struct tc_alloc *alloc = tc_arena_alloc(f.arena);
  f.run.arena = f.arena;
  f.run.result = (struct tb_result){.arena = f.arena,
                                    .version = "1",
                                    .commit = "c",
                                    .build = "gcc",
                                    .artifact_abi = 1,
                                    .started = "2026-01-02T03:04:05Z",
                                    .finished = "2026-01-02T03:05:05Z",
                                    .seed = 1,
                                    .planned = 2};
  static struct tb_param params[] = {{"alpha", {TB_VALUE_NUMBER, "0.5", 0.5}},
                                     {"kind", {TB_VALUE_TEXT, "relu", 0}}};
  static struct tb_setting switches[] = {{"fuse", "off"}};
  const struct tb_case first = {.id = "s/w/inductor/default/cpu/f32/b8/machine/t2;alpha=0.5",
                                .suite = "s",
                                .workload = "w",
                                .backend = "inductor",
                                .mode = "default",
                                .device = "cpu",
                                .dtype = "f32",
                                .has_batch = true,
                                .batch = 8,
                                .params = params,
                                .n_params = 2,
                                .topology = "machine",
                                .smt = true,
                                .threads = 2,
                                .switches = switches,
                                .n_switches = 1};
  struct tb_case second = first;
  second.id = "s/w/inductor/default/cpu/f32/-/machine/t2";
  second.has_batch = false;
  second.n_params = second.n_switches = 0;
  const struct tb_environment environment = {
      .host = "h", .llvm = "19", .lua = "5.4", .bound_to = "machine", .cpus = "0-1", .threads = 2};
  bool good = tc_vec_push(alloc, &f.run.plan.cases, first) && tc_vec_push(alloc, &f.run.plan.cases, second);
  good = good && tc_vec_push(alloc, &f.run.result.environments, environment);
  for (int i = 0; good && i < 2; i++)
    good = tc_vec_push(alloc, &f.run.result.cases, tb_case_result_new(&f.run.plan.cases.data[i]));
  f.run.result.cases.data[1].outcome = TB_OUTCOME_CRASHED;
  f.run.result.cases.data[1].error = "the worker died of signal 11";
  return !good;
}

static inline int close_fixture(void **state) {
  struct fixture *f = *state;
  tb_folder_remove(f->folder);
  cJSON_Delete(f->schema);
  tc_arena_free(f->arena);
  return 0;
}

static inline void add_replicate(struct fixture *f, double baseline_ns, double steady_ns) {
  const struct tc_alloc *alloc = tc_arena_alloc(f->arena);
  struct tb_case_result *r = &f->run.result.cases.data[0];
  struct tb_replicate baseline = {0}, steady = {0}, calibration = {0};
  for (int i = -1; i <= 1; i++) {
    assert_true(tc_vec_push(alloc, &baseline.samples_ns, baseline_ns + i));
    assert_true(tc_vec_push(alloc, &steady.samples_ns, steady_ns + i));
    assert_true(tc_vec_push(alloc, &calibration.samples_ns, 50.0 + i));
  }
  assert_true(tc_vec_push(alloc, &r->baseline.replicates, baseline) &&
              tc_vec_push(alloc, &r->steady.replicates, steady));
  assert_true(tc_vec_push(alloc, &r->replicate_log_ratios, log(baseline_ns / steady_ns)) &&
              tc_vec_push(alloc, &r->aa.log_ratios, 0.002 * (baseline_ns - 210) / 10));
  assert_true(tc_vec_push(alloc, &r->calibration.timing.replicates, calibration) &&
              tc_vec_push(alloc, &r->calibration.log_ratios, log(steady_ns / 50)));
  r->aa.of = r->kase->id;
  r->speedup.stop_reason = "target";
  r->speedup.replicates_stop = TB_REPLICATES_COUNT;
}

/* A whole first case: two replicates, all states, a graph with a break. */
static inline void measure(struct fixture *f) {
  const struct tc_alloc *alloc = tc_arena_alloc(f->arena);
  struct tb_case_result *r = &f->run.result.cases.data[0];
  add_replicate(f, 200, 100);
  add_replicate(f, 220, 100);
  for (int i = 0; i < TB_STATE_COUNT; i++) {
    r->compile.state_ns[i].median = 1000;
    assert_true(tc_vec_push(alloc, &r->compile.state_ns[i].samples, 1000.0));
    r->compile.evidence[i] =
        (struct tb_evidence){true, i == TB_STATE_COLD, i == TB_STATE_DISK, i == TB_STATE_MEMORY};
  }
  r->graph = (struct tb_graph){.known = true, .graphs = 1, .kernels = 3, .artifact = "abc"};
  const struct tb_break one = {"reason", "detail", "m.lua", 7};
  assert_true(tc_vec_push(alloc, &r->graph.breaks, one) &&
              tc_vec_push(alloc, &r->graph.fallbacks, "a fallback"));
  const struct tb_counter known = {.name = "page_faults"},
                          unknown = {.name = "instructions", .value = NAN, .why = "no hardware counters"};
  assert_true(tc_vec_push(alloc, &r->counters, known) && tc_vec_push(alloc, &r->counters, unknown));
  r->correctness = (struct tb_correctness){
      .checked = true, .ok = true, .max_error = 1e-7, .bound = 1e-6, .compared = 4, .against = "f64"};
  tb_summarise(&f->run);
}

static inline const cJSON *at(const cJSON *json, const char *path) {
  char copy[128], *save = NULL;
  snprintf(copy, sizeof copy, "%s", path);
  for (char *word = strtok_r(copy, ".", &save); word && json; word = strtok_r(NULL, ".", &save))
    json = cJSON_IsArray(json) ? cJSON_GetArrayItem(json, atoi(word))
                               : cJSON_GetObjectItemCaseSensitive(json, word);
  return json;
}

static inline double number_at(const cJSON *json, const char *path) {
  const cJSON *item = at(json, path);
  if (!cJSON_IsNumber(item)) fail_msg("no number at %s", path);
  return item->valuedouble;
}

static inline void assert_valid(const struct fixture *f, const cJSON *json) {
  char why[300];
  if (!schema_describes(f->schema, json, why, sizeof why)) fail_msg("%s", why);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, open_fixture, close_fixture)

#endif
