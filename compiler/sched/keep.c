/* Values that several passes over a row need: recompute, or keep.
 *
 * 1. Recomputing is the rule: the loads are then in the first cache. A value is kept where that is dear
 *    (a transcendental function), in a scratch row that the thread reuses from item to item.
 * 2. A value that an earlier pass stores anyway, unrounded, is read back from there.
 * 3. Only where vectors lie along the row; addresses of scratch rows are dense. */
#include "sched/draft.h"

enum { KEEP_COST = 10,      /* worth a store and a load of a scratch row */
       READ_BACK_COST = 5,  /* worth a load of what is stored anyway */
       SCRATCH_SHARE = 4,   /* a scratch row takes at most this part of the second-level cache */
       MAX_PASSES = 30, COST_LIMIT = 1000 };

enum answer { UNKNOWN, NO, YES };

struct keeper {
  struct tc_draft *d;
  int n;                        /* expressions when keeping began */
  uint32_t *passes;             /* by expression: passes that need it */
  int *cost;                    /* by expression: -1 unknown */
  unsigned char *varies;        /* by expression: enum answer */
  const struct tc_expr **kept;  /* by expression: the load that replaces it in later passes */
  const struct tc_expr **memo;  /* of the pass that is rewritten */
  tc_sym row, row_elements;     /* dense position in the row */
};

static void mark_pass(struct keeper *k, const struct tc_expr *e, uint32_t bit) {
  if (k->passes[e->id] & bit) return;
  k->passes[e->id] |= bit;
  for (int i = 0; i < TC_EXPR_ARGS; i++)
    if (e->args[i]) mark_pass(k, e->args[i], bit);
}

/* What a later stage reads is needed in the value's own stage as well. */
static void mark_borders(struct keeper *k, const struct tc_expr *e, unsigned char *seen) {
  if (seen[e->id]) return;
  seen[e->id] = true;
  for (int i = 0; i < TC_EXPR_ARGS; i++) {
    if (!e->args[i]) continue;
    const int stage = k->d->stage_of[e->args[i]->id];
    if (stage < k->d->stage_of[e->id]) k->passes[e->args[i]->id] |= 1u << stage;
    mark_borders(k, e->args[i], seen);
  }
}

static bool mark_stages(struct keeper *k) {
  if (!k->d->stage_of) return true;
  unsigned char *seen = TC_NEW_ARRAY(k->d->scratch, unsigned char, (size_t)k->n);
  for (size_t i = 0; seen && i < k->d->items.len; i++) mark_borders(k, k->d->items.data[i].value, seen);
  return seen != NULL;
}

static int cost_of(struct keeper *k, const struct tc_expr *e) {
  if (k->cost[e->id] >= 0) return k->cost[e->id];
  int cost = tc_expr_cost(e->op);
  for (int i = 0; i < TC_EXPR_ARGS && cost < COST_LIMIT; i++)
    if (e->args[i]) cost += cost_of(k, e->args[i]);
  return k->cost[e->id] = cost;
}

/* Does the value change along the row? */
static bool varies(struct keeper *k, const struct tc_expr *e) {
  if (k->varies[e->id] != UNKNOWN) return k->varies[e->id] == YES;
  bool answer = false;
  const tc_sym at = tc_sym_valid(e->address) ? tc_draft_address(k->d, e->address) : tc_sym_const(0);
  for (int i = 0; i < k->d->n_inner && !answer; i++) answer = tc_sym_uses(at, k->d->inner[i].var);
  for (int i = 0; i < TC_EXPR_ARGS && !answer; i++) answer = e->args[i] && varies(k, e->args[i]);
  k->varies[e->id] = answer ? YES : NO;
  return answer;
}

/* The full store of exactly this value in a pass before `pass`, or NULL. */
static const struct tc_draft_item *stored_before(const struct keeper *k, const struct tc_expr *e, int pass) {
  for (size_t i = 0; i < k->d->items.len; i++) {
    const struct tc_draft_item *item = &k->d->items.data[i];
    if (!item->reduction && !item->row && item->built == e && item->pass < pass && k->d->buffers.data[item->buffer].dtype == e->dtype)
      return item;
  }
  return NULL;
}

static const struct tc_expr *load_of(struct keeper *k, const struct tc_expr *e, int buffer, tc_sym address) {
  const struct tc_expr load = {.op = TC_E_LOAD, .dtype = e->dtype, .buffer = buffer, .address = address};
  return tc_expr_make(k->d->s->loops->exprs, &load);
}

static const struct tc_expr *read_back(struct keeper *k, const struct tc_expr *e, const struct tc_draft_item *store) {
  k->d->buffers.data[store->buffer].role = TC_ROLE_READ_WRITE;
  return load_of(k, e, store->buffer, store->address);
}

