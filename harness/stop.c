/* Stop rules of one replicate. */
#include "harness/stop.h"

#include <math.h>

enum { CHECK_EVERY = 4, FLAT_ENOUGH = 3 /* check points: one alone is chance */ };
/* Between check points n and n + 4 the half-width falls like 1/sqrt(n). What stays within this share of the last one although
 * rounds were added is drift or contention, which more rounds of the same process do not average out. */
static const double stable_share = 0.97;

/* A replicate that ends before any rule holds lost one of its processes. */
static const char *const texts[] = {"lost", "target", "stable", "budget", "interrupted"};
const char *tb_stop_text(enum tb_stop_reason reason) { return texts[reason]; }

enum tb_stop_reason tb_stop_ask(struct tb_stop *stop, int rounds, double half_width, int64_t now_ns) {
  if (rounds >= stop->min_rounds && now_ns - stop->started_ns >= stop->budget_ns) return TB_STOP_BUDGET;
  if (rounds >= stop->max_rounds) return TB_STOP_BUDGET;
  if (rounds < stop->min_rounds || rounds % CHECK_EVERY || isnan(half_width)) return TB_STOP_NOT_YET;
  if (half_width <= stop->target) return TB_STOP_TARGET;
  const bool flat = rounds >= 2 * stop->min_rounds && !isnan(stop->last_half_width) && half_width >= stable_share * stop->last_half_width;
  stop->flat = flat ? stop->flat + 1 : 0;
  stop->last_half_width = half_width;
  return stop->flat >= FLAT_ENOUGH ? TB_STOP_STABLE : TB_STOP_NOT_YET;
}
