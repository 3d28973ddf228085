/* Stop rules of one replicate, and of replicates. */
#include "harness/run/stop.h"

#include <math.h>

#include "results/stats/stats.h"

enum { CHECK_EVERY = 4, FLAT_ENOUGH = 3 /* check points: one alone is chance */ };
/* Between check points n and n + 4 the half-width falls like 1/sqrt(n). What stays within this share of the
 * last one although rounds were added is drift or contention, which more rounds of the same process do not
 * average out. */
static const double stable_share = 0.97;

/* A replicate that ends before any rule holds lost one of its processes. */
static const char *const texts[] = {"lost", "target", "stable", "budget", "interrupted"};
const char *tb_stop_text(enum tb_stop_reason reason) { return texts[reason]; }

enum tb_stop_reason tb_stop_ask(struct tb_stop *stop, int rounds, double half_width, int64_t now_ns) {
  if (rounds >= stop->min_rounds && now_ns - stop->started_ns >= stop->budget_ns) return TB_STOP_BUDGET;
  if (rounds >= stop->max_rounds) return TB_STOP_BUDGET;
  if (rounds < stop->min_rounds || rounds % CHECK_EVERY || isnan(half_width)) return TB_STOP_NOT_YET;
  if (half_width <= stop->target) return TB_STOP_TARGET;
  const bool flat = rounds >= 2 * stop->min_rounds && !isnan(stop->last_half_width) &&
                    half_width >= stable_share * stop->last_half_width;
  stop->flat = flat ? stop->flat + 1 : 0;
  stop->last_half_width = half_width;
  return stop->flat >= FLAT_ENOUGH ? TB_STOP_STABLE : TB_STOP_NOT_YET;
}

/* --- replicates --- */

static const int looks[] = {5, 8, 12, 16, 24};
enum { N_LOOKS = sizeof looks / sizeof *looks };
/* Share of misses that an interval is made with so that 5% are missed at the stop, by the number of looks;
 * simulated. */
static const double miss_shares[] = {0.05, 0.05, 0.035, 0.03, 0.028, 0.025, 0.02};
static const double nominal_miss = 0.05;
/* Spread that counts as no longer falling, and how far from the target it must leave the last look. */
static const double steady_share = 0.9, hopeless = 1.5;

static const char *const ends[] = {NULL, "count", "target", "stable", "most", "budget", "interrupted"};
const char *tb_replicates_text(enum tb_replicates_end end) { return ends[end]; }

int tb_replication_most(const struct tb_replication *r) { return r->exact ? r->exact : r->most; }

int tb_replication_least(const struct tb_replication *r) {
  return r->exact ? r->exact : looks[0] < r->most ? looks[0] : r->most;
}

static int count_looks(const struct tb_replication *r) {
  int count = 1; /* the last one */
  for (int i = 0; i < N_LOOKS && !r->exact; i++) count += looks[i] < r->most;
  return count;
}

double tb_replication_confidence(const struct tb_replication *r, double nominal) {
  return 1 - (1 - nominal) * miss_shares[count_looks(r)] / nominal_miss;
}

static double width_at(const struct tb_replication *r, double deviation, int count, double nominal) {
  return tb_t_quantile(0.5 + tb_replication_confidence(r, nominal) / 2, count - 1) * deviation / sqrt(count);
}

/* The spread at the look before `count`; NaN at the first. */
static double spread_before(const double *log_ratios, int count) {
  double spread = NAN;
  for (int i = 0; i < N_LOOKS && looks[i] < count; i++) spread = tb_deviation(log_ratios, (size_t)looks[i]);
  return spread;
}

enum tb_replicates_end tb_replication_ask(const struct tb_replication *r, const double *log_ratios, int count,
                                          double nominal, int64_t now_ns) {
  bool look = false;
  for (int i = 0; i < N_LOOKS; i++) look |= count == looks[i];
  if (r->exact && count >= r->exact) return TB_REPLICATES_COUNT;
  if (!r->exact && (look || count >= r->most) && count > 1) {
    const double spread = tb_deviation(log_ratios, (size_t)count);
    if (width_at(r, spread, count, nominal) <= r->target) return TB_REPLICATES_TARGET;
    if (count >= r->most) return TB_REPLICATES_MOST;
    if (spread >= steady_share * spread_before(log_ratios, count) &&
        width_at(r, spread, r->most, nominal) > hopeless * r->target)
      return TB_REPLICATES_STABLE;
  }
  if (!r->exact && count >= r->most) return TB_REPLICATES_MOST;
  return r->budget_ns && now_ns - r->started_ns >= r->budget_ns ? TB_REPLICATES_BUDGET : TB_REPLICATES_OPEN;
}
