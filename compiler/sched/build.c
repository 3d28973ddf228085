/* From a cluster to values and stores: every member's value over the cluster's variables.
 *
 * 1. Reading a member of the cluster becomes its reduction's ACC or its own value; reading anything else
 *    becomes a load of a buffer at a linear address.
 * 2. A value's pass is one after the last reduction that it needs; reductions and full stores run in
 *    their pass, stores of a row's values at the end. */
#include "sched/draft.h"

static int member_at(const struct tc_draft *d, int loop) {
  for (size_t i = 0; i < d->cluster->members.len; i++)
    if (d->cluster->members.data[i] == loop) return (int)i;
  return -1;
}

static int buffer_of(struct tc_draft *d, int loop, enum tc_buffer_role role) {
  for (size_t i = 0; i < d->buffers.len; i++)
    if (d->buffers.data[i].loop == loop) return (int)i;
  const struct tc_draft_buffer b = {loop, tc_loop_at(d->s, loop)->dtype, role, tc_loop_elements(d->s, loop)};
  return tc_vec_push(d->scratch, &d->buffers, b) ? (int)d->buffers.len - 1 : -1;
}

static const struct tc_expr *load_buffer(struct tc_draft *d, const struct tc_expr *load,
                                         const struct tc_index *at, const struct tc_expr *offset,
                                         const struct tc_expr *predicate) {
  struct tc_expr_table *table = d->table;
  struct tc_expr e = {.op = TC_E_LOAD, .dtype = load->dtype, .args = {NULL, predicate}};
  e.buffer = buffer_of(d, load->buffer, TC_ROLE_READ);
  e.address = tc_loop_address(d->s, load->buffer, at);
  if (e.buffer < 0) return NULL;
  if (offset) { /* the free variable's coefficient scales the index value */
    tc_sym scale, rest;
    if (!tc_sym_affine(d->s->tab, e.address, at->free, &scale, &rest)) return NULL;
    e.address = rest;
    e.args[0] = tc_expr_2(table, TC_E_MUL, offset, tc_expr_index(table, scale));
    if (!e.args[0]) return NULL;
  }
  return tc_expr_make(table, &e);
}

static const struct tc_expr *build_load(struct tc_inliner *in, const struct tc_expr *load,
                                        const struct tc_index *at, const struct tc_expr *offset,
                                        const struct tc_expr *predicate) {
  struct tc_draft *d = in->self;
  const int member = member_at(d, load->buffer);
  if (member < 0) return load_buffer(d, load, at, offset, predicate);
  const struct tc_info *info = &d->s->info[load->buffer];
  if (d->acc_of[member] < 0) return tc_inline_through(in, info->flat, load->buffer, at, predicate);
  const struct tc_expr acc = {.op = TC_E_ACC, .dtype = load->dtype, .acc = d->acc_of[member]};
  return tc_expr_make(d->table, &acc);
}

/* The member's value over the cluster's variables. */
static const struct tc_expr *bound_value(struct tc_draft *d, int loop) {
  struct tc_index own = {0};
  tc_sym vars[TC_MAX_DIMS];
  own.n = tc_loop_vars(tc_loop_at(d->s, loop), vars);
  for (int i = 0; i < own.n; i++) own.at[i] = d->s->info[loop].bind[i];
  return tc_inline(&d->in, d->s->info[loop].flat, loop, &own, NULL);
}

static bool add_reduction(struct tc_draft *d, int member) {
  const struct tc_loop *loop = tc_loop_at(d->s, d->cluster->members.data[member]);
  struct tc_draft_item item = {
      .reduction = true, .op = loop->reduction, .acc = d->acc_of[member], .buffer = -1};
  item.value = bound_value(d, loop->id);
  if (item.op == TC_RED_ARGMAX || item.op == TC_RED_ARGMIN)
    item.address = d->s->info[loop->id].bind[loop->ndim];
  return item.value && tc_vec_push(d->scratch, &d->items, item);
}

/* Wrong on purpose, once: see the switch plant.fusion. */
static const struct tc_expr *plant(struct tc_draft *d, const struct tc_expr *value) {
  d->planted = true;
  if (!value || value->dtype == TC_BOOL) return tc_expr_1(d->table, TC_E_NOT, value);
  return tc_expr_2(d->table, TC_E_ADD, value, tc_expr_num(d->table, value->dtype, 1));
}

static bool add_store(struct tc_draft *d, int member) {
  struct tc_sched *s = d->s;
  const struct tc_loop *loop = tc_loop_at(s, d->cluster->members.data[member]);
  struct tc_draft_item item = {.acc = -1, .row = loop->ndim < d->cluster->n_dims};
  item.buffer = buffer_of(d, loop->id, TC_ROLE_WRITE);
  struct tc_index at = {.n = loop->ndim};
  for (int i = 0; i < loop->ndim; i++) at.at[i] = s->info[loop->id].bind[i];
  item.address = tc_loop_address(s, loop->id, &at);
  if (d->acc_of[member] < 0) {
    item.value = bound_value(d, loop->id);
  } else {
    const bool position = loop->reduction == TC_RED_ARGMAX || loop->reduction == TC_RED_ARGMIN;
    const struct tc_expr acc = {
        .op = TC_E_ACC, .dtype = position ? TC_I64 : s->info[loop->id].flat->dtype, .acc = d->acc_of[member]};
    item.value = tc_expr_make(d->table, &acc);
  }
  if (d->cluster->planted && !d->planted) item.value = plant(d, item.value);
  d->has_row |= item.row;
  return item.value && item.buffer >= 0 && tc_sym_valid(item.address) &&
         tc_vec_push(d->scratch, &d->items, item);
}

