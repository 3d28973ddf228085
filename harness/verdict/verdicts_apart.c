/* Deciding on times of two runs that were not interleaved. Invariants:
 * 1. Where both runs have the probe, times are over the probe's of the same rounds, and each interval is
 *    wider, to both sides, by as much as the probe moved from one run to the other: what the machine did to
 *    the probe it did to the case anything from not at all to twice as much, and nothing in two runs tells
 *    which. So where the machine moved far, little is decided.
 * 2. Where one has none, nothing says how far the machine moved: times are compared as they are, and a remark
 *    says so.
 * 3. Times of two CPUs are never decided on. */
#include <math.h>

#include "harness/base/args.h"
#include "harness/verdict/verdicts.h"
#include "reporters/reporter.h"
#include "results/stats/stats.h"

static const double percent = 100;

/* --- deciding --- */

static bool push_numbers(struct tc_arena *arena, const cJSON *array, tb_doubles *out) {
  const cJSON *item;
  cJSON_ArrayForEach(item, array) if (cJSON_IsNumber(item) && !tc_vec_push(tc_arena_alloc(arena), out,
                                                                           item->valuedouble)) return false;
  return true;
}

/* Logarithms of the compiled time of each replicate. */
static bool push_times(struct tc_arena *arena, const cJSON *one_case, tb_doubles *out) {
  const cJSON *replicate;
  cJSON_ArrayForEach(replicate, tb_doc_at(one_case, "steady.replicates")) {
    const double ns = tb_doc_number(replicate, "median_ns");
    if (ns > 0 && !tc_vec_push(tc_arena_alloc(arena), out, log(ns))) return false;
  }
  return true;
}

/* head/base of the probe's own times; NaN: one has none. */
static double probe_ratio(const cJSON *base, const cJSON *head) {
  return tb_doc_number(head, "probe.median_ns") / tb_doc_number(base, "probe.median_ns");
}

static bool has_probe(const cJSON *one_case) {
  return cJSON_GetArraySize(tb_doc_at(one_case, "probe.log_ratios")) > 0;
}

/* Probes of two versions are two pieces of work. */
static bool same_probe(const cJSON *a, const cJSON *b) {
  const double ratio = probe_ratio(a, b);
  return has_probe(a) && has_probe(b) &&
         tb_doc_number(a, "probe.version") == tb_doc_number(b, "probe.version") && ratio > 0 &&
         isfinite(ratio);
}

bool tb_compared_logs(struct tc_arena *arena, const cJSON *one_case, bool probed, tb_doubles *logs,
                      tb_doubles *twins) {
  const bool good = probed ? push_numbers(arena, tb_doc_at(one_case, "probe.log_ratios"), logs)
                           : push_times(arena, one_case, logs);
  return good && push_numbers(arena, tb_doc_at(one_case, "aa.log_ratios"), twins);
}

/* A verdict on times of two CPUs would be one on the CPUs. One that the probe's move alone takes away says
 * so. */
static void tell_why(struct tb_compared *one, enum tb_verdict unmoved) {
  if (one->time.why == TB_UNSURE_CROSSES && unmoved != TB_VERDICT_UNSURE) one->time.why = TB_UNSURE_MOVED;
  if (!one->other_cpu) return;
  one->time.verdict = TB_VERDICT_UNSURE;
  one->time.why = TB_UNSURE_OTHER_CPU;
}

static bool decide_one(struct tb_verdicts *c, struct tb_compared *one) {
  const struct tb_decide_options options = {tb_policy_threshold(c->policy, one->id), tb_confidence_default};
  const bool probed = same_probe(one->base, one->head);
  tb_doubles base = {0}, head = {0}, twins = {0};
  if (!tb_compared_logs(c->arena, one->base, probed, &base, &twins) ||
      !tb_compared_logs(c->arena, one->head, probed, &head, &twins))
    return false;
  one->probe_ratio = probed ? probe_ratio(one->base, one->head) : NAN;
  one->drift = probed ? expm1(fabs(log(one->probe_ratio))) : 0;
  one->time =
      tb_decide_apart(base.data, base.len, head.data, head.len, twins.data, twins.len, one->drift, options);
  one->timed = true;
  tell_why(
      one,
      tb_decide_apart(base.data, base.len, head.data, head.len, twins.data, twins.len, 0, options).verdict);
  return true;
}

/* --- remarks --- */

/* What lies between the two runs: how far the probe moved, in the middle and at most. */
static bool remark_probe(struct tb_verdicts *c) {
  static const double shown = 0.001; /* a ratio in a table has three decimals */
  tb_doubles ratios = {0};
  size_t plain = 0, compared = 0;
  double most = 0;
  for (size_t i = 0; i < c->cases.len; i++) {
    const struct tb_compared *one = &c->cases.data[i];
    if (!one->timed) continue;
    compared++;
    plain += isnan(one->probe_ratio);
    most = fmax(most, one->drift);
    if (!isnan(one->probe_ratio) && !tc_vec_push(tc_arena_alloc(c->arena), &ratios, one->probe_ratio))
      return false;
  }
  if (most >= shown &&
      !tb_verdicts_remark(c, tb_format(c->arena,
                                       "the probe took %.3g times as long in head's run, and changed by up "
                                       "to %.2g%%: head/base is of the times over the probe's, and each "
                                       "interval is wider by that change, to both sides",
                                       tb_median(ratios.data, ratios.len), most * percent)))
    return false;
  return !plain || tb_verdicts_remark(c, tb_format(c->arena,
                                                   "%zu of %zu case%s compared without a probe, so a machine "
                                                   "that was slower counts as a slower program",
                                                   plain, compared, compared == 1 ? " is" : "s are"));
}

bool tb_verdicts_decide_apart(struct tb_verdicts *c) {
  static const char two_runs[] = "these are two runs: what changed between them counts as head's, save what "
                                 "the probe tells; tbench ab measures both sides in one";
  size_t family = 0;
  for (size_t i = 0; i < c->cases.len; i++) {
    if (!tb_compared_measured(&c->cases.data[i])) continue;
    if (!decide_one(c, &c->cases.data[i])) return false;
    family++;
  }
  return (!family || tb_verdicts_remark(c, two_runs)) && remark_probe(c) && tb_verdicts_correct(c, family);
}
