/* table.* on tracked tables. Reads and writes follow metatables, as Lua's do. */
#include <string.h>

#include "capture/library/library.h"
#include "capture/trace/frames.h"
#include "capture/trace/metamethods.h"
#include "capture/trace/tables.h"

static tc_status length_of(struct tc_trace *t, size_t at, const struct tc_tracked *table, lua_Integer *out) {
  struct tc_tracked length;
  tc_status status = tc_length(t, table, &length);
  if (!status) status = tc_use(t, &length);
  if (status) return status;
  if (length.kind != TC_IS_INT) return tc_bad_argument(t, at);
  *out = length.integer;
  return TC_OK;
}

static tc_status table_argument(struct tc_trace *t, size_t at, int n_args, struct tc_tracked *table) {
  *table = tc_argument(t, at, n_args, 0);
  tc_use_type(t, table);
  return table->kind == TC_IS_TABLE ? TC_OK : tc_bad_argument(t, at);
}

static tc_status sequence_argument(struct tc_trace *t, size_t at, int n_args, struct tc_tracked *table,
                                   lua_Integer *length) {
  const tc_status status = table_argument(t, at, n_args, table);
  return status ? status : length_of(t, at, table, length);
}

/* At the end, wherever that is: the length stays open. */
static tc_status append(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  struct tc_tracked table, length, key;
  const struct tc_tracked one = tc_int(1), value = t->slots[at + (size_t)n_args];
  bool done;
  tc_status status = table_argument(t, at, n_args, &table);
  if (!status) status = tc_length(t, &table, &length);
  if (!status && length.kind != TC_IS_INT) status = tc_bad_argument(t, at);
  if (!status) status = tc_arith(t, TC_EVENT_ADD, &length, &one, &key, &done);
  *n_results = 0;
  return status ? status : tc_set_index(t, &table, key, &value);
}

tc_status tc_library_table_insert(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  struct tc_tracked table, moved;
  lua_Integer length, position;
  if (n_args == 2) return append(t, at, n_args, n_results);
  tc_status status = sequence_argument(t, at, n_args, &table, &length);
  if (status) return status;
  if (n_args != 3) return tc_bad_argument(t, at);
  *n_results = 0;
  const struct tc_tracked value = t->slots[at + (size_t)n_args];
  if ((status = tc_integer_argument(t, at, n_args, 1, 0, &position))) return status;
  if (position < 1 || position > length + 1) return tc_bad_argument(t, at);
  for (lua_Integer i = length + 1; i > position; i--) {
    status = tc_index(t, &table, tc_int(i - 1), &moved);
    if (!status) status = tc_set_index(t, &table, tc_int(i), &moved);
    if (!status) status = tc_turn(t);
    if (status) return status;
  }
  return tc_set_index(t, &table, tc_int(position), &value);
}

tc_status tc_library_table_remove(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  struct tc_tracked table, removed, moved;
  const struct tc_tracked nothing = tc_nil();
  lua_Integer length, position;
  tc_status status = sequence_argument(t, at, n_args, &table, &length);
  if (!status) status = tc_integer_argument(t, at, n_args, 1, length, &position);
  if (status) return status;
  if (n_args > 1 && length + 1 != position && (position < 1 || position > length + 1))
    return tc_bad_argument(t, at);
  if ((status = tc_index(t, &table, tc_int(position), &removed))) return status;
  for (; position < length; position++) {
    status = tc_index(t, &table, tc_int(position + 1), &moved);
    if (!status) status = tc_set_index(t, &table, tc_int(position), &moved);
    if (!status) status = tc_turn(t);
    if (status) return status;
  }
  if ((status = tc_set_index(t, &table, tc_int(position), &nothing))) return status;
  return tc_give(t, at, removed, n_results);
}

tc_status tc_library_table_pack(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  struct tc_tracked table, name;
  const struct tc_tracked count = tc_int(n_args);
  tc_status status = tc_new_table(t, n_args, 1, &table);
  for (int i = n_args; i >= 1 && !status; i--)
    status = tc_table_set_index(t, table.table, i, &t->slots[at + (size_t)i]);
  if (!status) status = tc_text_of(t, "n", 1, &name);
  if (!status) status = tc_table_set(t, table.table, name, &count);
  return status ? status : tc_give(t, at, table, n_results);
}