/* --- passes --- */

bool tc_draft_walk(struct tc_draft *d, enum tc_walk_order order) {
  if (!tc_walk_begin(&d->walk, order, tc_expr_count(d->table))) return false;
  for (size_t i = d->items.len; i-- > 0;) /* the last pushed is walked first */
    if (!tc_walk_from(&d->walk, d->items.data[i].value)) return false;
  return true;
}

/* One after the last reduction that the value needs; depth[] has that of smaller ids. */
static int depth_of(const struct tc_draft *d, int id, const int *depth) {
  const struct tc_expr *e = tc_expr_at(d->table, id);
  int deepest = e->op == TC_E_ACC ? d->acc_pass[e->acc] + 1 : 0;
  for (int i = 0; i < TC_EXPR_ARGS; i++)
    if (e->args[i] && depth[e->args[i]->id] > deepest) deepest = depth[e->args[i]->id];
  return deepest;
}

static bool assign_passes(struct tc_draft *d) {
  const int n = tc_expr_count(d->table);
  int *depth = TC_NEW_ARRAY(d->scratch, int, (size_t)n + 1);
  if (!depth) return false;
  /* Reductions come first, by rank: what one needs was made, and placed, before it. */
  int known = 0;
  for (size_t i = 0; i < d->items.len; i++) {
    struct tc_draft_item *item = &d->items.data[i];
    for (; known <= item->value->id; known++) depth[known] = depth_of(d, known, depth);
    item->pass = depth[item->value->id];
    if (item->reduction) d->acc_pass[item->acc] = item->pass;
    if (!item->row && item->pass >= d->n_passes) d->n_passes = item->pass + 1;
  }
  return true;
}

/* --- buffers that operators need --- */

static bool need_role(struct tc_draft *d, enum tc_buffer_role role, tc_dtype dtype, int elements) {
  for (size_t i = 0; i < d->buffers.len; i++)
    if (d->buffers.data[i].role == role) return true;
  const struct tc_draft_buffer b = {-1, dtype, role, tc_sym_const(elements)};
  return tc_vec_push(d->scratch, &d->buffers, b);
}

enum { STATUS_WORDS = 1, RNG_WORDS = 2 };

static bool add_operator_buffers(struct tc_draft *d) {
  if (!tc_draft_walk(d, TC_WALK_PRE)) return false;
  for (const struct tc_expr *e; (e = tc_walk_next(&d->walk));) {
    if (tc_expr_raises(e) && !need_role(d, TC_ROLE_STATUS, TC_I64, STATUS_WORDS)) return false;
    if ((e->op == TC_E_UNIFORM || e->op == TC_E_NORMAL) && !need_role(d, TC_ROLE_RNG, TC_I64, RNG_WORDS))
      return false;
  }
  return !d->walk.failed;
}

tc_status tc_draft_build(struct tc_sched *s, struct tc_cluster *cluster, struct tc_arena *scratch,
                         struct tc_draft *d) {
  const struct tc_alloc *alloc = tc_arena_alloc(scratch);
  *d = (struct tc_draft){.s = s,
                         .scratch = alloc,
                         .cluster = cluster,
                         .table = tc_expr_table_new(scratch),
                         .walk = {.alloc = alloc}};
  d->in = (struct tc_inliner){
      .loops = s->loops, .table = d->table, .alloc = alloc, .load = build_load, .self = d};
  const int n = (int)cluster->members.len;
  d->acc_of = TC_NEW_ARRAY(d->scratch, int, (size_t)n);
  d->acc_pass = TC_NEW_ARRAY(d->scratch, int, (size_t)n);
  if (!d->table || !d->acc_of || !d->acc_pass) return tc_sched_failed(s);
  tc_expr_table_share(d->table, s->loops->exprs);
  for (int i = 0; i < n; i++) {
    const enum tc_product product = tc_loop_at(s, cluster->members.data[i])->product;
    if (product) d->product = product;
  }
  for (int i = 0; i < n; i++)
    d->acc_of[i] = tc_loop_at(s, cluster->members.data[i])->kind == TC_LOOP_REDUCTION ? d->n_accs++ : -1;
  for (int i = 0; i < n; i++)
    if (d->acc_of[i] >= 0 && !add_reduction(d, i)) return tc_sched_failed(s);
  for (int i = 0; i < n; i++)
    if (s->info[cluster->members.data[i]].stored && !add_store(d, i)) return tc_sched_failed(s);
  return assign_passes(d) && add_operator_buffers(d) ? TC_OK : tc_sched_failed(s);
}
