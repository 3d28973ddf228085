/* Replicates of a run, group by group, until each group has enough. Invariants:
 * 1. The first replicate of every group is taken before any rule may end the run, so that no case is left out
 *    for want of time.
 * 2. A group goes on as long as one of its cases wants to: they share a baseline and are measured together.
 * 3. A rule sees log ratios alone, at the check points of stop.h. */
#include "harness/run/replicates.h"
#include "harness/base/clock.h"
#include "harness/run/run.h"

/* The log ratios of one case, asked as if they were all: what is the reason to take no more of them? */
static enum tb_replicates_end ask(const struct tb_run *run, const struct tb_case_result *r) {
  return tb_replication_ask(&run->replication, r->replicate_log_ratios.data, (int)r->replicate_log_ratios.len,
                            r->speedup.confidence, tb_now_ns());
}

/* Whether the group has enough after `taken` replicates; its cases are told why. A case whose worker failed
 * wants no more. */
static bool group_ended(struct tb_run *run, int group, int taken) {
  bool open = false;
  for (size_t i = 0; i < run->plan.cases.len && taken < tb_replication_most(&run->replication); i++) {
    const struct tb_case_result *r = &run->result.cases.data[i];
    open |= r->kase->group == group && r->outcome == TB_OUTCOME_OK && ask(run, r) == TB_REPLICATES_OPEN;
  }
  for (size_t i = 0; i < run->plan.cases.len && !open; i++) {
    struct tb_case_result *r = &run->result.cases.data[i];
    if (r->kase->group != group) continue;
    const enum tb_replicates_end end = ask(run, r);
    r->speedup.replicates_stop = end ? end
                                 : run->replication.exact
                                     ? TB_REPLICATES_COUNT
                                     : TB_REPLICATES_MOST; /* one that lost a replicate */
  }
  return !open;
}

static void interrupt_open_cases(struct tb_run *run) {
  for (size_t i = 0; i < run->plan.cases.len; i++) {
    struct tb_speedup *s = &run->result.cases.data[i].speedup;
    if (!s->replicates_stop) s->replicates_stop = TB_REPLICATES_INTERRUPTED;
  }
}

/* What the run has cost and what has disturbed it, so far. */
static void take_stock(struct tb_run *run) {
  run->result.ledger.wall_ns = (double)(tb_now_ns() - run->replication.started_ns);
  if (!run->command) tb_disturbance_end(&run->result.disturbance);
}

static tc_status run_replicate(struct tb_run *run, int replicate, const int *order, bool *ended, int *n_ended,
                               struct tc_error *err) {
  for (int i = 0; i < run->plan.n_groups; i++) {
    const int group = order[i];
    if (ended[group]) continue;
    if (tb_interrupt_poll(&run->interrupt)) return TC_OK;
    const tc_status status = tb_session_run(run, group, replicate, err);
    if (status) return status;
    run->progress.done++;
    take_stock(run);
    tb_save_so_far(run);
    if (tb_interrupt_poll(&run->interrupt)) return TC_OK;
    ended[group] = group_ended(run, group, replicate + 1);
    *n_ended += ended[group];
    if (ended[group]) run->progress.total -= tb_replication_most(&run->replication) - replicate - 1;
  }
  return TC_OK;
}

tc_status tb_run_sessions(struct tb_run *run, struct tc_error *err) {
  const int most = tb_replication_most(&run->replication), groups = run->plan.n_groups;
  int *order = tc_arena_bytes(run->arena, sizeof *order * (size_t)(groups + 1)), n_ended = 0;
  bool *ended = tc_new_zeroed(tc_arena_alloc(run->arena), (size_t)groups + 1, sizeof *ended);
  if (!order || !ended) return tc_fail_memory(err, "harness");
  run->replication.started_ns = tb_now_ns();
  run->result.ledger = (struct tb_ledger){.processes = 0};
  (run->command ? tb_disturbance_unknown : tb_disturbance_begin)(&run->result.disturbance);
  tc_status status = TC_OK;
  for (int replicate = 0;
       replicate < most && n_ended < groups && !status && !tb_interrupt_poll(&run->interrupt); replicate++) {
    tb_plan_order(&run->plan, (uint64_t)run->spec.options.seed, replicate, order);
    status = run_replicate(run, replicate, order, ended, &n_ended, err);
  }
  interrupt_open_cases(run);
  take_stock(run);
  return status;
}
