/* The blocks of a session, and its two controls: the twin and the probe. Invariants:
 * 1. A control that fails is told and left out; no case suffers from it.
 * 2. The twin is a fresh process of the same program, role, switches and cache as the first case of the group
 *    that is live, and has made the same calls. So its log ratio to that case is what two equal things differ
 *    by here: decisions are taken on compiled times, and a twin of the baseline would tell how eager code
 *    varies. One twin serves all cases of its group.
 * 3. What is kept of a block is kept whole: samples are never thinned. */
#include <math.h>
#include <string.h>

#include "harness/base/clock.h"
#include "harness/run/measure.h"
#include "harness/run/session.h"
#include "harness/run/states.h"

enum { ROUNDS_MIN = 4, ROUNDS_MAX = 60, ROUNDS_MIN_QUICK = 3 };
static const double budget_s = 1.0, quick_budget_s = 0.4, target_half_width = 0.004;

double tb_session_blocks_estimate(bool quick) { return quick ? quick_budget_s : budget_s; }

/* --- controls --- */

static tc_status without(struct tb_session *s, struct tb_control *control, const char *what,
                         tc_status status) {
  if (!status || tb_session_fatal(status)) return status;
  tb_progress_say(&s->run->progress, "tbench: %s: no %s: %s: %s", s->members[0].kase->id, what,
                  tb_outcome_text(control->process.outcome), control->process.why);
  tb_process_stop(&control->process);
  control->started = false;
  return TC_OK;
}

static tc_status start_twin(struct tb_session *s) {
  struct tb_member *of = NULL;
  for (int i = s->n - 1; i >= 0; i--)
    if (s->members[i].live) of = &s->members[i];
  struct tb_first first = {.stats = NULL};
  s->twin_of = of;
  s->twin.started = true;
  tc_status status = tb_role_start(s->run, of->kase, TB_ROLE_COMPILED, of->cache_dir, &s->twin.process,
                                   &s->twin.prepared, s->err);
  if (!status) status = tb_first_call(&s->twin.process, false, s->timeout_s, &first, s->err);
  cJSON_Delete(first.stats);
  for (int call = 2; !status && call <= TB_CHECKED_CALLS; call++)
    status = tb_session_call(s, &s->twin.process);
  return without(s, &s->twin, "twin", status);
}

static tc_status start_probe(struct tb_session *s) {
  s->probe.started = true;
  const tc_status status = tb_role_start(s->run, s->members[0].kase, TB_ROLE_PROBE, NULL, &s->probe.process,
                                         &s->probe.prepared, s->err);
  return without(s, &s->probe, "probe", status);
}

tc_status tb_session_start_controls(struct tb_session *s) {
  if (!tb_session_any_live(s) || tb_session_interrupted(s)) return TC_OK;
  const tc_status status = start_twin(s);
  return status ? status : start_probe(s);
}

void tb_session_stop_controls(struct tb_session *s) {
  if (s->twin.started) tb_process_stop(&s->twin.process);
  if (s->probe.started) tb_process_stop(&s->probe.process);
  s->twin.started = s->probe.started = false;
}

/* --- keeping --- */

static void keep_timing(struct tb_session *s, struct tb_timing *timing, const struct tb_seat *seat) {
  const struct tb_replicate replicate = {
      .samples_ns = {seat->samples.data, seat->samples.len, seat->samples.cap}, .preempted = seat->preempted};
  if (seat->samples.len)
    (void)tc_vec_push(tc_arena_alloc(s->run->arena), &timing->replicates,
                      replicate); /* a lost one shows as fewer replicates */
}

static const char *stop_reason(const char *before, enum tb_stop_reason reason) {
  const bool limited = before && (!strcmp(before, "interrupted") || !strcmp(before, "budget"));
  return limited && reason != TB_STOP_INTERRUPTED ? before : tb_stop_text(reason);
}

struct seats {
  struct tb_seat *all;
  struct tb_member **owners;
  int n;
  struct tb_seat *twin, *twin_of, *probe; /* NULL: none */
};

/* The A/A figure of this replicate, for each case of the group. Figures of another program's twin are no part
 * of it. */
static bool keep_twin(struct tb_session *s, struct tb_member *m, const struct seats *seats) {
  struct tb_aa *aa = &m->result->aa;
  if (!seats->twin || !seats->twin->live || !seats->twin_of->live) return true;
  const double ratio = tb_log_ratio(seats->twin_of, seats->twin);
  if (isnan(ratio)) return true;
  if (aa->of && strcmp(aa->of, s->twin_of->kase->id)) aa->log_ratios.len = 0;
  aa->of = s->twin_of->kase->id;
  aa->block_half_width = tb_log_ratio_half_width(seats->twin_of, seats->twin, m->result->speedup.confidence);
  return tc_vec_push(tc_arena_alloc(s->run->arena), &aa->log_ratios, ratio);
}

