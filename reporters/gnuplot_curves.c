/* Curves over batch: which cases belong to one, and how curves are dealt to panels. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reporters/gnuplot.h"

static int by_batch(const void *a, const void *b) {
  const double x = tb_doc_number(*(const cJSON *const *)a, "case.batch"), y = tb_doc_number(*(const cJSON *const *)b, "case.batch");
  return (x > y) - (x < y);
}

static bool add_case(struct tb_curves *curves, const cJSON *one, double weight) {
  char group[TB_PLOT_TITLE / 2], title[TB_PLOT_TITLE];
  tb_case_group(one, group, sizeof group);
  snprintf(title, sizeof title, "%s, %.60s", group, tb_case_column(one));
  int k = 0;
  while (k < curves->count && strcmp(curves->data[k].title, title)) k++;
  struct tb_curve *c = &curves->data[k];
  if (k == curves->count) {
    *c = (struct tb_curve){.weight = -INFINITY};
    memcpy(c->title, title, sizeof title);
    memcpy(c->group, group, sizeof group);
    curves->count++;
  }
  const cJSON **more = realloc(c->cases, sizeof *more * ((size_t)c->count + 1));
  if (!more) return false;
  c->cases = more;
  c->cases[c->count++] = one;
  c->weight = fmax(c->weight, weight);
  return true;
}

/* Curves of one group stand together, where the first of them stood. */
static void bring_together(struct tb_curves *curves) {
  for (int i = 0; i < curves->count; i++) {
    int end = i + 1;
    for (int k = i + 1; k < curves->count; k++) {
      if (strcmp(curves->data[k].group, curves->data[i].group)) continue;
      const struct tb_curve kept = curves->data[k];
      memmove(&curves->data[end + 1], &curves->data[end], sizeof kept * (size_t)(k - end));
      curves->data[end++] = kept;
    }
    i = end - 1;
  }
}

bool tb_curves_make(const cJSON *cases, bool (*fits)(const cJSON *one_case, const void *data), const void *data, double (*weigh)(const cJSON *one_case), struct tb_curves *out) {
  const cJSON *one;
  *out = (struct tb_curves){.data = calloc((size_t)cJSON_GetArraySize(cases) + 1, sizeof *out->data)};
  if (!out->data) return false;
  cJSON_ArrayForEach(one, cases)
    if (tb_case_right(one) && fits(one, data) && !add_case(out, one, weigh(one))) return false;
  for (int i = 0; i < out->count; i++) qsort(out->data[i].cases, (size_t)out->data[i].count, sizeof *out->data[i].cases, by_batch);
  bring_together(out);
  return true;
}

void tb_curves_free(struct tb_curves *curves) {
  for (int i = 0; i < curves->count; i++) free(curves->data[i].cases);
  free(curves->data);
  *curves = (struct tb_curves){0};
}

int tb_curves_keep(struct tb_curves *curves, int most) {
  const int before = curves->count;
  double *weights = before > most ? malloc(sizeof *weights * (size_t)before) : NULL;
  if (!weights) return 0;
  for (int i = 0; i < before; i++) weights[i] = curves->data[i].weight;
  const double least = tb_plot_least_kept(weights, before, most);
  free(weights);
  curves->count = 0;
  for (int i = 0; i < before; i++) {
    if (curves->data[i].weight >= least && curves->count < most) curves->data[curves->count++] = curves->data[i];
    else free(curves->data[i].cases);
  }
  return before - curves->count;
}

static int group_size(const struct tb_curves *curves, int first) {
  int n = 1;
  while (first + n < curves->count && !strcmp(curves->data[first + n].group, curves->data[first].group)) n++;
  return n;
}

int tb_curves_panel(const struct tb_curves *curves, int first) {
  int n = 0;
  while (first + n < curves->count) {
    const int more = group_size(curves, first + n);
    if (n + more > TB_PLOT_SERIES) break;
    n += more;
  }
  if (n) return n;
  const int left = curves->count - first; /* a group that fits into no panel is cut */
  return left < TB_PLOT_SERIES ? left : TB_PLOT_SERIES;
}

const char *tb_curves_group(const struct tb_curves *curves, int first, int count) {
  for (int i = 1; i < count; i++)
    if (strcmp(curves->data[first + i].group, curves->data[first].group)) return "";
  return curves->data[first].group;
}

void tb_curve_legend(const struct tb_curves *curves, int first, int count, int i, char *out) {
  enum { MOST = 110 };
  const struct tb_curve *c = &curves->data[first + i];
  snprintf(out, TB_PLOT_TITLE, "%s", *tb_curves_group(curves, first, count) ? tb_case_column(c->cases[0]) : c->title);
  tb_plot_shorten(out, MOST);
}
