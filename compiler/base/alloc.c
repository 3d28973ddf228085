#include "base/alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *system_resize(void *self, void *block, size_t old_bytes, size_t new_bytes) {
  (void)self;
  (void)old_bytes;
  if (new_bytes) return realloc(block, new_bytes);
  free(block);
  return NULL;
}

const struct tc_alloc *tc_alloc_system(void) {
  static const struct tc_alloc system_alloc = {system_resize, NULL};
  return &system_alloc;
}

void *tc_new_zeroed(const struct tc_alloc *a, size_t count, size_t size) {
  if (size && count > SIZE_MAX / size) return NULL;
  const size_t bytes = count && size ? count * size : 1;
  void *block = tc_new_bytes(a, bytes);
  if (block) memset(block, 0, bytes);
  return block;
}
