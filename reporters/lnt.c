/* LNT report, format version 2, for the suite nts, which refuses metrics that it does not know: times in seconds, sizes in bytes, the
 * artifact as the hash, the speedup as the score (more is better), and a status that is not 0 for a case that is not right.
 *
 * Runs are ordered by llvm_project_revision, as whole numbers: it is the time of the run. The commit stands beside it. A report holds one
 * run on one machine, so it takes one result. */
#include <math.h>
#include <string.h>

#include "reporters/series.h"
#include "reporters/text_out.h"

enum { REVISION = 16, FAIL = 1, PASS = 0 };
static const double ns_per_s = 1e9;

static const struct { const char *name, *metric; } metrics[] = {
    {"steady", "execution_time"}, {"cold", "compile_time"}, {"speedup", "score"}, {"peak", "mem_bytes"}, {"code", "code_size"}};

static const char *metric_of(const char *name) {
  for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
    if (!strcmp(metrics[i].name, name)) return metrics[i].metric;
  return NULL;
}

/* "20260102030405" */
static void revision_of(const char *started, char out[REVISION]) {
  size_t used = 0;
  for (; *started && used < REVISION - 2; started++)
    if (*started >= '0' && *started <= '9') out[used++] = *started;
  out[used] = '\0';
}

static void put_machine(struct tb_json *json, const cJSON *result) {
  const cJSON *environment = cJSON_GetArrayItem(tb_doc_at(result, "environments"), 0);
  tb_emit_open(json, "machine", '{');
  tb_emit_text(json, "name", tb_doc_text(environment, "host", "unknown"));
  tb_emit_text(json, "hardware", tb_doc_text(environment, "cpu.model", NULL));
  tb_emit_text(json, "os", tb_doc_text(environment, "os", NULL));
  tb_emit_close(json, '}');
}

/* A time without its zone, which is UTC. */
static void put_time(struct tb_json *json, const char *key, const char *time) {
  char text[sizeof "2026-01-02T03:04:05"];
  if (!time) return;
  snprintf(text, sizeof text, "%s", time);
  tb_emit_text(json, key, text);
}

static void put_run(struct tb_json *json, const cJSON *result) {
  char revision[REVISION];
  const char *started = tb_doc_text(result, "started", "");
  revision_of(started, revision);
  tb_emit_open(json, "run", '{');
  put_time(json, "start_time", started);
  put_time(json, "end_time", tb_doc_text(result, "finished", started));
  tb_emit_text(json, "llvm_project_revision", revision);
  tb_emit_text(json, "tbench_version", tb_doc_text(result, "tbench.version", NULL));
  tb_emit_text(json, "tbench_commit", tb_doc_text(result, "tbench.commit", NULL));
  tb_emit_close(json, '}');
}

static void put_metric(struct tb_json *json, const char *metric, const struct tb_series *series) {
  const double divisor = series->unit == TB_UNIT_NS ? ns_per_s : 1;
  const int n = tb_series_samples(series);
  if (n < 2) {
    tb_emit_number(json, metric, series->value / divisor);
    return;
  }
  tb_emit_open(json, metric, '[');
  for (int i = 0; i < n; i++) tb_emit_number(json, NULL, tb_series_sample(series, i) / divisor);
  tb_emit_close(json, ']');
}

static void put_case(struct tb_json *json, const cJSON *one_case) {
  tb_emit_open(json, NULL, '{');
  tb_emit_text(json, "name", tb_doc_text(one_case, "id", "?"));
  tb_emit_number(json, "execution_status", tb_case_right(one_case) ? PASS : FAIL);
  if (tb_case_right(one_case)) {
    for (struct tb_series series = {.row = 0}; tb_series_next(one_case, &series);)
      if (metric_of(series.name)) put_metric(json, metric_of(series.name), &series);
    tb_emit_text(json, "hash", tb_doc_text(one_case, "graph.artifact", NULL));
  }
  tb_emit_close(json, '}');
}

bool tb_report_lnt(const cJSON *result, const struct tb_report_options *options, FILE *out) {
  struct tb_json json = {.out = out, .indented = true};
  const cJSON *one_case;
  if (tb_doc_count(result) != 1) return tb_report_lacks(options, "a report of LNT holds one run: name one file");
  result = tb_doc_nth(result, 0);
  if (!isfinite(tb_doc_time(result, "started"))) return tb_report_lacks(options, "the result does not say when it was started, by which LNT orders its runs");
  tb_emit_open(&json, NULL, '{');
  tb_emit_text(&json, "format_version", "2");
  put_machine(&json, result);
  put_run(&json, result);
  tb_emit_open(&json, "tests", '[');
  cJSON_ArrayForEach(one_case, tb_doc_at(result, "cases")) {
    if (!tb_case_absent(one_case) && tb_case_is_last(result, 0, one_case)) put_case(&json, one_case);
  }
  tb_emit_close(&json, ']');
  tb_emit_close(&json, '}');
  return !ferror(out);
}
