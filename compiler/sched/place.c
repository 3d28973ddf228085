/* Where the blocks of the pool, and of tiles' memory, lie.
 *
 * 1. Sizes that are constants are placed largest first, each in the lowest gap that is free for its life.
 * 2. Where more than MANY_ALIVE of them live at once (each would be held against all others), every size gets
 *    a part of its own, in which equal blocks follow one another as in the fewest columns.
 * 3. Symbolic ones share an offset only with values of exactly the same size: in the order of their lives,
 *    each takes the first offset of its size that is free, else the end of all. */
#include "sched/plan.h"

#include <stdlib.h>

#ifdef TC_HOSTILE
enum { MANY_ALIVE = 4 };
#else
enum { MANY_ALIVE = 512 };
#endif
enum { POOL_ALIGN = 64 };

static int64_t align(int64_t bytes) { return (bytes + POOL_ALIGN - 1) / POOL_ALIGN * POOL_ALIGN; }

/* The blocks of one memory by the begin of their lives, in a tree that finds those alive at a time: node i
 * has 2i and 2i + 1 below it, and latest[i] is the last end of life of what is placed below it. */
struct lives {
  struct tc_block **by_first;
  int n, leaves;
  int *latest;
  struct tc_block **alive;
  int n_alive;
};

static int by_first(const void *x, const void *y) {
  const struct tc_block *a = *(struct tc_block *const *)x, *b = *(struct tc_block *const *)y;
  if (a->first != b->first) return a->first < b->first ? -1 : 1;
  return a < b ? -1 : a > b;
}

static bool make_lives(struct tc_planner *p, struct tc_block *const *blocks, int n, struct lives *lives) {
  *lives = (struct lives){.n = n, .leaves = 1};
  while (lives->leaves < n) lives->leaves *= 2;
  lives->by_first = TC_NEW_ARRAY(p->s->alloc, struct tc_block *, (size_t)n + 1);
  lives->alive = TC_NEW_ARRAY(p->s->alloc, struct tc_block *, (size_t)n + 1);
  lives->latest = TC_NEW_ARRAY(p->s->alloc, int, (size_t)lives->leaves * 2);
  if (!lives->by_first || !lives->alive || !lives->latest) return false;
  for (int i = 0; i < n; i++) lives->by_first[i] = blocks[i];
  if (n) qsort(lives->by_first, (size_t)n, sizeof *lives->by_first, by_first);
  for (int i = 0; i < n; i++) lives->by_first[i]->life = i;
  for (int i = 0; i < 2 * lives->leaves; i++) lives->latest[i] = -1;
  return true;
}

/* Those below the node (whose first leaf is `leaf`) that live with `b`. As deep as the tree, which is
 * balanced. */
static void find_alive(struct lives *lives, int node, int leaf, int width, const struct tc_block *b) {
  if (leaf >= lives->n || lives->latest[node] < b->first || lives->by_first[leaf]->first > b->last) return;
  if (width == 1) {
    lives->alive[lives->n_alive++] = lives->by_first[leaf];
    return;
  }
  find_alive(lives, 2 * node, leaf, width / 2, b);
  find_alive(lives, 2 * node + 1, leaf + width / 2, width / 2, b);
}

static int by_end(const void *x, const void *y) {
  const struct tc_block *a = *(struct tc_block *const *)x, *b = *(struct tc_block *const *)y;
  if (a->last != b->last) return a->last < b->last ? -1 : 1;
  return a < b ? -1 : a > b;
}

static int by_offset(const void *x, const void *y) {
  const struct tc_block *a = *(struct tc_block *const *)x, *b = *(struct tc_block *const *)y;
  return a->at < b->at ? -1 : a->at > b->at;
}

static int by_size(const void *x, const void *y) {
  const struct tc_block *a = *(struct tc_block *const *)x, *b = *(struct tc_block *const *)y;
  if (a->size != b->size) return a->size < b->size ? 1 : -1;
  return a < b ? -1 : a > b;
}

/* The lowest offset at which no placed block that lives with it lies. */
static int64_t lowest_gap(struct lives *lives, const struct tc_block *b) {
  int64_t at = 0;
  lives->n_alive = 0;
  find_alive(lives, 1, 0, lives->leaves, b);
  if (lives->n_alive) qsort(lives->alive, (size_t)lives->n_alive, sizeof *lives->alive, by_offset);
  for (int i = 0; i < lives->n_alive; i++) {
    const struct tc_block *other = lives->alive[i];
    if (other->at >= at + b->size) break;
    if (other->at + other->size > at) at = other->at + other->size;
  }
  return at;
}

