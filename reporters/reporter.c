/* The table of reporters. */
#include "reporters/reporter.h"

#include <string.h>

static const struct tb_reporter reporters[] = {
#define TB_REPORTER(name, function, comparison, several, help)                                               \
  {#name, help, TB_REPORT_##several, function, comparison},
#include "reporters/reporters.def"
#undef TB_REPORTER
};

int tb_reporter_count(void) { return (int)(sizeof reporters / sizeof *reporters); }
const struct tb_reporter *tb_reporter_at(int index) { return &reporters[index]; }

const struct tb_reporter *tb_reporter_find(const char *name) {
  for (int i = 0; i < tb_reporter_count(); i++)
    if (!strcmp(reporters[i].name, name)) return &reporters[i];
  return NULL;
}

bool tb_report_lacks(const struct tb_report_options *options, const char *what) {
  if (options->failure) snprintf(options->failure, TB_REPORT_FAILURE, "%s", what);
  return false;
}
