/* Random graphs of primitive operations over small shapes: pointwise chains, broadcasts, reductions, views of
 * views, copies, gathers and matmuls, in any order, with one to four results. With `symbolic`, sizes of two
 * values are the variables s0 and s1. */
#ifndef TESTS_IR_RANDOM_GRAPH_H
#define TESTS_IR_RANDOM_GRAPH_H

#include "tests/compiler/ir/lowered.h"

enum { GRAPH_VALUES = 200, GRAPH_MAX_NUMEL = 1500, GRAPH_SIZES = 7, GRAPH_S0 = 6, GRAPH_S1 = 5 /* hints */ };

struct graph_maker {
  struct tc_graph *g;
  tc_dtype dtype; /* of its floats */
  bool symbolic;
  struct tc_node *values[GRAPH_VALUES];
  int n;
};

static struct tc_node *make_sized(struct graph_maker *m, tc_op op, int n_in, struct tc_node *const *in,
                                  int n_ints, const tc_sym *syms, int n_nums, const double *nums) {
  struct tc_error err = {0};
  const struct tc_attrs attrs = {syms, n_ints, nums, n_nums};
  struct tc_node *node = NULL;
  LOWERED_OK(tc_graph_add(m->g, op, n_in, in, &attrs, &node, &err), err);
  if (m->n < GRAPH_VALUES) m->values[m->n++] = node;
  return node;
}
static struct tc_node *make_node(struct graph_maker *m, tc_op op, int n_in, struct tc_node *const *in,
                                 int n_ints, const int64_t *ints, int n_nums, const double *nums) {
  tc_sym syms[TC_MAX_ATTRS];
  for (int i = 0; i < n_ints; i++) syms[i] = tc_sym_const(ints[i]);
  return make_sized(m, op, n_in, in, n_ints, syms, n_nums, nums);
}
static struct tc_node *make_unary(struct graph_maker *m, tc_op op, struct tc_node *x) {
  return make_node(m, op, 1, &x, 0, NULL, 0, NULL);
}

static int64_t node_size(const struct tc_node *node, int d) { return tc_sym_hint(node->meta.sizes[d]); }
static int64_t node_numel(const struct tc_node *node) {
  int64_t n = 1;
  for (int d = 0; d < node->meta.ndim; d++) n *= node_size(node, d);
  return n;
}

/* An input: dense, or with a gap, or transposed, or broadcast in memory. */
static struct tc_node *make_input_node(struct graph_maker *m, tc_dtype dtype, int ndim, const tc_sym *sizes) {
  struct tc_meta meta = {.dtype = dtype, .ndim = ndim};
  tc_sym strides[TC_MAX_DIMS], stride = tc_sym_const(random_below(4) ? 1 : 2);
  const bool column_major = random_below(4) == 0;
  for (int i = 0; i < ndim; i++) {
    const int d = column_major ? i : ndim - 1 - i;
    meta.sizes[d] = sizes[d];
    strides[d] = random_below(12) ? stride : tc_sym_const(0);
    stride = tc_sym_mul(m->g->tab, stride, sizes[d]);
  }
  struct tc_node *node = tc_graph_input(m->g, &meta, strides);
  assert_non_null(node);
  if (m->n < GRAPH_VALUES) m->values[m->n++] = node;
  return node;
}

/* A size, or the variable whose hint it is. */
static tc_sym size_or_variable(struct graph_maker *m, int64_t size) {
  if (m->symbolic && size == GRAPH_S0) return tc_sym_size(m->g->tab, 0, GRAPH_S0);
  return m->symbolic && size == GRAPH_S1 ? tc_sym_size(m->g->tab, 1, GRAPH_S1) : tc_sym_const(size);
}

