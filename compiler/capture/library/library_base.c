/* The basic functions that need more than constants: iterators, raw accesses, metatables, types. */
#include <string.h>

#include "capture/library/library.h"
#include "capture/trace/externals.h"
#include "capture/trace/frames.h"
#include "capture/trace/library_seam.h"
#include "capture/trace/metamethods.h"
#include "capture/trace/tables.h"

tc_status tc_library_type(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  if (!n_args) return tc_bad_argument(t, at);
  *n_results = 1;
  const struct tc_tracked value = t->slots[at + 1];
  tc_use_type(t, &value);
  int type = tc_tracked_type(&value);
  if (value.kind == TC_IS_OPAQUE) {
    tc_push(t, &value);
    type = lua_type(t->L, -1);
    lua_pop(t->L, 1);
  }
  const char *name = lua_typename(t->L, type);
  return tc_text_of(t, name, strlen(name), &t->slots[at]);
}

tc_status tc_library_tostring(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  if (!n_args) return tc_bad_argument(t, at);
  const struct tc_tracked value = t->slots[at + 1];
  struct tc_tracked handler;
  if (value.kind != TC_IS_TABLE && value.kind != TC_IS_TEXT) return tc_library_pure(t, at, n_args, n_results);
  tc_use_type(t, &value);
  tc_status status = tc_metamethod(t, &value, TC_EVENT_TOSTRING, &handler);
  if (status) return status;
  if (handler.kind == TC_IS_NIL && value.kind == TC_IS_TEXT) return tc_library_pure(t, at, n_args, n_results);
  if (handler.kind == TC_IS_NIL)
    return tc_trace_break(t, TC_BREAK_C_FUNCTION, "tostring of an object: its address");
  *n_results = 1;
  status = tc_call_values(t, &handler, 1, &value, 1, &t->slots[at]);
  if (!status && t->slots[at].kind != TC_IS_TEXT)
    status = tc_trace_raises(t, "'__tostring' must return a string");
  return status;
}

tc_status tc_library_select(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  struct tc_tracked first = tc_argument(t, at, n_args, 0);
  tc_status status = tc_use(t, &first);
  if (status) return status;
  if (first.kind == TC_IS_TEXT && first.text->bytes[0] == '#')
    return tc_give(t, at, tc_int(n_args - 1), n_results);
  lua_Integer n;
  if (first.kind == TC_IS_NIL) return tc_bad_argument(t, at);
  if ((status = tc_integer_argument(t, at, n_args, 0, 0, &n))) return status;
  if (n < 0)
    n = n_args + n;
  else if (n > n_args)
    n = n_args;
  if (n < 1) return tc_bad_argument(t, at);
  *n_results = n_args - (int)n;
  memmove(&t->slots[at], &t->slots[at + 1 + (size_t)n], sizeof *t->slots * (size_t)*n_results);
  return TC_OK;
}

static tc_status table_argument(struct tc_trace *t, size_t at, int n_args, struct tc_traced_table **out) {
  const struct tc_tracked value = tc_argument(t, at, n_args, 0);
  if (value.kind != TC_IS_TABLE) return tc_bad_argument(t, at);
  tc_use_type(t, &value);
  *out = value.table;
  return TC_OK;
}

tc_status tc_library_rawget(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  struct tc_traced_table *table;
  tc_status status = table_argument(t, at, n_args, &table);
  if (status) return status;
  if (n_args < 2) return tc_bad_argument(t, at);
  *n_results = 1;
  struct tc_tracked value;
  status = tc_table_get(t, table, t->slots[at + 2], &value);
  return status ? status : tc_give(t, at, value, n_results);
}

tc_status tc_library_rawset(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  struct tc_traced_table *table;
  tc_status status = table_argument(t, at, n_args, &table);
  if (status) return status;
  if (n_args < 3) return tc_bad_argument(t, at);
  const struct tc_tracked whole = t->slots[at + 1], value = t->slots[at + 3];
  status = tc_table_set(t, table, t->slots[at + 2], &value);
  return status ? status : tc_give(t, at, whole, n_results);
}

tc_status tc_library_rawlen(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  struct tc_tracked value = tc_argument(t, at, n_args, 0);
  lua_Integer length;
  tc_status status = tc_use(t, &value);
  if (status) return status;
  if (value.kind == TC_IS_TEXT) return tc_give(t, at, tc_int((lua_Integer)value.text->length), n_results);
  if (value.kind != TC_IS_TABLE) return tc_bad_argument(t, at);
  status = tc_table_length(t, value.table, &length);
  return status ? status : tc_give(t, at, tc_int(length), n_results);
}

tc_status tc_library_rawequal(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  bool equal;
  if (n_args < 2) return tc_bad_argument(t, at);
  const tc_status status = tc_raw_equal(t, &t->slots[at + 1], &t->slots[at + 2], &equal);
  return status ? status : tc_give(t, at, tc_bool(equal), n_results);
}

tc_status tc_library_next(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  struct tc_traced_table *table;
  struct tc_tracked key, value;
  tc_status status = table_argument(t, at, n_args, &table);
  if (!status) status = tc_table_next(t, table, tc_argument(t, at, n_args, 1), &key, &value);
  if (!status) status = tc_reserve(t, at, 2);
  if (status) return status;
  t->slots[at] = key;
  t->slots[at + 1] = value;
  *n_results = key.kind == TC_IS_NIL ? 1 : 2;
  return TC_OK;
}

