/* Groups of cases, notes and the summary of a result, for every table that people read. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "reporters/ablation.h"
#include "reporters/equal_texts.h"
#include "reporters/table.h"

static const double hundred = 100, much_taken = 0.01 /* of the CPU time */;

int tb_screen_width(const char *text) {
  int n = 0;
  for (; *text; text++) n += ((unsigned char)*text & 0xC0) != 0x80;
  return n;
}

/* --- groups --- */

typedef char group_name[2 * TB_GROUP]; /* with the suite, which titles do not have */

static int by_batch(const void *a, const void *b) {
  const cJSON *x = *(const cJSON *const *)a, *y = *(const cJSON *const *)b;
  const double p = tb_doc_number(x, "case.batch"), q = tb_doc_number(y, "case.batch");
  if (p != q && !isnan(p) && !isnan(q)) return p < q ? -1 : 1;
  return strcmp(tb_doc_text(x, "id", ""), tb_doc_text(y, "id", ""));
}

/* Cases that Ctrl-C came before have no row; the summary counts them. */
static bool not_reached(const cJSON *c) { return cJSON_IsTrue(tb_doc_at(c, "interrupted")); }

/* The cases that have rows here: right ones of an ablation have them in its table instead. The caller frees
 * the array; NULL: memory is out. */
static const cJSON **told_cases(const cJSON *result, int *count, bool *ablation) {
  const cJSON *list = tb_doc_at(result, "cases"), *item;
  const size_t room = (size_t)cJSON_GetArraySize(list) + 1;
  const cJSON **cases = calloc(room, sizeof *cases);
  int *references = tb_ablation_references(result);
  int place = 0;
  *count = 0;
  *ablation = false;
  cJSON_ArrayForEach(item, list) {
    if (!cases || !references) break;
    const bool elsewhere = references[place++] >= 0 && tb_case_right(item);
    *ablation |= elsewhere;
    if (!elsewhere && !not_reached(item)) cases[(*count)++] = item;
  }
  if (!references) free(cases), cases = NULL;
  free(references);
  return cases;
}

/* Which of these cases are of one group; false: memory is out. */
static bool find_groups(const cJSON *const *cases, int count, struct tb_equal_texts *out) {
  group_name *names = calloc((size_t)count + 1, sizeof *names);
  const char **texts = calloc((size_t)count + 1, sizeof *texts);
  for (int i = 0; names && texts && i < count; i++) {
    snprintf(names[i], TB_GROUP, "%s", tb_doc_text(cases[i], "case.suite", ""));
    const size_t used = strlen(names[i]) + 1;
    names[i][used - 1] = '\n';
    tb_case_group(cases[i], names[i] + used, TB_GROUP);
    texts[i] = names[i];
  }
  const bool good = names && texts && tb_equal_texts_make(texts, count, out);
  free(names);
  free(texts);
  return good;
}

bool tb_each_group(const cJSON *result, tb_group_visit *visit, void *context, bool *ablation) {
  int n;
  struct tb_equal_texts groups = {0};
  const cJSON **cases = told_cases(result, &n, ablation),
              **group = cases ? calloc((size_t)n + 1, sizeof *group) : NULL;
  const bool good = group && find_groups(cases, n, &groups);
  for (int i = 0; good && i < n; i++) {
    int members = 0;
    if (groups.first[i] != i) continue;
    for (int k = i; k >= 0; k = groups.next[k]) group[members++] = cases[k];
    qsort(group, (size_t)members, sizeof *group, by_batch);
    visit(group, members, context);
  }
  tb_equal_texts_free(&groups);
  free(cases);
  free(group);
  return good;
}

/* --- the summary --- */

/* What right cases were held against: cases with a comparison with the plain function alone are told
 * apart. */
static void put_against(FILE *out, const cJSON *cases) {
  const cJSON *c;
  int f64 = 0, baseline = 0;
  cJSON_ArrayForEach(c, cases) {
    const char *against = tb_doc_text(c, "correctness.against", "");
    if (!cJSON_IsTrue(tb_doc_at(c, "correctness.ok"))) continue;
    f64 += !strcmp(against, "f64");
    baseline += !strcmp(against, "baseline");
  }
  if (!baseline)
    fputs(" (against f64)", out);
  else if (!f64)
    fputs(" (against the baseline)", out);
  else
    fprintf(out, " (%d against f64, %d against the baseline)", f64, baseline);
}

