/* Conbench: an array of what POST /api/benchmark-results/ takes, an element a figure of a case. It knows
 * times, bytes and bytes a second (conbench/units.py) and refuses all else, so other figures are left out. A
 * case that is not right has an element with its error.
 *
 * Its description of a machine demands figures that a result does not have (sizes of caches, of memory), and
 * nothing may be made up, so the machine is told as a cluster, which is free in what it says. The repository
 * is not in a result either: it comes from the variables that Conbench's own clients read, as does the
 * commit; without that variable it is the one of the program that measured. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reporters/series.h"
#include "reporters/text_out.h"
#include "results/rfc3339.h"

enum { TEXT = 512, PART = 160 /* of a text that is put together */ };
static const char repository_variable[] = "CONBENCH_PROJECT_REPOSITORY",
                  commit_variable[] = "CONBENCH_PROJECT_COMMIT",
                  pull_request_variable[] = "CONBENCH_PROJECT_PR_NUMBER", site[] = "https://github.com/";

/* NULL: Conbench has no such unit. */
static const char *unit_of(enum tb_unit unit) {
  return unit == TB_UNIT_NS ? "ns" : unit == TB_UNIT_BYTES ? "B" : unit == TB_UNIT_BYTES_PER_S ? "B/s" : NULL;
}

static const char *variable(const char *name) {
  const char *value = getenv(name);
  return value && *value ? value : NULL;
}

static void put_machine(struct tb_json *json, const cJSON *environment) {
  tb_emit_open(json, "cluster_info", '{');
  tb_emit_text(json, "name", tb_doc_text(environment, "host", "unknown"));
  tb_emit_open(json, "info", '{');
  tb_emit_text(json, "cpu", tb_doc_text(environment, "cpu.model", NULL));
  tb_emit_number(json, "cores", tb_doc_number(environment, "cpu.cores"));
  tb_emit_close(json, '}');
  tb_emit_open(json, "optional_info", '{');
  tb_emit_text(json, "os", tb_doc_text(environment, "os", NULL));
  tb_emit_text(json, "kernel", tb_doc_text(environment, "kernel", NULL));
  tb_emit_close(json, '}');
  tb_emit_close(json, '}');
}

/* The conceptual benchmark is a figure of a workload; what tells its cases apart are the tags. */
static void put_tags(struct tb_json *json, const cJSON *result, const cJSON *one_case, const char *figure) {
  char name[TEXT], suite[PART + 1], workload[PART + 1];
  tb_short_text(tb_doc_text(one_case, "case.suite", "?"), PART, suite);
  tb_short_text(tb_doc_text(one_case, "case.workload", "?"), PART, workload);
  snprintf(name, sizeof name, "%s/%s %s", suite, workload, figure);
  tb_emit_open(json, "tags", '{');
  tb_emit_text(json, "name", name);
  for (struct tb_tag tag = {.row = 0}; tb_tag_next(result, one_case, &tag);) {
    char key[TB_TAG_NAME];
    if (!strcmp(tag.name, "id") || !strcmp(tag.name, "host"))
      continue; /* made of the others; of the machine */
    snprintf(key, sizeof key, "%s%s", tag.prefix, tag.name);
    tb_emit_text(json, key, tag.text);
  }
  tb_emit_close(json, '}');
}