static const struct tc_expr *keep_in_scratch(struct keeper *k, const struct tc_expr *e, int first_pass) {
  struct tc_draft *d = k->d;
  const struct tc_draft_buffer scratch = {-1, e->dtype, TC_ROLE_SCRATCH, k->row_elements};
  struct tc_draft_item store = {.acc = -1, .pass = first_pass, .buffer = (int)d->buffers.len, .address = k->row, .value = e};
  if (!tc_vec_push(d->scratch, &d->buffers, scratch) || !tc_vec_push(d->scratch, &d->items, store)) return NULL;
  return load_of(k, e, store.buffer, k->row);
}

static bool fits_scratch(const struct keeper *k, const struct tc_expr *e) {
  const int64_t bytes = tc_sym_hint(k->row_elements) * tc_dtype_bytes(e->dtype);
  return bytes <= k->d->s->target->l2_bytes / SCRATCH_SHARE && k->d->buffers.len < TC_MAX_KERNEL_BUFFERS;
}

static int lowest(uint32_t bits) { return __builtin_ctz(bits); }

/* What stands for `e` in `pass`; NULL when memory is out. */
static const struct tc_expr *rewrite(struct keeper *k, const struct tc_expr *e, int pass) {
  if (e->id >= k->n) return e;
  if (k->memo[e->id]) return k->memo[e->id];
  const bool earlier = k->passes[e->id] & ((1u << pass) - 1), computed = e->op != TC_E_LOAD && e->op != TC_E_CONST;
  if (earlier && computed && !k->kept[e->id] && cost_of(k, e) >= READ_BACK_COST && varies(k, e)) {
    const struct tc_draft_item *store = stored_before(k, e, pass);
    if (store) k->kept[e->id] = read_back(k, e, store);
    else if (cost_of(k, e) >= KEEP_COST && fits_scratch(k, e)) k->kept[e->id] = keep_in_scratch(k, e, lowest(k->passes[e->id]));
    else k->kept[e->id] = e;
    if (!k->kept[e->id]) return NULL;
  }
  if (earlier && k->kept[e->id] && k->kept[e->id] != e) return k->memo[e->id] = k->kept[e->id];
  struct tc_expr copy = *e;
  for (int i = 0; i < TC_EXPR_ARGS; i++)
    if (e->args[i] && !(copy.args[i] = rewrite(k, e->args[i], pass))) return NULL;
  const bool same = copy.args[0] == e->args[0] && copy.args[1] == e->args[1] && copy.args[2] == e->args[2];
  return k->memo[e->id] = same ? e : tc_expr_make(k->d->s->loops->exprs, &copy);
}

static bool rewrite_pass(struct keeper *k, int pass) {
  k->memo = TC_NEW_ARRAY(k->d->scratch, const struct tc_expr *, (size_t)k->n);
  if (!k->memo) return false;
  const size_t n = k->d->items.len; /* scratch stores that are added belong to earlier passes, and are rewritten already */
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
    k->memo = TC_NEW_ARRAY(k->d->scratch, const struct tc_expr *, (size_t)k->n);
    if (!k->memo) return false;
    const struct tc_expr *value = rewrite(k, item->value, item->pass);
    if (!value) return false;
    item->value = value;
  }
  return true;
}

tc_status tc_draft_keep(struct tc_draft *d) {
  if (d->lanes != TC_LANES_INNER || d->n_passes < 2 || d->n_passes > MAX_PASSES) return TC_OK;
  struct keeper k = {.d = d, .n = tc_expr_count(d->s->loops->exprs), .row = tc_sym_const(0), .row_elements = tc_sym_const(1)};
  k.passes = TC_NEW_ARRAY(d->scratch, uint32_t, (size_t)k.n);
  k.cost = TC_NEW_ARRAY(d->scratch, int, (size_t)k.n);
  k.varies = TC_NEW_ARRAY(d->scratch, unsigned char, (size_t)k.n);
  k.kept = TC_NEW_ARRAY(d->scratch, const struct tc_expr *, (size_t)k.n);
  if (!k.passes || !k.cost || !k.varies || !k.kept) return tc_sched_nomem(d->s);
  for (int i = 0; i < k.n; i++) k.cost[i] = -1;
  for (int i = 0; i < d->n_inner; i++) {
    k.row = tc_sym_add(d->s->tab, tc_sym_mul(d->s->tab, k.row, d->inner[i].extent), d->inner[i].var);
    k.row_elements = tc_sym_mul(d->s->tab, k.row_elements, d->inner[i].extent);
  }
  for (size_t i = 0; i < d->items.len; i++) d->items.data[i].built = d->items.data[i].value;
  for (size_t i = 0; i < d->items.len; i++)
    if (!d->items.data[i].row) mark_pass(&k, d->items.data[i].value, 1u << d->items.data[i].pass);
  if (!mark_stages(&k)) return tc_sched_nomem(d->s);
  const size_t first_scratch = d->items.len;
  for (int pass = 1; pass < d->n_passes; pass++)
    if (!rewrite_pass(&k, pass)) return tc_sched_nomem(d->s);
  return rewrite_scratch_values(&k, first_scratch) ? TC_OK : tc_sched_nomem(d->s);
}
