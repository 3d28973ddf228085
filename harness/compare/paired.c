/* ABBA groups of processes. Invariant: an ABBA group counts as a whole or not at all. */
#include "harness/compare/paired.h"

#include <math.h>

#include "harness/base/clock.h"
#include "harness/run/role.h"
#include "harness/run/states.h"
#include "results/stats/stats.h"

enum {
  BASE_FIRST,
  BASE_SECOND,
  HEAD_FIRST,
  HEAD_SECOND,
  PARTICIPANTS,
  PAIRS_PER_ABBA = 2,
  ROUNDS_MIN = 4,
  ROUNDS_MAX = 64,
  ABBA_LIMIT = 5000
};
/* Of measuring in one ABBA group, beside starting its processes; and no target: more ABBA groups say more
 * than longer ones. */
static const double abba_budget_s = 0.16;

struct abba {
  struct tb_process process[PARTICIPANTS];
  struct tb_prepared prepared[PARTICIPANTS];
  bool started[PARTICIPANTS];
  int failed; /* which participant; -1: none */
};

static tc_status start_participant(struct tb_run *run, const struct tb_paired *paired, struct abba *q,
                                   int participant, struct tc_error *err) {
  const struct tb_paired_arm *arm = participant < HEAD_FIRST ? &paired->base : &paired->head;
  struct tb_first first = {.stats = NULL};
  q->started[participant] = true;
  tc_status status = tb_role_start(run, arm->kase, TB_ROLE_COMPILED, arm->cache_dir, &q->process[participant],
                                   &q->prepared[participant], err);
  if (!status)
    status = tb_first_call(&q->process[participant], false, tb_run_timeout(run, arm->kase), &first, err);
  cJSON_Delete(first.stats);
  if (status) q->failed = participant;
  return status;
}

struct tb_measure tb_paired_measure(struct tb_run *run, const struct tb_paired *paired, int number) {
  struct tb_measure measure = {.alloc = tc_arena_alloc(run->arena),
                               .interrupt = &run->interrupt,
                               .timeout_s = tb_run_timeout(run, paired->base.kase)};
  const int base_threads = paired->base.kase->threads, head_threads = paired->head.kase->threads;
  measure.pause_ns = tb_pause_ns(base_threads > head_threads ? base_threads : head_threads);
  measure.random.state = paired->seed * (uint64_t)ABBA_LIMIT + (uint64_t)number;
  measure.stop = (struct tb_stop){.target = 0,
                                  .min_rounds = ROUNDS_MIN,
                                  .max_rounds = ROUNDS_MAX,
                                  .budget_ns = (int64_t)(abba_budget_s * TB_NS_PER_S)};
  return measure;
}

static tc_status measure_abba(struct tb_run *run, struct tb_paired *paired, struct abba *q, int number,
                              struct tb_participant *participants, struct tc_error *err) {
  struct tb_measure measure = tb_paired_measure(run, paired, number);
  for (int i = 0; i < PARTICIPANTS; i++)
    participants[i] = (struct tb_participant){
        .process = &q->process[i], .calls_max = q->prepared[i].calls_max, .live = true};
  const tc_status status = tb_measure_blocks(&measure, participants, PARTICIPANTS, err);
  for (int i = 0; i < PARTICIPANTS; i++)
    if (!participants[i].live) q->failed = i;
  return status;
}

/* log(head / base): above 0, head is slower. */
static double log_ratio(const struct tc_alloc *alloc, const struct tb_participant *base,
                        const struct tb_participant *head) {
  return tb_median_log_ratio(alloc, head, base);
}

static tc_status keep_abba(struct tb_run *run, struct tb_paired *paired,
                           const struct tb_participant *participants, struct tc_error *err) {
  const struct tc_alloc *alloc = tc_arena_alloc(run->arena);
  const double pairs[] = {log_ratio(alloc, &participants[BASE_FIRST], &participants[HEAD_FIRST]),
                          log_ratio(alloc, &participants[BASE_SECOND], &participants[HEAD_SECOND])};
  const double aa_pairs[] = {log_ratio(alloc, &participants[BASE_FIRST], &participants[BASE_SECOND]),
                             log_ratio(alloc, &participants[HEAD_FIRST], &participants[HEAD_SECOND])};
  bool good = true;
  if (isnan(pairs[0])) return TC_OK; /* interrupted before its first full round */
  for (int i = 0; i < PAIRS_PER_ABBA; i++)
    good = good && tc_vec_push(alloc, &paired->log_ratios, pairs[i]) &&
           tc_vec_push(alloc, &paired->aa_log_ratios, aa_pairs[i]);
  for (int i = 0; i < PARTICIPANTS; i++)
    good = good && tc_vec_push(alloc, i < HEAD_FIRST ? &paired->base_ns : &paired->head_ns,
                               tb_median(participants[i].samples.data, participants[i].samples.len));
  return good ? TC_OK : tc_fail_memory(err, "ab");
}