/* Each in its turn, the largest first; the end of the last one. */
static int64_t place_by_gaps(struct lives *lives, struct tc_block **sorted, int n) {
  int64_t top = 0;
  for (int i = 0; i < n; i++) {
    struct tc_block *b = sorted[i];
    b->at = lowest_gap(lives, b);
    for (int node = lives->leaves + b->life; node; node /= 2)
      if (lives->latest[node] < b->last) lives->latest[node] = b->last;
    if (b->at + b->size > top) top = b->at + b->size;
  }
  return top;
}

/* --- columns of one size each, where very many live at once and for sizes that are symbolic --- */

/* A tree: node i has 2i and 2i + 1 below it; taken[i] is the least 1 + last of what lies in the columns
 * below. */
struct columns {
  int leaves, used, *taken;
};

static bool make_columns(struct tc_planner *p, int n, struct columns *out) {
  *out = (struct columns){.leaves = 1};
  while (out->leaves < n) out->leaves *= 2;
  out->taken = TC_NEW_ARRAY(p->s->alloc, int, (size_t)out->leaves * 2);
  return out->taken;
}

/* The first column that is free when the block's life begins. Blocks come in the order of their lives. */
static int take_column(struct columns *c, const struct tc_block *b) {
  int node = 1;
  while (node < c->leaves) node = 2 * node + (c->taken[2 * node] > b->first);
  const int column = node - c->leaves;
  if (column >= c->used) c->used = column + 1;
  c->taken[node] = b->last + 1;
  for (node /= 2; node; node /= 2)
    c->taken[node] =
        c->taken[2 * node] < c->taken[2 * node + 1] ? c->taken[2 * node] : c->taken[2 * node + 1];
  return column;
}

/* Blocks of one size; false when memory is out. */
static bool place_in_columns(struct tc_planner *p, struct tc_block **blocks, int n, int64_t *top) {
  struct columns columns;
  if (!make_columns(p, n, &columns)) return false;
  qsort(blocks, (size_t)n, sizeof *blocks, by_first);
  for (int i = 0; i < n; i++) blocks[i]->at = *top + take_column(&columns, blocks[i]) * blocks[i]->size;
  *top += columns.used * blocks[0]->size;
  return true;
}

static bool place_by_sizes(struct tc_planner *p, struct tc_block **sorted, int n, int64_t *top) {
  *top = 0;
  for (int i = 0, end; i < n; i = end) {
    for (end = i + 1; end < n && sorted[end]->size == sorted[i]->size;) end++;
    if (!place_in_columns(p, sorted + i, end - i, top)) return false;
  }
  return true;
}

/* The most blocks that live at one time; `by_last` is room for as many as there are. */
static int most_alive(const struct lives *lives, struct tc_block **by_last) {
  int most = 0;
  for (int i = 0; i < lives->n; i++) by_last[i] = lives->by_first[i];
  if (lives->n) qsort(by_last, (size_t)lives->n, sizeof *by_last, by_end);
  for (int i = 0, ended = 0; i < lives->n; i++) {
    while (by_last[ended]->last < lives->by_first[i]->first) ended++;
    if (i + 1 - ended > most) most = i + 1 - ended;
  }
  return most;
}

/* --- all --- */

/* The blocks of one memory: the pool, or that of tiles. */
struct share {
  struct tc_block **blocks;
  int n;
};

/* *top: the end of the last one; false when memory is out. */
static bool place_constants(struct tc_planner *p, const struct share *share, int64_t *top) {
  struct tc_block **sorted = TC_NEW_ARRAY(p->s->alloc, struct tc_block *, (size_t)share->n + 1);
  struct lives lives;
  int n = 0;
  if (!sorted) return false;
  for (int i = 0; i < share->n; i++) {
    struct tc_block *b = share->blocks[i];
    if (!tc_sym_is_const(b->bytes)) continue;
    b->size = align(tc_sym_value(b->bytes));
    sorted[n++] = b;
  }
  if (!make_lives(p, sorted, n, &lives)) return false;
  const bool many = most_alive(&lives, lives.alive) > MANY_ALIVE;
  if (n) qsort(sorted, (size_t)n, sizeof *sorted, by_size);
  if (!many)
    *top = place_by_gaps(&lives, sorted, n);
  else if (!place_by_sizes(p, sorted, n, top))
    return false;
  for (int i = 0; i < n; i++) {
    sorted[i]->placed = true;
    sorted[i]->offset = tc_sym_const(sorted[i]->at);
  }
  return true;
}

/* Blocks of one symbolic size: their columns, and where each of those lies. */
struct symbolic_size {
  struct columns columns;
  tc_sym *offsets;
};

