/* The memory plan: where each intermediate lies in the pool, and which entries must wait for which.
 *
 * 1. A value lives from the entry that makes it to the last that reads it. Two that live together never
 *    overlap, with one exception: a kernel may write over an input that dies with it, element by element,
 *    where every load of it has exactly the store's address and comes no later (tc_slot in place).
 * 2. Sizes that are constants are placed largest first, each in the lowest gap that is free for its life;
 *    symbolic ones share an offset only with values of exactly the same size.
 * 3. Dependences follow from memory: read after write, write after read, write after write.
 * 4. Entries that run tile by tile run at one time, as seen from outside: what they touch lives over all of them, and none writes in
 *    place. Inside, a tile's own slots are planned as the pool is, in memory of their own, of one tile's size. */
#include "sched/schedule.h"

#include <stdlib.h>

enum { POOL_ALIGN = 64 };

/* Values that share one offset, in turn. */
struct block { int tiles, first, last; tc_sym bytes, offset; int64_t size, at; bool placed; }; /* tiles: -1 in the pool */

struct planner {
  struct tc_sched *s;
  int n;               /* slots */
  int *first, *last;   /* by slot: entries of its life; first -1: never written */
  int *block_of;       /* by slot; -1 */
  struct block *blocks;
  int n_blocks;
};

static void find_lives(struct planner *p) {
  const struct tc_launch_list *list = p->s->list;
  for (int i = 0; i < p->n; i++) p->first[i] = p->last[i] = p->block_of[i] = -1;
  for (int u = 0; u < list->n_launches; u++)
    for (int i = 0; i < tc_launch_slot_count(list, &list->launches[u]); i++) {
      const int slot = tc_launch_slot(&list->launches[u], i), tiles = tc_tiles_of(list, u);
      if (slot < 0) continue;
      const bool together = tiles >= 0 && list->slots[slot].kind != TC_SLOT_TILE;
      if (p->first[slot] < 0) p->first[slot] = together ? list->tiles[tiles].first : u;
      p->last[slot] = together ? list->tiles[tiles].first + list->tiles[tiles].count - 1 : u;
    }
}

/* --- in place --- */

struct load_check { const struct tc_kernel *k; int buffer; tc_sym address; bool *seen; };

static bool loads_only_at(struct load_check *c, const struct tc_expr *e) {
  if (c->seen[e->id]) return true;
  c->seen[e->id] = true;
  if (e->op == TC_E_LOAD && e->buffer == c->buffer && (e->args[0] || !tc_sym_same(e->address, c->address))) return false;
  for (int i = 0; i < TC_EXPR_ARGS; i++)
    if (e->args[i] && !loads_only_at(c, e->args[i])) return false;
  return true;
}

static bool uses_buffer(const struct tc_expr *e, int buffer, bool *seen) {
  if (seen[e->id]) return false;
  seen[e->id] = true;
  if (e->op == TC_E_LOAD && e->buffer == buffer) return true;
  for (int i = 0; i < TC_EXPR_ARGS; i++)
    if (e->args[i] && uses_buffer(e->args[i], buffer, seen)) return true;
  return false;
}

/* The one store to a buffer and its phase; NULL when there are several. */
static const struct tc_kernel_store *only_store(const struct tc_kernel *k, int buffer, int *phase) {
  const struct tc_kernel_store *found = NULL;
  for (int p = 0; p < k->n_phases; p++)
    for (int i = 0; i < k->phases[p].n_stores; i++) {
      if (k->phases[p].stores[i].buffer != buffer) continue;
      if (found) return NULL;
      found = &k->phases[p].stores[i];
      *phase = p;
    }
  return found;
}

/* May `written` take the memory of `read`? */
static bool can_overwrite(struct planner *p, const struct tc_kernel *k, int read, int written) {
  int phase = 0;
  const struct tc_kernel_store *store = only_store(k, written, &phase);
  if (!store || k->buffers[read].role != TC_ROLE_READ || k->buffers[written].role != TC_ROLE_WRITE) return false;
  if (tc_dtype_bytes(k->buffers[read].dtype) != tc_dtype_bytes(k->buffers[written].dtype)) return false;
  bool *seen = TC_NEW_ARRAY(p->s->alloc, bool, (size_t)k->n_exprs + 1);
  if (!seen) return false; /* only a saving */
  struct load_check check = {k, read, store->address, seen};
  for (int i = 0; i < k->n_phases; i++) {
    const struct tc_phase *ph = &k->phases[i];
    for (int r = 0; r < ph->n_reductions; r++)
      if (!loads_only_at(&check, ph->reductions[r].value)) return false;
    for (int t = 0; t < ph->n_stores; t++)
      if (!loads_only_at(&check, ph->stores[t].value)) return false;
  }
  for (int e = 0; e < k->n_exprs; e++) seen[e] = false;
  for (int i = phase + 1; i < k->n_phases; i++) {
    const struct tc_phase *ph = &k->phases[i];
    for (int r = 0; r < ph->n_reductions; r++)
      if (uses_buffer(ph->reductions[r].value, read, seen)) return false;
    for (int t = 0; t < ph->n_stores; t++)
      if (uses_buffer(ph->stores[t].value, read, seen)) return false;
  }
  return true;
}

