/* Which entries must have finished before one may begin: read after write, write after read, write after
 * write.
 *
 * 1. Memory is a slot's own, or a range of the pool (or of a tile's memory), which one block after the other
 *    holds. Each memory knows the entry that last wrote it and those that have read it since: whatever
 *    touched it before, these wait for.
 * 2. Nearest first; what is waited for already through another entry is left out, as far as a search of
 *    SEARCH_MAX entries finds it (what stays is only said twice). */
#include "sched/plan.h"

#include <stdlib.h>
#include <string.h>

enum { SEARCH_MAX = 1024 };

struct memory {
  int writer;
  TC_VEC(int) readers;
}; /* writer: -1 for none */
struct range {
  int64_t at, end;
  int block;
}; /* of the pool: the block that held it last */
struct ranges {
  struct range *data;
  size_t len, cap;
};

struct finder {
  struct tc_planner *p;
  const struct tc_alloc *alloc;
  struct memory *of_slot, *of_block;
  bool *begun;                     /* by block: an entry has touched it */
  struct ranges pool, tile, spare; /* by address, apart from one another */
  int tiles;                       /* that `tile` is of */
  TC_VEC(int) symbolic;            /* blocks of symbolic size that hold their offset */
  TC_VEC(int) found;               /* entries that the current one conflicts with */
  int *reached;                    /* by entry: 1 + the last entry that waits for it */
  TC_VEC(int) search;
};

/* --- what conflicts --- */

static bool note(struct finder *f, int entry, int current) {
  return entry < 0 || entry == current || tc_vec_push(f->alloc, &f->found, entry);
}

/* All that touched the memory since it was last written, and that write; or the write alone. */
static bool note_memory(struct finder *f, const struct memory *m, bool readers, int current) {
  if (!note(f, m->writer, current)) return false;
  for (size_t i = 0; readers && i < m->readers.len; i++)
    if (!note(f, m->readers.data[i], current)) return false;
  return true;
}

static bool keep_range(struct finder *f, int64_t at, int64_t end, int block) {
  const struct range range = {at, end, block};
  return at >= end || tc_vec_push(f->alloc, &f->spare, range);
}

