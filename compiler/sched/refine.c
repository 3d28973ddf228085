/* Reshapes between loops: dims are split until readers and what they read have dims in common.
 *
 * 1. Where a loop is read at i·n + j (its dim was made of two of the reader's), its dim is split in two;
 *    where it is read at v / n and v % n (the reader merged two of its dims), the reader's is.
 *    Fusion then sees plain variables. A split changes no memory: dense loops stay row-major.
 * 2. Only pointwise loops and reductions are split; what the library and inputs hold is reached by
 *    strides anyway. Each split adds a dim, of which there are at most TC_MAX_DIMS: it ends. */
#include "sched/inline.h"

struct refiner {
  struct tc_sched *s;
  TC_VEC(int) queue;
  size_t at;
  bool *queued;
  int n;             /* loops */
  int *first, *next, *reader, n_edges; /* readers of a loop, as lists */
  struct { int loop, dim; tc_sym low; } change; /* for rewrite_load */
};

static bool splittable(const struct tc_loop *loop) {
  const bool position = loop->reduction == TC_RED_ARGMAX || loop->reduction == TC_RED_ARGMIN;
  return loop->kind == TC_LOOP_POINTWISE || (loop->kind == TC_LOOP_REDUCTION && !position);
}

static bool enqueue(struct refiner *r, int loop) {
  if (r->queued[loop]) return true;
  r->queued[loop] = true;
  return tc_vec_push(r->s->alloc, &r->queue, loop);
}

/* --- who reads whom --- */

static int count_loads(const struct tc_expr *e, bool *seen, struct refiner *r, int reader) {
  if (seen[e->id]) return 0;
  seen[e->id] = true;
  int count = e->op == TC_E_LOAD;
  if (e->op == TC_E_LOAD && r->reader) {
    r->reader[r->n_edges] = reader;
    r->next[r->n_edges] = r->first[e->buffer];
    r->first[e->buffer] = r->n_edges++;
  }
  for (int i = 0; i < TC_EXPR_ARGS; i++)
    if (e->args[i]) count += count_loads(e->args[i], seen, r, reader);
  return count;
}

static int walk_loads(struct refiner *r, bool *seen) {
  int count = 0;
  for (int i = 0; i < r->n; i++) {
    const struct tc_loop *loop = tc_loop_at(r->s, i);
    if (!loop->value) continue;
    for (int k = 0; k <= loop->value->id; k++) seen[k] = false;
    count += count_loads(loop->value, seen, r, i);
  }
  return count;
}

static bool find_readers(struct refiner *r) {
  bool *seen = TC_NEW_ARRAY(r->s->alloc, bool, (size_t)tc_expr_count(r->s->loops->exprs) + 1);
  r->first = TC_NEW_ARRAY(r->s->alloc, int, (size_t)r->n + 1);
  if (!seen || !r->first) return false;
  for (int i = 0; i < r->n; i++) r->first[i] = -1;
  const size_t edges = (size_t)walk_loads(r, seen) + 1;
  r->next = TC_NEW_ARRAY(r->s->alloc, int, edges);
  r->reader = TC_NEW_ARRAY(r->s->alloc, int, edges);
  if (!r->next || !r->reader) return false;
  walk_loads(r, seen);
  return true;
}

/* --- splitting --- */

static void split_index(struct tc_symtab *tab, struct tc_index *index, int dim, tc_sym low) {
  for (int i = index->n; i > dim + 1; i--) index->at[i] = index->at[i - 1];
  index->n++;
  index->at[dim + 1] = tc_sym_mod(tab, index->at[dim], low);
  index->at[dim] = tc_sym_div(tab, index->at[dim], low);
}

static const struct tc_expr *rewrite_load(struct tc_inliner *in, const struct tc_expr *load, const struct tc_index *at,
                                          const struct tc_expr *offset, const struct tc_expr *predicate) {
  const struct refiner *r = in->self;
  struct tc_index index = *at;
  if (load->buffer == r->change.loop && r->change.dim >= 0) split_index(in->loops->tab, &index, r->change.dim, r->change.low);
  return tc_loops_load(in->loops, in->loops->items.data[load->buffer], &index, offset, predicate);
}

static bool rewrite_loop(struct refiner *r, struct tc_loop *loop, const struct tc_index *at) {
  struct tc_inliner in = {.loops = r->s->loops, .load = rewrite_load, .self = r};
  loop->value = tc_inline(&in, loop->value, loop->id, at, NULL);
  return loop->value;
}

