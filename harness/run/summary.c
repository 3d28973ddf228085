/* From samples to the figures that are told. Invariants:
 * 1. A figure that was not measured is NaN, never 0.
 * 2. The speedup's interval is over replicates; with one replicate it is over that one's rounds, and says so.
 * 3. The unit is the replicate, of times as of the speedup: a time is the median over replicates of each
 *    one's median, and its quantiles give each replicate the same weight, however many blocks it took.
 * 4. Summing up again after more sessions gives what summing up once at the end gives. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/run/run.h"
#include "harness/run/summary.h"
#include "results/stats/stats.h"

static const double confidence = 0.95;

struct tb_case_result tb_case_result_new(const struct tb_case *kase) {
  struct tb_case_result r = {.kase = kase, .outcome = TB_OUTCOME_OK, .block_half_width = NAN};
  r.baseline = r.steady = r.calibration.timing =
      (struct tb_timing){.median_ns = NAN, .mad_ns = NAN, .p05_ns = NAN, .p95_ns = NAN};
  r.aa.block_half_width = NAN;
  r.speedup = (struct tb_speedup){
      .ratio = NAN, .lo = NAN, .hi = NAN, .confidence = confidence, .noise_floor = NAN, .p = NAN};
  for (int i = 0; i < TB_STATE_COUNT; i++) r.compile.state_ns[i].median = NAN;
  for (int i = 0; i < TB_STATE_COUNT; i++) r.compile.first_call_ns[i].median = NAN;
  r.compile.break_even = (struct tb_break_even){NAN, NAN, false};
  r.compile.library_ns.median = r.compile.start_ns.median = r.compile.break_even_calls = NAN;
  r.counted_calls = r.bytes.value = r.flops.value = NAN;
  r.correctness.max_error = r.correctness.bound = NAN;
  return r;
}

/* Samples of all replicates, each as heavy as makes its replicate weigh 1, and the replicates' medians. */
struct pooled {
  tb_doubles samples, weights, medians;
};

static bool gather(const struct tb_timing *timing, struct pooled *all) {
  const struct tc_alloc *alloc = tc_alloc_system();
  for (size_t r = 0; r < timing->replicates.len; r++) {
    const tb_doubles *samples = &timing->replicates.data[r].samples_ns;
    if (samples->len && !tc_vec_push(alloc, &all->medians, timing->replicates.data[r].median_ns))
      return false;
    for (size_t i = 0; i < samples->len; i++)
      if (!tc_vec_push(alloc, &all->samples, samples->data[i]) ||
          !tc_vec_push(alloc, &all->weights, 1.0 / (double)samples->len))
        return false;
  }
  return true;
}

static void finish_timing(struct tb_timing *timing) {
  struct pooled all = {0};
  for (size_t r = 0; r < timing->replicates.len; r++) {
    struct tb_replicate *replicate = &timing->replicates.data[r];
    replicate->median_ns = tb_median(replicate->samples_ns.data, replicate->samples_ns.len);
  }
  if (gather(timing, &all)) {
    tb_doubles *samples = &all.samples;
    timing->median_ns = tb_median(all.medians.data, all.medians.len);
    timing->p05_ns = tb_weighted_quantile(samples->data, all.weights.data, samples->len, 0.05);
    timing->p95_ns = tb_weighted_quantile(samples->data, all.weights.data, samples->len, 0.95);
    for (size_t i = 0; i < samples->len; i++) samples->data[i] = fabs(samples->data[i] - timing->median_ns);
    timing->mad_ns = tb_weighted_quantile(samples->data, all.weights.data, samples->len, 0.5);
  }
  tc_vec_free(tc_alloc_system(), &all.samples);
  tc_vec_free(tc_alloc_system(), &all.weights);
  tc_vec_free(tc_alloc_system(), &all.medians);
}

/* What a decision on this case must exceed beside its threshold: the half-width of the same estimator on the
 * A/A pairs. With one replicate that estimator knows its rounds alone, and two equal processes differ by more
 * than those tell: so by how much this pair differs is part of it. */
static double noise_floor(const struct tb_case_result *r, bool over_blocks) {
  const tb_doubles *pairs = &r->aa.log_ratios;
  if (!pairs->len || (over_blocks && pairs->len != 1)) return NAN;
  const double half = over_blocks ? fabs(pairs->data[0]) + r->aa.block_half_width
                                  : tb_half_width(pairs->data, pairs->len, r->speedup.interval_confidence);
  return expm1(half);
}

