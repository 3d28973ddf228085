/* Values that several passes over a row need: recompute, or keep.
 *
 * 1. Recomputing is the rule: the loads are then in the first cache. A value is kept where that is dear
 *    (a transcendental function), in a scratch row that the thread reuses from item to item.
 * 2. A value that an earlier pass stores anyway, unrounded, is read back from there.
 * 3. Only where vectors lie along the row; addresses of scratch rows are dense. */
#include "sched/draft.h"

#include <stdio.h>

enum {
  KEEP_COST = 10,     /* worth a store and a load of a scratch row */
  READ_BACK_COST = 5, /* worth a load of what is stored anyway */
  SCRATCH_SHARE = 4,  /* a scratch row takes at most this part of the second-level cache */
  MAX_PASSES = 30,
  COST_LIMIT = 1000
};

struct keeper {
  struct tc_draft *d;
  int n;                       /* expressions when keeping began */
  uint32_t *passes;            /* by expression: passes that need it */
  int *cost;                   /* by expression */
  bool *varies;                /* by expression */
  const struct tc_expr **kept; /* by expression: the load that replaces it in later passes */
  const struct tc_expr **memo; /* of the pass that is rewritten */
  bool *met;                   /* by expression: met in that pass, and computed there */
  TC_VEC(const struct tc_expr *) waiting;
  tc_sym row, row_elements; /* dense position in the row */
};

/* What a later stage reads is needed in the value's own stage as well. */
static bool mark_borders(struct keeper *k) {
  const int *stage_of = k->d->stage_of;
  if (!stage_of) return true;
  if (!tc_draft_walk(k->d, TC_WALK_PRE)) return false;
  for (const struct tc_expr *e; (e = tc_walk_next(&k->d->walk));)
    for (int i = 0; i < TC_EXPR_ARGS; i++)
      if (e->args[i] && stage_of[e->args[i]->id] < stage_of[e->id])
        k->passes[e->args[i]->id] |= 1u << stage_of[e->args[i]->id];
  return !k->d->walk.failed;
}

static void find_cost(struct keeper *k, const struct tc_expr *e) {
  int cost = tc_expr_cost(e->op);
  for (int i = 0; i < TC_EXPR_ARGS && cost < COST_LIMIT; i++)
    if (e->args[i]) cost += k->cost[e->args[i]->id];
  k->cost[e->id] = cost;
}

/* Does the value change along the row? */
static void find_varies(struct keeper *k, const struct tc_expr *e) {
  bool answer = false;
  const tc_sym at = tc_sym_valid(e->address) ? tc_draft_address(k->d, e->address) : tc_sym_const(0);
  for (int i = 0; i < k->d->n_inner && !answer; i++) answer = tc_sym_uses(at, k->d->inner[i].var);
  for (int i = 0; i < TC_EXPR_ARGS && !answer; i++) answer = e->args[i] && k->varies[e->args[i]->id];
  k->varies[e->id] = answer;
}

/* The full store of exactly this value in a pass before `pass`, or NULL. */
static const struct tc_draft_item *stored_before(const struct keeper *k, const struct tc_expr *e, int pass) {
  for (size_t i = 0; i < k->d->items.len; i++) {
    const struct tc_draft_item *item = &k->d->items.data[i];
    if (!item->reduction && !item->row && item->built == e && item->pass < pass &&
        k->d->buffers.data[item->buffer].dtype == e->dtype)
      return item;
  }
  return NULL;
}

static const struct tc_expr *load_of(struct keeper *k, const struct tc_expr *e, int buffer, tc_sym address) {
  const struct tc_expr load = {.op = TC_E_LOAD, .dtype = e->dtype, .buffer = buffer, .address = address};
  return tc_expr_make(k->d->table, &load);
}

static const struct tc_expr *keep_in_scratch(struct keeper *k, const struct tc_expr *e, int first_pass) {
  struct tc_draft *d = k->d;
  const struct tc_draft_buffer scratch = {-1, e->dtype, TC_ROLE_SCRATCH, k->row_elements};
  struct tc_draft_item store = {
      .acc = -1, .pass = first_pass, .buffer = (int)d->buffers.len, .address = k->row, .value = e};
  if (!tc_vec_push(d->scratch, &d->buffers, scratch) || !tc_vec_push(d->scratch, &d->items, store))
    return NULL;
  return load_of(k, e, store.buffer, k->row);
}

