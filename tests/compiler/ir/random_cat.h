/* Random concatenations: of inputs, views, copies and computed parts, many or few, long, short and empty,
 * along any dimension; the same part several times, concatenations of concatenations; read again by what
 * follows, and results themselves. With `symbolic`, some parts have the sizes s0 and s1 along the
 * dimension. */
#ifndef TESTS_IR_RANDOM_CAT_H
#define TESTS_IR_RANDOM_CAT_H

#include "tests/compiler/ir/random_graph.h"

enum { CAT_S0 = 60, CAT_S1 = 35 /* hints */, CAT_PARTS = 48, CAT_LONGEST = 50, CAT_MAX_NUMEL = 8000 };

struct cat_maker {
  struct graph_maker m;
  int ndim, dim;
  tc_sym sizes[TC_MAX_DIMS];
  struct tc_node *source;
};

static tc_sym cat_size(struct cat_maker *c) {
  const int64_t choice = c->m.symbolic ? random_below(4) : 3;
  if (choice < 2) return tc_sym_size(c->m.g->tab, (int)choice, choice ? CAT_S1 : CAT_S0);
  return tc_sym_const(random_below(4) ? 1 + random_below(CAT_LONGEST) : random_below(3));
}

/* Part of the one source, whose size along the dimension is constant. */
static struct tc_node *cat_slice(struct cat_maker *c) {
  const int64_t size = node_size(c->source, c->dim), step = 1 + random_below(2), start = random_below(size);
  const int64_t most = (size - start + step - 1) / step,
                ints[] = {c->dim, start, random_below(6) ? 1 + random_below(most) : 0, step};
  return make_node(&c->m, TC_OP_slice, 1, &c->source, 4, ints, 0, NULL);
}

static struct tc_node *cat_input(struct cat_maker *c) {
  tc_sym sizes[TC_MAX_DIMS];
  for (int d = 0; d < c->ndim; d++) sizes[d] = d == c->dim ? cat_size(c) : c->sizes[d];
  if (random_below(5)) return make_input_node(&c->m, c->m.dtype, c->ndim, sizes);
  tc_sym ones[TC_MAX_DIMS]; /* broadcast */
  for (int d = 0; d < c->ndim; d++) ones[d] = tc_sym_const(1);
  struct tc_node *one = make_input_node(&c->m, c->m.dtype, c->ndim, ones);
  return make_sized(&c->m, TC_OP_expand, 1, &one, c->ndim, sizes, 0, NULL);
}

static struct tc_node *cat_part(struct cat_maker *c) {
  const int64_t dim = c->dim;
  struct tc_node *x = random_below(2) ? cat_slice(c) : cat_input(c);
  switch (random_below(4)) {
    case 0: return make_unary(&c->m, TC_OP_sin, x);
    case 1: return make_node(&c->m, TC_OP_flip, 1, &x, 1, &dim, 0, NULL);
    default: return x;
  }
}

static struct tc_node *cat_of_parts(struct cat_maker *c, int most) {
  struct tc_node *parts[CAT_PARTS];
  const int64_t dim = c->dim, wanted = 2 + random_below(most - 1), same = random_below(3);
  int n = 0;
  for (int64_t numel = 0; n < wanted && numel < CAT_MAX_NUMEL; n++) {
    const bool again = n && random_below(8) == 0;
    if (same && !again)
      parts[n] = cat_slice(c); /* alike, but for where they lie */
    else
      parts[n] = again ? parts[random_below(n)] : cat_part(c);
    if (same == 2) parts[n] = make_node(&c->m, TC_OP_flip, 1, &parts[n], 1, &dim, 0, NULL);
    numel += node_numel(parts[n]);
  }
  return make_node(&c->m, TC_OP_cat, n, parts, 1, &dim, 0, NULL);
}

