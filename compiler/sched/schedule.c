/* Scheduling on one screen: splitting, layout, anchors, common dims, fusion, kernels, tiles, memory plan.
 *
 * Takes loops (lower/), gives a launch list that satisfies tc_kernel_verify for each of its kernels. */
#include "sched/schedule.h"

tc_status tc_sched_nomem(struct tc_sched *s) {
  return tc_fail(s->err, TC_NOMEM, "schedule", "out of memory, or a size that overflows");
}

unsigned tc_walk_begin(struct tc_sched *s) {
  while (s->walked.len < (size_t)tc_expr_count(s->loops->exprs))
    if (!tc_vec_push(s->alloc, &s->walked, 0)) return 0;
  return ++s->walks;
}

int tc_sched_sizes(const struct tc_sched *s) {
  int n = 0;
  for (size_t i = 0; i < s->g->inputs.len; i++) {
    const struct tc_meta *meta = &s->g->inputs.data[i]->meta;
    for (int d = 0; d < meta->ndim; d++)
      if (tc_sym_kind(meta->sizes[d]) == TC_SYM_SIZE && tc_sym_id(meta->sizes[d]) >= n) n = tc_sym_id(meta->sizes[d]) + 1;
  }
  return n;
}

tc_status tc_schedule(struct tc_graph *g, struct tc_loops *loops, const struct tc_target *target, const struct tc_config *config,
                      struct tc_launch_list **out, struct tc_error *err) {
  struct tc_sched s = {.g = g, .loops = loops, .tab = g->tab, .alloc = tc_arena_alloc(g->arena), .target = target, .config = config, .err = err};
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
