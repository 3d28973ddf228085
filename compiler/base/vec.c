#include "base/vec.h"

#include <stdint.h>

#ifdef TC_HOSTILE
enum { VEC_FIRST = 1 };
#else
enum { VEC_FIRST = 8 };
#endif

bool tc_vec_grow_(const struct tc_alloc *a, void **data, size_t *cap, size_t len, size_t item_bytes) {
  const size_t new_cap = len ? len * 2 : VEC_FIRST;
  if (new_cap < len || new_cap > SIZE_MAX / item_bytes) return false;
  void *grown = a->resize(a->self, *data, *cap * item_bytes, new_cap * item_bytes);
  if (!grown) return false;
  *data = grown;
  *cap = new_cap;
  return true;
}
