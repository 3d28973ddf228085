/* Accesses and operators as Lua code makes them, with metatables: index.c and arithmetic.c. Metamethods that
 * are Lua functions are traced like any call, so slots of frames may move. What Lua would raise is a break,
 * or the error that the traced code catches. */
#ifndef TC_CAPTURE_METAMETHODS_H
#define TC_CAPTURE_METAMETHODS_H

#include "capture/trace/trace.h"

/* --- index.c --- */
/* nil when there is none. */
tc_status tc_metamethod(struct tc_trace *t, const struct tc_tracked *v, enum tc_event event,
                        struct tc_tracked *out);
/* Guarded: debug.setmetatable may change it. *out NULL: strings have none. */
tc_status tc_string_metatable(struct tc_trace *t, struct tc_traced_table **out);
tc_status tc_index(struct tc_trace *t, const struct tc_tracked *object, struct tc_tracked key,
                   struct tc_tracked *out);
tc_status tc_set_index(struct tc_trace *t, const struct tc_tracked *object, struct tc_tracked key,
                       const struct tc_tracked *value);
tc_status tc_length(struct tc_trace *t, const struct tc_tracked *v, struct tc_tracked *out);

/* --- arithmetic.c --- */
/* Numbers as Lua computes them; *done is false when an operand does not fit the operator. */
tc_status tc_arith(struct tc_trace *t, enum tc_event event, const struct tc_tracked *a,
                   const struct tc_tracked *b, struct tc_tracked *out, bool *done);
tc_status tc_arith_meta(struct tc_trace *t, enum tc_event event, struct tc_tracked *a, struct tc_tracked *b,
                        struct tc_tracked *out);
tc_status tc_equal(struct tc_trace *t, struct tc_tracked *a, struct tc_tracked *b, bool *equal);
tc_status tc_less(struct tc_trace *t, enum tc_event event, struct tc_tracked *a, struct tc_tracked *b,
                  bool *less); /* LT or LE */
tc_status tc_concat(struct tc_trace *t, struct tc_tracked *a, struct tc_tracked *b, struct tc_tracked *out);

#endif
