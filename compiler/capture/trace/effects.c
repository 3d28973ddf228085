/* Effects: what the traced code writes to tables and variables from outside. Until the compiled call ends,
 * the records alone show it; then it is carried out.
 *
 * Invariants:
 *  1. A table is written by its steps, in the order of the program, so that the order of next and the length
 *     are afterwards what they would be. The order among tables and variables does not matter, since nothing
 *     runs in between: a captured call is one moment to everybody else. (Finalizers excepted: those that
 *     plain code would run between its writes run before or after.)
 *  2. Records are told apart by their addresses at capture. A later call may bring one table where there were
 *     two; so guards hold apart each table that is written and each other one of which something is known
 *     that the write would change; and likewise variables of closures that may be others. */
#include "capture/trace/externals.h"
#include "capture/trace/results.h"
#include "capture/trace/tables.h"
#include "capture/trace/trace.h"

enum { MOST_PAIRS = 512 }; /* guards on pairs; above that, the tables are guarded to be these very ones */

static bool writes_index(const struct tc_traced_table *table) {
  for (size_t i = 0; i < table->steps.len; i++) {
    const struct tc_tracked *key = &table->entries.data[table->steps.data[i].entry].key;
    if (key->kind == TC_IS_INT && (key->integer > 0 || key->source != TC_NO_SOURCE)) return true;
  }
  return false;
}

/* Would it matter if the two were one table? */
static bool matters(const struct tc_traced_table *written, const struct tc_traced_table *other) {
  if (other->is_written) return true;
  if (written->metatable_written && other->metatable_known) return true;
  if (other->order_known && written->steps.len) return true;
  if (other->length_used && writes_index(written)) return true;
  for (size_t i = 0; i < written->steps.len; i++)
    if (tc_table_may_have(other, &written->entries.data[written->steps.data[i].entry].key)) return true;
  return false;
}

static tc_status hold_apart(struct tc_trace *t, struct tc_traced_table *a, struct tc_traced_table *b,
                            int *pairs) {
  if (a->origin.pinned && b->origin.pinned) return TC_OK;
  if (++*pairs <= MOST_PAIRS) return tc_guard_distinct(t, &a->origin, &b->origin);
  const struct tc_tracked values[] = {tc_tracked_table(a), tc_tracked_table(b)};
  tc_pin(t, &values[0]);
  tc_pin(t, &values[1]);
  return TC_OK;
}

static tc_status guard_aliases(struct tc_trace *t) {
  int pairs = 0;
  for (size_t i = 0; i < t->written.len; i++) {
    struct tc_traced_table *written = t->written.data[i];
    for (size_t k = 0; k < t->records.len; k++) {
      struct tc_traced_table *other = t->records.data[k].table;
      if (t->records.data[k].kind != TC_IS_TABLE || other == written || !matters(written, other)) continue;
      const tc_status status = hold_apart(t, written, other, &pairs);
      if (status) return status;
    }
  }
  return TC_OK;
}

static tc_status write_tables(struct tc_trace *t) {
  tc_status status = TC_OK;
  for (size_t i = 0; i < t->written.len && !status; i++) {
    const struct tc_tracked value = tc_tracked_table(t->written.data[i]);
    status = tc_make_target(t, &value, &value.table->number);
    if (!status && value.table->metatable_written) status = tc_make_metatable(t, value.table, true);
  }
  for (size_t i = 0; i < t->written.len && !status; i++) status = tc_make_fields(t, t->written.data[i], true);
  return status;
}

static tc_status write_variables(struct tc_trace *t) {
  tc_status status = TC_OK;
  for (size_t i = 0; i < t->cells.len && !status; i++) {
    const struct tc_cell *cell = t->cells.data[i];
    if (!cell->is_written) continue;
    const struct tc_tracked owner = tc_tracked_closure(cell->owner);
    const char *name = cell->owner->proto->upvalues[cell->number - 1].name;
    struct tc_write write = {.kind = TC_WRITE_UPVALUE, .upvalue = cell->number};
    if (name && !(write.name = tc_arena_text(t->out->recipes, name))) return tc_trace_nomem(t);
    status = tc_make_target(t, &owner, &cell->owner->number);
    write.object = cell->owner->number - 1;
    if (!status) status = tc_make_recipe(t, cell->value, &write.value);
    if (!status) status = tc_add_write(t, &write, true);
  }
  return status;
}

/* A variable that is written, and each other one that was looked at. */
static void guard_variables(struct tc_trace *t) {
  for (size_t i = 0; i < t->cells.len; i++) {
    const struct tc_cell *written = t->cells.data[i];
    for (size_t k = 0; k < t->cells.len && written->is_written; k++) {
      const struct tc_cell *other = t->cells.data[k];
      const bool is_told = k <= i && other->is_written;
      if (other->is_read && !is_told) tc_guard_other_variable(t, written, other);
    }
  }
}

tc_status tc_make_effects(struct tc_trace *t) {
  tc_status status = guard_aliases(t);
  guard_variables(t);
  if (!status) status = write_tables(t);
  return status ? status : write_variables(t);
}
