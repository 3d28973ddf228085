/* Tables, by raw accesses: those that the traced code makes, and those from outside, which are read lazily.
 * Their lengths and the order of next are in table_order.c.
 *
 * Invariants:
 *  1. A fresh table holds in `entries` what it holds in Lua, or nil for a key that was removed; border and
 *     n_positive follow its positive integer keys.
 *  2. An external table's `entries` are what was read or written so far; each first read is a guarded source.
 *     The table in the Lua state is not touched: the entries hold what the traced code would see in it.
 *  3. `steps` are the changes of its keys, in order: played on a real table they make the same one as the
 *     traced code does. Of an external table each written key has one at least, whatever it held before.
 *  4. Whether a value is nil is guarded when it is stored. */
#include <math.h>

#include "base/hash.h"
#include "capture/trace/externals.h"
#include "capture/trace/tables.h"
#include "capture/trace/trace.h"

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

enum { FEW_ENTRIES = 8 }; /* are looked through: most tables have no more, and need no index */

struct tc_table_entry *tc_table_find(const struct tc_traced_table *table, const struct tc_tracked *key) {
  if (!table->index.len) {
    for (size_t i = 0; i < table->entries.len; i++)
      if (same_key(&table->entries.data[i].key, key)) return &table->entries.data[i];
    return NULL;
  }
  const uint64_t hash = hash_key(key);
  size_t at = tc_hash_index_first(&table->index, hash);
  for (int i; (i = tc_hash_index_next(&table->index, hash, &at)) >= 0;)
    if (same_key(&table->entries.data[i].key, key)) return &table->entries.data[i];
  return NULL;
}

static tc_status add_entry(struct tc_trace *t, struct tc_traced_table *table,
                           const struct tc_table_entry *entry) {
  const struct tc_alloc *alloc = tc_arena_alloc(t->arena);
  bool added = tc_vec_push(alloc, &table->entries, *entry);
  if (table->entries.len <= FEW_ENTRIES) return added ? TC_OK : tc_trace_nomem(t);
  for (size_t i = table->index.len; i < table->entries.len && added; i++)
    added = tc_hash_index_add(alloc, &table->index, hash_key(&table->entries.data[i].key), (int)i);
  return added ? TC_OK : tc_trace_nomem(t);
}

/* The table and the key at the stack top become the field. */
static void read_field(struct tc_trace *t) {
  lua_State *L = t->L;
  const int table = lua_gettop(L) - 1;
  lua_pushvalue(L, -1);
  if (lua_rawget(L, table) == LUA_TNIL && t->host->load_late && t->host->load_late(L, table)) {
    lua_pushvalue(L, -2);
    lua_rawget(L, table);
  }
  lua_replace(L, table);
  lua_settop(L, table);
}

tc_status tc_table_get(struct tc_trace *t, struct tc_traced_table *table, struct tc_tracked key,
                       struct tc_tracked *out) {
  tc_status status = tc_table_prepare_key(t, table, false, &key);
  if (status) return status;
  *out = tc_nil();
  if (key.kind == TC_IS_NIL || (key.kind == TC_IS_NUM && isnan(key.number))) return TC_OK;
  const struct tc_table_entry *entry = tc_table_find(table, &key);
  if (entry) {
    *out = entry->value;
    return TC_OK;
  }
  if (!table->origin.object || !tc_push(t, &key))
    return TC_OK; /* a fresh object is no key of an external table */
  lua_State *L = t->L;
  const int source = tc_guards_field(t->guards, L, table->origin.source, lua_gettop(L));
  lua_rawgeti(L, t->objects, table->origin.object);
  lua_insert(L, -2);
  read_field(t);
  status = tc_import(t, source, out);
  if (!status && out->kind == TC_IS_NIL) status = tc_use(t, out);
  return status ? status
                : add_entry(t, table,
                            &(struct tc_table_entry){
                                .key = key, .value = *out, .order = -1, .was_there = out->kind != TC_IS_NIL});
}

/* Has the external table, as it is now in the Lua state, the key? */
static bool holds_key(struct tc_trace *t, const struct tc_traced_table *table, const struct tc_tracked *key) {
  lua_State *L = t->L;
  lua_rawgeti(L, t->objects, table->origin.object);
  if (!tc_push(t, key)) { /* a fresh object is no key of an external table */
    lua_pop(L, 1);
    return false;
  }
  const bool holds = lua_rawget(L, -2) != LUA_TNIL;
  lua_pop(L, 2);
  return holds;
}

