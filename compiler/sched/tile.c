/* Tiles: entries around a batched product that run part by part, so that what they hand on stays in a
 * thread's cache.
 *
 * Attention is the case: scores = q·kᵀ, their softmax, times v. Run one after the other over all heads, the
 * scores go to memory and back twice; run for some rows of one head at a time, they never leave the second
 * cache. (Dao et al., FlashAttention, with whole rows; the products stay the library's.)
 *
 * 1. The entries share a space: batches × rows. A product does one batch a tile and some rows of C; a kernel
 *    its items in equal shares. Entries join as long as whatever one of them writes and another touches is
 *    touched row by row: row r of the space is elements [r·width, (r + 1)·width) of the slot, for both.
 * 2. A slot that nothing else touches becomes a TILE slot; tiles are made only where that saves more than the
 *    second cache holds.
 * 3. B of a product is read whole by every tile, so it is never written by an entry of the same tiles. */
#include "sched/schedule.h"

enum {
  CACHE_SHARE =
      4, /* of the second cache, for the tile slots: the operands and the library's copies want the rest */
  ROW_UNIT = 16
}; /* rows of a tile: a multiple of what the library computes at once */

struct space {
  tc_sym batches, rows, total;
};

/* --- row by row --- */

/* Elements of a slot that belong to a row of the space; INVALID where they are not equal shares. */
static tc_sym width_of(const struct tc_sched *s, const struct space *space, int slot) {
  const tc_sym elements = s->list->slots[slot].elements, width = tc_sym_div(s->tab, elements, space->total);
  return tc_sym_same(tc_sym_mul(s->tab, width, space->total), elements) ? width : TC_SYM_INVALID;
}

static bool operand_by_rows(const struct tc_sched *s, const struct tc_gemm *g,
                            const struct tc_gemm_operand *o, tc_sym width) {
  if (!tc_sym_is(o->offset, 0) || !tc_sym_is(o->col_stride, 1) || !tc_sym_same(o->row_stride, width))
    return false;
  tc_sym stride = tc_sym_mul(s->tab, g->m, width);
  for (int i = g->n_batch - 1; i >= 0; i--) {
    if (!tc_sym_same(o->batch_strides[i], stride)) return false;
    stride = tc_sym_mul(s->tab, stride, g->batch[i]);
  }
  return true;
}

/* Is `inner`, free of the outer variables, within a row? */
static bool within_row(const struct tc_sched *s, const struct tc_kernel *k, tc_sym inner, tc_sym width) {
  int64_t low, high;
  if (tc_sym_bounds(inner, &low, &high) && tc_sym_is_const(width))
    return low >= 0 && high < tc_sym_value(width);
  tc_sym stride, rest;
  return k->n_inner == 1 && tc_sym_same(k->inner[0].extent, width) &&
         tc_sym_affine(s->tab, inner, k->inner[0].var, &stride, &rest) && tc_sym_is(stride, 1) &&
         tc_sym_is(rest, 0);
}

/* `each`: items of a row. */
static bool address_by_rows(const struct tc_sched *s, const struct tc_kernel *k, tc_sym address, tc_sym width,
                            tc_sym each) {
  tc_sym stride = width, found, rest;
  if (k->split_inner) /* an item is an element: as many of a row as the slot has */
    return tc_sym_same(each, width) && tc_sym_affine(s->tab, address, k->inner[0].var, &found, &rest) &&
           tc_sym_is(found, 1) && tc_sym_is(rest, 0);
  for (int i = k->n_outer - 1; i >= 0; i--) {
    if (!tc_sym_affine(s->tab, address, k->outer[i].var, &found, &rest) || !tc_sym_same(found, stride))
      return false;
    address = rest;
    stride = tc_sym_mul(s->tab, stride, k->outer[i].extent);
  }
  return within_row(s, k, address, width);
}

/* Is every load and store of the buffer in its row? (Where memory for the question is out: no.) */
static bool buffer_by_rows(struct tc_sched *s, const struct tc_kernel *k, int buffer, tc_sym width,
                           tc_sym each) {
  if (!tc_walk_begin(&s->walk, TC_WALK_PRE, k->n_exprs)) return false;
  for (int p = 0; p < k->n_phases; p++) {
    const struct tc_phase *phase = &k->phases[p];
    for (int i = 0; i < phase->n_reductions; i++)
      if (!tc_walk_from(&s->walk, phase->reductions[i].value)) return false;
    for (int i = 0; i < phase->n_stores; i++) {
      const struct tc_kernel_store *store = &phase->stores[i];
      if (!tc_walk_from(&s->walk, store->value)) return false;
      if (store->buffer == buffer && !address_by_rows(s, k, store->address, width, each)) return false;
    }
  }
  for (const struct tc_expr *e; (e = tc_walk_next(&s->walk));)
    if (e->op == TC_E_LOAD && e->buffer == buffer &&
        (e->args[0] || !address_by_rows(s, k, e->address, width, each)))
      return false;
  return !s->walk.failed;
}

