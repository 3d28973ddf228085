/* One group of cases in one replicate: fresh processes, from the cold call to the last check. Invariants:
 * 1. The order is fixed: baseline (and, in the first replicate, the reference), then for each case a cold process that is
 *    then reset (memory), then for each case a process with a filled cache (disk) that stays for the blocks.
 * 2. All that is timed in the steady state has been compared before (calls 1 to 3) or is compared after (the last output).
 * 3. Whatever happens to a worker happens to its case alone; a lost baseline ends its group.
 * 4. Every process that was started is stopped here. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/clock.h"
#include "harness/folder.h"
#include "harness/measure.h"
#include "harness/role.h"
#include "harness/run.h"
#include "harness/states.h"

enum { CHECKED_CALLS = 3, ROUNDS_MIN = 4, ROUNDS_MAX = 60, ROUNDS_MIN_QUICK = 3, COUNTER_CALLS_MIN = 1 };
static const double budget_s = 1.0, quick_budget_s = 0.4, target_half_width = 0.004;
/* For the estimate alone: what a process costs beside its blocks, and the reference's part of the first replicate. */
static const double process_estimate_s = 0.25, reference_estimate_s = 1.0;

struct member {
  const struct tb_case *kase;
  struct tb_case_result *result;
  struct tb_track *track;
  struct tb_process process;
  struct tb_prepared prepared;
  const char *cache_dir;
  bool started, live;
  bool digest_changed; /* the last output was not bit for bit the checked one */
};

struct session {
  struct tb_run *run;
  int replicate;
  struct member *members;
  int n;
  struct tb_process baseline, reference;
  struct tb_prepared prepared;
  bool baseline_started, reference_started, has_reference;
  bool steady_output; /* calls 1 to 3 of the baseline returned the same bits */
  char first_digest[TB_DIGEST_BYTES];
  double timeout_s;
  struct tc_error *err;
};

static bool interrupted(struct session *s) { return tb_interrupt_poll(&s->run->interrupt) > 0; }
static bool fatal(tc_status status) { return status == TC_INTERRUPTED || status == TC_NOMEM; }
static tc_status no_memory(struct session *s) { return tc_fail(s->err, TC_NOMEM, "harness", "out of memory"); }

static const char *text_in(struct session *s, const char *text) {
  const char *copy = tc_arena_text(s->run->arena, text);
  return copy ? copy : "out of memory";
}

static void show(struct session *s, const struct member *m, const char *step) {
  tb_progress_show(&s->run->progress, tb_case_label(s->run->arena, m->kase), step);
}

/* --- failures --- */

static void set_outcome(struct session *s, struct member *m, enum tb_outcome outcome, const char *who, const char *why, const char *trace) {
  m->live = false;
  if (interrupted(s) && outcome == TB_OUTCOME_TIMEOUT) return; /* it was the user's patience that ended */
  if (m->result->outcome != TB_OUTCOME_OK) return;
  m->result->outcome = outcome;
  const char *error = tb_format(s->run->arena, "%s%s", who, why);
  m->result->error = error ? error : "out of memory";
  m->result->trace = trace ? text_in(s, trace) : NULL;
  if (outcome != TB_OUTCOME_UNSUPPORTED)
    tb_progress_say(&s->run->progress, "tbench: %s: %s: %s", m->kase->id, tb_outcome_text(outcome), m->result->error);
}

static void fail_member(struct session *s, struct member *m, const struct tb_process *process) {
  set_outcome(s, m, process->outcome, "", process->why, process->trace);
}

static void fail_all(struct session *s) {
  for (int i = 0; i < s->n; i++)
    if (s->members[i].live) set_outcome(s, &s->members[i], s->baseline.outcome, "baseline: ", s->baseline.why, s->baseline.trace);
}

static bool any_live(const struct session *s) {
  for (int i = 0; i < s->n; i++)
    if (s->members[i].live) return true;
  return false;
}

static void drop_reference(struct session *s) {
  if (s->reference_started) tb_process_stop(&s->reference);
  s->reference_started = s->has_reference = false;
}

/* --- checks --- */

static double nearness(double error, double bound) { return bound > 0 ? error / bound : error > 0 ? INFINITY : 0; }

