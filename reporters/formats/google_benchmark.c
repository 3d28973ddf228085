/* JSON of Google Benchmark: a benchmark a case, a repetition a replicate (its median call), then the median
 * over all; the other figures are counters of that median. Its compare.py breaks off at a benchmark without
 * times, so what failed, and what is missing, is told in the context.
 *
 * Its compare.py demands a cpu_time. What is timed here is the wall clock of a thread that works or waits for
 * its helpers, so real_time stands there too, and "cpu_time": "real_time" in the context says so. */
#include <math.h>
#include <string.h>

#include "reporters/series.h"
#include "reporters/text_out.h"

enum { CASE = 1024, SUFFIX = 16, TEXT = 256 };

static void put_failed(struct tb_json *json, const cJSON *documents) {
  tb_emit_open(json, "failed", '[');
  for (int i = 0; i < tb_doc_count(documents); i++) {
    const cJSON *one_case;
    cJSON_ArrayForEach(one_case, tb_doc_at(tb_doc_nth(documents, i), "cases")) {
      const char *error = tb_case_error(one_case);
      if (tb_case_right(one_case) || tb_case_absent(one_case)) continue;
      tb_emit_open(json, NULL, '{');
      tb_emit_text(json, "name", tb_doc_text(one_case, "id", "?"));
      tb_emit_text(json, "message", error ? error : tb_doc_text(one_case, "outcome", "?"));
      tb_emit_close(json, '}');
    }
  }
  tb_emit_close(json, ']');
}

static void put_context(struct tb_json *json, const cJSON *documents) {
  const cJSON *result = tb_doc_nth(documents, 0);
  const cJSON *environment = cJSON_GetArrayItem(tb_doc_at(result, "environments"), 0);
  const char *hosts[2], *host = tb_two_hosts(documents, hosts)
                                    ? NULL
                                    : tb_doc_text(environment, "host", NULL); /* that of all, or none */
  const char *governor = tb_doc_text(environment, "cpu.governor", NULL);
  tb_emit_open(json, "context", '{');
  tb_emit_text(json, "date", tb_doc_text(result, "started", NULL));
  tb_emit_text(json, "host_name", host);
  tb_emit_text(json, "executable", "tbench");
  tb_emit_number(json, "num_cpus", tb_doc_number(environment, "cpu.pus"));
  if (governor) tb_emit_bool(json, "cpu_scaling_enabled", strcmp(governor, "performance") != 0);
  tb_emit_open(json, "caches", '[');
  tb_emit_close(json, ']');
  tb_emit_text(json, "library_build_type", "release");
  tb_emit_text(json, "tbench_version", tb_doc_text(result, "tbench.version", NULL));
  tb_emit_text(json, "tbench_commit", tb_doc_text(result, "tbench.commit", NULL));
  tb_emit_text(json, "cpu_model", tb_doc_text(environment, "cpu.model", NULL));
  tb_emit_text(json, "cpu_time", "real_time");
  put_failed(json, documents);
  /* Of each result that is not whole, why. */
  char why[TEXT];
  tb_emit_open(json, "incomplete", '[');
  for (int i = 0; i < tb_doc_count(documents); i++)
    if (tb_result_incomplete(tb_doc_nth(documents, i), why, sizeof why)) tb_emit_text(json, NULL, why);
  tb_emit_close(json, ']');
  tb_emit_close(json, '}');
}

struct place {
  int family, repetitions;
};

/* What all entries of a case begin with. `suffix`: of an aggregate. */
static void begin_entry(struct tb_json *json, const cJSON *one_case, const char *suffix,
                        const struct place *place) {
  char id[CASE + 1], name[CASE + SUFFIX];
  tb_short_text(tb_doc_text(one_case, "id", "?"), CASE, id);
  snprintf(name, sizeof name, "%s%s", id, suffix);
  tb_emit_open(json, NULL, '{');
  tb_emit_text(json, "name", name);
  tb_emit_number(json, "family_index", place->family);
  tb_emit_number(json, "per_family_instance_index", 0);
  tb_emit_text(json, "run_name", id);
  tb_emit_text(json, "run_type", *suffix ? "aggregate" : "iteration");
  tb_emit_number(json, "repetitions", place->repetitions);
  tb_emit_number(json, "threads", tb_doc_number(one_case, "case.threads"));
}

static void put_times(struct tb_json *json, double ns) {
  tb_emit_number(json, "real_time", ns);
  tb_emit_number(json, "cpu_time", ns);
  tb_emit_text(json, "time_unit", "ns");
}

static void put_repetitions(struct tb_json *json, const cJSON *one_case, const struct tb_series *steady,
                            const struct place *place) {
  for (int i = 0; i < tb_series_samples(steady); i++) {
    const double ns = tb_series_sample(steady, i);
    if (!isfinite(ns)) continue;
    begin_entry(json, one_case, "", place);
    tb_emit_number(json, "repetition_index", i);
    const int samples = cJSON_GetArraySize(tb_doc_at(cJSON_GetArrayItem(steady->samples, i), "samples_ns"));
    if (samples) tb_emit_number(json, "iterations", samples);
    put_times(json, ns);
    tb_emit_close(json, '}');
  }
}

static void put_median(struct tb_json *json, const cJSON *one_case, const struct tb_series *steady,
                       const struct place *place) {
  begin_entry(json, one_case, "_median", place);
  tb_emit_text(json, "aggregate_name", "median");
  tb_emit_text(json, "aggregate_unit", "time");
  tb_emit_number(json, "iterations", place->repetitions);
  put_times(json, steady->value);
  for (struct tb_series other = {.row = 0}; tb_series_next(one_case, &other);) {
    char counter[TB_SERIES_NAME + 32];
    if (!strcmp(other.name, steady->name)) continue;
    snprintf(counter, sizeof counter, "%s%s", other.name, tb_unit_own(other.unit));
    tb_emit_number(json, counter, other.value);
  }
  tb_emit_close(json, '}');
}

static void put_case(struct tb_json *json, const cJSON *one_case, int family) {
  struct tb_series steady = {.row = 0};
  struct place place = {family, 1};
  if (!tb_series_next(one_case, &steady) || strcmp(steady.name, "steady")) return;
  place.repetitions = tb_series_samples(&steady);
  put_repetitions(json, one_case, &steady, &place);
  put_median(json, one_case, &steady, &place);
}

bool tb_report_google_benchmark(const cJSON *result, const struct tb_report_options *options, FILE *out) {
  struct tb_json json = {.out = out, .indented = true};
  int family = 0;
  (void)options;
  tb_emit_open(&json, NULL, '{');
  put_context(&json, result);
  tb_emit_open(&json, "benchmarks", '[');
  for (int i = 0; i < tb_doc_count(result); i++) {
    const cJSON *one_case;
    cJSON_ArrayForEach(one_case, tb_doc_at(tb_doc_nth(result, i), "cases")) {
      if (tb_case_right(one_case)) put_case(&json, one_case, family++);
    }
  }
  tb_emit_close(&json, ']');
  tb_emit_close(&json, '}');
  return !ferror(out);
}