/* Does the entry touch its i-th slot row by row? */
static bool touches_by_rows(struct tc_sched *s, const struct space *space, const struct tc_launch *l, int i) {
  const tc_sym width = width_of(s, space, tc_launch_slot(l, i));
  if (!tc_sym_valid(width)) return false;
  if (l->kind == TC_LAUNCH_KERNEL)
    return buffer_by_rows(s, s->list->codes[l->code].kernel, i, width,
                          tc_sym_div(s->tab, l->items, space->total));
  return i != 1 && operand_by_rows(s, &l->gemm, i == 0 ? &l->gemm.a : &l->gemm.c, width);
}

/* --- regions --- */

static bool space_of(const struct tc_sched *s, const struct tc_launch *l, struct space *out) {
  if (l->kind != TC_LAUNCH_GEMM || (l->gemm.dtype != TC_F32 && l->gemm.dtype != TC_F64))
    return false; /* others are widened whole */
  const struct tc_gemm *g = &l->gemm;
  if (!g->n_batch || tc_sym_is(g->m, 0) || tc_sym_is(g->n, 0) || tc_sym_is(g->k, 0)) return false;
  out->rows = g->m;
  out->batches = tc_sym_const(1);
  for (int i = 0; i < g->n_batch; i++) out->batches = tc_sym_mul(s->tab, out->batches, g->batch[i]);
  out->total = tc_sym_mul(s->tab, out->batches, out->rows);
  return tc_sym_valid(out->total) && tc_sym_always_lt(tc_sym_const(0), out->total);
}

/* Can the entry's work be cut along the space? */
static bool in_space(const struct tc_sched *s, const struct space *space, const struct tc_launch *l) {
  struct space own;
  if (l->kind == TC_LAUNCH_GEMM)
    return space_of(s, l, &own) && tc_sym_same(own.batches, space->batches) &&
           tc_sym_same(own.rows, space->rows);
  const struct tc_kernel *k = s->list->codes[l->code].kernel;
  if (k->lanes == TC_LANES_OUTER || s->plain[l - s->list->launches])
    return false; /* an item is many lanes of one row, or of several */
  if (!k->split_inner) return tc_sym_same(l->items, space->total);
  const tc_sym each = tc_sym_div(s->tab, l->items, space->total);
  return tc_sym_same(tc_sym_mul(s->tab, each, space->total), l->items);
}

/* Does the entry write a slot that the other touches? *by_rows: all such slots are touched row by row, by
 * both. */
static bool hands_over(struct tc_sched *s, const struct space *space, const struct tc_launch *from,
                       const struct tc_launch *to, bool *by_rows) {
  bool found = false;
  for (int i = 0; i < tc_launch_slot_count(s->list, from); i++) {
    if (!tc_launch_writes(s->list, from, i)) continue;
    for (int k = 0; k < tc_launch_slot_count(s->list, to); k++) {
      if (tc_launch_slot(from, i) != tc_launch_slot(to, k)) continue;
      found = true;
      *by_rows = *by_rows && touches_by_rows(s, space, from, i) && touches_by_rows(s, space, to, k);
    }
  }
  return found;
}

/* May `entry` run in tiles with the entries [first, last]? */
static bool joins(struct tc_sched *s, const struct space *space, int first, int last, int entry) {
  const struct tc_launch *launches = s->list->launches, *l = &launches[entry];
  if (last - first + 1 >= TC_MAX_TILED || !in_space(s, space, l)) return false;
  bool related = false, by_rows = true;
  for (int i = first; i <= last && by_rows; i++) {
    if (hands_over(s, space, &launches[i], l, &by_rows)) related = true;
    if (by_rows && hands_over(s, space, l, &launches[i], &by_rows)) related = true;
  }
  return related && by_rows;
}

/* The entries that touch a slot, first and last. */
struct span {
  int first, last;
};

static struct span *spans_of_slots(const struct tc_sched *s) {
  const struct tc_launch_list *list = s->list;
  struct span *spans = TC_NEW_ARRAY(s->alloc, struct span, (size_t)list->n_slots + 1);
  for (int i = 0; spans && i < list->n_slots; i++) spans[i].first = -1;
  for (int u = 0; spans && u < list->n_launches; u++)
    for (int i = 0; i < tc_launch_slot_count(list, &list->launches[u]); i++) {
      const int slot = tc_launch_slot(&list->launches[u], i);
      if (slot < 0) continue;
      if (spans[slot].first < 0) spans[slot].first = u;
      spans[slot].last = u;
    }
  return spans;
}