static void add_comparison(struct session *s, struct member *m, const struct tb_comparison *c) {
  struct tb_correctness *all = &m->result->correctness;
  if (!all->checked) {
    all->checked = all->ok = true;
    all->against = s->has_reference ? "f64" : "baseline";
  }
  all->compared++;
  if (!all->compared || nearness(c->max_error, c->bound) >= nearness(all->max_error, all->bound)) {
    all->max_error = c->max_error;
    all->bound = c->bound;
  }
  if (c->ok || !all->ok) return;
  all->ok = false;
  all->detail = text_in(s, c->detail);
  set_outcome(s, m, TB_OUTCOME_WRONG, "", all->detail, NULL);
}

static tc_status compare(struct session *s, struct member *m, struct tb_process *compiled) {
  struct tb_comparison comparison;
  struct tb_process *reference = s->has_reference ? &s->reference : NULL;
  const tc_status status = tb_compare(compiled, &s->baseline, reference, m->kase->dtype, s->prepared.tolerance, s->timeout_s, &comparison, s->err);
  if (!status) {
    add_comparison(s, m, &comparison);
    return TC_OK;
  }
  if (fatal(status)) return status;
  if (compiled->outcome) fail_member(s, m, compiled);
  if (reference && reference->outcome) drop_reference(s);
  if (s->baseline.outcome) fail_all(s);
  return TC_OK;
}

/* Digest of a member's newest output, and the suite's own check of it. */
static tc_status take_digest(struct session *s, struct member *m, char digest[TB_DIGEST_BYTES]) {
  bool good;
  char why[TB_DETAIL_BYTES];
  const tc_status status = tb_digest(&m->process, s->timeout_s, digest, &good, why, s->err);
  if (status) return fatal(status) ? status : (fail_member(s, m, &m->process), TC_OK);
  if (!good) set_outcome(s, m, TB_OUTCOME_WRONG, "", why, NULL);
  return TC_OK;
}

/* Whether the baseline still returns the bits of its first call. */
static tc_status watch_baseline(struct session *s, int call) {
  char digest[TB_DIGEST_BYTES], why[TB_DETAIL_BYTES];
  bool good;
  const tc_status status = tb_digest(&s->baseline, s->timeout_s, digest, &good, why, s->err);
  if (status) return fatal(status) ? status : (fail_all(s), TC_OK);
  if (call == 1) snprintf(s->first_digest, sizeof s->first_digest, "%s", digest);
  else if (strcmp(digest, s->first_digest)) s->steady_output = false;
  return TC_OK;
}

/* --- starting --- */

static tc_status call_once(struct session *s, struct tb_process *process) {
  cJSON *reply;
  const tc_status status = tb_process_ask(process, tb_process_request(TB_REQUEST_call), s->timeout_s, &reply, s->err);
  cJSON_Delete(reply);
  return status;
}

static tc_status start_baseline(struct session *s) {
  s->baseline_started = true;
  show(s, &s->members[0], "baseline");
  tc_status status = tb_role_start(s->run, s->members[0].kase, TB_ROLE_BASELINE, NULL, &s->baseline, &s->prepared, s->err);
  if (!status) status = call_once(s, &s->baseline);
  if (!status) return watch_baseline(s, 1);
  if (fatal(status)) return status;
  fail_all(s);
  return TC_OK;
}

/* Without a reference the comparison is with the baseline, and the result says so. */
static tc_status start_reference(struct session *s) {
  struct tb_prepared prepared;
  if (s->replicate || !any_live(s)) return TC_OK;
  s->reference_started = true;
  show(s, &s->members[0], "reference");
  tc_status status = tb_role_start(s->run, s->members[0].kase, TB_ROLE_REFERENCE, NULL, &s->reference, &prepared, s->err);
  if (!status) status = call_once(s, &s->reference);
  s->has_reference = !status;
  if (fatal(status)) return status;
  for (int i = 0; status && i < s->n; i++) {
    const char *why = tb_format(s->run->arena, "no f64 reference: %s: %s", tb_outcome_text(s->reference.outcome), s->reference.why);
    s->members[i].result->correctness.detail = why;
  }
  if (status) drop_reference(s);
  return TC_OK;
}

/* --- compile states --- */

static tc_status record_first(struct session *s, struct member *m, enum tb_state state, struct tb_process *process, struct tb_first *first) {
  struct tb_compile *compile = &m->result->compile;
  bool good = tb_state_add(s->run->arena, compile, state, first, m->kase->config.cache);
  if (state == TB_STATE_COLD) good = good && tb_duration_add(s->run->arena, &compile->first_call_ns, first->call_ns);
  if (state != TB_STATE_MEMORY) good = good && tb_duration_add(s->run->arena, &compile->start_ns, process->start_ns);
  if (state == TB_STATE_COLD && !s->replicate)
    good = good && tb_stages_read(s->run->arena, first->stats, compile) && tb_graph_read(s->run->arena, first->stats, &m->result->graph);
  cJSON_Delete(first->stats);
  return good ? TC_OK : no_memory(s);
}