static int by_symbol(const void *x, const void *y) {
  const struct tc_block *a = *(struct tc_block *const *)x, *b = *(struct tc_block *const *)y;
  return a->bytes.bits < b->bytes.bits ? -1 : a->bytes.bits > b->bytes.bits;
}

/* Numbers the sizes of the n blocks, in whatever order (what follows does not depend on it): a block's stands
 * in its `life`. NULL when memory is out. */
static struct symbolic_size *sort_sizes(struct tc_planner *p, struct tc_block **blocks, int n) {
  struct symbolic_size *sizes = TC_NEW_ARRAY(p->s->alloc, struct symbolic_size, (size_t)n + 1);
  if (n) qsort(blocks, (size_t)n, sizeof *blocks, by_symbol);
  for (int i = 0, end, n_sizes = 0; i < n && sizes; i = end, n_sizes++) {
    for (end = i; end < n && tc_sym_same(blocks[end]->bytes, blocks[i]->bytes); end++)
      blocks[end]->life = n_sizes;
    sizes[n_sizes].offsets = TC_NEW_ARRAY(p->s->alloc, tc_sym, (size_t)(end - i));
    if (!sizes[n_sizes].offsets || !make_columns(p, end - i, &sizes[n_sizes].columns)) return NULL;
  }
  return sizes;
}

static tc_sym aligned(struct tc_symtab *tab, tc_sym bytes) {
  const tc_sym unit = tc_sym_const(POOL_ALIGN);
  return tc_sym_mul(tab, tc_sym_div(tab, tc_sym_add(tab, bytes, tc_sym_const(POOL_ALIGN - 1)), unit), unit);
}

/* After the constants, which end at `top`; the end of all, INVALID when memory is out. */
static tc_sym place_symbolic(struct tc_planner *p, const struct share *share, tc_sym top) {
  struct tc_block **blocks = TC_NEW_ARRAY(p->s->alloc, struct tc_block *, (size_t)share->n + 1);
  int n = 0;
  if (!blocks) return TC_SYM_INVALID;
  for (int i = 0; i < share->n; i++)
    if (!share->blocks[i]->placed) blocks[n++] = share->blocks[i];
  struct symbolic_size *sizes = sort_sizes(p, blocks, n);
  if (!sizes) return TC_SYM_INVALID;
  if (n) qsort(blocks, (size_t)n, sizeof *blocks, by_first);
  for (int i = 0; i < n; i++) {
    struct symbolic_size *size = &sizes[blocks[i]->life];
    const int before = size->columns.used, column = take_column(&size->columns, blocks[i]);
    if (column == before) {
      size->offsets[column] = top;
      top = tc_sym_add(p->s->tab, top, aligned(p->s->tab, blocks[i]->bytes));
    }
    blocks[i]->offset = size->offsets[column];
    blocks[i]->placed = true;
  }
  return top;
}

static int by_memory(const void *x, const void *y) {
  const struct tc_block *a = *(struct tc_block *const *)x, *b = *(struct tc_block *const *)y;
  if (a->tiles != b->tiles) return a->tiles < b->tiles ? -1 : 1;
  return a < b ? -1 : a > b;
}

/* The next blocks of one memory from `from` on. */
static struct share share_from(struct tc_block **blocks, int n, int from, int tiles) {
  struct share share = {.blocks = blocks + from};
  while (from + share.n < n && share.blocks[share.n]->tiles == tiles) share.n++;
  return share;
}

bool tc_plan_place(struct tc_planner *p) {
  struct tc_launch_list *list = p->s->list;
  struct tc_block **blocks = TC_NEW_ARRAY(p->s->alloc, struct tc_block *, (size_t)p->n_blocks + 1);
  if (!blocks) return false;
  for (int i = 0; i < p->n_blocks; i++) blocks[i] = &p->blocks[i];
  if (p->n_blocks) qsort(blocks, (size_t)p->n_blocks, sizeof *blocks, by_memory);
  for (int tiles = -1, from = 0; tiles < list->n_tiles; tiles++) {
    const struct share share = share_from(blocks, p->n_blocks, from, tiles);
    int64_t top;
    /* INVALID when memory is out, or where they overflow. */
    const tc_sym bytes =
        place_constants(p, &share, &top) ? place_symbolic(p, &share, tc_sym_const(top)) : TC_SYM_INVALID;
    if (!tc_sym_valid(bytes)) return false;
    if (tiles < 0)
      list->pool_bytes = bytes;
    else
      list->tiles[tiles].bytes = bytes;
    from += share.n;
  }
  return true;
}
