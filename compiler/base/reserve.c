/* First in, first out: sizes repeat within a few compiles or not at all. */
#include "base/reserve.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The whole pages inside of a block; advice. */
static void may_be_taken(void *block, size_t bytes) {
#ifdef MADV_FREE
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  const uintptr_t first = ((uintptr_t)block + page - 1) & ~(page - 1),
                  end = ((uintptr_t)block + bytes) & ~(page - 1);
  if (first < end) (void)madvise((void *)first, end - first, MADV_FREE);
#else
  (void)block;
  (void)bytes;
#endif
}

static void *remove_at(struct tc_reserve *r, int i) {
  void *block = r->blocks[i].at;
  r->kept -= r->blocks[i].bytes;
  r->n--;
  memmove(&r->blocks[i], &r->blocks[i + 1], (size_t)(r->n - i) * sizeof r->blocks[0]);
  return block;
}

/* The block that was kept last of those of the size: its pages are the likeliest to be there. NULL when there
 * is none. */
static void *take(struct tc_reserve *r, size_t bytes) {
  void *block = NULL;
  pthread_mutex_lock(&r->lock);
  for (int i = r->n - 1; i >= 0 && !block; i--)
    if (r->blocks[i].bytes == bytes) block = remove_at(r, i);
  pthread_mutex_unlock(&r->lock);
  return block;
}

static void free_oldest(struct tc_reserve *r) {
  const size_t bytes = r->blocks[0].bytes;
  tc_free_bytes(r->parent, remove_at(r, 0), bytes);
}

static bool keep(struct tc_reserve *r, void *block, size_t bytes) {
  pthread_mutex_lock(&r->lock);
  const bool fits = bytes <= r->limit;
  while (fits && r->n && (r->n == TC_RESERVE_BLOCKS || r->kept + bytes > r->limit)) free_oldest(r);
  if (fits) {
    may_be_taken(block, bytes);
    r->blocks[r->n].at = block;
    r->blocks[r->n++].bytes = bytes;
    r->kept += bytes;
  }
  pthread_mutex_unlock(&r->lock);
  return fits;
}

static void *resize_in_reserve(void *self, void *block, size_t old_bytes, size_t new_bytes) {
  struct tc_reserve *r = self;
  if (!block && new_bytes >= TC_RESERVE_SMALLEST) {
    void *kept = take(r, new_bytes);
    if (kept) return kept;
  }
  if (block && !new_bytes && old_bytes >= TC_RESERVE_SMALLEST && keep(r, block, old_bytes)) return NULL;
  return r->parent->resize(r->parent->self, block, old_bytes, new_bytes);
}

void tc_reserve_open(struct tc_reserve *r, const struct tc_alloc *parent, size_t limit) {
  *r = (struct tc_reserve){.alloc = {resize_in_reserve, r}, .parent = parent, .limit = limit};
  pthread_mutex_init(&r->lock, NULL);
}

void tc_reserve_close(struct tc_reserve *r) {
  pthread_mutex_lock(&r->lock);
  while (r->n) free_oldest(r);
  r->limit = 0;
  pthread_mutex_unlock(&r->lock);
}