static void begin_element(struct tb_json *json, const cJSON *result, const cJSON *one_case,
                          const char *figure) {
  const cJSON *environment = tb_case_environment(result, one_case);
  const double seed = tb_doc_number(result, "seed");
  char run[TEXT], host[PART + 1];
  tb_short_text(tb_doc_text(environment, "host", "?"), PART, host);
  snprintf(run, sizeof run, "tbench %s %s %.0f", host, tb_doc_text(result, "started", "?"),
           isfinite(seed) ? seed : 0);
  tb_emit_open(json, NULL, '{');
  tb_emit_text(json, "run_id", run);
  tb_emit_text(json, "batch_id", run);
  tb_emit_text(json, "timestamp", tb_doc_text(result, "started", NULL));
  put_tags(json, result, one_case, figure);
  /* What breaks a history where it changes. */
  tb_emit_open(json, "context", '{');
  tb_emit_text(json, "benchmark_language", "Lua");
  tb_emit_text(json, "build", tb_doc_text(result, "tbench.build", NULL));
  tb_emit_text(json, "llvm", tb_doc_text(environment, "llvm", NULL));
  tb_emit_text(json, "blas", tb_doc_text(environment, "blas", NULL));
  tb_emit_close(json, '}');
  tb_emit_open(json, "info", '{');
  tb_emit_text(json, "id", tb_doc_text(one_case, "id", NULL));
  tb_emit_text(json, "tbench_version", tb_doc_text(result, "tbench.version", NULL));
  tb_emit_text(json, "artifact", tb_doc_text(one_case, "graph.artifact", NULL));
  tb_emit_close(json, '}');
  put_machine(json, environment);
  const char *commit = variable(commit_variable);
  if (!commit) commit = tb_doc_whole_commit(result); /* a shortened one has no parents there, so no history */
  tb_emit_open(json, "github", '{');
  tb_emit_text(json, "repository", variable(repository_variable));
  tb_emit_text(json, "commit", commit);
  tb_emit_text(json, "pr_number", variable(pull_request_variable));
  tb_emit_close(json, '}');
}

static void put_case(struct tb_json *json, const cJSON *result, const cJSON *one_case) {
  if (!tb_case_right(one_case)) {
    begin_element(json, result, one_case, "steady");
    tb_emit_open(json, "error", '{');
    tb_emit_text(json, "outcome", tb_doc_text(one_case, "outcome", "?"));
    tb_emit_text(json, "message", tb_case_error(one_case));
    tb_emit_close(json, '}');
    tb_emit_close(json, '}');
    return;
  }
  for (struct tb_series series = {.row = 0}; tb_series_next(one_case, &series);) {
    if (!unit_of(series.unit)) continue;
    begin_element(json, result, one_case, series.name);
    const int n = tb_series_samples(&series);
    tb_emit_open(json, "stats", '{');
    tb_emit_open(json, "data", '[');
    if (!n) tb_emit_number(json, NULL, series.value);
    for (int i = 0; i < n; i++) tb_emit_number(json, NULL, tb_series_sample(&series, i));
    tb_emit_close(json, ']');
    tb_emit_text(json, "unit", unit_of(series.unit));
    tb_emit_close(json, '}');
    tb_emit_close(json, '}');
  }
}

bool tb_report_conbench(const cJSON *result, const struct tb_report_options *options, FILE *out) {
  struct tb_json json = {.out = out, .indented = true};
  const char *repository = variable(repository_variable);
  if (!repository || strncmp(repository, site, strlen(site)) != 0)
    return tb_report_lacks(
        options, "Conbench wants to know the repository: set "
                 "CONBENCH_PROJECT_REPOSITORY=https://github.com/ORG/REPO (and CONBENCH_PROJECT_COMMIT)");
  for (int i = 0; i < tb_doc_count(result); i++)
    if (cJSON_GetArraySize(tb_doc_at(tb_doc_nth(result, i), "cases")) &&
        !isfinite(tb_doc_time(tb_doc_nth(result, i), "started")))
      return tb_report_lacks(options,
                             "a result does not say when it was started, which Conbench wants to know");
  tb_emit_open(&json, NULL, '[');
  for (int i = 0; i < tb_doc_count(result); i++) {
    const cJSON *one = tb_doc_nth(result, i), *one_case;
    cJSON_ArrayForEach(one_case, tb_doc_at(one, "cases")) {
      if (!tb_case_absent(one_case)) put_case(&json, one, one_case);
    }
  }
  tb_emit_close(&json, ']');
  return !ferror(out);
}
