/* Tables, by raw accesses: those that the traced code makes, and those from outside, which are read lazily.
 *
 * Invariants:
 *  1. A fresh table holds in `entries` what it holds in Lua, or nil for a key that was removed; border and n_positive follow
 *     its positive integer keys.
 *  2. An outside table's `entries` are what was read so far; each read is a guarded source. It is never written.
 *  3. The order of next is taken from a real table: the outside one itself, or one built with the same sizes and insertions as
 *     the fresh one; it is not known when keys are objects that do not exist in the Lua state, or when keys were removed. */
#include <math.h>

#include "base/hash.h"
#include "capture/trace.h"

tc_status tc_new_table(struct tc_trace *t, int array_hint, int hash_hint, struct tc_tracked *out) {
  *out = tc_tracked_table(TC_NEW(tc_arena_alloc(t->arena), struct tc_traced_table));
  if (!out->table) return tc_trace_nomem(t);
  out->table->origin.source = TC_NO_SOURCE;
  out->table->metatable_known = true;
  out->table->array_hint = array_hint;
  out->table->hash_hint = hash_hint;
  return TC_OK;
}

static uint64_t hash_key(const struct tc_tracked *key) {
  if (key->kind == TC_IS_TEXT) return key->text->hash;
  if (key->kind == TC_IS_BOOL) return tc_hash_u64(TC_IS_BOOL, key->boolean);
  return tc_hash_u64(key->kind, (uint64_t)key->integer); /* the bits of whatever it is */
}

static bool same_key(const struct tc_tracked *a, const struct tc_tracked *b) {
  if (a->kind != b->kind) return false;
  return a->kind == TC_IS_BOOL ? a->boolean == b->boolean : a->integer == b->integer;
}

static struct tc_table_entry *find_entry(const struct tc_traced_table *table, const struct tc_tracked *key) {
  const uint64_t hash = hash_key(key);
  size_t at = tc_slots_first(&table->index, hash);
  for (int i; (i = tc_slots_item(&table->index, at, hash, &at)) >= 0;)
    if (same_key(&table->entries.data[i].key, key)) return &table->entries.data[i];
  return NULL;
}

static tc_status add_entry(struct tc_trace *t, struct tc_traced_table *table, const struct tc_tracked *key, const struct tc_tracked *value) {
  const struct tc_alloc *alloc = tc_arena_alloc(t->arena);
  const struct tc_table_entry entry = {*key, *value, -1};
  const int item = (int)table->entries.len;
  const bool added = tc_vec_push(alloc, &table->entries, entry) && tc_slots_add(alloc, &table->index, hash_key(key), item);
  return added ? TC_OK : tc_trace_nomem(t);
}

/* Fixes the key by guards; floats with an integer value become that integer. */
static tc_status normalise_key(struct tc_trace *t, struct tc_tracked *key) {
  if (tc_is_scalar(key)) {
    const tc_status status = tc_use(t, key);
    if (status) return status;
    lua_Integer integer;
    if (key->kind == TC_IS_NUM && lua_numbertointeger(key->number, &integer) && (lua_Number)integer == key->number) *key = tc_int(integer);
    return TC_OK;
  }
  tc_pin(t, key);
  return TC_OK;
}

tc_status tc_table_get(struct tc_trace *t, struct tc_traced_table *table, struct tc_tracked key, struct tc_tracked *out) {
  tc_status status = normalise_key(t, &key);
  if (status) return status;
  *out = tc_nil();
  if (key.kind == TC_IS_NIL || (key.kind == TC_IS_NUM && isnan(key.number))) return TC_OK;
  const struct tc_table_entry *entry = find_entry(table, &key);
  if (entry) {
    *out = entry->value;
    return TC_OK;
  }
  if (!table->origin.object || !tc_push(t, &key)) return TC_OK; /* a fresh object is no key of an outside table */
  lua_State *L = t->L;
  const int source = tc_guards_field(t->guards, L, table->origin.source, lua_gettop(L));
  lua_rawgeti(L, t->objects, table->origin.object);
  lua_insert(L, -2);
  lua_rawget(L, -2);
  lua_remove(L, -2);
  status = tc_import(t, source, out);
  if (!status && out->kind == TC_IS_NIL) status = tc_use(t, out);
  return status ? status : add_entry(t, table, &key, out);
}

/* Follows the positive integer keys after key was set (present) or removed. */
static void follow_border(struct tc_traced_table *table, lua_Integer key, bool present) {
  table->n_positive += present ? 1 : -1;
  if (!present) {
    if (key <= table->border) table->border = key - 1;
    return;
  }
  if (key != table->border + 1) return;
  for (struct tc_tracked next = tc_int(key); next.integer < LUA_MAXINTEGER; next.integer++) {
    const struct tc_table_entry *entry = find_entry(table, &next);
    if (!entry || entry->value.kind == TC_IS_NIL) break;
    table->border = next.integer;
  }
}

