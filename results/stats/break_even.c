/* Fieller's interval of cost / gain. */
#include "results/stats/break_even.h"

#include <math.h>

#include "results/stats/stats.h"

struct tb_break_even tb_break_even_interval(const double *costs, size_t n_costs, const double *gains,
                                            size_t n_gains, double confidence) {
  if (n_costs < 2 || n_gains < 2) return (struct tb_break_even){NAN, NAN, false};
  const size_t fewer = n_costs < n_gains ? n_costs : n_gains;
  const double t = tb_t_quantile(0.5 + confidence / 2, (double)(fewer - 1));
  const double cost = tb_mean(costs, n_costs), gain = tb_mean(gains, n_gains);
  const double cost_error = t * tb_deviation(costs, n_costs) / sqrt((double)n_costs),
               gain_error = t * tb_deviation(gains, n_gains) / sqrt((double)n_gains);
  /* (cost - n · gain)² ≤ cost_error² + n² · gain_error², that is a·n² - 2·b·n + c ≤ 0 */
  const double a = gain * gain - gain_error * gain_error, b = cost * gain,
               c = cost * cost - cost_error * cost_error;
  if (a > 0 && gain < 0) return (struct tb_break_even){NAN, NAN, true}; /* it costs, and each call loses */
  const double root = sqrt(fmax(b * b - a * c, 0));
  const double lo = c <= 0 ? 0 : c / (b + root); /* the smaller positive root, without cancellation */
  if (a <= 0) return (struct tb_break_even){isfinite(lo) ? fmax(lo, 0) : NAN, NAN, true};
  return (struct tb_break_even){lo, (b + root) / a, false};
}