tc_status tc_library_table_unpack(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  const struct tc_tracked table = tc_argument(t, at, n_args, 0);
  struct tc_tracked end = tc_argument(t, at, n_args, 2);
  lua_Integer first, last = 0;
  tc_status status = tc_integer_argument(t, at, n_args, 1, 1, &first);
  if (!status) status = tc_use(t, &end);
  if (!status && end.kind == TC_IS_NIL)
    status = length_of(t, at, &table, &last);
  else if (!status)
    status = tc_integer_argument(t, at, n_args, 2, 0, &last);
  if (status) return status;
  *n_results = 0;
  if (first > last) return TC_OK;
  const lua_Unsigned count = (lua_Unsigned)last - (lua_Unsigned)first + 1;
  if (count == 0 || count > TC_MAX_TRACE_STACK) return tc_bad_argument(t, at);
  const size_t from = t->limit; /* results are gathered above, since metamethods may run between them */
  if ((status = tc_reserve(t, from, (size_t)count))) return status;
  t->limit = from + (size_t)count;
  for (lua_Unsigned i = 0; i < count && !status; i++) {
    struct tc_tracked value;
    status = tc_index(t, &table, tc_int((lua_Integer)((lua_Unsigned)first + i)), &value);
    t->slots[from + (size_t)i] = value;
  }
  if (status) return status;
  memmove(&t->slots[at], &t->slots[from], sizeof *t->slots * (size_t)count);
  *n_results = (int)count;
  return TC_OK;
}

tc_status tc_library_table_concat(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  struct tc_tracked table, separator = tc_argument(t, at, n_args, 1), result, item;
  lua_Integer length, first, last;
  tc_status status = sequence_argument(t, at, n_args, &table, &length);
  if (!status) status = tc_use(t, &separator);
  if (!status) status = tc_integer_argument(t, at, n_args, 2, 1, &first);
  if (!status) status = tc_integer_argument(t, at, n_args, 3, length, &last);
  if (!status) status = tc_text_of(t, "", 0, &result);
  if (status) return status;
  if (separator.kind == TC_IS_NIL) separator = result;
  if (separator.kind > TC_IS_TEXT || separator.kind == TC_IS_BOOL) return tc_bad_argument(t, at);
  for (lua_Integer i = first; i <= last; i++) {
    status = tc_index(t, &table, tc_int(i), &item);
    if (!status && item.kind != TC_IS_TEXT && !tc_is_number(&item)) return tc_bad_argument(t, at);
    if (!status && i > first) status = tc_concat(t, &result, &separator, &result);
    if (!status) status = tc_concat(t, &result, &item, &result);
    if (!status) status = tc_turn(t);
    if (status) return status;
    if (i == LUA_MAXINTEGER) break;
  }
  return tc_give(t, at, result, n_results);
}

/* Is the element's new place inside of the old range, of the same table: then they move from the last on. */
static tc_status moves_up(struct tc_trace *t, size_t at, int n_args, lua_Integer first, lua_Integer last,
                          lua_Integer to, bool *out) {
  bool same = true;
  *out = to <= last && to > first;
  if (!*out || tc_argument(t, at, n_args, 4).kind == TC_IS_NIL) return TC_OK;
  const tc_status status = tc_equal(t, &t->slots[at + 1], &t->slots[at + 5], &same);
  *out = same;
  return status;
}

tc_status tc_library_table_move(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  const struct tc_tracked from = tc_argument(t, at, n_args, 0);
  struct tc_tracked to = tc_argument(t, at, n_args, 4);
  lua_Integer first, last, target;
  bool up;
  if (n_args < 4) return tc_bad_argument(t, at);
  tc_status status = tc_integer_argument(t, at, n_args, 1, 0, &first);
  if (!status) status = tc_integer_argument(t, at, n_args, 2, 0, &last);
  if (!status) status = tc_integer_argument(t, at, n_args, 3, 0, &target);
  if (!status) status = tc_use(t, &to);
  if (status) return status;
  if (to.kind == TC_IS_NIL) to = from;
  tc_use_type(t, &from);
  tc_use_type(t, &to);
  for (size_t i = 2; i <= 4; i++)
    if (t->slots[at + i].kind == TC_IS_NIL) return tc_bad_argument(t, at);
  if (from.kind != TC_IS_TABLE || to.kind != TC_IS_TABLE) return tc_bad_argument(t, at);
  if (last < first) return tc_give(t, at, to, n_results);
  if (first <= 0 && last >= LUA_MAXINTEGER + first) return tc_bad_argument(t, at);
  const lua_Integer count = last - first + 1;
  if (target > LUA_MAXINTEGER - count + 1) return tc_bad_argument(t, at);
  if ((status = moves_up(t, at, n_args, first, last, target, &up))) return status;
  for (lua_Integer i = 0; i < count; i++) {
    const lua_Integer k = up ? count - 1 - i : i;
    struct tc_tracked moved;
    status = tc_index(t, &from, tc_int(first + k), &moved);
    if (!status) status = tc_set_index(t, &to, tc_int(target + k), &moved);
    if (!status) status = tc_turn(t);
    if (status) return status;
  }
  return tc_give(t, at, to, n_results);
}
