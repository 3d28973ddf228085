/* Cutting a series where its level changes, and where marks say so. */
#include "harness/verdict/history_segments.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "harness/verdict/policy.h"
#include "reporters/reporter.h"
#include "results/stats/segment.h"

size_t tb_history_place(const struct tb_history_series *s, const struct tb_mark *mark) {
  size_t at = 0;
  if (!tb_glob(mark->pattern, s->id)) return SIZE_MAX;
  while (at < s->points.len && strcmp(s->points.data[at].started, mark->from) < 0) at++;
  return at;
}

/* Index of the first point of each segment that a mark begins. *tonight: one lies behind all points, so that
 * tonight is the first. */
static size_t marks_of(const struct tb_history *history, const cJSON *head_document,
                       const struct tb_history_series *s, size_t *out, bool *tonight) {
  const char *head = tb_doc_text(head_document, "started", NULL);
  size_t count = 0;
  *tonight = false;
  for (size_t m = 0; m < history->marks.len; m++) {
    const struct tb_mark *mark = &history->marks.data[m];
    const size_t at = tb_history_place(s, mark);
    if (at == s->points.len)
      *tonight |= !head || strcmp(mark->from, head) <= 0;
    else if (at != SIZE_MAX)
      out[count++] = at;
  }
  return count;
}

tc_status tb_history_segment(const struct tb_history *history, const cJSON *head, struct tb_history_series *s,
                             struct tc_error *err) {
  struct tc_arena *arena = history->arena;
  const struct tb_change_options options = tb_change_defaults();
  const size_t n = s->points.len;
  double *values = tc_arena_bytes(arena, sizeof *values * (n + 1));
  size_t *marks = tc_arena_bytes(arena, sizeof *marks * (history->marks.len + 1));
  s->changes = tc_arena_bytes(arena, sizeof *s->changes * (n + 1));
  if (!values || !marks || !s->changes) return tc_fail_memory(err, "history");
  for (size_t i = 0; i < n; i++) values[i] = s->points.data[i].value;
  bool tonight;
  const size_t n_marks = marks_of(history, head, s, marks, &tonight);
  const tc_status status =
      tb_change_points(values, n, marks, n_marks, &options, s->changes, &s->n_changes, err);
  if (status) return status;
  if (!tb_forecast_next(values, n, s->changes, s->n_changes, tb_confidence_default, &s->forecast))
    return tc_fail_memory(err, "history");
  if (tonight)
    s->forecast = (struct tb_forecast){
        .first = n, .median = NAN, .spread = NAN, .lo = NAN, .hi = NAN, .half_width = NAN};
  return TC_OK;
}