static tc_status first_call(struct session *s, struct member *m, enum tb_state state, struct tb_process *process) {
  struct tb_first first;
  const tc_status status = tb_first_call(process, state == TB_STATE_MEMORY, s->timeout_s, &first, s->err);
  return status ? status : record_first(s, m, state, process, &first);
}

/* Cold, then memory, in a process of their own. */
static tc_status run_cold(struct session *s, struct member *m) {
  struct tb_process process;
  struct tb_prepared prepared;
  show(s, m, "cold");
  tc_status status = tb_role_start(s->run, m->kase, TB_ROLE_COMPILED, m->cache_dir, &process, &prepared, s->err);
  if (!status) status = first_call(s, m, TB_STATE_COLD, &process);
  if (!status && !s->replicate) status = compare(s, m, &process);
  if (!status && m->live) status = first_call(s, m, TB_STATE_MEMORY, &process);
  if (status && !fatal(status)) {
    fail_member(s, m, &process);
    status = TC_OK;
  }
  tb_process_stop(&process);
  return status;
}

/* The process that is measured: its first call finds the cache that the cold one filled. */
static tc_status start_member(struct session *s, struct member *m) {
  show(s, m, "disk");
  m->started = true;
  tc_status status = tb_role_start(s->run, m->kase, TB_ROLE_COMPILED, m->cache_dir, &m->process, &m->prepared, s->err);
  if (!status) status = first_call(s, m, TB_STATE_DISK, &m->process);
  m->result->bound = m->process.bound;
  if (!status && !s->replicate) return compare(s, m, &m->process);
  if (status && !fatal(status)) {
    fail_member(s, m, &m->process);
    status = TC_OK;
  }
  return status;
}

static tc_status each_live(struct session *s, tc_status (*step)(struct session *, struct member *)) {
  for (int i = 0; i < s->n; i++) {
    if (interrupted(s)) return TC_OK;
    const tc_status status = s->members[i].live ? step(s, &s->members[i]) : TC_OK;
    if (status) return status;
  }
  return TC_OK;
}

/* --- calls 2 and 3 --- */

static tc_status call_member(struct session *s, struct member *m) {
  const tc_status status = call_once(s, &m->process);
  if (status) return fatal(status) ? status : (fail_member(s, m, &m->process), TC_OK);
  return s->replicate ? TC_OK : compare(s, m, &m->process);
}

static tc_status remember_digest(struct session *s, struct member *m) { return take_digest(s, m, m->track->digest); }

static tc_status checked_calls(struct session *s) {
  for (int call = 2; call <= CHECKED_CALLS && any_live(s) && !interrupted(s); call++) {
    show(s, &s->members[0], "check");
    tc_status status = call_once(s, &s->baseline);
    if (status) return fatal(status) ? status : (fail_all(s), TC_OK);
    status = watch_baseline(s, call);
    if (!status && s->has_reference) {
      status = call_once(s, &s->reference);
      if (fatal(status)) return status;
      if (status) drop_reference(s);
      status = TC_OK;
    }
    if (!status) status = each_live(s, call_member);
    if (status) return status;
  }
  return s->replicate ? TC_OK : each_live(s, remember_digest);
}

/* --- blocks --- */

static void keep_timing(struct session *s, struct tb_timing *timing, const struct tb_seat *seat) {
  const struct tb_replicate replicate = {.samples_ns = {seat->samples.data, seat->samples.len, seat->samples.cap}};
  if (seat->samples.len) (void)tc_vec_push(tc_arena_alloc(s->run->arena), &timing->replicates, replicate); /* a lost one shows as fewer replicates */
}

static const char *stop_reason(const char *before, enum tb_stop_reason reason) {
  const bool limited = before && (!strcmp(before, "interrupted") || !strcmp(before, "budget"));
  return limited && reason != TB_STOP_INTERRUPTED ? before : tb_stop_text(reason);
}

