/* A growable array of any type, over a tc_alloc: TC_VEC(int) v = {0}; if (!tc_vec_push(a, &v, 3)) → out of
 * memory. A vector is moved when it grows: keep indices, not pointers. */
#ifndef TC_BASE_VEC_H
#define TC_BASE_VEC_H

#include <stdbool.h>

#include "base/alloc.h"

#define TC_VEC(type)                                                                                         \
  struct {                                                                                                   \
    type *data;                                                                                              \
    size_t len, cap;                                                                                         \
  }

/* Makes room for one more item; false when memory is out. */
bool tc_vec_grow_(const struct tc_alloc *a, void **data, size_t *cap, size_t len, size_t item_bytes);

#define tc_vec_push(a, v, item)                                                                              \
  (((v)->len < (v)->cap || tc_vec_grow_((a), (void **)&(v)->data, &(v)->cap, (v)->len, sizeof *(v)->data))   \
       ? ((v)->data[(v)->len++] = (item), true)                                                              \
       : false)
#define tc_vec_free(a, v)                                                                                    \
  (tc_free_bytes((a), (v)->data, (v)->cap * sizeof *(v)->data), (v)->data = NULL, (v)->len = (v)->cap = 0)

#endif