static bool fits_scratch(const struct keeper *k, const struct tc_expr *e) {
  const int64_t bytes = tc_sym_hint(k->row_elements) * tc_dtype_bytes(e->dtype);
  return bytes <= k->d->s->target->l2_bytes / SCRATCH_SHARE && k->d->buffers.len < TC_MAX_KERNEL_BUFFERS;
}

static int lowest(uint32_t bits) { return __builtin_ctz(bits); }

static bool may_keep(const struct keeper *k, const struct tc_expr *e) {
  enum { TEXT_BYTES = 64 };
  char text[TEXT_BYTES];
  snprintf(text, sizeof text, "and what is in its kernel, where %s is kept", tc_expr_op_name(e->op));
  return tc_sched_may(k->d->s, TC_FUEL_keep, NULL, text, NULL);
}

/* Decides whether the value is kept for `pass` and those after it; false when memory is out. */
static bool decide(struct keeper *k, const struct tc_expr *e, int pass) {
  const bool earlier = k->passes[e->id] & ((1u << pass) - 1),
             computed = e->op != TC_E_LOAD && e->op != TC_E_CONST;
  if (earlier && computed && !k->kept[e->id] && k->cost[e->id] >= READ_BACK_COST && k->varies[e->id]) {
    const struct tc_draft_item *store = stored_before(k, e, pass);
    const bool keeps = (store || (k->cost[e->id] >= KEEP_COST && fits_scratch(k, e))) && may_keep(k, e);
    if (keeps && store) {
      k->d->buffers.data[store->buffer].role = TC_ROLE_READ_WRITE;
      k->kept[e->id] = load_of(k, e, store->buffer, store->address);
    } else if (keeps)
      k->kept[e->id] = keep_in_scratch(k, e, lowest(k->passes[e->id]));
    else
      k->kept[e->id] = e;
    if (!k->kept[e->id]) return false;
  }
  if (earlier && k->kept[e->id] && k->kept[e->id] != e) k->memo[e->id] = k->kept[e->id];
  return true;
}

/* Users before what they use: below a value that is kept, nothing is needed for its sake. */
static bool decide_below(struct keeper *k, const struct tc_expr *root, int pass) {
  k->waiting.len = 0;
  if (!tc_vec_push(k->d->scratch, &k->waiting, root)) return false;
  while (k->waiting.len) {
    const struct tc_expr *e = k->waiting.data[--k->waiting.len];
    if (e->id >= k->n || k->memo[e->id] || k->met[e->id]) continue;
    k->met[e->id] = true;
    if (!decide(k, e, pass)) return false;
    for (int i = TC_EXPR_ARGS - 1; !k->memo[e->id] && i >= 0; i--)
      if (e->args[i] && !tc_vec_push(k->d->scratch, &k->waiting, e->args[i])) return false;
  }
  return true;
}

static const struct tc_expr *rewritten(const struct keeper *k, const struct tc_expr *e) {
  return e->id >= k->n ? e : k->memo[e->id];
}

static const struct tc_expr *rebuild(struct keeper *k, const struct tc_expr *e) {
  struct tc_expr copy = *e;
  bool same = true;
  for (int i = 0; i < TC_EXPR_ARGS; i++) {
    if (!e->args[i]) continue;
    copy.args[i] = rewritten(k, e->args[i]);
    same = same && copy.args[i] == e->args[i];
  }
  return same ? e : tc_expr_make(k->d->table, &copy);
}

