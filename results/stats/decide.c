/* Verdicts on times. Invariants:
 * 1. A verdict other than UNSURE rests on an interval and on a noise floor, both from this run (or, apart,
 *    from both runs).
 * 2. The interval excludes 1 exactly where p is at most 1 - confidence (no ties).
 * 3. Whatever was flagged and is taken back becomes UNSURE; SAME is said only by an interval within the limit
 *    that is not beyond the threshold. */
#include "results/stats/decide.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "results/stats/multiple.h"
#include "results/stats/ranks.h"
#include "results/stats/stats.h"

enum { FEWEST = 2 };

/* --- words --- */

static const struct {
  const char *word, *symbol, *meaning, *todo;
} verdicts[] = {
#define TB_VERDICT(NAME, word, symbol, meaning, todo) [TB_VERDICT_##NAME] = {word, symbol, meaning, todo},
#include "results/stats/verdict.def"
#undef TB_VERDICT
};

const char *tb_verdict_word(enum tb_verdict verdict) { return verdicts[verdict].word; }
const char *tb_verdict_symbol(enum tb_verdict verdict) { return verdicts[verdict].symbol; }
const char *tb_verdict_meaning(enum tb_verdict verdict) { return verdicts[verdict].meaning; }
const char *tb_verdict_todo(enum tb_verdict verdict) { return verdicts[verdict].todo; }

bool tb_verdict_parse(const char *word, enum tb_verdict *out) {
  for (int i = 0; i < TB_VERDICT_COUNT; i++) {
    if (strcasecmp(verdicts[i].word, word)) continue;
    *out = (enum tb_verdict)i;
    return true;
  }
  return false;
}

const char *tb_unsure_text(enum tb_unsure why) {
  switch (why) {
    case TB_UNSURE_NONE: break;
    case TB_UNSURE_CROSSES: return "the interval crosses the limit";
    case TB_UNSURE_FEW_PAIRS: return "fewer than 2 pairs were measured";
    case TB_UNSURE_NO_AA: return "no noise floor: fewer than 2 pairs of the same program were measured";
    case TB_UNSURE_CORRECTED: return "beyond the limit, but not clear enough among as many cases";
    case TB_UNSURE_NOT_CONFIRMED: return "beyond the limit, but fresh pairs did not confirm it";
    case TB_UNSURE_OTHER_CPU: return "both sides were measured on different CPUs";
    case TB_UNSURE_MOVED:
      return "the machine's speed changed between the two runs, as the probe tells: within what it moved by, "
             "the data do not tell";
    case TB_UNSURE_SHORT_HISTORY: return "the history has too few points since its last step";
    case TB_UNSURE_WIDE_FORECAST:
      return "the history has too few points as yet for figures that vary so much: what it foretells is "
             "wider than floor_limit allows, and narrows as points are added";
    case TB_UNSURE_WITHIN_FLOOR:
      return "beyond the threshold, but within what two equal programs differ by here";
    case TB_UNSURE_COUNT: break;
  }
  return "";
}

/* --- samples --- */

struct sample {
  double *values;
  size_t count;
};

static struct sample finite_of(const double *values, size_t count) {
  struct sample s = {.values = malloc((count + 1) * sizeof *values)};
  for (size_t i = 0; s.values && i < count; i++)
    if (isfinite(values[i])) s.values[s.count++] = values[i];
  return s;
}

/* p of "the centre is `bound`" from values around it. */
static double t_p(double centre, double error, double freedom, double bound, enum tb_side side) {
  const double away = centre - bound;
  /* No spread at all: what lies on the bound is on it, and what does not is not. */
  const double both = error > 0 ? tb_t_p(away / error, freedom) : away == 0;
  if (side == TB_BOTH_SIDES) return both;
  return (away > 0) == (side == TB_ABOVE) ? both / 2 : 1 - both / 2;
}

/* What was estimated, and how to ask for p values of it. */
struct estimate {
  struct tb_interval interval; /* of the log ratio */
  bool known, by_ranks;
  double error, freedom;            /* of t */
  const struct sample *base, *head; /* base NULL: pairs */
};

static void from_t(struct estimate *e, double centre, double error, double freedom, double confidence) {
  const double half = error > 0 ? tb_t_quantile(0.5 + confidence / 2, freedom) * error : 0;
  e->error = error;
  e->freedom = freedom;
  e->interval = (struct tb_interval){centre, centre - half, centre + half};
}

static struct estimate of_pairs(const struct sample *pairs, double confidence) {
  struct estimate e = {.interval = {NAN, NAN, NAN}, .head = pairs};
  const double n = (double)pairs->count;
  if (pairs->count == 1) e.interval.centre = pairs->values[0];
  if (pairs->count < FEWEST) return e;
  e.known = true;
  e.by_ranks = tb_signed_rank_interval(pairs->values, pairs->count, confidence, &e.interval);
  if (!e.by_ranks)
    from_t(&e, tb_mean(pairs->values, pairs->count), tb_deviation(pairs->values, pairs->count) / sqrt(n),
           n - 1, confidence);
  return e;
}

