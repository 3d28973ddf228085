/* Where the blocks of the pool, and of tiles' memory, lie.
 *
 * 1. Sizes that are constants are placed largest first, each in the lowest gap that is free for its life.
 * 2. Where more than MANY_ALIVE of them live at once (each would be held against all others), every size gets a part of its own, in
 *    which equal blocks follow one another as in the fewest columns.
 * 3. Symbolic ones share an offset only with values of exactly the same size. */
#include "sched/plan.h"

#include <stdlib.h>

#ifdef TC_HOSTILE
enum { MANY_ALIVE = 4 };
#else
enum { MANY_ALIVE = 512 };
#endif
enum { POOL_ALIGN = 64 };

static int64_t align(int64_t bytes) { return (bytes + POOL_ALIGN - 1) / POOL_ALIGN * POOL_ALIGN; }
static bool live_together(const struct tc_block *a, const struct tc_block *b) {
  return a->tiles == b->tiles && a->first <= b->last && b->first <= a->last;
}

/* The blocks of one memory by the begin of their lives, in a tree that finds those alive at a time: node i has 2i and 2i + 1
 * below it, and latest[i] is the last end of life of what is placed below it. */
struct lives { struct tc_block **by_first; int n, leaves; int *latest; struct tc_block **alive; int n_alive; };

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

static void note_placed(struct lives *lives, const struct tc_block *b) {
  for (int node = lives->leaves + b->life; node; node /= 2)
    if (lives->latest[node] < b->last) lives->latest[node] = b->last;
}

/* Those below the node (whose first leaf is `leaf`) that live with `b`. As deep as the tree, which is balanced. */
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
    note_placed(lives, b);
    if (b->at + b->size > top) top = b->at + b->size;
  }
  return top;
}

/* --- where very many live at once: columns of one size each --- */

/* Of blocks of one size, in the order of their lives, each takes the first column that is free; false when memory is out. */
static bool place_in_columns(struct tc_planner *p, struct tc_block **blocks, int n, int64_t *top) {
  int leaves = 1, columns = 0;
  while (leaves < n) leaves *= 2;
  int *taken = TC_NEW_ARRAY(p->s->alloc, int, (size_t)leaves * 2); /* a tree: the least 1 + last of the columns below */
  if (!taken) return false;
  qsort(blocks, (size_t)n, sizeof *blocks, by_first);
  for (int i = 0; i < n; i++) {
    int node = 1;
    while (node < leaves) node = 2 * node + (taken[2 * node] > blocks[i]->first);
    const int column = node - leaves;
    if (column >= columns) columns = column + 1;
    blocks[i]->at = *top + column * blocks[i]->size;
    taken[node] = blocks[i]->last + 1;
    for (node /= 2; node; node /= 2) taken[node] = taken[2 * node] < taken[2 * node + 1] ? taken[2 * node] : taken[2 * node + 1];
  }
  *top += columns * blocks[0]->size;
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
struct share { struct tc_block **blocks; int n; };

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
  if (!many) *top = place_by_gaps(&lives, sorted, n);
  else if (!place_by_sizes(p, sorted, n, top)) return false;
  for (int i = 0; i < n; i++) {
    sorted[i]->placed = true;
    sorted[i]->offset = tc_sym_const(sorted[i]->at);
  }
  return true;
}

/* After the constants: one place a size and life. */
static tc_sym place_symbolic(struct tc_planner *p, const struct share *share, tc_sym top) {
  struct tc_symtab *tab = p->s->tab;
  const tc_sym unit = tc_sym_const(POOL_ALIGN);
  for (int i = 0; i < share->n; i++) {
    struct tc_block *b = share->blocks[i];
    for (int k = 0; k < i && !b->placed; k++) {
      const struct tc_block *other = share->blocks[k];
      if (!other->placed || !tc_sym_same(other->bytes, b->bytes)) continue;
      bool free = true;
      for (int m = 0; m < i && free; m++)
        free = !share->blocks[m]->placed || !tc_sym_same(share->blocks[m]->offset, other->offset) || !live_together(share->blocks[m], b);
      if (free) b->offset = other->offset, b->placed = true;
    }
    if (b->placed) continue;
    b->offset = top;
    b->placed = true;
    const tc_sym units = tc_sym_div(tab, tc_sym_add(tab, b->bytes, tc_sym_const(POOL_ALIGN - 1)), unit);
    top = tc_sym_add(tab, top, tc_sym_mul(tab, units, unit));
  }
  return top;
}

/* Bytes of the memory; INVALID when memory is out, or where they overflow. */
static tc_sym place(struct tc_planner *p, const struct share *share) {
  int64_t top;
  return place_constants(p, share, &top) ? place_symbolic(p, share, tc_sym_const(top)) : TC_SYM_INVALID;
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
    const tc_sym bytes = place(p, &share);
    if (!tc_sym_valid(bytes)) return false;
    if (tiles < 0) list->pool_bytes = bytes;
    else list->tiles[tiles].bytes = bytes;
    from += share.n;
  }
  return true;
}
