/* One real run, from the command line to the document: valid by the schema, every compile state with the
 * counters that prove it, correctness against float64, and the same ids and artifacts when it is run
 * again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/base/build.h"
#include "tests/results/schema.h"

static const char suite_text[] =
    "local tb = require 'tbench'\n"
    "local nn = tb.nn\n"
    "return tb.suite {\n"
    "  name = 'small', axes = { batch = {1, 4} },\n"
    "  workloads = {\n"
    "    layers = function(case)\n"
    "      local model = nn.Sequential { nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 8) }:to(case)\n"
    "      return { fn = function(x) return model(x) end, args = { tb.randn({case.batch, 32}, case) } }\n"
    "    end,\n"
    "    chain = function(case)\n"
    "      return { fn = function(x) return (x * 2 + 1):sigmoid():sum(-1) end, args = { "
    "tb.randn({case.batch, 100}, case) } }\n"
    "    end,\n"
    "  },\n"
    "}\n";

enum { PATH = 512, COMMAND = 2048, WHY = 300 };

struct fixture {
  char folder[PATH];
  cJSON *schema, *document;
};

/* Runs the suite with `arguments`; the exit status. */
static int run_suite(const struct fixture *f, const char *arguments) {
  char command[COMMAND];
  snprintf(command, sizeof command,
           "'%s' run suite='%s/small.lua' %s > '%s/out.text' 2> '%s/err.text' < /dev/null", getenv("TBENCH"),
           f->folder, arguments, f->folder, f->folder);
  const int status = system(command);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static cJSON *load(const struct fixture *f, const char *name) {
  char path[PATH + 64];
  snprintf(path, sizeof path, "%s/%s", f->folder, name);
  return schema_load(path);
}

static int open_run(void **state) {
  static struct fixture f;
  const char *temporary = getenv("TEST_TMP");
  char path[PATH + 64], arguments[PATH + 64];
  if (!getenv("TBENCH")) return 1;
  snprintf(f.folder, sizeof f.folder, "%s/tbench-result.XXXXXX", temporary ? temporary : "/tmp");
  *state = &f;
  if (!mkdtemp(f.folder)) return 1;
  snprintf(path, sizeof path, "%s/small.lua", f.folder);
  FILE *file = fopen(path, "we");
  if (!file || fputs(suite_text, file) < 0 || fclose(file)) return 1;
  f.schema = schema_load(TB_BUILDDIR "/results/schema.json");
  snprintf(arguments, sizeof arguments, "device=cpu,cuda quick=yes out='%s/first.json'", f.folder);
  if (run_suite(&f, arguments)) return 1;
  f.document = load(&f, "first.json");
  return !f.schema || !f.document;
}

static int close_run(void **state) {
  struct fixture *f = *state;
  char command[COMMAND];
  cJSON_Delete(f->schema);
  cJSON_Delete(f->document);
  snprintf(command, sizeof command, "rm -rf '%s'", f->folder);
  return system(command);
}

static const cJSON *at(const cJSON *json, const char *path) {
  char copy[PATH], *save = NULL;
  snprintf(copy, sizeof copy, "%s", path);
  for (char *word = strtok_r(copy, ".", &save); word && json; word = strtok_r(NULL, ".", &save))
    json = cJSON_GetObjectItemCaseSensitive(json, word);
  return json;
}

static double number_at(const cJSON *json, const char *path) {
  const cJSON *item = at(json, path);
  if (!cJSON_IsNumber(item))
    fail_msg("%s: no number at %s", at(json, "id") ? at(json, "id")->valuestring : "document", path);
  return item->valuedouble;
}

static const char *text_at(const cJSON *json, const char *path) {
  const cJSON *item = at(json, path);
  if (!cJSON_IsString(item)) fail_msg("no text at %s", path);
  return item->valuestring;
}

static bool is_built(const cJSON *one) { return !strcmp(text_at(one, "case.device"), "cpu"); }

static void test_schema(void **state) {
  const struct fixture *f = *state;
  char why[WHY];
  if (!schema_describes(f->schema, f->document, why, sizeof why)) fail_msg("%s", why);
}

static void test_cases(void **state) {
  const struct fixture *f = *state;
  const cJSON *cases = at(f->document, "cases"), *one;
  assert_int_equal(cJSON_GetArraySize(cases), 8); /* 2 workloads, 2 batches, 2 devices */
  cJSON_ArrayForEach(one, cases)
    assert_string_equal(text_at(one, "outcome"), is_built(one) ? "ok" : "unsupported");
  assert_non_null(strstr(text_at(cJSON_GetArrayItem(cases, 0), "id"),
                         "small/chain/inductor/default/cpu/f32/b1/machine/t"));
}

static void test_states_have_their_evidence(void **state) {
  static const struct {
    const char *state, *counted;
  } rows[] = {{"cold", "misses"}, {"disk", "disk_hits"}, {"memory", "memory_hits"}};
  static const char *const counters[] = {"misses", "disk_hits", "memory_hits"};
  const struct fixture *f = *state;
  const cJSON *one;
  cJSON_ArrayForEach(one, at(f->document, "cases")) {
    if (!is_built(one)) continue;
    assert_int_equal(cJSON_GetArraySize(at(one, "compile.invalid")), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
      char path[PATH];
      snprintf(path, sizeof path, "compile.%s_ns.median", rows[i].state);
      assert_true(number_at(one, path) > 0);
      for (size_t c = 0; c < sizeof counters / sizeof *counters; c++) {
        snprintf(path, sizeof path, "compile.evidence.%s.%s", rows[i].state, counters[c]);
        const bool expected = !strcmp(counters[c], rows[i].counted);
        if ((number_at(one, path) > 0) != expected)
          fail_msg("%s: %s is %g", text_at(one, "id"), path, number_at(one, path));
      }
    }
    assert_true(number_at(one, "compile.first_call_ns.median") >= number_at(one, "compile.cold_ns.median"));
    assert_true(number_at(one, "compile.start_ns.median") > 0);
  }
}

/* The list of what runs, and the counts. */
static void test_launches(void **state) {
  const struct fixture *f = *state;
  const cJSON *one, *launch;
  cJSON_ArrayForEach(one, at(f->document, "cases")) {
    int kernels = 0, calls = 0;
    if (!is_built(one)) continue;
    cJSON_ArrayForEach(launch, at(one, "graph.launches")) {
      if (!strcmp(text_at(launch, "kind"), "kernel"))
        kernels++;
      else
        calls++;
      assert_true(*text_at(launch, "label") && *text_at(launch, "fused") && number_at(launch, "bytes") > 0);
    }
    assert_true(kernels == number_at(one, "graph.kernels") && calls == number_at(one, "graph.library_calls"));
    assert_true(kernels + calls > 0);
  }
}

static void test_correctness(void **state) {
  const struct fixture *f = *state;
  const cJSON *one;
  cJSON_ArrayForEach(one, at(f->document, "cases")) {
    if (!is_built(one)) continue;
    assert_true(cJSON_IsTrue(at(one, "correctness.ok")));
    assert_string_equal(text_at(one, "correctness.against"), "f64");
    assert_true(number_at(one, "correctness.compared") >= 4); /* calls 1 to 3, and the last of the blocks */
    assert_true(number_at(one, "correctness.max_error") <= number_at(one, "correctness.bound"));
  }
}

static void test_samples(void **state) {
  const struct fixture *f = *state;
  const cJSON *one;
  cJSON_ArrayForEach(one, at(f->document, "cases")) {
    if (!is_built(one)) continue;
    const cJSON *replicates = at(one, "steady.replicates"), *replicate = cJSON_GetArrayItem(replicates, 0);
    assert_int_equal(cJSON_GetArraySize(replicates), 1); /* quick */
    assert_true(cJSON_GetArraySize(at(replicate, "samples_ns")) >= 6);
    assert_int_equal(cJSON_GetArraySize(at(replicate, "samples_ns")) % 2, 0); /* whole rounds */
    assert_string_equal(text_at(one, "speedup.interval_over"), "blocks");
    assert_true(number_at(one, "speedup.lo") <= number_at(one, "speedup.ratio") &&
                number_at(one, "speedup.ratio") <= number_at(one, "speedup.hi"));
  }
}

/* Each run measures its own noise: equal workers against each other, and the calibration kernel, in every
 * replicate. */
static void test_controls(void **state) {
  const struct fixture *f = *state;
  const cJSON *one;
  cJSON_ArrayForEach(one, at(f->document, "cases")) {
    if (!is_built(one)) continue;
    assert_string_equal(text_at(one, "aa.of"), text_at(one, "id"));
    assert_int_equal(cJSON_GetArraySize(at(one, "aa.log_ratios")), 1);
    assert_true(number_at(one, "speedup.noise_floor") > 0);
    assert_int_equal(cJSON_GetArraySize(at(one, "probe.log_ratios")), 1);
    assert_int_equal(cJSON_GetArraySize(at(one, "speedup.log_ratios")), 1);
    assert_true(number_at(one, "probe.median_ns") > 0 && number_at(one, "steady.mad_ns") >= 0);
    assert_string_equal(text_at(one, "speedup.replicates_stop"), "count"); /* quick: one was asked for */
  }
}

/* Where the time of a run went: the parts are within the whole. */
static void test_harness_cost(void **state) {
  const struct fixture *f = *state;
  const cJSON *harness = at(f->document, "harness"), *request;
  double parts = number_at(harness, "own_ns");
  cJSON_ArrayForEach(request, at(harness, "requests_ns")) parts += request->valuedouble;
  assert_float_equal(parts / number_at(harness, "wall_ns"), 1, 1e-6);
  assert_true(number_at(harness, "own_ns") >= number_at(harness, "start_ns") + number_at(harness, "stop_ns") -
                                                  number_at(harness, "wall_ns") * 1e-6);
  assert_true(number_at(harness, "processes") >=
              4 * 6); /* 4 groups: baseline, reference, cold, measured, A/A control, calibration kernel */
  assert_true(number_at(harness, "requests_ns.block") > 0);
  assert_true(cJSON_GetArraySize(at(cJSON_GetArrayItem(at(f->document, "environments"), 0), "noise")) > 10);
}

static bool warned(const cJSON *environment, const char *text) {
  const cJSON *one;
  cJSON_ArrayForEach(one, at(environment, "warnings"))
    if (!strcmp(one->valuestring, text)) return true;
  return false;
}

/* What a run warns of is what its report of noise calls worse, in the same words. */
static void test_one_judge_of_noise(void **state) {
  const struct fixture *f = *state;
  static const char *const told[] = {"governor", "load", "pinning", "hypervisor"};
  const cJSON *environment = cJSON_GetArrayItem(at(f->document, "environments"), 0), *cause;
  cJSON_ArrayForEach(cause, at(environment, "noise")) {
    char text[256];
    bool tells = false;
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
      tells |= !strcmp(at(cause, "cause")->valuestring, told[i]);
    snprintf(text, sizeof text, "%s: %s", at(cause, "what")->valuestring, at(cause, "seen")->valuestring);
    assert_int_equal(warned(environment, text), tells && !strcmp(at(cause, "state")->valuestring, "worse"));
  }
}

/* Every state's whole call; the matrix library's part where there is a product, null where there is none; the
 * stages' sum is within the cold time that they are parts of. */
static void test_where_first_calls_spend_their_time(void **state) {
  const struct fixture *f = *state;
  const cJSON *one, *stage;
  cJSON_ArrayForEach(one, at(f->document, "cases")) {
    if (!is_built(one)) continue;
    static const char *const calls[][2] = {
        {"compile.first_call_ns.median", "compile.cold_ns.median"},
        {"compile.disk_first_call_ns.median", "compile.disk_ns.median"},
        {"compile.memory_first_call_ns.median", "compile.memory_ns.median"}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
      assert_true(number_at(one, calls[i][0]) >= number_at(one, calls[i][1]));
    const bool product = !strcmp(text_at(one, "case.workload"), "layers");
    if (product)
      assert_true(number_at(one, "compile.library_ns.median") + number_at(one, "compile.cold_ns.median") <=
                  number_at(one, "compile.first_call_ns.median"));
    else
      assert_true(cJSON_IsNull(at(one, "compile.library_ns")));
    double stages = 0;
    cJSON_ArrayForEach(stage, at(one, "compile.stages_ns")) stages += stage->valuedouble;
    assert_true(stages > 0 && stages <= number_at(one, "compile.cold_ns.median"));
  }
}

/* Short calls are counted over as many as make some work, and the result says over how many. */
static void test_counters_are_of_many_calls(void **state) {
  enum { WORK_NS = 1000000 };
  const struct fixture *f = *state;
  const cJSON *one;
  cJSON_ArrayForEach(one, at(f->document, "cases")) {
    if (!is_built(one)) continue;
    const double calls = number_at(one, "counted_calls");
    assert_true(calls * number_at(one, "steady.median_ns") >= WORK_NS);
    assert_true(number_at(one, "counters.task_clock_ns.value") > 0);
  }
}

/* Another run of the same commit and seed: the same cases, artifacts and errors; the order of measurement may
 * differ. */
static void test_repeats(void **state) {
  const struct fixture *f = *state;
  char arguments[PATH + 64];
  snprintf(arguments, sizeof arguments, "mode=default batch=4 quick=yes out='%s/second.json'", f->folder);
  assert_int_equal(run_suite(f, arguments), 0);
  cJSON *again = load(f, "second.json");
  const cJSON *one, *other;
  int found = 0;
  cJSON_ArrayForEach(one, at(again, "cases"))
    cJSON_ArrayForEach(other, at(f->document, "cases")) {
      if (strcmp(text_at(one, "id"), text_at(other, "id"))) continue;
      found++;
      assert_string_equal(text_at(one, "graph.artifact"), text_at(other, "graph.artifact"));
      assert_true(number_at(one, "correctness.max_error") == number_at(other, "correctness.max_error"));
    }
  cJSON_Delete(again);
  assert_int_equal(found, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_schema),
      cmocka_unit_test(test_cases),
      cmocka_unit_test(test_states_have_their_evidence),
      cmocka_unit_test(test_where_first_calls_spend_their_time),
      cmocka_unit_test(test_counters_are_of_many_calls),
      cmocka_unit_test(test_launches),
      cmocka_unit_test(test_correctness),
      cmocka_unit_test(test_samples),
      cmocka_unit_test(test_controls),
      cmocka_unit_test(test_harness_cost),
      cmocka_unit_test(test_one_judge_of_noise),
      cmocka_unit_test(test_repeats),
  };
  return cmocka_run_group_tests(tests, open_run, close_run);
}