tc_status tc_table_set(struct tc_trace *t, struct tc_traced_table *table, struct tc_tracked key, const struct tc_tracked *value) {
  const struct tc_tracked whole = tc_tracked_table(table);
  char name[128];
  if (table->origin.object) {
    tc_describe(t, &whole, name, sizeof name);
    if (key.kind == TC_IS_TEXT) return tc_trace_break(t, TC_BREAK_SIDE_EFFECT, "assignment to field %s of %s", key.text->bytes, name);
    return tc_trace_break(t, TC_BREAK_SIDE_EFFECT, "assignment to an element of %s", name);
  }
  tc_status status = normalise_key(t, &key);
  if (status) return status;
  if (key.kind == TC_IS_NIL) return tc_trace_raises(t, "table index is nil");
  if (key.kind == TC_IS_NUM && isnan(key.number)) return tc_trace_raises(t, "table index is NaN");
  struct tc_tracked kept = *value;
  if (kept.kind == TC_IS_NIL && (status = tc_use(t, &kept))) return status;
  const bool present = kept.kind != TC_IS_NIL;
  struct tc_table_entry *entry = find_entry(table, &key);
  const bool was_present = entry && entry->value.kind != TC_IS_NIL;
  if (entry) entry->value = kept;
  else if (present && (status = add_entry(t, table, &key, &kept))) return status;
  if (present && !was_present) {
    table->order_known = false;
    table->regrew |= table->shrank;
  }
  table->shrank |= was_present && !present;
  if (present != was_present && key.kind == TC_IS_INT && key.integer > 0) follow_border(table, key.integer, present);
  return TC_OK;
}

tc_status tc_table_set_index(struct tc_trace *t, struct tc_traced_table *table, lua_Integer key, const struct tc_tracked *value) {
  return tc_table_set(t, table, tc_int(key), value);
}

tc_status tc_table_length(struct tc_trace *t, struct tc_traced_table *table, lua_Integer *length) {
  if (!table->origin.object) {
    if (table->n_positive != table->border) return tc_trace_break(t, TC_BREAK_OPCODE, "length of a table with holes");
    *length = table->border;
    return TC_OK;
  }
  lua_rawgeti(t->L, t->objects, table->origin.object);
  *length = (lua_Integer)lua_rawlen(t->L, -1);
  lua_pop(t->L, 1);
  tc_guards_length(t->guards, table->origin.source, *length);
  return TC_OK;
}

tc_status tc_table_metatable(struct tc_trace *t, struct tc_traced_table *table, struct tc_traced_table **out) {
  tc_status status = TC_OK;
  if (!table->metatable_known) {
    lua_State *L = t->L;
    struct tc_tracked metatable;
    const int source = table->origin.source;
    lua_rawgeti(L, t->objects, table->origin.object);
    const bool has = lua_getmetatable(L, -1);
    tc_guards_type(t->guards, source, LUA_TTABLE);
    tc_guards_metatable(t->guards, L, source, has ? lua_gettop(L) : 0);
    if (has) {
      status = tc_import_pinned(t, source, &metatable);
      table->metatable = metatable.table;
    }
    lua_pop(L, 1);
    table->metatable_known = !status;
  }
  *out = table->metatable;
  return status;
}

/* Pushes a real table with the keys of a fresh one, put in as the traced code did. */
static tc_status push_mirror(struct tc_trace *t, const struct tc_traced_table *table) {
  if (table->regrew) return tc_trace_break(t, TC_BREAK_OPCODE, "the order of a table that lost keys before it got others");
  lua_createtable(t->L, table->array_hint, table->hash_hint);
  for (size_t i = 0; i < table->entries.len; i++) {
    if (!tc_push(t, &table->entries.data[i].key)) return tc_trace_break(t, TC_BREAK_OPCODE, "the order of a table with new objects as keys");
    lua_pushboolean(t->L, true);
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
  if (table->origin.object) lua_rawgeti(L, t->objects, table->origin.object);
  else if ((status = push_mirror(t, table))) return status;
  const int count = push_keys(t);
  const int keys = lua_gettop(L);
  if (table->origin.object) tc_guards_keys(t->guards, L, table->origin.source, keys, count);
  table->order.len = 0;
  for (int i = 1; i <= count && !status; i++) {
    struct tc_tracked key, value;
    lua_rawgeti(L, keys, i);
    status = pop_key(t, &key);
    if (!status && !find_entry(table, &key)) status = tc_table_get(t, table, key, &value);
    if (status) break;
    struct tc_table_entry *entry = find_entry(table, &key);
    entry->order = i - 1;
    const int item = (int)(entry - table->entries.data);
    if (!tc_vec_push(tc_arena_alloc(t->arena), &table->order, item)) status = tc_trace_nomem(t);
  }
  lua_settop(L, keys - 1);
  table->order_known = !status;
  return status;
}

tc_status tc_table_next(struct tc_trace *t, struct tc_traced_table *table, struct tc_tracked key, struct tc_tracked *next, struct tc_tracked *value) {
  tc_status status = normalise_key(t, &key);
  if (!status && !table->order_known) status = learn_order(t, table);
  if (status) return status;
  const struct tc_table_entry *entry = key.kind == TC_IS_NIL ? NULL : find_entry(table, &key);
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
