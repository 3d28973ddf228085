/* From a history to what is drawn. A run is a file: points of one file have its path, which is one text in
 * the arena. */
#include "harness/verdict/timeline.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "results/stats/stats.h"

struct run {
  const char *file, *started, *commit;
};
struct runs {
  struct run *data;
  size_t count;
};

static int in_time(const void *a, const void *b) {
  const struct run *x = a, *y = b;
  const int order = strcmp(x->started, y->started);
  return order ? order : strcmp(x->file, y->file);
}

/* Every run that a point is of, once, oldest first. */
static bool list_runs(const struct tb_history *h, struct runs *out) {
  size_t room = 1;
  for (size_t i = 0; i < h->series.len; i++) room += h->series.data[i].points.len;
  *out = (struct runs){.data = tc_arena_bytes(h->arena, sizeof *out->data * room)};
  if (!out->data) return false;
  size_t n = 0;
  for (size_t i = 0; i < h->series.len; i++) {
    for (size_t k = 0; k < h->series.data[i].points.len; k++) {
      const struct tb_point *p = &h->series.data[i].points.data[k];
      out->data[n++] = (struct run){p->file, p->started, p->commit};
    }
  }
  qsort(out->data, n, sizeof *out->data, in_time);
  for (size_t i = 0; i < n; i++)
    if (!out->count || in_time(&out->data[out->count - 1], &out->data[i]))
      out->data[out->count++] = out->data[i];
  return true;
}

static int run_of(const struct runs *runs, const struct tb_point *p) {
  const struct run wanted = {p->file, p->started, p->commit};
  const struct run *found = bsearch(&wanted, runs->data, runs->count, sizeof *runs->data, in_time);
  return found ? (int)(found - runs->data) : 0;
}

/* Why the segment that begins at a point was marked; NULL: by nobody. */
static const char *mark_at(const struct tb_history *h, const struct tb_history_series *s, size_t at) {
  for (size_t m = 0; m < h->marks.len; m++)
    if (tb_history_place(s, &h->marks.data[m]) == at) return h->marks.data[m].why;
  return NULL;
}

static bool add_segments(const struct tb_history *h, const struct tb_history_series *s,
                         const struct runs *runs, struct tb_plot_series *out) {
  struct tb_plot_segment *segments = tc_arena_bytes(h->arena, sizeof *segments * (s->n_changes + 1));
  double *values = tc_arena_bytes(h->arena, sizeof *values * s->points.len);
  if (!segments || !values) return false;
  for (size_t i = 0; i < s->points.len; i++) values[i] = s->points.data[i].value;
  for (size_t k = 0; k <= s->n_changes; k++) {
    const size_t from = k ? s->changes[k - 1].at : 0,
                 to = k < s->n_changes ? s->changes[k].at : s->points.len;
    struct tb_forecast f;
    if (!tb_forecast_next(values, to, s->changes, k, tb_confidence_default, &f)) return false;
    const bool newest = k == s->n_changes;
    segments[k] =
        (struct tb_plot_segment){.first = run_of(runs, &s->points.data[from]),
                                 .last = newest ? (int)runs->count : run_of(runs, &s->points.data[to - 1]),
                                 .median = tb_median(values + from, to - from),
                                 .lo = f.lo,
                                 .hi = f.hi};
  }
  out->segments = segments;
  out->n_segments = (int)s->n_changes + 1;
  return true;
}

/* Where segments begin; and marks behind all points, whose segment has none yet. */
static bool add_changes(const struct tb_history *h, const struct tb_history_series *s,
                        const struct runs *runs, struct tb_plot_series *out) {
  struct tb_plot_change *changes =
      tc_arena_bytes(h->arena, sizeof *changes * (s->n_changes + h->marks.len + 1));
  int n = 0;
  if (!changes) return false;
  for (size_t k = 0; k < s->n_changes; k++) {
    const struct tb_change *c = &s->changes[k];
    const char *why = c->marked ? mark_at(h, s, c->at) : NULL;
    changes[n++] = (struct tb_plot_change){.run = run_of(runs, &s->points.data[c->at]),
                                           .ratio = c->after / c->before,
                                           .p = c->p,
                                           .mark = c->marked && !why ? "" : why};
  }
  const char *coming = mark_at(h, s, s->points.len);
  if (coming) changes[n++] = (struct tb_plot_change){.run = (int)runs->count, .ratio = NAN, .mark = coming};
  out->changes = changes;
  out->n_changes = n;
  return true;
}

static bool add_points(const struct tb_history *h, const struct tb_history_series *s, const struct runs *runs,
                       struct tb_plot_series *out) {
  struct tb_plot_point *points = tc_arena_bytes(h->arena, sizeof *points * s->points.len);
  if (!points) return false;
  for (size_t i = 0; i < s->points.len; i++)
    points[i] = (struct tb_plot_point){run_of(runs, &s->points.data[i]), s->points.data[i].value};
  out->points = points;
  out->n_points = (int)s->points.len;
  return true;
}

static bool add_series(const struct tb_history *h, const struct tb_history_series *s, const struct runs *runs,
                       struct tb_plot_series *out) {
  *out = (struct tb_plot_series){.name = s->id, .calibrated = s->calibrated};
  return add_points(h, s, runs, out) && add_segments(h, s, runs, out) && add_changes(h, s, runs, out);
}

bool tb_timeline_make(const struct tb_history *h, struct tb_plot_history *out) {
  struct runs runs;
  struct tb_plot_series *series = tc_arena_bytes(h->arena, sizeof *series * (h->series.len + 1));
  if (!series || !list_runs(h, &runs)) return false;
  struct tb_plot_run *plotted = tc_arena_bytes(h->arena, sizeof *plotted * (runs.count + 1));
  if (!plotted) return false;
  for (size_t i = 0; i < runs.count; i++)
    plotted[i] = (struct tb_plot_run){runs.data[i].started, runs.data[i].commit};
  *out = (struct tb_plot_history){.runs = plotted,
                                  .series = series,
                                  .n_runs = (int)runs.count,
                                  .confidence = tb_confidence_default,
                                  .omitted = h->omitted};
  for (size_t i = 0; i < h->series.len; i++)
    if (h->series.data[i].points.len && !add_series(h, &h->series.data[i], &runs, &series[out->n_series++]))
      return false;
  return true;
}
