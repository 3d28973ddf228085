/* Bencher Metric Format: { "CASE": { "MEASURE": { "value": N, "lower_value": N, "upper_value": N } } }.
 * Measures that Bencher has itself keep its names and units ("latency" is in nanoseconds); others have their
 * unit in the name. Names are as long as Bencher takes them, which refuses the whole report otherwise.
 *
 * A benchmark of ours, "tbench/run", has the measure "complete": 1, or 0 where the run was cut, so that a
 * threshold (a static one, lower boundary 1) tells of it. Cases have it too: 0 where their replicates were
 * cut.
 *
 * A name is there once, and no machine beside it: a case that was measured on two hosts is refused. */
#include <math.h>
#include <string.h>

#include "reporters/series.h"
#include "reporters/text_out.h"

enum { UNIT = 32, CASE = 1024, MEASURE = 64 };

static const char complete_measure[] = "complete";
static const struct {
  const char *name, *measure;
} built_in[] = {{"steady", "latency"}, {"code", "file-size"}, {"instructions", "instructions"}};

/* Lower case, words joined by one hyphen each. */
static void slug_of(const struct tb_series *series, char out[MEASURE + 1]) {
  char name[TB_SERIES_NAME + UNIT], slug[TB_SERIES_NAME + UNIT];
  size_t used = 0;
  for (size_t i = 0; i < sizeof built_in / sizeof *built_in; i++)
    if (!strcmp(series->name, built_in[i].name)) {
      snprintf(out, MEASURE + 1, "%s", built_in[i].measure);
      return;
    }
  snprintf(name, sizeof name, "%s%s", series->name, tb_unit_own(series->unit));
  for (const char *c = name; *c; c++) {
    if (*c != '_')
      slug[used++] = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    else if (used && slug[used - 1] != '-')
      slug[used++] = '-';
  }
  while (used && slug[used - 1] == '-') used--;
  slug[used] = '\0';
  tb_short_text(slug, MEASURE, out);
}

static void put_measure(struct tb_json *json, const char *measure, double value, double lo, double hi) {
  if (!isfinite(value)) return;
  tb_emit_open(json, measure, '{');
  tb_emit_number(json, "value", value);
  tb_emit_number(json, "lower_value", lo);
  tb_emit_number(json, "upper_value", hi);
  tb_emit_close(json, '}');
}

static void put_case(const cJSON *result, const cJSON *one_case, void *context) {
  struct tb_json *json = context;
  char name[CASE + 1];
  (void)result;
  if (!tb_case_right(one_case)) return;
  tb_short_text(tb_doc_text(one_case, "id", "?"), CASE, name);
  tb_emit_open(json, name, '{');
  for (struct tb_series series = {.row = 0}; tb_series_next(one_case, &series);) {
    char measure[MEASURE + 1];
    slug_of(&series, measure);
    put_measure(json, measure, series.value, series.lo, series.hi);
  }
  put_measure(json, complete_measure, tb_case_complete(one_case), NAN, NAN);
  tb_emit_close(json, '}');
}

bool tb_report_bencher(const cJSON *result, const struct tb_report_options *options, FILE *out) {
  struct tb_json json = {.out = out, .indented = true};
  const char *hosts[2];
  if (tb_case_of_two_hosts(result, hosts))
    return tb_report_lacks_host(options, "a case is", hosts, "a report of Bencher has a name once");
  tb_emit_open(&json, NULL, '{');
  if (tb_doc_count(result)) {
    /* Of several results: are all of them whole? */
    bool complete = true;
    for (int i = 0; i < tb_doc_count(result); i++)
      complete = tb_result_complete(tb_doc_nth(result, i)) && complete;
    tb_emit_open(&json, "tbench/run", '{');
    put_measure(&json, complete_measure, complete, NAN, NAN);
    tb_emit_close(&json, '}');
  }
  const bool good = tb_each_last_case(result, put_case, &json);
  tb_emit_close(&json, '}');
  return good && !ferror(out);
}
