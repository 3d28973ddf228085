/* The document itself. */
#include "reporters/reporter.h"

bool tb_report_json(const cJSON *result, const struct tb_report_options *options, FILE *out) {
  (void)options;
  char *text = cJSON_Print(result);
  const bool good = text && fputs(text, out) >= 0 && fputc('\n', out) != EOF;
  cJSON_free(text);
  return good;
}
