/* One group of cases in one replicate: fresh processes, from the cold call to the last check. Invariants:
 * 1. The order of steps is fixed: baseline (and, in the first replicate, the reference), then for each case a
 *    cold process that is then reset (memory), then for each case a process with a filled cache (disk) that
 *    stays for the blocks. Whose turn it is within these two steps is drawn for each replicate: who comes
 *    first follows other work than the rest, and compile times are compared.
 * 2. All that is timed in the steady state has been compared before (calls 1 to 3) or is compared after (the
 *    last output).
 * 3. Whatever happens to a worker happens to its case alone; a lost baseline ends its group.
 * 4. Every process that was started is stopped here. */
#include <math.h>
#include <string.h>

#include "harness/base/folder.h"
#include "harness/run/replicates.h"
#include "harness/run/session.h"
#include "harness/run/states.h"
#include "results/stats/random.h"
#include "results/stats/stats.h"

enum {
  ABOVE_SEEDS = 32,
  COUNTED_MAX = 100000,
  PROCESSES_OF_OWN = 3 /* of a session: baseline, A/A control, calibration kernel */
};
static const double counting_ns = 5e6; /* of work under the counters, where one call is shorter */
/* For the estimate alone: what a process costs beside its blocks, and the reference's part of the first
 * replicate. */
static const double process_estimate_s = 0.25, reference_estimate_s = 1.0;

static void show(struct tb_session *s, const struct tb_member *m, const char *step) {
  tb_progress_show(&s->run->progress, tb_case_label(s->run->arena, m->kase), step);
}

/* --- starting --- */

tc_status tb_session_call(struct tb_session *s, struct tb_process *process) {
  cJSON *reply;
  const tc_status status =
      tb_process_ask(process, tb_process_request(TB_REQUEST_call), s->timeout_s, &reply, s->err);
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
  tc_status status =
      tb_role_start(s->run, s->members[0].kase, TB_ROLE_BASELINE, NULL, &s->baseline, &s->prepared, s->err);
  if (!status) keep_amounts(s);
  if (!status) status = tb_session_call(s, &s->baseline);
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
  tc_status status =
      tb_role_start(s->run, s->members[0].kase, TB_ROLE_REFERENCE, NULL, &s->reference, &prepared, s->err);
  if (!status) status = tb_session_call(s, &s->reference);
  s->has_reference = !status;
  s->reference_calls = 1;
  if (tb_session_fatal(status)) return status;
  for (int i = 0; status && i < s->n; i++) {
    const char *why = tb_format(s->run->arena, "no f64 reference: %s: %s",
                                tb_outcome_text(s->reference.outcome), s->reference.why);
    s->members[i].result->correctness.detail = why;
  }
  if (status) tb_session_drop_reference(s);
  return TC_OK;
}

/* --- compile states --- */

/* A peer does not tell when its first kernel starts: its states end with the whole call. */
static void keep_peer(struct tb_session *s, struct tb_member *m, enum tb_state state,
                      const struct tb_process *process, struct tb_first *first) {
  struct tb_peer_facts *peer = &m->result->peer;
  if (first->evidence.known) first->entry_ns = first->call_ns;
  if (s->replicate || state != TB_STATE_COLD) return;
  peer->adapter = m->kase->peer;
  peer->framework = *process->framework ? tb_session_text(s, process->framework) : NULL;
  peer->no_graph = first->stats ? NULL : "the adapter reports no graphs";
}

static tc_status record_first(struct tb_session *s, struct tb_member *m, enum tb_state state,
                              struct tb_process *process, struct tb_first *first) {
  struct tb_compile *compile = &m->result->compile;
  if (m->kase->peer) keep_peer(s, m, state, process, first);
  bool good = tb_state_add(s->run->arena, compile, state, first, m->kase->peer || m->kase->config.cache);
  if (state != TB_STATE_MEMORY)
    good = good && tb_duration_add(s->run->arena, &compile->start_ns, process->start_ns);
  if (state == TB_STATE_COLD) good = good && tb_stages_add(s->run->arena, first->stats, compile);
  if (state == TB_STATE_COLD && !s->replicate)
    good = good && tb_graph_read(s->run->arena, first->stats, &m->result->graph);
  cJSON_Delete(first->stats);
  return good ? TC_OK : tb_session_no_memory(s);
}

