/* The finished kernel: a draft's values in an expression table of their own, grouped into phases.
 *
 * 1. Ids are dense and in order of first use, so equal clusters give kernels that are equal node by node.
 * 2. Every address is the one that domain.c decided. */
#include "sched/draft.h"

struct finisher {
  struct tc_draft *d;
  struct tc_expr_table *table;
  const struct tc_expr **memos, **memo; /* of all copies, one behind the other; of the copy */
  int copy;                             /* the copy of the body that is under way (jam.c) */
};

static tc_sym address_of(const struct finisher *f, tc_sym built) {
  return tc_draft_copy_address(f->d, tc_draft_address(f->d, built), f->copy);
}

static const struct tc_expr *finish_expr(struct finisher *f, const struct tc_expr *e) {
  struct tc_expr copy = *e;
  for (int i = 0; i < TC_EXPR_ARGS; i++)
    if (e->args[i]) copy.args[i] = f->memo[e->args[i]->id];
  if (tc_sym_valid(e->address) && e->op != TC_E_CHECK) {
    copy.address = address_of(f, e->address);
    if (!tc_sym_valid(copy.address)) return NULL;
  }
  if (e->op == TC_E_ACC) copy.acc += f->copy * f->d->n_accs;
  return tc_expr_make(f->table, &copy);
}

static const struct tc_expr *finish_value(struct finisher *f, const struct tc_expr *value) {
  struct tc_walk *walk = &f->d->walk;
  if (f->memo[value->id]) return f->memo[value->id];
  if (!tc_walk_begin(walk, TC_WALK_POST, tc_expr_count(f->d->table)) || !tc_walk_from(walk, value))
    return NULL;
  for (const struct tc_expr *e; (e = tc_walk_next(walk));)
    if (!f->memo[e->id] && !(f->memo[e->id] = finish_expr(f, e))) return NULL;
  return walk->failed ? NULL : f->memo[value->id];
}

static bool add_item(struct finisher *f, struct tc_phase *phase, const struct tc_draft_item *item) {
  const struct tc_expr *value = finish_value(f, item->value);
  const tc_sym address = tc_sym_valid(item->address) ? address_of(f, item->address) : TC_SYM_INVALID;
  const int acc = item->acc + f->copy * f->d->n_accs;
  if (item->reduction)
    phase->reductions[phase->n_reductions++] = (struct tc_kernel_reduction){item->op, acc, value, address};
  else
    phase->stores[phase->n_stores++] = (struct tc_kernel_store){item->buffer, address, value};
  return value && (tc_sym_valid(address) || !tc_sym_valid(item->address));
}

static bool belongs(const struct tc_draft *d, const struct tc_draft_item *item, int pass) {
  const bool row = pass == d->n_passes;
  return item->row == row && (row || item->pass == pass);
}

/* The items of a pass in one copy. */
static bool fill_copy(struct finisher *f, int pass, int copy, struct tc_phase *phase) {
  const struct tc_draft *d = f->d;
  f->copy = copy;
  f->memo = f->memos + (size_t)copy * (size_t)tc_expr_count(d->table);
  for (size_t i = 0; i < d->items.len; i++) {
    const struct tc_draft_item *item = &d->items.data[i];
    if (belongs(d, item, pass) && !add_item(f, phase, item)) return false;
  }
  return true;
}

/* Items of one pass (or, past the last, those of the row). */
static bool fill_phase(struct finisher *f, int pass, struct tc_phase *phase) {
  const struct tc_draft *d = f->d;
  const bool row = pass == d->n_passes;
  phase->over_inner = !row && d->n_inner > 0;
  int n[2] = {0, 0}; /* stores, reductions */
  for (size_t i = 0; i < d->items.len; i++)
    n[d->items.data[i].reduction] += belongs(d, &d->items.data[i], pass);
  phase->reductions = TC_NEW_ARRAY(d->s->alloc, struct tc_kernel_reduction, (size_t)(n[1] * d->copies) + 1);
  phase->stores = TC_NEW_ARRAY(d->s->alloc, struct tc_kernel_store, (size_t)(n[0] * d->copies) + 1);
  if (!phase->reductions || !phase->stores) return false;
  for (int copy = 0; copy < d->copies; copy++)
    if (!fill_copy(f, pass, copy, phase)) return false;
  return true;
}

