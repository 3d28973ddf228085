/* Paired comparisons in order. Invariant: what is reported as flagged was flagged twice, the second time on
 * pairs of its own. */
#include "harness/compare/ab.h"

#include <string.h>

#include "harness/base/text.h"

enum { SEEDS_APART = 1000003 };
static const double percent = 100;

static const char *cache_dir(struct tb_ab *ab, size_t index, const char *arm) {
  return tb_format(ab->run->arena, "%s/ab%zu-%s", ab->run->cache_root, index, arm);
}

static tc_status paired(struct tb_ab *ab, size_t index, int pairs, uint64_t seed, struct tb_paired *out,
                        struct tc_error *err) {
  const struct tb_case *base = &ab->run->plan.cases.data[2 * index], *head = base + 1;
  const struct tb_compared *one = &ab->comparison->cases.data[index];
  *out = (struct tb_paired){.base = {base, cache_dir(ab, index, "base")},
                            .head = {head, cache_dir(ab, index, "head")},
                            .budget_s = ab->seconds,
                            .max_pairs = pairs,
                            .threshold = tb_policy_threshold(ab->comparison->policy, one->id),
                            .seed = seed};
  if (!out->base.cache_dir || !out->head.cache_dir) return tc_fail_memory(err, "ab");
  return tb_paired_run(ab->run, out, err);
}

/* A worker that fails only now ends in the case's problem. */
static void keep(struct tb_compared *one, const struct tb_paired *d) {
  one->log_ratios = d->log_ratios;
  one->aa_log_ratios = d->aa_log_ratios;
  one->base_ns = d->base_ns;
  one->head_ns = d->head_ns;
  one->stop_reason = d->stop_reason;
  one->time = d->decision;
  one->timed = d->decided && !d->why;
  if (d->why) {
    one->failed = d->outcome;
    one->failure = d->why;
  }
}

static const char *why_unconfirmed(struct tc_arena *arena, const struct tb_decision *fresh, int needed,
                                   double floor_limit) {
  if (fresh->pairs < needed)
    return tb_format(arena, "the budget ended after %d fresh pair%s; at least %d are needed", fresh->pairs,
                     tb_plural(fresh->pairs), needed);
  return tb_format(
      arena,
      "in the fresh pairs, equal programs differ by up to %.3g%%; the policy allows %.3g%% (floor_limit)",
      fresh->floor * percent, floor_limit * percent);
}

tc_status tb_ab_confirm(struct tb_ab *ab, size_t index, int pairs, int needed, uint64_t seed,
                        const char **unconfirmed, struct tc_error *err) {
  struct tb_compared *one = &ab->comparison->cases.data[index];
  const double floor_limit = tb_policy_floor_limit(ab->comparison->policy, one->id);
  struct tb_paired fresh;
  *unconfirmed = NULL;
  const tc_status status = paired(ab, index, pairs, seed, &fresh, err);
  if (status) return status;
  if (fresh.why) return keep(one, &fresh), TC_OK;
  if (!fresh.decided) return TC_OK;
  const bool settled = fresh.stop_reason && !strcmp(fresh.stop_reason, "decided"),
             counts = tb_decide_counts(&one->time, &fresh.decision, settled, needed, floor_limit);
  if (!counts && ab->stored) {
    *unconfirmed = why_unconfirmed(ab->run->arena, &fresh.decision, needed, floor_limit);
    return *unconfirmed ? TC_OK : tc_fail_memory(err, "ab");
  }
  one->time = tb_decide_confirm(&one->time, &fresh.decision);
  if (!counts && one->time.verdict == TB_VERDICT_SAME) {
    one->time.verdict = TB_VERDICT_UNSURE;
    one->time.why = TB_UNSURE_NOT_CONFIRMED;
  }
  one->confirmed = tb_compared_flagged(one);
  one->base_ns = fresh.base_ns; /* the verdict and its ratio are of the fresh pairs now */
  one->head_ns = fresh.head_ns;
  one->fresh_log_ratios = fresh.log_ratios;
  one->fresh_aa_log_ratios = fresh.aa_log_ratios;
  return TC_OK;
}

/* `needed`: the fewest pairs that count; *wanted: 0: nothing is confirmed. */
static int needed_pairs(const struct tb_ab *ab, int *wanted) {
  size_t count = 0;
  for (size_t i = 0; i < ab->comparison->cases.len; i++)
    count += tb_compared_flagged(&ab->comparison->cases.data[i]);
  const int needed = tb_pairs_needed(tb_confidence_default, count);
  *wanted = (int)tb_policy_value(ab->comparison->policy, TB_POLICY_CONFIRMATION_PAIRS, NULL);
  if (*wanted && *wanted < needed) *wanted = needed;
  return needed;
}

static tc_status confirm_flagged(struct tb_ab *ab, struct tc_error *err) {
  int pairs;
  const int needed = needed_pairs(ab, &pairs);
  for (size_t i = 0; i < ab->comparison->cases.len && pairs; i++) {
    const char *unconfirmed;
    if (!tb_compared_flagged(&ab->comparison->cases.data[i])) continue;
    if (tb_interrupt_poll(&ab->run->interrupt)) return TC_OK;
    const tc_status status =
        tb_ab_confirm(ab, i, pairs, needed,
                      (uint64_t)(ab->run->spec.options.seed + SEEDS_APART + (long long)i), &unconfirmed, err);
    if (status) return status;
  }
  return tb_verdicts_correct(ab->comparison, pairs ? 0 : ab->comparison->cases.len)
             ? TC_OK
             : tc_fail_memory(err, "ab");
}

static tc_status attribute_flagged(struct tb_ab *ab, struct tc_error *err) {
  for (size_t i = 0; i < ab->comparison->cases.len && ab->attribute; i++) {
    if (!tb_compared_flagged(&ab->comparison->cases.data[i]) || tb_interrupt_poll(&ab->run->interrupt))
      continue;
    const tc_status status = tb_ab_attribute(ab, i, err);
    if (status) return status;
  }
  return TC_OK;
}

tc_status tb_ab_run(struct tb_ab *ab, bool (*done)(void *self), void *self, struct tc_error *err) {
  struct tb_verdicts *c = ab->comparison;
  for (size_t i = 0; i < c->cases.len; i++) {
    if (tb_interrupt_poll(&ab->run->interrupt)) return TC_OK;
    if (!tb_compared_measured(&c->cases.data[i])) continue;
    struct tb_paired d;
    const tc_status status =
        paired(ab, i, ab->pairs, (uint64_t)(ab->run->spec.options.seed + (long long)i), &d, err);
    if (status) return status;
    keep(&c->cases.data[i], &d);
    ab->run->progress.done++;
    tb_ab_mark_control(ab, i);
    if (!done(self)) return tc_fail_memory(err, "ab");
  }
  const tc_status status = confirm_flagged(ab, err);
  return status ? status : attribute_flagged(ab, err);
}
