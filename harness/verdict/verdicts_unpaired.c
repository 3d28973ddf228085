/* Deciding on times of two runs that were not interleaved. Invariants:
 * 1. Where both runs have the calibration kernel, times are over the calibration kernel's of the same rounds,
 *    and each interval is wider, to both sides, by as much as the calibration kernel moved from one run to
 *    the other: what the machine did to the calibration kernel it did to the case anything from not at all to
 *    twice as much, and nothing in two runs tells which. So where the machine moved far, little is decided.
 * 2. Where one has none, nothing says how far the machine moved: times are compared as they are, and a remark
 *    says so.
 * 3. Times of two CPUs are never decided on. */
#include <math.h>

#include "harness/base/args.h"
#include "harness/verdict/verdicts.h"
#include "results/document.h"
#include "results/stats/stats.h"

static const double percent = 100;

/* --- deciding --- */

static bool push_numbers(struct tc_arena *arena, const cJSON *array, tb_doubles *out) {
  const cJSON *item;
  cJSON_ArrayForEach(item, array)
    if (cJSON_IsNumber(item) && !tc_vec_push(tc_arena_alloc(arena), out, item->valuedouble)) return false;
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

/* head/base of the calibration kernel's own times; NaN: one has none. */
static double calibration_ratio(const cJSON *base, const cJSON *head) {
  return tb_doc_number(head, "probe.median_ns") / tb_doc_number(base, "probe.median_ns");
}

static bool has_calibration(const cJSON *one_case) {
  return cJSON_GetArraySize(tb_doc_at(one_case, "probe.log_ratios")) > 0;
}

/* Calibration kernels of two versions are two pieces of work. */
static bool same_calibration(const cJSON *a, const cJSON *b) {
  const double ratio = calibration_ratio(a, b);
  return has_calibration(a) && has_calibration(b) &&
         tb_doc_number(a, "probe.version") == tb_doc_number(b, "probe.version") && ratio > 0 &&
         isfinite(ratio);
}

bool tb_compared_logs(struct tc_arena *arena, const cJSON *one_case, bool calibrated, tb_doubles *logs,
                      tb_doubles *aa_pairs) {
  const bool good = calibrated ? push_numbers(arena, tb_doc_at(one_case, "probe.log_ratios"), logs)
                               : push_times(arena, one_case, logs);
  return good && push_numbers(arena, tb_doc_at(one_case, "aa.log_ratios"), aa_pairs);
}

/* A verdict on times of two CPUs would be one on the CPUs. One that the calibration kernel's move alone takes
 * away says so. */
static void tell_why(struct tb_compared *one, enum tb_verdict unmoved) {
  if (one->time.why == TB_UNSURE_CROSSES && unmoved != TB_VERDICT_UNSURE) one->time.why = TB_UNSURE_MOVED;
  if (!one->other_cpu) return;
  one->time.verdict = TB_VERDICT_UNSURE;
  one->time.why = TB_UNSURE_OTHER_CPU;
}

static bool decide_one(struct tb_verdicts *c, struct tb_compared *one) {
  const struct tb_decide_options options = {tb_policy_threshold(c->policy, one->id), tb_confidence_default};
  const bool calibrated = same_calibration(one->base, one->head);
  tb_doubles base = {0}, head = {0}, aa_pairs = {0};
  if (!tb_compared_logs(c->arena, one->base, calibrated, &base, &aa_pairs) ||
      !tb_compared_logs(c->arena, one->head, calibrated, &head, &aa_pairs))
    return false;
  one->calibration_ratio = calibrated ? calibration_ratio(one->base, one->head) : NAN;
  one->drift = calibrated ? expm1(fabs(log(one->calibration_ratio))) : 0;
  one->time = tb_decide_unpaired(base.data, base.len, head.data, head.len, aa_pairs.data, aa_pairs.len,
                                 one->drift, options);
  one->timed = true;
  tell_why(one, tb_decide_unpaired(base.data, base.len, head.data, head.len, aa_pairs.data, aa_pairs.len, 0,
                                   options)
                    .verdict);
  return true;
}

/* --- remarks --- */

/* What lies between the two runs: how far the calibration kernel moved, in the middle and at most. */
static bool remark_calibration(struct tb_verdicts *c) {
  static const double shown = 0.001; /* a ratio in a table has three decimals */
  tb_doubles ratios = {0};
  size_t plain = 0, compared = 0;
  double most = 0;
  for (size_t i = 0; i < c->cases.len; i++) {
    const struct tb_compared *one = &c->cases.data[i];
    if (!one->timed) continue;
    compared++;
    plain += isnan(one->calibration_ratio);
    most = fmax(most, one->drift);
    if (!isnan(one->calibration_ratio) &&
        !tc_vec_push(tc_arena_alloc(c->arena), &ratios, one->calibration_ratio))
      return false;
  }
  if (most >= shown &&
      !tb_verdicts_remark(
          c, tb_format(
                 c->arena,
                 "the probe took %.3g times as long in head's run, and changed by up to %.2g%%: head/base "
                 "uses times relative to the probe, and each interval is wider by that change on both sides",
                 tb_median(ratios.data, ratios.len), most * percent)))
    return false;
  return !plain ||
         tb_verdicts_remark(
             c,
             tb_format(
                 c->arena,
                 "%zu of %zu case%s compared without a probe, so a slower machine counts as a slower program",
                 plain, compared, compared == 1 ? " is" : "s are"));
}

bool tb_verdicts_decide_unpaired(struct tb_verdicts *c) {
  static const char two_runs[] =
      "these are two runs: all changes between them count as changes of head, except the speed that the "
      "probe shows; tbench ab measures both sides in one";
  size_t family = 0;
  for (size_t i = 0; i < c->cases.len; i++) {
    if (!tb_compared_measured(&c->cases.data[i])) continue;
    if (!decide_one(c, &c->cases.data[i])) return false;
    family++;
  }
  return (!family || tb_verdicts_remark(c, two_runs)) && remark_calibration(c) &&
         tb_verdicts_correct(c, family);
}
