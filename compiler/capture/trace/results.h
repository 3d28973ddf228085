/* The replay: what the compiled call does after its graph ran. Results and new objects (results.c), writes to
 * what is outside (effects.c), and new closures (closure_factories.c). Each value is made once, however many
 * places have it. */
#ifndef TC_CAPTURE_RESULTS_H
#define TC_CAPTURE_RESULTS_H

#include "capture/capture.h"
#include "capture/trace/value.h"

/* --- results.c --- */
/* Makes the replay: `count` results from slot `at` on, new objects, and writes. Registers that cells share
 * count as closed. */
tc_status tc_make_results(struct tc_trace *t, size_t at, int count);
/* How to make the value again. A new object gets its number; its parts are added at the end of
 * tc_make_results. */
tc_status tc_make_recipe(struct tc_trace *t, struct tc_tracked value, struct tc_recipe *out);
/* The number in the replay of an object from outside that is written; *number is the record's own. */
tc_status tc_make_target(struct tc_trace *t, const struct tc_tracked *value, int *number);
/* Adds the writes that make the table what it is, or (external) that the traced code made. */
tc_status tc_make_metatable(struct tc_trace *t, const struct tc_traced_table *table, bool is_effect);
tc_status tc_make_fields(struct tc_trace *t, const struct tc_traced_table *table, bool is_effect);
tc_status tc_add_write(struct tc_trace *t, const struct tc_write *write, bool is_effect);

/* --- effects.c --- */
/* The writes to what is outside, and guards against other aliases. */
tc_status tc_make_effects(struct tc_trace *t);

/* --- closure_factories.c --- */
/* A function, as a source, that makes a new closure of the proto, with variables of its own, at each call. */
tc_status tc_closure_factory(struct tc_trace *t, const struct tc_proto *proto, int *source);

#endif
