/* The scheduler's own state. Private to sched/.
 *
 * Loops become *anchors* (values that fusion places) or are inlined into whoever reads them. Anchors are
 * gathered in clusters; a cluster becomes one kernel or one library call. Everything lies in the arena. */
#ifndef TC_SCHED_SCHEDULE_H
#define TC_SCHED_SCHEDULE_H

#include "lower/loops.h"
#include "lower/walk.h"
#include "sched/sched.h"

/* An anchor reads `loop` at tuple `index` over its own variables; `indexed`: at a place that data decide. */
struct tc_read {
  int loop, index;
  bool indexed;
};

struct tc_info {             /* of a loop, by its id */
  bool live, anchor, stored; /* stored: has memory of its own (or is an input) */
  bool output;
  int rank;                /* position in s->order */
  int n_readers, n_tuples; /* loops that read it; different (reader, tuple) pairs */
  int last_reader;
  bool pinned;                   /* read by a library call, or at places that data decide: needs memory */
  bool broadcast;                /* read by a loop with more points */
  int first_operand, n_operands; /* in s->operands: the loops that its value (or product) reads, in order,
                                    once for each place */
  int cost, ops, loads;          /* of one value, with what is inlined into it */
  const struct tc_expr *flat;    /* anchors: the value over other anchors, inputs and library calls */
  TC_VEC(struct tc_read) reads;
  int cluster;
  int name_mark;            /* name.c: the kernel that was last named after it */
  int n_results;            /* results of the graph that are views of it */
  tc_sym bind[TC_MAX_DIMS]; /* its variables (then its inner ones) as variables of its cluster */
  tc_sym strides[TC_MAX_DIMS];
  int slot;
};

struct tc_cluster {
  bool gone;
  bool plain;                 /* beyond fuel.kernels: made without what is optional */
  bool planted;               /* wrong on purpose: switch plant.fusion */
  const struct tc_loop *gemm; /* a library call, or NULL */
  int n_dims;
  tc_sym vars[TC_MAX_DIMS], sizes[TC_MAX_DIMS];
  bool reduced[TC_MAX_DIMS]; /* dims that members reduce (or, without reductions, that some members lack) */
  TC_VEC(int) members;       /* by rank */
  int ops;
  unsigned mark;         /* of a walk */
  unsigned depends_mark; /* equal to s->depends_on: it is known to need that cluster through others */
  struct tc_cluster *before, *after; /* in an order where what is read comes first */
  uint64_t place;                    /* grows along that order */
};

struct tc_shared_var {
  int position;
  tc_sym extent, var;
};

struct tc_taken_name {
  const char *name;
  int next; /* the number to try for the next of this name */
};

struct tc_sched {
  struct tc_graph *g;
  struct tc_loops *loops;
  struct tc_symtab *tab;
  const struct tc_alloc *alloc;
  const struct tc_target *target;
  const struct tc_config *config;
  struct tc_error *err;
  int n_loops, cap_loops;
  struct tc_info *info;
  TC_VEC(int) operands; /* of loops: see tc_info */
  int n_order, *order;  /* live loops, what is read first */
  TC_VEC(struct tc_cluster *) clusters;
  struct tc_cluster *earliest;                  /* in the clusters' order */
  TC_VEC(struct tc_cluster *) pending, between; /* order.c: of a search */
  unsigned mark, depends_on;
  int n_units, *units; /* clusters in launch order */
  TC_VEC(struct tc_shared_var)
  vars; /* kernel variables, shared between kernels so that equal ones are equal */
  struct tc_launch_list *list;
  TC_VEC(struct tc_slot) slots; /* the list's, while they grow */
  struct tc_hash_index code_index, name_index;
  TC_VEC(struct tc_taken_name) names; /* of codes */
  int kind_slots[TC_SLOT_KINDS];      /* slot of a special kind, or -1 */
  int namings;
  struct tc_arena *scratch;        /* of the draft that is under way, or NULL */
  const struct tc_cluster *making; /* the kernel that is under way, or NULL */
  bool *plain;                     /* by entry of the list: its kernel is plain */
  struct tc_walk walk;             /* over the loops' expressions */
};

enum { TC_SPARE_BUFFERS = 16 }; /* of a kernel: for results, scratch rows, status, generator */
/* Buffers that one kernel may read: as configured, but never more than a kernel can hold. */
static inline int64_t tc_sched_max_reads(const struct tc_sched *s) {
  const int64_t most = TC_MAX_KERNEL_BUFFERS - TC_SPARE_BUFFERS;
  return s->config->fuse_max_reads < most ? s->config->fuse_max_reads : most;
}

/* s->walk from the root. */
static inline bool tc_sched_walk(struct tc_sched *s, enum tc_walk_order order, const struct tc_expr *root) {
  return tc_walk_begin(&s->walk, order, tc_expr_count(s->loops->exprs)) && tc_walk_from(&s->walk, root);
}

static inline struct tc_loop *tc_loop_at(const struct tc_sched *s, int id) {
  return s->loops->items.data[id];
}
/* The status of something that could not be made: TC_NOMEM; where memory is not out, a symbol is INVALID:
 * TC_LIMIT. */
