/* The specification of a kernel, checked:
 *
 * 1. Ids are dense below n_exprs; an operand's id is smaller than its user's; operands are there.
 * 2. Addresses use the kernel's own variables alone; in a phase that runs once an item, outer ones alone.
 * 3. Loads name buffers that are read, stores such that are written; stores are never of a READ buffer.
 * 4. An ACC is used only after the phase that makes it; each is made once.
 * 5. A phase of a part names one of the dims (an inner one only if it runs over them), and reduces nothing;
 *    its bounds, and each row of its table, are in order.
 * 6. Lanes: OUTER has an outer dim; split_inner has no outer dim, one inner dim, and no reduction. */
#include "sched/kernel.h"

#include <string.h>

#include "base/alloc.h"

struct verifier {
  const struct tc_kernel *k;
  struct tc_error *err;
  const struct tc_phase *phase;
  bool acc_ready[TC_MAX_KERNEL_BUFFERS * 2];
  bool *checked; /* by expression: in this phase */
};

static tc_status bad(struct verifier *v, const char *what) {
  return tc_fail(v->err, TC_VERIFY, "schedule", "kernel %s: %s", v->k->name ? v->k->name : "?", what);
}

static bool is_var(const struct verifier *v, tc_sym s, bool inner_allowed) {
  for (int i = 0; i < v->k->n_outer; i++)
    if (tc_sym_same(v->k->outer[i].var, s)) return true;
  for (int i = 0; i < v->k->n_inner && inner_allowed; i++)
    if (tc_sym_same(v->k->inner[i].var, s)) return true;
  for (int c = 0; c < v->phase->n_columns; c++)
    if (tc_sym_same(v->phase->columns[c], s)) return true;
  return false;
}

static bool sym_ok(const struct verifier *v, tc_sym s) {
  if (!tc_sym_valid(s)) return false;
  if (tc_sym_is_const(s) || tc_sym_kind(s) == TC_SYM_SIZE) return true;
  if (tc_sym_kind(s) == TC_SYM_INDEX) return is_var(v, s, v->phase->over_inner);
  return sym_ok(v, tc_sym_left(s)) && sym_ok(v, tc_sym_right(s));
}

static tc_status check_load(struct verifier *v, const struct tc_expr *e) {
  if (e->buffer < 0 || e->buffer >= v->k->n_buffers) return bad(v, "a load of no buffer");
  const struct tc_kernel_buffer *b = &v->k->buffers[e->buffer];
  if (b->role != TC_ROLE_READ && b->role != TC_ROLE_READ_WRITE && b->role != TC_ROLE_SCRATCH)
    return bad(v, "a load of a buffer that is not read");
  if (e->dtype != tc_compute_dtype(b->dtype)) return bad(v, "a load with another dtype than its buffer's");
  if (e->args[0] && e->args[0]->dtype != TC_I64) return bad(v, "an offset that is no integer");
  if (e->args[1] && e->args[1]->dtype != TC_BOOL) return bad(v, "a predicate that is no mask");
  return TC_OK;
}

static tc_status check_expr(struct verifier *v, const struct tc_expr *e) {
  if (e->id < 0 || e->id >= v->k->n_exprs) return bad(v, "an expression id outside of the kernel's");
  if (v->checked[e->id]) return TC_OK;
  v->checked[e->id] = true;
  for (int i = 0; i < TC_EXPR_ARGS; i++) {
    if (!e->args[i]) {
      if (e->op != TC_E_LOAD && i < tc_expr_arity(e->op)) return bad(v, "a missing operand");
      continue;
    }
    if (e->args[i]->id >= e->id) return bad(v, "an operand that comes after its user");
    const tc_status status = check_expr(v, e->args[i]);
    if (status != TC_OK) return status;
  }
  if (e->op == TC_E_ACC && (e->acc < 0 || e->acc >= v->k->n_accs || !v->acc_ready[e->acc]))
    return bad(v, "a reduction's result before its phase");
  if (tc_sym_valid(e->address) && e->op != TC_E_CONST && !sym_ok(v, e->address))
    return bad(v, "an address over variables that do not run here");
  return e->op == TC_E_LOAD ? check_load(v, e) : TC_OK;
}

