/* Forecast from the current segment. Invariants:
 * 1. The centre is of the current segment alone; the spread is pooled over all segments long enough to have
 *    one, since noise is the machine's and outlasts steps.
 * 2. All is computed in logarithms; what is told is values, and shares of the centre. */
#include "results/stats/segment.h"

#include <math.h>
#include <stdlib.h>

#include "results/stats/ranks.h"
#include "results/stats/stats.h"

enum { SPREAD_POINTS_MIN = 3, SMALL = 9 };
/* Makes Qn estimate the standard deviation of normal noise; Croux and Rousseeuw (1992) for small counts. */
static const double normal_factor = 2.21914,
                    small_factors[SMALL + 1] = {0, 0, 0.399, 0.994, 0.512, 0.844, 0.611, 0.857, 0.669, 0.872};
static const double odd_shift = 1.4, even_shift = 3.8;
/* What makes (value - median) / spread a Student's t, tails included; fitted to simulations of 5 to 40
 * values, in one segment and several. */
static const double freedom_share = 0.6, freedom_lost = 0.3, scale_lost = 0.4;

static double small_count_factor(size_t count) {
  if (count <= SMALL) return small_factors[count];
  return (double)count / ((double)count + (count % 2 ? odd_shift : even_shift));
}

/* Distances of two values of one segment each, and which of them is the spread. */
struct pool {
  double *distances;
  size_t count, rank; /* rank: sum of the segments' */
  double factors;     /* sum over the distances of the factor of their segment's count */
};

static void pool_add(struct pool *p, const double *values, size_t count) {
  const size_t half = count / 2 + 1;
  for (size_t i = 0; i < count; i++)
    for (size_t j = 0; j < i; j++) p->distances[p->count++] = fabs(values[i] - values[j]);
  p->rank += half * (half - 1) / 2;
  p->factors += small_count_factor(count) * (double)(count * (count - 1) / 2);
}

static double pool_spread(struct pool *p) {
  return p->count
             ? normal_factor * p->factors / (double)p->count * tb_select(p->distances, p->count, p->rank - 1)
             : NAN;
}

/* Over all segments that are long enough; *freedom: their values less their number. NaN when memory is
 * out. */
static double pooled_qn(const double *logs, size_t count, const struct tb_change *changes,
                        size_t change_count, double *freedom) {
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

bool tb_forecast_next(const double *values, size_t count, const struct tb_change *changes,
                      size_t change_count, double confidence, struct tb_forecast *out) {
  const size_t first = change_count ? changes[change_count - 1].at : 0;
  *out = (struct tb_forecast){.first = first,
                              .points = count - first,
                              .confidence = confidence,
                              .median = NAN,
                              .spread = NAN,
                              .lo = NAN,
                              .hi = NAN,
                              .half_width = NAN};
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

/* What is foretold and how well tonight is known, together. `half`: half-width at the forecast's confidence,
 * in logarithms. */
struct error {
  double half, freedom;
};

/* Degrees of freedom by Welch and Satterthwaite. */
static struct error error_of(const struct tb_forecast *f, const struct tb_spread *tonight) {
  const double far = 0.5 + f->confidence / 2, half = log1p(f->half_width);
  if (!tonight) return (struct error){half, f->freedom};
  const double foretold = half / tb_t_quantile(far, f->freedom),
               seen = tonight->half_width / tb_t_quantile(far, tonight->freedom);
  const double variances[] = {foretold * foretold, seen * seen}, sum = variances[0] + variances[1];
  if (!(sum > 0)) return (struct error){hypot(half, tonight->half_width), f->freedom};
  return (struct error){
      hypot(half, tonight->half_width),
      sum * sum /
          (variances[0] * variances[0] / f->freedom + variances[1] * variances[1] / tonight->freedom)};
}

/* `tonight` NULL: as if it were known without an error. */
static struct tb_decision decide(const struct tb_forecast *f, double value, const struct tb_spread *tonight,
                                 double threshold) {
  struct tb_decision d = {.verdict = TB_VERDICT_UNSURE,
                          .why = TB_UNSURE_SHORT_HISTORY,
                          .confidence = f->confidence,
                          .points = (int)f->points};
  d.ratio = d.lo = d.hi = d.p = d.floor = NAN;
  d.limit = threshold;
  if (tonight) d.pairs = tonight->values, d.aa_pairs = tonight->aa_pairs;
  if (!f->known || !(value > 0)) return d;
  d.ratio = value / f->median;
  d.why = TB_UNSURE_FEW_PAIRS;
  if (tonight && isnan(tonight->half_width)) return d;
  d.why = TB_UNSURE_NO_AA;
  if (tonight && isnan(tonight->floor)) return d;
  d.why = TB_UNSURE_NONE;
  const struct error error = error_of(f, tonight);
  const double width = expm1(error.half),
               scale = error.half / tb_t_quantile(0.5 + f->confidence / 2, error.freedom);
  d.floor = tonight ? fmax(width, tonight->floor) : width;
  d.limit = fmax(threshold, width);
  d.lo = d.ratio / (1 + width);
  d.hi = d.ratio * (1 + width);
  d.p = scale > 0 ? tb_t_p(log(d.ratio) / scale, error.freedom) : d.ratio == 1;
  d.verdict = d.ratio > 1 + d.limit         ? TB_VERDICT_SLOWER
              : d.ratio < 1 / (1 + d.limit) ? TB_VERDICT_FASTER
                                            : TB_VERDICT_SAME;
  return d;
}

struct tb_decision tb_forecast_decide(const struct tb_forecast *f, double value, double threshold) {
  return decide(f, value, NULL, threshold);
}

struct tb_decision tb_forecast_decide_within(const struct tb_forecast *f, double value,
                                             const struct tb_spread *tonight, double threshold,
                                             double floor_limit) {
  struct tb_decision d = decide(f, value, tonight, threshold);
  if (d.verdict != TB_VERDICT_SAME || f->half_width <= floor_limit || f->points >= TB_FORECAST_POINTS_SETTLED)
    return d;
  d.verdict = TB_VERDICT_UNSURE;
  d.why = TB_UNSURE_WIDE_FORECAST;
  return d;
}