/* Failures of its workers are kept in the paired comparison. Participants are started in a random order, so
 * that no arm is always the first. */
static tc_status run_abba(struct tb_run *run, struct tb_paired *paired, int number, struct tc_error *err) {
  struct abba q = {.failed = -1};
  struct tb_participant participants[PARTICIPANTS] = {{.process = NULL}};
  struct tb_random random = {paired->seed + (uint64_t)number};
  int order[PARTICIPANTS] = {BASE_FIRST, BASE_SECOND, HEAD_FIRST, HEAD_SECOND};
  tb_random_next(&random);
  tb_random_shuffle(&random, order, PARTICIPANTS);
  tc_status status = TC_OK;
  for (int i = 0; i < PARTICIPANTS && !status; i++)
    status = start_participant(run, paired, &q, order[i], err);
  if (!status) status = measure_abba(run, paired, &q, number, participants, err);
  const bool fatal = status == TC_INTERRUPTED || status == TC_NOMEM;
  if (!fatal && q.failed >= 0) {
    const struct tb_process *process = &q.process[q.failed];
    paired->outcome = process->outcome == TB_OUTCOME_OK ? TB_OUTCOME_ERROR : process->outcome;
    paired->why = tb_format(run->arena, "%s: %s: %s", q.failed < HEAD_FIRST ? "base" : "head",
                            tb_outcome_text(paired->outcome), process->why);
    if (!paired->why) paired->why = "out of memory";
  } else if (!status)
    status = keep_abba(run, paired, participants, err);
  for (int i = 0; i < PARTICIPANTS; i++)
    if (q.started[i]) tb_process_stop(&q.process[i]);
  return fatal || q.failed < 0 ? status : TC_OK;
}

/* By what base takes here. */
static double threshold_of(const struct tb_paired *paired) {
  const double share_of_ns = paired->passed_over.ns / tb_median(paired->base_ns.data, paired->base_ns.len);
  return fmax(paired->threshold,
              fmin(paired->passed_over.share, share_of_ns)); /* fmin and fmax pass over a NaN */
}

/* What ends it after an ABBA group; NULL: nothing yet. `abba_s`: what one more would take. */
static const char *over(struct tb_run *run, const struct tb_paired *paired, int planned, double left_s,
                        double abba_s) {
  if (tb_interrupt_poll(&run->interrupt)) return "interrupted";
  if ((int)paired->log_ratios.len + PAIRS_PER_ABBA > planned)
    return planned < paired->max_pairs ? "budget" : "pairs";
  return abba_s > left_s ? "budget" : NULL;
}

tc_status tb_paired_run(struct tb_run *run, struct tb_paired *paired, struct tc_error *err) {
  struct tb_looks looks = {.max_pairs = paired->max_pairs, .confidence = tb_confidence_default};
  const int64_t end = tb_now_ns() + (int64_t)(paired->budget_s * TB_NS_PER_S);
  for (int number = 0; number < ABBA_LIMIT && !paired->stop_reason; number++) {
    const int64_t started = tb_now_ns();
    tb_progress_show(
        &run->progress, tb_case_label(run->arena, paired->base.kase),
        tb_format(run->arena, "against %s, %zu pairs", paired->head.kase->arm, paired->log_ratios.len));
    const tc_status status = run_abba(run, paired, number, err);
    if (status || paired->why) return status;
    const double abba_s = (double)(tb_now_ns() - started) / TB_NS_PER_S,
                 left_s = (double)(end - tb_now_ns()) / TB_NS_PER_S;
    if (number == 1) {
      /* Planned pairs: looks spend their error by it, so it is fixed before the first one. By the second ABBA
       * group's time, as the first one has also compiled. */
      const double fitting = PAIRS_PER_ABBA * (1 + floor(left_s / abba_s));
      const double planned = fmax(fitting, TB_LOOK_FIRST);
      looks.max_pairs = planned < paired->max_pairs ? (int)planned : paired->max_pairs;
    }
    const int pairs = (int)paired->log_ratios.len;
    paired->stop_reason = over(run, paired, looks.max_pairs, left_s, abba_s);
    const bool last = paired->stop_reason != NULL;
    if (pairs && tb_look_due(&looks, pairs, last)) {
      const struct tb_decide_options options = {threshold_of(paired),
                                                tb_look_confidence(&looks, pairs, last)};
      paired->decision = tb_decide(paired->log_ratios.data, paired->log_ratios.len,
                                   paired->aa_log_ratios.data, paired->aa_log_ratios.len, options);
      paired->decided = true;
    }
    if (paired->decided && tb_look_settles(&paired->decision, threshold_of(paired)))
      paired->stop_reason = "decided";
  }
  return TC_OK;
}
