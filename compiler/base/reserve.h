/* A reserve of large blocks: an allocator that keeps those that are freed for the next one who asks for the
 * same size.
 *
 * A compile fills chunks of megabytes (base/arena.h) and frees them together; the next compile asks for the
 * same sizes. Memory that went back to the system comes again as fresh pages, and clearing those is a third
 * of a large capture (bench_capture modules). What is kept is told to the system as free to take (MADV_FREE),
 * and the oldest goes when more would be kept than `limit`.
 *
 * Ownership: the reserve owns what it keeps; it must outlive the blocks it gave. Threads: any, if the
 * parent's may be used so. Errors: NULL as the parent's. */
#ifndef TC_BASE_RESERVE_H
#define TC_BASE_RESERVE_H

#include <pthread.h>

#include "base/alloc.h"

enum {
  TC_RESERVE_BLOCKS = 32,
  TC_RESERVE_SMALLEST = 256 << 10
}; /* smaller blocks are the parent's business */

struct tc_reserve {
  struct tc_alloc alloc; /* what its users take; first */
  const struct tc_alloc *parent;
  size_t limit, kept; /* bytes */
  int n;
  struct {
    void *at;
    size_t bytes;
  } blocks[TC_RESERVE_BLOCKS]; /* the oldest first */
  pthread_mutex_t lock;
};

void tc_reserve_open(struct tc_reserve *reserve, const struct tc_alloc *parent, size_t limit);
/* Frees what is kept, and keeps nothing from then on; blocks that are still out may be freed into it. */
void tc_reserve_close(struct tc_reserve *reserve);

#endif