static tc_status first_call(struct tb_session *s, struct tb_member *m, enum tb_state state,
                            struct tb_process *process) {
  struct tb_first first;
  const tc_status status = tb_first_call(process, state == TB_STATE_MEMORY, s->timeout_s, &first, s->err);
  return status ? status : record_first(s, m, state, process, &first);
}

/* Cold, then memory, in a process of their own. */
static tc_status run_cold(struct tb_session *s, struct tb_member *m) {
  struct tb_process process;
  struct tb_prepared prepared;
  show(s, m, "cold");
  tc_status status =
      tb_role_start(s->run, m->kase, TB_ROLE_COMPILED, m->cache_dir, &process, &prepared, s->err);
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
  tc_status status =
      tb_role_start(s->run, m->kase, TB_ROLE_COMPILED, m->cache_dir, &m->process, &m->prepared, s->err);
  if (!status) status = first_call(s, m, TB_STATE_DISK, &m->process);
  m->result->bound = m->process.link.bound;
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

/* In an order drawn by seed, replicate and step. */
static tc_status each_live_in_turn(struct tb_session *s, enum tb_state state,
                                   tc_status (*step)(struct tb_session *, struct tb_member *)) {
  struct tb_random random = {(uint64_t)s->run->spec.options.seed * TB_STATE_COUNT + (uint64_t)state +
                             ((uint64_t)s->replicate << ABOVE_SEEDS)};
  int *order = tc_arena_bytes(s->run->arena, sizeof *order * (size_t)s->n);
  if (!order) return tb_session_no_memory(s);
  for (int i = 0; i < s->n; i++) order[i] = i;
  tb_random_next(&random); /* neighbouring seeds start far apart */
  tb_random_shuffle(&random, order, s->n);
  for (int i = 0; i < s->n; i++) {
    if (tb_session_interrupted(s)) return TC_OK;
    const tc_status status = s->members[order[i]].live ? step(s, &s->members[order[i]]) : TC_OK;
    if (status) return status;
  }
  return TC_OK;
}

/* --- calls 2 and 3 --- */

static tc_status call_member(struct tb_session *s, struct tb_member *m) {
  const tc_status status = tb_session_call(s, &m->process);
  if (status) return tb_session_fatal(status) ? status : (tb_session_fail_member(s, m, &m->process), TC_OK);
  return s->replicate ? TC_OK : tb_session_check(s, m, &m->process);
}

static tc_status checked_calls(struct tb_session *s) {
  for (int call = 2; call <= TB_CHECKED_CALLS && tb_session_any_live(s) && !tb_session_interrupted(s);
       call++) {
    show(s, &s->members[0], "check");
    tc_status status = tb_session_call(s, &s->baseline);
    if (status) return tb_session_fatal(status) ? status : (tb_session_fail_all(s), TC_OK);
    status = tb_session_watch_baseline(s);
    if (!status && !s->same_output) status = tb_session_bring_reference(s, call);
    if (!status) status = each_live(s, call_member);
    if (status) return status;
  }
  return TC_OK;
}

/* --- after the blocks --- */

/* As many calls as make counting_ns of work: a single short one would count the harness rather than
 * itself. */
static double calls_to_count(const struct tb_member *m) {
  const struct tb_timing *steady = &m->result->steady;
  const struct tb_replicate *newest =
      steady->replicates.len ? &steady->replicates.data[steady->replicates.len - 1] : NULL;
  const double call_ns = newest ? tb_median(newest->samples_ns.data, newest->samples_ns.len) : NAN;
  const double calls = call_ns > 0 ? ceil(counting_ns / call_ns) : 1;
  return fmin(fmin(calls, m->prepared.calls_max), COUNTED_MAX);
}

static tc_status read_counters(struct tb_session *s, struct tb_member *m) {
  cJSON *reply, *request = tb_process_request(TB_REQUEST_counters);
  const double calls = calls_to_count(m);
  cJSON_AddNumberToObject(request, "calls", calls);
  cJSON_AddStringToObject(request, "names", s->counter_selection.papi);
  const tc_status status = tb_process_ask(&m->process, request, s->timeout_s, &reply, s->err);
  if (status) return tb_session_fatal(status) ? status : (tb_session_fail_member(s, m, &m->process), TC_OK);
  bool good = true;
  const cJSON *counters = cJSON_GetObjectItemCaseSensitive(reply, "counters");
  for (const cJSON *item = counters ? counters->child : NULL; item; item = item->next) {
    const char *why = tb_json_text(item, "why", NULL);
    const struct tb_counter counter = {tb_session_text(s, item->string), tb_json_number(item, "value", NAN),
                                       why ? tb_session_text(s, why) : NULL,
                                       tb_json_bool(item, "multiplexed", false)};
    good = good && tc_vec_push(tc_arena_alloc(s->run->arena), &m->result->counters, counter);
  }
  m->result->counted_calls = calls;
  cJSON_Delete(reply);
  return good ? TC_OK : tb_session_no_memory(s);
}

/* What changed since the first call: recompiles, and the fallbacks that came with them. */
static tc_status read_last_stats(struct tb_session *s, struct tb_member *m) {
  cJSON *reply;
  const tc_status status =
      tb_process_ask(&m->process, tb_process_request(TB_REQUEST_stats), s->timeout_s, &reply, s->err);
  if (status) return tb_session_fatal(status) ? status : (tb_session_fail_member(s, m, &m->process), TC_OK);
  struct tb_graph last;
  const bool good = tb_graph_read(s->run->arena, cJSON_GetObjectItemCaseSensitive(reply, "stats"), &last);
  cJSON_Delete(reply);
  if (!good) return tb_session_no_memory(s);
  if (!last.known) return TC_OK; /* a peer without any */
  if (!m->result->graph.known) m->result->graph = last;
  m->result->graph.recompiles = last.recompiles;
  if (last.fallbacks.len > m->result->graph.fallbacks.len) m->result->graph.fallbacks = last.fallbacks;
  return TC_OK;
}

static tc_status count_instructions(struct tb_session *s, struct tb_member *m) {
  show(s, m, "instructions");
  return tb_session_instructions(s, m);
}

static tc_status check_last(struct tb_session *s, struct tb_member *m) {
  return tb_session_check(s, m, &m->process);
}

static tc_status finish(struct tb_session *s, long long calls_made) {
  tc_status status = tb_session_watch_baseline(s);
  if (!status && !s->same_output) status = tb_session_bring_reference(s, TB_CHECKED_CALLS + calls_made);
  if (!status) status = each_live(s, check_last);
  if (!status && !s->replicate && *s->counter_selection.papi) status = each_live(s, read_counters);
  if (!status) status = each_live(s, read_last_stats);
  if (!status && !s->replicate && s->counter_selection.callgrind) status = each_live(s, count_instructions);
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
    *m = (struct tb_member){
        .kase = &plan->cases.data[i], .result = result, .track = &s->run->tracks[i], .live = true};
    m->cache_dir = tb_format(s->run->arena, "%s/case%zu-replicate%d", s->run->cache_root, i, s->replicate);
    if (!m->cache_dir) return tb_session_no_memory(s);
  }
  return TC_OK;
}

