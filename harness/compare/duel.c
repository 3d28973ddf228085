/* Quads of processes. Invariant: a quad counts as a whole or not at all. */
#include "harness/compare/duel.h"

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
  SEATS,
  PAIRS_OF_QUAD = 2,
  ROUNDS_MIN = 4,
  ROUNDS_MAX = 64,
  QUADS_LIMIT = 5000
};
/* Of measuring in one quad, beside starting its processes; and no target: more quads say more than longer
 * ones. */
static const double quad_budget_s = 0.16;

struct quad {
  struct tb_process process[SEATS];
  struct tb_prepared prepared[SEATS];
  bool started[SEATS];
  int failed; /* which seat; -1: none */
};

static const struct tb_duelist *owner(const struct tb_duel *duel, int seat) {
  return seat < HEAD_FIRST ? &duel->base : &duel->head;
}

static tc_status start_seat(struct tb_run *run, const struct tb_duel *duel, struct quad *q, int seat,
                            struct tc_error *err) {
  const struct tb_duelist *side = owner(duel, seat);
  struct tb_first first = {.stats = NULL};
  q->started[seat] = true;
  tc_status status = tb_role_start(run, side->kase, TB_ROLE_COMPILED, side->cache_dir, &q->process[seat],
                                   &q->prepared[seat], err);
  if (!status) status = tb_first_call(&q->process[seat], false, tb_run_timeout(run, side->kase), &first, err);
  cJSON_Delete(first.stats);
  if (status) q->failed = seat;
  return status;
}

struct tb_measure tb_duel_measure(struct tb_run *run, const struct tb_duel *duel, int number) {
  struct tb_measure measure = {.alloc = tc_arena_alloc(run->arena),
                               .interrupt = &run->interrupt,
                               .timeout_s = tb_run_timeout(run, duel->base.kase)};
  const int base_threads = duel->base.kase->threads, head_threads = duel->head.kase->threads;
  measure.settle_ns = tb_settle_ns(base_threads > head_threads ? base_threads : head_threads);
  measure.random.state = duel->seed * (uint64_t)QUADS_LIMIT + (uint64_t)number;
  measure.stop = (struct tb_stop){.target = 0,
                                  .min_rounds = ROUNDS_MIN,
                                  .max_rounds = ROUNDS_MAX,
                                  .budget_ns = (int64_t)(quad_budget_s * TB_NS_PER_S)};
  return measure;
}

static tc_status measure_quad(struct tb_run *run, struct tb_duel *duel, struct quad *q, int number,
                              struct tb_seat *seats, struct tc_error *err) {
  struct tb_measure measure = tb_duel_measure(run, duel, number);
  for (int i = 0; i < SEATS; i++)
    seats[i] =
        (struct tb_seat){.process = &q->process[i], .calls_max = q->prepared[i].calls_max, .live = true};
  const tc_status status = tb_measure_blocks(&measure, seats, SEATS, err);
  for (int i = 0; i < SEATS; i++)
    if (!seats[i].live) q->failed = i;
  return status;
}

/* log(head / base): above 0, head is slower. */
static double log_ratio(const struct tc_alloc *alloc, const struct tb_seat *base,
                        const struct tb_seat *head) {
  return tb_median_log_ratio(alloc, head, base);
}

static tc_status keep_quad(struct tb_run *run, struct tb_duel *duel, const struct tb_seat *seats,
                           struct tc_error *err) {
  const struct tc_alloc *alloc = tc_arena_alloc(run->arena);
  const double pairs[] = {log_ratio(alloc, &seats[BASE_FIRST], &seats[HEAD_FIRST]),
                          log_ratio(alloc, &seats[BASE_SECOND], &seats[HEAD_SECOND])};
  const double twins[] = {log_ratio(alloc, &seats[BASE_FIRST], &seats[BASE_SECOND]),
                          log_ratio(alloc, &seats[HEAD_FIRST], &seats[HEAD_SECOND])};
  bool good = true;
  if (isnan(pairs[0])) return TC_OK; /* interrupted before its first full round */
  for (int i = 0; i < PAIRS_OF_QUAD; i++)
    good = good && tc_vec_push(alloc, &duel->log_ratios, pairs[i]) &&
           tc_vec_push(alloc, &duel->twin_log_ratios, twins[i]);
  for (int i = 0; i < SEATS; i++)
    good = good && tc_vec_push(alloc, i < HEAD_FIRST ? &duel->base_ns : &duel->head_ns,
                               tb_median(seats[i].samples.data, seats[i].samples.len));
  return good ? TC_OK : tc_fail(err, TC_NOMEM, "ab", "out of memory");
}

