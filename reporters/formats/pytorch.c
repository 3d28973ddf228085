/* Records of PyTorch's benchmark database, schema v3 (test-infra:
 * clickhouse_db_schema/benchmark.oss_ci_benchmark_v3), as a list in a file of the folder that its CI action
 * uploads, which adds repository, commit and job. A record a figure of a case; values of extra_info are
 * texts. Values of the repetitions are all there, as the table wants them. */
#include <math.h>

#include "reporters/series.h"
#include "reporters/text_out.h"
#include "results/rfc3339.h"

static void put_metric(struct tb_json *json, const struct tb_series *series) {
  char name[TB_SERIES_NAME + 32];
  const int n = tb_series_samples(series);
  snprintf(name, sizeof name, "%s%s", series->name, tb_unit_own(series->unit));
  tb_emit_open(json, "metric", '{');
  tb_emit_text(json, "name", name);
  tb_emit_open(json, "benchmark_values", '[');
  if (!n) tb_emit_number(json, NULL, series->value);
  for (int i = 0; i < n; i++) tb_emit_number(json, NULL, tb_series_sample(series, i));
  tb_emit_close(json, ']');
  tb_emit_open(json, "extra_info", '{');
  tb_emit_text(json, "better", series->higher_is_better ? "higher" : "lower");
  tb_emit_text(json, "description", series->help);
  tb_emit_close(json, '}');
  tb_emit_close(json, '}');
}

static void put_machine(struct tb_json *json, const cJSON *environment) {
  tb_emit_open(json, "runners", '[');
  tb_emit_open(json, NULL, '{');
  tb_emit_text(json, "name", tb_doc_text(environment, "host", NULL));
  tb_emit_text(json, "cpu_info", tb_doc_text(environment, "cpu.model", NULL));
  tb_emit_number(json, "cpu_count", tb_doc_number(environment, "cpu.cores"));
  tb_emit_open(json, "extra_info", '{');
  tb_emit_text(json, "os", tb_doc_text(environment, "os", NULL));
  tb_emit_text(json, "kernel", tb_doc_text(environment, "kernel", NULL));
  tb_emit_text(json, "bound_to", tb_doc_text(environment, "bound_to", NULL));
  tb_emit_close(json, '}');
  tb_emit_close(json, '}');
  tb_emit_close(json, ']');
}

static void put_dependency(struct tb_json *json, const char *name, const char *version, const char *commit) {
  if (!version) return;
  tb_emit_open(json, name, '{');
  tb_emit_text(json, "version", version);
  tb_emit_text(json, "sha", commit);
  tb_emit_close(json, '}');
}

static void put_case(struct tb_json *json, const cJSON *result, const cJSON *one_case) {
  const cJSON *environment = tb_case_environment(result, one_case);
  for (struct tb_series series = {.row = 0}; tb_series_next(one_case, &series);) {
    tb_emit_open(json, NULL, '{');
    tb_emit_text(json, "schema_version", "v3");
    tb_emit_number(json, "timestamp", floor(tb_doc_time(result, "started")));
    tb_emit_open(json, "benchmark", '{');
    tb_emit_text(json, "name", "tbench");
    tb_emit_text(json, "dtype", tb_doc_text(one_case, "case.dtype", NULL));
    tb_emit_open(json, "extra_info", '{');
    for (struct tb_tag tag = {.row = 0}; tb_tag_next(result, one_case, &tag);) {
      char name[TB_TAG_NAME];
      snprintf(name, sizeof name, "%s%s", tag.prefix, tag.name);
      tb_emit_text(json, name, tag.text);
    }
    tb_emit_close(json, '}');
    tb_emit_close(json, '}');
    tb_emit_open(json, "model", '{');
    tb_emit_text(json, "name", tb_doc_text(one_case, "case.workload", "?"));
    tb_emit_text(json, "type", tb_doc_text(one_case, "case.suite", NULL));
    tb_emit_text(json, "backend", tb_doc_text(one_case, "case.backend", NULL));
    tb_emit_close(json, '}');
    put_metric(json, &series);
    put_machine(json, environment);
    const char *whole = tb_doc_whole_commit(result);
    tb_emit_open(json, "dependencies", '{');
    put_dependency(json, "tbench", tb_doc_text(result, "tbench.version", NULL),
                   whole ? whole : tb_doc_text(result, "tbench.commit", NULL));
    put_dependency(json, "llvm", tb_doc_text(environment, "llvm", NULL), NULL);
    put_dependency(json, "lua", tb_doc_text(environment, "lua", NULL), NULL);
    put_dependency(json, "blas", tb_doc_text(environment, "blas", NULL), NULL);
    tb_emit_close(json, '}');
    tb_emit_close(json, '}');
  }
}

bool tb_report_pytorch(const cJSON *result, const struct tb_report_options *options, FILE *out) {
  struct tb_json json = {.out = out, .indented = true};
  (void)options;
  tb_emit_open(&json, NULL, '[');
  for (int i = 0; i < tb_doc_count(result); i++) {
    const cJSON *one = tb_doc_nth(result, i), *one_case;
    cJSON_ArrayForEach(one_case, tb_doc_at(one, "cases")) {
      if (tb_case_right(one_case)) put_case(&json, one, one_case);
    }
  }
  tb_emit_close(&json, ']');
  return !ferror(out);
}
