/* The one allocation vtable. All memory of the compiler comes through it, so that a test can fail
 * the n-th allocation. `resize` has realloc's meaning; new_bytes == 0 frees and returns NULL.
 * Returned memory is aligned for any scalar type. An allocator is used by one thread at a time
 * unless its maker says otherwise (tc_alloc_system is thread-safe). */
#ifndef TC_BASE_ALLOC_H
#define TC_BASE_ALLOC_H

#include <stddef.h>

struct tc_alloc {
  void *(*resize)(void *self, void *block, size_t old_bytes, size_t new_bytes);
  void *self;
};

/* malloc, realloc and free. Static lifetime. */
const struct tc_alloc *tc_alloc_system(void);

static inline void *tc_new_bytes(const struct tc_alloc *a, size_t bytes) {
  return a->resize(a->self, NULL, 0, bytes);
}
static inline void tc_free_bytes(const struct tc_alloc *a, void *block, size_t bytes) {
  if (block) a->resize(a->self, block, bytes, 0);
}
/* Zeroed; NULL when memory is out or the product overflows. */
void *tc_new_zeroed(const struct tc_alloc *a, size_t count, size_t size);

#define TC_NEW(alloc, type)                  ((type *)tc_new_zeroed((alloc), 1, sizeof(type)))
#define TC_NEW_ARRAY(alloc, type, count)     ((type *)tc_new_zeroed((alloc), (count), sizeof(type)))
#define TC_FREE(alloc, pointer)              tc_free_bytes((alloc), (pointer), sizeof *(pointer))
#define TC_FREE_ARRAY(alloc, pointer, count) tc_free_bytes((alloc), (pointer), sizeof *(pointer) * (count))

#endif
