/* The figure of a case that histories are made of and judged by: one rule for all who read documents, of
 * which each finds the numbers in its own form of them (history.h in cJSON, the dashboard in its tape).
 * Pure. */
#ifndef TB_HISTORY_VALUE_H
#define TB_HISTORY_VALUE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "results/stats/stats.h"

/* The compiled time over the calibration kernel's time of the same rounds, where the case has a list of their
 * ratios (`calibrated`); else nanoseconds, as they are. `log_ratios`: those of the list that are numbers;
 * none: the case has no figure. NaN: it has none that could be judged. */
static inline double tb_history_value_of(bool calibrated, const double *log_ratios, size_t count,
                                         double steady_ns) {
  const double value = !calibrated ? steady_ns : count ? exp(tb_median(log_ratios, count)) : NAN;
  return value > 0 && isfinite(value) ? value : NAN;
}

#endif
