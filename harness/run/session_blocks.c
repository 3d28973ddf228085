/* The blocks of a session, and its two controls: the A/A control and the calibration kernel. Invariants:
 * 1. A control that fails is told and left out; no case suffers from it.
 * 2. The A/A control is a fresh process of the same program, role, switches and cache as the first case of
 *    the group that is live, and has made the same calls. So its log ratio to that case is what two equal
 *    things differ by here: decisions are taken on compiled times, and an A/A control of the baseline would
 *    tell how eager code varies. One A/A control serves all cases of its group.
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

static tc_status start_aa_control(struct tb_session *s) {
  struct tb_member *of = NULL;
  for (int i = s->n - 1; i >= 0; i--)
    if (s->members[i].live) of = &s->members[i];
  struct tb_first first = {.stats = NULL};
  s->aa_of = of;
  s->aa_control.started = true;
  tc_status status = tb_role_start(s->run, of->kase, TB_ROLE_COMPILED, of->cache_dir, &s->aa_control.process,
                                   &s->aa_control.prepared, s->err);
  if (!status) status = tb_first_call(&s->aa_control.process, false, s->timeout_s, &first, s->err);
  cJSON_Delete(first.stats);
  for (int call = 2; !status && call <= TB_CHECKED_CALLS; call++)
    status = tb_session_call(s, &s->aa_control.process);
  return without(s, &s->aa_control, "twin", status);
}

static tc_status start_calibration(struct tb_session *s) {
  s->calibration.started = true;
  const tc_status status = tb_role_start(s->run, s->members[0].kase, TB_ROLE_CALIBRATION, NULL,
                                         &s->calibration.process, &s->calibration.prepared, s->err);
  return without(s, &s->calibration, "probe", status);
}

tc_status tb_session_start_controls(struct tb_session *s) {
  if (!tb_session_any_live(s) || tb_session_interrupted(s)) return TC_OK;
  const tc_status status = start_aa_control(s);
  return status ? status : start_calibration(s);
}

void tb_session_stop_controls(struct tb_session *s) {
  if (s->aa_control.started) tb_process_stop(&s->aa_control.process);
  if (s->calibration.started) tb_process_stop(&s->calibration.process);
  s->aa_control.started = s->calibration.started = false;
}

/* --- keeping --- */

static void keep_timing(struct tb_session *s, struct tb_timing *timing,
                        const struct tb_participant *participant) {
  const struct tb_replicate replicate = {
      .samples_ns = {participant->samples.data, participant->samples.len, participant->samples.cap},
      .preempted = participant->preempted};
  if (participant->samples.len)
    (void)tc_vec_push(tc_arena_alloc(s->run->arena), &timing->replicates,
                      replicate); /* a lost one shows as fewer replicates */
}

static const char *stop_reason(const char *before, enum tb_stop_reason reason) {
  const bool limited = before && (!strcmp(before, "interrupted") || !strcmp(before, "budget"));
  return limited && reason != TB_STOP_INTERRUPTED ? before : tb_stop_text(reason);
}

struct participants {
  struct tb_participant *all;
  struct tb_member **owners;
  int n;
  struct tb_participant *aa_control, *aa_of, *calibration; /* NULL: none */
};

/* The A/A figure of this replicate, for each case of the group. Figures of another program's A/A control are
 * no part of it. */
static bool keep_aa_control(struct tb_session *s, struct tb_member *m,
                            const struct participants *participants) {
  struct tb_aa *aa = &m->result->aa;
  if (!participants->aa_control || !participants->aa_control->live || !participants->aa_of->live) return true;
  const double ratio = tb_log_ratio(participants->aa_of, participants->aa_control);
  if (isnan(ratio)) return true;
  if (aa->of && strcmp(aa->of, s->aa_of->kase->id)) aa->log_ratios.len = 0;
  aa->of = s->aa_of->kase->id;
  aa->block_half_width =
      tb_log_ratio_half_width(participants->aa_of, participants->aa_control, m->result->speedup.confidence);
  return tc_vec_push(tc_arena_alloc(s->run->arena), &aa->log_ratios, ratio);
}

static bool keep_calibration(struct tb_session *s, struct tb_member *m,
                             const struct tb_participant *participant,
                             const struct participants *participants) {
  struct tb_calibrated *calibration = &m->result->calibration;
  const double ratio = participants->calibration && participants->calibration->live
                           ? tb_log_ratio(participant, participants->calibration)
                           : NAN;
  if (isnan(ratio)) return true;
  keep_timing(s, &calibration->timing, participants->calibration);
  return tc_vec_push(tc_arena_alloc(s->run->arena), &calibration->log_ratios, ratio);
}

