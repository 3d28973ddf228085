/* Index set splitting: a dim along which a value is made of parts, as that of a concatenation, becomes a loop
 * for each part (Griebl, Feautrier and Lengauer, 2000). Unsplit, each element is computed in all ways, and
 * all but one are thrown away.
 *
 * 1. Comparisons of a dim's variable with what is no variable are the borders. Between two borders each of
 *    them is decided: what is selected stands alone there, and loads have no predicate.
 * 2. The dim is the one along which vectors lie, where parts fill vectors or are many, or an outer one, where
 *    a part is some of the rows.
 * 3. Borders that are symbols must be in order whatever the sizes are. Part by part the same elements get the
 *    same values as without.
 * 4. Kernels of one pass without reductions are split, where that writes at most GROWTH times the code: what
 *    does not differ from part to part is written for each of them. Those of several results are split where
 *    it writes no more, loops counted. Parts that differ in constants alone are one (index_split_turns.c). */
#include "sched/index_split.h"

enum { GROWTH = 2, MOST_PARTS = 256, LOOP_WEIGHT = 8 /* of a phase's loops, in operations */ };

/* --- conditions --- */

static bool uses_dim(const struct tc_kernel_dim *dims, int n, tc_sym s) {
  for (int i = 0; i < n; i++)
    if (tc_sym_uses(s, dims[i].var)) return true;
  return false;
}

/* s < 0, as a condition on one of the dims. */
static bool take_condition(const struct tc_draft *d, tc_sym s, const struct tc_kernel_dim *dims, int n,
                           struct tc_index_split_condition *out) {
  struct tc_symtab *tab = d->s->tab;
  for (int i = 0; i < n; i++) {
    tc_sym step, rest;
    if (!tc_sym_uses(s, dims[i].var)) continue;
    if (!tc_sym_affine(tab, s, dims[i].var, &step, &rest) || (!tc_sym_is(step, 1) && !tc_sym_is(step, -1)))
      return false;
    if (uses_dim(d->outer, d->n_outer, rest) || uses_dim(d->inner, d->n_inner, rest)) return false;
    const bool falls = tc_sym_is(step, -1); /* rest - var < 0: not var < rest + 1 */
    const tc_sym at = falls ? tc_sym_add(tab, rest, tc_sym_const(1)) : tc_sym_sub(tab, tc_sym_const(0), rest);
    *out = (struct tc_index_split_condition){
        .known = tc_sym_valid(at), .contrary = falls, .border = -1, .var = dims[i].var, .at = at};
    return out->known;
  }
  return false;
}

static bool is_index(const struct tc_expr *e) {
  return e && (e->op == TC_E_INDEX || (e->op == TC_E_CONST && e->dtype == TC_I64));
}

static tc_sym symbol_of(const struct tc_draft *d, const struct tc_expr *e) {
  return e->op == TC_E_INDEX ? tc_draft_address(d, e->address) : tc_sym_const(e->integer);
}

/* a < b and a > b are a - b < 0 and b - a < 0; with equality, 1 less. */
static void find_condition(const struct tc_draft *d, const struct tc_expr *e,
                           struct tc_index_split_condition *out) {
  struct tc_symtab *tab = d->s->tab;
  const bool less = e->op == TC_E_LT || e->op == TC_E_LE, more = e->op == TC_E_GT || e->op == TC_E_GE;
  if ((!less && !more) || !is_index(e->args[0]) || !is_index(e->args[1])) return;
  const tc_sym a = symbol_of(d, e->args[less ? 0 : 1]), b = symbol_of(d, e->args[less ? 1 : 0]);
  const tc_sym distance =
      tc_sym_sub(tab, tc_sym_sub(tab, a, b), tc_sym_const(e->op == TC_E_LE || e->op == TC_E_GE));
  if (!tc_sym_valid(distance)) return;
  if (!take_condition(d, distance, d->outer, d->n_outer, out))
    take_condition(d, distance, d->inner, d->n_inner, out);
}

/* --- the dim --- */

/* May phases run over parts of it? */
static bool may_cut(const struct tc_draft *d, tc_sym var) {
  for (int i = 0; i < d->n_outer; i++)
    if (tc_sym_same(d->outer[i].var, var)) return d->lanes == TC_LANES_INNER || !d->n_inner;
  return d->lanes == TC_LANES_INNER && d->n_inner == 1 && tc_sym_same(d->inner[0].var, var);
}

static tc_sym vector_var(const struct tc_draft *d) {
  return d->lanes == TC_LANES_OUTER ? d->outer[d->n_outer - 1].var
         : d->n_inner               ? d->inner[d->n_inner - 1].var
                                    : TC_SYM_INVALID;
}

/* The dim that most comparisons are of; INVALID: none. */
static tc_sym most_compared(const struct tc_index_splitter *c) {
  tc_sym best = TC_SYM_INVALID;
  int most = 0;
  for (int i = 0; i < c->d->n_outer + c->d->n_inner; i++) {
    const tc_sym var = i < c->d->n_outer ? c->d->outer[i].var : c->d->inner[i - c->d->n_outer].var;
    int count = 0;
    for (int id = 0; id < c->n; id++)
      count += c->conditions[id].known && tc_sym_same(c->conditions[id].var, var);
    if (count > most && may_cut(c->d, var)) most = count, best = var;
  }
  return best;
}

