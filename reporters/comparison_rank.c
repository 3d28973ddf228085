/* What matters in a comparison: the order of its cases, and its words. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reporters/table.h"

enum kind { FAILED, SLOWER, NOT_TOLD, CHANGED, FASTER, OTHER }; /* in the order of the ranking */

static bool is_verdict(const cJSON *one, const char *word) {
  return !strcmp(tb_doc_text(one, "time.verdict", ""), word);
}

/* Exit codes of a case: 1 a regression, 3 not measurable, others a failure (results/exitcode.def). */
static enum kind kind_of(const cJSON *one) {
  enum { PASS, REGRESSION, NOT_MEASURABLE = 3 };
  const double exit = tb_doc_number(one, "exit");
  if (exit > PASS && exit != REGRESSION && exit != NOT_MEASURABLE) return FAILED;
  if (exit == REGRESSION || is_verdict(one, "SLOWER")) return SLOWER;
  if (exit == NOT_MEASURABLE) return NOT_TOLD;
  if (strcmp(tb_doc_text(one, "presence", "both"), "both") != 0) return CHANGED;
  return is_verdict(one, "FASTER") ? FASTER : OTHER;
}

bool tb_comparison_moved(const cJSON *one) { return kind_of(one) != OTHER; }

static int by_rank(const void *a, const void *b) {
  const struct tb_ranked *x = a, *y = b;
  if (x->kind != y->kind) return x->kind - y->kind;
  if (x->distance != y->distance) return x->distance > y->distance ? -1 : 1;
  return x->place - y->place;
}

struct tb_ranked *tb_comparison_ranked(const cJSON *document, int *count) {
  const cJSON *cases = tb_doc_at(document, "cases"), *one;
  struct tb_ranked *ranked = calloc((size_t)cJSON_GetArraySize(cases) + 1, sizeof *ranked);
  *count = 0;
  if (!ranked) return NULL;
  cJSON_ArrayForEach(one, cases) {
    const enum kind kind = kind_of(one);
    const double distance = fabs(log(tb_doc_number(one, "time.ratio")));
    ranked[*count] =
        (struct tb_ranked){one, (int)kind, kind != OTHER && isfinite(distance) ? distance : 0, *count};
    (*count)++;
  }
  qsort(ranked, (size_t)*count, sizeof *ranked, by_rank);
  return ranked;
}

void tb_comparison_interval(const cJSON *one, char out[TB_CELL]) {
  const double ratio = tb_doc_number(one, "time.ratio"), lo = tb_doc_number(one, "time.lo"),
               hi = tb_doc_number(one, "time.hi");
  if (!isfinite(ratio))
    snprintf(out, TB_CELL, "–");
  else if (!isfinite(lo) || !isfinite(hi))
    snprintf(out, TB_CELL, "%.3f", ratio);
  else
    snprintf(out, TB_CELL, "%.3f [%.3f, %.3f]", ratio, lo, hi);
}

const char *tb_comparison_verdict(const cJSON *one) {
  const char *presence = tb_doc_text(one, "presence", "both");
  const char *instead = tb_doc_text(one, "instead", strcmp(presence, "both") ? presence : "not compared");
  return tb_doc_text(one, "time.verdict", instead);
}

/* A text that is there already is not told twice. */
static void append(char *out, size_t size, const char *text) {
  const size_t used = strlen(out);
  if (text && !strstr(out, text) && used + 1 < size)
    snprintf(out + used, size - used, "%s%s", used ? "; " : "", text);
}

void tb_comparison_reason(const cJSON *one, char *out, size_t size) {
  const cJSON *finding;
  *out = '\0';
  append(out, size, tb_doc_text(one, "time.why", NULL));
  append(out, size, tb_doc_text(one, "problem", NULL));
  cJSON_ArrayForEach(finding, tb_doc_at(one, "exact")) {
    if (!strcmp(tb_doc_text(finding, "outcome", ""), "worse"))
      append(out, size, tb_doc_text(finding, "line", "?"));
  }
}

void tb_put_verdicts(FILE *out, const cJSON *document) {
  static const char *const verdicts[] = {"FASTER", "SLOWER", "SAME", "UNSURE"};
  const cJSON *one;
  const char *separator = "";
  int others = 0;
  for (size_t v = 0; v < sizeof verdicts / sizeof *verdicts; v++) {
    int count = 0;
    cJSON_ArrayForEach(one, tb_doc_at(document, "cases")) count += is_verdict(one, verdicts[v]);
    if (!count) continue;
    fprintf(out, "%s%d %s", separator, count, verdicts[v]);
    separator = " · ";
  }
  cJSON_ArrayForEach(one, tb_doc_at(document, "cases")) others += !tb_doc_at(one, "time.verdict");
  if (others)
    fprintf(out, "%s%d without a verdict", separator, others);
  else if (!*separator)
    fputs("no cases", out);
}

void tb_put_origin(FILE *out, const cJSON *document, const char *side, tb_text_put *put) {
  static const char *const fields[] = {"what", "commit", "started"};
  const char *separator = "";
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    char path[TB_CELL];
    snprintf(path, sizeof path, "%s.%s", side, fields[i]);
    const char *text = tb_doc_text(document, path, i ? NULL : "?");
    if (!text) continue;
    fputs(separator, out);
    put(out, text);
    separator = " · ";
  }
}
