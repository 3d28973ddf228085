/* Bencher Metric Format: { "CASE": { "MEASURE": { "value": N, "lower_value": N, "upper_value": N } } }.
 * Measures that Bencher has itself keep its names and units ("latency" is in nanoseconds); others have their unit in the name. */
#include <string.h>

#include "reporters/series.h"
#include "reporters/text_out.h"

enum { UNIT = 32 };

static const struct { const char *name, *measure; } built_in[] = {{"steady", "latency"}, {"code", "file-size"}, {"instructions", "instructions"}};

/* Lower case, words joined by one hyphen each. */
static void slug_of(const struct tb_series *series, char *out, size_t size) {
  char name[TB_SERIES_NAME + UNIT];
  size_t used = 0;
  for (size_t i = 0; i < sizeof built_in / sizeof *built_in; i++)
    if (!strcmp(series->name, built_in[i].name)) {
      snprintf(out, size, "%s", built_in[i].measure);
      return;
    }
  snprintf(name, sizeof name, "%s%s", series->name, tb_unit_own(series->unit));
  for (const char *c = name; *c && used + 1 < size; c++) {
    if (*c != '_') out[used++] = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    else if (used && out[used - 1] != '-') out[used++] = '-';
  }
  while (used && out[used - 1] == '-') used--;
  out[used] = '\0';
}

static void put_case(struct tb_json *json, const cJSON *one_case) {
  tb_emit_open(json, tb_doc_text(one_case, "id", "?"), '{');
  for (struct tb_series series = {.row = 0}; tb_series_next(one_case, &series);) {
    char measure[TB_SERIES_NAME + UNIT];
    slug_of(&series, measure, sizeof measure);
    tb_emit_open(json, measure, '{');
    tb_emit_number(json, "value", series.value);
    tb_emit_number(json, "lower_value", series.lo);
    tb_emit_number(json, "upper_value", series.hi);
    tb_emit_close(json, '}');
  }
  tb_emit_close(json, '}');
}

bool tb_report_bencher(const cJSON *result, const struct tb_report_options *options, FILE *out) {
  struct tb_json json = {.out = out, .indented = true};
  (void)options;
  tb_emit_open(&json, NULL, '{');
  for (int i = 0; i < tb_doc_count(result); i++) {
    const cJSON *one_case;
    cJSON_ArrayForEach(one_case, tb_doc_at(tb_doc_nth(result, i), "cases")) {
      if (tb_case_right(one_case) && tb_case_is_last(result, i, one_case)) put_case(&json, one_case);
    }
  }
  tb_emit_close(&json, '}');
  return !ferror(out);
}
