/* A launch list: the whole of a compiled graph, as data. What runs it decides on threads and regions.
 *
 * A slot names memory: an input of the graph, an output (allocated fresh at each call), a part of the pool
 * (one allocation a compiled object, planned), a part of a tile's memory (the running thread's own), the
 * status word, or the generator's state. Entries run in order; `depends` lets a runner overlap them. Sizes
 * are symbols over the graph's size variables (sizes[] of the kernel ABI). */
#ifndef TC_SCHED_LAUNCH_H
#define TC_SCHED_LAUNCH_H

#include "sched/kernel.h"

enum tc_slot_kind {
  TC_SLOT_INPUT,
  TC_SLOT_OUTPUT,
  TC_SLOT_POOL,
  TC_SLOT_TILE,
  TC_SLOT_STATUS,
  TC_SLOT_RNG,
  TC_SLOT_KINDS
};
struct tc_slot {
  enum tc_slot_kind kind;
  int index; /* INPUT: of the graph's inputs; OUTPUT: number of the allocation, 0 … n_allocated-1 */
  tc_dtype dtype;
  tc_sym elements; /* INPUT: span from the input's first element; TILE: of all tiles together */
  tc_sym offset;   /* POOL: bytes from the pool's start, TILE: from the tile memory's; a multiple of 64 */
};

/* C = A·B (row-major, all strides in elements), batched; dtype F32, F64 or BF16 (sums in F32). A row or
 * column stride may be anything ≥ 0 where the library or a copy can serve it; C's column stride is 1. */
enum { TC_GEMM_BATCH = 4 };
struct tc_gemm_operand {
  int slot;
  tc_sym offset, row_stride, col_stride, batch_strides[TC_GEMM_BATCH];
};
struct tc_gemm {
  tc_dtype dtype;
  tc_sym m, n, k;
  int n_batch;
  tc_sym batch[TC_GEMM_BATCH];
  struct tc_gemm_operand a, b, c;
};

enum tc_launch_kind { TC_LAUNCH_KERNEL, TC_LAUNCH_GEMM };
struct tc_launch {
  enum tc_launch_kind kind;
  /* KERNEL: */
  int code;   /* of list->codes: equal kernels share one */
  int *slots; /* one for each kernel buffer; -1 for SCRATCH */
  tc_sym items;
  tc_sym work; /* elements processed by one run: decides the number of threads */
  /* GEMM: */
  struct tc_gemm gemm;
  int n_depends, *depends; /* entries that must have finished */
  const char *label;       /* "fused_add_relu", "matmul [8, 1024]x[1024, 4096]" */
  uint64_t bytes, flops;
  int n_ops;         /* graph operations that this entry stands for */
  const char *fused; /* their names, producers first: "add relu" */
};
struct tc_code {
  const struct tc_kernel *kernel; /* NULL in a list loaded from the cache */
  const char *symbol;             /* in the blob */
  const char *generator;          /* "llvm", "null" */
  int n_buffers;
  enum tc_buffer_role *roles;
  tc_sym *scratch_bytes; /* a buffer, by role SCRATCH (else INVALID) */
};
/* Entries [first, first + count) that run tile by tile, so that what one hands to the next stays in the cache
 * of the thread. A tile is `step` rows of one batch (fewer at the batch's end); batches × rows is what the
 * entries have in common: a product's batch and rows of C, a kernel's items in equal shares. A slot that only
 * these entries touch is a TILE slot: the thread holds `step` rows of it, of elements / (batches · rows)
 * each. A runner without tiles may run the entries whole, if it gives those slots all their elements. */
struct tc_tiles {
  int first, count;
  tc_sym batches, rows;
  int64_t step;
  tc_sym bytes;
}; /* bytes: a thread's tile memory */
/* A result of the graph: a view of a slot; with an INPUT slot it shares the input's storage. */
struct tc_output {
  int slot;
  tc_dtype dtype;
  int ndim;
  tc_sym offset, sizes[TC_MAX_DIMS], strides[TC_MAX_DIMS];
};

struct tc_fuel;
struct tc_launch_list {
  int n_launches, n_codes, n_slots, n_outputs, n_allocated, n_inputs, n_sizes, n_tiles;
  struct tc_launch *launches;
  struct tc_code *codes;
  struct tc_slot *slots;
  struct tc_tiles *tiles; /* by first entry */
  struct tc_output *outputs;
  tc_sym *allocated_bytes; /* of each fresh output allocation */
  tc_sym pool_bytes;
  uint64_t pool_bytes_without_reuse; /* by hints */
  int draws;                         /* random draws consumed by a call */
  int n_graph_ops;
  int n_products;             /* matrix products of the graph; 0 where the library computes all */
  unsigned char *products;    /* how each is computed (tc_product), in the graph's order */
  const struct tc_fuel *fuel; /* of its compile; NULL in a list that was read */
  int64_t *size_hints;        /* n_sizes: what hints of the list's symbols rest on */
  int n_facts;
  struct tc_sym_fact *facts; /* what the list takes for granted of its sizes, beyond what the graph did when
                                its compile began */
};

/* The tiles that an entry belongs to: a number of list->tiles, or -1. */
static inline int tc_tiles_of(const struct tc_launch_list *list, int entry) {
  int low = 0, high = list->n_tiles; /* the last that does not begin after it is low - 1 */
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (list->tiles[middle].first <= entry)
      low = middle + 1;
    else
      high = middle;
  }
  return low && entry < list->tiles[low - 1].first + list->tiles[low - 1].count ? low - 1 : -1;
}
/* Slots of an entry: a kernel's buffers (-1 for SCRATCH), or a product's A, B and C. */
int tc_launch_slot_count(const struct tc_launch_list *list, const struct tc_launch *l);
int tc_launch_slot(const struct tc_launch *l, int i);
bool tc_launch_writes(const struct tc_launch_list *list, const struct tc_launch *l, int i);

void tc_launch_print(struct tc_strbuf *out, const struct tc_launch_list *list);

#endif
