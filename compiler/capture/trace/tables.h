/* Tables by raw accesses, as next, rawget and rawset see them: those that the traced code makes, and those
 * from outside. Metamethods are above this (metamethods.h).
 *
 * A table from outside is not touched while the trace runs: what is written is kept in its record and carried
 * out at the end (effects.c). Whoever gives a key gives it as Lua code has it; the functions of tables.c fix
 * it by guards, or keep it open where a write allows that (table_keys.c). */
#ifndef TC_CAPTURE_TABLES_H
#define TC_CAPTURE_TABLES_H

#include "capture/trace/value.h"

/* --- tables.c, table_order.c --- */
tc_status tc_new_table(struct tc_trace *t, int array_hint, int hash_hint, struct tc_tracked *out);
tc_status tc_table_get(struct tc_trace *t, struct tc_traced_table *table, struct tc_tracked key,
                       struct tc_tracked *out);
/* External tables are written after the graph ran (effects.c); until then the record alone shows it. */
tc_status tc_table_set(struct tc_trace *t, struct tc_traced_table *table, struct tc_tracked key,
                       const struct tc_tracked *value);
tc_status tc_table_set_index(struct tc_trace *t, struct tc_traced_table *table, lua_Integer key,
                             const struct tc_tracked *value);
tc_status tc_table_length(struct tc_trace *t, struct tc_traced_table *table, lua_Integer *length);
/* The same, which nothing depends on yet: of a table from outside it is a scalar with a source. */
tc_status tc_table_open_length(struct tc_trace *t, struct tc_traced_table *table, struct tc_tracked *out);
/* The key after `key` (nil: the first) in the order of next, and its value; nil at the end. */
tc_status tc_table_next(struct tc_trace *t, struct tc_traced_table *table, struct tc_tracked key,
                        struct tc_tracked *next, struct tc_tracked *value);
/* Has it a key that is a string? */
tc_status tc_table_has_names(struct tc_trace *t, struct tc_traced_table *table, bool *has);
/* The constructor's list ends at `last`, with open results. */
tc_status tc_table_open_list(struct tc_trace *t, struct tc_traced_table *table, lua_Integer last);
/* Fixes a key by guards; floats with an integer value become that integer. */
tc_status tc_table_key(struct tc_trace *t, struct tc_tracked *key);
/* The entry of such a key, NULL when nothing is known of it. */
struct tc_table_entry *tc_table_find(const struct tc_traced_table *table, const struct tc_tracked *key);
/* Keeps the border after a key came in, or went. */
void tc_table_follow_border(struct tc_traced_table *table, const struct tc_tracked *key, bool present);
/* NULL: none. It may have neither __gc nor __mode. */
tc_status tc_table_set_metatable(struct tc_trace *t, struct tc_traced_table *table,
                                 struct tc_traced_table *metatable);
/* *out NULL: none. */
tc_status tc_table_metatable(struct tc_trace *t, struct tc_traced_table *table, struct tc_traced_table **out);

/* --- table_keys.c --- */
/* A key that is about to be looked up: fixed by guards; floats with an integer value become that integer.
 * Where it is written to a table from outside (is_write), a lazy number may stay one. Guards tell it from
 * lazy keys of the table, or to be one of them. */
tc_status tc_table_prepare_key(struct tc_trace *t, struct tc_traced_table *table, bool is_write,
                               struct tc_tracked *key);
/* The table's lazy keys are fixed: for whoever asks for a length or an order. */
tc_status tc_table_fix_keys(struct tc_trace *t, struct tc_traced_table *table);
/* Could a later call have the key, of another table, among what is known of this one? */
bool tc_table_may_have(const struct tc_traced_table *table, const struct tc_tracked *key);

#endif