static struct tc_node *random_input(struct graph_maker *m) {
  tc_sym sizes[TC_MAX_DIMS];
  const int ndim = 1 + (int)random_below(4);
  for (int d = 0; d < ndim; d++) sizes[d] = size_or_variable(m, 1 + random_below(GRAPH_SIZES));
  return make_input_node(m, m->dtype, ndim, sizes);
}

/* A float value of rank at least `rank`; NULL when there is none. */
static struct tc_node *pick(struct graph_maker *m, int rank) {
  for (int tries = 0; tries < 20; tries++) {
    const int64_t recent =
        random_below(2) ? m->n - 1 - random_below(m->n < 4 ? m->n : 4) : random_below(m->n);
    struct tc_node *node = m->values[recent];
    if (node->meta.dtype == m->dtype && node->meta.ndim >= rank && node_numel(node) <= GRAPH_MAX_NUMEL)
      return node;
  }
  return NULL;
}

static bool can_broadcast(const struct tc_node *a, const struct tc_node *b) {
  int64_t numel = 1;
  for (int i = 1; i <= a->meta.ndim || i <= b->meta.ndim; i++) {
    const tc_sym one = tc_sym_const(1), x = i <= a->meta.ndim ? a->meta.sizes[a->meta.ndim - i] : one;
    const tc_sym y = i <= b->meta.ndim ? b->meta.sizes[b->meta.ndim - i] : one;
    if (!tc_sym_same(x, y) && !tc_sym_is(x, 1) && !tc_sym_is(y, 1)) return false;
    numel *= tc_sym_hint(x) > tc_sym_hint(y) ? tc_sym_hint(x) : tc_sym_hint(y);
  }
  return numel <= GRAPH_MAX_NUMEL;
}

/* Something that broadcasts with x: an old value, x itself, a vector of its last size, a scalar. */
static struct tc_node *partner(struct graph_maker *m, struct tc_node *x) {
  for (int tries = 0; tries < 6; tries++) {
    struct tc_node *y = pick(m, 0);
    if (y && can_broadcast(x, y)) return y;
  }
  if (random_below(2) && x->meta.ndim) {
    return make_input_node(m, m->dtype, 1, &x->meta.sizes[x->meta.ndim - 1]);
  }
  const int64_t ints[] = {(int64_t)m->dtype, 0};
  const double value = random_real();
  return make_node(m, TC_OP_full, 0, NULL, 2, ints, 1, &value);
}

static void add_pointwise(struct graph_maker *m) {
  static const tc_op unary[] = {TC_OP_neg, TC_OP_abs,  TC_OP_relu,    TC_OP_sin,
                                TC_OP_cos, TC_OP_tanh, TC_OP_sigmoid, TC_OP_erf};
  static const tc_op binary[] = {TC_OP_add,     TC_OP_sub, TC_OP_mul, TC_OP_maximum,
                                 TC_OP_minimum, TC_OP_add, TC_OP_mul};
  struct tc_node *x = pick(m, 0);
  if (!x) return;
  if (random_below(2)) {
    make_unary(m, unary[random_below(sizeof unary / sizeof *unary)], x);
    return;
  }
  struct tc_node *in[3] = {x, partner(m, x)};
  if (random_below(6)) {
    make_node(m, binary[random_below(sizeof binary / sizeof *binary)], 2, in, 0, NULL, 0, NULL);
    return;
  }
  struct tc_node *condition = make_node(m, random_below(2) ? TC_OP_gt : TC_OP_le, 2, in, 0, NULL, 0, NULL);
  in[2] = in[1], in[1] = in[0], in[0] = condition;
  make_node(m, TC_OP_where, 3, in, 0, NULL, 0, NULL);
}

