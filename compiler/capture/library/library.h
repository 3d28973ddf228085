/* Handlers of known library functions. Arguments lie at slots at + 1 …, results are left from `at` on; see
 * library.def. */
#ifndef TC_CAPTURE_LIBRARY_H
#define TC_CAPTURE_LIBRARY_H

#include "capture/trace/trace.h"

#define TC_LIBRARY(table, name, handler)                                                                     \
  tc_status tc_library_##handler(struct tc_trace *t, size_t at, int n_args, int *n_results);
#include "capture/library/library.def"
#undef TC_LIBRARY

/* The n-th argument (from 0); nil when there are fewer. */
static inline struct tc_tracked tc_argument(const struct tc_trace *t, size_t at, int n_args, int number) {
  return number < n_args ? t->slots[at + 1 + (size_t)number] : tc_nil();
}
static inline tc_status tc_give(struct tc_trace *t, size_t at, struct tc_tracked value, int *n_results) {
  t->slots[at] = value;
  *n_results = 1;
  return TC_OK;
}
/* "bad argument to NAME": a break, since the eager call raises. */
tc_status tc_bad_argument(struct tc_trace *t, size_t at);
/* The argument as an integer, by Lua's rules of conversion; `otherwise` when it is nil or none. */
tc_status tc_integer_argument(struct tc_trace *t, size_t at, int n_args, int number, lua_Integer otherwise,
                              lua_Integer *out);
/* A break when an object is among the arguments: a tensor's value would be wanted; other objects are not
 * followed. */
tc_status tc_refuse_objects(struct tc_trace *t, size_t at, int n_args, const char *name);
/* The scalars above `top` of the Lua stack, popped, become the results. */
tc_status tc_take_results(struct tc_trace *t, size_t at, int top, const char *name, int *n_results);

#endif