static tc_status run_steps(struct tb_session *s) {
  long long calls_made = 0;
  tc_status status = start_baseline(s);
  if (!status && tb_session_any_live(s) && !tb_session_interrupted(s)) status = start_reference(s);
  if (!status) status = each_live_in_turn(s, TB_STATE_COLD, run_cold);
  if (!status) status = each_live_in_turn(s, TB_STATE_DISK, start_member);
  if (!status && tb_session_any_live(s) && !tb_session_interrupted(s)) status = checked_calls(s);
  if (status || !tb_session_any_live(s) || tb_session_interrupted(s)) return status;
  if (s->steady_output)
    tb_session_drop_reference(s); /* its output would be the same: the memory is better free */
  status = tb_session_start_controls(s);
  if (status || tb_session_interrupted(s)) return status;
  show(s, &s->members[0], "steady");
  status = tb_session_blocks(s, &calls_made);
  tb_session_stop_controls(s); /* before what comes after the blocks: the memory is better free */
  return status || !tb_session_any_live(s) ? status : finish(s, calls_made);
}

static void close_session(struct tb_session *s) {
  if (s->baseline_started) tb_process_stop(&s->baseline);
  tb_session_drop_reference(s);
  tb_session_stop_controls(s);
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
    status = tb_run_counter_selection(run, s.members[0].kase, &s.counter_selection, err);
    if (!status) status = run_steps(&s);
  }
  close_session(&s);
  return status;
}

double tb_session_estimate(const struct tb_run *run, int cases, bool first_replicate) {
  return tb_session_blocks_estimate(run->spec.options.quick) +
         process_estimate_s * (PROCESSES_OF_OWN + 2 * cases) + (first_replicate ? reference_estimate_s : 0);
}