/* The entry of a key that is written; a new one is made for it, with nil or what the external table holds
 * (which is not guarded: only whoever asks for a length or an order depends on it). NULL: a fresh table
 * without the key gets nil. */
static tc_status entry_to_write(struct tc_trace *t, struct tc_traced_table *table,
                                const struct tc_tracked *key, bool present, struct tc_table_entry **out) {
  *out = tc_table_find(table, key);
  const bool is_external = table->origin.object != 0;
  if (*out || (!present && !is_external)) return TC_OK;
  struct tc_table_entry entry = {.key = *key, .value = tc_nil(), .order = -1};
  if (is_external && holds_key(t, table, key)) {
    entry.was_there = true;
    entry.value = tc_bool(true); /* something: it is overwritten at once */
  }
  const tc_status status = add_entry(t, table, &entry);
  table->n_lazy_keys += key->source != TC_NO_SOURCE;
  if (!status) *out = &table->entries.data[table->entries.len - 1];
  return status;
}

/* The record is written: it joins the list of those. */
static tc_status mark_written(struct tc_trace *t, struct tc_traced_table *table) {
  if (!table->origin.object || table->is_written) return TC_OK;
  table->is_written = true;
  return tc_vec_push(tc_arena_alloc(t->arena), &t->written, table) ? TC_OK : tc_trace_nomem(t);
}

static tc_status write_entry(struct tc_trace *t, struct tc_traced_table *table, struct tc_table_entry *entry,
                             const struct tc_tracked *value) {
  const bool is_external = table->origin.object != 0, present = value->kind != TC_IS_NIL,
             was_present = entry->value.kind != TC_IS_NIL;
  const struct tc_table_step step = {(int)(entry - table->entries.data), present};
  const bool is_step = present != was_present || (is_external && !entry->is_written);
  entry->value = *value;
  entry->is_written = true;
  if (is_step && !tc_vec_push(tc_arena_alloc(t->arena), &table->steps, step)) return tc_trace_nomem(t);
  if (is_external) {
    table->grew |= present && !entry->was_there;
    table->is_resized |=
        present != entry->was_there && entry->key.kind == TC_IS_INT && entry->key.integer > 0;
  } else if (present && !was_present) {
    table->order_known = false;
  }
  if (present != was_present) tc_table_follow_border(table, &entry->key, present);
  return mark_written(t, table);
}

tc_status tc_table_set(struct tc_trace *t, struct tc_traced_table *table, struct tc_tracked key,
                       const struct tc_tracked *value) {
  struct tc_tracked kept = *value;
  struct tc_table_entry *entry;
  tc_status status = tc_table_prepare_key(t, table, true, &key);
  if (status) return status;
  if (key.kind == TC_IS_NIL) return tc_trace_raises(t, "table index is nil");
  if (key.kind == TC_IS_NUM && isnan(key.number)) return tc_trace_raises(t, "table index is NaN");
  if (kept.kind == TC_IS_NIL && (status = tc_use(t, &kept))) return status;
  const bool has_node = kept.kind == TC_IS_TENSOR && kept.tensor->node; /* it has a guard, or is new */
  if (!has_node) tc_use_type(t, &kept);
  status = entry_to_write(t, table, &key, kept.kind != TC_IS_NIL, &entry);
  return status || !entry ? status : write_entry(t, table, entry, &kept);
}

tc_status tc_table_set_index(struct tc_trace *t, struct tc_traced_table *table, lua_Integer key,
                             const struct tc_tracked *value) {
  return tc_table_set(t, table, tc_int(key), value);
}

tc_status tc_table_metatable(struct tc_trace *t, struct tc_traced_table *table,
                             struct tc_traced_table **out) {
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

tc_status tc_table_set_metatable(struct tc_trace *t, struct tc_traced_table *table,
                                 struct tc_traced_table *metatable) {
  table->metatable = metatable;
  table->metatable_known = true;
  if (!table->origin.object) return TC_OK;
  table->metatable_written = true;
  return mark_written(t, table);
}
