/* Scheduling on one screen: splitting, layout, anchors, common dims, fusion, kernels, tiles, memory plan.
 *
 * Takes loops (lower/), gives a launch list that satisfies tc_kernel_verify for each of its kernels. */
#include "sched/schedule.h"

tc_status tc_sched_failed(struct tc_sched *s) {
  if (tc_arena_failed(s->loops->arena) || (s->scratch && tc_arena_failed(s->scratch))) return tc_fail(s->err, TC_NOMEM, "schedule", "out of memory");
  return tc_fail(s->err, TC_LIMIT, "schedule", "sizes or addresses that 62 bits do not hold, or too large a formula of them");
}

int tc_sched_sizes(const struct tc_sched *s) { return tc_symtab_sizes(s->tab); }

tc_status tc_schedule(struct tc_graph *g, struct tc_loops *loops, const struct tc_target *target, const struct tc_config *config,
                      struct tc_launch_list **out, struct tc_error *err) {
  struct tc_sched s = {.g = g, .loops = loops, .tab = g->tab, .alloc = tc_arena_alloc(g->arena), .target = target, .config = config, .err = err};
  s.walk.alloc = s.alloc;
  for (int i = 0; i < TC_SLOT_KINDS; i++) s.kind_slots[i] = -1;
  tc_status status = tc_sched_split(&s);
  if (status == TC_OK) status = tc_sched_layout(&s);
  if (status == TC_OK) status = tc_sched_anchors(&s);
  if (status == TC_OK) status = tc_sched_refine(&s);
  if (status == TC_OK) status = tc_sched_fuse(&s);
  if (status == TC_OK) status = tc_sched_launch(&s);
  if (status == TC_OK) status = tc_sched_tile(&s);
  if (status == TC_OK) status = tc_sched_plan(&s);
  if (status == TC_OK) *out = s.list;
  return status;
}