static void keep_failure(struct tb_run *run, struct tb_duel *duel, const struct quad *q) {
  const struct tb_process *process = &q->process[q->failed];
  duel->outcome = process->outcome == TB_OUTCOME_OK ? TB_OUTCOME_ERROR : process->outcome;
  duel->why = tb_format(run->arena, "%s: %s: %s", q->failed < HEAD_FIRST ? "base" : "head",
                        tb_outcome_text(duel->outcome), process->why);
  if (!duel->why) duel->why = "out of memory";
}

/* Failures of its workers are kept in the duel. Seats are started in a random order, so that no side is
 * always the first. */
static tc_status run_quad(struct tb_run *run, struct tb_duel *duel, int number, struct tc_error *err) {
  struct quad q = {.failed = -1};
  struct tb_seat seats[SEATS] = {{.process = NULL}};
  struct tb_random random = {duel->seed + (uint64_t)number};
  int order[SEATS] = {BASE_FIRST, BASE_SECOND, HEAD_FIRST, HEAD_SECOND};
  tb_random_next(&random);
  tb_random_shuffle(&random, order, SEATS);
  tc_status status = TC_OK;
  for (int i = 0; i < SEATS && !status; i++) status = start_seat(run, duel, &q, order[i], err);
  if (!status) status = measure_quad(run, duel, &q, number, seats, err);
  const bool fatal = status == TC_INTERRUPTED || status == TC_NOMEM;
  if (!fatal && q.failed >= 0)
    keep_failure(run, duel, &q);
  else if (!status)
    status = keep_quad(run, duel, seats, err);
  for (int i = 0; i < SEATS; i++)
    if (q.started[i]) tb_process_stop(&q.process[i]);
  return fatal || q.failed < 0 ? status : TC_OK;
}

/* By what base takes here. */
static double threshold_of(const struct tb_duel *duel) {
  const double share_of_ns = duel->passed_over.ns / tb_median(duel->base_ns.data, duel->base_ns.len);
  return fmax(duel->threshold,
              fmin(duel->passed_over.share, share_of_ns)); /* fmin and fmax pass over a NaN */
}

static void decide(struct tb_duel *duel, double confidence) {
  const struct tb_decide_options options = {threshold_of(duel), confidence};
  duel->decision = tb_decide(duel->log_ratios.data, duel->log_ratios.len, duel->twin_log_ratios.data,
                             duel->twin_log_ratios.len, options);
  duel->decided = true;
}

/* Planned pairs: looks spend their error by it, so it is fixed before the first one. By the second quad's
 * time, as the first one has also compiled. */
static int planned_pairs(const struct tb_duel *duel, double left_s, double quad_s) {
  const double fitting = PAIRS_OF_QUAD * (1 + floor(left_s / quad_s));
  const double planned = fmax(fitting, TB_LOOK_FIRST);
  return planned < duel->max_pairs ? (int)planned : duel->max_pairs;
}

/* What ends it after a quad; NULL: nothing yet. `quad_s`: what one more would take. */
static const char *over(struct tb_run *run, const struct tb_duel *duel, int planned, double left_s,
                        double quad_s) {
  if (tb_interrupt_poll(&run->interrupt)) return "interrupted";
  if ((int)duel->log_ratios.len + PAIRS_OF_QUAD > planned)
    return planned < duel->max_pairs ? "budget" : "pairs";
  return quad_s > left_s ? "budget" : NULL;
}

tc_status tb_duel_run(struct tb_run *run, struct tb_duel *duel, struct tc_error *err) {
  struct tb_looks looks = {.max_pairs = duel->max_pairs, .confidence = tb_confidence_default};
  const int64_t end = tb_now_ns() + (int64_t)(duel->budget_s * TB_NS_PER_S);
  for (int number = 0; number < QUADS_LIMIT && !duel->stop_reason; number++) {
    const int64_t started = tb_now_ns();
    tb_progress_show(
        &run->progress, tb_case_label(run->arena, duel->base.kase),
        tb_format(run->arena, "against %s, %zu pairs", duel->head.kase->side, duel->log_ratios.len));
    const tc_status status = run_quad(run, duel, number, err);
    if (status || duel->why) return status;
    const double quad_s = (double)(tb_now_ns() - started) / TB_NS_PER_S,
                 left_s = (double)(end - tb_now_ns()) / TB_NS_PER_S;
    if (number == 1) looks.max_pairs = planned_pairs(duel, left_s, quad_s);
    const int pairs = (int)duel->log_ratios.len;
    duel->stop_reason = over(run, duel, looks.max_pairs, left_s, quad_s);
    const bool last = duel->stop_reason != NULL;
    if (pairs && tb_look_due(&looks, pairs, last)) decide(duel, tb_look_confidence(&looks, pairs, last));
    if (duel->decided && tb_look_settles(&duel->decision, threshold_of(duel))) duel->stop_reason = "decided";
  }
  return TC_OK;
}