/* Gives the iterator at the stack top (popped), which is one object for all loops, its state and its control
 * value. */
static tc_status give_iterator(struct tc_trace *t, size_t at, struct tc_tracked state,
                               struct tc_tracked control, int *n_results) {
  struct tc_tracked iterator;
  tc_status status = tc_import_pinned(t, TC_NO_SOURCE, &iterator);
  if (!status) status = tc_reserve(t, at, 3);
  if (status) return status;
  t->slots[at] = iterator;
  t->slots[at + 1] = state;
  t->slots[at + 2] = control;
  *n_results = 3;
  return TC_OK;
}

tc_status tc_library_pairs(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  const struct tc_tracked value = tc_argument(t, at, n_args, 0);
  struct tc_tracked handler = tc_nil();
  tc_status status = TC_OK;
  if (!n_args) return tc_bad_argument(t, at);
  if (value.kind == TC_IS_TABLE || value.kind == TC_IS_OPAQUE)
    status = tc_metamethod(t, &value, TC_EVENT_PAIRS, &handler);
  if (status) return status;
  if (handler.kind != TC_IS_NIL) {
    struct tc_tracked results[3];
    status = tc_call_values(t, &handler, 1, &value, 3, results);
    if (!status) status = tc_reserve(t, at, 3);
    if (!status) memcpy(&t->slots[at], results, sizeof results);
    *n_results = 3;
    return status;
  }
  tc_use_type(t, &value);
  if (value.kind != TC_IS_TABLE) return tc_bad_argument(t, at);
  if (!tc_library_push(t, "_G", "next")) return tc_trace_nomem(t);
  return give_iterator(t, at, value, tc_nil(), n_results);
}

tc_status tc_library_next_index(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  lua_Integer i;
  struct tc_tracked value;
  tc_status status = tc_integer_argument(t, at, n_args, 1, 0, &i);
  if (status) return status;
  const struct tc_tracked state = t->slots[at + 1], key = tc_int((lua_Integer)((lua_Unsigned)i + 1));
  status = tc_index(t, &state, key, &value);
  if (!status && value.kind == TC_IS_NIL) status = tc_use(t, &value);
  if (status) return status;
  if (value.kind == TC_IS_NIL) return tc_give(t, at, tc_nil(), n_results);
  tc_use_type(t, &value);
  t->slots[at] = key;
  t->slots[at + 1] = value;
  *n_results = 2;
  return TC_OK;
}

tc_status tc_library_ipairs(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  if (!n_args) return tc_bad_argument(t, at);
  if (!tc_library_push(t, "iterator", "ipairs")) return tc_trace_nomem(t);
  return give_iterator(t, at, t->slots[at + 1], tc_int(0), n_results);
}

tc_status tc_library_getmetatable(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  const struct tc_tracked value = tc_argument(t, at, n_args, 0);
  struct tc_traced_table *metatable = NULL;
  struct tc_tracked shown = tc_nil();
  tc_status status = TC_OK;
  if (!n_args) return tc_bad_argument(t, at);
  tc_use_type(t, &value);
  if (value.kind == TC_IS_TENSOR || value.kind == TC_IS_OPAQUE)
    return tc_trace_break(t, TC_BREAK_METAMETHOD, "the metatable of a tensor or userdata");
  if (value.kind == TC_IS_TABLE)
    status = tc_table_metatable(t, value.table, &metatable);
  else if (value.kind == TC_IS_TEXT)
    status = tc_string_metatable(t, &metatable);
  if (!status && metatable) status = tc_metamethod(t, &value, TC_EVENT_METATABLE, &shown);
  if (status) return status;
  if (metatable && shown.kind == TC_IS_NIL) shown = tc_tracked_table(metatable);
  return tc_give(t, at, shown, n_results);
}

tc_status tc_library_setmetatable(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  struct tc_tracked table = tc_argument(t, at, n_args, 0), metatable = tc_argument(t, at, n_args, 1), field;
  tc_status status = tc_use(t, &metatable);
  if (status) return status;
  if (table.kind != TC_IS_TABLE || n_args < 2 ||
      (metatable.kind != TC_IS_NIL && metatable.kind != TC_IS_TABLE))
    return tc_bad_argument(t, at);
  if ((status = tc_metamethod(t, &table, TC_EVENT_METATABLE, &field))) return status;
  if (field.kind != TC_IS_NIL) return tc_trace_raises(t, "cannot change a protected metatable");
  tc_use_type(t, &table);
  tc_use_type(t, &metatable);
  status = tc_table_set_metatable(t, table.table, metatable.kind == TC_IS_TABLE ? metatable.table : NULL);
  if (status) return status;
  static const enum tc_event collected[] = {TC_EVENT_GC, TC_EVENT_MODE};
  for (size_t i = 0; i < sizeof collected / sizeof *collected; i++) {
    if ((status = tc_metamethod(t, &table, collected[i], &field))) return status;
    if (field.kind != TC_IS_NIL)
      return tc_trace_break(t, TC_BREAK_SIDE_EFFECT, "a metatable with %s", tc_event_field(collected[i]));
  }
  return tc_give(t, at, table, n_results);
}