/* --- borders --- */

/* Is every index of the dim below it, or none, whatever the sizes are? */
static bool is_behind(const struct tc_index_splitter *c, tc_sym at) {
  return tc_sym_always_le(c->extent, at);
}
static bool is_before(tc_sym at) { return tc_sym_always_le(at, tc_sym_const(0)); }

static bool note_border(struct tc_index_splitter *c, tc_sym at) {
  for (size_t i = 0; i < c->borders.len; i++)
    if (tc_sym_same(c->borders.data[i], at)) return true;
  if (!tc_vec_push(c->alloc, &c->borders, at)) return false;
  for (size_t i = c->borders.len - 1;
       i > 0 && tc_sym_hint(c->borders.data[i - 1]) > tc_sym_hint(c->borders.data[i]); i--) {
    const tc_sym swap = c->borders.data[i];
    c->borders.data[i] = c->borders.data[i - 1];
    c->borders.data[i - 1] = swap;
  }
  return true;
}

static bool in_order(const struct tc_index_splitter *c) {
  for (size_t i = 0; i + 1 < c->borders.len; i++) {
    const tc_sym a = c->borders.data[i], b = c->borders.data[i + 1];
    if (tc_sym_is_const(a) && tc_sym_is_const(b) ? tc_sym_value(a) >= tc_sym_value(b)
                                                 : !tc_sym_always_le(a, b))
      return false;
  }
  return true;
}

/* False when memory is out. */
static bool find_borders(struct tc_index_splitter *c) {
  for (int id = 0; id < c->n; id++) {
    struct tc_index_split_condition *x = &c->conditions[id];
    if (!x->known || !(x->known = tc_sym_same(x->var, c->var))) continue;
    if (!is_behind(c, x->at) && !is_before(x->at) && c->borders.len < MOST_PARTS && !note_border(c, x->at))
      return false;
  }
  for (int id = 0; id < c->n; id++) {
    struct tc_index_split_condition *x = &c->conditions[id];
    for (size_t i = 0; x->known && i < c->borders.len; i++)
      if (tc_sym_same(c->borders.data[i], x->at)) x->border = (int)i;
    if (x->known && x->border < 0) x->constant = is_behind(c, x->at);
  }
  return true;
}

/* --- values of a part --- */

static const struct tc_expr *value_in_part(struct tc_index_splitter *c, const struct tc_expr *e);

/* Of operands that need not be computed nothing is asked. */
static const struct tc_expr *make_value(struct tc_index_splitter *c, const struct tc_expr *e) {
  const struct tc_index_split_condition *known = &c->conditions[e->id];
  if (known->known)
    return tc_expr_int(c->d->table, TC_BOOL,
                       (known->border < 0 ? known->constant : c->part <= known->border) != known->contrary);
  struct tc_expr copy = *e;
  const int chooser = e->op == TC_E_LOAD ? 1 : 0; /* the operand that may decide */
  const bool decides =
      e->op == TC_E_SELECT || e->op == TC_E_AND || e->op == TC_E_OR || (e->op == TC_E_LOAD && e->args[1]);
  const struct tc_expr *choice = decides ? value_in_part(c, e->args[chooser]) : NULL;
  if (decides && !choice) return NULL;
  if (choice && choice->op == TC_E_CONST) {
    const bool yes = choice->integer;
    if (e->op == TC_E_SELECT) return value_in_part(c, e->args[yes ? 1 : 2]);
    if (e->op != TC_E_LOAD) return yes == (e->op == TC_E_AND) ? value_in_part(c, e->args[1]) : choice;
    if (!yes) return tc_expr_num(c->d->table, e->dtype, 0);
  }
  for (int i = 0; i < TC_EXPR_ARGS; i++)
    if (e->args[i] && !(copy.args[i] = value_in_part(c, e->args[i]))) return NULL;
  if (tc_sym_valid(e->address) && e->op != TC_E_CHECK && e->op != TC_E_CONST)
    copy.address = tc_draft_address(c->d, e->address);
  return tc_expr_make(c->d->table, &copy);
}

/* As deep as the kernel's values are. */
static const struct tc_expr *value_in_part(struct tc_index_splitter *c, const struct tc_expr *e) {
  if (c->stamps[e->id] != c->part + 1) {
    c->memo[e->id] = make_value(c, e);
    c->stamps[e->id] = c->part + 1;
  }
  return c->memo[e->id];
}

