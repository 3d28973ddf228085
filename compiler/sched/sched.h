/* Scheduling: loops are fused into kernels, memory is planned, and a launch list comes out.
 *
 * Fusion is legal where dependences allow one iteration space, and chosen by bytes saved; limits come
 * from config.def. `target` decides vector width, cache sizes, and which outputs are streamed.
 * Everything lies in the arena of the graph that was lowered. */
#ifndef TC_SCHED_SCHED_H
#define TC_SCHED_SCHED_H

#include "base/config.h"
#include "base/target.h"
#include "lower/lower.h"
#include "sched/launch.h"

/* Enters the cache key: changes whenever the same graph may become other kernels (here, in lower/ or in
 * decomp/). */
enum { TC_SCHED_VERSION = 8 };

tc_status tc_schedule(struct tc_graph *g, struct tc_loops *loops, const struct tc_target *target,
                      const struct tc_config *config, struct tc_launch_list **out, struct tc_error *err);

#endif