static void add_reduction(struct graph_maker *m) {
  static const tc_op ops[] = {TC_OP_sum, TC_OP_amax, TC_OP_amin, TC_OP_sum, TC_OP_amax};
  struct tc_node *x = pick(m, 1);
  if (!x) return;
  int64_t ints[TC_MAX_DIMS + 1] = {random_below(2)};
  int n = 1;
  if (m->dtype == TC_F64 && random_below(8) == 0) { /* a position: in F32 rounding may choose another */
    ints[n++] = random_below(x->meta.ndim);
    const int64_t cast = (int64_t)m->dtype;
    struct tc_node *position =
        make_node(m, random_below(2) ? TC_OP_argmax : TC_OP_argmin, 1, &x, n, ints, 0, NULL);
    make_node(m, TC_OP_cast, 1, &position, 1, &cast, 0, NULL);
    return;
  }
  for (int d = 0; d < x->meta.ndim; d++)
    if (random_below(2)) ints[n++] = d;
  if (n == 1) ints[n++] = random_below(x->meta.ndim);
  struct tc_node *y = make_node(m, ops[random_below(sizeof ops / sizeof *ops)], 1, &x, n, ints, 0, NULL);
  if (random_below(2)) make_unary(m, TC_OP_tanh, y);
  struct tc_node *both[] = {x, y};
  if (random_below(2) && can_broadcast(x, y)) make_node(m, TC_OP_sub, 2, both, 0, NULL, 0, NULL);
}

/* Merges two neighbouring dims, or splits one. */
static void add_reshape(struct graph_maker *m, struct tc_node *x) {
  tc_sym sizes[TC_MAX_DIMS];
  int n = 0;
  const int64_t at = random_below(x->meta.ndim);
  const bool merge = random_below(2);
  for (int d = 0; d < x->meta.ndim; d++) {
    const tc_sym size = x->meta.sizes[d], two = tc_sym_const(2);
    if (merge && d == at + 1)
      sizes[n - 1] = tc_sym_mul(m->g->tab, sizes[n - 1], size);
    else if (!merge && d == at && tc_sym_is(tc_sym_mod(m->g->tab, size, two), 0) && x->meta.ndim < 6)
      sizes[n++] = tc_sym_div(m->g->tab, size, two), sizes[n++] = two;
    else
      sizes[n++] = size;
  }
  make_sized(m, random_below(2) ? TC_OP_view : TC_OP_reshape, 1, &x, n, sizes, 0, NULL);
}

static void add_view(struct graph_maker *m) {
  struct tc_node *x = pick(m, 1);
  if (!x) return;
  const int ndim = x->meta.ndim;
  int64_t ints[2 * TC_MAX_DIMS];
  switch (random_below(5)) {
    case 0:
    case 1: add_reshape(m, x); return;
    case 2:
      for (int d = 0; d < ndim; d++) ints[d] = d;
      for (int d = ndim - 1; d > 0; d--) {
        const int64_t other = random_below(d + 1), kept = ints[d];
        ints[d] = ints[other], ints[other] = kept;
      }
      make_node(m, TC_OP_permute, 1, &x, ndim, ints, 0, NULL);
      return;
    case 3: {
      const int64_t dim = random_below(ndim), size = node_size(x, (int)dim), step = 1 + random_below(2),
                    start = random_below(size);
      const int64_t most = (size - start + step - 1) / step;
      const int64_t slice[] = {dim, start, 1 + random_below(most), step};
      const tc_sym whole = x->meta.sizes[dim];
      if (!tc_sym_is_const(whole)) { /* all from the first or second element on */
        const tc_sym first = tc_sym_const(start % 2), rest = tc_sym_sub(m->g->tab, whole, first);
        const tc_sym count =
            tc_sym_div(m->g->tab, tc_sym_add(m->g->tab, rest, tc_sym_const(step - 1)), tc_sym_const(step));
        make_sized(m, TC_OP_slice, 1, &x, 4, (tc_sym[]){tc_sym_const(dim), first, count, tc_sym_const(step)},
                   0, NULL);
        return;
      }
      make_node(m, TC_OP_slice, 1, &x, 4, slice, 0, NULL);
      return;
    }
    default:
      if (ndim < 5) {
        const int64_t dim = random_below(ndim + 1);
        struct tc_node *y = make_node(m, TC_OP_unsqueeze, 1, &x, 1, &dim, 0, NULL);
        tc_sym sizes[TC_MAX_DIMS];
        for (int d = 0; d <= ndim; d++) sizes[d] = y->meta.sizes[d];
        sizes[dim] = tc_sym_const(1 + random_below(3));
        make_sized(m, TC_OP_expand, 1, &y, ndim + 1, sizes, 0, NULL);
      }
  }
}

