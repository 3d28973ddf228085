/* Copies of the state of side effects, where opt.cow_snapshots is off.
 *
 * The traced function goes on into a call without knowing whether it can be captured; if not, the capture
 * ends before it. By default nothing is copied for that: records change by an ordered log (value.h,
 * effects.c) that ends where the capture is told to stop. Off: before each call of the captured function's
 * own frame, registers, written tables and variables are copied, whole, and the copy is put back where the
 * capture stops there. Both end with the same state.
 *
 * 1. A copy owns its arrays; put back, they are the tables' own. The arena lives until the trace ends or the
 *    next copy is made. */
#include <string.h>

#include "capture/trace/place.h"
#include "capture/trace/trace.h"

struct table_copy {
  struct tc_traced_table *table, state;
};
struct cell_copy {
  struct tc_cell *cell, state;
};

struct tc_snapshot {
  struct tc_arena *arena;
  int64_t at; /* place */
  size_t n_slots, n_tables, n_cells;
  struct tc_tracked *slots;
  struct table_copy *tables;
  struct cell_copy *cells;
};

static void *duplicate(struct tc_arena *arena, const void *data, size_t bytes) {
  void *copy = tc_arena_bytes(arena, bytes + 1);
  if (copy && bytes) memcpy(copy, data, bytes);
  return copy;
}

/* An array of a record, as a copy without spare room. False: memory is out. */
#define OWN(arena, vec)                                                                                      \
  ((vec)->data = duplicate(arena, (vec)->data, sizeof *(vec)->data * (vec)->len), (vec)->cap = (vec)->len,   \
   (vec)->data != NULL)

static bool copy_table(struct tc_arena *arena, struct tc_traced_table *table, struct table_copy *out) {
  *out = (struct table_copy){table, *table};
  struct tc_traced_table *state = &out->state;
  struct tc_hash_index *index = &state->index;
  index->entries = duplicate(arena, index->entries, sizeof *index->entries * index->cap);
  return index->entries && OWN(arena, &state->entries) && OWN(arena, &state->steps) &&
         OWN(arena, &state->order);
}

static bool copy_all(struct tc_trace *t, struct tc_snapshot *s) {
  const struct tc_alloc *alloc = tc_arena_alloc(s->arena);
  s->at = t->place.at;
  s->n_slots = t->limit < t->n_slots ? t->limit : t->n_slots;
  s->n_tables = t->written.len;
  s->n_cells = t->cells.len;
  s->slots = duplicate(s->arena, t->slots, sizeof *s->slots * s->n_slots);
  s->tables = TC_NEW_ARRAY(alloc, struct table_copy, s->n_tables + 1);
  s->cells = TC_NEW_ARRAY(alloc, struct cell_copy, s->n_cells + 1);
  if (!s->slots || !s->tables || !s->cells) return false;
  for (size_t i = 0; i < s->n_cells; i++)
    s->cells[i] = (struct cell_copy){t->cells.data[i], *t->cells.data[i]};
  for (size_t i = 0; i < s->n_tables; i++)
    if (!copy_table(s->arena, t->written.data[i], &s->tables[i])) return false;
  return true;
}

tc_status tc_snapshot_take(struct tc_trace *t) {
  tc_snapshot_free(t);
  struct tc_arena *arena = tc_arena_new(t->ctx->alloc);
  struct tc_snapshot *s = arena ? TC_NEW(tc_arena_alloc(arena), struct tc_snapshot) : NULL;
  if (!s) return tc_arena_free(arena), tc_trace_nomem(t);
  s->arena = arena;
  t->snapshot = s;
  return copy_all(t, s) ? TC_OK : tc_trace_nomem(t);
}

void tc_snapshot_restore(struct tc_trace *t) {
  const struct tc_snapshot *s = t->snapshot;
  if (!s || s->at != t->place.at) return;
  memcpy(t->slots, s->slots, sizeof *s->slots * s->n_slots);
  t->written.len = s->n_tables;
  t->cells.len = s->n_cells;
  for (size_t i = 0; i < s->n_tables; i++) *s->tables[i].table = s->tables[i].state;
  for (size_t i = 0; i < s->n_cells; i++) *s->cells[i].cell = s->cells[i].state;
}

void tc_snapshot_free(struct tc_trace *t) {
  if (t->snapshot) tc_arena_free(t->snapshot->arena);
  t->snapshot = NULL;
}
