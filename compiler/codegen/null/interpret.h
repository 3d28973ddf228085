/* The interpreter of kernels and launch lists: the null generator's executor, and the proof of the
 * scheduler. It follows the kernel ABI (items, scratch rows, status, in-place results) literally, one
 * lane at a time, in doubles rounded to each value's dtype, and refuses any access outside of a
 * buffer's `elements` (TC_VERIFY).
 *
 * Threads: pure apart from the buffers. Memory: from the given allocator, freed before the return. */
#ifndef TC_CODEGEN_NULL_INTERPRET_H
#define TC_CODEGEN_NULL_INTERPRET_H

#include "base/alloc.h"
#include "base/error.h"
#include "sched/launch.h"

/* buffers[i] is kernel buffer i (of SCRATCH buffers ignored: they are made, and poisoned for each item). */
tc_status tc_interpret_kernel(const struct tc_alloc *alloc, const struct tc_kernel *k, void *const *buffers,
                              const int64_t *sizes, int64_t first, int64_t last, struct tc_error *err);

struct tc_interpreted_run {
  const struct tc_launch_list *list; /* with kernels: not one from the cache */
  void *const *inputs, *const *outputs;
  void *pool;
  const int64_t *sizes;
  int64_t *status;
  uint64_t rng[2];
  int parts; /* each kernel's items are divided among so many calls (1 or more) */
};
tc_status tc_interpret_list(const struct tc_alloc *alloc, const struct tc_interpreted_run *run,
                            struct tc_error *err);

#endif
