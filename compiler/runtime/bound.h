/* A launch list at given sizes: the same entries, with a constant for each symbol.
 *
 * What runs a list evaluates its symbols again and again; at constants that costs nothing. So a list with
 * size variables is bound whenever the sizes change, and run as bound. Binding checks everything that reading
 * an artifact checks of constants (what is touched lies within its memory), and that no size overflows.
 * Private to runtime/. */
#ifndef TC_RUNTIME_BOUND_H
#define TC_RUNTIME_BOUND_H

#include "base/arena.h"
#include "sched/launch.h"

/* A copy of a list with size variables, to be filled; NULL when memory is out. What has no symbol is
 * shared. */
struct tc_launch_list *tc_bound_new(struct tc_arena *arena, const struct tc_launch_list *list);
/* Fills the copy. TC_LIMIT: a size is out of range or overflows; TC_SHAPE: a fact of the list does not
 * hold. */
tc_status tc_bound_fill(struct tc_launch_list *bound, const struct tc_launch_list *list, const int64_t *sizes,
                        struct tc_error *err);
/* Do all facts hold of these sizes? */
bool tc_facts_hold(const struct tc_sym_fact *facts, int count, const int64_t *sizes);

#endif