/* Welch's t, where there are too few for ranks. */
static void welch(struct estimate *e, double confidence) {
  const double a = (double)e->base->count, b = (double)e->head->count;
  const double deviation_a = tb_deviation(e->base->values, e->base->count),
               deviation_b = tb_deviation(e->head->values, e->head->count);
  const double share_a = deviation_a * deviation_a / a, share_b = deviation_b * deviation_b / b,
               variance = share_a + share_b;
  const double freedom =
      variance > 0 ? variance * variance / (share_a * share_a / (a - 1) + share_b * share_b / (b - 1))
                   : a + b - 2;
  from_t(e, tb_mean(e->head->values, e->head->count) - tb_mean(e->base->values, e->base->count),
         sqrt(variance), freedom, confidence);
}

static struct estimate of_sides(const struct sample *base, const struct sample *head, double confidence) {
  struct estimate e = {.interval = {NAN, NAN, NAN}, .base = base, .head = head};
  if (!base->count || !head->count) return e;
  e.interval.centre = tb_median(head->values, head->count) - tb_median(base->values, base->count);
  if (base->count < FEWEST || head->count < FEWEST) return e;
  e.known = true;
  e.by_ranks =
      tb_rank_sum_interval(base->values, base->count, head->values, head->count, confidence, &e.interval);
  if (!e.by_ranks) welch(&e, confidence);
  return e;
}

static double p_of(const struct estimate *e, double bound, enum tb_side side) {
  if (!e->known) return NAN;
  if (!e->by_ranks) return t_p(e->interval.centre, e->error, e->freedom, bound, side);
  if (e->base)
    return tb_rank_sum_p(e->base->values, e->base->count, e->head->values, e->head->count, bound, side);
  struct sample moved = finite_of(e->head->values, e->head->count);
  for (size_t i = 0; i < moved.count; i++) moved.values[i] -= bound;
  const double p = tb_signed_rank_p(moved.values, moved.count, side);
  free(moved.values);
  return p;
}

/* Two-sided p of "the change lies within +-bound". */
static double p_outside(const struct estimate *e, double bound) {
  if (bound == 0) return p_of(e, 0, TB_BOTH_SIDES);
  return fmin(1, 2 * (e->interval.centre < 0 ? p_of(e, -bound, TB_BELOW) : p_of(e, bound, TB_ABOVE)));
}

/* --- deciding --- */

static void set_floor(struct tb_decision *d, const double *aa_log_ratios, size_t aa_pairs) {
  struct sample sample = finite_of(aa_log_ratios, aa_pairs);
  const struct estimate e = of_pairs(&sample, d->confidence);
  d->aa_pairs = (int)sample.count;
  d->floor = expm1((e.interval.hi - e.interval.lo) / 2);
  d->aa_differ = e.known && (e.interval.lo > 0 || e.interval.hi < 0);
  if (d->aa_differ) d->floor = expm1(fmax(fabs(e.interval.lo), fabs(e.interval.hi)));
  free(sample.values);
}

static void set_verdict(struct tb_decision *d, double lo, double hi, double threshold) {
  const double limit = log1p(d->limit), least = log1p(threshold);
  if (isnan(lo))
    d->why = TB_UNSURE_FEW_PAIRS;
  else if (isnan(d->floor))
    d->why = TB_UNSURE_NO_AA;
  else if (lo > limit)
    d->verdict = TB_VERDICT_SLOWER;
  else if (hi < -limit)
    d->verdict = TB_VERDICT_FASTER;
  else if (lo < -limit || hi > limit)
    d->why = TB_UNSURE_CROSSES;
  else if (lo > least || hi < -least)
    d->why = TB_UNSURE_WITHIN_FLOOR;
  else
    d->verdict = TB_VERDICT_SAME;
}

static struct tb_decision decide(const struct estimate *e, size_t pairs, const double *aa_log_ratios,
                                 size_t aa_pairs, double drift, struct tb_decide_options options) {
  struct tb_decision d = {.verdict = TB_VERDICT_UNSURE,
                          .confidence = options.confidence,
                          .pairs = (int)pairs,
                          .by_ranks = e->by_ranks};
  const double apart = log1p(drift), lo = e->interval.lo - apart, hi = e->interval.hi + apart;
  set_floor(&d, aa_log_ratios, aa_pairs);
  d.limit = fmax(options.threshold, d.floor); /* fmax passes over a NaN */
  d.ratio = exp(e->interval.centre);
  d.lo = exp(lo);
  d.hi = exp(hi);
  d.p = p_outside(e, apart);
  set_verdict(&d, lo, hi, options.threshold);
  return d;
}

