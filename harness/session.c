/* One group of cases in one replicate: fresh processes, from the cold call to the last check. Invariants:
 * 1. The order is fixed: baseline (and, in the first replicate, the reference), then for each case a cold process that is
 *    then reset (memory), then for each case a process with a filled cache (disk) that stays for the blocks.
 * 2. All that is timed in the steady state has been compared before (calls 1 to 3) or is compared after (the last output).
 * 3. Whatever happens to a worker happens to its case alone; a lost baseline ends its group.
 * 4. Every process that was started is stopped here. */
#include <math.h>
#include <string.h>

#include "harness/clock.h"
#include "harness/folder.h"
#include "harness/measure.h"
#include "harness/session.h"
#include "harness/states.h"
#include "harness/stats.h"

enum { CHECKED_CALLS = 3, ROUNDS_MIN = 4, ROUNDS_MAX = 60, ROUNDS_MIN_QUICK = 3, COUNTED_MAX = 100000 };
static const double budget_s = 1.0, quick_budget_s = 0.4, target_half_width = 0.004;
static const double counting_ns = 5e6; /* of work under the counters, where one call is shorter */
/* For the estimate alone: what a process costs beside its blocks, and the reference's part of the first replicate. */
static const double process_estimate_s = 0.25, reference_estimate_s = 1.0;

static void show(struct tb_session *s, const struct tb_member *m, const char *step) {
  tb_progress_show(&s->run->progress, tb_case_label(s->run->arena, m->kase), step);
}

/* --- starting --- */

static tc_status call_once(struct tb_session *s, struct tb_process *process) {
  cJSON *reply;
  const tc_status status = tb_process_ask(process, tb_process_request(TB_REQUEST_call), s->timeout_s, &reply, s->err);
  cJSON_Delete(reply);
  return status;
}

/* What the suite says of its work holds for all members: they differ in backend and mode alone. */
static void keep_amounts(struct tb_session *s) {
  for (int i = 0; i < s->n; i++) {
    struct tb_case_result *r = s->members[i].result;
    if (!isnan(s->prepared.bytes)) r->bytes = (struct tb_amount){s->prepared.bytes, true};
    if (!isnan(s->prepared.flops)) r->flops = (struct tb_amount){s->prepared.flops, true};
  }
}

static tc_status start_baseline(struct tb_session *s) {
  s->baseline_started = true;
  show(s, &s->members[0], "baseline");
  tc_status status = tb_role_start(s->run, s->members[0].kase, TB_ROLE_BASELINE, NULL, &s->baseline, &s->prepared, s->err);
  if (!status) keep_amounts(s);
  if (!status) status = call_once(s, &s->baseline);
  if (!status) return tb_session_watch_baseline(s);
  if (tb_session_fatal(status)) return status;
  tb_session_fail_all(s);
  return TC_OK;
}

/* Without a reference the comparison is with the baseline, and the result says so. */
static tc_status start_reference(struct tb_session *s) {
  struct tb_prepared prepared;
  if (s->replicate || !tb_session_any_live(s)) return TC_OK;
  s->reference_started = true;
  show(s, &s->members[0], "reference");
  tc_status status = tb_role_start(s->run, s->members[0].kase, TB_ROLE_REFERENCE, NULL, &s->reference, &prepared, s->err);
  if (!status) status = call_once(s, &s->reference);
  s->has_reference = !status;
  s->reference_calls = 1;
  if (tb_session_fatal(status)) return status;
  for (int i = 0; status && i < s->n; i++) {
    const char *why = tb_format(s->run->arena, "no f64 reference: %s: %s", tb_outcome_text(s->reference.outcome), s->reference.why);
    s->members[i].result->correctness.detail = why;
  }
  if (status) tb_session_drop_reference(s);
  return TC_OK;
}

/* --- compile states --- */

