/* May a kernel write over one of its inputs, element by element?
 *
 * Where every load of the input has exactly the store's address and comes no later: a generator computes all
 * values of a point before it stores them. */
#include "sched/plan.h"

/* The one store to a buffer and its phase; NULL when there are several. */
static const struct tc_kernel_store *only_store(const struct tc_kernel *k, int buffer, int *phase) {
  const struct tc_kernel_store *found = NULL;
  for (int p = 0; p < k->n_phases; p++)
    for (int i = 0; i < k->phases[p].n_stores; i++) {
      if (k->phases[p].stores[i].buffer != buffer) continue;
      if (found) return NULL;
      found = &k->phases[p].stores[i];
      *phase = p;
    }
  return found;
}

/* Do all values from `phase` on load the buffer at `address` only, or (INVALID) not at all? */
static bool loads_only_at(struct tc_sched *s, const struct tc_kernel *k, int phase, int buffer,
                          tc_sym address) {
  struct tc_walk *walk = &s->walk;
  if (!tc_walk_begin(walk, TC_WALK_PRE, k->n_exprs)) return false;
  for (; phase < k->n_phases; phase++) {
    const struct tc_phase *p = &k->phases[phase];
    for (int i = 0; i < p->n_reductions; i++)
      if (!tc_walk_from(walk, p->reductions[i].value)) return false;
    for (int i = 0; i < p->n_stores; i++)
      if (!tc_walk_from(walk, p->stores[i].value)) return false;
  }
  for (const struct tc_expr *e; (e = tc_walk_next(walk));)
    if (e->op == TC_E_LOAD && e->buffer == buffer && (e->args[0] || !tc_sym_same(e->address, address)))
      return false;
  return !walk->failed;
}

bool tc_kernel_can_overwrite(struct tc_sched *s, const struct tc_kernel *k, int read, int written) {
  int phase = 0;
  const struct tc_kernel_store *store = only_store(k, written, &phase);
  if (!store || k->buffers[read].role != TC_ROLE_READ || k->buffers[written].role != TC_ROLE_WRITE)
    return false;
  if (tc_dtype_bytes(k->buffers[read].dtype) != tc_dtype_bytes(k->buffers[written].dtype)) return false;
  return loads_only_at(s, k, 0, read, store->address) && loads_only_at(s, k, phase + 1, read, TC_SYM_INVALID);
}