/* What stands for `root` in `pass`; NULL when memory is out. */
static const struct tc_expr *rewrite(struct keeper *k, const struct tc_expr *root, int pass) {
  struct tc_walk *walk = &k->d->walk;
  if (!decide_below(k, root, pass)) return NULL;
  if (rewritten(k, root)) return rewritten(k, root);
  if (!tc_walk_begin(walk, TC_WALK_POST, tc_expr_count(k->d->table)) || !tc_walk_from(walk, root))
    return NULL;
  for (const struct tc_expr *e; (e = tc_walk_next(walk));)
    if (e->id < k->n && k->met[e->id] && !k->memo[e->id] && !(k->memo[e->id] = rebuild(k, e))) return NULL;
  return walk->failed ? NULL : k->memo[root->id];
}

/* A pass begins with nothing rewritten. */
static bool forget(struct keeper *k) {
  k->memo = TC_NEW_ARRAY(k->d->scratch, const struct tc_expr *, (size_t)k->n);
  k->met = TC_NEW_ARRAY(k->d->scratch, bool, (size_t)k->n);
  return k->memo && k->met;
}

static bool rewrite_pass(struct keeper *k, int pass) {
  if (!forget(k)) return false;
  const size_t n =
      k->d->items.len; /* scratch stores that are added belong to earlier passes, and are rewritten already */
  for (size_t i = 0; i < n; i++) {
    const struct tc_expr *value = k->d->items.data[i].value;
    if (k->d->items.data[i].row || k->d->items.data[i].pass != pass) continue;
    if (!(value = rewrite(k, value, pass))) return false;
    k->d->items.data[i].value = value;
  }
  return true;
}

/* A scratch store holds the value as its own pass computes it. */
static bool rewrite_scratch_values(struct keeper *k, size_t first) {
  for (size_t i = first; i < k->d->items.len; i++) {
    struct tc_draft_item *item = &k->d->items.data[i];
    const struct tc_expr *value = forget(k) ? rewrite(k, item->value, item->pass) : NULL;
    if (!value) return false;
    item->value = value;
  }
  return true;
}

tc_status tc_draft_keep(struct tc_draft *d) {
  if (d->lanes != TC_LANES_INNER || d->n_passes < 2 || d->n_passes > MAX_PASSES) return TC_OK;
  struct keeper k = {
      .d = d, .n = tc_expr_count(d->table), .row = tc_sym_const(0), .row_elements = tc_sym_const(1)};
  k.passes = TC_NEW_ARRAY(d->scratch, uint32_t, (size_t)k.n);
  k.cost = TC_NEW_ARRAY(d->scratch, int, (size_t)k.n);
  k.varies = TC_NEW_ARRAY(d->scratch, bool, (size_t)k.n);
  k.kept = TC_NEW_ARRAY(d->scratch, const struct tc_expr *, (size_t)k.n);
  if (!k.passes || !k.cost || !k.varies || !k.kept) return tc_sched_failed(d->s);
  for (int id = 0; id < k.n; id++) {
    find_cost(&k, tc_expr_at(d->table, id));
    find_varies(&k, tc_expr_at(d->table, id));
  }
  for (int i = 0; i < d->n_inner; i++) {
    k.row = tc_sym_add(d->s->tab, tc_sym_mul(d->s->tab, k.row, d->inner[i].extent), d->inner[i].var);
    k.row_elements = tc_sym_mul(d->s->tab, k.row_elements, d->inner[i].extent);
  }
  for (size_t i = 0; i < d->items.len; i++) d->items.data[i].built = d->items.data[i].value;
  /* What a pass needs, it needs with all operands. */
  for (size_t i = 0; i < d->items.len; i++)
    if (!d->items.data[i].row) k.passes[d->items.data[i].value->id] |= 1u << d->items.data[i].pass;
  for (int id = k.n - 1; id >= 0; id--) {
    const struct tc_expr *e = tc_expr_at(d->table, id);
    for (int i = 0; i < TC_EXPR_ARGS; i++)
      if (e->args[i]) k.passes[e->args[i]->id] |= k.passes[id];
  }
  if (!mark_borders(&k)) return tc_sched_failed(d->s);
  const size_t first_scratch = d->items.len;
  for (int pass = 1; pass < d->n_passes; pass++)
    if (!rewrite_pass(&k, pass)) return tc_sched_failed(d->s);
  return rewrite_scratch_values(&k, first_scratch) ? TC_OK : tc_sched_failed(d->s);
}
