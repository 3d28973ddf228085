/* Reshapes between anchors: dims are split until readers and what they read have dims in common.
 *
 * 1. Where an anchor is read at i·n + j (its dim was made of two of the reader's), its dim is split in two;
 *    where it is read at v / n and v % n (the reader merged two of its dims), the reader's is.
 *    Fusion then sees plain variables. A split changes no memory: dense values stay row-major.
 * 2. Only pointwise loops and reductions are split; what the library and inputs hold is reached by
 *    strides anyway. Each split adds a dim, of which there are at most TC_MAX_DIMS: it ends.
 * 3. Afterwards `flat`, `reads` and `strides` of every anchor are over its new variables; `value` is not. */
#include "sched/inline.h"

struct refiner {
  struct tc_sched *s;
  TC_VEC(int) queue;
  size_t at;
  bool *queued;
  int n;                               /* loops */
  int *first, *next, *reader, n_edges; /* readers of a loop, as lists */
  int *first_view, *next_view;         /* views of a loop: of products' operands, then of results */
  TC_VEC(struct tc_view *) views;
  unsigned *rewritten, splits; /* by loop: the last split for which it was rewritten */
  struct {
    int loop, dim;
    tc_sym low, strides[TC_MAX_DIMS];
  } change; /* the split that is made; strides: before it */
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

static bool find_readers(struct refiner *r) {
  size_t edges = 1;
  for (int i = 0; i < r->n; i++) edges += r->s->info[i].reads.len;
  r->first = TC_NEW_ARRAY(r->s->alloc, int, (size_t)r->n + 1);
  r->next = TC_NEW_ARRAY(r->s->alloc, int, edges);
  r->reader = TC_NEW_ARRAY(r->s->alloc, int, edges);
  if (!r->first || !r->next || !r->reader) return false;
  for (int i = 0; i < r->n; i++) r->first[i] = -1;
  for (int i = 0; i < r->n; i++)
    for (size_t k = 0; r->s->info[i].flat && k < r->s->info[i].reads.len; k++) {
      const int read = r->s->info[i].reads.data[k].loop;
      r->reader[r->n_edges] = i;
      r->next[r->n_edges] = r->first[read];
      r->first[read] = r->n_edges++;
    }
  return true;
}

static bool note_view(struct refiner *r, struct tc_view *view) {
  return tc_vec_push(r->s->alloc, &r->views, view);
}

static bool find_views(struct refiner *r) {
  for (int i = 0; i < r->n; i++) {
    struct tc_loop *loop = tc_loop_at(r->s, i);
    if (loop->kind == TC_LOOP_GEMM && (!note_view(r, &loop->a) || !note_view(r, &loop->b))) return false;
  }
  for (size_t i = 0; i < r->s->g->outputs.len; i++)
    if (!note_view(r, &r->s->loops->outputs[i])) return false;
  r->first_view = TC_NEW_ARRAY(r->s->alloc, int, (size_t)r->n + 1);
  r->next_view = TC_NEW_ARRAY(r->s->alloc, int, r->views.len + 1);
  if (!r->first_view || !r->next_view) return false;
  for (int i = 0; i < r->n; i++) r->first_view[i] = -1;
  for (size_t i = 0; i < r->views.len; i++) {
    const int loop = r->views.data[i]->loop;
    r->next_view[i] = r->first_view[loop];
    r->first_view[loop] = (int)i;
  }
  return true;
}

/* --- splitting --- */

/* The address stays what it was; div and mod would rarely simplify back to it. */
static void split_index(const struct refiner *r, struct tc_index *index) {
  struct tc_symtab *tab = r->s->tab;
  const int dim = r->change.dim;
  const tc_sym low = r->change.low;
  if (!tc_sym_valid(index->linear)) {
    index->linear = tc_sym_const(0);
    for (int i = 0; i < index->n; i++)
      index->linear = tc_sym_add(tab, index->linear, tc_sym_mul(tab, index->at[i], r->change.strides[i]));
  }
  for (int i = index->n; i > dim + 1; i--) index->at[i] = index->at[i - 1];
  index->n++;
  index->at[dim + 1] = tc_sym_mod(tab, index->at[dim], low);
  index->at[dim] = tc_sym_div(tab, index->at[dim], low);
}

static const struct tc_expr *rewrite_load(struct tc_inliner *in, const struct tc_expr *load,
                                          const struct tc_index *at, const struct tc_expr *offset,
                                          const struct tc_expr *predicate) {
  const struct refiner *r = in->self;
  struct tc_index index = *at;
  if (load->buffer == r->change.loop) split_index(r, &index);
  return tc_loops_load(in->loops, in->loops->items.data[load->buffer], &index, offset, predicate);
}

static bool rewrite_loop(struct refiner *r, const struct tc_loop *loop, const struct tc_index *at) {
  struct tc_inliner in = tc_inliner_of(r->s->loops, rewrite_load, r);
  struct tc_info *info = &r->s->info[loop->id];
  info->flat = tc_inline(&in, info->flat, loop->id, at, NULL);
  return info->flat;
}

static bool rewrite_view(struct refiner *r, struct tc_view *view) {
  struct tc_index index = r->s->loops->indices.data[view->index];
  split_index(r, &index);
  view->index = tc_loops_index(r->s->loops, &index);
  return view->index >= 0;
}

/* Every reader of the loop now reads at the split tuple. */
static bool rewrite_readers(struct refiner *r, int id) {
  r->splits++;
  for (int edge = r->first[id]; edge >= 0; edge = r->next[edge]) {
    struct tc_loop *reader = tc_loop_at(r->s, r->reader[edge]);
    if (r->rewritten[reader->id] == r->splits) continue;
    r->rewritten[reader->id] = r->splits;
    struct tc_index own = {0};
    own.n = tc_loop_vars(reader, own.at);
    if (!rewrite_loop(r, reader, &own) || !enqueue(r, reader->id)) return false;
  }
  for (int i = r->first_view[id]; i >= 0; i = r->next_view[i])
    if (!rewrite_view(r, r->views.data[i])) return false;
  return true;
}

static void insert_dim(tc_sym *sizes, tc_sym *vars, int *n, int dim, const tc_sym *two_sizes,
                       const tc_sym *two_vars) {
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
  for (int i = 0; i < loop->ndim; i++) r->change.strides[i] = r->s->info[loop->id].strides[i];
  insert_dim(loop->sizes, loop->vars, &loop->ndim, dim, sizes, vars);
  tc_row_major(r->s, loop);
  r->change.loop = loop->id;
  r->change.dim = dim;
  r->change.low = low;
  return enqueue(r, loop->id) && rewrite_readers(r, loop->id);
}

/* --- finding what to split --- */

/* coordinate = v·low + rest with v's extent times low the whole dim, and the rest below low. */
static bool merged_from(struct refiner *r, const struct tc_loop *reader, tc_sym coordinate, tc_sym size,
                        tc_sym *high, tc_sym *low) {
  tc_sym vars[TC_MAX_DIMS];
  const int n = tc_loop_vars(reader, vars);
  for (int i = 0; i < n; i++) {
    tc_sym rest, below;
    if (!tc_sym_uses(coordinate, vars[i]) || !tc_sym_affine(r->s->tab, coordinate, vars[i], low, &rest))
      continue;
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

static enum outcome try_split(struct refiner *r, struct tc_loop *loop, int dim, tc_sym high, tc_sym low) {
  if (!tc_sched_may(r->s, TC_FUEL_refine, loop, "has a dimension split", NULL)) return NOTHING;
  return split_dim(r, loop, dim, high, low) ? CHANGED : FAILED;
}

static enum outcome refine_load(struct refiner *r, struct tc_loop *reader, const struct tc_expr *load) {
  struct tc_loop *read = tc_loop_at(r->s, load->buffer);
  const struct tc_index *index = tc_load_index(r->s->loops, load);
  if (!splittable(read) || load->args[0]) return NOTHING;
  for (int d = 0; d < index->n; d++) {
    tc_sym high, low;
    int dim;
    if (tc_sym_is_const(index->at[d]) || tc_sym_kind(index->at[d]) == TC_SYM_INDEX) continue;
    if (room(read) && merged_from(r, reader, index->at[d], read->sizes[d], &high, &low))
      return try_split(r, read, d, high, low);
    if (!splittable(reader) || !room(reader) || !divided_var(reader, index->at[d], &dim, &low)) continue;
    const tc_sym size = dim < reader->ndim ? reader->sizes[dim] : reader->inner_sizes[dim - reader->ndim];
    high = tc_sym_div(r->s->tab, size, low);
    if (tc_sym_same(tc_sym_mul(r->s->tab, high, low), size) && !tc_sym_is(high, 1))
      return try_split(r, reader, dim, high, low);
  }
  return NOTHING;
}

/* The first split that a load of the reader calls for. */
static enum outcome refine_reader(struct refiner *r, struct tc_loop *reader) {
  struct tc_sched *s = r->s;
  if (!tc_sched_walk(s, TC_WALK_PRE, s->info[reader->id].flat)) return FAILED;
  for (const struct tc_expr *e; (e = tc_walk_next(&s->walk));) {
    const enum outcome outcome = e->op == TC_E_LOAD ? refine_load(r, reader, e) : NOTHING;
    if (outcome != NOTHING) return outcome;
  }
  return s->walk.failed ? FAILED : NOTHING;
}

/* Is any anchor read at other than plain variables by what could be fused with it? */
static bool any_reshape(const struct tc_sched *s) {
  for (int i = 0; i < s->n_loops; i++)
    for (size_t k = 0; s->info[i].flat && k < s->info[i].reads.len; k++) {
      const struct tc_read *read = &s->info[i].reads.data[k];
      const struct tc_index *index = &s->loops->indices.data[read->index];
      for (int d = 0; d < index->n && splittable(tc_loop_at(s, read->loop)); d++)
        if (!tc_sym_is_const(index->at[d]) && tc_sym_kind(index->at[d]) != TC_SYM_INDEX) return true;
    }
  return false;
}

tc_status tc_sched_refine(struct tc_sched *s) {
  struct refiner r = {.s = s, .n = s->n_loops};
  if (!s->config->fuse || !any_reshape(s)) return TC_OK;
  r.queued = TC_NEW_ARRAY(s->alloc, bool, (size_t)r.n + 1);
  r.rewritten = TC_NEW_ARRAY(s->alloc, unsigned, (size_t)r.n + 1);
  if (!r.queued || !r.rewritten || !find_readers(&r) || !find_views(&r)) return tc_sched_failed(s);
  for (int i = 0; i < r.n; i++)
    if (s->info[i].flat && !enqueue(&r, i)) return tc_sched_failed(s);
  for (; r.at < r.queue.len; r.at++) {
    struct tc_loop *loop = tc_loop_at(s, r.queue.data[r.at]);
    r.queued[loop->id] = false;
    const enum outcome outcome = refine_reader(&r, loop);
    if (outcome == FAILED || (outcome == CHANGED && !enqueue(&r, loop->id))) return tc_sched_failed(s);
  }
  for (int i = 0; i < r.n; i++)
    if (s->info[i].flat && !tc_anchor_reads(s, i)) return tc_sched_failed(s);
  return TC_OK;
}