static bool find_values(struct tc_index_splitter *c) {
  const struct tc_draft *d = c->d;
  c->values = TC_NEW_ARRAY(c->alloc, const struct tc_expr **, (size_t)tc_index_split_parts(c));
  for (c->part = 0; c->values && c->part < tc_index_split_parts(c); c->part++) {
    const struct tc_expr **values = c->values[c->part] =
        TC_NEW_ARRAY(c->alloc, const struct tc_expr *, d->items.len + 1);
    for (size_t i = 0; values && i < d->items.len; i++)
      if (!(values[i] = value_in_part(c, d->items.data[i].value))) return false;
    if (!values) return false;
  }
  return c->values;
}

/* --- is it worth it? --- */

/* Operations of the values that are given, each once; -1 when memory is out. */
static int weight_of(struct tc_draft *d, const struct tc_expr *const *values) {
  int weight = 0;
  if (!tc_walk_begin(&d->walk, TC_WALK_PRE, tc_expr_count(d->table))) return -1;
  for (size_t i = 0; i < d->items.len; i++) {
    if (!tc_walk_from(&d->walk, values ? values[i] : d->items.data[i].value)) return -1;
    for (const struct tc_expr *e; (e = tc_walk_next(&d->walk));) weight += tc_expr_cost(e->op);
    weight++;
  }
  return d->walk.failed ? -1 : weight;
}

/* Parts along the vectors: are they long enough to fill them, or so many that one element after the other is
 * less than all ways for each vector? */
static bool beats_vectors(const struct tc_index_splitter *c) {
  enum { WAY = 3 /* a load under a mask, its condition, a select: operations of each vector */ };
  const int64_t lanes = c->d->s->target->vector_bytes / 4, parts = tc_index_split_parts(c),
                extent = tc_sym_hint(c->extent);
  if (!tc_sym_same(c->var, vector_var(c->d)) || extent >= lanes * parts) return true;
  return LOOP_WEIGHT * parts + extent < (extent + lanes - 1) / lanes * WAY * parts;
}

/* Is less computed for each element, by code that is not too much longer? *failed: memory is out. */
static bool pays(struct tc_draft *d, bool *failed) {
  const bool several = d->items.len > 1; /* results, which may have borders in different places */
  const int whole = weight_of(d, NULL);
  int sum = 0, most = 0;
  for (int i = 0; i < d->n_splits && whole >= 0; i++) {
    const int weight = weight_of(d, d->splits[i].values);
    *failed |= weight < 0;
    sum += weight + (several ? LOOP_WEIGHT : 0);
    if (weight > most) most = weight;
  }
  *failed |= whole < 0;
  return !*failed && most < whole && sum <= (several ? 1 : GROWTH) * whole;
}

static bool collect(struct tc_index_splitter *c) {
  c->n = tc_expr_count(c->d->table);
  c->conditions = TC_NEW_ARRAY(c->alloc, struct tc_index_split_condition, (size_t)c->n + 1);
  c->memo = TC_NEW_ARRAY(c->alloc, const struct tc_expr *, (size_t)c->n + 1);
  c->stamps = TC_NEW_ARRAY(c->alloc, int, (size_t)c->n + 1);
  if (!c->conditions || !c->memo || !c->stamps || !tc_draft_walk(c->d, TC_WALK_PRE)) return false;
  for (const struct tc_expr *e; (e = tc_walk_next(&c->d->walk));)
    find_condition(c->d, e, &c->conditions[e->id]);
  return !c->d->walk.failed;
}

static tc_sym extent_of(const struct tc_draft *d, tc_sym var) {
  for (int i = 0; i < d->n_outer; i++)
    if (tc_sym_same(d->outer[i].var, var)) return d->outer[i].extent;
  return d->inner[0].extent;
}

/* Is anything computed that a comparison may spare? */
static bool chooses(const struct tc_draft *d) {
  for (int id = 0, n = tc_expr_count(d->table); id < n; id++) {
    const struct tc_expr *e = tc_expr_at(d->table, id);
    if (e->op == TC_E_SELECT || (e->op == TC_E_LOAD && e->args[1])) return true;
  }
  return false;
}

tc_status tc_draft_index_split(struct tc_draft *d) {
  if (d->n_accs || d->has_row || d->n_passes != 1 || d->stage_of || d->copies != 1 || !chooses(d))
    return TC_OK;
  struct tc_index_splitter c = {.d = d, .alloc = d->scratch};
  if (!collect(&c)) return tc_sched_failed(d->s);
  c.var = most_compared(&c);
  if (!tc_sym_valid(c.var)) return TC_OK;
  c.extent = extent_of(d, c.var);
  if (!find_borders(&c)) return tc_sched_failed(d->s);
  if (!c.borders.len || c.borders.len >= MOST_PARTS || !in_order(&c) || !beats_vectors(&c)) return TC_OK;
  bool failed = false;
  if (!find_values(&c) || !tc_index_split_join(&c)) return tc_sched_failed(d->s);
  const bool splits =
      pays(d, &failed) &&
      tc_sched_may(d->s, TC_FUEL_cut, NULL, "and what is in its kernel, with a loop for each part", NULL);
  if (!splits) d->n_splits = 0;
  d->split_var = c.var;
  return failed ? tc_sched_failed(d->s) : TC_OK;
}
