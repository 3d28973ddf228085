/* Our instruction counts beside those that PyTorch publishes for the same workloads. Invariants:
 * 1. Every case of the suite has a row: what is unsupported, wrong or not counted says so in the place of its
 *    count.
 * 2. A ratio stands only where both counts are there; the goal is judged by these alone.
 * 3. What the two sides count differently is told with the table: for all rows once, for a row of its own as
 *    a note.
 * To add a published count, or a workload of which something else is counted: a row in torch_counts.def. */
#include <math.h>
#include <string.h>

#include "reporters/reporter.h"

static const char suite[] = "torch_compile_time";
static const double goal = 0.03, million = 1e6, percent = 100;

/* What of a case is its figure: its name in the table, and where it stands in the document. */
enum counted { COLD, DISK, CALL, START, COUNTED };
static const struct {
  const char *name, *path;
} kinds[COUNTED] = {
    [COLD] = {"cold", "instructions.cold.total"}, /* the first call, nothing cached */
    [DISK] = {"disk", "instructions.disk.total"}, /* the first call of a process that finds all on disk */
    [CALL] = {"call", "instructions.steady"},     /* a call that finds all compiled */
    [START] = {"start", NULL}, /* from the start of the process to the end of the first call: a time */
};

static const struct {
  const char *workload, *form, *backend;
  double count;
  const char *note;
} published[] = {
#define TB_PUBLISHED(workload, form, backend, count, note) {workload, form, backend, count, note},
#define TB_COUNTED(workload, what)
#include "reporters/formats/torch_counts.def"
#undef TB_PUBLISHED
#undef TB_COUNTED
};
static const struct {
  const char *workload;
  enum counted what;
} others[] = {
#define TB_PUBLISHED(workload, form, backend, count, note)
#define TB_COUNTED(workload, what) {workload, what},
#include "reporters/formats/torch_counts.def"
#undef TB_PUBLISHED
#undef TB_COUNTED
};
enum { PUBLISHED = sizeof published / sizeof *published, OTHERS = sizeof others / sizeof *others };

struct table {
  FILE *out;
  int cases, compared, reached;
  bool noted[PUBLISHED];
};

static int published_of(const cJSON *c) {
  const char *workload = tb_doc_text(c, "case.workload", ""), *form = tb_doc_text(c, "case.params.form", ""),
             *backend = tb_doc_text(c, "case.backend", "");
  for (int i = 0; i < PUBLISHED; i++)
    if (!strcmp(published[i].workload, workload) && !strcmp(published[i].form, form) &&
        !strcmp(published[i].backend, backend))
      return i;
  return -1;
}

static enum counted counted_of(const cJSON *c) {
  const char *workload = tb_doc_text(c, "case.workload", "");
  for (int i = 0; i < OTHERS; i++)
    if (!strcmp(others[i].workload, workload)) return others[i].what;
  return COLD;
}

static double figure_of(const cJSON *c, enum counted what) {
  if (what != START) return tb_case_figure(c, kinds[what].path) / million;
  return (tb_case_figure(c, "compile.start_ns.median") + tb_case_figure(c, "compile.first_call_ns.median")) /
         million;
}

static void put_case(struct table *t, const cJSON *c) {
  const enum counted what = counted_of(c);
  const int row = published_of(c);
  const double ours = figure_of(c, what), theirs = row < 0 ? NAN : published[row].count / million,
               ratio = ours / theirs;
  fprintf(t->out, "%-32s %-8s %-10s %-6s ", tb_doc_text(c, "case.workload", "?"),
          tb_doc_text(c, "case.params.form", "–"), tb_doc_text(c, "case.backend", "?"), kinds[what].name);
  /* What stands where there is no figure. */
  if (isnan(ours))
    fprintf(t->out, "%12s",
            !tb_case_right(c) ? tb_doc_text(c, "outcome", "?")
            : what == START   ? "not measured"
                              : "not counted");
  else if (what == START)
    fprintf(t->out, "%9.3f ms", ours);
  else
    fprintf(t->out, "%12.*f", ours < 1 ? 6 : 2, ours);
  if (row < 0)
    fprintf(t->out, " %12s", "-");
  else
    fprintf(t->out, " %12.2f", theirs);
  if (!isnan(ratio))
    fprintf(t->out, " %8.2f%%  %s", percent * ratio, ratio <= goal ? "reached" : "missed");
  else if (row >= 0)
    fputs("            no count", t->out);
  fputc('\n', t->out);
  t->cases++;
  t->compared += !isnan(ratio);
  t->reached += !isnan(ratio) && ratio <= goal;
  if (!isnan(ratio)) t->noted[row] = *published[row].note;
}

/* Each note once, with the workloads that it is about. */
static void put_notes(const struct table *t) {
  for (int i = 0; i < PUBLISHED; i++) {
    const char *last = "";
    bool earlier = !t->noted[i];
    for (int k = 0; k < i; k++) earlier |= t->noted[k] && !strcmp(published[k].note, published[i].note);
    if (earlier) continue;
    for (int k = i; k < PUBLISHED; k++) {
      if (!t->noted[k] || strcmp(published[k].note, published[i].note) ||
          !strcmp(last, published[k].workload))
        continue;
      fprintf(t->out, "%s%s", *last ? ", " : "", published[k].workload);
      last = published[k].workload;
    }
    fprintf(t->out, ": %s\n", published[i].note);
  }
}

static const char differences[] = "cold, disk: instructions of a first call, with nothing cached and with "
                                  "all on disk; call: of a call after that; in millions\n"
                                  "ours: all threads, by callgrind (code for AVX2), the whole first call "
                                  "with its run, in a process that compiled nothing before\n"
                                  "theirs: the expected least of some compiles in a warm process, by the "
                                  "processor's counter, within Dynamo's compile of frames alone\n";

bool tb_report_peers_counts(const cJSON *result, const struct tb_report_options *options, FILE *out) {
  const cJSON *c;
  struct table t = {.out = out};
  (void)options;
  fprintf(out, "%-32s %-8s %-10s %-6s %12s %12s %9s  goal %.0f%%\n", "workload", "form", "backend", "what",
          "ours (M)", "PyTorch (M)", "ratio", percent * goal);
  cJSON_ArrayForEach(c, tb_doc_at(result, "cases"))
    if (!strcmp(tb_doc_text(c, "case.suite", ""), suite)) put_case(&t, c);
  if (!t.cases) fprintf(out, "no case of suite=%s is in this result\n", suite);
  fprintf(out, "%d of %d compared reach the goal\n%s", t.reached, t.compared, differences);
  put_notes(&t);
  return !ferror(out);
}