static bool keep_probe(struct tb_session *s, struct tb_member *m, const struct tb_seat *seat,
                       const struct seats *seats) {
  struct tb_probed *probe = &m->result->probe;
  const double ratio = seats->probe && seats->probe->live ? tb_log_ratio(seat, seats->probe) : NAN;
  if (isnan(ratio)) return true;
  keep_timing(s, &probe->timing, seats->probe);
  return tc_vec_push(tc_arena_alloc(s->run->arena), &probe->log_ratios, ratio);
}

static bool keep_member(struct tb_session *s, const struct seats *seats, int i, enum tb_stop_reason reason) {
  struct tb_member *m = seats->owners[i];
  const struct tb_seat *baseline = &seats->all[0], *seat = &seats->all[i];
  const double ratio = tb_log_ratio(baseline, seat);
  if (!seat->live) tb_session_fail_member(s, m, &m->process);
  if (!seat->live || isnan(ratio)) return true;
  keep_timing(s, &m->result->baseline, baseline);
  keep_timing(s, &m->result->steady, seat);
  m->result->speedup.stop_reason = stop_reason(m->result->speedup.stop_reason, reason);
  m->result->block_half_width = tb_log_ratio_half_width(baseline, seat, m->result->speedup.confidence);
  return tc_vec_push(tc_arena_alloc(s->run->arena), &m->result->replicate_log_ratios, ratio) &&
         keep_twin(s, m, seats) && keep_probe(s, m, seat, seats);
}

/* --- measuring --- */

static struct tb_seat *take_seat(struct seats *seats, struct tb_process *process, enum tb_seat_kind kind,
                                 double calls_max) {
  struct tb_seat *seat = &seats->all[seats->n++];
  *seat = (struct tb_seat){.process = process, .kind = kind, .calls_max = calls_max, .live = true};
  return seat;
}

static bool fill_seats(struct tb_session *s, struct seats *seats) {
  enum { CONTROLS = 3 /* baseline, twin, probe */ };
  *seats = (struct seats){
      .all = tc_arena_bytes(s->run->arena, sizeof *seats->all * (size_t)(s->n + CONTROLS)),
      .owners = tc_arena_bytes(s->run->arena, sizeof *seats->owners * (size_t)(s->n + CONTROLS))};
  if (!seats->all || !seats->owners) return false;
  take_seat(seats, &s->baseline, TB_SEAT_MEASURED, s->prepared.calls_max);
  for (int i = 0; i < s->n; i++) {
    struct tb_member *m = &s->members[i];
    if (!m->live) continue;
    seats->owners[seats->n] = m;
    struct tb_seat *seat = take_seat(seats, &m->process, TB_SEAT_MEASURED, m->prepared.calls_max);
    if (m == s->twin_of) seats->twin_of = seat;
  }
  if (s->twin.started && seats->twin_of)
    seats->twin = take_seat(seats, &s->twin.process, TB_SEAT_TWIN, s->twin.prepared.calls_max);
  if (s->probe.started)
    seats->probe = take_seat(seats, &s->probe.process, TB_SEAT_PROBE, s->probe.prepared.calls_max);
  return true;
}

tc_status tb_session_blocks(struct tb_session *s, long long *calls_made) {
  const bool quick = s->run->spec.options.quick;
  const struct tb_case *kase = s->members[0].kase;
  struct seats seats;
  if (!fill_seats(s, &seats)) return tb_session_no_memory(s);
  struct tb_measure measure = {
      .alloc = tc_arena_alloc(s->run->arena), .interrupt = &s->run->interrupt, .timeout_s = s->timeout_s};
  measure.settle_ns = tb_settle_ns(kase->threads);
  measure.random.state = (uint64_t)s->run->spec.options.seed * 1000003u +
                         (uint64_t)(s->replicate * s->run->plan.n_groups + kase->group);
  measure.stop = (struct tb_stop){.target = target_half_width,
                                  .min_rounds = quick ? ROUNDS_MIN_QUICK : ROUNDS_MIN,
                                  .max_rounds = ROUNDS_MAX,
                                  .budget_ns = (int64_t)(tb_session_blocks_estimate(quick) * TB_NS_PER_S)};
  const tc_status status = tb_measure_blocks(&measure, seats.all, seats.n, s->err);
  *calls_made = measure.calls_made;
  s->run->result.ledger.settle_ns += (double)measure.settled_ns;
  if (tb_session_fatal(status)) return status;
  if (status) tb_session_fail_all(s);
  for (int i = 1; i < seats.n; i++)
    if (seats.all[i].kind == TB_SEAT_MEASURED && !keep_member(s, &seats, i, measure.reason))
      return tb_session_no_memory(s);
  return TC_OK;
}