static struct tc_node *cat_reader(struct cat_maker *c, struct tc_node *x) {
  const int64_t dim = c->dim, size = node_size(x, c->dim), none = random_below(size + 1);
  const int64_t slice[] = {dim, none, size - none, 1}, sum[] = {0, dim};
  int64_t pads[2 * TC_MAX_DIMS];
  const double value = 1.5;
  struct tc_node *both[] = {x, x};
  for (int d = 0; d < c->ndim; d++) pads[2 * d] = random_below(3), pads[2 * d + 1] = random_below(3);
  switch (random_below(6)) {
    case 0: return make_unary(&c->m, TC_OP_relu, x);
    case 1:
      both[1] = make_input_node(&c->m, c->m.dtype, c->ndim, x->meta.sizes);
      return make_node(&c->m, TC_OP_add, 2, both, 0, NULL, 0, NULL);
    case 2:
      return tc_sym_is_const(x->meta.sizes[dim]) ? make_node(&c->m, TC_OP_slice, 1, &x, 4, slice, 0, NULL)
                                                 : x;
    case 3: return make_node(&c->m, TC_OP_pad, 1, &x, 2 * c->ndim, pads, 1, &value);
    case 4: return make_node(&c->m, TC_OP_sum, 1, &x, 2, sum, 0, NULL);
    default: return make_node(&c->m, TC_OP_flip, 1, &x, 1, &dim, 0, NULL);
  }
}

static inline struct tc_graph *random_cat(struct tc_arena *arena, uint64_t seed, tc_dtype dtype,
                                          bool symbolic) {
  random_state = seed * 2654435761u + 88172645463325252u;
  struct cat_maker c = {.m = {.g = tc_graph_new(arena), .dtype = dtype, .symbolic = symbolic}};
  c.ndim = 1 + (int)random_below(3);
  c.dim = (int)random_below(c.ndim);
  for (int d = 0; d < c.ndim; d++)
    c.sizes[d] = tc_sym_const(random_below(4) ? 1 + random_below(5) : 16 + random_below(20));
  c.sizes[c.dim] = tc_sym_const(CAT_LONGEST);
  c.source = make_input_node(&c.m, dtype, c.ndim, c.sizes);
  struct tc_node *x = cat_of_parts(&c, random_below(2) ? CAT_PARTS : 4);
  const int64_t dim = c.dim;
  if (random_below(3) == 0) { /* of itself, and others */
    struct tc_node *parts[] = {x, cat_part(&c), x, cat_of_parts(&c, 4)};
    struct tc_node *y = make_node(&c.m, TC_OP_cat, 2 + (int)random_below(3), parts, 1, &dim, 0, NULL);
    if (random_below(2)) tc_graph_output(c.m.g, x);
    x = y;
  }
  struct tc_node *reader = random_below(3) ? cat_reader(&c, x) : x;
  if (reader != x && random_below(2)) tc_graph_output(c.m.g, x);
  tc_graph_output(c.m.g, reader);
  tc_graph_count_uses(c.m.g);
  tc_graph_remove_unused(c.m.g);
  return c.m.g;
}

/* One over s0 and s1, scheduled once, against the reference at several sizes. Counts those that its facts let
 * pass. */
static inline void run_symbolic_cat(uint64_t seed, tc_dtype dtype, double scale, int *served, int *refused) {
  static const int64_t rows[][2] = {{CAT_S0, CAT_S1}, {2, 2}, {17, 90}, {131, 3}};
  struct lowered l = {.arena = tc_arena_new(tc_alloc_system())};
  struct tc_graph *g = random_cat(l.arena, seed, dtype, true);
  (void)tc_sym_size(g->tab, 0, CAT_S0), (void)tc_sym_size(g->tab, 1, CAT_S1);
  lower_graph(&l, g, true);
  run_symbolic_rows(&l, g, rows, (int)(sizeof rows / sizeof *rows), 1 + (int)(seed % 3), scale, served,
                    refused);
  tc_arena_free(l.arena);
}

#endif
