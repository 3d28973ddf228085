/* Outcomes of the cases of a session. Invariant: the first outcome of a case stays; later failures are its
 * consequence. */
#include "harness/run/session.h"

tc_status tb_session_no_memory(struct tb_session *s) { return tc_fail_memory(s->err, "harness"); }

const char *tb_session_text(struct tb_session *s, const char *text) {
  const char *copy = tc_arena_text(s->run->arena, text);
  return copy ? copy : "out of memory";
}

void tb_session_outcome(struct tb_session *s, struct tb_member *m, enum tb_outcome outcome, const char *who,
                        const char *why, const char *trace) {
  m->live = false;
  if (tb_session_interrupted(s) && outcome == TB_OUTCOME_TIMEOUT)
    return; /* it was the user's patience that ended */
  if (m->result->outcome != TB_OUTCOME_OK) return;
  m->result->outcome = outcome;
  const char *error = tb_format(s->run->arena, "%s%s", who, why);
  m->result->error = error ? error : "out of memory";
  m->result->trace = trace ? tb_session_text(s, trace) : NULL;
  if (outcome != TB_OUTCOME_UNSUPPORTED)
    tb_progress_say(&s->run->progress, "tbench: %s: %s: %s", m->kase->id, tb_outcome_text(outcome),
                    m->result->error);
}

void tb_session_fail_member(struct tb_session *s, struct tb_member *m, const struct tb_process *process) {
  tb_session_outcome(s, m, process->outcome, "", process->why, process->trace);
}

void tb_session_fail_all(struct tb_session *s) {
  for (int i = 0; i < s->n; i++)
    if (s->members[i].live)
      tb_session_outcome(s, &s->members[i], s->baseline.outcome, "baseline: ", s->baseline.why,
                         s->baseline.trace);
}

bool tb_session_any_live(const struct tb_session *s) {
  for (int i = 0; i < s->n; i++)
    if (s->members[i].live) return true;
  return false;
}

void tb_session_drop_reference(struct tb_session *s) {
  if (s->reference_started) tb_process_stop(&s->reference);
  s->reference_started = s->has_reference = false;
}
