/* Our instruction counts of cold first calls beside those that PyTorch publishes for the same workloads. Invariants:
 * 1. Every case of the suite has a row: what is unsupported, wrong or not counted says so in the place of its count.
 * 2. A ratio stands only where both counts are there; the goal is judged by these alone.
 * To add a published count: a row in torch_counts.def. */
#include <math.h>
#include <string.h>

#include "reporters/reporter.h"

static const char suite[] = "torch_compile_time";
static const double goal = 0.03, million = 1e6, percent = 100;

static const struct { const char *workload, *form, *backend; double count; } published[] = {
#define TB_PUBLISHED(workload, form, backend, count) {workload, form, backend, count},
#include "reporters/torch_counts.def"
#undef TB_PUBLISHED
};

static double published_of(const cJSON *c) {
  const char *workload = tb_doc_text(c, "case.workload", ""), *form = tb_doc_text(c, "case.params.form", ""), *backend = tb_doc_text(c, "case.backend", "");
  for (size_t i = 0; i < sizeof published / sizeof *published; i++)
    if (!strcmp(published[i].workload, workload) && !strcmp(published[i].form, form) && !strcmp(published[i].backend, backend)) return published[i].count;
  return NAN;
}

/* What stands where there is no count. */
static const char *why_not(const cJSON *c) {
  const char *outcome = tb_doc_text(c, "outcome", "?");
  return strcmp(outcome, "ok") ? outcome : "not counted";
}

static void put_case(FILE *out, const cJSON *c, int *compared, int *reached) {
  const bool ok = !strcmp(tb_doc_text(c, "outcome", ""), "ok");
  const double count = ok ? tb_doc_number(c, "instructions.cold.total") : NAN, theirs = published_of(c), ratio = count / theirs;
  fprintf(out, "%-32s %-8s %-10s ", tb_doc_text(c, "case.workload", "?"), tb_doc_text(c, "case.params.form", "–"), tb_doc_text(c, "case.backend", "?"));
  if (isnan(count)) fprintf(out, "%12s", why_not(c));
  else fprintf(out, "%12.2f", count / million);
  if (isnan(theirs)) fprintf(out, " %12s", "-");
  else fprintf(out, " %12.2f", theirs / million);
  if (!isnan(ratio)) fprintf(out, " %8.2f%%  %s", percent * ratio, ratio <= goal ? "reached" : "missed");
  else if (!isnan(theirs)) fputs("            no count", out);
  fputc('\n', out);
  *compared += !isnan(ratio);
  *reached += !isnan(ratio) && ratio <= goal;
}

bool tb_report_peers_counts(const cJSON *result, const struct tb_report_options *options, FILE *out) {
  const cJSON *c;
  int cases = 0, compared = 0, reached = 0;
  (void)options;
  fprintf(out, "%-32s %-8s %-10s %12s %12s %9s  goal %.0f%%\n", "workload", "form", "backend", "ours (M)", "PyTorch (M)", "ratio", percent * goal);
  cJSON_ArrayForEach(c, tb_doc_at(result, "cases")) {
    if (strcmp(tb_doc_text(c, "case.suite", ""), suite)) continue;
    put_case(out, c, &compared, &reached);
    cases++;
  }
  if (!cases) fprintf(out, "no case of suite=%s is in this result\n", suite);
  fprintf(out, "%d of %d compared reach the goal; counts are instructions of the cold first call\n", reached, compared);
  return !ferror(out);
}
