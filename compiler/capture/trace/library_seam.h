/* What the tracer needs of the known functions of Lua's library. capture/library provides these; it stands
 * above capture/trace, which knows a known function by its handler (tc_library_fn) alone. */
#ifndef TC_CAPTURE_LIBRARY_SEAM_H
#define TC_CAPTURE_LIBRARY_SEAM_H

#include "capture/trace/value.h"

/* The known function behind the C function at an index of the Lua stack, by identity; NULL. */
tc_library_fn tc_library_find(struct tc_trace *t, int index, const char **name);

/* Whether it is pcall or xpcall. */
bool tc_library_is_protected(tc_library_fn library);
/* Pushes the known function of Lua's library, as a fresh state has it. */
bool tc_library_push(struct tc_trace *t, const char *table, const char *name);

/* The source of a function that makes an iterator of gmatch, as far as this one is. */
int tc_iterator_factory(struct tc_trace *t, const struct tc_traced_native *native);

#endif