static void add_copy(struct graph_maker *m) {
  struct tc_node *x = pick(m, 1);
  if (!x) return;
  const int ndim = x->meta.ndim;
  int64_t ints[2 * TC_MAX_DIMS];
  const double value = random_below(2) ? 0 : random_real();
  const int64_t dim = random_below(ndim), diagonal = random_below(5) - 2;
  struct tc_node *pair[] = {x, x};
  switch (random_below(5)) {
    case 0: make_unary(m, TC_OP_clone, x); return;
    case 1: make_node(m, TC_OP_flip, 1, &x, 1, &dim, 0, NULL); return;
    case 2:
      for (int d = 0; d < ndim; d++) ints[2 * d] = random_below(3), ints[2 * d + 1] = random_below(2);
      make_node(m, TC_OP_pad, 1, &x, 2 * ndim, ints, 1, &value);
      return;
    case 3:
      if (random_below(2)) pair[1] = make_unary(m, TC_OP_sin, x);
      make_node(m, TC_OP_cat, 2, pair, 1, &dim, 0, NULL);
      return;
    default:
      if (ndim >= 2) make_node(m, random_below(2) ? TC_OP_tril : TC_OP_triu, 1, &x, 1, &diagonal, 0, NULL);
  }
}

static void add_gather(struct graph_maker *m) {
  struct tc_node *x = pick(m, 1);
  if (!x) return;
  tc_sym sizes[TC_MAX_DIMS];
  int dim = 0;
  while (dim < x->meta.ndim && (node_size(x, dim) < RANDOM_INDEX || !tc_sym_is_const(x->meta.sizes[dim])))
    dim++;
  if (dim == x->meta.ndim) return;
  const int64_t ints[] = {dim};
  const tc_sym count = size_or_variable(m, 1 + random_below(GRAPH_SIZES));
  if (random_below(2)) {
    struct tc_node *in[] = {x, make_input_node(m, TC_I64, 1, &count)};
    make_node(m, dim == 0 && x->meta.ndim == 2 ? TC_OP_embedding : TC_OP_index_select, 2, in,
              dim == 0 && x->meta.ndim == 2 ? 0 : 1, ints, 0, NULL);
    return;
  }
  for (int d = 0; d < x->meta.ndim; d++) {
    const tc_sym some = tc_sym_const(1 + random_below(node_size(x, d)));
    sizes[d] = tc_sym_is_const(x->meta.sizes[d]) ? some : x->meta.sizes[d];
  }
  struct tc_node *in[] = {x, make_input_node(m, TC_I64, x->meta.ndim, sizes)};
  make_node(m, TC_OP_gather, 2, in, 1, ints, 0, NULL);
}