static bool rewrite_view(struct refiner *r, struct tc_view *view) {
  if (view->loop != r->change.loop) return true;
  struct tc_index index = r->s->loops->indices.data[view->index];
  split_index(r->s->tab, &index, r->change.dim, r->change.low);
  view->index = tc_loops_index(r->s->loops, &index);
  return view->index >= 0;
}

/* Every reader of the loop now reads at the split tuple. */
static bool rewrite_readers(struct refiner *r, int id) {
  for (int edge = r->first[id]; edge >= 0; edge = r->next[edge]) {
    struct tc_loop *reader = tc_loop_at(r->s, r->reader[edge]);
    bool done = false;
    for (int before = r->first[id]; before != edge && !done; before = r->next[before]) done = r->reader[before] == reader->id;
    if (done) continue;
    struct tc_index own = {0};
    own.n = tc_loop_vars(reader, own.at);
    if (!rewrite_loop(r, reader, &own) || !enqueue(r, reader->id)) return false;
  }
  for (int i = 0; i < r->n; i++) {
    struct tc_loop *gemm = tc_loop_at(r->s, i);
    if (gemm->kind == TC_LOOP_GEMM && (!rewrite_view(r, &gemm->a) || !rewrite_view(r, &gemm->b))) return false;
  }
  for (size_t i = 0; i < r->s->g->outputs.len; i++)
    if (!rewrite_view(r, &r->s->loops->outputs[i])) return false;
  return true;
}

static void insert_dim(tc_sym *sizes, tc_sym *vars, int *n, int dim, const tc_sym *two_sizes, const tc_sym *two_vars) {
  for (int i = *n; i > dim + 1; i--) sizes[i] = sizes[i - 1], vars[i] = vars[i - 1];
  ++*n;
  for (int i = 0; i < 2; i++) sizes[dim + i] = two_sizes[i], vars[dim + i] = two_vars[i];
}

/* Splits a dim (from ndim on: an inner one) into `high` times `low`. */
static bool split_dim(struct refiner *r, struct tc_loop *loop, int dim, tc_sym high, tc_sym low) {
  struct tc_symtab *tab = r->s->tab;
  const tc_sym sizes[2] = {high, low}, vars[2] = {tc_sym_index(tab, high), tc_sym_index(tab, low)};
  struct tc_index own = {0};
  own.n = tc_loop_vars(loop, own.at);
  own.at[dim] = tc_sym_add(tab, tc_sym_mul(tab, vars[0], low), vars[1]);
  r->change.loop = -1;
  if (!rewrite_loop(r, loop, &own)) return false;
  if (dim >= loop->ndim) {
    insert_dim(loop->inner_sizes, loop->inner_vars, &loop->n_inner, dim - loop->ndim, sizes, vars);
    return enqueue(r, loop->id);
  }
  insert_dim(loop->sizes, loop->vars, &loop->ndim, dim, sizes, vars);
  r->change.loop = loop->id;
  r->change.dim = dim;
  r->change.low = low;
  return enqueue(r, loop->id) && rewrite_readers(r, loop->id);
}

/* --- finding what to split --- */

/* coordinate = v·low + rest with v's extent times low the whole dim, and the rest below low. */
static bool merged_from(struct refiner *r, const struct tc_loop *reader, tc_sym coordinate, tc_sym size, tc_sym *high, tc_sym *low) {
  tc_sym vars[TC_MAX_DIMS];
  const int n = tc_loop_vars(reader, vars);
  for (int i = 0; i < n; i++) {
    tc_sym rest, below;
    if (!tc_sym_uses(coordinate, vars[i]) || !tc_sym_affine(r->s->tab, coordinate, vars[i], low, &rest)) continue;
    *high = tc_sym_extent(vars[i]);
    if (tc_sym_is(*low, 1) || !tc_sym_same(tc_sym_mul(r->s->tab, *high, *low), size)) continue;
    below = tc_sym_div(r->s->tab, rest, *low);
    if (!tc_sym_is_const(rest) && tc_sym_is(below, 0)) return true;
  }
  return false;
}