static bool keep_member(struct session *s, struct member *m, const struct tb_seat *baseline, const struct tb_seat *seat, enum tb_stop_reason reason) {
  const struct tc_alloc *alloc = tc_arena_alloc(s->run->arena);
  const double ratio = tb_log_ratio(baseline, seat);
  if (!seat->live) fail_member(s, m, &m->process);
  if (!seat->live || isnan(ratio)) return true;
  keep_timing(s, &m->result->baseline, baseline);
  keep_timing(s, &m->result->steady, seat);
  m->result->speedup.stop_reason = stop_reason(m->result->speedup.stop_reason, reason);
  m->result->block_half_width = tb_log_ratio_half_width(baseline, seat, m->result->speedup.confidence);
  return tc_vec_push(alloc, &m->result->replicate_log_ratios, ratio) && tc_vec_push(alloc, &m->result->replicate_noise, tb_log_noise(baseline));
}

static tc_status run_blocks(struct session *s, long long *calls_made) {
  const bool quick = s->run->spec.options.quick;
  struct tb_seat *seats = tc_arena_bytes(s->run->arena, sizeof *seats * (size_t)(s->n + 1));
  struct member **owners = tc_arena_bytes(s->run->arena, sizeof *owners * (size_t)(s->n + 1));
  if (!seats || !owners) return no_memory(s);
  int n = 0;
  seats[n++] = (struct tb_seat){.process = &s->baseline, .calls_max = s->prepared.calls_max, .live = true};
  for (int i = 0; i < s->n; i++) {
    struct member *m = &s->members[i];
    if (!m->live) continue;
    owners[n] = m;
    seats[n++] = (struct tb_seat){.process = &m->process, .calls_max = m->prepared.calls_max, .live = true};
  }
  struct tb_measure measure = {.alloc = tc_arena_alloc(s->run->arena), .interrupt = &s->run->interrupt, .timeout_s = s->timeout_s};
  measure.random.state = (uint64_t)s->run->spec.options.seed * 1000003u + (uint64_t)(s->replicate * s->run->plan.n_groups + s->members[0].kase->group);
  measure.stop = (struct tb_stop){.target = target_half_width, .min_rounds = quick ? ROUNDS_MIN_QUICK : ROUNDS_MIN, .max_rounds = ROUNDS_MAX,
                                  .budget_ns = (int64_t)((quick ? quick_budget_s : budget_s) * TB_NS_PER_S)};
  show(s, &s->members[0], "steady");
  tc_status status = tb_measure_blocks(&measure, seats, n, s->err);
  *calls_made = measure.calls_made;
  if (fatal(status)) return status;
  if (status) fail_all(s);
  for (int i = 1; i < n; i++)
    if (!keep_member(s, owners[i], &seats[0], &seats[i], measure.reason)) return no_memory(s);
  return TC_OK;
}

/* --- after the blocks --- */

/* The last timed output: bit for bit the checked one, or compared again. */
static tc_status check_last(struct session *s, struct member *m) {
  char digest[TB_DIGEST_BYTES];
  const tc_status status = take_digest(s, m, digest);
  if (status || !m->live) return status;
  if (*m->track->digest && !strcmp(digest, m->track->digest)) {
    m->result->correctness.compared++;
    return TC_OK;
  }
  return compare(s, m, &m->process);
}

/* A function with state: the reference makes as many calls as the others did. */
static tc_status advance_reference(struct session *s, long long calls) {
  while (s->has_reference && calls > 0 && !interrupted(s)) {
    const long long block = calls < (long long)s->prepared.calls_max ? calls : (long long)s->prepared.calls_max;
    cJSON *reply, *request = tb_process_request(TB_REQUEST_block);
    cJSON_AddNumberToObject(request, "calls", (double)block);
    const tc_status status = tb_process_ask(&s->reference, request, s->timeout_s, &reply, s->err);
    cJSON_Delete(reply);
    if (fatal(status)) return status;
    if (status) drop_reference(s);
    calls -= block;
  }
  return TC_OK;
}

static tc_status read_counters(struct session *s, struct member *m) {
  cJSON *reply, *request = tb_process_request(TB_REQUEST_counters);
  cJSON_AddNumberToObject(request, "calls", COUNTER_CALLS_MIN);
  const tc_status status = tb_process_ask(&m->process, request, s->timeout_s, &reply, s->err);
  if (status) return fatal(status) ? status : (fail_member(s, m, &m->process), TC_OK);
  bool good = true;
  const cJSON *counters = cJSON_GetObjectItemCaseSensitive(reply, "counters");
  for (const cJSON *item = counters ? counters->child : NULL; item; item = item->next) {
    const char *why = tb_json_text(item, "why", NULL);
    const struct tb_counter counter = {text_in(s, item->string), tb_json_number(item, "value", NAN), why ? text_in(s, why) : NULL};
    good = good && tc_vec_push(tc_arena_alloc(s->run->arena), &m->result->counters, counter);
  }
  cJSON_Delete(reply);
  return good ? TC_OK : no_memory(s);
}