static tc_status record_first(struct tb_session *s, struct tb_member *m, enum tb_state state, struct tb_process *process, struct tb_first *first) {
  struct tb_compile *compile = &m->result->compile;
  bool good = tb_state_add(s->run->arena, compile, state, first, m->kase->config.cache);
  if (state != TB_STATE_MEMORY) good = good && tb_duration_add(s->run->arena, &compile->start_ns, process->start_ns);
  if (state == TB_STATE_COLD) good = good && tb_stages_add(s->run->arena, first->stats, compile);
  if (state == TB_STATE_COLD && !s->replicate) good = good && tb_graph_read(s->run->arena, first->stats, &m->result->graph);
  cJSON_Delete(first->stats);
  return good ? TC_OK : tb_session_no_memory(s);
}

static tc_status first_call(struct tb_session *s, struct tb_member *m, enum tb_state state, struct tb_process *process) {
  struct tb_first first;
  const tc_status status = tb_first_call(process, state == TB_STATE_MEMORY, s->timeout_s, &first, s->err);
  return status ? status : record_first(s, m, state, process, &first);
}

/* Cold, then memory, in a process of their own. */
static tc_status run_cold(struct tb_session *s, struct tb_member *m) {
  struct tb_process process;
  struct tb_prepared prepared;
  show(s, m, "cold");
  tc_status status = tb_role_start(s->run, m->kase, TB_ROLE_COMPILED, m->cache_dir, &process, &prepared, s->err);
  if (!status) status = first_call(s, m, TB_STATE_COLD, &process);
  if (!status && !s->replicate) status = tb_session_check(s, m, &process);
  if (!status && m->live) status = first_call(s, m, TB_STATE_MEMORY, &process);
  if (status && !tb_session_fatal(status)) {
    tb_session_fail_member(s, m, &process);
    status = TC_OK;
  }
  tb_process_stop(&process);
  return status;
}

/* The process that is measured: its first call finds the cache that the cold one filled. */
static tc_status start_member(struct tb_session *s, struct tb_member *m) {
  show(s, m, "disk");
  m->started = true;
  tc_status status = tb_role_start(s->run, m->kase, TB_ROLE_COMPILED, m->cache_dir, &m->process, &m->prepared, s->err);
  if (!status) status = first_call(s, m, TB_STATE_DISK, &m->process);
  m->result->bound = m->process.bound;
  if (!status && !s->replicate) return tb_session_check(s, m, &m->process);
  if (status && !tb_session_fatal(status)) {
    tb_session_fail_member(s, m, &m->process);
    status = TC_OK;
  }
  return status;
}

static tc_status each_live(struct tb_session *s, tc_status (*step)(struct tb_session *, struct tb_member *)) {
  for (int i = 0; i < s->n; i++) {
    if (tb_session_interrupted(s)) return TC_OK;
    const tc_status status = s->members[i].live ? step(s, &s->members[i]) : TC_OK;
    if (status) return status;
  }
  return TC_OK;
}

/* --- calls 2 and 3 --- */

static tc_status call_member(struct tb_session *s, struct tb_member *m) {
  const tc_status status = call_once(s, &m->process);
  if (status) return tb_session_fatal(status) ? status : (tb_session_fail_member(s, m, &m->process), TC_OK);
  return s->replicate ? TC_OK : tb_session_check(s, m, &m->process);
}

static tc_status checked_calls(struct tb_session *s) {
  for (int call = 2; call <= CHECKED_CALLS && tb_session_any_live(s) && !tb_session_interrupted(s); call++) {
    show(s, &s->members[0], "check");
    tc_status status = call_once(s, &s->baseline);
    if (status) return tb_session_fatal(status) ? status : (tb_session_fail_all(s), TC_OK);
    status = tb_session_watch_baseline(s);
    if (!status && !s->same_output) status = tb_session_bring_reference(s, call);
    if (!status) status = each_live(s, call_member);
    if (status) return status;
  }
  return TC_OK;
}

/* --- blocks --- */

static void keep_timing(struct tb_session *s, struct tb_timing *timing, const struct tb_seat *seat) {
  const struct tb_replicate replicate = {.samples_ns = {seat->samples.data, seat->samples.len, seat->samples.cap}};
  if (seat->samples.len) (void)tc_vec_push(tc_arena_alloc(s->run->arena), &timing->replicates, replicate); /* a lost one shows as fewer replicates */
}