tc_status tc_sched_failed(struct tc_sched *s);
int tc_sched_sizes(const struct tc_sched *s); /* number of the graph's size variables */

/* An optional transformation asks before it is made, with what it is of and does (for people): false where
 * its fuel is spent, or the kernel under way is plain. `loop` NULL: that kernel. `with` may be NULL. */
bool tc_sched_may(struct tc_sched *s, enum tc_fuel_kind kind, const struct tc_loop *loop, const char *does,
                  const struct tc_loop *with);

/* cost.c: what an operator costs a value, in vector instructions or so. */
int tc_expr_cost(enum tc_expr_op op);
enum { TC_COST_TRANSCENDENTAL = 12 };

/* layout.c: strides of every loop; library calls get operands that they can take. */
tc_status tc_sched_layout(struct tc_sched *s);
/* Dense strides of a loop, in the order of its dims. */
void tc_row_major(const struct tc_sched *s, const struct tc_loop *loop);
/* split.c: long reductions with few results become two stages. */
tc_status tc_sched_split(struct tc_sched *s);
/* anchors.c: order, liveness, which loops are inlined, and the anchors' flat values. */
tc_status tc_sched_anchors(struct tc_sched *s);
/* Fills reads from the anchor's flat value; false when memory is out. */
bool tc_anchor_reads(struct tc_sched *s, int id);
/* refine.c: reshapes between anchors become common dims. */
tc_status tc_sched_refine(struct tc_sched *s);
/* fusion.c: clusters, and their order. */
tc_status tc_sched_fuse(struct tc_sched *s);
static inline struct tc_cluster *tc_cluster_of(const struct tc_sched *s, int loop) {
  return s->info[loop].cluster < 0 ? NULL : s->clusters.data[s->info[loop].cluster];
}
/* order.c: the clusters' order as they are made. */
void tc_order_begin(struct tc_sched *s);
/* May two clusters merge, as no path leads from one to the other through a third? False when memory is
 * out. */
bool tc_order_apart(struct tc_sched *s, struct tc_cluster *a, struct tc_cluster *b, bool *apart);
/* Right after it has said so: `kept` stands for both. */
void tc_order_join(struct tc_sched *s, struct tc_cluster *kept, struct tc_cluster *gone);
/* Fills s->units; false when memory is out. */
bool tc_order_units(struct tc_sched *s);
/* align.c: can two clusters share one iteration space? into[i] is a's dim for b's dim i, or -1; reduced[]:
 * over the dims of whichever has more. */
struct tc_alignment {
  bool swap;
  int into[TC_MAX_DIMS];
  bool reduced[TC_MAX_DIMS];
};
bool tc_cluster_align(const struct tc_sched *s, const struct tc_cluster *a, const struct tc_cluster *b,
                      struct tc_alignment *out);
/* Variable of an anchor's tuple coordinate in its cluster; INVALID when it is no plain variable. */
tc_sym tc_read_at(const struct tc_sched *s, int reader, const struct tc_read *read, int dim);
/* launch.c: kernels, library calls, outputs. */
tc_status tc_sched_launch(struct tc_sched *s);
/* tile.c: entries that run tile by tile together. */
tc_status tc_sched_tile(struct tc_sched *s);
/* plan.c: the pool's offsets, and each entry's dependences. */
tc_status tc_sched_plan(struct tc_sched *s);

/* Elements of a loop's memory, and the linear address of a tuple in it. */
tc_sym tc_loop_elements(const struct tc_sched *s, int loop);
tc_sym tc_loop_address(const struct tc_sched *s, int loop, const struct tc_index *index);
/* The anchor's variables, then its inner ones. */
int tc_loop_vars(const struct tc_loop *loop, tc_sym vars[TC_MAX_DIMS]);

/* gemm.c. An operand of a library call, seen as a batch of matrices; variables are 0 where a size is 1. */
struct tc_operand_dims {
  tc_sym row, col, rows, cols;
  int n_batch;
  tc_sym batch[TC_MAX_DIMS];
};
/* Strides of the matrix in its loop's memory; false when it has none, or none that the library takes. */
bool tc_gemm_operand(const struct tc_sched *s, const struct tc_view *view, const struct tc_operand_dims *dims,
                     struct tc_gemm_operand *out, tc_sym *batch_strides);
void tc_gemm_dims(const struct tc_loop *gemm, struct tc_operand_dims *a, struct tc_operand_dims *b,
                  struct tc_operand_dims *c);
tc_status tc_gemm_launch(struct tc_sched *s, const struct tc_loop *loop, struct tc_launch *out);

/* slots.c: the slot of a loop's memory (made at first use), or of a special kind; -1 when memory is out. */
int tc_slot_of_loop(struct tc_sched *s, int loop);
int tc_slot_of_kind(struct tc_sched *s, enum tc_slot_kind kind);

/* name.c: a C identifier from the operations of a cluster; NULL when memory is out. Fills the entry's n_ops
 * and fused. */
const char *tc_cluster_name(struct tc_sched *s, const struct tc_cluster *c, struct tc_launch *out);
/* The name, or the name and a number: as no code of the list has it yet. NULL when memory is out. */
const char *tc_unique_name(struct tc_sched *s, const char *stem);

#endif