/* A dying input of entry `u` that the slot may take over; -1: none. */
static int find_victim(struct planner *p, int u, int buffer) {
  const struct tc_launch *l = &p->s->list->launches[u];
  if (l->kind != TC_LAUNCH_KERNEL) return -1;
  const struct tc_slot *slots = p->s->list->slots;
  const enum tc_slot_kind kind = slots[l->slots[buffer]].kind;
  if (kind == TC_SLOT_POOL && tc_tiles_of(p->s->list, u) >= 0) return -1; /* another tile may still read it */
  for (int i = 0; i < tc_launch_slot_count(p->s->list, l); i++) {
    const int slot = l->slots[i];
    if (slot < 0 || slots[slot].kind != kind || p->last[slot] != u || p->first[slot] == u || p->block_of[slot] < 0) continue;
    if (p->blocks[p->block_of[slot]].last != u || !tc_sym_same(slots[slot].elements, slots[l->slots[buffer]].elements)) continue;
    if (can_overwrite(p, p->s->list->codes[l->code].kernel, i, buffer)) return slot;
  }
  return -1;
}

static tc_sym slot_bytes(const struct planner *p, int slot) {
  const struct tc_slot *x = &p->s->list->slots[slot];
  return tc_sym_mul(p->s->tab, x->elements, tc_sym_const(tc_dtype_bytes(x->dtype)));
}

/* What of a slot exists at one time. */
static tc_sym held_bytes(const struct planner *p, int slot, int tiles) {
  struct tc_symtab *tab = p->s->tab;
  const tc_sym all = slot_bytes(p, slot);
  if (tiles < 0) return all;
  const struct tc_tiles *t = &p->s->list->tiles[tiles];
  return tc_sym_mul(tab, tc_sym_div(tab, all, tc_sym_mul(tab, t->batches, t->rows)), tc_sym_const(t->step));
}

static void make_blocks(struct planner *p) {
  struct tc_launch_list *list = p->s->list;
  for (int u = 0; u < list->n_launches; u++)
    for (int i = 0; i < tc_launch_slot_count(list, &list->launches[u]); i++) {
      const int slot = tc_launch_slot(&list->launches[u], i);
      if (slot < 0 || !tc_launch_writes(list, &list->launches[u], i) || p->block_of[slot] >= 0) continue;
      const enum tc_slot_kind kind = list->slots[slot].kind;
      if (kind != TC_SLOT_POOL && kind != TC_SLOT_TILE) continue;
      const int victim = find_victim(p, u, i), tiles = kind == TC_SLOT_TILE ? tc_tiles_of(list, u) : -1;
      p->block_of[slot] = victim >= 0 ? p->block_of[victim] : p->n_blocks++;
      struct block *b = &p->blocks[p->block_of[slot]];
      if (victim < 0) *b = (struct block){.tiles = tiles, .first = p->first[slot], .bytes = held_bytes(p, slot, tiles)};
      b->last = p->last[slot];
      list->pool_bytes_without_reuse += (uint64_t)tc_sym_hint(slot_bytes(p, slot));
    }
}

/* --- placing --- */

static int64_t align(int64_t bytes) { return (bytes + POOL_ALIGN - 1) / POOL_ALIGN * POOL_ALIGN; }
static bool live_together(const struct block *a, const struct block *b) {
  return a->tiles == b->tiles && a->first <= b->last && b->first <= a->last;
}

static int by_size(const void *x, const void *y) {
  const struct block *a = *(struct block *const *)x, *b = *(struct block *const *)y;
  if (a->size != b->size) return a->size < b->size ? 1 : -1;
  return a < b ? -1 : a > b;
}

/* The lowest offset at which no placed block that lives with it lies. */
static int64_t lowest_gap(struct block *const *blocks, int n, const struct block *b) {
  int64_t at = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (int i = 0; i < n; i++) {
      const struct block *other = blocks[i];
      if (!other->placed || !live_together(other, b) || other->at >= at + b->size || at >= other->at + other->size) continue;
      at = other->at + other->size;
      moved = true;
    }
  }
  return at;
}

static int64_t place_constants(struct planner *p, int tiles, struct block **sorted) {
  int n = 0;
  int64_t top = 0;
  for (int i = 0; i < p->n_blocks; i++) {
    struct block *b = &p->blocks[i];
    if (b->tiles != tiles || !tc_sym_is_const(b->bytes)) continue;
    b->size = align(tc_sym_value(b->bytes));
    sorted[n++] = b;
  }
  if (n) qsort(sorted, (size_t)n, sizeof *sorted, by_size);
  for (int i = 0; i < n; i++) {
    sorted[i]->at = lowest_gap(sorted, n, sorted[i]);
    sorted[i]->placed = true;
    sorted[i]->offset = tc_sym_const(sorted[i]->at);
    if (sorted[i]->at + sorted[i]->size > top) top = sorted[i]->at + sorted[i]->size;
  }
  return top;
}