static const char *stop_reason(const char *before, enum tb_stop_reason reason) {
  const bool limited = before && (!strcmp(before, "interrupted") || !strcmp(before, "budget"));
  return limited && reason != TB_STOP_INTERRUPTED ? before : tb_stop_text(reason);
}

static bool keep_member(struct tb_session *s, struct tb_member *m, const struct tb_seat *baseline, const struct tb_seat *seat, enum tb_stop_reason reason) {
  const struct tc_alloc *alloc = tc_arena_alloc(s->run->arena);
  const double ratio = tb_log_ratio(baseline, seat);
  if (!seat->live) tb_session_fail_member(s, m, &m->process);
  if (!seat->live || isnan(ratio)) return true;
  keep_timing(s, &m->result->baseline, baseline);
  keep_timing(s, &m->result->steady, seat);
  m->result->speedup.stop_reason = stop_reason(m->result->speedup.stop_reason, reason);
  m->result->block_half_width = tb_log_ratio_half_width(baseline, seat, m->result->speedup.confidence);
  return tc_vec_push(alloc, &m->result->replicate_log_ratios, ratio) && tc_vec_push(alloc, &m->result->replicate_noise, tb_log_noise(baseline));
}

static tc_status run_blocks(struct tb_session *s, long long *calls_made) {
  const bool quick = s->run->spec.options.quick;
  struct tb_seat *seats = tc_arena_bytes(s->run->arena, sizeof *seats * (size_t)(s->n + 1));
  struct tb_member **owners = tc_arena_bytes(s->run->arena, sizeof *owners * (size_t)(s->n + 1));
  if (!seats || !owners) return tb_session_no_memory(s);
  int n = 0;
  seats[n++] = (struct tb_seat){.process = &s->baseline, .calls_max = s->prepared.calls_max, .live = true};
  for (int i = 0; i < s->n; i++) {
    struct tb_member *m = &s->members[i];
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
  if (tb_session_fatal(status)) return status;
  if (status) tb_session_fail_all(s);
  for (int i = 1; i < n; i++)
    if (!keep_member(s, owners[i], &seats[0], &seats[i], measure.reason)) return tb_session_no_memory(s);
  return TC_OK;
}

/* --- after the blocks --- */

/* As many calls as make counting_ns of work: a single short one would count the harness rather than itself. */
static double calls_to_count(const struct tb_member *m) {
  const struct tb_timing *steady = &m->result->steady;
  const struct tb_replicate *newest = steady->replicates.len ? &steady->replicates.data[steady->replicates.len - 1] : NULL;
  const double call_ns = newest ? tb_median(newest->samples_ns.data, newest->samples_ns.len) : NAN;
  const double calls = call_ns > 0 ? ceil(counting_ns / call_ns) : 1;
  return fmin(fmin(calls, m->prepared.calls_max), COUNTED_MAX);
}

static tc_status read_counters(struct tb_session *s, struct tb_member *m) {
  cJSON *reply, *request = tb_process_request(TB_REQUEST_counters);
  const double calls = calls_to_count(m);
  cJSON_AddNumberToObject(request, "calls", calls);
  const tc_status status = tb_process_ask(&m->process, request, s->timeout_s, &reply, s->err);
  if (status) return tb_session_fatal(status) ? status : (tb_session_fail_member(s, m, &m->process), TC_OK);
  bool good = true;
  const cJSON *counters = cJSON_GetObjectItemCaseSensitive(reply, "counters");
  for (const cJSON *item = counters ? counters->child : NULL; item; item = item->next) {
    const char *why = tb_json_text(item, "why", NULL);
    const struct tb_counter counter = {tb_session_text(s, item->string), tb_json_number(item, "value", NAN), why ? tb_session_text(s, why) : NULL};
    good = good && tc_vec_push(tc_arena_alloc(s->run->arena), &m->result->counters, counter);
  }
  m->result->counted_calls = calls;
  cJSON_Delete(reply);
  return good ? TC_OK : tb_session_no_memory(s);
}

/* What changed since the first call: recompiles, and the fallbacks that came with them. */
static tc_status read_last_stats(struct tb_session *s, struct tb_member *m) {
  cJSON *reply;
  const tc_status status = tb_process_ask(&m->process, tb_process_request(TB_REQUEST_stats), s->timeout_s, &reply, s->err);
  if (status) return tb_session_fatal(status) ? status : (tb_session_fail_member(s, m, &m->process), TC_OK);
  struct tb_graph last;
  const bool good = tb_graph_read(s->run->arena, cJSON_GetObjectItemCaseSensitive(reply, "stats"), &last);
  cJSON_Delete(reply);
  if (!good) return tb_session_no_memory(s);
  if (!m->result->graph.known) m->result->graph = last;
  m->result->graph.recompiles = last.recompiles;
  if (last.fallbacks.len > m->result->graph.fallbacks.len) m->result->graph.fallbacks = last.fallbacks;
  return TC_OK;
}

static tc_status check_last(struct tb_session *s, struct tb_member *m) { return tb_session_check(s, m, &m->process); }

static tc_status finish(struct tb_session *s, long long calls_made) {
  tc_status status = tb_session_watch_baseline(s);
  if (!status && !s->same_output) status = tb_session_bring_reference(s, CHECKED_CALLS + calls_made);
  if (!status) status = each_live(s, check_last);
  if (!status && !s->replicate) status = each_live(s, read_counters);
  if (!status) status = each_live(s, read_last_stats);
  return status;
}

/* --- the whole --- */

static tc_status collect_members(struct tb_session *s, int group) {
  const struct tb_plan *plan = &s->run->plan;
  s->members = tc_arena_bytes(s->run->arena, sizeof *s->members * plan->cases.len);
  if (!s->members) return tb_session_no_memory(s);
  for (size_t i = 0; i < plan->cases.len; i++) {
    struct tb_case_result *result = &s->run->result.cases.data[i];
    if (plan->cases.data[i].group != group || result->outcome != TB_OUTCOME_OK) continue;
    struct tb_member *m = &s->members[s->n++];
    *m = (struct tb_member){.kase = &plan->cases.data[i], .result = result, .track = &s->run->tracks[i], .live = true};
    m->cache_dir = tb_format(s->run->arena, "%s/case%zu-replicate%d", s->run->cache_root, i, s->replicate);
    if (!m->cache_dir) return tb_session_no_memory(s);
  }
  return TC_OK;
}

static tc_status run_steps(struct tb_session *s) {
  long long calls_made = 0;
  tc_status status = start_baseline(s);
  if (!status && tb_session_any_live(s) && !tb_session_interrupted(s)) status = start_reference(s);
  if (!status) status = each_live(s, run_cold);
  if (!status) status = each_live(s, start_member);
  if (!status && tb_session_any_live(s) && !tb_session_interrupted(s)) status = checked_calls(s);
  if (status || !tb_session_any_live(s) || tb_session_interrupted(s)) return status;
  if (s->steady_output) tb_session_drop_reference(s); /* its output would be the same: the memory is better free */
  status = run_blocks(s, &calls_made);
  return status || !tb_session_any_live(s) ? status : finish(s, calls_made);
}

static void close_session(struct tb_session *s) {
  if (s->baseline_started) tb_process_stop(&s->baseline);
  tb_session_drop_reference(s);
  for (int i = 0; i < s->n; i++) {
    if (s->members[i].started) tb_process_stop(&s->members[i].process);
    tb_folder_remove(s->members[i].cache_dir);
  }
}

tc_status tb_session_run(struct tb_run *run, int group, int replicate, struct tc_error *err) {
  struct tb_session s = {.run = run, .replicate = replicate, .steady_output = true, .err = err};
  tc_status status = collect_members(&s, group);
  if (!status && s.n) {
    s.timeout_s = tb_run_timeout(run, s.members[0].kase);
    status = run_steps(&s);
  }
  close_session(&s);
  return status;
}

double tb_session_estimate(const struct tb_run *run, int cases, bool first_replicate) {
  const double blocks = run->spec.options.quick ? quick_budget_s : budget_s;
  return blocks + process_estimate_s * (1 + 2 * cases) + (first_replicate ? reference_estimate_s : 0);
}
