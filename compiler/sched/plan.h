/* The memory plan in the making. Private to sched/: place.c places, depends.c finds what waits for what. */
#ifndef TC_SCHED_PLAN_H
#define TC_SCHED_PLAN_H

#include "sched/schedule.h"

/* Values that share one offset, in turn. */
struct tc_block {
  int tiles, first, last;
  tc_sym bytes, offset;
  int64_t size, at;
  bool placed;
  int life;
}; /* tiles: -1 in the pool; life: place.c */

struct tc_planner {
  struct tc_sched *s;
  int n;             /* slots */
  int *first, *last; /* by slot: entries of its life; first -1: never written */
  int *block_of;     /* by slot; -1 */
  struct tc_block *blocks;
  int n_blocks;
};

/* overwrite.c: may the kernel's buffer `written` be the memory of its buffer `read`, which dies with it?
 * (Where memory for the question is out: no.) */
bool tc_kernel_can_overwrite(struct tc_sched *s, const struct tc_kernel *k, int read, int written);
/* place.c: offsets of the blocks, bytes of the pool and of tiles; false when memory is out. */
bool tc_plan_place(struct tc_planner *p);
/* depends.c: each entry's `depends`; false when memory is out. */
bool tc_plan_depends(struct tc_planner *p);

#endif
