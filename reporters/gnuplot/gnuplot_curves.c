/* Curves over batch: which cases belong to one, and how curves are dealt to panels. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reporters/equal_texts.h"
#include "reporters/gnuplot/gnuplot.h"

static int by_batch(const void *a, const void *b) {
  const double x = tb_doc_number(*(const cJSON *const *)a, "case.batch"),
               y = tb_doc_number(*(const cJSON *const *)b, "case.batch");
  return (x > y) - (x < y);
}

typedef char curve_title[TB_PLOT_TITLE];

/* A case that a curve may have, and the names that its curve then has. */
struct point {
  const cJSON *one;
  curve_title group, title;
  double weight;
};

/* Which of the points have one title, or, if `groups`, one group. False: memory is out. */
static bool find_alike(const struct point *points, int count, bool groups, struct tb_equal_texts *out) {
  const char **texts = calloc((size_t)count + 1, sizeof *texts);
  for (int i = 0; texts && i < count; i++) texts[i] = groups ? points[i].group : points[i].title;
  const bool good = texts && tb_equal_texts_make(texts, count, out);
  free(texts);
  return good;
}

/* The curve of all points that are alike, from the first one on. */
static bool add_curve(struct tb_curves *curves, const struct point *points,
                      const struct tb_equal_texts *titles, int first) {
  struct tb_curve *c = &curves->data[curves->count++];
  int n = 0;
  *c = (struct tb_curve){.weight = -INFINITY};
  memcpy(c->title, points[first].title, sizeof c->title);
  memcpy(c->group, points[first].group, sizeof c->group);
  for (int i = first; i >= 0; i = titles->next[i]) n++;
  c->cases = calloc((size_t)n, sizeof *c->cases);
  for (int i = first; c->cases && i >= 0; i = titles->next[i]) {
    c->cases[c->count++] = points[i].one;
    c->weight = fmax(c->weight, points[i].weight);
  }
  if (c->cases) qsort(c->cases, (size_t)c->count, sizeof *c->cases, by_batch);
  return c->cases != NULL;
}

/* Curves of one group stand together, where the first of them stood. */
static bool add_curves(struct tb_curves *curves, const struct point *points, int count) {
  struct tb_equal_texts titles = {0}, groups = {0};
  bool good = find_alike(points, count, false, &titles) && find_alike(points, count, true, &groups);
  for (int i = 0; good && i < count; i++) {
    if (groups.first[i] != i) continue;
    for (int k = i; good && k >= 0; k = groups.next[k])
      if (titles.first[k] == k) good = add_curve(curves, points, &titles, k);
  }
  tb_equal_texts_free(&titles);
  tb_equal_texts_free(&groups);
  return good;
}

bool tb_curves_make(const cJSON *cases, bool (*fits)(const cJSON *one_case, const void *data),
                    const void *data, double (*weigh)(const cJSON *one_case), struct tb_curves *out) {
  const cJSON *one;
  const size_t room = (size_t)cJSON_GetArraySize(cases) + 1;
  struct point *points = calloc(room, sizeof *points);
  int n = 0;
  *out = (struct tb_curves){.data = calloc(room, sizeof *out->data)};
  cJSON_ArrayForEach(one, cases) {
    if (!points || !tb_case_right(one) || !fits(one, data)) continue;
    struct point *p = &points[n++];
    *p = (struct point){.one = one, .weight = weigh(one)};
    tb_case_group(one, p->group, sizeof p->group / 2);
    snprintf(p->title, sizeof p->title, "%.*s, %.60s", (int)(sizeof p->group / 2), p->group,
             tb_case_column(one));
  }
  const bool good = points && out->data && add_curves(out, points, n);
  free(points);
  return good;
}

void tb_curves_free(struct tb_curves *curves) {
  for (int i = 0; curves->data && i < curves->count; i++) free(curves->data[i].cases);
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
    if (curves->data[i].weight >= least && curves->count < most)
      curves->data[curves->count++] = curves->data[i];
    else
      free(curves->data[i].cases);
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
  snprintf(out, TB_PLOT_TITLE, "%s",
           *tb_curves_group(curves, first, count) ? tb_case_column(c->cases[0]) : c->title);
  tb_plot_shorten(out, MOST);
}