/* After the constants: one place a size and life. */
static tc_sym place_symbolic(struct planner *p, int tiles, tc_sym top) {
  struct tc_symtab *tab = p->s->tab;
  const tc_sym unit = tc_sym_const(POOL_ALIGN);
  for (int i = 0; i < p->n_blocks; i++) {
    struct block *b = &p->blocks[i];
    if (b->placed || b->tiles != tiles) continue;
    for (int k = 0; k < i && !b->placed; k++) {
      if (!p->blocks[k].placed || p->blocks[k].tiles != tiles || !tc_sym_same(p->blocks[k].bytes, b->bytes)) continue;
      bool free = true;
      for (int m = 0; m < i && free; m++)
        free = !p->blocks[m].placed || !tc_sym_same(p->blocks[m].offset, p->blocks[k].offset) || !live_together(&p->blocks[m], b);
      if (free) b->offset = p->blocks[k].offset, b->placed = true;
    }
    if (b->placed) continue;
    b->offset = top;
    b->placed = true;
    const tc_sym units = tc_sym_div(tab, tc_sym_add(tab, b->bytes, tc_sym_const(POOL_ALIGN - 1)), unit);
    top = tc_sym_add(tab, top, tc_sym_mul(tab, units, unit));
  }
  return top;
}

/* --- dependences --- */

/* Do two slots share memory? */
static bool overlap(const struct planner *p, int a, int b) {
  if (a == b) return true;
  if (p->block_of[a] < 0 || p->block_of[b] < 0) return false;
  const struct block *x = &p->blocks[p->block_of[a]], *y = &p->blocks[p->block_of[b]];
  if (x->tiles != y->tiles) return false;
  if (tc_sym_is_const(x->bytes) && tc_sym_is_const(y->bytes)) return x->at < y->at + y->size && y->at < x->at + x->size;
  return tc_sym_same(x->offset, y->offset);
}

static bool conflict(const struct planner *p, const struct tc_launch *a, const struct tc_launch *b) {
  const struct tc_launch_list *list = p->s->list;
  for (int i = 0; i < tc_launch_slot_count(list, a); i++)
    for (int k = 0; k < tc_launch_slot_count(list, b); k++) {
      const int x = tc_launch_slot(a, i), y = tc_launch_slot(b, k);
      if (x >= 0 && y >= 0 && (tc_launch_writes(list, a, i) || tc_launch_writes(list, b, k)) && overlap(p, x, y)) return true;
    }
  return false;
}

/* Nearest first; what is waited for already through another entry is left out. */
static bool find_depends(struct planner *p) {
  struct tc_launch_list *list = p->s->list;
  const int n = list->n_launches;
  bool *reached = TC_NEW_ARRAY(p->s->alloc, bool, (size_t)n * (size_t)n + 1); /* [later][earlier] */
  if (!reached) return false;
  for (int u = 0; u < n; u++) {
    struct tc_launch *l = &list->launches[u];
    bool *mine = reached + (size_t)u * (size_t)n;
    l->depends = TC_NEW_ARRAY(p->s->alloc, int, (size_t)u + 1);
    if (!l->depends) return false;
    for (int e = u - 1; e >= 0; e--) {
      if (mine[e] || !conflict(p, &list->launches[e], l)) continue;
      l->depends[l->n_depends++] = e;
      mine[e] = true;
      for (int k = 0; k < e; k++) mine[k] |= reached[(size_t)e * (size_t)n + (size_t)k];
    }
  }
  return true;
}

tc_status tc_sched_plan(struct tc_sched *s) {
  struct planner p = {.s = s, .n = s->list->n_slots};
  const size_t n = (size_t)p.n + 1;
  p.first = TC_NEW_ARRAY(s->alloc, int, n);
  p.last = TC_NEW_ARRAY(s->alloc, int, n);
  p.block_of = TC_NEW_ARRAY(s->alloc, int, n);
  p.blocks = TC_NEW_ARRAY(s->alloc, struct block, n);
  struct block **sorted = TC_NEW_ARRAY(s->alloc, struct block *, n);
  if (!p.first || !p.last || !p.block_of || !p.blocks || !sorted) return tc_sched_nomem(s);
  find_lives(&p);
  make_blocks(&p);
  s->list->pool_bytes = place_symbolic(&p, -1, tc_sym_const(place_constants(&p, -1, sorted)));
  for (int i = 0; i < s->list->n_tiles; i++) {
    struct tc_tiles *t = &s->list->tiles[i];
    t->bytes = place_symbolic(&p, i, tc_sym_const(place_constants(&p, i, sorted)));
    if (!tc_sym_valid(t->bytes)) return tc_sched_nomem(s);
  }
  for (int i = 0; i < p.n; i++)
    if (p.block_of[i] >= 0) s->list->slots[i].offset = p.blocks[p.block_of[i]].offset;
  if (!tc_sym_valid(s->list->pool_bytes) || !find_depends(&p)) return tc_sched_nomem(s);
  return TC_OK;
}
