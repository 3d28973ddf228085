/* Verdicts on a series, by the machinery of gate: change points, forecast, and the interval between two segments. */
#include "dashboard/analysis.h"

#include <math.h>

const char *tb_basis_name(int basis) {
  static const char *const names[] = {"none", "point", "step"};
  return names[basis >= 0 && basis < 3 ? basis : 0];
}

static size_t end_of(const struct tb_analysis *a, size_t change, size_t count) { return change + 1 < a->n_changes ? a->changes[change + 1].at : count; }

static void take(struct tb_analysis *out, enum tb_basis basis, const struct tb_decision *d, size_t moved) {
  out->basis = basis;
  out->verdict = d->verdict;
  out->move = d->ratio;
  out->lo = d->lo;
  out->hi = d->hi;
  out->moved = moved;
  out->score = d->verdict == TB_VERDICT_SLOWER || d->verdict == TB_VERDICT_FASTER ? fabs(log(d->ratio)) : 0;
}

/* The newest value against what those before it let expect. */
static bool judge_newest(const double *values, size_t count, struct tb_analysis *out) {
  size_t before = 0;
  while (before < out->n_changes && out->changes[before].at < count - 1) before++;
  if (!tb_forecast_next(values, count - 1, out->changes, before, tb_confidence_default, &out->forecast)) return false;
  const struct tb_decision d = tb_forecast_decide(&out->forecast, values[count - 1], tb_threshold_default);
  take(out, TB_BASIS_POINT, &d, count - 1);
  return true;
}

/* The newest step, where it is news: a change point was tested already, so its interval tells how large it is, and on which side. */
static void judge_step(const double *values, size_t count, struct tb_analysis *out) {
  double logs[TB_ANALYSIS_POINTS];
  if (!out->n_changes) return;
  const size_t last = out->n_changes - 1, at = out->changes[last].at, first = last ? out->changes[last - 1].at : 0, end = end_of(out, last, count);
  if (count - at > TB_ANALYSIS_RECENT) return;
  for (size_t i = first; i < end; i++) logs[i] = log(values[i]);
  const struct tb_decide_options options = {tb_threshold_default, tb_confidence_default};
  struct tb_decision d = tb_decide_apart(logs + first, at - first, logs + at, end - at, NULL, 0, 0, options);
  if (isnan(d.ratio)) return;
  d.verdict = d.ratio > 1 ? TB_VERDICT_SLOWER : TB_VERDICT_FASTER;
  take(out, TB_BASIS_STEP, &d, at);
}

bool tb_analyse(const double *values, size_t count, struct tb_analysis *out) {
  const struct tb_change_options options = tb_change_defaults();
  struct tc_error err;
  *out = (struct tb_analysis){.verdict = TB_VERDICT_UNSURE, .move = NAN, .lo = NAN, .hi = NAN};
  if (count < 2) return true;
  if (tb_change_points(values, count, NULL, 0, &options, out->changes, &out->n_changes, &err) != TC_OK) return false;
  if (!judge_newest(values, count, out)) return false;
  if (out->score == 0) judge_step(values, count, out);
  return true;
}

size_t tb_analysis_closed_by(const struct tb_analysis *a, size_t change) {
  size_t later = change + 1;
  while (later < a->n_changes && a->changes[later].after > a->changes[change].before * (1 + tb_threshold_default)) later++;
  return later;
}
