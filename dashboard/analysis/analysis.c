/* Verdicts on a series, by the machinery of gate: change points, forecast, and the interval between two
 * segments. */
#include "dashboard/analysis/analysis.h"

#include <math.h>

#include "results/stats/stats.h"

static const double least_score = 1e-9; /* of a step whose interval holds 1: it comes last */

const char *tb_basis_name(int basis) {
  static const char *const names[] = {"none", "point", "step"};
  return names[basis >= 0 && basis < 3 ? basis : 0];
}

static size_t end_of(const struct tb_analysis *a, size_t change, size_t count) {
  return change + 1 < a->n_changes ? a->changes[change + 1].at : count;
}

static size_t changes_before(const struct tb_analysis *a, size_t point) {
  size_t before = 0;
  while (before < a->n_changes && a->changes[before].at < point) before++;
  return before;
}

/* The first of the runs up to the newest that are all off to the same side of what those before the first of
 * them let expect: the step, if it is one, came with it. False: memory is out. */
static bool find_first_off(const double *values, size_t newest, enum tb_verdict verdict,
                           struct tb_analysis *out) {
  for (out->point = newest; out->point > 1; out->point--) {
    const size_t one = out->point - 1;
    struct tb_forecast f;
    if (!tb_forecast_next(values, one, out->changes, changes_before(out, one), tb_confidence_default, &f))
      return false;
    if (tb_forecast_decide(&f, values[one], tb_threshold_default).verdict != verdict) return true;
  }
  return true;
}

/* The newest value against what those before it let expect. How well it was measured itself is not known
 * here, unlike to the gate: a point has figures of its case, of which none is the spread of its replicates
 * over the calibration kernel (the floor is that of the speedup). So a loud night may be told to have moved,
 * where the gate calls it too noisy. */
static bool judge_newest(const double *values, size_t count, struct tb_analysis *out) {
  struct tb_forecast f;
  if (!tb_forecast_next(values, count - 1, out->changes, changes_before(out, count - 1),
                        tb_confidence_default, &f))
    return false;
  const struct tb_decision d = tb_forecast_decide(&f, values[count - 1], tb_threshold_default);
  out->point = count - 1;
  out->evidence.point = d.verdict;
  out->evidence.point_move = d.ratio;
  out->evidence.p = d.p;
  if (f.known)
    out->evidence.error = log1p(f.half_width) / tb_t_quantile(0.5 + f.confidence / 2, f.freedom),
    out->evidence.freedom = f.freedom;
  return !tb_verdict_flags(d.verdict) || find_first_off(values, count - 1, d.verdict, out);
}

/* The newest step, where it is recent: a change point was tested already, so its interval tells how large it
 * is, and on which side. */
static void find_step(const double *values, size_t count, struct tb_analysis *out) {
  double logs[TB_ANALYSIS_POINTS];
  if (!out->n_changes) return;
  const size_t last = out->n_changes - 1, at = out->changes[last].at,
               first = last ? out->changes[last - 1].at : 0, end = end_of(out, last, count);
  if (count - at > TB_ANALYSIS_RECENT) return;
  for (size_t i = first; i < end; i++) logs[i] = log(values[i]);
  const struct tb_decide_options options = {tb_threshold_default, tb_confidence_default};
  const struct tb_decision d =
      tb_decide_unpaired(logs + first, at - first, logs + at, end - at, NULL, 0, 0, options);
  out->step = at;
  out->evidence.step_move = d.ratio;
  out->evidence.step_lo = d.lo;
  out->evidence.step_hi = d.hi;
}

bool tb_analyse(const double *values, size_t count, struct tb_analysis *out) {
  const struct tb_change_options options = tb_change_defaults();
  struct tc_error err;
  *out = (struct tb_analysis){.evidence = {TB_VERDICT_UNSURE, NAN, NAN, NAN, NAN, NAN, NAN, NAN},
                              .shown = {TB_BASIS_NONE, TB_VERDICT_UNSURE, NAN, NAN, NAN, 0}};
  if (count < 2) return true;
  if (tb_change_points(values, count, NULL, 0, &options, out->changes, &out->n_changes, &err) != TC_OK)
    return false;
  if (!judge_newest(values, count, out)) return false;
  find_step(values, count, out);
  out->shown = tb_analysis_show(&out->evidence, 1 - tb_confidence_default);
  return true;
}

size_t tb_analysis_closed_by(const struct tb_analysis *a, size_t change) {
  size_t later = change + 1;
  while (later < a->n_changes &&
         a->changes[later].after > a->changes[change].before * (1 + tb_threshold_default))
    later++;
  return later;
}

/* --- what is shown --- */

double tb_analysis_level(const double *p, size_t count, size_t family) {
  const double each = TB_ANALYSIS_FALSE_SHARE / (double)(family ? family : 1);
  size_t accepted = count;
  while (accepted && p[accepted - 1] > (double)accepted * each) accepted--;
  return (double)(accepted ? accepted : 1) * each;
}

static double near_end(const struct tb_shown *shown) {
  return shown->lo > 1 ? log(shown->lo) : shown->hi < 1 ? -log(shown->hi) : 0;
}

struct tb_shown tb_analysis_show(const struct tb_evidence *e, double level) {
  const bool flagged = e->point == TB_VERDICT_SLOWER || e->point == TB_VERDICT_FASTER;
  struct tb_shown shown = {.basis = TB_BASIS_POINT,
                           .verdict = flagged && e->p > level ? TB_VERDICT_UNSURE : e->point,
                           .move = e->point_move,
                           .lo = NAN,
                           .hi = NAN};
  if (!isnan(e->step_move) && (!flagged || e->p > level)) {
    shown = (struct tb_shown){TB_BASIS_STEP, e->step_move > 1 ? TB_VERDICT_SLOWER : TB_VERDICT_FASTER,
                              e->step_move,  e->step_lo,
                              e->step_hi,    0};
    shown.score = fmax(near_end(&shown), least_score);
  } else if (!isnan(e->p)) {
    const double half = tb_t_quantile(1 - level / 2, e->freedom) * e->error;
    shown.lo = e->point_move * exp(-half);
    shown.hi = e->point_move * exp(half);
    if (shown.verdict == e->point && flagged) shown.score = fmax(near_end(&shown), least_score);
  }
  return shown;
}
