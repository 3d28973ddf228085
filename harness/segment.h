/* What a history says of tonight's value. Pure.
 *
 * Values are times or counts > 0, oldest first, already divided by their run's probe. The current segment is what follows the last
 * change. In logarithms: centre m = median of the current segment (n points), spread s = Qn (Rousseeuw and Croux 1993) over all segments
 * at once: of the distances of two values of one segment, 2.2191 times the k-th smallest, k = C(n/2 + 1, 2), with the correction for small n;
 * as efficient as 82% of the standard deviation under normal noise, and half of the values may be anything. Interval for the next value:
 * m +- t(1 - a/2, f) s' sqrt(1 + pi / (2 n)): the usual prediction interval, with the variance of a median, pi s^2 / (2 n), where the mean has s^2 / n. Qn of few values varies far more than the
 * standard deviation of as many, so f is not values - segments, v: with f = 0.6 v - 0.3 and s' = (1 - 0.4 / v) s not only one value in 20
 * lies outside at 95% but also one in 200 at 99.5%, which is what a correction over many cases rests on (tests/unit/test_changepoint.c
 * simulates it). Segments of fewer than 3 points (between marks) have no part in the spread. */
#ifndef TB_SEGMENT_H
#define TB_SEGMENT_H

#include "harness/changepoint.h"
#include "harness/decide.h"

enum { TB_FORECAST_POINTS_MIN = 5 };
struct tb_forecast {
  bool known;            /* false: fewer than TB_FORECAST_POINTS_MIN points in the current segment */
  size_t first, points;  /* of the current segment */
  double median;         /* of the current segment */
  double spread;         /* pooled, as a share (0.02: 2%) */
  double lo, hi;         /* of the next value */
  double half_width;     /* as a share: of that interval */
  double confidence, freedom; /* freedom: degrees of the t interval, as above; no whole number */
};

/* `changes`: as tb_change_points gave them. False when memory is out. */
bool tb_forecast_next(const double *values, size_t count, const struct tb_change *changes, size_t change_count, double confidence, struct tb_forecast *out);

/* Tonight's value against the forecast: SLOWER or FASTER where it lies outside of the interval and more than `threshold` away from the
 * median; else SAME; UNSURE where no forecast is known. ratio is value/median, lo and hi its interval by the forecast's half-width, which
 * is the floor too; p the two-sided t. */
struct tb_decision tb_forecast_decide(const struct tb_forecast *forecast, double value, double threshold);

#endif