/* The reader's variable that a coordinate divides, and by what. */
static bool divided_var(const struct tc_loop *reader, tc_sym s, int *dim, tc_sym *low) {
  if (tc_sym_is_const(s) || tc_sym_kind(s) == TC_SYM_INDEX || tc_sym_kind(s) == TC_SYM_SIZE) return false;
  const enum tc_sym_kind kind = tc_sym_kind(s);
  if ((kind == TC_SYM_DIV || kind == TC_SYM_MOD) && !tc_sym_is_const(tc_sym_left(s))) {
    tc_sym vars[TC_MAX_DIMS];
    const int n = tc_loop_vars(reader, vars);
    *low = tc_sym_right(s);
    for (*dim = 0; *dim < n; ++*dim)
      if (tc_sym_same(vars[*dim], tc_sym_left(s))) return true;
  }
  return divided_var(reader, tc_sym_left(s), dim, low) || divided_var(reader, tc_sym_right(s), dim, low);
}

static bool room(const struct tc_loop *loop) { return loop->ndim + loop->n_inner < TC_MAX_DIMS; }

enum outcome { NOTHING, CHANGED, FAILED };

static enum outcome refine_load(struct refiner *r, struct tc_loop *reader, const struct tc_expr *load) {
  struct tc_loop *read = tc_loop_at(r->s, load->buffer);
  const struct tc_index *index = tc_load_index(r->s->loops, load);
  if (!splittable(read) || load->args[0]) return NOTHING;
  for (int d = 0; d < index->n; d++) {
    tc_sym high, low;
    int dim;
    if (tc_sym_is_const(index->at[d]) || tc_sym_kind(index->at[d]) == TC_SYM_INDEX) continue;
    if (room(read) && merged_from(r, reader, index->at[d], read->sizes[d], &high, &low))
      return split_dim(r, read, d, high, low) ? CHANGED : FAILED;
    if (!splittable(reader) || !room(reader) || !divided_var(reader, index->at[d], &dim, &low)) continue;
    const tc_sym size = dim < reader->ndim ? reader->sizes[dim] : reader->inner_sizes[dim - reader->ndim];
    high = tc_sym_div(r->s->tab, size, low);
    if (tc_sym_same(tc_sym_mul(r->s->tab, high, low), size) && !tc_sym_is(high, 1)) return split_dim(r, reader, dim, high, low) ? CHANGED : FAILED;
  }
  return NOTHING;
}

static enum outcome refine_expr(struct refiner *r, struct tc_loop *reader, const struct tc_expr *e, bool *seen) {
  if (seen[e->id]) return NOTHING;
  seen[e->id] = true;
  enum outcome outcome = e->op == TC_E_LOAD ? refine_load(r, reader, e) : NOTHING;
  for (int i = 0; i < TC_EXPR_ARGS && outcome == NOTHING; i++)
    if (e->args[i]) outcome = refine_expr(r, reader, e->args[i], seen);
  return outcome;
}

/* Is any loop read at other than plain variables? Most graphs have no reshape to look at, and no stage was split off. */
static bool any_reshape(const struct tc_sched *s) {
  if (s->any_split) return true;
  for (size_t i = 0; i < s->g->nodes.len; i++)
    if (s->g->nodes.data[i]->op == TC_OP_view || s->g->nodes.data[i]->op == TC_OP_reshape) return true;
  return false;
}

tc_status tc_sched_refine(struct tc_sched *s) {
  struct refiner r = {.s = s, .n = (int)s->loops->items.len};
  if (!any_reshape(s)) return TC_OK;
  r.queued = TC_NEW_ARRAY(s->alloc, bool, (size_t)r.n + 1);
  if (!r.queued || !find_readers(&r)) return tc_sched_nomem(s);
  for (int i = 0; i < r.n; i++)
    if (!enqueue(&r, i)) return tc_sched_nomem(s);
  for (; r.at < r.queue.len; r.at++) {
    struct tc_loop *loop = tc_loop_at(s, r.queue.data[r.at]);
    r.queued[loop->id] = false;
    if (!loop->value) continue;
    bool *seen = TC_NEW_ARRAY(s->alloc, bool, (size_t)loop->value->id + 1);
    const enum outcome outcome = seen ? refine_expr(&r, loop, loop->value, seen) : FAILED;
    if (outcome == FAILED || (outcome == CHANGED && !enqueue(&r, loop->id))) return tc_sched_nomem(s);
  }
  return TC_OK;
}
