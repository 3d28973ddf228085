/* The memory of storages: size classes with a free list each, last in first out, so that a buffer is used
 * again while it is warm. A block is a storage header and its data, one allocation. Threads: any. */
#ifndef TC_DEVICE_CPU_HEAP_H
#define TC_DEVICE_CPU_HEAP_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/alloc.h"
#include "tensor/tensor.h"

enum { TC_CPU_CLASSES = 4 * 58 }; /* four a power of two, from 64 bytes up */

struct tc_cpu_block;
struct tc_cpu_heap {
  const struct tc_alloc *alloc;
  _Atomic int64_t *live, *peak; /* bytes of counted blocks; written under the lock alone */
  atomic_flag busy;             /* one short lock: an uncontended one is a single atomic instruction */
  struct tc_cpu_block *free[TC_CPU_CLASSES];
};

void tc_cpu_heap_init(struct tc_cpu_heap *heap, const struct tc_alloc *alloc, _Atomic int64_t *live,
                      _Atomic int64_t *peak);
/* `bytes` of data behind a storage header, 64-byte aligned; the header's data and bytes are set. Storages are
 * counted, temporaries are not. NULL: memory is out. */
struct tc_storage *tc_cpu_heap_take(struct tc_cpu_heap *heap, size_t bytes, bool counted);
void tc_cpu_heap_give(struct tc_cpu_heap *heap, struct tc_storage *storage, bool counted);
/* Gives every free block back to the allocator. */
void tc_cpu_heap_trim(struct tc_cpu_heap *heap);

#endif
