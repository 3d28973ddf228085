/* Correctness in a session: calls 1 to 3, and the last timed output. Invariant: an output counts as compared
 * when it was streamed and compared, or when it is bit for bit one that was, while the baseline's is bit for
 * bit the one of then. */
#include <stdio.h>
#include <string.h>

#include "harness/run/session.h"

static void add_comparison(struct tb_session *s, struct tb_member *m, const struct tb_comparison *c) {
  struct tb_correctness *all = &m->result->correctness;
  if (!all->checked) {
    all->checked = all->ok = true;
    all->against = "f64";
  }
  if (!s->has_reference) all->against = "baseline"; /* the weakest of all comparisons is told */
  all->compared++;
  if (all->compared == 1 || tb_nearness(c->max_error, c->bound) >= tb_nearness(all->max_error, all->bound)) {
    all->max_error = c->max_error;
    all->bound = c->bound;
  }
  if (c->ok || !all->ok) return;
  all->ok = false;
  all->detail = tb_session_text(s, c->detail);
  tb_session_outcome(s, m, TB_OUTCOME_WRONG, "", all->detail, NULL);
}

/* Streams the newest outputs of all roles and compares them. What cannot be compared is never right. */
static tc_status compare(struct tb_session *s, struct tb_member *m, struct tb_process *compiled) {
  struct tb_comparison comparison;
  struct tb_process *reference = s->has_reference ? &s->reference : NULL;
  const tc_status status = tb_compare(compiled, &s->baseline, reference, m->kase->dtype,
                                      s->prepared.tolerance, s->timeout_s, &comparison, s->err);
  if (!status) {
    add_comparison(s, m, &comparison);
    return TC_OK;
  }
  if (tb_session_fatal(status)) return status;
  if (compiled->outcome) tb_session_fail_member(s, m, compiled);
  const bool lost_reference = reference && reference->outcome;
  if (lost_reference) tb_session_drop_reference(s);
  if (s->baseline.outcome) tb_session_fail_all(s);
  if (m->live && lost_reference)
    return compare(s, m, compiled); /* with the baseline alone: the outputs are still there */
  if (m->live) tb_session_outcome(s, m, TB_OUTCOME_ERROR, "", s->err->message, NULL);
  return TC_OK;
}

/* Digest of a member's newest output, and the suite's own check of it. */
static tc_status take_digest(struct tb_session *s, struct tb_member *m, struct tb_process *process,
                             char digest[TB_DIGEST_BYTES]) {
  bool good;
  char why[TB_DETAIL_BYTES];
  const tc_status status = tb_digest(process, s->timeout_s, digest, &good, why, s->err);
  if (status) return tb_session_fatal(status) ? status : (tb_session_fail_member(s, m, process), TC_OK);
  if (!good) tb_session_outcome(s, m, TB_OUTCOME_WRONG, "", why, NULL);
  return TC_OK;
}

tc_status tb_session_watch_baseline(struct tb_session *s) {
  char digest[TB_DIGEST_BYTES], why[TB_DETAIL_BYTES];
  bool good;
  const tc_status status = tb_digest(&s->baseline, s->timeout_s, digest, &good, why, s->err);
  if (status) return tb_session_fatal(status) ? status : (tb_session_fail_all(s), TC_OK);
  if (!*s->first_digest) snprintf(s->first_digest, sizeof s->first_digest, "%s", digest);
  s->same_output = !strcmp(digest, s->first_digest);
  s->steady_output = s->steady_output && s->same_output;
  return TC_OK;
}

tc_status tb_session_check(struct tb_session *s, struct tb_member *m, struct tb_process *compiled) {
  char digest[TB_DIGEST_BYTES];
  const tc_status status = take_digest(s, m, compiled, digest);
  if (status || !m->live) return status;
  if (s->same_output && *m->track->digest && !strcmp(digest, m->track->digest)) {
    m->result->correctness.compared++;
    return TC_OK;
  }
  const tc_status compared = compare(s, m, compiled);
  if (!compared && m->live && !s->replicate && !*m->track->digest)
    snprintf(m->track->digest, sizeof m->track->digest, "%s", digest);
  return compared;
}

tc_status tb_session_bring_reference(struct tb_session *s, long long call) {
  while (s->has_reference && s->reference_calls < call && !tb_session_interrupted(s)) {
    const long long left = call - s->reference_calls, most = (long long)s->prepared.calls_max,
                    block = left < most ? left : most;
    cJSON *reply, *request = tb_process_request(TB_REQUEST_block);
    cJSON_AddNumberToObject(request, "calls", (double)block);
    const tc_status status = tb_process_ask(&s->reference, request, s->timeout_s, &reply, s->err);
    cJSON_Delete(reply);
    if (tb_session_fatal(status)) return status;
    if (status) tb_session_drop_reference(s);
    s->reference_calls += block;
  }
  return TC_OK;
}
