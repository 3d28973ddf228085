/* The memory plan: which values live when, and which share memory; place.c gives it its offsets.
 *
 * 1. A value lives from the entry that makes it to the last that reads it. Two that live together never
 *    overlap, with one exception: a kernel may write over an input that dies with it, element by element,
 *    where every load of it has exactly the store's address and comes no later (tc_slot in place).
 * 2. Entries that run tile by tile run at one time, as seen from outside: what they touch lives over all of
 *    them, and none writes in place. Inside, a tile's own slots are planned as the pool is, in memory of
 *    their own, of one tile's size. */
#include "sched/plan.h"

static void find_lives(struct tc_planner *p) {
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

/* --- blocks --- */

static bool may(struct tc_planner *p, enum tc_fuel_kind kind, int entry, const char *does) {
  struct tc_fuel *fuel = p->s->loops->fuel;
  if (!tc_fuel_spend(fuel, kind)) return false;
  if (tc_fuel_ended(fuel, kind))
    tc_fuel_tell(fuel, kind, "launch %d (%s) %s", entry + 1, p->s->list->launches[entry].label, does);
  return true;
}

/* A dying input of entry `u` that the slot may take over; -1: none. */
static int find_victim(struct tc_planner *p, int u, int buffer) {
  const struct tc_launch *l = &p->s->list->launches[u];
  if (l->kind != TC_LAUNCH_KERNEL) return -1;
  const struct tc_slot *slots = p->s->list->slots;
  const enum tc_slot_kind kind = slots[l->slots[buffer]].kind;
  if (kind == TC_SLOT_POOL && tc_tiles_of(p->s->list, u) >= 0) return -1; /* another tile may still read it */
  for (int i = 0; i < tc_launch_slot_count(p->s->list, l); i++) {
    const int slot = l->slots[i];
    if (slot < 0 || slots[slot].kind != kind || p->last[slot] != u || p->first[slot] == u ||
        p->block_of[slot] < 0)
      continue;
    if (p->blocks[p->block_of[slot]].last != u ||
        !tc_sym_same(slots[slot].elements, slots[l->slots[buffer]].elements))
      continue;
    if (tc_kernel_can_overwrite(p->s, p->s->list->codes[l->code].kernel, i, buffer))
      return may(p, TC_FUEL_overwrite, u, "writes over an operand") ? slot : -1;
  }
  return -1;
}

static tc_sym slot_bytes(const struct tc_planner *p, int slot) {
  const struct tc_slot *x = &p->s->list->slots[slot];
  return tc_sym_mul(p->s->tab, x->elements, tc_sym_const(tc_dtype_bytes(x->dtype)));
}

/* What of a slot exists at one time. */
static tc_sym held_bytes(const struct tc_planner *p, int slot, int tiles) {
  struct tc_symtab *tab = p->s->tab;
  const tc_sym all = slot_bytes(p, slot);
  if (tiles < 0) return all;
  const struct tc_tiles *t = &p->s->list->tiles[tiles];
  return tc_sym_mul(tab, tc_sym_div(tab, all, tc_sym_mul(tab, t->batches, t->rows)), tc_sym_const(t->step));
}

static void make_blocks(struct tc_planner *p) {
  struct tc_launch_list *list = p->s->list;
  for (int u = 0; u < list->n_launches; u++)
    for (int i = 0; i < tc_launch_slot_count(list, &list->launches[u]); i++) {
      const int slot = tc_launch_slot(&list->launches[u], i);
      if (slot < 0 || !tc_launch_writes(list, &list->launches[u], i) || p->block_of[slot] >= 0) continue;
      const enum tc_slot_kind kind = list->slots[slot].kind;
      if (kind != TC_SLOT_POOL && kind != TC_SLOT_TILE) continue;
      const int victim = find_victim(p, u, i), tiles = kind == TC_SLOT_TILE ? tc_tiles_of(list, u) : -1;
      p->block_of[slot] = victim >= 0 ? p->block_of[victim] : p->n_blocks++;
      struct tc_block *b = &p->blocks[p->block_of[slot]];
      if (victim < 0)
        *b = (struct tc_block){.tiles = tiles, .first = p->first[slot], .bytes = held_bytes(p, slot, tiles)};
      b->last = p->last[slot];
      if (victim < 0 && !may(p, TC_FUEL_reuse, u, "writes what gives its memory back"))
        b->first = 0, b->last = list->n_launches - 1;
      list->pool_bytes_without_reuse += (uint64_t)tc_sym_hint(slot_bytes(p, slot));
    }
}

tc_status tc_sched_plan(struct tc_sched *s) {
  struct tc_planner p = {.s = s, .n = s->list->n_slots};
  const size_t n = (size_t)p.n + 1;
  p.first = TC_NEW_ARRAY(s->alloc, int, n);
  p.last = TC_NEW_ARRAY(s->alloc, int, n);
  p.block_of = TC_NEW_ARRAY(s->alloc, int, n);
  p.blocks = TC_NEW_ARRAY(s->alloc, struct tc_block, n);
  if (!p.first || !p.last || !p.block_of || !p.blocks) return tc_sched_failed(s);
  find_lives(&p);
  make_blocks(&p);
  if (!tc_plan_place(&p)) return tc_sched_failed(s);
  for (int i = 0; i < p.n; i++)
    if (p.block_of[i] >= 0) s->list->slots[i].offset = p.blocks[p.block_of[i]].offset;
  return tc_plan_depends(&p) ? TC_OK : tc_sched_failed(s);
}
