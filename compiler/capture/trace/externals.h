/* What comes from outside of the traced code, and the guards that reading it needs.
 *
 * An object has one record, however many ways lead to it; new records of the traced code's own (tensors,
 * natives) are made here too. What is read has no guard of its value before something depends on it (tc_use).
 */
#ifndef TC_CAPTURE_EXTERNALS_H
#define TC_CAPTURE_EXTERNALS_H

#include "capture/trace/value.h"

/* Takes the value at the top of the Lua stack (popped), which was read from `source`. */
tc_status tc_import(struct tc_trace *t, int source, struct tc_tracked *out);
/* The object at the stack top (popped), which facts hold to be this one; `origin` says where it was found. */
tc_status tc_import_pinned(struct tc_trace *t, int origin, struct tc_tracked *out);
/* Guards that the record's object is this very one. Fresh records need nothing. */
void tc_pin(struct tc_trace *t, const struct tc_tracked *v);
tc_status tc_cell_get(struct tc_trace *t, struct tc_cell *cell, struct tc_tracked *out);
tc_status tc_cell_set(struct tc_trace *t, struct tc_cell *cell, const struct tc_tracked *value);
/* A guard that the variables of two cells from outside stay two. */
void tc_guard_other_variable(struct tc_trace *t, const struct tc_cell *a, const struct tc_cell *b);
/* Decodes the function when that was not done, and pins it, or guards its code. */
tc_status tc_closure_prepare(struct tc_trace *t, struct tc_traced_closure *closure);
/* The graph's node for a tensor; one from outside becomes an input. */
tc_status tc_tensor_node(struct tc_trace *t, struct tc_traced_tensor *tensor, struct tc_node **out);
tc_status tc_new_tensor(struct tc_trace *t, struct tc_node *node, struct tc_tracked *out);
/* A native of the tracer's own; one record a (function, library) pair. */
tc_status tc_new_native(struct tc_trace *t, const struct tc_function *function, tc_library_fn library,
                        const char *name, struct tc_tracked *out);

#endif
