/* What a history says of tonight's value. Pure.
 *
 * Values are times or counts > 0, oldest first, already divided by their run's calibration kernel. The
 * current segment is what follows the last change. In logarithms: centre m = median of the current segment (n
 * points), spread s = Qn (Rousseeuw and Croux 1993) over all segments at once: of the distances of two values
 * of one segment, 2.2191 times the k-th smallest, k = C(n/2 + 1, 2), with the correction for small n; as
 * efficient as 82% of the standard deviation under normal noise, and half of the values may be anything.
 * Interval for the next value: m +- t(1 - a/2, f) s' sqrt(1 + pi / (2 n)): the usual prediction interval,
 * with the variance of a median, pi s^2 / (2 n), where the mean has s^2 / n. Qn of few values varies far more
 * than the standard deviation of as many, so f is not values - segments, v: with f = 0.6 v - 0.3 and s' = (1
 * - 0.4 / v) s not only one value in 20 lies outside at 95% but also one in 200 at 99.5%, which is what a
 * correction over many cases rests on (tests/results/stats/test_changepoint.c simulates it). Segments of
 * fewer than 3 points (between marks) have no part in the spread. */
#ifndef TB_SEGMENT_H
#define TB_SEGMENT_H

#include "results/stats/changepoint.h"
#include "results/stats/decide.h"

/* SETTLED: from so many points on the interval hardly narrows any more. At 95% its half-width is 4.2 times
 * the spread for 5 points of one segment, 2.9 times for 8, 2.2 times for 20, 2 times for any number. */
enum { TB_FORECAST_POINTS_MIN = 5, TB_FORECAST_POINTS_SETTLED = 20 };
struct tb_forecast {
  bool known;                 /* false: fewer than TB_FORECAST_POINTS_MIN points in the current segment */
  size_t first, points;       /* of the current segment */
  double median;              /* of the current segment */
  double spread;              /* pooled, as a share (0.02: 2%) */
  double lo, hi;              /* of the next value */
  double half_width;          /* as a share: of that interval */
  double confidence, freedom; /* freedom: degrees of the t interval, as above; no whole number */
};

/* `changes`: as tb_change_points gave them. False when memory is out. */
bool tb_forecast_next(const double *values, size_t count, const struct tb_change *changes,
                      size_t change_count, double confidence, struct tb_forecast *out);

/* A value against the forecast: SLOWER or FASTER where it lies outside of the interval and more than
 * `threshold` away from the median; else SAME; UNSURE where no forecast is known. That is another rule than
 * of pairs (decide.h): the interval does not hold 1, and the estimate, not all of the interval, is beyond the
 * threshold. ratio is value/median; lo and hi are its interval by the forecast's half-width, which is the
 * floor too; limit is max(threshold, half-width); p the two-sided t; points those of the segment. How well
 * the value itself was measured has no part in it: for those who do not know it. */
struct tb_decision tb_forecast_decide(const struct tb_forecast *forecast, double value, double threshold);
/* Tonight's value, and how well tonight measured it. As above with a half-width of H = sqrt(h^2 + w^2), h the
 * forecast's and w tonight's, in logarithms: what h has of noise within a night is that of earlier nights. So
 * a loud night is not SLOWER; the price is that of one as loud as those before H counts that noise twice. p
 * is a t with degrees of freedom by Welch and Satterthwaite, and at most 1 - confidence exactly where the
 * interval excludes 1. pairs are tonight's values: fewer than 2 are UNSURE (TB_UNSURE_FEW_PAIRS), and so are
 * fewer than 2 A/A pairs (TB_UNSURE_NO_AA). The floor is the larger of H and that of tonight's A/A pairs, and
 * no part of the limit. Above `floor_limit` it is too wide: there SAME says nothing. Where that is so since h
 * is, SAME of a segment that has not SETTLED becomes UNSURE (TB_UNSURE_WIDE_FORECAST), since more points make
 * h narrower; else it stays, with the floor that tells. */
struct tb_decision tb_forecast_decide_within(const struct tb_forecast *forecast, double value,
                                             const struct tb_spread *tonight, double threshold,
                                             double floor_limit);

#endif