/* First range that ends after `at`. */
static size_t range_place(const struct ranges *ranges, int64_t at) {
  size_t low = 0, high = ranges->len;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (ranges->data[middle].end <= at)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Puts f->spare in place of `count` ranges from `at` on. */
static bool replace_ranges(struct finder *f, struct ranges *ranges, size_t at, size_t count) {
  const size_t fresh = f->spare.len, tail = ranges->len - at - count, len = at + fresh + tail;
  const struct range none = {0};
  while (ranges->len < len)
    if (!tc_vec_push(f->alloc, ranges, none)) return false;
  memmove(ranges->data + at + fresh, ranges->data + at + count, tail * sizeof *ranges->data);
  memcpy(ranges->data + at, f->spare.data, fresh * sizeof *ranges->data);
  ranges->len = len;
  return true;
}

/* A block begins: it waits for all that held its range before. */
static bool begin_range(struct finder *f, struct ranges *ranges, int block, int current) {
  const int64_t at = f->p->blocks[block].at, end = at + f->p->blocks[block].size;
  const size_t first = range_place(ranges, at);
  size_t last = first; /* one past it */
  if (at == end) return true;
  f->spare.len = 0;
  for (; last < ranges->len && ranges->data[last].at < end; last++)
    if (!note_memory(f, &f->of_block[ranges->data[last].block], true, current)) return false;
  if (last > first && !keep_range(f, ranges->data[first].at, at, ranges->data[first].block)) return false;
  if (!keep_range(f, at, end, block)) return false;
  if (last > first && !keep_range(f, end, ranges->data[last - 1].end, ranges->data[last - 1].block))
    return false;
  return replace_ranges(f, ranges, first, last - first);
}

/* Blocks of symbolic size lie at one offset, or apart. */
static bool begin_symbolic(struct finder *f, int block, int current) {
  const struct tc_block *b = &f->p->blocks[block];
  for (size_t i = 0; i < f->symbolic.len; i++) {
    const struct tc_block *held = &f->p->blocks[f->symbolic.data[i]];
    if (held->tiles != b->tiles || !tc_sym_same(held->offset, b->offset)) continue;
    const int before = f->symbolic.data[i];
    f->symbolic.data[i] = block;
    return note_memory(f, &f->of_block[before], true, current);
  }
  return tc_vec_push(f->alloc, &f->symbolic, block);
}

static bool begin_block(struct finder *f, int block, int current) {
  const struct tc_block *b = &f->p->blocks[block];
  if (f->begun[block]) return true;
  f->begun[block] = true;
  if (!tc_sym_is_const(b->bytes)) return begin_symbolic(f, block, current);
  if (b->tiles >= 0 && b->tiles != f->tiles)
    f->tiles = b->tiles, f->tile.len = 0; /* each has memory of its own */
  return begin_range(f, b->tiles >= 0 ? &f->tile : &f->pool, block, current);
}

static struct memory *memory_of(const struct finder *f, int slot) {
  const int block = f->p->block_of[slot];
  return block >= 0 ? &f->of_block[block] : &f->of_slot[slot];
}

/* Memory that entries write at all. */
static bool is_written(const struct finder *f, int slot) {
  const enum tc_slot_kind kind = f->p->s->list->slots[slot].kind;
  return kind == TC_SLOT_OUTPUT || kind == TC_SLOT_POOL || kind == TC_SLOT_TILE;
}

static bool find_conflicts(struct finder *f, int current) {
  const struct tc_launch_list *list = f->p->s->list;
  const struct tc_launch *l = &list->launches[current];
  f->found.len = 0;
  for (int i = 0; i < tc_launch_slot_count(list, l); i++) {
    const int slot = tc_launch_slot(l, i);
    if (slot < 0 || !is_written(f, slot)) continue;
    if (f->p->block_of[slot] >= 0 && !begin_block(f, f->p->block_of[slot], current)) return false;
    if (!note_memory(f, memory_of(f, slot), tc_launch_writes(list, l, i), current)) return false;
  }
  return true;
}

/* From now on the entry is what last touched its memory. */
static bool take_memory(struct finder *f, int current) {
  const struct tc_launch_list *list = f->p->s->list;
  const struct tc_launch *l = &list->launches[current];
  for (int i = 0; i < tc_launch_slot_count(list, l); i++) {
    const int slot = tc_launch_slot(l, i);
    if (slot < 0 || !is_written(f, slot) || !tc_launch_writes(list, l, i)) continue;
    memory_of(f, slot)->writer = current;
    memory_of(f, slot)->readers.len = 0;
  }
  for (int i = 0; i < tc_launch_slot_count(list, l); i++) {
    const int slot = tc_launch_slot(l, i);
    if (slot < 0 || !is_written(f, slot) || memory_of(f, slot)->writer == current) continue;
    if (!tc_vec_push(f->alloc, &memory_of(f, slot)->readers, current)) return false;
  }
  return true;
}

/* --- what is waited for already --- */

static bool reach(struct finder *f, int entry, int lowest, int current) {
  const struct tc_launch *launches = f->p->s->list->launches;
  f->search.len = 0;
  if (!tc_vec_push(f->alloc, &f->search, entry)) return false;
  for (int met = 0; f->search.len && met < SEARCH_MAX; met++) {
    const struct tc_launch *l = &launches[f->search.data[--f->search.len]];
    for (int i = 0; i < l->n_depends; i++) {
      const int before = l->depends[i];
      if (before < lowest || f->reached[before] == current + 1) continue;
      f->reached[before] = current + 1;
      if (!tc_vec_push(f->alloc, &f->search, before)) return false;
    }
  }
  return true;
}

static int later_first(const void *x, const void *y) {
  const int a = *(const int *)x, b = *(const int *)y;
  return a < b ? 1 : a > b ? -1 : 0;
}

static bool depend(struct finder *f, int current) {
  struct tc_launch *l = &f->p->s->list->launches[current];
  const size_t n = f->found.len;
  if (n) qsort(f->found.data, n, sizeof *f->found.data, later_first);
  if (!(l->depends = TC_NEW_ARRAY(f->alloc, int, n + 1))) return false;
  for (size_t i = 0; i < n; i++) {
    const int entry = f->found.data[i];
    if (f->reached[entry] == current + 1) continue;
    f->reached[entry] = current + 1;
    l->depends[l->n_depends++] = entry;
    if (f->found.data[n - 1] < entry && !reach(f, entry, f->found.data[n - 1], current)) return false;
  }
  return true;
}

bool tc_plan_depends(struct tc_planner *p) {
  struct finder f = {.p = p, .alloc = p->s->alloc, .tiles = -1};
  f.of_slot = TC_NEW_ARRAY(f.alloc, struct memory, (size_t)p->n + 1);
  f.of_block = TC_NEW_ARRAY(f.alloc, struct memory, (size_t)p->n_blocks + 1);
  f.begun = TC_NEW_ARRAY(f.alloc, bool, (size_t)p->n_blocks + 1);
  f.reached = TC_NEW_ARRAY(f.alloc, int, (size_t)p->s->list->n_launches + 1);
  if (!f.of_slot || !f.of_block || !f.begun || !f.reached) return false;
  for (int i = 0; i < p->n; i++) f.of_slot[i].writer = -1;
  for (int i = 0; i < p->n_blocks; i++) f.of_block[i].writer = -1;
  for (int u = 0; u < p->s->list->n_launches; u++)
    if (!find_conflicts(&f, u) || !depend(&f, u) || !take_memory(&f, u)) return false;
  return true;
}
