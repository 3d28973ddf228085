/* Lengths of tables, and the order of next.
 *
 * Invariants:
 *  1. The order of next is taken from a real table: the external one itself, or one built by the same steps
 *     as the fresh one. It is not known when keys are objects that do not exist in the Lua state, or when an
 *     external table got new keys.
 *  2. A length is told only where it is the only one: of a table without holes, which is guarded where keys
 *     came in or went: any of them may move the others, and then Lua tells another border. (An external table
 *     with holes to which that did not happen has the length that Lua tells, under a guard.)
 *  3. The length of a table to which values are appended stays open where the length before does: it is the
 *     last key, which nothing lies behind. Holes are not looked for then, since that takes as long as the
 *     list: the last key is one of the borders that Lua may tell. */
#include <limits.h>

#include "capture/trace/externals.h"
#include "capture/trace/lazy.h"
#include "capture/trace/tables.h"
#include "capture/trace/trace.h"

static bool is_positive(const struct tc_tracked *key) { return key->kind == TC_IS_INT && key->integer > 0; }

/* Is the positive integer key there now? Of an external table: when it has no holes before the call. */
static bool has_index(const struct tc_traced_table *table, lua_Integer number) {
  const struct tc_tracked key = tc_int(number);
  const struct tc_table_entry *entry = tc_table_find(table, &key);
  return entry ? entry->value.kind != TC_IS_NIL : number <= table->old_length;
}

static void extend_border(struct tc_traced_table *table) {
  while (table->border < LUA_MAXINTEGER && has_index(table, table->border + 1)) table->border++;
}

void tc_table_follow_border(struct tc_traced_table *table, const struct tc_tracked *key, bool present) {
  if (!is_positive(key) || (table->origin.object && !table->border_known)) return;
  table->n_positive += present ? 1 : -1;
  if (present)
    extend_border(table);
  else if (key->integer <= table->border)
    table->border = key->integer - 1;
}

/* The border of a written external table: what it was, and then the writes. */
static void learn_border(struct tc_trace *t, struct tc_traced_table *table) {
  lua_rawgeti(t->L, t->objects, table->origin.object);
  table->old_length = table->border = (lua_Integer)lua_rawlen(t->L, -1);
  lua_Integer last;
  table->n_positive = tc_guards_count_indices(t->L, -1, &last);
  table->had_holes = table->n_positive != last;
  lua_pop(t->L, 1);
  for (size_t i = 0; i < table->entries.len; i++) {
    const struct tc_table_entry *entry = &table->entries.data[i];
    const bool present = entry->value.kind != TC_IS_NIL;
    if (!is_positive(&entry->key)) continue;
    table->n_positive += (int)present - (int)entry->was_there;
    if (!present && entry->key.integer <= table->border) table->border = entry->key.integer - 1;
  }
  table->border_known = true;
  extend_border(table);
}

static tc_status holes(struct tc_trace *t) {
  return tc_trace_break(t, TC_BREAK_TABLE_ORDER, "length of a table with holes");
}

/* Whether a written key comes in, goes, or neither, is as it was in this call: which keys there were is not
 * guarded when they are written. */
static void guard_presence(struct tc_trace *t, const struct tc_traced_table *table) {
  for (size_t i = 0; i < table->entries.len; i++) {
    const struct tc_table_entry *entry = &table->entries.data[i];
    const bool present = entry->value.kind != TC_IS_NIL;
    if (!entry->is_written || present != entry->was_there || (!present && !is_positive(&entry->key)) ||
        !tc_push(t, &entry->key))
      continue;
    const int source = tc_guards_field(t->guards, t->L, table->origin.source, lua_gettop(t->L));
    lua_pushnil(t->L);
    if (present)
      tc_guards_defined(t->guards, source);
    else
      tc_guards_equal(t->guards, t->L, source, lua_gettop(t->L));
    lua_pop(t->L, 2);
  }
}

/* The raw length of an external table of which no positive integer key came or went. */
static tc_status unchanged_length(struct tc_trace *t, struct tc_traced_table *table, lua_Integer *length) {
  lua_rawgeti(t->L, t->objects, table->origin.object);
  *length = (lua_Integer)lua_rawlen(t->L, -1);
  const bool known = !table->grew || tc_guards_is_sequence(t->L, -1);
  lua_pop(t->L, 1);
  if (table->grew && known) tc_guards_sequence(t->guards, table->origin.source);
  if (table->is_written) guard_presence(t, table);
  return known ? TC_OK : holes(t);
}

