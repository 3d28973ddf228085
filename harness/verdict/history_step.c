/* Which step of a series is open. Segment k begins at change k - 1. */
#include "harness/verdict/history_step.h"

#include <math.h>

#include "results/stats/stats.h"

/* That a segment which is not the next one lies above another one is told so surely. */
static const double sure = 0.999;

static double level(const struct tb_history_series *s, size_t k) {
  return k ? s->changes[k - 1].after : s->changes[0].before;
}

static double count(const struct tb_history_series *s, size_t k) {
  const size_t from = k ? s->changes[k - 1].at : 0, to = k < s->n_changes ? s->changes[k].at : s->points.len;
  return (double)(to - from);
}

/* The first segment since the newest mark. */
static size_t first_of(const struct tb_history_series *s) {
  size_t first = s->n_changes;
  while (first && !s->changes[first - 1].marked) first--;
  return first;
}

/* Neighbours were cut by a test already. Else: variance of a median, pi s^2 / (2 n). */
static bool is_above(const struct tb_history_series *s, size_t low) {
  const size_t last = s->n_changes;
  if (low + 1 == last) return true;
  if (!s->forecast.known) return false;
  const double error = log1p(s->forecast.spread) * sqrt(M_PI / 2 * (1 / count(s, low) + 1 / count(s, last)));
  return log(level(s, last) / level(s, low)) > tb_t_quantile(sure, s->forecast.freedom) * error;
}

static struct tb_step step_of(const struct tb_history_series *s, size_t from, size_t k) {
  const struct tb_point *first = &s->points.data[s->changes[k - 1].at];
  return (struct tb_step){.before = level(s, from),
                          .after = level(s, s->n_changes),
                          .since = first->started,
                          .commit = first->commit};
}

bool tb_history_step(const struct tb_history_series *s, double threshold, struct tb_step *out) {
  const size_t last = s->n_changes, first = first_of(s);
  size_t low = first, at = last;
  if (first == last || s->forecast.first >= s->points.len)
    return false; /* the latter: tonight is behind a mark */
  for (size_t k = first; k < last; k++)
    if (level(s, k) <= level(s, low)) low = k;
  const double limit = level(s, low) * (1 + threshold);
  if (level(s, last) > limit && is_above(s, low)) {
    while (at - 1 > low && level(s, at - 1) > limit) at--;
    *out = step_of(s, low, at);
    return true;
  }
  if (!(level(s, last) * (1 + threshold) < level(s, last - 1)) ||
      s->forecast.points >= TB_FORECAST_POINTS_SETTLED)
    return false;
  *out = step_of(s, last - 1, last);
  return true;
}
