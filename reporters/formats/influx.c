/* InfluxDB's line protocol: tbench,TAGS FIELDS NANOSECONDS, a line a case, and tbench_run,host=HOST
 * complete=BOOL a run. Field names have their unit as the document has it. The time is that of the run's
 * start; without it the server takes its own. */
#include <math.h>

#include "reporters/series.h"
#include "reporters/text_out.h"
#include "results/rfc3339.h"

static const double ns_per_s = 1e9;

/* Inside of the quotes of a text field. */
static const char *escape_field(uint32_t c, char *buffer) {
  if (c == '"' || c == '\\') {
    snprintf(buffer, TB_ESCAPE_ROOM, "\\%c", (char)c);
    return buffer;
  }
  return c < ' ' || c == 0x7F ? " " : NULL;
}

static void put_tags(FILE *out, const cJSON *result, const cJSON *one_case) {
  for (struct tb_tag tag = {.row = 0}; tb_tag_next(result, one_case, &tag);) {
    fprintf(out, ",%s", tag.prefix);
    tb_put_text(out, tag.name, tb_escape_name);
    fputc('=', out);
    tb_put_text(out, tag.text, tb_escape_influx);
  }
}

static void put_number(FILE *out, const char *name, const char *part, const char *unit, double value) {
  if (!isfinite(value)) return;
  fprintf(out, ",%s%s%s=", name, part, unit);
  tb_put_number(out, value);
}

static void put_fields(FILE *out, const cJSON *one_case) {
  fputs(" outcome=\"", out);
  tb_put_text(out, tb_doc_text(one_case, "outcome", "?"), escape_field);
  fprintf(out, "\",ok=%s", tb_case_right(one_case) ? "true" : "false");
  if (!tb_case_right(one_case)) return;
  if (isfinite(tb_case_complete(one_case)))
    fprintf(out, ",complete=%s", tb_case_complete(one_case) > 0 ? "true" : "false");
  for (struct tb_series series = {.row = 0}; tb_series_next(one_case, &series);) {
    const char *unit = tb_unit_own(series.unit);
    put_number(out, series.name, "", unit, series.value);
    put_number(out, series.name, "_lower", unit, series.lo);
    put_number(out, series.name, "_upper", unit, series.hi);
  }
}

static void put_end(FILE *out, double started) {
  if (isfinite(started)) fprintf(out, " %.0f", floor(started) * ns_per_s);
  fputc('\n', out);
}

bool tb_report_influx(const cJSON *result, const struct tb_report_options *options, FILE *out) {
  (void)options;
  for (int i = 0; i < tb_doc_count(result); i++) {
    const cJSON *one = tb_doc_nth(result, i), *one_case;
    const double started = tb_doc_time(one, "started");
    char made[TB_TAG_TEXT + 1];
    const char *host = tb_run_host(one, made);
    fputs("tbench_run", out);
    if (host) {
      fputs(",host=", out);
      tb_put_text(out, host, tb_escape_influx);
    }
    fprintf(out, " complete=%s", tb_result_complete(one) ? "true" : "false");
    put_end(out, started);
    cJSON_ArrayForEach(one_case, tb_doc_at(one, "cases")) {
      if (tb_case_absent(one_case)) continue;
      fputs("tbench", out);
      put_tags(out, one, one_case);
      put_fields(out, one_case);
      put_end(out, started);
    }
  }
  return !ferror(out);
}