/* Is the slot touched by the entries [first, last] alone, and row by row? */
static bool stays_inside(struct tc_sched *s, const struct space *space, const struct span *spans, int first,
                         int last, int slot) {
  const struct tc_launch_list *list = s->list;
  if (list->slots[slot].kind != TC_SLOT_POOL || spans[slot].first < first || spans[slot].last > last)
    return false;
  for (int u = first; u <= last; u++)
    for (int i = 0; i < tc_launch_slot_count(list, &list->launches[u]); i++)
      if (tc_launch_slot(&list->launches[u], i) == slot && !touches_by_rows(s, space, &list->launches[u], i))
        return false;
  return true;
}

static int64_t slot_hint_bytes(const struct tc_slot *slot) {
  return tc_sym_hint(slot->elements) * tc_dtype_bytes(slot->dtype);
}

/* What stays in a cache is not moved, and its stores must not bypass it. */
static void keep_in_cache(struct tc_launch_list *list, struct tc_launch *l, int slot) {
  for (int i = 0; i < tc_launch_slot_count(list, l); i++) {
    if (tc_launch_slot(l, i) != slot) continue;
    const uint64_t bytes = (uint64_t)slot_hint_bytes(&list->slots[slot]);
    l->bytes -= bytes < l->bytes ? bytes : l->bytes;
    if (l->kind == TC_LAUNCH_KERNEL) list->codes[l->code].kernel->buffers[i].stream = false;
  }
}

static int64_t step_of(const struct tc_sched *s, const struct space *space, int64_t bytes) {
  const int64_t rows = tc_sym_hint(space->rows), row_bytes = bytes / tc_sym_hint(space->total) + 1;
  int64_t step = s->target->l2_bytes / CACHE_SHARE / row_bytes;
  if (step > rows) step = rows;
  if (step < ROW_UNIT) step = ROW_UNIT;
  const int64_t tiles = (rows + step - 1) / step,
                each = (rows + tiles - 1) / tiles; /* of one batch, as equal as can be */
  return (each + ROW_UNIT - 1) / ROW_UNIT * ROW_UNIT;
}

/* The slots that stay inside, once each. */
static int find_inside(struct tc_sched *s, const struct space *space, const struct span *spans, int first,
                       int last, int *inside) {
  const struct tc_launch_list *list = s->list;
  int n = 0;
  for (int u = first; u <= last; u++)
    for (int i = 0; i < tc_launch_slot_count(list, &list->launches[u]); i++) {
      const int slot = tc_launch_slot(&list->launches[u], i);
      bool known = slot < 0 || spans[slot].first != u;
      for (int k = 0; k < n && !known; k++) known = inside[k] == slot;
      if (!known && stays_inside(s, space, spans, first, last, slot)) inside[n++] = slot;
    }
  return n;
}

static bool may_tile(struct tc_sched *s, int first, int last) {
  struct tc_fuel *fuel = s->loops->fuel;
  if (!tc_fuel_spend(fuel, TC_FUEL_tile)) return false;
  if (tc_fuel_ended(fuel, TC_FUEL_tile))
    tc_fuel_tell(fuel, TC_FUEL_tile, "launches %d to %d, from %s on", first + 1, last + 1,
                 s->list->launches[first].label);
  return true;
}

static void make_tiles(struct tc_sched *s, const struct space *space, const struct span *spans, int first,
                       int last) {
  struct tc_launch_list *list = s->list;
  int inside[TC_MAX_TILED * TC_MAX_KERNEL_BUFFERS];
  const int n = find_inside(s, space, spans, first, last, inside);
  int64_t bytes = 0;
  for (int i = 0; i < n; i++) bytes += slot_hint_bytes(&list->slots[inside[i]]);
  if (bytes <= s->target->l2_bytes || !may_tile(s, first, last)) return;
  for (int i = 0; i < n; i++) {
    for (int u = first; u <= last; u++) keep_in_cache(list, &list->launches[u], inside[i]);
    list->slots[inside[i]].kind = TC_SLOT_TILE;
  }
  list->tiles[list->n_tiles++] = (struct tc_tiles){.first = first,
                                                   .count = last - first + 1,
                                                   .batches = space->batches,
                                                   .rows = space->rows,
                                                   .step = step_of(s, space, bytes)};
}

tc_status tc_sched_tile(struct tc_sched *s) {
  struct tc_launch_list *list = s->list;
  list->tiles = TC_NEW_ARRAY(s->alloc, struct tc_tiles, (size_t)list->n_launches + 1);
  const struct span *spans = spans_of_slots(s);
  if (!list->tiles || !spans) return tc_sched_failed(s);
  for (int i = 0, free_from = 0; s->config->tile && i < list->n_launches; i++) {
    struct space space;
    if (!space_of(s, &list->launches[i], &space)) continue;
    int first = i, last = i;
    while (last + 1 < list->n_launches && joins(s, &space, first, last, last + 1)) last++;
    while (first > free_from && joins(s, &space, first, last, first - 1)) first--;
    if (last > first) make_tiles(s, &space, spans, first, last);
    i = last;
    free_from = last + 1;
  }
  return TC_OK;
}