static tc_status check_store(struct verifier *v, const struct tc_kernel_store *store) {
  if (store->buffer < 0 || store->buffer >= v->k->n_buffers) return bad(v, "a store to no buffer");
  const enum tc_buffer_role role = v->k->buffers[store->buffer].role;
  if (role != TC_ROLE_WRITE && role != TC_ROLE_READ_WRITE && role != TC_ROLE_SCRATCH)
    return bad(v, "a store to a buffer that is not written");
  if (!sym_ok(v, store->address)) return bad(v, "a store over variables that do not run here");
  return check_expr(v, store->value);
}

static bool is_dim(const struct verifier *v, tc_sym s) {
  for (int i = 0; i < v->k->n_outer; i++)
    if (tc_sym_same(v->k->outer[i].var, s)) return true;
  for (int i = 0; i < v->k->n_inner && v->phase->over_inner; i++)
    if (tc_sym_same(v->k->inner[i].var, s)) return true;
  return false;
}

static tc_status check_part(struct verifier *v, const struct tc_phase *phase) {
  if (!tc_sym_valid(phase->var))
    return phase->n_turns || phase->n_columns ? bad(v, "turns of a phase that is no part's") : TC_OK;
  if (!is_dim(v, phase->var) || phase->n_reductions) return bad(v, "a part of no dim, or one that reduces");
  if (!sym_ok(v, phase->from) || !sym_ok(v, phase->to))
    return bad(v, "a part with a bound over variables that do not run here");
  if (!phase->n_turns) return phase->n_columns ? bad(v, "columns without a table") : TC_OK;
  if (phase->n_columns < 2 || phase->n_columns > TC_MAX_COLUMNS)
    return bad(v, "a table without bounds, or too wide");
  if (!tc_sym_same(phase->from, phase->columns[0]) || !tc_sym_same(phase->to, phase->columns[1]))
    return bad(v, "bounds that are not the table's first columns");
  int64_t end = 0;
  for (int t = 0; t < phase->n_turns; t++) {
    const int64_t *row = phase->table + t * phase->n_columns;
    if (row[0] < end || row[1] < row[0]) return bad(v, "parts that are not in order");
    end = row[1];
  }
  return TC_OK;
}

static tc_status check_phase(struct verifier *v, const struct tc_phase *phase) {
  v->phase = phase;
  tc_status status = check_part(v, phase);
  memset(v->checked, 0, (size_t)v->k->n_exprs * sizeof *v->checked);
  if (phase->n_reductions && !phase->over_inner)
    return bad(v, "a reduction in a phase that runs once an item");
  for (int i = 0; i < phase->n_reductions && status == TC_OK; i++)
    status = check_expr(v, phase->reductions[i].value);
  for (int i = 0; i < phase->n_stores && status == TC_OK; i++) status = check_store(v, &phase->stores[i]);
  for (int i = 0; i < phase->n_reductions && status == TC_OK; i++) {
    const int acc = phase->reductions[i].acc;
    if (acc < 0 || acc >= v->k->n_accs || v->acc_ready[acc])
      return bad(v, "a reduction result that is made twice or not numbered");
    v->acc_ready[acc] = true;
  }
  return status;
}

tc_status tc_kernel_verify(const struct tc_kernel *k, struct tc_error *err) {
  struct verifier v = {.k = k, .err = err};
  if (k->n_buffers > TC_MAX_KERNEL_BUFFERS || k->n_outer > TC_MAX_KERNEL_DIMS ||
      k->n_inner > TC_MAX_KERNEL_DIMS || (size_t)k->n_accs > sizeof v.acc_ready)
    return bad(&v, "more buffers, loops or reductions than the limits allow");
  if (k->lanes == TC_LANES_OUTER && (!k->n_outer || k->block < 1))
    return bad(&v, "outer lanes without an outer loop");
  if (k->split_inner && (k->n_outer || k->n_inner != 1 || k->n_accs))
    return bad(&v, "elements as items, but with rows or reductions");
  const struct tc_alloc *alloc = tc_alloc_system();
  v.checked = TC_NEW_ARRAY(alloc, bool, (size_t)k->n_exprs + 1);
  if (!v.checked) return tc_fail_memory(err, "schedule");
  tc_status status = TC_OK;
  for (int i = 0; i < k->n_phases && status == TC_OK; i++) status = check_phase(&v, &k->phases[i]);
  TC_FREE_ARRAY(alloc, v.checked, (size_t)k->n_exprs + 1);
  return status;
}