/* What changed since the first call: recompiles, and the fallbacks that came with them. */
static tc_status read_last_stats(struct session *s, struct member *m) {
  cJSON *reply;
  const tc_status status = tb_process_ask(&m->process, tb_process_request(TB_REQUEST_stats), s->timeout_s, &reply, s->err);
  if (status) return fatal(status) ? status : (fail_member(s, m, &m->process), TC_OK);
  struct tb_graph last;
  const bool good = tb_graph_read(s->run->arena, cJSON_GetObjectItemCaseSensitive(reply, "stats"), &last);
  cJSON_Delete(reply);
  if (!good) return no_memory(s);
  if (!m->result->graph.known) m->result->graph = last;
  m->result->graph.recompiles = last.recompiles;
  if (last.fallbacks.len > m->result->graph.fallbacks.len) m->result->graph.fallbacks = last.fallbacks;
  return TC_OK;
}

static tc_status finish(struct session *s, long long calls_made) {
  tc_status status = s->steady_output ? TC_OK : advance_reference(s, calls_made);
  if (!status) status = each_live(s, check_last);
  if (!status && !s->replicate) status = each_live(s, read_counters);
  if (!status) status = each_live(s, read_last_stats);
  return status;
}

/* --- the whole --- */

static tc_status collect_members(struct session *s, int group) {
  const struct tb_plan *plan = &s->run->plan;
  s->members = tc_arena_bytes(s->run->arena, sizeof *s->members * plan->cases.len);
  if (!s->members) return no_memory(s);
  for (size_t i = 0; i < plan->cases.len; i++) {
    struct tb_case_result *result = &s->run->result.cases.data[i];
    if (plan->cases.data[i].group != group || result->outcome != TB_OUTCOME_OK) continue;
    struct member *m = &s->members[s->n++];
    *m = (struct member){.kase = &plan->cases.data[i], .result = result, .track = &s->run->tracks[i], .live = true};
    m->cache_dir = tb_format(s->run->arena, "%s/case%zu-replicate%d", s->run->cache_root, i, s->replicate);
    if (!m->cache_dir) return no_memory(s);
  }
  return TC_OK;
}

static tc_status run_steps(struct session *s) {
  long long calls_made = 0;
  tc_status status = start_baseline(s);
  if (!status && any_live(s) && !interrupted(s)) status = start_reference(s);
  if (!status) status = each_live(s, run_cold);
  if (!status) status = each_live(s, start_member);
  if (!status && any_live(s) && !interrupted(s)) status = checked_calls(s);
  if (status || !any_live(s) || interrupted(s)) return status;
  if (s->steady_output) drop_reference(s); /* its output would be the same: the memory is better free */
  status = run_blocks(s, &calls_made);
  return status || !any_live(s) ? status : finish(s, calls_made);
}

static void close_session(struct session *s) {
  if (s->baseline_started) tb_process_stop(&s->baseline);
  drop_reference(s);
  for (int i = 0; i < s->n; i++) {
    if (s->members[i].started) tb_process_stop(&s->members[i].process);
    tb_folder_remove(s->members[i].cache_dir);
  }
}

tc_status tb_session_run(struct tb_run *run, int group, int replicate, struct tc_error *err) {
  struct session s = {.run = run, .replicate = replicate, .steady_output = true, .err = err};
  tc_status status = collect_members(&s, group);
  if (!status && s.n) {
    s.timeout_s = tb_run_timeout(run, s.members[0].kase);
    status = run_steps(&s);
  }
  close_session(&s);
  return status;
}

double tb_session_estimate(const struct tb_run *run, int group, bool first_replicate) {
  int n = 0;
  for (size_t i = 0; i < run->plan.cases.len; i++) n += run->plan.cases.data[i].group == group;
  const double blocks = run->spec.options.quick ? quick_budget_s : budget_s;
  return blocks + process_estimate_s * (1 + 2 * n) + (first_replicate ? reference_estimate_s : 0);
}
