/* Forecast from the current segment. Invariants:
 * 1. The centre is of the current segment alone; the spread is pooled over all segments long enough to have one, since noise is the
 *    machine's and outlasts steps.
 * 2. All is computed in logarithms; what is told is values, and shares of the centre. */
#include "harness/segment.h"

#include <math.h>
#include <stdlib.h>

#include "harness/ranks.h"
#include "harness/stats.h"

enum { SPREAD_POINTS_MIN = 3, SMALL = 9 };
/* Makes Qn estimate the standard deviation of normal noise; Croux and Rousseeuw (1992) for small counts. */
static const double normal_factor = 2.21914, small_factors[SMALL + 1] = {0, 0, 0.399, 0.994, 0.512, 0.844, 0.611, 0.857, 0.669, 0.872};
static const double odd_shift = 1.4, even_shift = 3.8;
/* What makes (value - median) / spread a Student's t, tails included; fitted to simulations of 5 to 40 values, in one segment and several. */
static const double freedom_share = 0.6, freedom_lost = 0.3, scale_lost = 0.4;

static double small_count_factor(size_t count) {
  if (count <= SMALL) return small_factors[count];
  return (double)count / ((double)count + (count % 2 ? odd_shift : even_shift));
}

/* Distances of two values of one segment each, and which of them is the spread. */
struct pool {
  double *distances;
  size_t count, rank;    /* rank: sum of the segments' */
  double factors;        /* sum over the distances of the factor of their segment's count */
};

static void pool_add(struct pool *p, const double *values, size_t count) {
  const size_t half = count / 2 + 1;
  for (size_t i = 0; i < count; i++)
    for (size_t j = 0; j < i; j++) p->distances[p->count++] = fabs(values[i] - values[j]);
  p->rank += half * (half - 1) / 2;
  p->factors += small_count_factor(count) * (double)(count * (count - 1) / 2);
}

static double pool_spread(struct pool *p) {
  return p->count ? normal_factor * p->factors / (double)p->count * tb_select(p->distances, p->count, p->rank - 1) : NAN;
}

/* Over all segments that are long enough; *freedom: their values less their number. NaN when memory is out. */
static double pooled_qn(const double *logs, size_t count, const struct tb_change *changes, size_t change_count, double *freedom) {
  struct pool pool = {.distances = malloc(count * (count - 1) / 2 * sizeof *pool.distances)};
  *freedom = 0;
  if (!pool.distances) return NAN;
  for (size_t s = 0; s <= change_count; s++) {
    const size_t from = s ? changes[s - 1].at : 0, to = s < change_count ? changes[s].at : count;
    if (to - from < SPREAD_POINTS_MIN) continue;
    pool_add(&pool, logs + from, to - from);
    *freedom += (double)(to - from - 1);
  }
  const double result = pool_spread(&pool);
  free(pool.distances);
  return result;
}

bool tb_forecast_next(const double *values, size_t count, const struct tb_change *changes, size_t change_count, double confidence, struct tb_forecast *out) {
  const size_t first = change_count ? changes[change_count - 1].at : 0;
  *out = (struct tb_forecast){.first = first, .points = count - first, .confidence = confidence, .median = NAN, .spread = NAN, .lo = NAN, .hi = NAN, .half_width = NAN};
  if (out->points < TB_FORECAST_POINTS_MIN) return true;
  double *logs = malloc(count * sizeof *logs), freedom;
  if (!logs) return false;
  for (size_t i = 0; i < count; i++) logs[i] = log(values[i]);
  const double median = tb_median(logs + first, out->points);
  const double spread = pooled_qn(logs, count, changes, change_count, &freedom);
  free(logs);
  if (isnan(spread)) return false;
  out->freedom = freedom_share * freedom - freedom_lost;
  const double error = spread * (1 - scale_lost / freedom) * sqrt(1 + M_PI / (2 * (double)out->points));
  const double half = tb_t_quantile(0.5 + confidence / 2, out->freedom) * error;
  out->known = true;
  out->median = exp(median);
  out->spread = expm1(spread);
  out->half_width = expm1(half);
  out->lo = exp(median - half);
  out->hi = exp(median + half);
  return true;
}

struct tb_decision tb_forecast_decide(const struct tb_forecast *f, double value, double threshold) {
  struct tb_decision d = {.verdict = TB_VERDICT_UNSURE, .why = TB_UNSURE_SHORT_HISTORY, .confidence = f->confidence, .pairs = (int)f->points};
  d.ratio = d.lo = d.hi = d.p = d.floor = NAN;
  d.limit = threshold;
  if (!f->known || !(value > 0)) return d;
  d.why = TB_UNSURE_NONE;
  d.ratio = value / f->median;
  d.floor = f->half_width;
  d.limit = fmax(threshold, d.floor);
  d.lo = d.ratio / (1 + f->half_width);
  d.hi = d.ratio * (1 + f->half_width);
  const double error = log1p(f->half_width) / tb_t_quantile(0.5 + f->confidence / 2, f->freedom);
  d.p = error > 0 ? tb_t_p(log(d.ratio) / error, f->freedom) : d.ratio == 1;
  d.verdict = d.ratio > 1 + d.limit ? TB_VERDICT_SLOWER : d.ratio < 1 / (1 + d.limit) ? TB_VERDICT_FASTER : TB_VERDICT_SAME;
  return d;
}