static void add_matmul(struct graph_maker *m) {
  struct tc_node *x = pick(m, 2);
  if (!x) return;
  const int ndim = x->meta.ndim;
  int64_t ints[TC_MAX_DIMS];
  struct tc_node *in[2] = {x};
  if (random_below(2)) { /* x · xᵀ */
    for (int d = 0; d < ndim; d++) ints[d] = d;
    ints[ndim - 1] = ndim - 2, ints[ndim - 2] = ndim - 1;
    in[1] = make_node(m, TC_OP_permute, 1, &x, ndim, ints, 0, NULL);
  } else {
    const tc_sym sizes[] = {x->meta.sizes[ndim - 1], size_or_variable(m, 1 + random_below(GRAPH_SIZES))};
    in[1] = make_input_node(m, m->dtype, 2, sizes);
  }
  struct tc_node *y = make_node(m, TC_OP_matmul, 2, in, 0, NULL, 0, NULL);
  if (random_below(2) && y->meta.ndim >= 3) { /* heads back in place */
    for (int d = 0; d < y->meta.ndim; d++) ints[d] = d;
    ints[y->meta.ndim - 3] = y->meta.ndim - 2, ints[y->meta.ndim - 2] = y->meta.ndim - 3;
    y = make_node(m, TC_OP_permute, 1, &y, y->meta.ndim, ints, 0, NULL);
  }
  make_unary(m, TC_OP_tanh, y);
}

static struct tc_graph *make_graph(struct tc_arena *arena, uint64_t seed, tc_dtype dtype, bool symbolic) {
  random_state = seed * 2654435761u + 88172645463325252u;
  struct graph_maker m = {.g = tc_graph_new(arena), .dtype = dtype, .symbolic = symbolic};
  const int64_t steps = 3 + random_below(22);
  random_input(&m);
  for (int64_t i = 0; i < steps && m.n < GRAPH_VALUES - 8; i++) {
    switch (random_below(12)) {
      case 0: random_input(&m); break;
      case 1:
      case 2: add_reduction(&m); break;
      case 3:
      case 4: add_view(&m); break;
      case 5: add_copy(&m); break;
      case 6: add_gather(&m); break;
      case 7: add_matmul(&m); break;
      default: add_pointwise(&m);
    }
  }
  for (int64_t i = 1 + random_below(4); i > 0; i--)
    tc_graph_output(m.g, i == 1 ? m.values[m.n - 1] : m.values[random_below(m.n)]);
  tc_graph_count_uses(m.g);
  tc_graph_remove_unused(m.g);
  return m.g;
}

static inline struct tc_graph *random_graph(struct tc_arena *arena, uint64_t seed, tc_dtype dtype) {
  return make_graph(arena, seed, dtype, false);
}

/* A graph over s0 and s1, which was scheduled once, against the reference at each row of sizes. Counts those
 * that its facts let pass. */
static inline void run_symbolic_rows(struct lowered *l, const struct tc_graph *g, const int64_t (*rows)[2],
                                     int n_rows, int parts, double scale, int *served, int *refused) {
  for (int row = 0; row < n_rows; row++) {
    bool hold = true;
    for (int i = 0; i < tc_sym_fact_count(g->tab) && hold; i++) {
      const struct tc_sym_fact fact = tc_sym_fact_at(g->tab, i);
      hold = tc_sym_fact_true(&fact, rows[row]);
    }
    ++*(hold ? served : refused);
    if (!hold) continue;
    struct tc_arena *arena = tc_arena_new(tc_alloc_system());
    for (int i = 0; i < 2; i++) lowered_sizes[i] = rows[row][i];
    run_against(l->list, graph_at(arena, l->graph, lowered_sizes), parts, scale);
    tc_arena_free(arena);
  }
}

/* A random one. */
static inline void run_symbolic_graph(uint64_t seed, tc_dtype dtype, bool fuse, double scale, int *served,
                                      int *refused) {
  static const int64_t rows[][2] = {{GRAPH_S0, GRAPH_S1}, {2, 2}, {2, 5}, {9, 4}, {23, 17}};
  struct lowered l = {.arena = tc_arena_new(tc_alloc_system())};
  struct tc_graph *g = make_graph(l.arena, seed, dtype, true);
  (void)tc_sym_size(g->tab, 1, GRAPH_S1);
  lower_graph(&l, g, fuse);
  run_symbolic_rows(&l, g, rows, (int)(sizeof rows / sizeof *rows), 1 + (int)(seed % 3), scale, served,
                    refused);
  tc_arena_free(l.arena);
}

#endif