/* The items in a part of the dim that is split. */
static bool fill_split(struct finisher *f, const struct tc_index_split *split, struct tc_phase *phase) {
  const struct tc_draft *d = f->d;
  *phase = (struct tc_phase){.over_inner = d->n_inner > 0,
                             .var = d->split_var,
                             .from = split->from,
                             .to = split->to,
                             .n_turns = split->n_turns,
                             .n_columns = split->n_columns,
                             .columns = split->columns,
                             .table = split->table};
  phase->stores = TC_NEW_ARRAY(d->s->alloc, struct tc_kernel_store, d->items.len + 1);
  if (!phase->stores) return false;
  f->memo = f->memos;
  for (size_t i = 0; i < d->items.len; i++) {
    struct tc_draft_item item = d->items.data[i];
    item.value = split->values[i];
    if (!add_item(f, phase, &item)) return false;
  }
  return true;
}

tc_status tc_draft_finish(struct tc_draft *d, struct tc_kernel **out) {
  struct tc_sched *s = d->s;
  struct tc_kernel *k = TC_NEW(s->alloc, struct tc_kernel);
  struct finisher f = {.d = d, .table = tc_expr_table_new(s->loops->arena)};
  f.memos = TC_NEW_ARRAY(d->scratch, const struct tc_expr *,
                         (size_t)tc_expr_count(d->table) * (size_t)d->copies + 1);
  if (!k || !f.table || !f.memos) return tc_sched_failed(s);
  tc_expr_table_share(f.table, s->loops->exprs);
  if (d->buffers.len > TC_MAX_KERNEL_BUFFERS)
    return tc_fail(s->err, TC_LIMIT, "schedule", "a kernel needs %zu buffers, and %d are the most",
                   d->buffers.len, TC_MAX_KERNEL_BUFFERS);
  k->n_buffers = (int)d->buffers.len;
  k->n_outer = d->n_outer;
  k->n_inner = d->n_inner;
  k->n_phases = d->n_splits ? d->n_splits : d->n_passes + d->has_row;
  k->n_accs = d->n_accs * d->copies;
  k->product = d->product != TC_PRODUCT_library;
  k->n_sizes = tc_sched_sizes(s);
  k->lanes = d->lanes;
  k->split_inner = d->split_inner;
  k->block = d->block;
  k->buffers = TC_NEW_ARRAY(s->alloc, struct tc_kernel_buffer, d->buffers.len + 1);
  k->outer = TC_NEW_ARRAY(s->alloc, struct tc_kernel_dim, (size_t)d->n_outer + 1);
  k->inner = TC_NEW_ARRAY(s->alloc, struct tc_kernel_dim, (size_t)d->n_inner + 1);
  k->phases = TC_NEW_ARRAY(s->alloc, struct tc_phase, (size_t)k->n_phases + 1);
  if (!k->buffers || !k->outer || !k->inner || !k->phases) return tc_sched_failed(s);
  for (int i = 0; i < k->n_buffers; i++)
    k->buffers[i] = (struct tc_kernel_buffer){d->buffers.data[i].dtype, d->buffers.data[i].role,
                                              d->buffers.data[i].elements, false};
  for (int i = 0; i < d->n_outer; i++) k->outer[i] = d->outer[i];
  for (int i = 0; i < d->n_inner; i++) k->inner[i] = d->inner[i];
  for (int i = 0; i < k->n_phases; i++)
    if (!(d->n_splits ? fill_split(&f, &d->splits[i], &k->phases[i]) : fill_phase(&f, i, &k->phases[i])))
      return tc_sched_failed(s);
  k->n_exprs = tc_expr_count(f.table);
  *out = k;
  return tc_kernel_measure(s, k);
}

int64_t tc_phase_reach(const struct tc_phase *phase) {
  int64_t reach = 0;
  for (int t = 0; t < phase->n_turns; t++)
    reach += phase->table[t * phase->n_columns + 1] - phase->table[t * phase->n_columns];
  return phase->n_turns ? reach : tc_sym_hint(phase->to) - tc_sym_hint(phase->from);
}

tc_sym tc_kernel_items(struct tc_symtab *tab, const struct tc_kernel *k) {
  if (k->split_inner) return k->inner[0].extent;
  tc_sym items = tc_sym_const(1);
  for (int i = 0; i < k->n_outer; i++) {
    tc_sym extent = k->outer[i].extent;
    const bool blocked = k->lanes == TC_LANES_OUTER && i == k->n_outer - 1;
    if (blocked)
      extent = tc_sym_div(tab, tc_sym_add(tab, extent, tc_sym_const(k->block - 1)), tc_sym_const(k->block));
    items = tc_sym_mul(tab, items, extent);
  }
  return items;
}
