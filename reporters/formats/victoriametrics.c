/* Lines for VictoriaMetrics' /api/v1/import: {"metric":{"__name__":…,LABELS},"values":[V],"timestamps":[MS]},
 * a line a figure. Names and units are those of Prometheus; the time is that of the run's start. Of the run
 * itself there is tbench_run_complete. */
#include <math.h>

#include "reporters/series.h"
#include "reporters/text_out.h"
#include "results/rfc3339.h"

static const double ms_per_s = 1e3;

struct line {
  const cJSON *result, *one_case /* NULL: of the run itself */;
  double ms;
  FILE *out;
};

static void put_label_name(const struct tb_tag *tag, char *out, size_t size) {
  snprintf(out, size, "%s%s", tag->prefix, tag->name);
  for (; *out; out++)
    if (!((*out >= 'a' && *out <= 'z') || (*out >= 'A' && *out <= 'Z') || (*out >= '0' && *out <= '9')))
      *out = '_';
}

static void put_line(const struct line *line, const char *name, double value) {
  struct tb_json json = {.out = line->out};
  if (!isfinite(value)) return;
  tb_emit_open(&json, NULL, '{');
  tb_emit_open(&json, "metric", '{');
  tb_emit_text(&json, "__name__", name);
  char label[TB_SERIES_NAME], host[TB_TAG_TEXT + 1];
  if (!line->one_case) tb_emit_text(&json, "host", tb_run_host(line->result, host));
  for (struct tb_tag tag = {.row = 0}; line->one_case && tb_tag_next(line->result, line->one_case, &tag);) {
    put_label_name(&tag, label, sizeof label);
    tb_emit_text(&json, label, tag.text);
  }
  tb_emit_close(&json, '}');
  tb_emit_open(&json, "values", '[');
  tb_emit_number(&json, NULL, value);
  tb_emit_close(&json, ']');
  tb_emit_open(&json, "timestamps", '[');
  tb_emit_number(&json, NULL, line->ms);
  tb_emit_close(&json, ']');
  tb_emit_close(&json, '}');
}

static void put_case(const struct line *line) {
  static const char *const parts[] = {"", "_lower", "_upper"};
  put_line(line, "tbench_case_ok", tb_case_right(line->one_case));
  if (!tb_case_right(line->one_case)) return;
  put_line(line, "tbench_case_complete", tb_case_complete(line->one_case));
  for (struct tb_series series = {.row = 0}; tb_series_next(line->one_case, &series);) {
    const double values[] = {series.value, series.lo, series.hi};
    double divisor;
    tb_unit_base(series.unit, &divisor);
    for (int i = 0; i < 3; i++) {
      char name[2 * TB_SERIES_NAME];
      tb_metric_name(&series, parts[i], name, sizeof name);
      put_line(line, name, values[i] / divisor);
    }
  }
}

bool tb_report_victoriametrics(const cJSON *result, const struct tb_report_options *options, FILE *out) {
  for (int i = 0; i < tb_doc_count(result); i++)
    if (cJSON_GetArraySize(tb_doc_at(tb_doc_nth(result, i), "cases")) &&
        !isfinite(tb_doc_time(tb_doc_nth(result, i), "started")))
      return tb_report_lacks(options,
                             "a result does not say when it was started, which is the time of its figures");
  for (int i = 0; i < tb_doc_count(result); i++) {
    struct line line = {.result = tb_doc_nth(result, i), .out = out};
    line.ms = floor(tb_doc_time(line.result, "started") * ms_per_s);
    if (isfinite(line.ms)) put_line(&line, "tbench_run_complete", tb_result_complete(line.result));
    cJSON_ArrayForEach(line.one_case, tb_doc_at(line.result, "cases")) {
      if (!tb_case_absent(line.one_case)) put_case(&line);
    }
  }
  return !ferror(out);
}
