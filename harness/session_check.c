/* Correctness in a session: calls 1 to 3, and the last timed output. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/session.h"

static double nearness(double error, double bound) { return bound > 0 ? error / bound : error > 0 ? INFINITY : 0; }

static void add_comparison(struct tb_session *s, struct tb_member *m, const struct tb_comparison *c) {
  struct tb_correctness *all = &m->result->correctness;
  if (!all->checked) {
    all->checked = all->ok = true;
    all->against = s->has_reference ? "f64" : "baseline";
  }
  all->compared++;
  if (all->compared == 1 || nearness(c->max_error, c->bound) >= nearness(all->max_error, all->bound)) {
    all->max_error = c->max_error;
    all->bound = c->bound;
  }
  if (c->ok || !all->ok) return;
  all->ok = false;
  all->detail = tb_session_text(s, c->detail);
  tb_session_outcome(s, m, TB_OUTCOME_WRONG, "", all->detail, NULL);
}

tc_status tb_session_compare(struct tb_session *s, struct tb_member *m, struct tb_process *compiled) {
  struct tb_comparison comparison;
  struct tb_process *reference = s->has_reference ? &s->reference : NULL;
  const tc_status status = tb_compare(compiled, &s->baseline, reference, m->kase->dtype, s->prepared.tolerance, s->timeout_s, &comparison, s->err);
  if (!status) {
    add_comparison(s, m, &comparison);
    return TC_OK;
  }
  if (tb_session_fatal(status)) return status;
  if (compiled->outcome) tb_session_fail_member(s, m, compiled);
  if (reference && reference->outcome) tb_session_drop_reference(s);
  if (s->baseline.outcome) tb_session_fail_all(s);
  return TC_OK;
}

/* Digest of a member's newest output, and the suite's own check of it. */
static tc_status take_digest(struct tb_session *s, struct tb_member *m, char digest[TB_DIGEST_BYTES]) {
  bool good;
  char why[TB_DETAIL_BYTES];
  const tc_status status = tb_digest(&m->process, s->timeout_s, digest, &good, why, s->err);
  if (status) return tb_session_fatal(status) ? status : (tb_session_fail_member(s, m, &m->process), TC_OK);
  if (!good) tb_session_outcome(s, m, TB_OUTCOME_WRONG, "", why, NULL);
  return TC_OK;
}

/* Whether the baseline still returns the bits of its first call. */
tc_status tb_session_watch_baseline(struct tb_session *s, int call) {
  char digest[TB_DIGEST_BYTES], why[TB_DETAIL_BYTES];
  bool good;
  const tc_status status = tb_digest(&s->baseline, s->timeout_s, digest, &good, why, s->err);
  if (status) return tb_session_fatal(status) ? status : (tb_session_fail_all(s), TC_OK);
  if (call == 1) snprintf(s->first_digest, sizeof s->first_digest, "%s", digest);
  else if (strcmp(digest, s->first_digest)) s->steady_output = false;
  return TC_OK;
}

/* The last timed output: bit for bit the checked one, or compared again. */
tc_status tb_session_check_last(struct tb_session *s, struct tb_member *m) {
  char digest[TB_DIGEST_BYTES];
  const tc_status status = take_digest(s, m, digest);
  if (status || !m->live) return status;
  if (*m->track->digest && !strcmp(digest, m->track->digest)) {
    m->result->correctness.compared++;
    return TC_OK;
  }
  return tb_session_compare(s, m, &m->process);
}

/* A function with state: the reference makes as many calls as the others did. */
tc_status tb_session_advance_reference(struct tb_session *s, long long calls) {
  while (s->has_reference && calls > 0 && !tb_session_interrupted(s)) {
    const long long block = calls < (long long)s->prepared.calls_max ? calls : (long long)s->prepared.calls_max;
    cJSON *reply, *request = tb_process_request(TB_REQUEST_block);
    cJSON_AddNumberToObject(request, "calls", (double)block);
    const tc_status status = tb_process_ask(&s->reference, request, s->timeout_s, &reply, s->err);
    cJSON_Delete(reply);
    if (tb_session_fatal(status)) return status;
    if (status) tb_session_drop_reference(s);
    calls -= block;
  }
  return TC_OK;
}

tc_status tb_session_remember(struct tb_session *s, struct tb_member *m) { return take_digest(s, m, m->track->digest); }