tc_status tc_table_length(struct tc_trace *t, struct tc_traced_table *table, lua_Integer *length) {
  if (!table->origin.object) {
    *length = table->border;
    return table->n_positive == table->border ? TC_OK : holes(t);
  }
  const tc_status status = tc_table_fix_keys(t, table);
  if (status) return status;
  table->length_used = true;
  if (table->is_resized) {
    /* Of an external table whose positive integer keys the traced code changes.
     * Guarded are the length before, that there were no holes, and that nothing is
     * behind the new border. */
    struct tc_tracked behind;
    if (!table->border_known) learn_border(t, table);
    if (table->had_holes || table->n_positive != table->border) return holes(t);
    *length = table->border;
    tc_guards_length(t->guards, table->origin.source, table->old_length);
    tc_guards_sequence(t->guards, table->origin.source);
    if (*length == LUA_MAXINTEGER) return TC_OK;
    return tc_table_get(t, table, tc_int(*length + 1), &behind);
  }
  const tc_status read = unchanged_length(t, table, length);
  if (!read) tc_guards_length(t->guards, table->origin.source, *length);
  return read;
}

/* Is the key, in each call, the one behind `last`, which is the length with `count` values appended? */
static bool follows(struct tc_trace *t, const struct tc_tracked *length, const struct tc_tracked *last,
                    int count, const struct tc_tracked *key) {
  const int source = key->source;
  if (key->integer != last->integer + 1 || source == TC_NO_SOURCE) return false;
  lua_pushinteger(t->L, 1);
  const bool behind = tc_guards_expr(t->guards, LUA_OPADD, last->source,
                                     tc_guards_constant(t->guards, t->L, lua_gettop(t->L))) == source;
  lua_pop(t->L, 1);
  if (behind) return true;
  lua_pushinteger(t->L, count + 1);
  const bool counted = tc_guards_expr(t->guards, LUA_OPADD, length->source,
                                      tc_guards_constant(t->guards, t->L, lua_gettop(t->L))) == source;
  lua_pop(t->L, 1);
  return counted;
}

/* Where all that was written behind the lazy length of an external table was appended, one after the other,
 * the last key is the length now, under the guard that nothing lies behind it. *count: how many there are; 0:
 * it is not so. */
static void appended_length(struct tc_trace *t, const struct tc_traced_table *table, struct tc_tracked *out,
                            int *count) {
  lua_rawgeti(t->L, t->objects, table->origin.object);
  struct tc_tracked length = tc_int((lua_Integer)lua_rawlen(t->L, -1));
  const bool is_list = tc_guards_is_sequence(t->L, -1);
  lua_pop(t->L, 1);
  *count = 0;
  length.source = tc_guards_length_of(t->guards, table->origin.source);
  tc_lazy_import(t, &length);
  if (!is_list || !tc_is_lazy(t, &length)) return;
  *out = length;
  for (size_t i = 0; i < table->entries.len; i++) {
    const struct tc_table_entry *entry = &table->entries.data[i];
    if (!entry->is_written || entry->key.kind != TC_IS_INT ||
        (entry->key.source == TC_NO_SOURCE && entry->key.integer <= 0))
      continue;
    const bool appends = entry->value.kind != TC_IS_NIL && follows(t, &length, out, *count, &entry->key);
    *count = appends ? *count + 1 : 0;
    if (!appends) return;
    *out = entry->key;
  }
}

/* Of a table from outside that the traced code wrote to. */
static tc_status written_length(struct tc_trace *t, struct tc_traced_table *table, struct tc_tracked *out) {
  int count = 0;
  lua_Integer length;
  if (table->n_lazy_keys && !table->border_known) appended_length(t, table, out, &count);
  if (count) {
    table->length_used = true;
    tc_guards_number(t->guards, tc_guards_length_before(t->guards, table->origin.source, count), true);
    return TC_OK;
  }
  const tc_status status = tc_table_length(t, table, &length);
  *out = tc_int(length);
  return status;
}

tc_status tc_table_open_length(struct tc_trace *t, struct tc_traced_table *table, struct tc_tracked *out) {
  if (!table->origin.object || table->is_resized || table->n_lazy_keys) return written_length(t, table, out);
  lua_Integer length;
  table->length_used = true;
  const tc_status status = unchanged_length(t, table, &length);
  if (status) return status;
  *out = tc_int(length);
  out->source = tc_guards_length_of(t->guards, table->origin.source);
  tc_lazy_import(t, out);
  return TC_OK;
}

/* Its array part grows when it is filled with open results, to just that size. What is in the hash part moves
 * then; of several keys there the order may change. */
tc_status tc_table_open_list(struct tc_trace *t, struct tc_traced_table *table, lua_Integer last) {
  int others = 0;
  if (last <= table->array_hint || last > INT_MAX) return TC_OK;
  for (size_t i = 0; i < table->entries.len && others < 2; i++) {
    const struct tc_tracked *key = &table->entries.data[i].key;
    others += !is_positive(key) || key->integer > table->array_hint;
  }
  if (others > 1)
    return tc_trace_break(t, TC_BREAK_TABLE_ORDER,
                          "a table constructor with several fields in front of open results");
  table->array_hint = (int)last;
  return TC_OK;
}