static bool keep_member(struct tb_session *s, const struct participants *participants, int i,
                        enum tb_stop_reason reason) {
  struct tb_member *m = participants->owners[i];
  const struct tb_participant *baseline = &participants->all[0], *participant = &participants->all[i];
  const double ratio = tb_log_ratio(baseline, participant);
  if (!participant->live) tb_session_fail_member(s, m, &m->process);
  if (!participant->live || isnan(ratio)) return true;
  keep_timing(s, &m->result->baseline, baseline);
  keep_timing(s, &m->result->steady, participant);
  m->result->speedup.stop_reason = stop_reason(m->result->speedup.stop_reason, reason);
  m->result->block_half_width = tb_log_ratio_half_width(baseline, participant, m->result->speedup.confidence);
  return tc_vec_push(tc_arena_alloc(s->run->arena), &m->result->replicate_log_ratios, ratio) &&
         keep_aa_control(s, m, participants) && keep_calibration(s, m, participant, participants);
}

/* --- measuring --- */

static struct tb_participant *add_participant(struct participants *participants, struct tb_process *process,
                                              enum tb_participant_kind kind, double calls_max) {
  struct tb_participant *participant = &participants->all[participants->n++];
  *participant =
      (struct tb_participant){.process = process, .kind = kind, .calls_max = calls_max, .live = true};
  return participant;
}

static bool fill_participants(struct tb_session *s, struct participants *participants) {
  enum { CONTROLS = 3 /* baseline, A/A control, calibration kernel */ };
  *participants = (struct participants){
      .all = tc_arena_bytes(s->run->arena, sizeof *participants->all * (size_t)(s->n + CONTROLS)),
      .owners = tc_arena_bytes(s->run->arena, sizeof *participants->owners * (size_t)(s->n + CONTROLS))};
  if (!participants->all || !participants->owners) return false;
  add_participant(participants, &s->baseline, TB_PARTICIPANT_MEASURED, s->prepared.calls_max);
  for (int i = 0; i < s->n; i++) {
    struct tb_member *m = &s->members[i];
    if (!m->live) continue;
    participants->owners[participants->n] = m;
    struct tb_participant *participant =
        add_participant(participants, &m->process, TB_PARTICIPANT_MEASURED, m->prepared.calls_max);
    if (m == s->aa_of) participants->aa_of = participant;
  }
  if (s->aa_control.started && participants->aa_of)
    participants->aa_control = add_participant(participants, &s->aa_control.process,
                                               TB_PARTICIPANT_AA_CONTROL, s->aa_control.prepared.calls_max);
  if (s->calibration.started)
    participants->calibration = add_participant(
        participants, &s->calibration.process, TB_PARTICIPANT_CALIBRATION, s->calibration.prepared.calls_max);
  return true;
}

tc_status tb_session_blocks(struct tb_session *s, long long *calls_made) {
  const bool quick = s->run->spec.options.quick;
  const struct tb_case *kase = s->members[0].kase;
  struct participants participants;
  if (!fill_participants(s, &participants)) return tb_session_no_memory(s);
  struct tb_measure measure = {
      .alloc = tc_arena_alloc(s->run->arena), .interrupt = &s->run->interrupt, .timeout_s = s->timeout_s};
  measure.pause_ns = tb_pause_ns(kase->threads);
  measure.random.state = (uint64_t)s->run->spec.options.seed * 1000003u +
                         (uint64_t)(s->replicate * s->run->plan.n_groups + kase->group);
  measure.stop = (struct tb_stop){.target = target_half_width,
                                  .min_rounds = quick ? ROUNDS_MIN_QUICK : ROUNDS_MIN,
                                  .max_rounds = ROUNDS_MAX,
                                  .budget_ns = (int64_t)(tb_session_blocks_estimate(quick) * TB_NS_PER_S)};
  const tc_status status = tb_measure_blocks(&measure, participants.all, participants.n, s->err);
  *calls_made = measure.calls_made;
  s->run->result.ledger.pause_ns += (double)measure.paused_ns;
  if (tb_session_fatal(status)) return status;
  if (status) tb_session_fail_all(s);
  for (int i = 1; i < participants.n; i++)
    if (participants.all[i].kind == TB_PARTICIPANT_MEASURED &&
        !keep_member(s, &participants, i, measure.reason))
      return tb_session_no_memory(s);
  return TC_OK;
}
