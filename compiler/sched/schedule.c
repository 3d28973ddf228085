/* Scheduling on one screen: splitting, layout, anchors, common dims, fusion, kernels, tiles, memory plan.
 *
 * Takes loops (lower/), gives a launch list that satisfies tc_kernel_verify for each of its kernels. */
#include "sched/schedule.h"

#include <stdio.h>

tc_status tc_sched_failed(struct tc_sched *s) {
  if (tc_arena_failed(s->loops->arena) || (s->scratch && tc_arena_failed(s->scratch)))
    return tc_fail_memory(s->err, "schedule");
  return tc_fail(s->err, TC_LIMIT, "schedule",
                 "sizes or addresses that 62 bits do not hold, or too large a formula of them");
}

int tc_sched_sizes(const struct tc_sched *s) { return tc_symtab_sizes(s->tab); }

/* "relu (v4, line 7)" */
static void name_loop(const struct tc_loop *loop, char *out, size_t size) {
  const struct tc_node *node = loop->node;
  if (!node)
    snprintf(out, size, "loop %d", loop->id);
  else if (node->line)
    snprintf(out, size, "%s (v%d, line %d)", tc_op_row(node->op)->name, node->id, node->line);
  else
    snprintf(out, size, "%s (v%d)", tc_op_row(node->op)->name, node->id);
}

bool tc_sched_may(struct tc_sched *s, enum tc_fuel_kind kind, const struct tc_loop *loop, const char *does,
                  const struct tc_loop *with) {
  enum { NAME_BYTES = 64 };
  char first[NAME_BYTES], second[NAME_BYTES] = "";
  if (s->making && s->making->plain) return false;
  if (!tc_fuel_spend(s->loops->fuel, kind)) return false;
  if (!tc_fuel_ended(s->loops->fuel, kind)) return true;
  if (!loop) loop = tc_loop_at(s, s->making->members.data[s->making->members.len - 1]);
  name_loop(loop, first, sizeof first);
  if (with) name_loop(with, second, sizeof second);
  tc_fuel_tell(s->loops->fuel, kind, "%s%s%s%s%s", first, *does ? " " : "", does, with ? " " : "", second);
  return true;
}

tc_status tc_schedule(struct tc_graph *g, struct tc_loops *loops, const struct tc_target *target,
                      const struct tc_config *config, struct tc_launch_list **out, struct tc_error *err) {
  struct tc_sched s = {.g = g,
                       .loops = loops,
                       .tab = g->tab,
                       .alloc = tc_arena_alloc(g->arena),
                       .target = target,
                       .config = config,
                       .err = err};
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
  if (status == TC_OK) s.list->fuel = loops->fuel, *out = s.list;
  return status;
}
