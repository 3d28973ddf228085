/* Keys of table accesses. Most are fixed by guards. A number that changes between calls may stay open where
 * it is the key of a write to a table from outside (`t[#t + 1] = v`): the replay computes it for each call.
 *
 * Invariants:
 *  1. A lazy key is an integer, of an external table whose length after the write nobody asked for, or told
 *     openly (table_order.c). Its entry is found by the value of the captured call.
 *  2. Whether it is one of the table's other integer keys is guarded for each pair, when the second of them
 *     comes in: so the entries are different keys in each call that the guards let through.
 *  3. Whoever needs the keys themselves (a length, an order) has them fixed first; then all is as if they had
 *     been constants. */
#include <math.h>

#include "capture/trace/externals.h"
#include "capture/trace/lazy.h"
#include "capture/trace/tables.h"
#include "capture/trace/trace.h"

enum {
  MOST_LAZY_KEYS = 8,
  MOST_COMPARED = 64
}; /* of one table, and entries that a lazy key is compared with; above that it is fixed */

tc_status tc_table_key(struct tc_trace *t, struct tc_tracked *key) {
  if (tc_is_scalar(key)) {
    const tc_status status = tc_use(t, key);
    if (status) return status;
    lua_Integer integer;
    if (key->kind == TC_IS_NUM && lua_numbertointeger(key->number, &integer) &&
        (lua_Number)integer == key->number)
      *key = tc_int(integer);
    return TC_OK;
  }
  tc_pin(t, key);
  return TC_OK;
}

static bool may_stay_lazy(const struct tc_trace *t, const struct tc_traced_table *table,
                          const struct tc_tracked *key) {
  return key->kind == TC_IS_INT && tc_is_lazy(t, key) && table->origin.object && !table->border_known &&
         table->n_lazy_keys < MOST_LAZY_KEYS && table->entries.len < MOST_COMPARED;
}

/* Is it, as an expression, the key of an entry? */
static bool is_lazy_key_of(const struct tc_traced_table *table, const struct tc_tracked *key) {
  if (key->kind != TC_IS_INT || !table->n_lazy_keys) return false;
  const struct tc_table_entry *entry = tc_table_find(table, key);
  return entry && key->source != TC_NO_SOURCE && entry->key.source == key->source;
}

/* Guards whether the key is that of each entry, where one of the two is lazy. What cannot be compared openly
 * gets fixed. */
static tc_status tell_apart(struct tc_trace *t, struct tc_traced_table *table, struct tc_tracked *key) {
  tc_status status = TC_OK;
  for (size_t i = 0; i < table->entries.len && !status; i++) {
    struct tc_tracked *other = &table->entries.data[i].key;
    const bool is_pair = other->kind == TC_IS_INT &&
                         other->source != key->source; /* one source is one key; two constants have none */
    if (is_pair) status = tc_lazy_compare(t, TC_GUARD_OP_EQ, key, other, other->integer == key->integer);
  }
  return status;
}

tc_status tc_table_prepare_key(struct tc_trace *t, struct tc_traced_table *table, bool is_write,
                               struct tc_tracked *key) {
  tc_status status = TC_OK;
  if (is_lazy_key_of(table, key)) return TC_OK;
  if (is_write && may_stay_lazy(t, table, key))
    tc_guards_number(t->guards, key->source, true);
  else
    status = tc_table_key(t, key);
  if (status || key->kind != TC_IS_INT || (key->source == TC_NO_SOURCE && !table->n_lazy_keys)) return status;
  return tell_apart(t, table, key);
}

tc_status tc_table_fix_keys(struct tc_trace *t, struct tc_traced_table *table) {
  tc_status status = TC_OK;
  for (size_t i = 0; i < table->entries.len && table->n_lazy_keys && !status; i++)
    status = tc_use(t, &table->entries.data[i].key);
  if (!status) table->n_lazy_keys = 0;
  return status;
}

bool tc_table_may_have(const struct tc_traced_table *table, const struct tc_tracked *key) {
  if (tc_table_find(table, key)) return true;
  if (key->kind != TC_IS_INT || (key->source == TC_NO_SOURCE && !table->n_lazy_keys)) return false;
  for (size_t i = 0; i < table->entries.len; i++)
    if (table->entries.data[i].key.kind == TC_IS_INT) return true;
  return false;
}