static void finish_speedup(struct tb_case_result *r, const struct tb_replication *replication) {
  struct tb_speedup *s = &r->speedup;
  const size_t n = r->replicate_log_ratios.len;
  s->replicates = (int)n;
  s->over_blocks =
      n == 1; /* the half-width over blocks was made at the nominal confidence: nothing was looked at twice */
  s->interval_confidence =
      s->over_blocks ? s->confidence : tb_replication_confidence(replication, s->confidence);
  if (!n) return;
  const double mean = tb_mean(r->replicate_log_ratios.data, n);
  const double half = s->over_blocks ? r->block_half_width
                                     : tb_half_width(r->replicate_log_ratios.data, n, s->interval_confidence);
  s->ratio = exp(mean);
  s->lo = exp(mean - half);
  s->hi = exp(mean + half);
  s->noise_floor = noise_floor(r, s->over_blocks);
  s->p = tb_sign_flip_p(r->replicate_log_ratios.data, n);
}

/* Gains of a call, one a replicate, each by its own ratio. */
static void gather_gains(const struct tb_case_result *r, tb_doubles *gains) {
  for (size_t i = 0; i < r->replicate_log_ratios.len && i < r->baseline.replicates.len; i++)
    if (!tc_vec_push(tc_alloc_system(), gains,
                     r->baseline.replicates.data[i].median_ns * -expm1(-r->replicate_log_ratios.data[i])))
      return;
}

/* The interval never contradicts the figure, nor the speedup: it holds the figure, and has no end where the
 * speedup's holds 1. It may have none where the speedup's does not: it is of gains in time, which one slow
 * replicate moves more than the logarithms that the speedup is of. */
static void finish_pay_off_interval(struct tb_case_result *r, bool known) {
  const double calls = r->compile.break_even_calls;
  const tb_doubles *costs = &r->compile.state_ns[TB_STATE_COLD].samples;
  struct tb_break_even *p = &r->compile.break_even;
  tb_doubles gains = {0};
  gather_gains(r, &gains);
  *p = tb_break_even_interval(costs->data, costs->len, gains.data, gains.len, r->speedup.interval_confidence);
  tc_vec_free(tc_alloc_system(), &gains);
  if (isnan(calls))
    *p = (struct tb_break_even){r->speedup.hi > 1 ? p->lo : NAN, NAN, known};
  else
    *p = (struct tb_break_even){p->lo > calls ? calls : p->lo, p->hi < calls ? calls : p->hi, p->infinite};
}

static void finish_pay_off(struct tb_case_result *r) {
  /* The gain of a call by the ratio that is reported, so that the two cannot contradict each other. */
  const double gain = r->baseline.median_ns * (1 - 1 / r->speedup.ratio),
               cold = r->compile.state_ns[TB_STATE_COLD].median;
  /* Where the interval holds 1, it is not known whether there is a gain at all. */
  r->compile.break_even_calls = gain > 0 && r->speedup.lo > 1 ? cold / gain : NAN;
  finish_pay_off_interval(r, !isnan(cold) && r->speedup.replicates > 0);
}

/* The compiler counts what its own kernels and library calls do; where it made none, nothing is known. */
static void finish_amount(struct tb_amount *amount, const struct tb_graph *graph, double counted) {
  if (!amount->stated) amount->value = graph->known && counted > 0 ? counted : NAN;
}

void tb_summarise(struct tb_run *run) {
  for (size_t i = 0; i < run->result.cases.len; i++) {
    struct tb_case_result *r = &run->result.cases.data[i];
    finish_timing(&r->baseline);
    finish_timing(&r->steady);
    finish_timing(&r->calibration.timing);
    finish_speedup(r, &run->replication);
    finish_pay_off(r);
    finish_amount(&r->bytes, &r->graph, r->graph.bytes_moved);
    finish_amount(&r->flops, &r->graph, r->graph.flops);
  }
}

bool tb_case_known(const struct tb_case_result *r) {
  return r->outcome != TB_OUTCOME_OK || r->replicate_log_ratios.len;
}

enum tb_exit tb_result_exit(const struct tb_result *result) {
  enum tb_exit worst = result->interrupted ? TB_EXIT_INTERRUPTED : TB_EXIT_PASS;
  for (size_t i = 0; i < result->cases.len; i++)
    worst = tb_exit_worse(worst, tb_outcome_exit(result->cases.data[i].outcome));
  if ((int)result->cases.len < result->planned) worst = tb_exit_worse(worst, TB_EXIT_FAILED);
  return worst;
}
