/* LNT report, format version 2, for the suite nts, which refuses metrics that it does not know: times in
 * seconds, sizes in bytes, the speedup as the score (more is better), and a status that is not 0 for a case
 * that is not right.
 *
 * Runs are ordered by llvm_project_revision, as whole numbers: it is the time of the run, in UTC. The commit
 * stands beside it. A report holds one run on one machine, so it takes one result, of one host. Names and
 * hashes are as long as LNT's columns: where it stands on PostgreSQL, a longer one fails the whole run.
 *
 * A run that did not end says so among its own fields, since the cases that it lacks have no test.
 *
 * LNT tells no change of less than 0.01 of a metric's unit, so of times none under 10 ms: for short calls it
 * watches the score. */
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "reporters/series.h"
#include "reporters/text_out.h"
#include "results/rfc3339.h"

enum { NAME = 256, HASH = 32, FAIL = 1, PASS = 0 };
static const double ns_per_s = 1e9;

static const struct {
  const char *name, *metric;
} metrics[] = {{"steady", "execution_time"},
               {"cold", "compile_time"},
               {"speedup", "score"},
               {"peak", "mem_bytes"},
               {"code", "code_size"}};

static const char *metric_of(const char *name) {
  for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
    if (!strcmp(metrics[i].name, name)) return metrics[i].metric;
  return NULL;
}

static void put_text(struct tb_json *json, const char *key, const char *text) {
  char name[NAME + 1];
  if (!text) return;
  tb_short_text(text, NAME, name);
  tb_emit_text(json, key, name);
}

/* "20260102030405" */
static void put_revision(struct tb_json *json, const char *started) {
  char revision[TB_UTC_TEXT];
  size_t used = 0;
  for (; *started; started++)
    if (*started >= '0' && *started <= '9') revision[used++] = *started;
  revision[used] = '\0';
  tb_emit_text(json, "llvm_project_revision", revision);
}

/* Times without their zone, which is UTC. */
static void put_run(struct tb_json *json, const cJSON *result) {
  char begin[TB_UTC_TEXT], end[TB_UTC_TEXT], incomplete[NAME];
  const double started = tb_doc_time(result, "started"), finished = tb_doc_time(result, "finished");
  tb_utc_text(started, begin);
  tb_utc_text(isfinite(finished) ? finished : started, end);
  tb_emit_open(json, "run", '{');
  tb_emit_text(json, "start_time", begin);
  tb_emit_text(json, "end_time", end);
  put_revision(json, begin);
  tb_emit_text(json, "tbench_version", tb_doc_text(result, "tbench.version", NULL));
  tb_emit_text(json, "tbench_commit", tb_doc_text(result, "tbench.commit", NULL));
  if (tb_result_incomplete(result, incomplete, sizeof incomplete))
    tb_emit_text(json, "tbench_incomplete", incomplete);
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

/* LNT shows no change of time or score between runs of one executable, which it knows by this hash. What runs
 * is the artifact and the program around it, so it is of both; without it, where one of them is not known,
 * all changes are shown. */
static void put_hash(struct tb_json *json, const cJSON *result, const cJSON *one_case) {
  const char *const parts[] = {tb_doc_text(one_case, "graph.artifact", NULL), tb_doc_commit(result),
                               tb_doc_text(result, "tbench.build", "")};
  struct tc_sha256 sha;
  unsigned char digest[TC_SHA256_BYTES];
  char text[TC_SHA256_HEX];
  tc_sha256_init(&sha);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (!parts[i]) return;
    tc_sha256_add(&sha, parts[i], strlen(parts[i]) + 1);
  }
  tc_sha256_end(&sha, digest);
  tc_sha256_hex(digest, text);
  text[HASH] = '\0';
  tb_emit_text(json, "hash", text);
}

static void put_case(const cJSON *result, const cJSON *one_case, void *context) {
  struct tb_json *json = context;
  if (tb_case_absent(one_case)) return;
  tb_emit_open(json, NULL, '{');
  put_text(json, "name", tb_doc_text(one_case, "id", "?"));
  tb_emit_number(json, "execution_status", tb_case_right(one_case) ? PASS : FAIL);
  if (tb_case_right(one_case)) {
    for (struct tb_series series = {.row = 0}; tb_series_next(one_case, &series);)
      if (metric_of(series.name)) put_metric(json, metric_of(series.name), &series);
    put_hash(json, result, one_case);
  }
  tb_emit_close(json, '}');
}

bool tb_report_lnt(const cJSON *result, const struct tb_report_options *options, FILE *out) {
  struct tb_json json = {.out = out, .indented = true};
  const char *hosts[2];
  if (tb_doc_count(result) != 1)
    return tb_report_lacks(options, "a report of LNT holds one run: name one file");
  result = tb_doc_nth(result, 0);
  if (!isfinite(tb_doc_time(result, "started")))
    return tb_report_lacks(options,
                           "the result does not say when it was started, by which LNT orders its runs");
  if (tb_two_hosts(result, hosts))
    return tb_report_lacks_host(options, "its cases are", hosts, "a report of LNT is of one machine");
  tb_emit_open(&json, NULL, '{');
  tb_emit_text(&json, "format_version", "2");
  const cJSON *environment = cJSON_GetArrayItem(tb_doc_at(result, "environments"), 0);
  tb_emit_open(&json, "machine", '{');
  put_text(&json, "name", tb_doc_text(environment, "host", "unknown"));
  put_text(&json, "hardware", tb_doc_text(environment, "cpu.model", NULL));
  put_text(&json, "os", tb_doc_text(environment, "os", NULL));
  tb_emit_close(&json, '}');
  put_run(&json, result);
  tb_emit_open(&json, "tests", '[');
  const bool good = tb_each_last_case(result, put_case, &json);
  tb_emit_close(&json, ']');
  tb_emit_close(&json, '}');
  return good && !ferror(out);
}