/* Pushes a real table with the keys of a fresh one, put in and taken out as the traced code did. */
static tc_status push_mirror(struct tc_trace *t, const struct tc_traced_table *table) {
  lua_createtable(t->L, table->array_hint, table->hash_hint);
  for (size_t i = 0; i < table->steps.len; i++) {
    const struct tc_table_step step = table->steps.data[i];
    if (!tc_push(t, &table->entries.data[step.entry].key))
      return tc_trace_break(t, TC_BREAK_TABLE_ORDER, "the order of a table with new objects as keys");
    if (step.present)
      lua_pushboolean(t->L, true);
    else
      lua_pushnil(t->L);
    lua_rawset(t->L, -3);
  }
  return TC_OK;
}

/* Pops a table; its keys, in order, become a sequence at the stack top. */
static int push_keys(struct tc_trace *t) {
  lua_State *L = t->L;
  const int table = lua_gettop(L);
  int count = 0;
  lua_newtable(L);
  lua_pushnil(L);
  while (lua_next(L, table)) {
    lua_pop(L, 1);
    lua_pushvalue(L, -1);
    lua_rawseti(L, table + 1, ++count);
  }
  lua_remove(L, table);
  return count;
}

/* The key at the stack top, popped, as a tracked value. */
static tc_status pop_key(struct tc_trace *t, struct tc_tracked *out) {
  bool is_scalar;
  const tc_status status = tc_pop_scalar(t, &is_scalar, out);
  return status || is_scalar ? status : tc_import_pinned(t, TC_NO_SOURCE, out);
}

static tc_status learn_order(struct tc_trace *t, struct tc_traced_table *table) {
  lua_State *L = t->L;
  tc_status status = TC_OK;
  if (table->grew)
    return tc_trace_break(t, TC_BREAK_TABLE_ORDER, "the order of a table from outside that got new keys");
  if ((status = tc_table_fix_keys(t, table))) return status;
  if (table->origin.object)
    lua_rawgeti(L, t->objects, table->origin.object);
  else if ((status = push_mirror(t, table)))
    return status;
  const int count = push_keys(t);
  const int keys = lua_gettop(L);
  if (table->origin.object) tc_guards_keys(t->guards, L, table->origin.source, keys, count);
  table->order.len = 0;
  for (size_t i = 0; i < table->entries.len; i++) table->entries.data[i].order = -1;
  for (int i = 1; i <= count && !status; i++) {
    struct tc_tracked key, value;
    lua_rawgeti(L, keys, i);
    status = pop_key(t, &key);
    if (!status && !tc_table_find(table, &key)) status = tc_table_get(t, table, key, &value);
    if (status) break;
    struct tc_table_entry *entry = tc_table_find(table, &key);
    entry->order = i - 1;
    const int item = (int)(entry - table->entries.data);
    if (!tc_vec_push(tc_arena_alloc(t->arena), &table->order, item)) status = tc_trace_nomem(t);
  }
  lua_settop(L, keys - 1);
  table->order_known = !status;
  return status;
}

tc_status tc_table_next(struct tc_trace *t, struct tc_traced_table *table, struct tc_tracked key,
                        struct tc_tracked *next, struct tc_tracked *value) {
  tc_status status = tc_table_key(t, &key);
  if (!status && (!table->order_known || table->grew)) status = learn_order(t, table);
  if (status) return status;
  const struct tc_table_entry *entry = key.kind == TC_IS_NIL ? NULL : tc_table_find(table, &key);
  if (key.kind != TC_IS_NIL && (!entry || entry->order < 0)) return tc_trace_raises(t, "invalid key to next");
  for (size_t i = entry ? (size_t)entry->order + 1 : 0; i < table->order.len; i++) {
    entry = &table->entries.data[table->order.data[i]];
    if (entry->value.kind == TC_IS_NIL) continue;
    *next = entry->key;
    *value = entry->value;
    return TC_OK;
  }
  *next = *value = tc_nil();
  return TC_OK;
}

tc_status tc_table_has_names(struct tc_trace *t, struct tc_traced_table *table, bool *has) {
  *has = false;
  if (table->origin.object && !table->order_known) {
    const tc_status status = learn_order(t, table);
    if (status) return status;
  }
  for (size_t i = 0; i < table->entries.len && !*has; i++)
    *has = table->entries.data[i].key.kind == TC_IS_TEXT && table->entries.data[i].value.kind != TC_IS_NIL;
  return TC_OK;
}