void tb_put_summary(FILE *out, const cJSON *result) {
  const cJSON *cases = tb_doc_at(result, "cases"), *c;
  int right = 0, compared = 0, reached = 0;
  cJSON_ArrayForEach(c, cases) {
    const cJSON *ok = tb_doc_at(c, "correctness.ok");
    if (not_reached(c)) continue;
    reached++;
    compared += cJSON_IsBool(ok);
    right += cJSON_IsTrue(ok) && tb_case_right(c);
  }
  const int missing = tb_result_missing(result);
  fprintf(out, "%d of %d right", right, reached + missing);
  put_against(out, cases);
  if (compared < reached) fprintf(out, ", %d not compared", reached - compared);
  if (missing)
    fprintf(out, ", %d not measured%s", missing,
            cJSON_IsTrue(tb_doc_at(result, "interrupted")) ? " (interrupted)"
            : tb_result_open(result)                       ? " (the run did not end)"
                                                           : "");
}

/* --- notes --- */

struct telling {
  tb_note_visit *visit;
  void *context;
};

static void tell(const struct telling *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void tell(const struct telling *t, const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  t->visit(text, t->context);
}

/* An interval over the blocks of one pair of processes does not know how pairs differ. */
static void tell_intervals(const struct telling *t, const cJSON *result) {
  const cJSON *c;
  bool any = false, all = true;
  cJSON_ArrayForEach(c, tb_doc_at(result, "cases")) {
    const char *over = tb_doc_text(c, "speedup.interval_over", "");
    if (!tb_case_right(c)) continue; /* its interval is not told */
    any |= !strcmp(over, "blocks");
    all &= !*over || !strcmp(over, "blocks");
  }
  if (any)
    tell(t,
         "%sintervals are over the blocks of one pair of processes; more replicates also show how processes "
         "differ",
         all ? "" : "some ");
}

void tb_each_note(const cJSON *result, tb_note_visit *visit, void *context) {
  const struct telling t = {visit, context};
  /* What made figures worse, where the harness saw it. */
  const cJSON *environment, *warning;
  cJSON_ArrayForEach(environment, tb_doc_at(result, "environments")) {
    cJSON_ArrayForEach(warning, tb_doc_at(environment, "warnings")) {
      if (cJSON_IsString(warning)) t.visit(warning->valuestring, t.context);
    }
  }
  /* What took CPU time away while the run went on. */
  const double others = tb_doc_number(result, "disturbance.others_share"),
               stolen = tb_doc_number(result, "disturbance.steal_share");
  if (others > much_taken)
    tell(&t, "other processes took %.0f%% of the machine's CPU time during the run", hundred * others);
  if (stolen > much_taken)
    tell(&t, "the hypervisor took %.0f%% of the machine's CPU time during the run", hundred * stolen);
  /* How many causes of noise there are; doctor has them with what mends each. */
  const cJSON *cause;
  int worse = 0, unknown = 0;
  cJSON_ArrayForEach(cause, tb_doc_at(cJSON_GetArrayItem(tb_doc_at(result, "environments"), 0), "noise")) {
    worse += !strcmp(tb_doc_text(cause, "state", ""), "worse");
    unknown += !strcmp(tb_doc_text(cause, "state", ""), "unknown");
  }
  if (worse || unknown)
    tell(&t, "%d cause%s of noise, %d more cannot be seen here: tbench doctor tells what mends them", worse,
         worse == 1 ? "" : "s", unknown);
  tell_intervals(&t, result);
  const int left_out = cJSON_GetArraySize(tb_doc_at(result, "left_out"));
  if (left_out)
    tell(&t, "%d more case%s not timed: the compiler makes the same of %s as in %s", left_out,
         left_out == 1 ? " was" : "s were", left_out == 1 ? "it" : "them",
         tb_doc_text(result, "changed_since", "?"));
  if (tb_result_open(result)) tell(&t, "the run did not end: cases and replicates are missing");
}
