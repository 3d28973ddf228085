/* A kernel: what the scheduler hands to a code generator.
 *
 *     for item in [first, last):                     -- one item: one point of the flattened outer dims
 *       for each phase in order:                     -- (or a block of lanes, see `lanes`)
 *         if phase.over_inner: for every point of the inner dims: reductions and stores
 *         else:                stores, once an item
 *
 * A reduction's result (ACC) may be used by later phases. Expressions are computed lane by lane.
 *
 * lanes = INNER: the last inner dim is the vector dimension; items are points of the outer dims
 * (with split_inner there is no outer dim, one inner dim, no reduction, and an item is an element).
 * lanes = OUTER: the last outer dim is the vector dimension; an item is `block` consecutive values of it
 * (the last block of a row may be short), and inner dims (if any) are loops around vector operations.
 *
 * A phase may belong to a part of one dim (see tc_phase): such phases store, and reduce nothing.
 *
 * In place: a WRITE buffer may be the memory of a READ buffer whose every load has exactly the store's
 * address and comes in no later phase; so all values of a point (or vector) are computed before its stores.
 *
 * Results must not depend on how items are divided among calls (threads): each item is independent, and
 * reductions run in an order fixed by sizes alone. */
#ifndef TC_SCHED_KERNEL_H
#define TC_SCHED_KERNEL_H

#include "base/limits.h"
#include "lower/expr.h"

enum tc_buffer_role {
  TC_ROLE_READ,
  TC_ROLE_WRITE,
  TC_ROLE_READ_WRITE,
  TC_ROLE_SCRATCH, /* row temporary, private to the calling thread; contents do not survive an item */
  TC_ROLE_STATUS,  /* int64_t[1]: kernels set byte f, to 1, for each enum tc_flag f that they raise */
  TC_ROLE_RNG
}; /* uint64_t[2]: seed, and the number of the graph's first draw */
struct tc_kernel_buffer {
  tc_dtype dtype; /* as stored */
  enum tc_buffer_role role;
  tc_sym elements; /* span that the kernel may touch, from the pointer on */
  bool stream;     /* written once, and too large to stay in a cache: non-temporal stores */
};
struct tc_kernel_dim {
  tc_sym var, extent;
}; /* var: an index symbol */

struct tc_kernel_store {
  int buffer;
  tc_sym address;              /* element, over the dims' variables */
  const struct tc_expr *value; /* converted to the buffer's dtype */
};
struct tc_kernel_reduction {
  enum tc_reduction op;
  int acc; /* number of the result, 0 … n_accs-1, unique in the kernel */
  const struct tc_expr *value;
  tc_sym index; /* ARGMAX, ARGMIN: the position that a lane stands for, over inner variables; else INVALID */
};
/* With `var` (one of the dims' variables; INVALID: none) the phase runs only where from ≤ var < to. With
 * turns it runs for each row of the table, in which columns[c], a symbol that its addresses use, is table[row
 * · n_columns + c]: the same body for many parts. columns[0] and columns[1] are then `from` and `to`, whose
 * parts are apart from one another and increase. */
struct tc_phase {
  bool over_inner;
  int n_reductions, n_stores;
  struct tc_kernel_reduction *reductions;
  struct tc_kernel_store *stores;
  tc_sym var, from, to;
  int n_turns, n_columns;
  tc_sym *columns;
  int64_t *table;
};
enum { TC_MAX_COLUMNS = 32 };

enum tc_lanes { TC_LANES_INNER, TC_LANES_OUTER };

struct tc_kernel {
  const char *name; /* fused_add_relu; a C identifier, unique in its launch list */
  int n_buffers, n_outer, n_inner, n_phases, n_accs, n_sizes;
  struct tc_kernel_buffer *buffers;
  struct tc_kernel_dim *outer, *inner;
  struct tc_phase *phases;
  enum tc_lanes lanes;
  bool split_inner;
  int64_t block; /* LANES_OUTER: lanes of one item; else 1 */
  bool product;  /* made of a matrix product: sums of products take fused multiply-add, and there are
                    accumulators enough */
  bool plain;  /* fuel.code: a generator leaves out what it may: loops for what repeats, copies of a body that
                  stores */
  int n_exprs; /* every expr id is below this */
  int n_ops;   /* operations per element, loads and stores included */
  uint64_t bytes, flops; /* moved and done by one run (by hints) */
};

/* The indices of `var` that a phase runs over, all turns together, by hints. */
int64_t tc_phase_reach(const struct tc_phase *phase);
/* How many items the kernel has. */
tc_sym tc_kernel_items(struct tc_symtab *tab, const struct tc_kernel *k);
void tc_kernel_print(struct tc_strbuf *out, const struct tc_kernel *k);
/* Structural hash with buffers, loops and expressions, without the name: equal kernels are compiled once. */
uint64_t tc_kernel_hash(const struct tc_kernel *k);
tc_status tc_kernel_verify(const struct tc_kernel *k, struct tc_error *err);

#endif
