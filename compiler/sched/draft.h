/* A kernel in the making: the values and stores of a cluster, then its loops. Private to sched/. */
#ifndef TC_SCHED_DRAFT_H
#define TC_SCHED_DRAFT_H

#include "sched/inline.h"

struct tc_draft_buffer {
  int loop;
  tc_dtype dtype;
  enum tc_buffer_role role;
  tc_sym elements;
}; /* loop: -1 for none */

/* A reduction or a store. Pass 0, 1, … run over the reduced dims in order; `row` ones once an item, at the
 * end. */
struct tc_draft_item {
  bool reduction, row;
  int pass;
  enum tc_reduction op;
  int acc;
  int buffer;
  tc_sym address;                      /* of a store; position of ARGMAX, ARGMIN */
  const struct tc_expr *value, *built; /* built: before keep.c rewrote it */
};

/* An address symbol as it was built (over the cluster's variables), and as the kernel will have it.
 * offsets[]: the symbols (as built) on which the data-dependent part of the address depends; any_offset: they
 * are too many to tell. */
struct tc_draft_address {
  tc_sym from, to;
  bool memory, store, any_offset;
  int bytes, n_offsets;
  tc_sym offsets[TC_MAX_DIMS];
};

struct tc_draft_dim {
  tc_sym var, size;
  bool reduced;
};
enum { TC_DRAFT_DIMS = 2 * TC_MAX_DIMS }; /* before collapsing */

/* An outer dim whose variable takes `count` values in each item: those of `items` · count and on, none beyond
 * extent - 1. */
struct tc_jam {
  int count;
  tc_sym var, items, extent;
};
enum { TC_JAMS = 2 };

/* A part of the dim that is split, or several that differ in constants alone (turns): as in struct tc_phase.
 * values[]: of the items, in order. */
struct tc_index_split {
  tc_sym from, to;
  int n_turns, n_columns;
  tc_sym *columns;
  int64_t *table;
  const struct tc_expr **values;
};

struct tc_draft {
  struct tc_sched *s;
  const struct tc_alloc *scratch; /* freed with the draft; a kernel takes nothing of it */
  struct tc_cluster *cluster;
  struct tc_expr_table
      *table; /* of the draft's values: small, so that arrays by expression are; it dies with the draft */
  struct tc_inliner in;
  struct tc_walk walk; /* over them */
  TC_VEC(struct tc_draft_buffer) buffers;
  TC_VEC(struct tc_draft_item) items;
  TC_VEC(struct tc_draft_address) addresses;
  int *acc_of;   /* by position in cluster->members; -1 */
  int *acc_pass; /* by acc */
  int n_accs, n_passes;
  bool has_row;  /* stores once an item */
  bool planted;  /* a wrong value is in it, on purpose */
  int *stage_of; /* by expression, where a long chain is cut into passes (stage.c); else NULL */
  int n_stages;
  struct tc_hash_index address_index;
  enum tc_product product; /* of a member that is a matrix product, or 0 */
  int n_jams,
      copies; /* decided by jam.c; copies: the product of their counts, so many results an item and lane */
  struct tc_jam jams[TC_JAMS];
  int n_splits, n_columns; /* decided by index_split.c; n_splits 0: nothing is split */
  tc_sym split_var;
  struct tc_index_split *splits;
  int n_dims;
  struct tc_draft_dim dims[TC_DRAFT_DIMS];
  /* decided by domain.c: */
  enum tc_lanes lanes;
  bool split_inner;
  int64_t block;
  int n_outer, n_inner;
  struct tc_kernel_dim outer[TC_DRAFT_DIMS], inner[TC_DRAFT_DIMS];
};

/* d->walk over the values of all items, in order; false when memory is out. */
bool tc_draft_walk(struct tc_draft *d, enum tc_walk_order order);

/* build.c: values, stores and passes of a cluster. */
tc_status tc_draft_build(struct tc_sched *s, struct tc_cluster *cluster, struct tc_arena *scratch,
                         struct tc_draft *d);
/* stage.c: a long chain over elements becomes several passes, if domain.c can cut its rows; which it then
 * says. */
tc_status tc_draft_stage(struct tc_draft *d);
void tc_draft_take_stages(struct tc_draft *d, bool possible);
/* domain.c: which loops run, in which order, and along which one vectors lie. */
tc_status tc_draft_domain(struct tc_draft *d);
/* dims.c: splits, orders and collapses the dims; *vector: the one along which vectors lie. False when memory
 * is out. */
bool tc_draft_order_dims(struct tc_draft *d, int lanes, int *vector);
/* The mean stride of a dim, weighted by bytes. */
double tc_draft_stride_key(const struct tc_draft *d, int dim);
/* keep.c: values that a later pass needs again are kept where recomputing is dear. */
tc_status tc_draft_keep(struct tc_draft *d);
/* jam.c: how many rows and columns of a matrix product an item takes. */
tc_status tc_draft_jam(struct tc_draft *d);
/* index_split.c: a dim along which the value is made of parts (cat, pad) becomes a phase for each part. */
tc_status tc_draft_index_split(struct tc_draft *d);
/* An address of the kernel as copy `copy` has it: 0 … d->copies - 1. */
tc_sym tc_draft_copy_address(const struct tc_draft *d, tc_sym address, int copy);
/* The variable that kernels share for a loop of this place and extent; INVALID when memory is out. */
tc_sym tc_draft_var(struct tc_sched *s, int position, tc_sym extent);
/* kernel.c: the kernel, in an expression table of its own; its buffers are the draft's, in order. */
tc_status tc_draft_finish(struct tc_draft *d, struct tc_kernel **out);
/* traffic.c: bytes, flops and operations of a kernel; which stores bypass the caches. */
tc_status tc_kernel_measure(struct tc_sched *s, struct tc_kernel *k);

/* addresses.c: collects them; false when memory is out. */
bool tc_draft_addresses(struct tc_draft *d);
/* Replaces variables in all addresses. */
void tc_draft_substitute(struct tc_draft *d, int n, const tc_sym *from, const tc_sym *to);
/* What the kernel has for an address that was built; itself if it is of the kernel already. */
tc_sym tc_draft_address(const struct tc_draft *d, tc_sym built);

#endif