struct tb_decision tb_decide(const double *log_ratios, size_t pairs, const double *aa_log_ratios,
                             size_t aa_pairs, struct tb_decide_options options) {
  struct sample sample = finite_of(log_ratios, pairs);
  const struct estimate e = of_pairs(&sample, options.confidence);
  const struct tb_decision d = decide(&e, sample.count, aa_log_ratios, aa_pairs, 0, options);
  free(sample.values);
  return d;
}

struct tb_decision tb_decide_unpaired(const double *base_logs, size_t base_count, const double *head_logs,
                                      size_t head_count, const double *aa_log_ratios, size_t aa_pairs,
                                      double drift, struct tb_decide_options options) {
  struct sample base = finite_of(base_logs, base_count), head = finite_of(head_logs, head_count);
  const struct estimate e = of_sides(&base, &head, options.confidence);
  const struct tb_decision d =
      decide(&e, base.count < head.count ? base.count : head.count, aa_log_ratios, aa_pairs, drift, options);
  free(base.values);
  free(head.values);
  return d;
}

struct tb_spread tb_spread_of(const double *logs, size_t count, const double *aa_log_ratios, size_t aa_pairs,
                              double confidence) {
  struct sample sample = finite_of(logs, count);
  struct tb_decision aa = {.confidence = confidence};
  const struct estimate e = of_pairs(&sample, confidence);
  const double median = tb_median(sample.values, sample.count);
  set_floor(&aa, aa_log_ratios, aa_pairs);
  const struct tb_spread s = {.values = (int)sample.count,
                              .half_width =
                                  e.known ? fmax(e.interval.hi - median, median - e.interval.lo) : NAN,
                              .freedom = (double)sample.count - 1,
                              .aa_pairs = aa.aa_pairs,
                              .floor = aa.floor};
  free(sample.values);
  return s;
}

/* --- looking more than once --- */

static int next_look(int looked) {
  int next = TB_LOOK_FIRST;
  while (next <= looked) next *= 2;
  return next;
}

bool tb_look_due(const struct tb_looks *looks, int pairs, bool last) {
  return last || pairs >= looks->max_pairs || pairs >= next_look(looks->looked);
}

double tb_look_confidence(struct tb_looks *looks, int pairs, bool last) {
  const double error = 1 - looks->confidence,
               part = last || pairs >= looks->max_pairs ? 1 : (double)pairs / looks->max_pairs;
  const double now = fmax(error * part * part - looks->spent, 0);
  looks->spent += now;
  looks->looked = pairs;
  return 1 - now;
}

bool tb_look_settles(const struct tb_decision *d, double threshold) {
  return tb_verdict_flags(d->verdict) || (d->verdict == TB_VERDICT_SAME && d->limit <= threshold);
}

/* --- flagged cases --- */

struct tb_decision tb_decide_confirm(const struct tb_decision *first, const struct tb_decision *fresh) {
  if (!tb_verdict_flags(first->verdict)) return *first;
  struct tb_decision d = *fresh;
  const bool slower = first->verdict == TB_VERDICT_SLOWER;
  const bool stands = slower ? d.lo > 1 && d.ratio > 1 + d.limit : d.hi < 1 && d.ratio < 1 / (1 + d.limit);
  if (stands && !isnan(d.floor)) {
    d.verdict = first->verdict;
    d.why = TB_UNSURE_NONE;
  } else if (d.verdict != TB_VERDICT_SAME) {
    d.verdict = TB_VERDICT_UNSURE;
    d.why = TB_UNSURE_NOT_CONFIRMED;
  }
  return d;
}

bool tb_decide_counts(const struct tb_decision *flagged, const struct tb_decision *fresh, bool settled,
                      int needed, double floor_limit) {
  if (fresh->pairs < needed && !settled) return false;
  return fresh->floor <= floor_limit ||
         tb_verdict_flags(
             tb_decide_confirm(flagged, fresh).verdict); /* a floor that is not known is no limit kept */
}

int tb_decide_correct(struct tb_decision *decisions, size_t count, size_t family, double confidence) {
  double *p = calloc(count + 1, sizeof *p);
  size_t n = 0, next = 0;
  int taken_back = 0;
  if (!p) return -1;
  for (size_t i = 0; i < count; i++)
    if (tb_verdict_flags(decisions[i].verdict)) p[n++] = decisions[i].p;
  if (!tb_holm(p, n, family > n ? family : n, p)) taken_back = -1;
  for (size_t i = 0; i < count && taken_back >= 0; i++) {
    if (!tb_verdict_flags(decisions[i].verdict) || p[next++] <= 1 - confidence) continue;
    decisions[i].verdict = TB_VERDICT_UNSURE;
    decisions[i].why = TB_UNSURE_CORRECTED;
    taken_back++;
  }
  free(p);
  return taken_back;
}

int tb_pairs_needed(double confidence, size_t flagged_count) {
  return (int)ceil(1 + log2((flagged_count ? (double)flagged_count : 1) / (1 - confidence)) - 1e-9);
}
