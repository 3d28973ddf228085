/* Loops: what lowering makes of a graph. Private to lower/ and sched/.
 *
 * A loop has one value for each point of its dimensions; dimensions whose size is the constant 1 are
 * left out, so that squeezing and unsqueezing vanish. In a loop's expression a LOAD's `buffer` is the
 * id of another loop (a smaller one), and its `address` the constant id of an interned index tuple
 * (tc_loops_index): one symbol for each dimension of the loop that is read, over the reader's variables.
 * A tuple may hold a `free` variable: the LOAD's operand 0 stands for it (gather).
 *
 * Ownership: the graph's arena. Threads: one at a time. */
#ifndef TC_LOWER_LOOPS_H
#define TC_LOWER_LOOPS_H

#include "base/fuel.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "base/products.h"
#include "base/vec.h"
#include "lower/lower.h"

enum tc_loop_kind { TC_LOOP_INPUT, TC_LOOP_POINTWISE, TC_LOOP_REDUCTION, TC_LOOP_GEMM };

struct tc_index {
  int n;
  tc_sym at[TC_MAX_DIMS];
  tc_sym free;   /* INVALID, or the variable that a LOAD's operand 0 stands for */
  tc_sym linear; /* INVALID, or the element's address in the loop's memory where it is known more simply than
                    by the tuple */
};

/* Part of a loop's value as a tensor of its own: element (vars) is loop element `index`. */
struct tc_view {
  int loop, ndim;
  tc_sym vars[TC_MAX_DIMS], sizes[TC_MAX_DIMS];
  int index;
};

struct tc_loop {
  enum tc_loop_kind kind;
  int id;
  tc_dtype dtype; /* as stored */
  const struct tc_node *node;
  int ndim;
  tc_sym sizes[TC_MAX_DIMS], vars[TC_MAX_DIMS];
  int input;                   /* INPUT: its number */
  tc_sym strides[TC_MAX_DIMS]; /* INPUT */
  const struct tc_expr *value; /* POINTWISE, REDUCTION */
  enum tc_reduction reduction;
  int n_inner; /* REDUCTION: dimensions reduced; GEMM: 1, the sum's */
  tc_sym inner_sizes[TC_MAX_DIMS], inner_vars[TC_MAX_DIMS];
  struct tc_view a, b;     /* GEMM: over vars and inner_vars[0] */
  int row_dim, col_dim;    /* GEMM: which of dims is the row, the column; -1 where that size is 1 */
  enum tc_product product; /* REDUCTION: of a matrix product that is computed so; else 0 */
};

struct tc_loops {
  struct tc_arena *arena;
  struct tc_symtab *tab;
  struct tc_expr_table *exprs;
  struct tc_graph *graph;
  TC_VEC(struct tc_loop *) items;
  TC_VEC(struct tc_index) indices;
  struct tc_hash_index by_index; /* over `indices` */
  struct tc_fuel *fuel;          /* of the whole compile */
  struct tc_view *outputs;       /* one for each output of the graph */
};

struct tc_loops *tc_loops_new(struct tc_graph *g);
/* A fresh loop of a node, with the variables of its sizes; NULL when memory is out. `node` may be NULL. */
struct tc_loop *tc_loops_add(struct tc_loops *loops, enum tc_loop_kind kind, tc_dtype dtype, int ndim,
                             const tc_sym *sizes, const struct tc_node *node);
/* Id of the interned tuple; -1 when memory is out or a symbol is INVALID. */
int tc_loops_index(struct tc_loops *loops, const struct tc_index *index);
/* LOAD of a loop at an index tuple; `offset` and `predicate` may be NULL. */
const struct tc_expr *tc_loops_load(struct tc_loops *loops, const struct tc_loop *loop,
                                    const struct tc_index *index, const struct tc_expr *offset,
                                    const struct tc_expr *predicate);
static inline const struct tc_index *tc_load_index(const struct tc_loops *loops, const struct tc_expr *load) {
  return &loops->indices.data[tc_sym_value(load->address)];
}
/* A fresh index variable; a dimension of size 1 has none and is 0. */
tc_sym tc_loops_var(struct tc_loops *loops, tc_sym size);
/* Product of sizes. */
tc_sym tc_loops_numel(struct tc_symtab *tab, int n, const tc_sym *sizes);

#endif
